"""The report as a whole, and the odd worlds of the public case list."""

import json
import math
from typing import Any

import pytest

from scheduler.cluster.snapshot import Snapshot
from scheduler.fragmentation.causes import CAUSES
from scheduler.fragmentation.demand import DemandClass, mix_from
from scheduler.fragmentation.report import Report, as_detail, as_json, report
from tests.builders.worlds import GPU_MODEL, World, world


def measured(made: World) -> dict[str, Any]:
    """The JSON document, through a strict parser."""
    text = json.dumps(as_json(report(made.snapshot())), allow_nan=False)
    return dict(json.loads(text))


def test_the_document_has_the_published_form() -> None:
    found = measured(world().asw("asw-1").node("n1").pod("a", "n1", 3, cpu_milli=8000))
    assert set(found) == {"totals", "pools", "fits", "fragmentation_milli", "nodes", "warnings"}
    assert found["totals"] == {
        "gpus": 8,
        "free": 5,
        "allocated_hp": 3,
        "allocated_lp": 0,
        "standby": 0,
        "unhealthy": 0,
        "allocatable": 8,
        "over_committed": 0,
        "shared_rest_milli": 0,
    }
    (pool,) = found["pools"]
    shapes = pool.pop("shapes")
    assert pool == {
        "cluster": "default",
        "gpu_model": GPU_MODEL,
        "nodes": 1,
        "gpus": 8,
        "slack_nodes": 1,
        "empty_nodes": 0,
    }
    assert [shape["shape"] for shape in shapes][:3] == ["1G8C", "1G12C", "4G32C"]
    assert shapes[2]["usable"] == 4000
    assert shapes[2]["causes"] == dict.fromkeys(CAUSES, 0) | {"allocated_hp": 3000, "stranded": 1000}
    assert {"gpus": 1, "level": "host", "count": 5} in found["fits"]
    assert found["nodes"] == [{"name": "n1", "free": 5, "stranded": 5, "cause": "stranded"}]
    # The only class asks for 3 GPUs and fits on the 5 that are free: no whole device is useless to it.
    assert found["fragmentation_milli"] == 0
    assert found["warnings"] == []


def test_f_is_the_sum_over_nodes_and_pools() -> None:
    # M = {2 GPUs, 2 GPUs, 1 GPU} from the pods.  n1 has 1 free: only the single runs: 2/3 * 1000; n2 has 3: all run.
    made = world().node("n1", 3).node("n2", 4, gpu_model="H20")
    made.pod("a", "n1", 2).pod("b", None, 2).pod("c", "n2", 1)
    found = report(made.snapshot())
    assert found.fragmentation_milli == 667
    assert {pool.pool.gpu_model: pool.fragmentation_milli for pool in found.pools} == {GPU_MODEL: 667, "H20": 0}


def test_a_given_mix_replaces_the_observed_one() -> None:
    made = world().node("n1", 3).pod("a", "n1", 2)
    assert report(made.snapshot(), mix_from([DemandClass(gpus=4)])).fragmentation_milli == 1000
    assert report(made.snapshot(), mix_from([DemandClass(gpus=1)])).fragmentation_milli == 0


def test_nothing_asked_has_no_f() -> None:
    assert report(world().node("n1").snapshot()).fragmentation_milli is None


def test_cordoned_gpus_are_unhealthy_and_not_fragments() -> None:
    made = world().node("n1", cordoned=True).pod("a", "n1", 3)
    found = report(made.snapshot(), mix_from([DemandClass(gpus=8)]))
    assert found.fragmentation_milli == 0
    assert (found.totals.free, found.totals.unhealthy_milli) == (0, 5000)


def test_pages_get_the_split_and_the_fits_of_each_pool() -> None:
    made = world().asw("asw-1").nodes("n1", "n2").pod("a", "n1", 4).pod("b", "n2", 4)
    detail = as_detail(report(made.snapshot()))
    (pool,) = detail["pools"]
    whole = next(shape for shape in pool["shapes"] if shape["shape"] == "8G64C")
    assert (whole["reclaimable"], whole["locked"], whole["unfixable"], whole["slots"]) == (8000, 0, 0, 0)
    assert {"level": "asw", "gpus": 8} in pool["largest"]
    assert {"gpus": 8, "level": "asw", "count": 1} in pool["fits"]
    json.dumps(detail, allow_nan=False)


def test_the_node_order_is_canonical() -> None:
    found = measured(world().nodes("n2", "n1"))
    assert [row["name"] for row in found["nodes"]] == ["n1", "n2"]


# Capacity below use: one node's excess must not eat another's free GPUs.


def over_committed() -> World:
    made = world().asw("asw-1").node("n1", allocatable_gpus=6).nodes("n2", "n3")
    made.pod("p0", "n1", 8, cpu_milli=64_000).pod("p1", "n2", 6, cpu_milli=48_000).pod("p2", "n3", 8, cpu_milli=64_000)
    return made.pod("w2", None, 2, cpu_milli=16_000).pod("w6", None, 6, cpu_milli=48_000)


