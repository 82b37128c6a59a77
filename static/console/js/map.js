// The node map: one cell a node, from bytes by revision; hover card, keyboard cursor, measure switch.
import { categorical, draw, layout, plain, sequential, token } from "./charts.js";
import { LANE_ROWS, place, readGroups, step } from "./lanes.js";
import { isPaused, on } from "./live.js";
import { fetchMap, NO_DATA } from "./wire.js";

const NARROW = 640;
const WIDE = 1920;
const CARD_WAIT_MS = 150;
const NOT_READY = 2;
const BELOW = -10;
const HEALTH_CODES = ["ok", "cordoned", "not_ready", "degraded", "no_gpus"];
const HEALTH = ["Ready", "Cordoned", "Not ready", "Degraded", "No GPUs"];
const HEALTH_TOKENS = ["c-other", "c-lp", "c-down", "c-stranded", "border"];
const WORDS = { free: "free", stranded: "stranded", cpu_bound: "CPU-bound", standby: "asleep", lp: "held by LP" };

const brush = document.createElement("canvas").getContext("2d");

function cellSize() {
  return window.innerWidth >= WIDE ? 5 : 4;
}

function widthOf(text, bold) {
  brush.font = `${bold ? 600 : 400} 11px "Inter Variable", Inter, sans-serif`;
  return brush.measureText(text).width;
}

function shortLabel(label, cell) {
  const room = label.columns * cell;
  const cluster = label.cluster;
  const lead = cluster ? widthOf(`${cluster} `, true) : 0;
  const model = label.model ?? "no model";
  const tail = label.continued ? `${model} …` : `${model} ${label.nodes.toLocaleString("en-US")}`;
  const kept = [tail, model, ""].find((text) => lead + widthOf(text, false) <= room) ?? "";
  if (lead > room) return null;
  return { ...label, lead: lead / cell, text: kept };
}

export class NodeMap {
  constructor(root) {
    this.root = root;
    this.plot = root.querySelector("[data-map-plot]");
    this.stage = root.querySelector("[data-map-stage]");
    this.card = root.querySelector("[data-map-card]");
    this.ring = root.querySelector("[data-map-ring]");
    this.note = root.querySelector("[data-map-note]");
    this.measure = root.dataset.measure;
    this.cursor = -1;
    this.names = null;
    this.held = null;
    this.details = new Map();
    this.turn = 0;
  }

  async start() {
    this.root.addEventListener("click", (event) => this.pickMeasure(event));
    this.stage.addEventListener("pointermove", (event) => this.point(event));
    this.stage.addEventListener("pointerleave", () => this.leave());
    this.stage.addEventListener("click", (event) => this.openAt(event));
    this.stage.addEventListener("keydown", (event) => this.press(event));
    this.stage.addEventListener("focus", () => this.focus());
    this.stage.addEventListener("blur", () => this.hide());
    new ResizeObserver(() => this.resized()).observe(this.root);
    on("fleet", (event) => this.news(event));
    await this.load(this.root.dataset.revision, this.root.dataset.layout);
  }

  address(revision) {
    const url = new URL(this.root.dataset.mapUrl.replace("/0", `/${revision}`), location.href);
    url.searchParams.set("measure", this.measure);
    return url;
  }

  async load(revision, digest) {
    const turn = ++this.turn;
    try {
      if (digest && digest !== this.digest) await this.readLayout(digest);
      const { map } = await fetchMap(this.address(revision), this.held);
      if (turn !== this.turn) return;
      this.held = map;
      this.say("");
      this.paint();
    } catch (error) {
      if (turn === this.turn) this.say(`The map could not be read: ${error.message}. The table beside it has the same figures.`);
    }
  }

  async readLayout(digest) {
    const answer = await fetch(this.root.dataset.layoutUrl.replace("DIGEST", digest));
    if (!answer.ok) throw new Error(`the layout: the server answered ${answer.status}`);
    this.document = await answer.json();
    this.digest = digest;
    this.held = null;
    this.names = null;
    this.field = null;
    this.cursor = -1;
  }

  news(event) {
    // The board is swapped on the same event and knows the newest layout; a hidden or paused page asks for nothing.
    if (isPaused() || !event.revision) return;
    this.details.clear();
    this.load(event.revision, event.layout);
  }

  say(words) {
    this.note.textContent = words;
    this.note.hidden = !words;
  }

  keeps(group) {
    const { cluster, model, asw } = this.root.dataset;
    if (cluster && group.cluster !== cluster) return false;
    if (model && group.model !== model) return false;
    if (!asw) return true;
    return asw === "-" ? group.asw === null : group.asw === asw;
  }

  measureField() {
    const cell = cellSize();
    const width = Math.max(12, Math.floor(this.stage.clientWidth / cell));
    if (this.field?.width === width && this.field.cell === cell) return;
    const { groups, nodes, gpus } = readGroups(this.document, (group) => this.keeps(group));
    this.groups = groups;
    this.gpus = gpus;
    this.field = { ...place(groups, nodes, width), cell };
    this.z = new Float32Array(width * this.field.height).fill(NaN);
    this.stage.style.height = `${this.field.height * cell}px`;
  }

