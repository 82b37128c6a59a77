// Net emptied nodes against moves kept.  The handle and the number field say the same; nothing changes until it is sent.
import { axis, draw, faded, layout, token } from "./charts.js";

/** The point of the last whole chain that has at most `wanted` moves: [moves, net]. */
export function keptAt(points, wanted) {
  let found = [0, 0];
  for (const point of points) if (point[0] <= wanted) found = point;
  return found;
}

function steps(points) {
  return [[0, 0], ...points.filter(([moves]) => moves > 0)];
}

class Curve {
  constructor(root) {
    this.root = root;
    this.facts = JSON.parse(document.getElementById(root.dataset.curve).textContent);
    this.points = steps(this.facts.points);
    this.field = document.querySelector("[data-curve-cut]");
    this.said = document.querySelector("[data-curve-said]");
    this.plot = document.createElement("div");
    root.replaceChildren(this.plot);
    this.plot.style.height = "214px";
  }

  async start() {
    this.field.addEventListener("input", () => this.paint());
    await this.paint();
    this.plot.on("plotly_relayout", (change) => this.dragged(change));
  }

  dragged(change) {
    const x = change["shapes[1].x0"];
    if (x === undefined) return;
    this.field.value = Math.min(this.facts.moves, Math.max(1, Math.round(x)));
    this.paint();
  }

  paint() {
    const wanted = Number(this.field.value) || 0;
    this.kept = keptAt(this.points, wanted);
    const [moves, net] = this.kept;
    const less = this.facts.net - net;
    const whole = moves === wanted ? "" : ` (whole chains: ${moves.toLocaleString("en-US")} moves)`;
    this.said.textContent = `: ${net.toLocaleString("en-US")} nodes${less ? `, ${less.toLocaleString("en-US")} fewer` : ""}${whole}`;
    return draw(this.plot, () => this.figure());
  }

  figure() {
    const [cut] = this.kept;
    const { moves, bound, proven, net } = this.facts;
    const kept = this.points.filter(([m]) => m <= cut);
    const dropped = this.points.filter(([m]) => m >= cut);
    const top = Math.max(net, bound ?? 0, 1) * 1.12;
    const line = (points, more) => ({ type: "scatter", mode: "lines", x: points.map((p) => p[0]), y: points.map((p) => p[1]), hovertemplate: "%{x} moves: %{y} nodes<extra></extra>", ...more });
    const upright = { type: "line", x0: cut, x1: cut, y0: 0, y1: top, line: { color: token("accent"), width: 2 }, editable: true };
    const limit = { type: "line", x0: 0, x1: moves, y0: bound ?? 0, y1: bound ?? 0, visible: bound !== null, line: { color: token("muted"), width: 1, dash: "5px,3px" }, editable: false };
    return {
      data: [
        line(kept, { line: { shape: "hv", color: token("accent"), width: 2 }, fill: "tozeroy", fillcolor: faded("accent", 0.12) }),
        line(dropped, { line: { shape: "hv", color: token("faint"), width: 1.6, dash: "4px,3px" } }),
      ],
      layout: layout({
        margin: { l: 38, r: 12, t: 16, b: 34 },
        xaxis: axis({ range: [0, moves * 1.02], showgrid: false, title: { text: "moves kept, chain by chain", font: { size: 11 } } }),
        yaxis: axis({ range: [0, top] }),
        shapes: [limit, upright],
        annotations: bound === null ? [] : [{ x: 0, y: bound, text: `bound ${bound}, ${proven ? "proven" : "not proven"}`, showarrow: false, xanchor: "left", yshift: 8, font: { size: 11, color: token("muted") } }],
        datarevision: String(cut),
      }),
      config: { edits: { shapePosition: true } },
    };
  }
}

for (const root of document.querySelectorAll("[data-curve]")) {
  new Curve(root).start().catch((error) => {
    root.textContent = `The curve could not be drawn: ${error.message}. The number of moves can be set all the same.`;
  });
}
