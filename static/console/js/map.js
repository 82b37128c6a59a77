// The map: one cell a node or one a GPU, from bytes by revision; hover card, keyboard cursor, measure switch.
import { breathe, categorical, draw, layout, plotly, token } from "./charts.js";
import { MapCursor } from "./cursor.js";
import { GPU_ROWS, GPU_SIZES, GPU_TALLEST_PX, GPU_TOKENS, GPUS, inGpus, nodeAt, offsetsOf } from "./gpus.js";
import { belowOr, field, groupAt, heat, markers, texts, widthOf, wordsOf } from "./heat.js";
import { heightOf, LANE_ROWS, place, readGroups } from "./lanes.js";
import { isPaused, on } from "./live.js";
import { ask, Newest } from "./newest.js";
import { fetchMap, NO_DATA } from "./wire.js";

const NARROW = 640;
const WIDE = 1920;
const TALLEST_PX = 780;
const HEAD_PX = 16;
const LABEL_PX = 6;
const DASH_PX = 2.5;
const BOLD = 600;
const NOT_READY = 2;
const HEALTH_CODES = ["ok", "cordoned", "not_ready", "degraded", "no_gpus"];
const HEALTH_TOKENS = ["c-other", "c-lp", "c-down", "c-stranded", "border"];

/** Cell sizes worth trying, largest first: 4 px (5 on wide screens) is the least that can be pointed at. */
function cellSizes() {
  const least = window.innerWidth >= WIDE ? 5 : 4;
  return [24, 20, 16, 14, 12, 11, 10, 9, 8, 7, 6, 5, 4].filter((size) => size >= least);
}