def test_over_commitment_stands_apart() -> None:
    found = measured(over_committed())
    assert (found["totals"]["free"], found["totals"]["allocatable"], found["totals"]["over_committed"]) == (2, 22, 2)
    assert [row["free"] for row in found["nodes"]] == [0, 2, 0]
    assert any("n1" in warning and "2 GPUs" in warning for warning in found["warnings"])
    assert min(numbers(found)) >= 0


# Shares: exact in thousandths.


def shares() -> World:
    made = world().asw("asw-1").node("n1", 4).node("n2", 1)
    for index in range(4):
        made.pod(f"f{index}", "n1", 1, gpu_milli=600, cpu_milli=1000, memory_mib=1024)
    for index in range(10):
        made.pod(f"t{index}", "n2", 1, gpu_milli=100, cpu_milli=1000, memory_mib=1024)
    return made


def test_shares_are_exact() -> None:
    found = measured(shares())
    assert found["totals"]["shared_rest_milli"] == 1600
    assert found["totals"]["free"] == 0
    assert json.dumps(found["totals"]["allocated_hp"]) == "3.4"
    assert [row["free"] for row in found["nodes"]] == [0, 0]
    (pool,) = found["pools"]
    assert all(shape["causes"]["fractional"] == 1600 and shape["usable"] == 0 for shape in pool["shapes"])


@pytest.mark.parametrize(("share", "lost"), [(1000, 1600), (500, 1600), (401, 1600), (400, 0), (100, 0)])
def test_two_rests_never_serve_one_share(share: int, lost: int) -> None:
    assert report(shares().snapshot(), mix_from([DemandClass(gpus=1, gpu_milli=share)])).fragmentation_milli == lost


# Worlds without GPUs: every answer is a number or null, never NaN.

EMPTY_WORLDS = {
    "no nodes": world(),
    "one CPU node": world().asw("asw-1").node("c1", 0).pod("cpu", "c1", 0, gpu_milli=0, cpu_milli=500, memory_mib=512),
    "all zero": world().asw("asw-1").node("z", 0, cpu_milli=0, memory_mib=0),
}


@pytest.mark.parametrize("made", EMPTY_WORLDS.values(), ids=EMPTY_WORLDS.keys())
def test_worlds_without_gpus_have_zeros_and_nulls(made: World) -> None:
    found = measured(made)
    assert set(found["totals"].values()) == {0}
    assert found["pools"] == []
    assert found["fragmentation_milli"] is None
    assert {fit["count"] for fit in found["fits"]} == {None}
    assert all(row["free"] == 0 and row["cause"] is None for row in found["nodes"])


# Labelled but without devices.


def test_a_node_that_allocates_nothing_is_degraded_and_neither_empty_nor_free() -> None:
    made = world().asw("asw-1").node("n1", allocatable_gpus=0).node("n2", 0, gpu_model=GPU_MODEL).node("n3")
    made.pod("r", "n1", 4, cpu_milli=32_000)
    found = measured(made)
    assert (found["totals"]["allocatable"], found["totals"]["free"]) == (8, 8)
    assert (found["totals"]["allocated_hp"], found["totals"]["unhealthy"]) == (4, 4)
    (pool,) = found["pools"]
    assert (pool["nodes"], pool["empty_nodes"], pool["slack_nodes"]) == (2, 1, 0)
    assert [row["free"] for row in found["nodes"]] == [0, 0, 8]


# Finished and orphaned pods.


def test_finished_and_orphaned_pods_use_nothing() -> None:
    made = world().asw("asw-1").node("n1").pod("done", "n1", 8, phase="Succeeded").pod("bad", "n1", 4, phase="Failed")
    made.pod("orphan", "gone-7", 8, phase="Running").pod("live", "n1", 2).pod("w", None, 6)
    found = measured(made)
    assert (found["totals"]["allocated_hp"], found["totals"]["free"], found["totals"]["gpus"]) == (2, 6, 8)
    assert [row["name"] for row in found["nodes"]] == ["n1"]
    assert any("orphan" in warning and "gone-7" in warning for warning in found["warnings"])


def test_gpus_of_unknown_model_count_and_are_said_to_have_no_pool() -> None:
    found = measured(world().node("n1", gpu_model=""))
    assert found["totals"]["gpus"] == 8
    assert found["pools"] == []
    assert any("unknown model" in warning for warning in found["warnings"])


def test_pools_are_cluster_and_model() -> None:
    made = world().node("n1").node("n1", cluster="west").node("n2", gpu_model="H20")
    found: Report = report(made.snapshot())
    assert [(one.pool.cluster, one.pool.gpu_model, one.gpus) for one in found.pools] == [
        ("default", "H100-SXM5-80GB", 8),
        ("default", "H20", 8),
        ("west", "H100-SXM5-80GB", 8),
    ]


def test_equal_snapshots_give_equal_reports() -> None:
    first: Snapshot = over_committed().snapshot()
    assert as_json(report(first)) == as_json(report(over_committed().snapshot()))


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [n for item in value.values() for n in numbers(item)]
    if isinstance(value, list):
        return [n for item in value for n in numbers(item)]
    return [value] if isinstance(value, int | float) and math.isfinite(value) else []
