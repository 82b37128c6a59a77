// The marginal curves of two plans in one picture.
import { axis, draw, layout, token } from "./charts.js";

const LINES = [{ color: "accent", dash: "solid" }, { color: "warn", dash: "6px,3px" }];

function staircase({ name, points }, { color, dash }) {
  const x = points.map(([moves]) => moves);
  const y = points.map(([, net]) => net);
  const line = { shape: "hv", color: token(color), width: 2, dash };
  return { type: "scatter", mode: "lines", name, x, y, line, hovertemplate: `%{x} moves: %{y}<extra>${name}</extra>` };
}

function figure(curves) {
  const title = { text: "moves kept, chain by chain", font: { size: 11 } };
  return {
    data: curves.map((curve, place) => staircase(curve, LINES[place])),
    layout: layout({
      margin: { l: 38, r: 12, t: 16, b: 34 },
      xaxis: axis({ showgrid: false, title, rangemode: "tozero" }),
      yaxis: axis({ rangemode: "tozero" }),
      showlegend: true,
      legend: { x: 0.02, y: 0.98 },
    }),
  };
}

for (const root of document.querySelectorAll("[data-curves]")) {
  const curves = JSON.parse(document.getElementById(root.dataset.curves).textContent);
  const plot = document.createElement("div");
  plot.style.height = "214px";
  root.replaceChildren(plot);
  draw(plot, () => figure(curves));
}
