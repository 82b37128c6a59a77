// Before over after in one heat map, so that neither scale nor zoom can differ.  One byte a node and column.
import { draw, layout, plotly, token } from "./charts.js";
import { belowOr, field, groupAt, heat, markers, texts, walk, widthOf, wordsOf } from "./heat.js";
import { heightOf, LANE_ROWS, place } from "./lanes.js";
import { ask, Newest } from "./newest.js";
import { walkRadios } from "./theme.js";
import { NO_DATA } from "./wire.js";

const HEAD_BYTES = 16;
const EMPTIED = 1;
const RECEIVES = 2;
const GIVES = 4;
const DOES = [[EMPTIED, "emptied"], [RECEIVES, "receives"], [GIVES, "gives"]];
const FEW_NODES = 1500;
const SMALL_CELL = 4;
const CELLS = [16, 14, 12]; // of few nodes
const ROWS = [4, 6, 8, LANE_ROWS];
const SIDE = 54;
const LINE_PX = 14; // a line of words above the cells
const LABEL_PX = 8; // from the cells to the middle of the lowest line
const LABEL_MORE_PX = 4; // the gap behind a group is free
const MEASURES = {
  free: "Free GPUs of the node, fixed scale, none",
  slack: "Slack: free GPUs of nodes that are neither empty nor full, none",
  moved: "Nodes that give or receive, by free GPUs; the others are left out, none",
};

export function read(buffer) {
  const view = new DataView(buffer);
  const magic = String.fromCharCode(...new Uint8Array(buffer, 0, 4));
  if (magic !== "SLP1") throw new Error("this is no plan map");
  const nodes = view.getUint32(4, true);
  const column = (k) => new Uint8Array(buffer, HEAD_BYTES + k * nodes, nodes);
  return { nodes, before: column(0), after: column(1), marks: column(2), gpus: column(3) };
}

export function groupsOf(document) {
  let first = 0;
  return document.groups.map(({ model, asw, count }) => {
    const group = { cluster: "", model, asw, count, first };
    first += count;
    return group;
  });
}

/** What a cell shows: per cent free, below the scale for no data, NaN for cells that this measure leaves out. */
export function shown(measure, value, mark) {
  if (measure === "moved" && mark === 0) return NaN;
  if (measure === "slack" && (value === 0 || value === 100)) return NaN;
  return belowOr(value, NO_DATA);
}

/** The ASW's name and how many nodes it has, as much of it as `room` pixels hold. */
export function aswWords({ asw, count }, room) {
  const named = asw === null ? ["no ASW"] : /asw/i.test(asw) ? [asw] : [`ASW ${asw}`, asw];
  const offered = [...named.map((name) => `${name} · ${count}`), ...named];
  return offered.find((text) => widthOf(text) <= room) ?? "";
}

class PlanMap {
  constructor(root) {
    this.root = root;
    this.said = document.querySelector("[data-planmap-said]");
    this.legend = document.querySelector("[data-planmap-legend]");
    this.radios = document.querySelector("[data-planmap-measure]");
    this.measure = "free";
    this.ringed = root.dataset.ring === "receives" ? RECEIVES : EMPTIED;
    this.cursor = -1;
  }

  start() {
    new Newest(() => this.load(), { failed: (...why) => this.failed(...why) }).want("map");
  }

  failed(error, again) {
    this.root.textContent = `The map could not be read: ${error.message}. ${again ? "It is tried again. " : ""}The table of moves holds the same facts.`;
  }

  async load() {
    const { planmap, layout: places } = this.root.dataset;
    const [bytes, shape] = await Promise.all([ask(planmap, "arrayBuffer"), ask(places, "json"), plotly()]);
    this.map = read(bytes.body);
    this.names = shape.body.names;
    this.groups = groupsOf(shape.body);
    this.few = this.map.nodes <= FEW_NODES;
    const models = new Set(this.groups.map((group) => group.model)).size;
    const asws = this.few && this.groups.some((group) => group.asw !== null);
    this.lines = { asws, models: !asws || models > 1 };
    this.plot = document.createElement("div");
    this.root.replaceChildren(this.plot);
    await this.paint();
    this.listen();
  }

  listen() {
    this.radios.hidden = false;
    walkRadios(this.radios, (button) => this.choose(button));
    this.root.addEventListener("pointermove", (event) => this.point(event));
    this.root.addEventListener("keydown", (event) => this.press(event));
    new ResizeObserver(() => this.resized()).observe(this.root);
  }

  choose(button) {
    this.measure = button.dataset.measure;
    for (const radio of this.radios.querySelectorAll("[role=radio]")) {
      radio.setAttribute("aria-checked", String(radio === button));
      radio.tabIndex = radio === button ? 0 : -1;
    }
    this.legend.textContent = MEASURES[this.measure];
    this.paint();
  }

  resized() {
    if (this.width && this.width !== this.columns(this.cell)) this.paint();
  }

  columns(cell) {
    return Math.max(12, Math.floor((this.root.clientWidth - 24 - SIDE) / cell));
  }

  headRows(cell) {
    return Math.ceil((6 + LINE_PX * (this.lines.asws + this.lines.models)) / cell);
  }

