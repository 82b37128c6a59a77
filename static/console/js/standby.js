// When services sleep, what sleeps over the day and ahead, and how recalls went.
import { axis, draw, faded, layout, plain, token } from "./charts.js";

const text = (gpus) => `${Number.isInteger(gpus) ? gpus : gpus.toFixed(1)} ${gpus === 1 ? "GPU" : "GPUs"}`;

function timeline({ lanes, bars, now, low, high }) {
  const at = (one) => lanes.length - 1 - one.lane;
  const edges = (when) => bars.map((one) => Date.parse(one[when]));
  const starts = edges("from");
  const ends = edges("to");
  return {
    data: [{
      type: "bar", orientation: "h", y: bars.map(at), base: bars.map((one) => one.from), x: ends.map((end, i) => end - starts[i]),
      width: 0.45, text: bars.map((one, i) => (one.gpus && ends[i] - starts[i] > 4 * 36e5 ? text(one.gpus) : "")), textposition: "inside", insidetextanchor: "middle", constraintext: "none", cliponaxis: true,
      textfont: { size: 11, color: bars.map((one) => (one.on ? token("surface") : token("text"))) },
      marker: { color: bars.map((one) => (one.on ? token("c-standby") : faded("c-standby", 0.22))), line: { color: token("c-standby"), width: 1 } },
      customdata: bars.map((one) => `${plain(lanes[one.lane].key)}<br>${plain(lanes[one.lane].when)}`), hovertemplate: "%{customdata}<extra></extra>",
    }],
    layout: layout({
      margin: { l: 110, r: 14, t: 18, b: 34 }, bargap: 0.2,
      xaxis: axis({ type: "date", range: [low, high], tickformat: "%H:%M\n%a %d", nticks: 8 }),
      yaxis: axis({ tickvals: lanes.map((_, i) => lanes.length - 1 - i), ticktext: lanes.map(({ name }) => plain(name.length > 16 ? `${name.slice(0, 15)}…` : name)), range: [-0.6, lanes.length - 0.4], showgrid: false }),
      shapes: [{ type: "line", x0: now, x1: now, yref: "paper", y0: 0, y1: 1, line: { color: token("text"), width: 1 } }],
      annotations: [{ x: now, y: 1, yref: "paper", yanchor: "bottom", xanchor: "left", text: `now ${now.slice(11, 16)}`, showarrow: false, font: { size: 11, color: token("text") } }],
    }),
  };
}

function line(name, x, y, colour, more = {}) {
  return { type: "scatter", mode: "lines", name, x, y, connectgaps: false, line: { color: token(colour), width: 2, shape: "hv", ...more }, hovertemplate: `${name} %{y:.0f}<extra></extra>` };
}

function pool({ hours, asleep, lent, at, planned, gpus }) {
  const clock = hours.map((hour) => `${String(hour).padStart(2, "0")}:00`);
  const second = { xaxis: "x2", yaxis: "y" };
  return {
    data: [
      line("asleep", clock, asleep, "c-standby"), line("lent", clock, lent, "c-lp"),
      { ...line("foreseen", at, gpus, "c-standby", { dash: "4px,3px" }), ...second }, { ...line("under windows", at, planned, "accent"), ...second },
    ],
    layout: layout({
      grid: undefined, hovermode: "x unified", showlegend: true, legend: { orientation: "h", y: 1.16, x: 0, font: { size: 11, color: token("muted") } },
      margin: { l: 44, r: 14, t: 30, b: 28 },
      xaxis: axis({ domain: [0, 0.46], nticks: 6, type: "category", tickangle: 0 }), xaxis2: axis({ domain: [0.54, 1], type: "date", tickformat: "%a %H:%M", nticks: 5, anchor: "y" }),
      yaxis: axis({ rangemode: "tozero", title: { text: "GPUs", font: { size: 11 } } }),
    }),
  };
}

function trend({ days, p50, p95, p99, failed }) {
  const points = (name, y, colour, symbol) => ({ type: "scatter", mode: "lines+markers", name, x: days, y, line: { color: token(colour), width: 1.5 }, marker: { symbol, size: 7 }, hovertemplate: `${name} %{y:.0f} s<extra></extra>` });
  return {
    data: [
      { type: "bar", name: "failed", x: days, y: failed, yaxis: "y2", marker: { color: faded("bad", 0.5) }, width: 36e5 * 8, hovertemplate: "%{y} failed<extra></extra>" },
      points("P50", p50, "accent", "circle"), points("P95", p95, "c-lp", "square"), points("P99", p99, "c-standby", "diamond"),
    ],
    layout: layout({
      showlegend: true, legend: { orientation: "h", y: 1.3, x: 0, font: { size: 11, color: token("muted") } }, margin: { l: 44, r: 34, t: 26, b: 26 }, hovermode: "x unified",
      xaxis: axis({ type: "date", tickformat: "%d %b", nticks: 6, dtick: days.length < 8 ? 864e5 : undefined }), yaxis: axis({ rangemode: "tozero", ticksuffix: " s", nticks: 4 }),
      yaxis2: axis({ overlaying: "y", side: "right", rangemode: "tozero", showgrid: false, nticks: 3, tickformat: "d" }),
    }),
  };
}

const KINDS = { timeline, pool, trend };
const shown = new WeakMap();

function drawAll() {
  for (const element of document.querySelectorAll("[data-standby-chart]")) {
    const said = document.getElementById(element.dataset.standbyChart)?.textContent;
    if (!said || shown.get(element) === said) continue;
    shown.set(element, said);
    const figure = JSON.parse(said);
    if (figure.kind === "timeline") element.style.height = `${Math.max(120, 62 + 40 * figure.lanes.length)}px`;
    draw(element, () => KINDS[figure.kind](figure)).catch((error) => {
      element.textContent = `The chart could not be drawn: ${error.message}. Its table says the same.`;
    });
  }
}

drawAll();
// A part of the page that was fetched anew brings new figures.
document.addEventListener("htmx:after:swap", drawAll);
