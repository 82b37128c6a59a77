// The map: one cell a node or one a GPU, from bytes by revision; hover card, keyboard cursor, measure switch.
import { categorical, draw, layout, plain, sequential, token } from "./charts.js";
import { MapCursor } from "./cursor.js";
import { GPU_ROWS, GPU_SIZES, GPU_TALLEST_PX, GPU_TOKENS, GPUS, inGpus, nodeAt, offsetsOf } from "./gpus.js";
import { LANE_ROWS, place, readGroups } from "./lanes.js";
import { isPaused, on } from "./live.js";
import { fetchMap, NO_DATA } from "./wire.js";

const NARROW = 640;
const WIDE = 1920;
const TALLEST_PX = 780;
const HEAD_PX = 16;
const LABEL_PX = 6;
const DASH_PX = 2.5;
const NOT_READY = 2;
const BELOW = -10;
const HEALTH_CODES = ["ok", "cordoned", "not_ready", "degraded", "no_gpus"];
const HEALTH_TOKENS = ["c-other", "c-lp", "c-down", "c-stranded", "border"];

const brush = document.createElement("canvas").getContext("2d");

/** Cell sizes worth trying, largest first: 4 px (5 on wide screens) is the least that can be pointed at. */
function cellSizes() {
  const least = window.innerWidth >= WIDE ? 5 : 4;
  return [12, 10, 8, 6, 5, 4].filter((size) => size >= least);
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
    this.note = root.querySelector("[data-map-note]");
    this.measure = root.dataset.measure;
    this.names = null;
    this.held = null;
    this.wanted = null;
    this.busy = false;
    this.cursor = new MapCursor(this);
  }

  async start() {
    this.root.addEventListener("click", (event) => this.pickMeasure(event));
    this.cursor.listen();
    new ResizeObserver(() => this.resized()).observe(this.root);
    on("fleet", (event) => this.news(event));
    await this.pull(this.root.dataset.revision, this.root.dataset.layout);
  }

  /** Whether a cell is a device; else it is a node. */
  get ofGpus() {
    return this.measure === GPUS;
  }

  address(revision, measure = this.measure) {
    const { gpusUrl, mapUrl } = this.root.dataset;
    const url = new URL((measure === GPUS ? gpusUrl : mapUrl).replace(/0(?=\/?$)/, revision), location.href);
    if (measure !== GPUS) url.searchParams.set("measure", measure);
    return url;
  }

  /** One request at a time, and always for the newest that is wanted: slow networks skip, they do not queue. */
  async pull(revision, digest) {
    if (!revision) return;
    this.wanted = { revision: Number(revision), digest };
    if (this.busy) return;
    this.busy = true;
    while (this.wanted) {
      const { revision: next, digest: places } = this.wanted;
      this.wanted = null;
      await this.load(next, places);
    }
    this.busy = false;
  }

  async load(revision, digest) {
    const measure = this.measure;
    try {
      if (digest && digest !== this.digest) await this.readLayout(digest);
      const map = await fetchMap(this.address(revision), this.held);
      const health = await this.healthBeside(map, revision);
      if (measure !== this.measure) return;
      if (map.nodes !== this.cells) throw new Error("its cells are not those of its layout");
      this.held = map;
      this.health = health;
      this.revision = revision;
      this.say("");
      this.paint();
    } catch (error) {
      this.say(`The map could not be read: ${error.message}. The table has the same figures by pool.`);
    }
  }

  /** [nodes] health codes. Bytes of GPUs bring none, and need them only to leave nodes out. */
  async healthBeside(map, revision) {
    if (!this.ofGpus) return map.columns[1];
    if (!this.root.dataset.health) return null;
    return (await fetchMap(this.address(revision, "health"), null)).columns[1];
  }

  get cells() {
    return this.ofGpus ? this.offsets[this.nodes] : this.nodes;
  }

  nodeOf(index) {
    return this.ofGpus ? nodeAt(this.offsets, index) : index;
  }

  async readLayout(digest) {
    const answer = await fetch(this.root.dataset.layoutUrl.replace("DIGEST", digest));
    if (!answer.ok) throw new Error(`the layout: the server answered ${answer.status}`);
    this.document = await answer.json();
    this.digest = digest;
    const { nodes, gpus } = readGroups(this.document);
    this.nodes = nodes;
    this.gpus = gpus;
    this.offsets = offsetsOf(gpus);
    this.held = null;
    this.names = null;
    this.field = null;
    this.cursor.reset();
  }

  news(event) {
    if (isPaused() || !event.revision || event.revision <= (this.revision ?? 0)) return;
    this.cursor.forgetDetails();
    this.pull(event.revision, event.layout ?? this.digest);
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

  /** The largest cells with which the whole fleet still fits on a screen; a large fleet gets the least. */
  measureField() {
    const room = this.stage.clientWidth;
    if (this.field?.room === room) return;
    const { groups } = readGroups(this.document, (group) => this.keeps(group));
    this.groups = this.ofGpus ? inGpus(groups, this.offsets) : groups;
    const [sizes, tallest, rows] = this.ofGpus ? [GPU_SIZES, GPU_TALLEST_PX, GPU_ROWS] : [cellSizes(), TALLEST_PX, LANE_ROWS];
    for (const cell of sizes) {
      const width = Math.max(12, Math.floor(room / cell));
      this.field = { ...place(this.groups, this.cells, width, Math.ceil(HEAD_PX / cell), rows), cell, room };
      if (this.field.height * cell <= tallest) break;
    }
    this.z = new Float32Array(this.field.width * this.field.height).fill(NaN);
    this.stage.style.minHeight = "0"; // it only held the place until now
    this.stage.style.height = `${this.field.height * this.field.cell}px`;
    this.stage.style.setProperty("--sl-cell", `${this.field.cell}px`);
  }

  resized() {
    if (!this.held || window.innerWidth <= NARROW) return;
    if (this.field?.room !== this.stage.clientWidth) this.paint();
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
    this.cursor.redraw();
  }

  /** One pass over all cells; what is the same for all of them is looked up before it. */
  fill() {
    const { order, xs, ys, width } = this.field;
    const values = this.measure === "health" ? this.health : this.held.columns[0];
    const unknown = this.measure === "health" || this.ofGpus ? -1 : BELOW;
    const filtered = Boolean(this.root.dataset.health);
    const only = HEALTH_CODES.indexOf(this.root.dataset.health);
    this.down = { x: [], y: [] };
    for (const i of order) {
      const state = this.health ? this.health[this.nodeOf(i)] : 0;
      const kept = !filtered || state === only;
      const value = values[i] === NO_DATA ? unknown : values[i];
      this.z[ys[i] * width + xs[i]] = kept ? value : NaN;
      if (kept && state === NOT_READY && !this.ofGpus) {
        this.down.x.push(xs[i]);
        this.down.y.push(ys[i]);
      }
    }
  }

  figure() {
    const { width, height, cell, room } = this.field;
    const rows = Array.from({ length: height }, (_, y) => this.z.subarray(y * width, (y + 1) * width));
    const frame = { visible: false, fixedrange: true };
    return {
      // Pointing is ours: Plotly's drag layer would swallow clicks.
      config: { staticPlot: true, responsive: false },
      data: [this.heat(rows), this.dashes(), this.marks(), ...this.labels()],
      layout: layout({
        width: room,
        height: height * cell,
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
    const coded = { [GPUS]: GPU_TOKENS, health: HEALTH_TOKENS }[this.measure] ?? [];
    const codes = ["unknown", ...coded].map(token);
    const codeScale = { zmin: -1.5, zmax: coded.length - 0.5, colorscale: categorical(codes) };
    const scale = coded.length ? codeScale : plainScale;
    return { type: "heatmap", z, showscale: false, zsmooth: false, hoverongaps: false, hoverinfo: "skip", ...scale };
  }

  dashes() {
    const x = this.field.dashes.flatMap(([from, to]) => [from, to, null]);
    const below = DASH_PX / this.field.cell;
    const y = this.field.dashes.flatMap(([, , at]) => [at + below, at + below, null]);
    return { type: "scatter", mode: "lines", x, y, line: { color: token("muted"), width: 1.2, dash: "2px,2px" }, hoverinfo: "skip" };
  }

  marks() {
    const line = { width: 1.3, color: token("mark-down") };
    return { type: "scatter", mode: "markers", ...this.down, marker: { symbol: "x-thin", size: this.field.cell + 1, line }, hoverinfo: "skip" };
  }

  /** Two traces: bold clusters and plain models; markup for bold would need inline styles. */
  labels() {
    const kept = this.field.labels.map((label) => shortLabel(label, this.field.cell)).filter(Boolean);
    const clusters = kept.filter((label) => label.cluster);
    const words = (labels, x, text, weight) => ({
      type: "scatter",
      mode: "text",
      x: labels.map(x),
      y: labels.map((label) => label.top - 0.5 - LABEL_PX / this.field.cell),
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

  async open(index) {
    const name = await this.nameOf(index);
    const group = this.groupOf(index);
    if (name && group) location.assign(this.nodeAddress(group, name));
  }

  nodeAddress({ cluster, source }, name) {
    return `${this.root.dataset.nodeUrl}?${new URLSearchParams({ cluster, name, source })}`;
  }

  whyAddress({ cluster, source }, name) {
    const path = this.root.dataset.whyUrl.replace("CLUSTER", encodeURIComponent(cluster));
    return `${path.replace("NODE", encodeURIComponent(name))}?${new URLSearchParams({ source })}`;
  }

  async nameOf(index) {
    this.names ||= fetch(this.root.dataset.namesUrl.replace("DIGEST", this.digest)).then((answer) => {
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      return answer.text();
    }).then((text) => text.split("\n"));
    try {
      return (await this.names)[this.nodeOf(index)];
    } catch (error) {
      this.names = null;
      this.say(`Names could not be read: ${error.message}.`);
      return "";
    }
  }

  groupOf(index) {
    return this.groups.find((group) => index >= group.first && index < group.first + group.count);
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
    if ((measure === GPUS) !== this.ofGpus) {
      this.field = null; // other cells in other places
      this.cursor.reset();
    }
    this.measure = measure;
    this.root.dataset.measure = measure;
    this.held = null;
    this.showMeasure();
    this.pull(this.revision ?? this.root.dataset.revision, this.digest);
  }

  /** Also after the board was swapped: an answer that was under way may know the former measure only. */
  showMeasure() {
    for (const link of this.root.querySelectorAll("[data-map-measures] a")) {
      if (link.dataset.measure === this.measure) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    for (const legend of this.root.querySelectorAll("[data-legend]")) legend.hidden = legend.dataset.legend !== this.measure;
    for (const legend of this.root.querySelectorAll("[data-legend-not]")) legend.hidden = legend.dataset.legendNot === this.measure;
  }
}
