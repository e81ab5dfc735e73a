// Clicks through a running dashboard in a real browser and prints what it saw, as JSON.
// Arguments: the browser, the dashboard's address, a file of OTLP that is sent while a page follows, addresses of turns.
"use strict";
const fs = require("fs");
const http = require("http");
const { chromium } = require("playwright-core");

const [, , executablePath, base, otlp, pictures, ...turns] = process.argv;

const foreign = () => new Promise((resolve) => {
  const page = `<!doctype html><iframe src="${base}/"></iframe><script>
    const tried = {};
    const all = [
      fetch("${base}/live.json").then((a) => a.text()).then((t) => { tried.read = t; }, () => { tried.read = "refused"; }),
      fetch("${base}/v1/traces", { method: "POST", mode: "no-cors", body: "x", headers: { "content-type": "text/plain" } })
        .then((a) => { tried.write = a.type; }, () => { tried.write = "refused"; }),
      fetch("${base}/v1/traces", { method: "POST", body: "{}", headers: { "content-type": "application/json" } })
        .then((a) => { tried.json = a.status; }, () => { tried.json = "refused"; }),
    ];
    Promise.all(all).then(() => { document.title = JSON.stringify(tried); });
  </script>`;
  const server = http.createServer((_, answer) => { answer.setHeader("content-type", "text/html"); answer.end(page); });
  server.listen(0, "127.0.0.1", () => resolve(server));
});

(async () => {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const seen = { errors: [], outside: [], turns: {} };
  const page = await context.newPage();
  page.on("console", (said) => { if (said.type() === "error" || said.type() === "warning") seen.errors.push(said.text()); });
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  await context.route((url) => !url.href.startsWith(base), (route) => { seen.outside.push(route.request().url()); return route.abort(); });

  await page.goto(`${base}/`);
  await page.waitForFunction(() => document.querySelectorAll(".chart canvas").length === 4);
  let clicks = 0;
  const click = async (what) => { clicks += 1; await what.click(); await page.waitForLoadState("load"); };
  await click(page.getByRole("link", { name: "Sessions" }));
  await click(page.locator("tbody .when a").first());
  await click(page.locator("tbody .when a").first());
  seen.clicks = clicks;
  seen.arrived = await page.getByRole("heading", { name: "What the model received" }).count();

  for (const turn of turns) {
    await page.goto(base + turn);
    seen.turns[turn] = await page.evaluate(() => ({
      typed: document.querySelector("#typed").parentElement.querySelector(".said")?.textContent ?? null,
      received: [...document.querySelectorAll(".piece")].map((piece) => [piece.classList[1], piece.querySelector(".said").textContent]),
      hurt: window.hurt ?? null,
    }));
  }

  await page.goto(`${base}/turns`);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/turn\/[0-9a-f]{48}$/);
  seen.keys = true;
  await page.goto(`${base}/turns`);
  await page.keyboard.press("/");
  await page.keyboard.type("deploy");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=deploy/);
  seen.found = await page.locator("tbody tr").count();
  seen.address = page.url().slice(base.length);

  await page.goto(`${base}/`);
  const names = () => page.locator("table[data-sorts]").first().locator("tbody th bdi").allTextContents();
  await page.getByRole("button", { name: "Hook" }).first().click();
  const down = await names();
  await page.getByRole("button", { name: "Hook" }).first().click();
  seen.sorted = [down, await names()];

  await page.getByRole("button", { name: /^Theme/ }).click();
  seen.theme = await page.evaluate(() => document.documentElement.dataset.theme);
  await page.reload();
  seen.kept = await page.evaluate(() => document.documentElement.dataset.theme);

  await page.goto(`${base}/turns`);
  const before = await page.locator("tbody tr").count();
  const sent = await fetch(`${base}/v1/traces`, { method: "POST", body: fs.readFileSync(otlp), headers: { "content-type": "application/x-protobuf" } });
  seen.sent = sent.status;
  await page.waitForFunction((count) => document.querySelectorAll("tbody tr").length > count, before, { timeout: 60000 });
  seen.live = (await page.locator("tbody tr").count()) - before;

  for (const [name, width, scheme] of [["wide", 1440, "light"], ["dark", 1440, "dark"], ["narrow", 390, "light"], ["narrow-dark", 390, "dark"]]) {
    const shown = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
    const other = await shown.newPage();
    for (const [what, address] of [["overview", "/"], ["sessions", "/sessions"], ["turns", "/turns"], ["turn", turns[1]], ["empty", "/turns?range=all&model=none"], ["told", "/nothing"]]) {
      await other.goto(base + address);
      if (what === "overview") await other.waitForFunction(() => document.querySelectorAll(".chart canvas").length === 4);
      const over = await other.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) seen.errors.push(`${what} is ${over} px wider than ${width}`);
      if (pictures) await other.screenshot({ path: `${pictures}/${what}-${name}.png`, fullPage: true });
    }
    await shown.close();
  }

  const server = await foreign();
  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(`http://127.0.0.1:${server.address().port}/`);
  await stranger.waitForFunction(() => document.title.startsWith("{"));
  seen.foreign = JSON.parse(await stranger.title());
  seen.framed = await stranger.evaluate(() => { try { return frames[0].document.body.textContent; } catch { return "refused"; } });
  server.close();
  await browser.close();
  console.log(JSON.stringify(seen));
})().catch((error) => { console.error(error); process.exit(1); });