  /** Few nodes lie in one lane across the card, in the largest cells and the fewest rows that allow it. */
  shape() {
    if (!this.few) return [SMALL_CELL, LANE_ROWS];
    const tried = CELLS.flatMap((cell) => ROWS.map((rows) => [cell, rows]));
    const lanes = (cell, rows) => heightOf(this.groups, this.columns(cell), this.headRows(cell), rows) / (this.headRows(cell) + rows + 1);
    return tried.find(([cell, rows]) => lanes(cell, rows) === 1) ?? [CELLS.at(-1), LANE_ROWS];
  }

  async paint() {
    const [cell, laneRows] = this.shape();
    this.cell = cell;
    this.width = this.columns(cell);
    this.field = place(this.groups, this.map.nodes, this.width, this.headRows(cell), laneRows);
    const { width, height, order, xs, ys } = this.field;
    this.rows = 2 * height;
    const z = new Float32Array(width * this.rows).fill(NaN);
    this.emptied = { x: [], y: [] };
    for (const i of order) {
      const at = ys[i] * width + xs[i];
      z[at] = shown(this.measure, this.map.before[i], this.map.marks[i]);
      z[at + height * width] = shown(this.measure, this.map.after[i], this.map.marks[i]);
      if (this.map.marks[i] & this.ringed) {
        this.emptied.x.push(xs[i]);
        this.emptied.y.push(ys[i] + height);
      }
    }
    this.z = z;
    this.plot.style.height = `${this.rows * this.cell}px`;
    await draw(this.plot, () => this.figure());
    this.root.dataset.ready = "true";
  }

  figure() {
    const { width, height } = this.field;
    const big = this.few;
    const ring = { symbol: "square-open", size: Math.max(4, this.cell * 0.7), color: token("accent"), line: { width: big ? 2 : 1.2 } };
    return {
      data: [heat(this.z, width, big ? { xgap: 1, ygap: 1 } : {}), markers(this.emptied, ring), this.labels(0), this.labels(height), ...this.mark()],
      layout: layout({
        margin: { l: SIDE, r: 0, t: 0, b: 0 },
        ...field(width, this.rows),
        annotations: [this.side("Before", height / 2), this.side("After", height * 1.5)],
        datarevision: `${this.measure} ${this.cursor}`,
      }),
    };
  }

  side(text, y) {
    return { xref: "paper", x: 0, xshift: -SIDE, y, text, showarrow: false, xanchor: "left", font: { size: 12, color: token("text") } };
  }

  labels(down) {
    const spots = [...this.modelLabels(), ...this.aswLabels()].filter(({ text }) => text);
    const above = ({ top, line }) => top - 0.5 - (LABEL_PX + line * LINE_PX) / this.cell + down;
    return texts(spots.map(({ x }) => x - 0.5), spots.map(above), spots.map(({ text }) => text), { color: token("muted") });
  }

  modelLabels() {
    if (!this.lines.models) return [];
    const line = Number(this.lines.asws);
    return this.field.labels.map((label) => {
      return { x: label.x, top: label.top, line, text: wordsOf(label, label.columns * this.cell + LABEL_MORE_PX) };
    });
  }

  aswLabels() {
    if (!this.lines.asws) return [];
    const { xs, ys, width, pitch } = this.field;
    const rows = pitch - this.headRows(this.cell) - 1;
    return this.groups.map((group) => {
      const [x, top] = [xs[group.first], ys[group.first]];
      const columns = Math.min(Math.ceil(group.count / rows), width - x);
      return { x, top, line: 0, text: aswWords(group, columns * this.cell + LABEL_MORE_PX) };
    });
  }

  /** The node under pointer or cursor, marked in both maps. */
  mark() {
    if (this.cursor < 0) return [];
    const { xs, ys, height } = this.field;
    const spots = { x: [xs[this.cursor], xs[this.cursor]], y: [ys[this.cursor], ys[this.cursor] + height] };
    const ring = (size, color) => markers(spots, { symbol: "square-open", size, color, line: { width: 1.5 } });
    return [ring(this.cell + 3, "#000000"), ring(this.cell, "#ffffff")];
  }

  point(event) {
    const box = this.plot.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left - SIDE) / ((box.width - SIDE) / this.field.width));
    const y = Math.floor((event.clientY - box.top) / (box.height / this.rows)) % this.field.height;
    if (x < 0 || y < 0 || x >= this.field.width) return;
    const found = this.field.at[y * this.field.width + x];
    if (found >= 0 && found !== this.cursor) this.name(found);
  }

  press(event) {
    const next = walk(this.field, this.cursor, event.key);
    if (next === undefined) return;
    event.preventDefault();
    this.name(next);
  }

  name(index) {
    this.cursor = index;
    const { before, after, marks, gpus } = this.map;
    const free = (value) => (value === NO_DATA ? "no data" : `${Math.round((value * gpus[index]) / 100)} of ${gpus[index]}`);
    const group = groupAt(this.groups, index);
    const does = DOES.filter(([mark]) => marks[index] & mark).map(([, word]) => word);
    const asw = group.asw === null ? "no ASW label" : `ASW ${group.asw}`;
    const place = [this.names[index], group.model || "no model", asw].join(", ");
    const change = [`free GPUs ${free(before[index])} → ${free(after[index])}`, ...does].join(", ");
    this.said.textContent = `${place}: ${change}`;
    draw(this.plot, () => this.figure());
  }
}

for (const root of document.querySelectorAll("[data-planmap]")) new PlanMap(root).start();