  resized() {
    if (!this.held || window.innerWidth <= NARROW) return;
    const before = this.field?.width;
    this.measureField();
    if (this.field.width !== before) this.paint();
  }

  paint() {
    if (window.innerWidth <= NARROW) return;
    const began = performance.now();
    this.measureField();
    this.fill();
    draw(this.plot, () => this.figure());
    this.plot.dataset.drawMs = (performance.now() - began).toFixed(1);
    this.plot.dataset.revision = this.held.revision;
    this.root.dataset.ready = "true";
    if (document.activeElement === this.stage && this.cursor >= 0) this.show(this.cursor);
  }

  shown(index) {
    const [values, health] = this.held.columns;
    if (this.measure === "health") return health[index] === NO_DATA ? -1 : health[index];
    return values[index] === NO_DATA ? BELOW : values[index];
  }

  wanted(index) {
    const only = this.root.dataset.health;
    return !only || HEALTH_CODES[this.held.columns[1][index]] === only;
  }

  fill() {
    const { order, xs, ys, width } = this.field;
    this.down = { x: [], y: [] };
    const health = this.held.columns[1];
    for (const i of order) {
      const here = ys[i] * width + xs[i];
      this.z[here] = this.wanted(i) ? this.shown(i) : NaN;
      if (health[i] === NOT_READY && this.wanted(i)) {
        this.down.x.push(xs[i]);
        this.down.y.push(ys[i]);
      }
    }
  }

  figure() {
    const { width, height } = this.field;
    const rows = Array.from({ length: height }, (_, y) => this.z.subarray(y * width, (y + 1) * width));
    const frame = { visible: false, fixedrange: true };
    return {
      data: [this.heat(rows), this.dashes(), this.marks(), ...this.labels()],
      layout: layout({
        margin: { l: 0, r: 0, t: 0, b: 0 },
        hovermode: false,
        xaxis: { ...frame, range: [-0.5, width - 0.5] },
        yaxis: { ...frame, range: [height - 0.5, -0.5] },
        datarevision: `${this.held.revision} ${this.measure} ${this.root.dataset.health}`,
      }),
    };
  }

  heat(z) {
    const plainScale = { zmin: BELOW, zmax: 100, colorscale: sequential() };
    const codes = ["unknown", ...HEALTH_TOKENS].map(token);
    const codeScale = { zmin: -1.5, zmax: HEALTH.length - 0.5, colorscale: categorical(codes) };
    const scale = this.measure === "health" ? codeScale : plainScale;
    return { type: "heatmap", z, showscale: false, zsmooth: false, hoverongaps: false, hoverinfo: "skip", ...scale };
  }

  dashes() {
    const x = this.field.dashes.flatMap(([from, to]) => [from, to, null]);
    const y = this.field.dashes.flatMap(([, , at]) => [at, at, null]);
    return { type: "scatter", mode: "lines", x, y, line: { color: token("muted"), width: 1.2, dash: "2px,2px" }, hoverinfo: "skip" };
  }

  marks() {
    const line = { width: 1.3, color: token("mark-down") };
    return { type: "scatter", mode: "markers", ...this.down, marker: { symbol: "x-thin", size: 5, line }, hoverinfo: "skip" };
  }

  /** Two traces: bold clusters and plain models; markup for bold would need inline styles. */
  labels() {
    const kept = this.field.labels.map((label) => shortLabel(label, this.field.cell)).filter(Boolean);
    const clusters = kept.filter((label) => label.cluster);
    const words = (labels, x, text, weight) => ({
      type: "scatter",
      mode: "text",
      x: labels.map(x),
      y: labels.map((label) => label.y),
      text: labels.map(text),
      textposition: "middle right",
      textfont: { size: 11, weight, color: token("text") },
      hoverinfo: "skip",
      cliponaxis: false,
    });
    return [
      words(clusters, (label) => label.x - 0.5, (label) => plain(label.cluster), 600),
      words(kept, (label) => label.x + label.lead - 0.5, (label) => plain(label.text), 400),
    ];
  }

  // --- pointing, walking, opening ---------------------------------------------------------------------------------

