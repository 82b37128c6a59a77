"""The waterfall on worlds small enough to count, one table row per world."""

from typing import Any

import pytest

from scheduler.fragmentation.capacity import capacity_of
from scheduler.fragmentation.causes import CAUSES, waterfall
from scheduler.fragmentation.demand import SHAPES, RequestShape
from tests.builders.worlds import World, world

BY_NAME = {shape.name: shape for shape in SHAPES}
SLICES = [{"profile": "1g.10gb", "count": 4}, {"profile": "3g.40gb", "count": 1}]
TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}


def read(made: World, shape: RequestShape | str) -> dict[str, int]:
    """Whole thousandths of all nodes together; causes that are 0 are left out."""
    asked = BY_NAME[shape] if isinstance(shape, str) else shape
    found = waterfall(capacity_of(made.snapshot()), asked)
    sums = {name: int(found.cause(name).sum()) for name in (*CAUSES, "usable")}
    return {name: milli for name, milli in sums.items() if milli}


def node(**fields: Any) -> World:
    return world().asw("asw-1").node("n1", **fields)


CASES: list[tuple[str, World, str, dict[str, int]]] = [
    ("empty", node(), "8G96C", {"usable": 8000}),
    ("three free of eight", node().pod("a", "n1", 5), "8G96C", {"allocated_hp": 5000, "stranded": 3000}),
    (
        "the remainder is stranded, the rest usable",
        node().pod("a", "n1", 2),
        "4G32C",
        {"allocated_hp": 2000, "usable": 4000, "stranded": 2000},
    ),
    (
        "CPU for one request of two",
        node(cpu_milli=60_000),
        "4G32C",
        {"usable": 4000, "cpu_memory": 4000},
    ),
    ("CPU for none", node(cpu_milli=95_999), "8G96C", {"cpu_memory": 8000}),
    ("CPU to the last core", node(cpu_milli=96_000), "8G96C", {"usable": 8000}),
    (
        "stranded comes before CPU",
        node(cpu_milli=1000).pod("a", "n1", 2),
        "4G32C",
        {"allocated_hp": 2000, "stranded": 2000, "cpu_memory": 4000},
    ),
    ("a taint", node(taints=[TAINT]), "8G64C", {"constraint": 8000}),
    ("a taint that only prefers", node(taints=[{**TAINT, "effect": "PreferNoSchedule"}]), "8G64C", {"usable": 8000}),
    (
        "CPU comes before a taint",
        node(taints=[TAINT], cpu_milli=32_000),
        "4G32C",
        {"cpu_memory": 4000, "constraint": 4000},
    ),
    ("one pod slot left", node(max_pods=1), "4G32C", {"usable": 4000, "constraint": 4000}),
    ("no pod slot left", node(max_pods=1).pod("a", "n1", 0), "1G8C", {"constraint": 8000}),
    ("cordoned", node(cordoned=True).pod("a", "n1", 3), "1G8C", {"allocated_hp": 3000, "unhealthy": 5000}),
    ("not ready", node(ready=False).pod("a", "n1", 1, tier="LP"), "1G8C", {"allocated_lp": 1000, "unhealthy": 7000}),
    (
        "a failed device",
        node(devices=[{"index": i, "health": "failed" if i == 3 else "ok"} for i in range(8)]),
        "1G8C",
        {"unhealthy": 1000, "usable": 7000},
    ),
    (
        "fewer allocatable than there are",
        node(allocatable_gpus=6).pod("a", "n1", 2),
        "4G32C",
        {"allocated_hp": 2000, "unhealthy": 2000, "usable": 4000},
    ),
    (
        "a share leaves a rest",
        node().pod("a", "n1", 1, gpu_milli=300),
        "1G8C",
        {"allocated_hp": 300, "fractional": 700, "usable": 7000},
    ),
    ("asleep, nothing lent", node().pod("s", "n1", 8, standby=True), "8G64C", {"standby": 8000}),
    (
        "asleep, half lent",
        node().pod("s", "n1", 8, standby=True).pod("b", "n1", 4, tier="LP", lent_by="jobs/s"),
        "8G64C",
        {"standby": 4000, "allocated_lp": 4000},
    ),
    (
        "asleep, more borrowed than it has",
        node().pod("s", "n1", 2, standby=True).pod("b", "n1", 4, tier="LP", lent_by="jobs/s"),
        "4G32C",
        {"allocated_lp": 4000, "usable": 4000},
    ),
    (
        "finished and orphaned pods hold nothing",
        node().pod("d", "n1", 8, phase="Succeeded").pod("o", "gone-7", 8).pod("l", "n1", 2),
        "1G8C",
        {"allocated_hp": 2000, "usable": 6000},
    ),
    ("a terminating pod still holds", node().pod("t", "n1", 8, terminating=True), "1G8C", {"allocated_hp": 8000}),
    (
        "slices: 2 of the 7 units of one device are in use",
        node(devices=[{"index": 0, "mig": SLICES}]).pod("m", "n1", 0, mig={"1g.10gb": 2}, tier="LP"),
        "1G8C",
        {"allocated_lp": 285, "fractional": 715, "usable": 7000},
    ),
    (
        "slices of a failed device are unhealthy",
        node(devices=[{"index": 0, "health": "failed", "mig": SLICES}]),
        "1G8C",
        {"unhealthy": 1000, "usable": 7000},
    ),
    ("no nodes", world(), "8G64C", {}),
]


