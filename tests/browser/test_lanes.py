"""Where the map puts its cells (lanes.js): every node once, and every lane named."""

import pytest
from playwright.sync_api import Page

from tests.browser.test_frame import MODULE

# Random fleets: {seed} -> what is wrong with how they lie.
FAULTS = """async ([url, seed]) => {
  const { heightOf, place } = await import(url);
  let state = seed;
  const below = (most) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * most);
  };
  const faults = new Set();
  for (let fleet = 0; fleet < 300; fleet += 1) {
    const groups = [];
    let nodes = 0;
    for (let cluster = 0; cluster < 1 + below(6); cluster += 1) {
      for (let model = 0; model < 1 + below(5); model += 1) {
        const asws = 1 + below(12);
        for (let asw = 0; asw < asws; asw += 1) {
          const count = 1 + below(below(20) ? 60 : 900);
          const name = asw === asws - 1 && below(2) ? null : `a${asw}`;
          groups.push({ source: "s", cluster: `c${cluster}`, model: `m${model}`, asw: name, count, first: nodes });
          nodes += count;
        }
      }
    }
    const [width, head, rows] = [12 + below(200), 1 + below(4), below(5) ? 10 : 40];
    const field = place(groups, nodes, width, head, rows);
    if (field.height !== heightOf(groups, width, head, rows)) faults.add("its height was foretold wrongly");
    const taken = new Set(field.order.map((i) => field.ys[i] * width + field.xs[i]));
    if (taken.size !== nodes || field.order.length !== nodes) faults.add("a node has no cell of its own");
    if (field.order.some((i) => field.xs[i] >= width)) faults.add("a cell lies outside");
    const first = new Map();
    for (const label of field.labels) if (!first.has(label.top)) first.set(label.top, label);
    for (const i of field.order) {
      const label = first.get(field.ys[i] - ((field.ys[i] - head) % field.pitch));
      if (!label?.cluster || label.x !== 0) faults.add("a lane does not begin with the name of its cluster");
    }
    const least = Math.min(6, Math.floor(width / 2)) - 1;
    const cramped = ({ cluster, columns }) => cluster && columns < least;
    if (field.labels.some(cramped)) faults.add("a cluster's name has no room");
  }
  return [...faults];
}"""
# A pool of nine ASWs whose last does not fit: [columns with nodes in the second lane, its label and the room for it].
WIDOW = """async (url) => {
  const { place } = await import(url);
  const asws = [...Array(9).keys()];
  const groups = asws.map((k) => ({ source: "s", cluster: "c0", model: "m", asw: `a${k}`, count: 20, first: 20 * k }));
  const { xs, ys, labels, pitch } = place(groups, 180, 24, 2);
  const second = [...xs].filter((_, i) => ys[i] >= pitch);
  const { cluster, continued, columns } = labels[1];
  return [new Set(second).size, cluster, continued, columns];
}"""


def _lanes(page: Page) -> str:
    return str(page.evaluate(MODULE, "lanes"))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_node_has_a_cell_and_every_lane_the_name_of_its_cluster(fleet: Page, seed: int) -> None:
    assert fleet.evaluate(FAULTS, [_lanes(fleet), seed]) == []


def test_the_last_asw_of_a_pool_never_stands_alone_below(fleet: Page) -> None:
    assert fleet.evaluate(WIDOW, _lanes(fleet)) == [8, "c0", True, 24]
