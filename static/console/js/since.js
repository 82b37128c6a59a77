// What changed between two instants: the fleet's map, with losses and gains around zero instead of a measure.
import { token } from "./charts.js";
import { MapCursor } from "./cursor.js";
import { markers } from "./heat.js";
import { readGroups } from "./lanes.js";
import { NodeMap } from "./map.js";
import { ask, Newest } from "./newest.js";
import { fetchMap } from "./wire.js";

const ZERO = 128;
const EDGE = 0.001; // of the scale, beside its middle: the least change is seen
const PALE = 0.55;
const HEALTH = ["", "cordoned now", "not ready now", "degraded now", "no GPUs now"];
const WORDS = { schedulable: "schedulable", free: "free" };
const NARROW = 640;
const SIGN = 0.55; // of a cell: the signs of neighbours must not grow into one line

/** A colour between two of #rrggbb. */
function between(from, to, part) {
  const channel = (colour, at) => Number.parseInt(colour.slice(at, at + 2), 16);
  const mix = (at) => Math.round(channel(from, at) + (channel(to, at) - channel(from, at)) * part);
  return `#${[1, 3, 5].map((at) => mix(at).toString(16).padStart(2, "0")).join("")}`;
}

function diverging() {
  const [lost, same, won] = ["lost", "same", "won"].map(token);
  const [left, right] = [0.5 - EDGE, 0.5 + EDGE];
  return [[0, lost], [left, between(same, lost, PALE)], [left, same], [right, same], [right, between(same, won, PALE)], [1, won]];
}

class ChangeCursor extends MapCursor {
  figure(index) {
    const { measure, columns } = this.map.held;
    const change = columns[0][index] - ZERO;
    const gpus = this.map.places.gpus[index];
    const words = change === 0 ? `no ${WORDS[measure]} GPU lost or won` : `${change > 0 ? "+" : "−"}${Math.abs(change)} ${WORDS[measure]}`;
    return [`${words}, of ${gpus} ${gpus === 1 ? "GPU" : "GPUs"}`, HEALTH[columns[1][index]]].filter(Boolean).join(", ");
  }
}

class ChangeMap extends NodeMap {
  constructor(root) {
    super(root);
    this.cursor = new ChangeCursor(this);
    this.errands = new Newest((errand) => this.load(errand), { failed: (...why) => this.failed(...why) });
  }

  start() {
    this.root.addEventListener("click", (event) => this.pickMeasure(event));
    this.cursor.listen();
    new ResizeObserver(() => this.resized()).observe(this.root);
    this.told();
  }

  told() {
    const { pairs } = this.root.dataset;
    if (!pairs || pairs === this.pairs || window.innerWidth <= NARROW) return;
    this.pairs = pairs;
    this.cursor.forgetDetails();
    this.errands.want({ pairs });
  }

  address(pairs, measure) {
    const url = new URL(this.root.dataset.mapUrl.replace("PAIRS", pairs), location.href);
    url.searchParams.set("measure", measure);
    return url;
  }

  async load({ pairs }) {
    const { measure } = this;
    const [map, places] = await Promise.all([fetchMap(this.address(pairs, measure), null), this.placesOf(pairs)]);
    if (measure !== this.measure) return;
    if (map.nodes !== places.nodes) throw new Error("its cells are not those of its layout");
    this.take(Object.assign(map, { measure }), places, map.columns[1]);
    await this.paint();
    this.say("");
  }

  /** The places that are held, where the other reading has the same ones: the cursor keeps its node. */
  async readPlaces(digest) {
    const { body } = await ask(this.root.dataset.layoutUrl.replace("PAIRS", digest), "text");
    if (body === this.text) return this.places;
    this.text = body;
    return { digest, document: JSON.parse(body), ...readGroups(JSON.parse(body)) };
  }

  chooseMeasure(measure) {
    this.measure = measure;
    this.root.dataset.measure = measure;
    this.showMeasure();
    this.errands.want({ pairs: this.pairs });
  }

  fill() {
    const { order, xs, ys, width } = this.field;
    const [changes] = this.held.columns;
    this.lost = { x: [], y: [] };
    this.won = { x: [], y: [] };
    for (const i of order) {
      const change = changes[i] - ZERO;
      this.z[ys[i] * width + xs[i]] = (100 * change) / Math.max(this.places.gpus[i], Math.abs(change), 1);
      if (change === 0) continue;
      const spots = change < 0 ? this.lost : this.won;
      spots.x.push(xs[i]);
      spots.y.push(ys[i]);
    }
    this.down = { x: [], y: [] };
  }

  figure() {
    const drawn = super.figure();
    const line = { width: 1.2, color: token("sign") };
    const size = Math.max(3, Math.round(this.field.cell * SIGN));
    drawn.data.push(markers(this.lost, { symbol: "line-ew", size, line }), markers(this.won, { symbol: "cross-thin", size, line }));
    return drawn;
  }

  scale() {
    return { zmin: -100, zmax: 100, colorscale: diverging() };
  }
}

let map = null;

/** Also after a swap: the comparison may come while the page is open, and bring the map with it. */
function show() {
  const root = document.getElementById("since-map");
  if (!root) return;
  if (root !== map?.root) {
    map = new ChangeMap(root);
    map.start();
    return;
  }
  map.showMeasure();
  map.told();
}

/** The board asks for the address as it stands: the measure may have been chosen since. */
function keepAddress() {
  document.getElementById("since-board")?.setAttribute("hx-get", location.pathname + location.search);
}

document.addEventListener("htmx:after:swap", () => {
  keepAddress();
  show();
});
show();
