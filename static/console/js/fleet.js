// The first page: node map, standby chart, filters that send themselves.
import { axis, draw, faded, layout, token } from "./charts.js";
import { NodeMap } from "./map.js";

const NARROW = 640;

function standbyFigure(points) {
  const x = points.map((point) => point.at);
  const series = (name) => points.map((point) => point[name]);
  const now = x[x.length - 1];
  return {
    data: [
      { x, y: series("asleep"), mode: "lines", line: { color: token("c-standby"), width: 1.8 }, fill: "tozeroy", fillcolor: faded("c-standby", 0.12), name: "asleep", hovertemplate: "%{x|%H:%M}, %{y:,.0f} GPUs asleep<extra></extra>" },
      { x, y: series("lent"), mode: "lines", line: { color: token("c-lp"), width: 1.6 }, name: "lent", hovertemplate: "%{x|%H:%M}, %{y:,.0f} GPUs lent<extra></extra>" },
    ],
    layout: layout({
      margin: { l: 50, r: 34, t: 14, b: 22 },
      xaxis: axis({ type: "date", tickformat: "%H:%M", showgrid: false }),
      yaxis: axis({ rangemode: "tozero", tickformat: ",d", nticks: 5 }),
      shapes: [{ type: "line", x0: now, x1: now, y0: 0, y1: 1, yref: "paper", line: { color: token("text"), width: 1 } }],
      annotations: [{ x: now, y: 1.04, yref: "paper", text: "now", showarrow: false, xanchor: "left", xshift: 4, font: { size: 11, color: token("text") } }],
    }),
  };
}

function drawStandby() {
  const element = document.querySelector("[data-standby]");
  const points = document.getElementById("fleet-standby-points");
  if (!element || !points) return;
  draw(element, () => standbyFigure(JSON.parse(points.textContent)));
}

function startForms() {
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-auto-submit]");
    if (form) submit(form);
  });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy-link]");
    if (!button) return;
    await navigator.clipboard.writeText(location.href);
    button.querySelector("span").textContent = "Copied";
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-map-table]");
    if (!button) return;
    const shown = document.getElementById("fleet-grid").classList.toggle("sl-grid--shown");
    button.setAttribute("aria-expanded", String(shown));
  });
}

/** Without empty fields, so that addresses stay short enough to read. */
function submit(form) {
  const address = new URL(form.action, location.href);
  for (const [name, value] of new FormData(form)) if (value) address.searchParams.set(name, value);
  location.assign(address);
}

function start() {
  startForms();
  drawStandby();
  const root = document.getElementById("fleet-map");
  if (root && window.innerWidth > NARROW) new NodeMap(root).start();
}

document.addEventListener("htmx:after:swap", drawStandby);
if (window.Plotly) start();
else addEventListener("DOMContentLoaded", start);
