"""Counting nodes together and laying out each alone say the same, and nothing is negative."""

import random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster.layout import layout
from scheduler.cluster.occupancy import occupancy
from tests.builders.worlds import World, world


def _devices(dice: random.Random, gpus: int) -> list[dict[str, Any]]:
    fields = {
        "health": ("ok", "ok", "failed"),
        "memory_mib": (None, 80),
        "mig": ([], [], [{"profile": "1g", "count": 2}]),
    }
    listed = [i for i in range(gpus) if dice.random() < 0.7] if dice.random() < 0.3 else []
    return [{"index": i, **{name: dice.choice(choice) for name, choice in fields.items()}} for i in listed]


def odd_world(seed: int) -> World:
    """Six nodes of all sizes with thirty pods that fit or do not: listed, shared, lent, too many."""
    dice = random.Random(seed)
    made = world()
    for n in range(6):
        gpus = dice.choice([0, 1, 2, 4, 8, 20])
        allocatable = dice.randint(0, gpus + 1) if dice.random() < 0.3 else None
        memory = dice.choice([None, None, 100, 50])
        made.node(f"n{n}", gpus, allocatable_gpus=allocatable, gpu_memory_mib=memory, devices=_devices(dice, gpus))
    for p in range(30):
        _pod(made, dice, f"p{p}")
    return made


def _pod(made: World, dice: random.Random, name: str) -> None:
    node, pods = dice.choice(made.rows["nodes"]), made.rows["pods"]
    gpus = dice.choice([0, 1, 1, 1, 2, 3])
    fields: dict[str, Any] = {"gpu_milli": dice.choice([1000, 1000, 500, 300, 100]), "cpu_milli": dice.randint(0, 500)}
    fields |= {"gpu_memory_mib": dice.choice([None, None, 20, 60]), "standby": dice.random() < 0.2}
    if pods and dice.random() < 0.3:
        lender = dice.choice(pods)
        made.pod(
            name,
            dice.choice([lender["node"], node["name"]]),
            gpus,
            tier="LP",
            lent_by=f"jobs/{lender['name']}",
            **fields,
        )
        return
    if 0 < gpus <= node["gpus"] and dice.random() < 0.2:
        fields["devices"] = dice.sample(range(node["gpus"]), gpus)
    made.pod(name, node["name"], gpus, **fields)


@given(st.integers(0, 1 << 32))
@settings(max_examples=150, deadline=None)
def test_all_nodes_at_once_and_one_by_one_agree(seed: int) -> None:
    snapshot = odd_world(seed).snapshot()
    found = occupancy(snapshot)
    for n in range(len(snapshot.node_name)):
        alone = layout(snapshot, n, np.flatnonzero(snapshot.pod_live & (snapshot.pod_node == n)).tolist())
        together = (int(found.free_gpus[n]), int(found.shared_rest_milli[n]), int(found.over_committed_milli[n]))
        assert together == (alone.free, alone.rest_milli, alone.over_milli)
        assert min(together) >= 0
        assert 1000 * alone.free + alone.rest_milli <= 1000 * int(snapshot.node_allocatable[n])


@given(st.integers(0, 1 << 32))
@settings(max_examples=100, deadline=None)
def test_no_device_is_sold_twice_where_the_pods_fit(seed: int) -> None:
    snapshot = odd_world(seed).snapshot()
    for n in range(len(snapshot.node_name)):
        pods = np.flatnonzero(snapshot.pod_live & (snapshot.pod_node == n)).tolist()
        laid = layout(snapshot, n, pods)
        if laid.fits:
            assert all(use <= 1000 for use, good in zip(laid.use_milli, laid.usable, strict=True) if good)
            touched = {p: sum(p in on for on in laid.pods) for p in pods}
            sliced = {p for p in pods if snapshot.pod_specs[snapshot.pod_spec[p]].mig}
            assert all(times == snapshot.pod_gpus[p] for p, times in touched.items() if p not in sliced)
