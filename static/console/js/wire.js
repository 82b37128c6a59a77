// The map's binary forms "SLM1" (a cell a node) and "SLG1" (a cell a GPU): header 16 bytes, then whole columns or (index, bytes) of what changed.
import { ask } from "./newest.js";

const HEADER = 16;
const MAGICS = [0x314d4c53, 0x31474c53]; // "SLM1" and "SLG1" as little endian
export const NO_DATA = 255;

/** {revision, nodes, full, columns: [Uint8Array...]} or, for a delta, {..., indices, columns}. */
export function decode(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEADER || !MAGICS.includes(view.getUint32(0, true))) throw new Error("this is not a map");
  const head = { revision: view.getUint32(4, true), nodes: view.getUint32(8, true), full: view.getUint8(12) === 0 };
  const columns = view.getUint8(13);
  return head.full ? whole(buffer, head, columns) : changed(buffer, view, head, columns);
}

function whole(buffer, head, columns) {
  if (buffer.byteLength < HEADER + columns * head.nodes) throw new Error("the map is cut short");
  const cut = (i) => new Uint8Array(buffer, HEADER + i * head.nodes, head.nodes);
  return { ...head, columns: Array.from({ length: columns }, (_, i) => cut(i)) };
}

function changed(buffer, view, head, columns) {
  const count = view.getUint32(HEADER, true);
  const start = HEADER + 4;
  if (buffer.byteLength < start + count * (4 + columns)) throw new Error("the map is cut short");
  const indices = new Uint32Array(count);
  for (let i = 0; i < count; i += 1) indices[i] = view.getUint32(start + 4 * i, true);
  const cut = (i) => new Uint8Array(buffer, start + 4 * count + i * count, count);
  return { ...head, indices, columns: Array.from({ length: columns }, (_, i) => cut(i)) };
}

/** Applies a delta to the columns held; false where it does not fit them and the whole map is needed. */
export function apply(held, delta) {
  if (held.nodes !== delta.nodes || held.columns.length < delta.columns.length) return false;
  delta.columns.forEach((bytes, c) => {
    const column = held.columns[c];
    delta.indices.forEach((index, k) => {
      column[index] = bytes[k];
    });
  });
  held.revision = delta.revision;
  return true;
}

/** The map of a revision: `held` brought up to date by a delta where that is possible, else a new one. */
export async function fetchMap(address, held) {
  const url = new URL(address, location.href);
  const from = held?.revision;
  if (from) url.searchParams.set("from", String(from));
  const { body, headers } = await ask(url, "arrayBuffer");
  const got = decode(body);
  if (got.full) return { ...got, layout: headers.get("Slackline-Layout"), columns: got.columns.map((column) => column.slice()) };
  // A delta fits only what it was asked for; anything else is fetched whole.
  if (held && held.revision === from && apply(held, got)) return held;
  return fetchMap(address, null);
}