  under(event) {
    if (!this.field) return -1;
    const box = this.stage.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left) / (box.width / this.field.width));
    const y = Math.floor((event.clientY - box.top) / (box.height / this.field.height));
    if (x < 0 || y < 0 || x >= this.field.width || y >= this.field.height) return -1;
    return this.field.at[y * this.field.width + x];
  }

  point(event) {
    const index = this.under(event);
    if (index === this.hovered) return;
    this.hovered = index;
    if (index >= 0) this.show(index);
    else this.hide();
  }

  leave() {
    this.hovered = -1;
    if (document.activeElement === this.stage && this.cursor >= 0) this.show(this.cursor);
    else this.hide();
  }

  focus() {
    if (!this.field || this.field.order.length === 0) return;
    if (this.cursor < 0) this.cursor = this.field.order[0];
    this.show(this.cursor);
  }

  press(event) {
    if (!this.field || this.field.order.length === 0) return;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const order = this.field.order;
    if (moves[event.key]) this.cursor = step(this.field, this.cursor, ...moves[event.key]);
    else if (event.key === "Home") this.cursor = order[0];
    else if (event.key === "End") this.cursor = order[order.length - 1];
    else if (event.key === "Enter") this.open(this.cursor);
    else return;
    event.preventDefault();
    this.show(this.cursor);
  }

  async openAt(event) {
    const index = this.under(event);
    if (index < 0) return;
    this.cursor = index;
    await this.open(index);
  }

  async open(index) {
    const name = await this.nameOf(index);
    const group = this.groupOf(index);
    if (!name || !group) return;
    location.assign(this.nodeAddress(group.cluster, name));
  }

  nodeAddress(cluster, name) {
    const address = this.root.dataset.nodeUrl;
    return address.replace("CLUSTER", encodeURIComponent(cluster)).replace("NODE", encodeURIComponent(name));
  }

  async nameOf(index) {
    this.names ||= fetch(this.root.dataset.namesUrl.replace("DIGEST", this.digest)).then((answer) => {
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      return answer.text();
    }).then((text) => text.split("\n"));
    try {
      return (await this.names)[index];
    } catch (error) {
      this.names = null;
      this.say(`Names could not be read: ${error.message}.`);
      return "";
    }
  }

  groupOf(index) {
    return this.groups.find((group) => index >= group.first && index < group.first + group.count);
  }

  place(element, x, y) {
    element.style.left = `${x}px`;
    element.style.top = `${y}px`;
  }

  async show(index) {
    const { xs, ys, cell, width } = this.field;
    const scale = this.stage.clientWidth / width;
    this.ring.hidden = false;
    this.place(this.ring, (xs[index] + 0.5) * scale, (ys[index] + 0.5) * cell);
    this.asked = index;
    const name = await this.nameOf(index);
    if (this.asked !== index) return;
    this.fillCard(index, name);
    this.card.hidden = false;
    const left = xs[index] * scale + 14;
    const tooFar = left + this.card.offsetWidth > this.stage.clientWidth;
    const above = ys[index] * cell + 18 + this.card.offsetHeight > this.stage.clientHeight + 40;
    this.place(this.card, tooFar ? left - this.card.offsetWidth - 24 : left, above ? ys[index] * cell - this.card.offsetHeight - 10 : ys[index] * cell + 16);
    clearTimeout(this.cardTimer);
    this.cardTimer = setTimeout(() => this.explain(index, name), CARD_WAIT_MS);
  }

  hide() {
    this.asked = -1;
    clearTimeout(this.cardTimer);
    this.card.hidden = true;
    this.ring.hidden = true;
  }

  figureOf(index) {
    const [values, health] = this.held.columns;
    const state = HEALTH[health[index]];
    if (this.measure === "health") return state ?? "no data";
    if (values[index] === NO_DATA) return "no data";
    const gpus = this.gpus[index];
    const count = Math.round((values[index] * gpus) / 100 * 10) / 10;
    const words = `${count} of ${gpus} ${gpus === 1 ? "GPU" : "GPUs"} ${WORDS[this.measure]}`;
    return health[index] > 0 && state ? `${words}, ${state.toLowerCase()}` : words;
  }

  fillCard(index, name) {
    const group = this.groupOf(index);
    const where = [group.cluster, group.model ?? "no model", group.asw === null ? "no ASW label" : `ASW ${group.asw}`];
    this.card.querySelector("[data-card-name]").textContent = name;
    this.card.querySelector("[data-card-place]").textContent = where.join(", ");
    this.card.querySelector("[data-card-value]").textContent = this.figureOf(index);
    this.card.querySelector("[data-card-why]").textContent = this.details.get(index) ?? "";
  }

  /** What the bytes cannot say (why, what is left) comes from the server once the pointer rests. */
  async explain(index, name) {
    const address = this.root.dataset.cardUrl;
    if (!address || this.details.has(index)) return;
    const group = this.groupOf(index);
    const url = address.replace("CLUSTER", encodeURIComponent(group.cluster)).replace("NODE", encodeURIComponent(name));
    const answer = await fetch(url, { headers: { Accept: "text/plain" } });
    if (!answer.ok) return;
    this.details.set(index, await answer.text());
    if (this.asked === index) this.card.querySelector("[data-card-why]").textContent = this.details.get(index);
  }

  /** The measures are links, so that they work everywhere; here the map changes in place. */
  pickMeasure(event) {
    const link = event.target.closest("[data-map-measures] a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.replaceState(history.state, "", link.href);
    this.chooseMeasure(link.dataset.measure);
  }

  chooseMeasure(measure) {
    this.measure = measure;
    for (const link of this.root.querySelectorAll("[data-map-measures] a")) {
      if (link.dataset.measure === measure) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    for (const legend of this.root.querySelectorAll("[data-legend]")) {
      legend.hidden = !legend.dataset.legend.split(" ").includes(measure);
    }
    this.held = null;
    this.load(this.root.dataset.revision, this.digest);
  }
}

export const ROWS = LANE_ROWS;
