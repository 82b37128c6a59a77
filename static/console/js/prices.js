// The price of one GPU model over time: steps, the on-demand line, the floor, and what moved it.
import { axis, draw, layout, plain, token } from "./charts.js";

function level(value, words, colour, { from, to }) {
  if (value === null) return { shapes: [], annotations: [] };
  return {
    shapes: [{ type: "line", x0: from, x1: to, y0: value, y1: value, line: { color: token(colour), width: 1, dash: "5px,3px" } }],
    annotations: [
      { x: from, y: value, text: `${words} ${value.toFixed(2)}`, showarrow: false, xanchor: "left", yanchor: "top", xshift: 4, font: { size: 11, color: token("muted") } },
    ],
  };
}

function note({ at, usd, words }, place, top, { from, to }) {
  const along = (Date.parse(at) - Date.parse(from)) / (Date.parse(to) - Date.parse(from));
  return {
    x: at, xanchor: along < 0.12 ? "left" : along > 0.88 ? "right" : "center", y: usd, text: plain(words), ax: 0, ay: place % 2 && usd > top / 3 ? 34 : -34, arrowhead: 0, arrowwidth: 1, arrowcolor: token("border-strong"),
    font: { size: 11, color: token("text") }, bgcolor: token("surface"), borderpad: 1,
  };
}

function figure(price, width) {
  const { at, usd, why, on_demand, floor, from, to, notes } = price;
  const known = [...usd, on_demand, floor].filter((value) => value !== null);
  const top = Math.max(...known) * 1.12;
  const lines = [level(on_demand, "on demand", "text", price), level(floor, "floor", "text", price)];
  const kept = width < 520 ? notes.slice(-1) : width < 900 ? notes.filter((_, place) => place % 2) : notes;
  return {
    data: [{
      x: at, y: usd, customdata: why.map(plain), mode: "lines", connectgaps: false, line: { color: token("accent"), width: 2, shape: "hv" },
      hovertemplate: "%{x|%d %b %H:%M}: %{y:.2f} USD/GPU-h<br>%{customdata}<extra></extra>",
    }],
    layout: layout({
      margin: { l: 44, r: 14, t: 8, b: 26 },
      xaxis: axis({ type: "date", tickformat: "%d %b", tickangle: 0, nticks: 5, showgrid: false, range: [from, to] }),
      yaxis: axis({ tickformat: ".2f", nticks: 5, range: [0, top] }),
      hovermode: "x",
      shapes: lines.flatMap(({ shapes }) => shapes),
      annotations: [...lines.flatMap(({ annotations }) => annotations), ...kept.map((one, place) => note(one, place, top, price))],
    }),
  };
}

function drawAll() {
  for (const element of document.querySelectorAll("[data-price-chart]:not([data-ready])")) {
    const said = element.parentElement.querySelector("script[type='application/json']");
    if (!said) continue;
    element.dataset.ready = "";
    const price = JSON.parse(said.textContent);
    draw(element, () => figure(price, element.clientWidth)).catch((error) => {
      element.textContent = `The chart could not be drawn: ${error.message}. Its table says the same.`;
    });
  }
}

drawAll();
// A part of the page that was fetched anew brings a new element.
document.addEventListener("htmx:after:swap", drawAll);
