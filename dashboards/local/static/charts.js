"use strict";
// The charts of the overview, drawn by uPlot from /timeline.json; a stretch that is selected becomes the page's own.
(() => {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  // As `shown.seconds` has them.
  const seconds = (v) => {
    if (v == null) return "–";
    if (v < 0.9995) return v < 0.000005 ? "0 ms" : `${(v * 1000).toFixed(v < 0.009995 ? 2 : v < 0.09995 ? 1 : 0)} ms`;
    if (v < 59.995) return `${v.toFixed(v < 10 ? 2 : 1)} s`;
    const whole = Math.round(v), minutes = Math.floor(whole / 60);
    return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  };
  const count = (v) => v == null ? "–" : v.toLocaleString("en");
  const two = (number) => String(number).padStart(2, "0");
  const day = (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const clock = (date) => `${two(date.getHours())}:${two(date.getMinutes())}`;
  // The date stands under the first mark of each day.
  const marks = (_, splits, __, ___, step) => {
    let before = null;
    return splits.map((at) => {
      const date = new Date(at * 1000), of = day(date);
      const said = step >= 86400 ? of : of === before ? clock(date) : `${clock(date)}\n${of}`;
      before = of;
      return said;
    });
  };
  const stretch = (at, step) => {
    const from = new Date(at * 1000), to = new Date((at + step) * 1000);
    return step >= 86400 ? day(from) : `${day(from)} ${clock(from)}–${clock(to)}`;
  };
  const sum = (column) => column.reduce((whole, v) => whole + (v || 0), 0);
  const last = (column) => column.findLast((v) => v != null) ?? null;
  const charts = {
    turns: { bars: true, value: count, series: [["sent", "sent", "good"], ["blocked", "blocked", "stop"], ["error", "failed", "bad"], ["cancelled", "cancelled", "turn"]], stacked: true },
    latency: { value: seconds, rest: last, resting: "latest", series: [["p50", "p50", "typed"], ["p95", "p95", "memory"], ["p99", "p99", "bad"], ["first_chunk_p50", "first chunk p50", "good"]] },
    injected: { bars: true, value: count, series: [["typed", "typed", "typed"], ["injected", "injected", "injected"]], stacked: true },
    hooks: { value: count, series: [["hooks", "hook calls", "injected"], ["hooks_failed", "failed", "bad"], ["recalls", "recalls", "memory"], ["recall_hits", "with a hit", "good"]] },
  };
  let drawn = [];

  const stack = (columns) => {
    const sums = [];
    let below = columns[0].map(() => 0);
    for (const column of columns) {
      below = column.map((v, at) => (v || 0) + below[at]);
      sums.push(below);
    }
    return sums;
  };

  // The names in the order in which they are listed, whatever is drawn first; and the figures for who sees no picture.
  const named = (u, what, order, columns, rest) => {
    u.root.querySelectorAll(".u-series").forEach((row, at) => { if (at) row.style.order = order[at - 1] + 1; });
    const canvas = u.root.querySelector("canvas");
    canvas.setAttribute("role", "img");
    const said = what.series.map(([, label], at) => `${label} ${what.value(rest(columns[at]))}`);
    canvas.setAttribute("aria-label", `${what.resting || "in all"}: ${said.join(", ")}`);
  };

  const draw = (place, what, told, page) => {
    const columns = what.series.map(([name]) => told[name]);
    const shown = what.stacked ? stack(columns) : columns;
    // The tallest of a stack is drawn first, behind the others.
    const order = what.series.map((_, at) => at);
    if (what.stacked) order.reverse();
    const rest = what.rest || sum;
    const series = [{ label: "", value: (_, v) => v == null ? what.resting || "in all" : stretch(v, told.step) }];
    const data = [told.starts];
    for (const at of order) {
      const few = columns[at].filter((v) => v != null).length < 60;
      const [, label, name] = what.series[at];
      data.push(shown[at]);
      series.push({
        label, stroke: colour(name), width: what.bars ? 0 : 1.8, fill: what.bars ? colour(name) : undefined,
        paths: what.bars ? uPlot.paths.bars({ size: [0.8, 60] }) : undefined,
        points: { show: !what.bars && few, size: 5 }, spanGaps: !what.bars,
        value: (_, v, __, index) => what.value(index == null ? rest(columns[at]) : columns[at][index]),
      });
    }
    const axis = { stroke: colour("dim"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const span = told.step;
    const scale = { x: { time: true, range: (u, low, high) => [low - span / 2, high + span / 2] }, y: { range: (u, low, high) => [0, high > 0 ? high * 1.08 : 1] } };
    return new uPlot({
      width: place.clientWidth, height: 180, series, scales: scale,
      axes: [{ ...axis, values: marks, space: (_, __, low, high) => high - low > 86400 ? 80 : 60 }, { ...axis, size: 58, values: (_, all) => all.map((v) => what.value === seconds ? (v === 0 ? "0" : seconds(v)) : v >= 1e6 ? `${v / 1e6} M` : v >= 1000 ? `${v / 1000} k` : v % 1 ? "" : `${v}`) }],
      legend: { markers: { fill: (u, at) => colour(what.series[order[at - 1]][2]), stroke: (u, at) => colour(what.series[order[at - 1]][2]) } },
      cursor: { drag: { x: true, y: false, setScale: false }, points: { show: !what.bars } },
      hooks: { ready: [(u) => named(u, what, order, columns, rest)], setSelect: [(u) => {
        if (u.select.width < 4) return;
        const address = new URL(page, location.href);
        address.search = location.search;
        for (const name of ["range", "page"]) address.searchParams.delete(name);
        address.searchParams.set("start", Math.floor(u.posToVal(u.select.left, "x")));
        address.searchParams.set("end", Math.ceil(u.posToVal(u.select.left + u.select.width, "x")));
        location.assign(address);
      }] },
    }, data, place);
  };

  const all = async () => {
    const section = document.querySelector("[data-timeline]");
    for (const chart of drawn) chart.destroy();
    drawn = [];
    if (!section) return;
    const answer = await fetch(section.dataset.timeline);
    if (!answer.ok) return;
    const told = await answer.json();
    for (const place of section.querySelectorAll("[data-chart]")) {
      place.textContent = "";
      drawn.push(draw(place, charts[place.dataset.chart], told, section.dataset.page));
    }
  };

  let waiting, width = 0;
  const sized = new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - width) < 1) return;
    const first = width === 0;
    width = entry.contentRect.width;
    clearTimeout(waiting);
    // While a window is being drawn larger, one drawing at its end is enough.
    if (first) all();
    else waiting = setTimeout(all, 100);
  });
  sized.observe(document.getElementById("main"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
  document.addEventListener("firsthand:changed", all);
})();
