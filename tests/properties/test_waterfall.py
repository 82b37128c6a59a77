"""The waterfall adds up: causes and usable are all GPUs, exactly, per node, pool and shape, on every world."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster.layout import layout
from scheduler.cluster.occupancy import occupancy
from scheduler.fragmentation.capacity import capacity_of
from scheduler.fragmentation.causes import CAUSES, waterfall
from scheduler.fragmentation.demand import SHAPES, DemandClass, RequestShape, mix_from, mix_of
from scheduler.fragmentation.devices import gpu_states, open_nodes, states_of
from scheduler.fragmentation.gradient import OpenNode, fragment, fragments
from scheduler.fragmentation.measures import NO_DATA, node_measures
from scheduler.fragmentation.report import report
from tests.builders.layout import device_rests
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World

SEEDS = st.integers(min_value=0, max_value=2**31)
SMALL = (RequestShape("2@ASW", 2, 24_000, "asw"), RequestShape("8@ASW", 8, 96_000, "asw"))
SMALL_AGG = RequestShape("16@agg", 16, 192_000, "agg")


@given(world_seed=SEEDS)
@settings(max_examples=200, deadline=None)
def test_causes_and_usable_are_all_gpus_of_each_node(world_seed: int) -> None:
    capacity = capacity_of(random_world(world_seed).snapshot())
    for shape in (*SHAPES, *SMALL, SMALL_AGG):
        found = waterfall(capacity, shape)
        columns = np.stack([found.cause(name) for name in (*CAUSES, "usable")])
        assert (columns >= 0).all(), shape
        assert (columns.sum(axis=0) == capacity.snapshot.node_gpus * 1000).all(), shape


@given(world_seed=SEEDS)
@settings(max_examples=100, deadline=None)
def test_causes_and_usable_are_all_gpus_of_each_pool(world_seed: int) -> None:
    found = report(random_world(world_seed).snapshot())
    for pool in found.pools:
        assert len(pool.shapes) == len(SHAPES)
        for one in pool.shapes:
            assert sum(one.causes.values()) + one.usable == pool.gpus * 1000
            assert one.usable % (one.shape.gpus * 1000) == 0
            split = one.recovery
            lost = one.causes["stranded"] + one.causes["cpu_memory"]
            assert split.reclaimable + split.locked + split.unfixable == lost
            assert min(split.reclaimable, split.locked, split.unfixable) >= 0
    totals = found.totals
    parts = (totals.allocated_hp_milli, totals.allocated_lp_milli, totals.standby_milli, totals.unhealthy_milli)
    assert sum(parts) + totals.shared_rest_milli + totals.free * 1000 == totals.gpus * 1000


@given(world_seed=SEEDS)
@settings(max_examples=200, deadline=None)
def test_what_is_left_on_each_node_is_what_an_independent_layout_leaves(world_seed: int) -> None:
    made = random_world(world_seed)
    snapshot = made.snapshot()
    capacity, states = capacity_of(snapshot), gpu_states(snapshot)
    for row, pods in _nodes(made):
        rests = device_rests(row, pods)
        if rests is None:
            continue
        node = snapshot.node_name.index(row["name"])
        usable = row.get("ready", True) and not row.get("cordoned", False)
        here = states.states[states.offsets[node] : states.offsets[node + 1]].tolist()
        assert len(here) == row["gpus"]
        assert Counter(here)[0] == rests.count(1000)
        assert capacity.free[node] == (rests.count(1000) if usable else 0)
        rest = sum(milli for milli in rests if milli < 1000)
        assert capacity.shared_rest_milli[node] == (rest if usable else 0)
        if usable and len(rests) == row["gpus"]:
            assert capacity.unhealthy_milli[node] == 0


@given(world_seed=SEEDS, share=st.sampled_from([100, 300, 500, 1000]), gpus=st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_fragments_are_those_of_an_independent_layout(world_seed: int, share: int, gpus: int) -> None:
    made = random_world(world_seed)
    snapshot = made.snapshot()
    capacity = capacity_of(snapshot)
    mixes = [mix_from([DemandClass(gpus=gpus, gpu_milli=share, cpu_milli=8000)]), mix_of(snapshot)]
    for mix in mixes:
        lost = fragments(open_nodes(capacity), mix)
        for row, pods in _nodes(made):
            rests = device_rests(row, pods)
            node = snapshot.node_name.index(row["name"])
            if rests is None or not snapshot.node_usable[node]:
                continue
            left = OpenNode(
                tuple(rests), int(capacity.cpu_milli[node]), int(capacity.memory_mib[node]), row["gpu_model"]
            )
            assert lost[node] == fragment(left, mix)


@given(world_seed=SEEDS)
@settings(max_examples=200, deadline=None)
def test_gpu_states_are_those_of_the_layout_node_by_node(world_seed: int) -> None:
    snapshot = random_world(world_seed).snapshot()
    found, held = gpu_states(snapshot), occupancy(snapshot)
    for node in range(len(snapshot.node_name)):
        live = np.flatnonzero(snapshot.pod_live & (snapshot.pod_node == node)).tolist()
        if held.over_committed_milli[node] == 0:
            here = found.states[found.offsets[node] : found.offsets[node + 1]].tolist()
            assert here == states_of(snapshot, node, layout(snapshot, node, live))


@given(world_seed=SEEDS)
@settings(max_examples=100, deadline=None)
def test_map_columns_are_percent_or_no_data(world_seed: int) -> None:
    snapshot = random_world(world_seed).snapshot()
    found = node_measures(snapshot)
    for column in (found.free, found.stranded, found.cpu_bound, found.standby, found.lp):
        assert column.dtype == np.uint8 and column.size == len(snapshot.node_name)
        assert ((column <= 100) | (column == NO_DATA)).all()
    assert ((found.free == NO_DATA) == (snapshot.node_gpus == 0)).all()
    assert (found.health <= 4).all()


def _nodes(made: World) -> list[tuple[dict[str, object], list[dict[str, object]]]]:
    """Each node row with the rows of its live pods."""
    document = made.document()
    live = [pod for pod in document["pods"] if pod.get("phase") not in ("Succeeded", "Failed")]
    return [(node, [pod for pod in live if pod.get("node") == node["name"]]) for node in document["nodes"]]
