// Where every cell lies: lanes of rows (10 for nodes), clusters flow like text. Pure arithmetic, no drawing.
export const LANE_ROWS = 10;
const FOOT_ROWS = 1;
const ASW_GAP = 1;
const POOL_GAP = 1;
const CLUSTER_GAP = 3;
const LEAST_COLUMNS = 6;
const WORDS_WIDE = 4.5; // as often as they are high: the name of a cluster and of a model

/**
 * Flattens the layout's cluster -> models -> ASWs into runs in cell order, each with the index of its first node.
 * Answers {groups: those that `keep` wants, nodes: of all, gpus: [nodes] GPUs per node}.
 */
export function readGroups(document, keep = () => true) {
  const groups = [];
  const gpus = [];
  let first = 0;
  for (const { source, cluster, models } of document.groups) {
    for (const { model, asws } of models) {
      for (const run of asws) {
        const entry = { source, cluster, model, asw: run.asw, count: run.count, first };
        for (const [each, count] of run.gpus) for (let k = 0; k < count; k += 1) gpus.push(each);
        first += run.count;
        if (keep(entry)) groups.push(entry);
      }
    }
  }
  return { groups, nodes: first, gpus: Uint16Array.from(gpus) };
}

function sameCluster(one, other) {
  return one.source === other.source && one.cluster === other.cluster;
}

function clusterColumns(groups, from, columnsOf) {
  let total = 0;
  for (let i = from; i < groups.length && sameCluster(groups[i], groups[from]); i += 1) {
    total += columnsOf(groups[i].count) + ASW_GAP;
    if (i > from && groups[i].model !== groups[i - 1].model) total += POOL_GAP;
  }
  return total;
}

class Pen {
  constructor(width, nodes, headRows, rows) {
    this.width = width;
    this.headRows = headRows;
    this.rows = rows;
    this.least = Math.min(Math.max(LEAST_COLUMNS, Math.ceil(WORDS_WIDE * headRows)), Math.floor(width / 2));
    this.pitch = headRows + rows + FOOT_ROWS;
    this.lane = 0;
    this.x = 0;
    this.xs = new Uint16Array(nodes);
    this.ys = new Uint16Array(nodes);
    this.placed = [];
    this.labels = [];
    this.dashes = [];
    this.label = null;
  }

  get top() {
    return this.lane * this.pitch + this.headRows;
  }

  columnsOf(count) {
    return Math.ceil(count / this.rows);
  }

  newLane() {
    this.lane += 1;
    this.x = 0;
  }

  /** Each lane begins with the name of its cluster, whether the cluster begins there or not. */
  openLabel(group, nodes, { continued = false, newCluster = false } = {}) {
    const cluster = newCluster || this.x === 0 ? group.cluster : "";
    this.label = { x: this.x, top: this.top, cluster, model: group.model, continued, nodes };
    this.labels.push(this.label);
  }

  /** Past the words that name a cluster, also where its nodes are few. */
  leaveWords() {
    const { cluster, x } = this.label;
    if (cluster) this.x = Math.max(this.x, x + this.least);
  }

  /** On the next lane. A label under which nothing stands yet goes along. */
  breakLane(group) {
    const { nodes, x } = this.label;
    const empty = x === this.x;
    if (empty) this.labels.pop();
    this.newLane();
    this.openLabel(group, nodes, { continued: !empty });
  }

  get room() {
    return this.width - this.x;
  }

  /** Puts up to `count` nodes as columns from here on; returns how many found room in this lane. */
  put(first, count) {
    const now = Math.min(count, this.share(this.columnsOf(count)) * this.rows);
    if (this.xs.length) this.write(first, now);
    this.x += this.columnsOf(now);
    return now;
  }

  /** How many of so many columns stand in this lane: all, or so many that what is left has room for its words. */
  share(columns) {
    if (columns <= this.room) return columns;
    const kept = Math.min(this.room, columns - this.least);
    return kept > 0 ? kept : Math.min(this.room, columns);
  }

  write(first, count) {
    for (let k = 0; k < count; k += 1) {
      this.xs[first + k] = this.x + Math.floor(k / this.rows);
      this.ys[first + k] = this.top + (k % this.rows);
      this.placed.push(first + k);
    }
  }
}

