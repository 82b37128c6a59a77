// HP GPUs of the last week beside what was reserved for them, and the next day with its band.
import { axis, draw, faded, layout, plain, token } from "./charts.js";

function line({ name, at, gpus, tone }, more = {}) {
  return {
    x: at, y: gpus, name: plain(name), mode: "lines", connectgaps: false, line: { color: token(tone), width: 1.5, ...more },
    hovertemplate: `%{x|%d %b %H:%M}: %{y:,.1f} GPUs<extra>${plain(name)}</extra>`,
  };
}

function figure({ actual, said, band, rivals }, width) {
  const data = [];
  if (band) {
    data.push(
      { x: band.at, y: band.low, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false },
      { x: band.at, y: band.high, mode: "lines", name: "Ours, 10 to 90 %", fill: "tonexty", fillcolor: faded("accent", 0.18), line: { width: 0 },
        hovertemplate: "%{x|%d %b %H:%M}: 90 % at or below %{y:,.1f} GPUs<extra></extra>" },
      line({ name: "Ours, mean", at: band.at, gpus: band.mean, tone: "accent" }, { width: 2 }),
    );
  }
  for (const one of [...said, ...rivals]) data.push(line(one, { dash: one.tone === "muted" ? "1px,3px" : "4px,3px" }));
  if (actual) data.push(line({ name: "Held", tone: "text", ...actual }, { width: 1.5 }));
  const named = new Set();
  for (const one of data) {
    if (one.showlegend === false) continue;
    one.legendgroup = one.name;
    one.showlegend = !named.has(one.name);
    named.add(one.name);
  }
  return {
    data,
    layout: layout({
      margin: { l: 52, r: 12, t: width < 520 ? 76 : 30, b: 26 }, showlegend: true, hovermode: "x",
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 11, color: token("muted") } },
      xaxis: axis({ type: "date", tickformat: "%d %b", tickangle: 0, showgrid: false }),
      yaxis: axis({ rangemode: "tozero", tickformat: ",~r" }),
    }),
  };
}

function drawAll() {
  for (const element of document.querySelectorAll("[data-forecast-chart]")) {
    const said = element.parentElement.querySelector("script[type='application/json']");
    if (!said || element.dataset.drawn === said.textContent) continue;
    element.dataset.drawn = said.textContent;
    const found = JSON.parse(said.textContent);
    draw(element, () => figure(found, element.clientWidth)).catch((error) => {
      element.textContent = `The chart could not be drawn: ${error.message}. The tables say the same.`;
    });
  }
}

drawAll();
// A part of the page that was fetched anew brings new numbers.
document.addEventListener("htmx:after:swap", drawAll);
