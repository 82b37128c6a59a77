// The map of all GPUs: the same groups in the same order, each node a run of cells, one a device.
export const GPUS = "gpus"; // the measure that means this level
export const GPU_ROWS = 40; // rows of a lane: whole nodes of 1, 2, 4 or 8 GPUs end with a column
export const GPU_SIZES = [10, 8, 6, 5, 4, 3, 2];
export const GPU_TALLEST_PX = 1200;
export const GPU_TOKENS = ["c-usable", "c-hp", "c-lp", "c-standby", "c-cpu", "c-down"];
export const GPU_WORDS = ["free", "held by HP", "held by LP", "asleep on standby", "shared by several pods", "failed"];

/** [nodes + 1] the cell at which each node's devices begin. */
export function offsetsOf(gpus) {
  const offsets = new Uint32Array(gpus.length + 1);
  for (let i = 0; i < gpus.length; i += 1) offsets[i + 1] = offsets[i] + gpus[i];
  return offsets;
}

/** Runs of nodes as runs of devices; nodes without any take no cell. */
export function inGpus(groups, offsets) {
  const cells = ({ first, count }) => ({ first: offsets[first], count: offsets[first + count] - offsets[first] });
  return groups.map((group) => ({ ...group, ...cells(group) })).filter((group) => group.count > 0);
}

/** The node that a cell's device belongs to. */
export function nodeAt(offsets, cell) {
  let low = 0;
  let high = offsets.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (offsets[middle] <= cell) low = middle;
    else high = middle - 1;
  }
  return low;
}
