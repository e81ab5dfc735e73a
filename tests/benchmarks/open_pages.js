// How long pages take in a real browser. Arguments: the browser, the dashboard's address, paths of pages.
// Prints, as JSON, a list of milliseconds to the load event and one until all charts are drawn, by path.
"use strict";
const { chromium } = require("playwright-core");

const [, , executablePath, base, ...paths] = process.argv;
const TIMES = 7;

(async () => {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const told = {};
  for (const path of paths) {
    told[path] = [[], []];
    for (let time = 0; time < TIMES; time += 1) {
      // A profile of its own: nothing comes from a cache.
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
      const page = await context.newPage();
      await page.goto(base + path);
      const drawn = await page.waitForFunction(() => {
        const charts = document.querySelectorAll("[data-chart]").length;
        const done = document.querySelectorAll(".chart canvas").length === charts;
        return done && performance.getEntriesByType("navigation")[0].loadEventEnd > 0 && performance.now();
      }, null, { polling: "raf" });
      told[path][0].push(await page.evaluate(() => performance.getEntriesByType("navigation")[0].loadEventEnd));
      told[path][1].push(await drawn.jsonValue());
      await context.close();
    }
  }
  await browser.close();
  console.log(JSON.stringify(told));
})().catch((error) => { console.error(error); process.exit(1); });
