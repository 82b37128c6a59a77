// What all maps of cells draw alike: the heat map itself, the words above its groups, and how one walks on it.
import { plain, sequential, token } from "./charts.js";
import { step } from "./lanes.js";

const BELOW = -10; // below the scale of 0..100: no data
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const brush = document.createElement("canvas").getContext("2d");

export function belowOr(value, noData) {
  return value === noData ? BELOW : value;
}

/** Values of 0..100 on the one scale; `more` gives another scale or gaps. */
export function heat(z, width, more = {}) {
  const rows = Array.from({ length: z.length / width }, (_, y) => z.subarray(y * width, (y + 1) * width));
  const scale = { zmin: BELOW, zmax: 100, colorscale: sequential() };
  return { type: "heatmap", z: rows, showscale: false, zsmooth: false, hoverongaps: false, hoverinfo: "skip", ...scale, ...more };
}

/** The layout's part that makes one unit of both axes one cell, y downwards. */
export function field(width, height) {
  const axis = { visible: false, fixedrange: true };
  return {
    hovermode: false,
    xaxis: { ...axis, range: [-0.5, width - 0.5] },
    yaxis: { ...axis, range: [height - 0.5, -0.5] },
  };
}

export function markers(spots, marker) {
  return { type: "scatter", mode: "markers", ...spots, marker, hoverinfo: "skip" };
}

/** Words that begin at their x. Bold is a weight: markup for it would need inline styles. */
export function texts(x, y, words, font) {
  const fixed = { type: "scatter", mode: "text", hoverinfo: "skip", cliponaxis: false, textposition: "middle right" };
  return { ...fixed, x, y, text: words.map(plain), textfont: { size: 11, color: token("text"), ...font } };
}

export function widthOf(text, weight = 400) {
  brush.font = `${weight} 11px "Inter Variable", Inter, sans-serif`;
  return brush.measureText(text).width;
}

/** Model and count, the model alone, or nothing: what `room` pixels hold. */
export function wordsOf(label, room) {
  const model = label.model || "no model";
  const tail = label.continued ? `${model}, cont.` : `${model} ${label.nodes.toLocaleString("en-US")}`;
  return [tail, model].find((text) => widthOf(text) <= room) ?? "";
}

export function groupAt(groups, index) {
  return groups.find((group) => index >= group.first && index < group.first + group.count);
}

/** The cell that a key leads to from `at` (-1: none yet), or undefined for keys that lead nowhere. */
export function walk(place, at, key) {
  const { order } = place;
  if (key === "Home") return order[0];
  if (key === "End") return order[order.length - 1];
  if (!MOVES[key]) return undefined;
  return at < 0 ? order[0] : step(place, at, ...MOVES[key]);
}
