"use strict";
// What a page does besides being read: tables in another order, what comes shown as it comes, keys, light and dark.
(() => {
  const changed = () => document.dispatchEvent(new Event("firsthand:changed"));

  const theme = document.getElementById("theme");
  const themes = ["system", "light", "dark"];
  const wear = (name) => {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    theme.textContent = `Theme: ${name}`;
  };
  let worn = themes.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "system";
  wear(worn);
  theme.addEventListener("click", () => {
    worn = themes[(themes.indexOf(worn) + 1) % themes.length];
    localStorage.setItem("theme", worn);
    wear(worn);
    changed();
  });

  const valueOf = (row, at) => {
    const cell = row.cells[at];
    return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
  };
  const sortable = () => {
    for (const table of document.querySelectorAll("table[data-sorts]")) {
      for (const head of table.tHead.rows[0].cells) {
        if (head.querySelector("button")) continue;
        const button = document.createElement("button");
        button.type = "button";
        button.append(...head.childNodes);
        head.append(button);
        button.addEventListener("click", () => {
          order(table, head.cellIndex, head.getAttribute("aria-sort") !== "descending");
        });
      }
    }
  };
  const order = (table, at, down) => {
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    table.tHead.rows[0].cells[at].setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].sort((one, two) => {
      const a = valueOf(one, at), b = valueOf(two, at);
      const before = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
      return down ? -before : before;
    });
    table.tBodies[0].append(...rows);
  };

  const main = document.getElementById("main");
  // Arrow keys go through a list's choices: only a pointer's choice is sent at once, the others by "Show".
  let byKey = false;
  main.addEventListener("keydown", () => { byKey = true; });
  main.addEventListener("pointerdown", () => { byKey = false; });
  main.addEventListener("change", (event) => { if (!byKey && event.target.matches("[data-sends]")) event.target.form.requestSubmit(); });
  main.addEventListener("formdata", (event) => {
    // An empty field is no filter: it stays out of the address.
    for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
  });

  const live = document.getElementById("live");
  let known = null, timer = null, shown = null;
  const renew = async () => {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
    if (!fresh) return;
    if (fresh.innerHTML === shown) return;
    const before = state();
    shown = fresh.innerHTML;
    main.replaceChildren(...fresh.childNodes);
    sortable();
    restore(before);
    changed();
  };
  // What a reader did on the page outlives what comes: opened parts, orders, places scrolled to, and the focus.
  const scrolling = () => [...main.querySelectorAll(".said, .wide")];
  const spot = (one) => one.id ? `#${CSS.escape(one.id)}` : one.matches("a[href]") ? `a[href="${CSS.escape(one.getAttribute("href"))}"]` : null;
  const state = () => {
    const held = main.contains(document.activeElement) ? document.activeElement : null;
    const where = held && spot(held);
    return {
      where, nth: where ? [...main.querySelectorAll(where)].indexOf(held) : -1,
      opened: [...main.querySelectorAll("details")].map((one) => one.open),
      places: scrolling().map((one) => [one.scrollLeft, one.scrollTop]),
      orders: [...main.querySelectorAll("table[data-sorts]")].map((table) => {
        const head = table.querySelector("th[aria-sort]");
        return head && [head.cellIndex, head.getAttribute("aria-sort") === "descending"];
      }),
    };
  };
  const restore = (before) => {
    main.querySelectorAll("details").forEach((one, at) => { one.open = Boolean(before.opened[at]); });
    main.querySelectorAll("table[data-sorts]").forEach((table, at) => { if (before.orders[at]) order(table, ...before.orders[at]); });
    scrolling().forEach((one, at) => { if (before.places[at]) [one.scrollLeft, one.scrollTop] = before.places[at]; });
    if (before.where === null) return;
    const again = main.querySelectorAll(before.where)[before.nth] ?? main.querySelector(before.where);
    again?.focus({ preventScroll: true });
    again?.closest("tr:has(.when)")?.classList.add("at");
  };
  const look = async () => {
    try {
      const busy = document.hidden || main.contains(document.activeElement) && document.activeElement.matches("input, select") || String(getSelection()) !== "";
      if (!busy) {
        const told = await (await fetch("/live.json")).text();
        if (known !== null && told !== known) await renew();
        known = told;
        live.title = "Show what comes as it comes";
      }
    } catch {
      live.title = "The dashboard does not answer";
    }
    timer = setTimeout(look, 2000);
  };
  const follow = (on) => {
    live.setAttribute("aria-pressed", String(on));
    clearTimeout(timer);
    known = null;
    if (on) look();
  };
  live.addEventListener("click", () => {
    const on = live.getAttribute("aria-pressed") !== "true";
    localStorage.setItem("live", on ? "on" : "off");
    follow(on);
  });
  follow(localStorage.getItem("live") !== "off");

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input, select, textarea")) return;
    const search = document.getElementById("search");
    if (event.key === "/" && search) { event.preventDefault(); search.focus(); return; }
    if (event.key === "j" || event.key === "k") {
      const rows = [...document.querySelectorAll("tbody tr:has(.when a)")];
      if (!rows.length) return;
      const at = rows.findIndex((row) => row.classList.contains("at"));
      const next = event.key === "j" ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0);
      rows[at]?.classList.remove("at");
      rows[next].classList.add("at");
      rows[next].querySelector(".when a").focus();
      return;
    }
    const beside = event.key === "ArrowLeft" ? "prev" : event.key === "ArrowRight" ? "next" : null;
    if (beside) document.querySelector(`main a[rel="${beside}"]`)?.click();
  });

  sortable();
})();
