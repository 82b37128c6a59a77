// The first page: node map, standby chart, table twin.
import { axis, draw, faded, layout, token } from "./charts.js";
import { NodeMap } from "./map.js";

let map = null;
let tableShown = false;

function standbyFigure({ from, step_s: step, asleep, lent }) {
  const start = Date.parse(from);
  const x = asleep.map((_, i) => new Date(start + i * step * 1000).toISOString().slice(0, 19));
  const now = x[x.length - 1];
  const line = (y, colour, width, words) => ({
    x, y, mode: "lines", connectgaps: false, line: { color: token(colour), width }, hovertemplate: `%{x|%H:%M}, %{y:,.0f} GPUs ${words}<extra></extra>`,
  });
  return {
    data: [
      { ...line(asleep, "c-standby", 1.8, "asleep"), fill: "tozeroy", fillcolor: faded("c-standby", 0.12) },
      line(lent, "c-lp", 1.6, "lent"),
    ],
    layout: layout({
      margin: { l: 50, r: 16, t: 14, b: 22 },
      xaxis: axis({ type: "date", tickformat: "%H:%M", showgrid: false, range: [x[0], now] }),
      yaxis: axis({ rangemode: "tozero", tickformat: ",d", nticks: 5 }),
      shapes: [{ type: "line", x0: now, x1: now, y0: 0, y1: 1, yref: "paper", line: { color: token("text"), width: 1 } }],
      annotations: [{ x: now, y: 1.04, yref: "paper", text: "now", showarrow: false, xanchor: "right", xshift: -4, font: { size: 11, color: token("text") } }],
    }),
  };
}

function drawStandby() {
  const element = document.querySelector("[data-standby]");
  const series = document.getElementById("fleet-standby-series");
  if (!element || !series || element.dataset.drawn === series.textContent) return;
  const words = series.textContent;
  element.dataset.drawn = words;
  // Its table says the same; the next swap tries again.
  draw(element, () => standbyFigure(JSON.parse(words))).catch(() => delete element.dataset.drawn);
}

function startButtons() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy-link]");
    if (!button) return;
    await navigator.clipboard.writeText(location.href);
    button.querySelector("span").textContent = "Copied";
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-map-table]")) return;
    tableShown = !tableShown;
    showTable();
  });
}

function showTable() {
  document.getElementById("fleet-grid")?.classList.toggle("sl-grid--shown", tableShown);
  document.querySelector("[data-map-table]")?.setAttribute("aria-expanded", String(tableShown));
}

/** A swapped board comes as the server knows it; what was chosen in this page goes on top. */
function afterSwap() {
  document.getElementById("fleet-board")?.setAttribute("hx-get", location.pathname + location.search);
  startMap();
  map?.showMeasure();
  map?.told();
  showTable();
  drawStandby();
}

/** Also after a swap: the first source may come while the page is open, and bring the map with it. */
function startMap() {
  const root = document.getElementById("fleet-map");
  if (!root || root === map?.root) return;
  map = new NodeMap(root);
  map.start();
}

document.addEventListener("htmx:after:swap", afterSwap);
startButtons();
startMap();
drawStandby();
