// Clicks through a running dashboard in a real browser and prints what it saw, as JSON.
// Arguments: the browser, the dashboard's address, a file of OTLP that is sent while a page follows, addresses of turns.
"use strict";
const fs = require("fs");
const http = require("http");
const { chromium } = require("playwright-core");

const [, , executablePath, base, otlp, pictures, blocked, ...turns] = process.argv;
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

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

  // With the keyboard alone: what Tab comes to, in order, and whether it is seen that it is there.
  await page.goto(`${base}/`);
  await page.waitForFunction(() => document.querySelectorAll(".chart canvas").length === 4);
  const focused = () => page.evaluate(() => {
    const one = document.activeElement, box = one.getBoundingClientRect(), style = getComputedStyle(one);
    const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && box.width > 1 && box.height > 1 && box.right > 0 && box.bottom > 0 && box.top < innerHeight;
    return [(one.getAttribute("aria-label") || one.textContent.trim().replace(/\s+/g, " ")).slice(0, 40), seen];
  });
  const tabs = [];
  for (let at = 0; at < 16; at += 1) {
    await page.keyboard.press("Tab");
    tabs.push(await focused());
  }
  seen.tabs = tabs.map(([name]) => name);
  seen.unseen = tabs.filter(([, there]) => !there).map(([name]) => name);
  await page.goto(`${base}/`);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  seen.skipped = await page.evaluate(() => document.activeElement.id);
  const enter = async (address) => { await page.keyboard.press("Enter"); await page.waitForURL(address); await page.waitForLoadState("load"); };
  const tab = async (found) => {
    for (let at = 0; at < 60; at += 1) {
      if (await page.evaluate(found)) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`Tab does not come to ${found}`);
  };
  await page.goto(`${base}/`);
  await tab(() => document.activeElement.textContent === "Sessions");
  await enter(/\/sessions$/);
  await tab(() => document.activeElement.matches(".when a"));
  await enter(/\/turns\?session=/);
  await tab(() => document.activeElement.matches(".when a"));
  await enter(/\/turn\/[0-9a-f]{48}$/);
  await page.goto(`${base}/turns`);
  await page.locator("select[name=outcome]").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  seen.stayed = page.url().slice(base.length);
  await tab(() => document.activeElement.textContent === "Show");
  await enter(/outcome=/);
  seen.chosen = page.url().slice(base.length);
  seen.refused = await page.locator("tbody .words").first().innerText();

  await page.goto(`${base}/turns`);
  await page.getByRole("link", { name: "Injected, chars" }).click();
  await page.waitForURL(/sort=added/);
  seen.order = await page.locator("tbody td[data-label='Injected, chars']").evaluateAll((cells) => cells.map((cell) => Number(cell.lastChild.textContent.trim()) || 0));
  seen.arrow = await page.locator("th[aria-sort]").getAttribute("aria-sort");

  await page.goto(`${base}/`);
  await page.waitForFunction(() => document.querySelectorAll(".chart canvas").length === 4);
  const legend = page.locator("[data-chart=turns] .u-legend");
  seen.legend = [await legend.locator(".u-value").allTextContents()];
  seen.drawn = await page.locator("[data-chart=turns] canvas").getAttribute("aria-label");
  await page.locator("[data-chart=turns] .u-over").hover();
  seen.legend.push(await legend.locator(".u-value").first().textContent());

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
  const held = () => page.evaluate(() => document.activeElement.getAttribute("href"));
  await page.keyboard.press("j");
  seen.held = [await held()];
  const sent = await fetch(`${base}/v1/traces`, { method: "POST", body: fs.readFileSync(otlp), headers: { "content-type": "application/x-protobuf" } });
  seen.sent = sent.status;
  await page.waitForFunction((count) => document.querySelectorAll("tbody tr").length > count, before, { timeout: 60000 });
  seen.held.push(await held());
  seen.live = (await page.locator("tbody tr").count()) - before;

  // Every page and state, wide and narrow, light and dark; the other two mixtures are for whoever looks at the pictures.
  const session = `/turns?${new URLSearchParams({ session: "s1" })}`;
  const states = [
    ["overview", "/"], ["sessions", "/sessions"], ["turns", "/turns"], ["session", session], ["sorted", "/turns?sort=duration&dir=asc"],
    ["filtered", "/sessions?outcome=blocked&range=24h"], ["turn", turns[1]], ["hostile", turns[2]], ["failed", turns[3]], ["long", turns[4]],
    ["strange", turns.at(-1)], ["blocked", blocked], ["empty", "/turns?range=all&model=none"], ["unfound", "/sessions?q=no+such+thing"],
    ["told", "/nothing"], ["forgotten", `/turn/${"0".repeat(48)}`], ["senseless", "/turns?sort=nothing"],
  ];
  const looks = [["wide", 1440, "light"], ["narrow-dark", 390, "dark"], ["dark", 1440, "dark"], ["narrow", 390, "light"]];
  seen.barriers = [];
  seen.hurt = [];
  for (const [name, width, scheme] of pictures ? looks : looks.slice(0, 2)) {
    // axe-core is put into the page, which our own policy would forbid.
    const shown = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, bypassCSP: true });
    await shown.route((url) => !url.href.startsWith(base), (route) => { seen.outside.push(route.request().url()); return route.abort(); });
    const other = await shown.newPage();
    other.on("pageerror", (error) => seen.errors.push(String(error)));
    // A browser calls a page that answers 404 an error of its own.
    other.on("console", (said) => { if (["error", "warning"].includes(said.type()) && !/status of 40[04]/.test(said.text())) seen.errors.push(said.text()); });
    for (const [what, address] of states) {
      await other.goto(base + address);
      if (what === "overview") await other.waitForFunction(() => document.querySelectorAll(".chart canvas").length === 4);
      const over = await other.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) seen.errors.push(`${what} is ${over} px wider than ${width}`);
      if (pictures) await other.screenshot({ path: `${pictures}/${what}-${name}.png`, fullPage: true });
      if (await other.evaluate(() => window.hurt !== undefined)) seen.hurt.push(what);
      await other.evaluate(axe);
      const found = await other.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      for (const one of found.violations) seen.barriers.push(`${what}, ${name}: ${one.id}: ${one.nodes[0].html.slice(0, 200)}`);
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
