// The page of a tenant: its use over time.
import { axis, draw, layout, token } from "./charts.js";

function figure({ at, hp, lp, borrowed, lent, pending, from, nominal, days }) {
  const shown = days ? "%d %b" : "%d %b %H:%M";
  const long = at.length > 0 && Date.parse(at[at.length - 1]) - Date.parse(from) > 36 * 3600e3;
  const line = (y, colour, width, words) => ({
    x: at, y, mode: at.length < 3 ? "lines+markers" : "lines", connectgaps: false, line: { color: token(colour), width, shape: "hv" },
    hovertemplate: `%{x|${shown}}, %{y:,.1f} GPUs ${words}<extra></extra>`,
  });
  const limit = nominal === null ? [] : [
    { type: "line", xref: "paper", x0: 0, x1: 1, y0: nominal, y1: nominal, line: { color: token("text"), width: 1, dash: "5px,3px" } },
  ];
  return {
    data: [
      line(hp, "c-hp", 2, "HP"),
      line(lp, "c-lp", 1.6, "LP"),
      line(borrowed, "c-cpu", 1.6, "borrowed"),
      line(lent, "c-standby", 1.6, "lent"),
      line(pending, "c-other", 1.6, "waiting"),
    ],
    layout: layout({
      margin: { l: 50, r: 16, t: 14, b: 26 },
      xaxis: axis({ type: "date", tickformat: long ? "%d %b" : "%H:%M", tickangle: 0, nticks: 5, showgrid: false, range: [from, new Date().toISOString().slice(0, 19)] }),
      yaxis: axis({ rangemode: "tozero", nticks: 5 }),
      shapes: limit,
      annotations: limit.map(({ y0 }) => ({ xref: "paper", x: 1, y: y0, text: "nominal, now", showarrow: false, xanchor: "right", yanchor: "bottom", font: { size: 11, color: token("text") } })),
    }),
  };
}

const element = document.querySelector("[data-tenant-chart]");
const series = document.getElementById("tenant-series");
// Its table says the same where the drawing library does not come.
if (element && series) draw(element, () => figure(JSON.parse(series.textContent))).catch(() => element.remove());
