// Net emptied nodes, or what is reached of a goal, against moves kept.  The handle and the number field say the same; nothing changes until it is sent.
import { axis, draw, faded, layout, token } from "./charts.js";

/** The point of the last whole chain that has at most `wanted` moves: [moves, net]. */
export function keptAt(points, wanted) {
  let found = points[0] ?? [0, 0];
  for (const point of points) if (point[0] <= wanted) found = point;
  return found;
}

function steps(points) {
  return [points.find(([moves]) => moves === 0) ?? [0, 0], ...points.filter(([moves]) => moves > 0)];
}

/** What is reached holds until the next whole chain. */
function staircase(points, unit, line, more = {}) {
  const [x, y] = [points.map(([moves]) => moves), points.map(([, net]) => net)];
  const shown = { type: "scatter", mode: "lines", hovertemplate: `%{x} moves: %{y} ${unit}<extra></extra>` };
  return { ...shown, x, y, line: { shape: "hv", ...line }, ...more };
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
    this.said.textContent = `: ${net.toLocaleString("en-US")} ${this.facts.unit}${less ? `, ${less.toLocaleString("en-US")} fewer` : ""}${whole}`;
    return draw(this.plot, () => this.figure());
  }

  figure() {
    const [cut] = this.kept;
    const { moves, bound, net, unit } = this.facts;
    const kept = this.points.filter(([m]) => m <= cut);
    const dropped = this.points.filter(([m]) => m >= cut);
    const top = Math.max(net, bound ?? 0, 1) * 1.12;
    const title = { text: "moves kept, chain by chain", font: { size: 11 } };
    return {
      data: [
        staircase(kept, unit, { color: token("accent"), width: 2 }, { fill: "tozeroy", fillcolor: faded("accent", 0.12) }),
        staircase(dropped, unit, { color: token("faint"), width: 1.6, dash: "4px,3px" }),
      ],
      layout: layout({
        margin: { l: 38, r: 12, t: 16, b: 34 },
        xaxis: axis({ range: [0, moves * 1.02], showgrid: false, title }),
        yaxis: axis({ range: [0, top] }),
        shapes: [this.limit(), this.handle(cut, top)],
        annotations: bound === null ? [] : [this.limitWords()],
        datarevision: String(cut),
      }),
      config: { edits: { shapePosition: true } },
    };
  }

  /** Upright, to be dragged. */
  handle(cut, top) {
    const line = { color: token("accent"), width: 2 };
    return { type: "line", x0: cut, x1: cut, y0: 0, y1: top, line, editable: true };
  }

  limit() {
    const { moves, bound } = this.facts;
    const at = { x0: 0, x1: moves, y0: bound ?? 0, y1: bound ?? 0 };
    const line = { color: token("muted"), width: 1, dash: "5px,3px" };
    return { type: "line", ...at, visible: bound !== null, line, editable: false };
  }

  limitWords() {
    const { bound, proven } = this.facts;
    const text = `bound ${bound}, ${proven ? "proven" : "not proven"}`;
    const font = { size: 11, color: token("muted") };
    return { x: 0, y: bound, text, showarrow: false, xanchor: "left", yshift: 8, font };
  }
}

for (const root of document.querySelectorAll("[data-curve]")) {
  new Curve(root).start().catch((error) => {
    root.textContent = `The curve could not be drawn: ${error.message}. The number of moves can be set all the same.`;
  });
}