/** A label with its words, as far as they find room; null where not even the cluster does. */
function shortLabel(label, cell) {
  const room = label.columns * cell;
  const lead = label.cluster ? widthOf(`${label.cluster} `, BOLD) : 0;
  if (lead > room) return null;
  return { ...label, lead: lead / cell, text: wordsOf(label, room - lead) };
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
    this.places = null;
    this.asked = 0;
    this.cursor = new MapCursor(this);
    // A revision or a layout may be gone by the time that it is asked for; the newest never is.
    this.errands = new Newest((errand) => this.load(errand), { failed: (...why) => this.failed(...why), anew: () => ({ revision: "latest" }) });
  }

  start() {
    this.root.addEventListener("click", (event) => this.pickMeasure(event));
    this.cursor.listen();
    new ResizeObserver(() => this.resized()).observe(this.root);
    on("fleet", (event) => this.news(event));
    this.told();
  }

  /** What the board says of itself, as it was drawn and after each swap: the newest, also where a notice was lost. */
  told() {
    this.want(this.root.dataset.revision, this.root.dataset.layout);
  }

  /** Whether a cell of what is drawn is a device; else it is a node. */
  get ofGpus() {
    return this.held?.measure === GPUS;
  }

  address(revision, measure) {
    const { gpusUrl, mapUrl } = this.root.dataset;
    const url = new URL((measure === GPUS ? gpusUrl : mapUrl).replace(/0(?=\/?$)/, revision), location.href);
    if (measure !== GPUS) url.searchParams.set("measure", measure);
    return url;
  }

  want(revision, layout) {
    const number = Number(revision);
    if (isPaused() && this.held) return;
    if (!number || number <= this.asked || window.innerWidth <= NARROW) return;
    this.asked = number;
    this.errands.want({ revision: number, layout });
  }

  /** The layout that the page was told of is asked for beside the bytes; which one they are for, they say themselves. */
  async load({ revision, layout: hint }) {
    const { measure } = this;
    const held = this.held?.measure === measure ? this.held : null;
    const [map] = await Promise.all([fetchMap(this.address(revision, measure), held), this.placesOf(hint)]);
    const places = await this.placesOf(map.layout);
    const health = await this.healthBeside(map, measure);
    await plotly();
    if (measure !== this.measure) return;
    const cells = measure === GPUS ? places.offsets[places.nodes] : places.nodes;
    if (map.nodes !== cells) throw new Error("its cells are not those of its layout");
    this.take(Object.assign(map, { measure }), places, health);
    await this.paint();
    this.say("");
  }

  /** All at once, so that the cursor never names cells of one layout by another. */
  take(map, places, health) {
    if (places !== this.places) this.names = null;
    if (places !== this.places || (map.measure === GPUS) !== this.ofGpus) {
      this.field = null; // other cells in other places
      this.cursor.reset();
    }
    this.places = places;
    this.held = map;
    this.health = health;
    this.asked = Math.max(this.asked, map.revision);
  }

  failed(error, again = false) {
    this.say(`The map could not be read: ${error.message}.${again ? " It is tried again." : ""} The table has the same figures by pool.`);
  }

  /** [nodes] health codes. Bytes of GPUs bring none, and need them only to leave nodes out. */
  async healthBeside(map, measure) {
    if (measure !== GPUS) return map.columns[1];
    if (!this.root.dataset.health) return null;
    return (await fetchMap(this.address(map.revision, "health"), null)).columns[1];
  }

  nodeOf(index) {
    return this.ofGpus ? nodeAt(this.places.offsets, index) : index;
  }

  async placesOf(digest) {
    if (!digest || digest === this.places?.digest) return this.places;
    if (digest !== this.coming?.digest) this.coming = { digest, places: this.readPlaces(digest) };
    try {
      return await this.coming.places;
    } catch (error) {
      this.coming = null;
      throw error;
    }
  }

  async readPlaces(digest) {
    const { body } = await ask(this.root.dataset.layoutUrl.replace("DIGEST", digest), "json");
    const { nodes, gpus } = readGroups(body);
    return { digest, document: body, nodes, gpus, offsets: offsetsOf(gpus) };
  }

  news(event) {
    if (isPaused() || !event.revision || !event.layout) return;
    this.cursor.forgetDetails();
    this.want(event.revision, event.layout);
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
    const { groups } = readGroups(this.places.document, (group) => this.keeps(group));
    this.groups = this.ofGpus ? inGpus(groups, this.places.offsets) : groups;
    const [sizes, tallest, rows] = this.ofGpus ? [GPU_SIZES, GPU_TALLEST_PX, GPU_ROWS] : [cellSizes(), TALLEST_PX, LANE_ROWS];
    const width = (cell) => Math.max(12, Math.floor(room / cell));
    const head = (cell) => Math.ceil(HEAD_PX / cell);
    const fits = (cell) => heightOf(this.groups, width(cell), head(cell), rows) * cell <= tallest;
    const cell = sizes.find(fits) ?? sizes[sizes.length - 1];
    this.field = { ...place(this.groups, this.held.nodes, width(cell), head(cell), rows), cell, room };
    this.z = new Float32Array(this.field.width * this.field.height).fill(NaN);
    this.stage.style.minHeight = "0"; // it only held the place until now
    this.stage.style.height = `${this.field.height * this.field.cell}px`;
    this.stage.style.setProperty("--sl-cell", `${this.field.cell}px`);
  }

  resized() {
    if (window.innerWidth <= NARROW) return;
    if (!this.held) this.told(); // it was too narrow for a map until now
    else if (this.field?.room !== this.stage.clientWidth) this.paint().catch((error) => this.failed(error));
  }

  async paint() {
    if (window.innerWidth <= NARROW) return;
    const began = performance.now();
    this.measureField();
    await breathe();
    this.fill();
    await breathe();
    await draw(this.plot, () => this.figure());
    this.plot.dataset.drawMs = (performance.now() - began).toFixed(1);
    this.plot.dataset.revision = this.held.revision;
    this.root.dataset.ready = "true";
    this.cursor.redraw();
  }

  /** One pass over all cells; what is the same for all of them is looked up before it. */
  fill() {
    const { order, xs, ys, width } = this.field;
    const { measure, columns } = this.held;
    const values = measure === "health" ? this.health : columns[0];
    const coded = measure === "health" || this.ofGpus;
    const filtered = Boolean(this.root.dataset.health);
    const only = HEALTH_CODES.indexOf(this.root.dataset.health);
    this.down = { x: [], y: [] };
    for (const i of order) {
      const state = this.health ? this.health[this.nodeOf(i)] : 0;
      const kept = !filtered || state === only;
      const value = coded ? (values[i] === NO_DATA ? -1 : values[i]) : belowOr(values[i], NO_DATA);
      this.z[ys[i] * width + xs[i]] = kept ? value : NaN;
      if (kept && state === NOT_READY && !this.ofGpus) {
        this.down.x.push(xs[i]);
        this.down.y.push(ys[i]);
      }
    }
  }

  figure() {
    const { width, height, cell, room } = this.field;
    const cross = { symbol: "x-thin", size: cell + 1, line: { width: 1.3, color: token("mark-down") } };
    return {
      // Pointing is ours: Plotly's drag layer would swallow clicks.
      config: { staticPlot: true, responsive: false },
      data: [heat(this.z, width, this.scale()), this.dashes(), markers(this.down, cross), ...this.labels()],
      layout: layout({
        width: room,
        height: height * cell,
        margin: { l: 0, r: 0, t: 0, b: 0 },
        ...field(width, height),
        datarevision: `${this.held.revision} ${this.held.measure} ${this.root.dataset.health}`,
      }),
    };
  }

  /** Codes have colours of their own; the first is for no data. */
  scale() {
    const coded = { [GPUS]: GPU_TOKENS, health: HEALTH_TOKENS }[this.held.measure];
    if (!coded) return {};
    return { zmin: -1.5, zmax: coded.length - 0.5, colorscale: categorical(["unknown", ...coded].map(token)) };
  }

  dashes() {
    const x = this.field.dashes.flatMap(([from, to]) => [from, to, null]);
    const below = DASH_PX / this.field.cell;
    const y = this.field.dashes.flatMap(([, , at]) => [at + below, at + below, null]);
    return { type: "scatter", mode: "lines", x, y, line: { color: token("muted"), width: 1.2, dash: "2px,2px" }, hoverinfo: "skip" };
  }

  /** Bold clusters and plain models. */
  labels() {
    const kept = this.field.labels.map((label) => shortLabel(label, this.field.cell)).filter(Boolean);
    const clusters = kept.filter((label) => label.cluster);
    const y = (label) => label.top - 0.5 - LABEL_PX / this.field.cell;
    return [
      texts(clusters.map((label) => label.x - 0.5), clusters.map(y), clusters.map((label) => label.cluster), { weight: BOLD }),
      texts(kept.map((label) => label.x + label.lead - 0.5), kept.map(y), kept.map((label) => label.text)),
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
    const { digest } = this.places;
    this.names ||= ask(this.root.dataset.namesUrl.replace("DIGEST", digest), "text").then(({ body }) => body.split("\n"));
    try {
      return (await this.names)[this.nodeOf(index)];
    } catch (error) {
      this.names = null;
      this.say(`Names could not be read: ${error.message}.`);
      return "";
    }
  }

  groupOf(index) {
    return groupAt(this.groups, index);
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
    this.root.dataset.measure = measure;
    this.showMeasure();
    this.errands.want({ revision: this.held?.revision ?? "latest" });
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