function startGroup(pen, groups, i) {
  const group = groups[i];
  const before = groups[i - 1];
  const newCluster = !before || !sameCluster(before, group);
  if (before && (newCluster || before.model !== group.model)) pen.leaveWords();
  if (newCluster && before) {
    const need = clusterColumns(groups, i, (count) => pen.columnsOf(count));
    const fits = pen.x + CLUSTER_GAP + need <= pen.width;
    const spills = need > pen.width && pen.x < pen.width * 0.55;
    if (fits || spills) pen.x += CLUSTER_GAP;
    else pen.newLane();
  }
  if (newCluster || before.model !== group.model) {
    if (!newCluster) pen.x += POOL_GAP;
    if (pen.room < pen.least) pen.newLane();
    pen.openLabel(group, poolNodes(groups, i), { newCluster });
  }
}

function samePool(one, other) {
  return sameCluster(one, other) && one.model === other.model;
}

function poolNodes(groups, from) {
  let total = 0;
  for (let i = from; i < groups.length && samePool(groups[i], groups[from]); i += 1) total += groups[i].count;
  return total;
}

/** Whether the rest of the pool would stand in the next lane with less room than its words need. */
function leavesLittle(pen, groups, i, columns) {
  let rest = 0;
  for (let k = i + 1; k < groups.length && samePool(groups[k], groups[i]); k += 1) {
    rest += pen.columnsOf(groups[k].count) + (rest ? ASW_GAP : 0);
    if (rest >= pen.least) return false;
  }
  return rest > 0 && columns + ASW_GAP + rest > pen.room && columns + ASW_GAP + rest <= pen.width;
}

/** An ASW is never torn apart where a lane can hold it; unlabelled nodes are. */
function belongsBelow(pen, groups, i) {
  if (pen.x === 0) return false;
  const columns = pen.columnsOf(groups[i].count);
  const torn = columns > pen.room && (groups[i].asw !== null || columns - pen.least <= 0 || pen.room < 2);
  return torn || leavesLittle(pen, groups, i, columns);
}

function putGroup(pen, groups, i) {
  const group = groups[i];
  if (belongsBelow(pen, groups, i)) pen.breakLane(group);
  let done = 0;
  while (done < group.count) {
    const from = pen.x;
    done += pen.put(group.first + done, group.count - done);
    if (group.asw === null) pen.dashes.push([from - 0.5, pen.x - 0.5, pen.top + pen.rows - 0.5]);
    if (done < group.count) pen.breakLane(group);
  }
  pen.x += ASW_GAP;
}

/** The columns that the words of each label may take: up to the next one of its lane. */
function measureLabels(labels, width) {
  labels.forEach((label, i) => {
    const next = labels[i + 1];
    label.columns = (next?.top === label.top ? next.x : width + 1) - label.x - 1;
  });
}

function drawnBy(pen, groups) {
  groups.forEach((_, i) => {
    startGroup(pen, groups, i);
    putGroup(pen, groups, i);
  });
  measureLabels(pen.labels, pen.width);
  return (pen.lane + 1) * pen.pitch;
}

/** The height that `place` would find, without placing a cell: sizes are tried before one is drawn. */
export function heightOf(groups, width, headRows, rows = LANE_ROWS) {
  return drawnBy(new Pen(width, 0, headRows, rows), groups);
}

/**
 * Cells of all groups in a field `width` cells wide, lanes of `rows` with `headRows` above each for its labels:
 * {width, height, pitch, xs, ys, at, labels, dashes, order}.
 */
export function place(groups, nodes, width, headRows, rows = LANE_ROWS) {
  const pen = new Pen(width, nodes, headRows, rows);
  const height = drawnBy(pen, groups);
  const at = new Int32Array(width * height).fill(-1);
  for (const i of pen.placed) at[pen.ys[i] * width + pen.xs[i]] = i;
  return { width, height, pitch: pen.pitch, xs: pen.xs, ys: pen.ys, at, labels: pen.labels, dashes: pen.dashes, order: pen.placed };
}

/** The nearest node from (x, y) in one direction, across gaps and lanes; the same node where there is none. */
export function step(field, from, dx, dy) {
  let x = field.xs[from];
  let y = field.ys[from];
  for (let n = 0; n < field.width + field.height; n += 1) {
    x += dx;
    y += dy;
    if (x < 0 || y < 0 || x >= field.width || y >= field.height) break;
    const found = field.at[y * field.width + x];
    if (found >= 0) return found;
  }
  return dx === 0 ? from : wrapped(field, from, dx);
}

/** Left and right run on into the neighbour lane, as a text cursor does. */
function wrapped(field, from, dx) {
  const row = field.ys[from] + dx * field.pitch;
  if (row < 0 || row >= field.height) return from;
  const columns = dx > 0 ? [...Array(field.width).keys()] : [...Array(field.width).keys()].reverse();
  for (const x of columns) {
    const found = field.at[row * field.width + x];
    if (found >= 0) return found;
  }
  return from;
}
