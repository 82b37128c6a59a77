// Studies: allocation over time, two figures against each other, and all five side by side.
import { axis, draw, layout, plain, token } from "./charts.js";

const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "5px,2px", "2px,3px"];
const read = (name) => JSON.parse(document.getElementById(name)?.textContent ?? "null");
const colour = ({ tone }) => token(`c-${tone}`);

function overTime({ policies }, key) {
  return {
    data: policies.map((one, at) => ({
      x: one.days, y: one[key], mode: one.days.length < 3 ? "lines+markers" : "lines",
      line: { color: colour(one), width: 1.8, dash: DASHES[at % DASHES.length] },
      hovertemplate: `day %{x:.1f}: %{y:.1f} % ${plain(one.name)}<extra></extra>`,
    })),
    layout: layout({
      margin: { l: 40, r: 12, t: 8, b: 34 },
      xaxis: axis({ showgrid: false, title: { text: "days of the virtual clock", font: { size: 11 } } }),
      yaxis: axis({ rangemode: "tozero", ticksuffix: " %" }),
    }),
  };
}

function failing(element) {
  return (error) => {
    element.textContent = `The chart could not be drawn: ${error.message}. Its table says the same.`;
  };
}

const lines = read("sim-lines");
for (const element of lines ? document.querySelectorAll("[data-sim-lines]") : [])
  draw(element, () => overTime(lines, element.dataset.simLines)).catch(failing(element));

const PLACES = ["top center", "bottom center", "middle right", "middle left"];
const UNITS = { share: ["%", 100], seconds: ["h", 1 / 3600], plain: ["", 1] };

function scaled(unit, value) {
  return value === null ? null : value * UNITS[unit][1];
}

function arms(points, key, unit) {
  return { type: "data", array: points.map((p) => scaled(unit, p[`${key}_half`])), thickness: 1.2, width: 4, color: token("muted") };
}

function titled({ label, unit, up }) {
  const [word] = UNITS[unit];
  return { text: `${label}${word ? `, ${word}` : ""}, ${up ? "more" : "less"} is better`, font: { size: 11 } };
}

/** Of the means: a bar may leave the picture, and a policy never stands at its edge. */
function range(points, key, unit) {
  const all = points.map((p) => scaled(unit, p[key]));
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const pad = (high - low || Math.abs(high) || 1) * 0.3;
  return [low - pad, high + pad];
}

/** One trace, so that hover finds every point; those on the front are filled, the others hollow. */
function scatter({ points, front, x, y }) {
  const words = points.map((p) => plain(p.name));
  return {
    data: [
      {
        x: front.map((p) => scaled(x.unit, p[0])), y: front.map((p) => scaled(y.unit, p[1])), mode: "lines",
        line: { color: token("accent"), width: 1.6 }, hoverinfo: "skip",
      },
      {
        x: points.map((p) => scaled(x.unit, p.x)), y: points.map((p) => scaled(y.unit, p.y)),
        error_x: arms(points, "x", x.unit), error_y: arms(points, "y", y.unit),
        mode: "markers+text", text: words, textposition: points.map((_, i) => PLACES[i % PLACES.length]), textfont: { size: 11, color: token("text") },
        marker: {
          size: 11, symbol: points.map((p) => (p.front ? p.mark : `${p.mark}-open`)), color: points.map(colour),
          line: { width: 2, color: points.map(colour) },
        },
        hovertemplate: `%{text}<br>${x.label} %{x:.4g} ${UNITS[x.unit][0]}<br>${y.label} %{y:.4g} ${UNITS[y.unit][0]}<extra></extra>`,
      },
    ],
    layout: layout({
      margin: { l: 58, r: 40, t: 24, b: 40 },
      xaxis: axis({ title: titled(x), range: range(points, "x", x.unit) }),
      yaxis: axis({ title: titled(y), range: range(points, "y", y.unit) }),
    }),
  };
}

function shown(value, unit) {
  if (value === null) return "no data";
  const [word] = UNITS[unit];
  return `${Number(scaled(unit, value).toPrecision(3)).toLocaleString("en-US")}${word ? ` ${word}` : ""}`;
}

function sideBySide({ axes, policies }) {
  const narrow = innerWidth < 640;
  return {
    data: policies.map((one, at) => ({
      x: axes.map((_, i) => i), y: one.places, mode: "lines+markers", connectgaps: false,
      line: { color: colour(one), width: 1.8, dash: DASHES[at % DASHES.length] },
      marker: { size: 8, symbol: one.mark, color: colour(one) },
      text: axes.map((a, i) => `${plain(one.name)}: ${a.label} ${shown(one.means[i], a.unit)}`),
      hovertemplate: "%{text}<extra></extra>",
    })),
    layout: layout({
      margin: { l: 44, r: 44, t: 22, b: 44 },
      xaxis: axis({
        showgrid: true, tickvals: axes.map((_, i) => i), range: [-0.2, axes.length - 0.8],
        ticktext: axes.map((a) => `${narrow ? a.label.split(" ")[0] : a.label}<br>${shown(a.worst, a.unit)}`),
      }),
      yaxis: axis({ range: [-0.08, 1.08], showticklabels: false, showgrid: false }),
      annotations: axes.map((a, i) => ({
        x: i, y: 1.08, yref: "y", text: shown(a.best, a.unit), showarrow: false, yanchor: "bottom",
        font: { size: 11, color: token("text") },
      })),
    }),
  };
}

const figures = read("sim-figures");
for (const element of figures ? document.querySelectorAll("[data-sim-points]") : [])
  draw(element, () => scatter(figures.points)).catch(failing(element));
for (const element of figures ? document.querySelectorAll("[data-sim-parallel]") : [])
  draw(element, () => sideBySide(figures.parallel)).catch(failing(element));
