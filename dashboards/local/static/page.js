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
          const at = head.cellIndex, down = head.getAttribute("aria-sort") !== "descending";
          for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
          head.setAttribute("aria-sort", down ? "descending" : "ascending");
          const rows = [...table.tBodies[0].rows].sort((one, two) => {
            const a = valueOf(one, at), b = valueOf(two, at);
            const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
            return down ? -order : order;
          });
          table.tBodies[0].append(...rows);
        });
      }
    }
  };

  const main = document.getElementById("main");
  main.addEventListener("change", (event) => { if (event.target.matches("[data-sends]")) event.target.form.requestSubmit(); });
  main.addEventListener("submit", (event) => {
    // An empty field is no filter: it stays out of the address.
    for (const field of event.target.elements) if (field.name && field.value === "") field.disabled = true;
  });

  const live = document.getElementById("live");
  let known = null, timer = null;
  const renew = async () => {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
    if (!fresh) return;
    const opened = [...main.querySelectorAll("details")].map((one) => one.open);
    main.replaceChildren(...fresh.childNodes);
    main.querySelectorAll("details").forEach((one, at) => { one.open = Boolean(opened[at]); });
    sortable();
    changed();
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