@pytest.mark.parametrize(("made", "shape", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_every_gpu_has_its_cause(made: World, shape: str, expected: dict[str, int]) -> None:
    assert read(made, shape) == expected


def racks(*free: int, unknown: int = 0, cpu_milli: int = 128_000) -> World:
    """Switches with so many free 8-GPU nodes each, and nodes under no known switch."""
    made = world()
    for index, count in enumerate(free):
        made.asw(f"asw-{index}")
        for number in range(count):
            made.node(f"n{index}-{number:02}", cpu_milli=cpu_milli)
    made.asw(None)
    for number in range(unknown):
        made.node(f"u{number:02}", cpu_milli=cpu_milli)
    return made


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        # 16 nodes are 128 GPUs.
        (racks(16), {"usable": 128_000}),
        (racks(17), {"usable": 128_000, "stranded": 8000}),
        (racks(8, 8), {"topology": 128_000}),
        (racks(8, 8, 1), {"topology": 128_000, "stranded": 8000}),
        (racks(16, 8, 8), {"usable": 128_000, "topology": 128_000}),
        (racks(15), {"stranded": 120_000}),
        # Unknown is no common domain, but it is somewhere.
        (racks(unknown=16), {"topology": 128_000}),
        (racks(8, unknown=8), {"topology": 128_000}),
        # 64 cores are the CPU of 5 GPUs (60 cores): 3 of 8 lack it; 16 * 5 = 80 fall short of 128.
        (racks(16, cpu_milli=64_000), {"cpu_memory": 48_000, "stranded": 80_000}),
        (racks(26, cpu_milli=64_000), {"cpu_memory": 78_000, "usable": 128_000, "stranded": 2000}),
    ],
)
def test_a_request_under_one_switch(made: World, expected: dict[str, int]) -> None:
    assert read(made, "128@ASW") == expected


def test_models_are_never_mixed_under_one_switch() -> None:
    made = racks(8)
    for number in range(8):
        made.asw("asw-0").node(f"h{number}", gpu_model="H20")
    assert read(made, "128@ASW") == {"stranded": 128_000}


def test_switches_of_one_name_in_two_clusters_are_two() -> None:
    made = world()
    for cluster in ("a", "b"):
        for number in range(8):
            made.asw("asw-0").node(f"{cluster}{number}", cluster=cluster)
    assert read(made, "128@ASW") == {"stranded": 128_000}


def test_over_commitment_stays_on_its_node() -> None:
    made = world().node("n1", allocatable_gpus=6).nodes("n2", "n3")
    made.pod("p0", "n1", 8).pod("p1", "n2", 6).pod("p2", "n3", 8)
    assert read(made, "1G8C") == {"allocated_hp": 22_000, "usable": 2000}
