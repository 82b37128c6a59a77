// Pointing at the map and walking on it: the double ring, the card, Enter and click.
import { visible } from "./charts.js";
import { GPU_WORDS } from "./gpus.js";
import { walk } from "./heat.js";
import { ask } from "./newest.js";
import { NO_DATA } from "./wire.js";

const CARD_WAIT_MS = 150;
const CARD_GAP = 14;
const HEALTH = ["Ready", "Cordoned", "Not ready", "Degraded", "No GPUs"];
const WORDS = { free: "free", stranded: "stranded", cpu_bound: "short of CPU", standby: "asleep", lp: "held by LP" };

function put(element, x, y) {
  element.style.left = `${Math.round(x)}px`;
  element.style.top = `${Math.round(y)}px`;
}

export class MapCursor {
  constructor(map) {
    this.map = map;
    this.stage = map.stage;
    this.card = map.root.querySelector("[data-map-card]");
    this.ring = map.root.querySelector("[data-map-ring]");
    this.details = new Map();
    this.at = -1;
    this.asked = -1;
    this.hovered = -1;
  }

  listen() {
    this.stage.addEventListener("pointermove", (event) => this.point(event));
    this.stage.addEventListener("pointerleave", () => this.leave());
    this.stage.addEventListener("click", (event) => this.openAt(event));
    this.stage.addEventListener("keydown", (event) => this.press(event));
    this.stage.addEventListener("focus", () => this.focus());
    this.stage.addEventListener("blur", () => this.hide());
  }

  reset() {
    this.at = -1;
    this.hovered = -1;
    this.details.clear();
    this.hide();
  }

  forgetDetails() {
    this.details.clear();
  }

  /** After new figures: the ring stays where it is, the card says what holds now. */
  redraw() {
    const shown = this.hovered >= 0 ? this.hovered : this.asked;
    if (shown >= 0 && !this.card.hidden) this.show(shown);
    else if (document.activeElement === this.stage && this.at < 0) this.focus();
  }

  get hasFocus() {
    return document.activeElement === this.stage && this.at >= 0;
  }

  under(event) {
    const field = this.map.field;
    if (!field) return -1;
    const box = this.stage.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left) / (box.width / field.width));
    const y = Math.floor((event.clientY - box.top) / field.cell);
    if (x < 0 || y < 0 || x >= field.width || y >= field.height) return -1;
    return field.at[y * field.width + x];
  }

  point(event) {
    const index = this.under(event);
    if (index === this.hovered) return;
    this.hovered = index;
    if (index >= 0) this.show(index);
    else this.leave();
  }

  leave() {
    this.hovered = -1;
    if (this.hasFocus) this.show(this.at);
    else this.hide();
  }

  focus() {
    const order = this.map.field?.order ?? [];
    if (order.length === 0) return;
    if (this.at < 0) this.at = order[0];
    this.show(this.at);
  }

  press(event) {
    const field = this.map.field;
    if (!field || field.order.length === 0) return;
    if (this.at < 0) this.at = field.order[0];
    const next = walk(field, this.at, event.key);
    if (next !== undefined) this.at = next;
    else if (event.key === "Enter") this.map.open(this.at);
    else return;
    event.preventDefault();
    this.show(this.at);
  }

  openAt(event) {
    const index = this.under(event);
    if (index < 0) return;
    this.at = index;
    this.map.open(index);
  }

  async show(index) {
    const { xs, ys, cell, width } = this.map.field;
    const scale = this.stage.clientWidth / width;
    put(this.ring, (xs[index] + 0.5) * scale, (ys[index] + 0.5) * cell);
    this.ring.hidden = false;
    this.asked = index;
    const name = await this.map.nameOf(index);
    if (this.asked !== index) return;
    this.fill(index, name);
    this.card.hidden = false;
    this.placeCard(xs[index] * scale, ys[index] * cell);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.explain(index, name), CARD_WAIT_MS);
  }

  /** Below and to the right, unless that leaves the map. */
  placeCard(x, y) {
    const { offsetWidth: wide, offsetHeight: high } = this.card;
    const left = x + CARD_GAP + wide > this.stage.clientWidth ? Math.max(0, x - wide - CARD_GAP) : x + CARD_GAP;
    const top = y + CARD_GAP + high > this.stage.clientHeight ? y - high - CARD_GAP : y + CARD_GAP;
    put(this.card, left, top);
  }

  hide() {
    this.asked = -1;
    clearTimeout(this.timer);
    this.card.hidden = true;
    this.ring.hidden = true;
  }

  figure(index) {
    const { measure, columns } = this.map.held;
    const { gpus, offsets } = this.map.places;
    const [values, health] = columns;
    if (this.map.ofGpus) {
      const node = this.map.nodeOf(index);
      return `GPU ${index - offsets[node] + 1} of ${gpus[node]}: ${GPU_WORDS[values[index]] ?? "no data"}`;
    }
    const state = HEALTH[health[index]];
    if (measure === "health") return state ?? "no data";
    if (values[index] === NO_DATA) return state && health[index] > 0 ? `no data, ${state.toLowerCase()}` : "no data";
    const count = Math.round((values[index] * gpus[index]) / 10) / 10;
    const words = `${count} of ${gpus[index]} ${gpus[index] === 1 ? "GPU" : "GPUs"} ${WORDS[measure]}`;
    return health[index] > 0 && state ? `${words}, ${state.toLowerCase()}` : words;
  }

  write(part, text) {
    const element = this.card.querySelector(`[data-card-${part}]`);
    if (element.textContent !== text) element.textContent = text;
  }

  fill(index, name) {
    const group = this.map.groupOf(index);
    const where = [group.cluster, group.model ?? "no model", group.asw === null ? "no ASW label" : `ASW ${group.asw}`];
    this.write("name", visible(name));
    this.write("place", where.map(visible).join(", "));
    this.write("value", this.figure(index));
    this.write("why", this.details.get(this.map.nodeOf(index)) ?? "");
  }

  /** What the bytes cannot say (why, what is left) comes from the server once the pointer rests. */
  async explain(index, name) {
    const node = this.map.nodeOf(index);
    if (!this.details.has(node)) {
      const why = await ask(this.map.whyAddress(this.map.groupOf(index), name), "text").catch(() => null);
      if (!why) return; // what the bytes say stands there already
      this.details.set(node, visible(why.body));
    }
    if (this.asked === index) this.write("why", this.details.get(node));
  }
}
