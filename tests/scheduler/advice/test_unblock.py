"""What would make a job start: each kind of remedy in a world of its own, with its cost."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from scheduler.admission.planner import explain
from scheduler.advice.unblock import Limits, Remedy, solved, unblock
from scheduler.cli import main
from tests.builders.worlds import World, world

MODEL = "H100-SXM5-80GB"
CLAIMANT: dict[str, Any] = {"priority": 100}


def _remedies(built: World, key: str = "jobs/h", **asked: Any) -> dict[str, Remedy]:
    found = explain(built.snapshot())
    row = found.row(key)
    assert row is not None
    return {remedy.kind: remedy for remedy in unblock(found, row, **asked)}


def test_quota_says_how_much_more_and_who_lends() -> None:
    quota = {"gpu_model": MODEL, "nominal": 2, "borrowing_limit": 0}
    built = world().nodes("n1", "n2").pod("a", "n1", 2).pod("h", gpus=3)
    built.tenant("t1", cohort="c", quotas=[quota]).tenant("t2", cohort="c", quotas=[{"gpu_model": MODEL, "nominal": 9}])
    remedies = _remedies(built)
    assert set(remedies) == {"quota", "victims"}  # nothing smaller is within its quota, and waiting frees none
    remedy = remedies["quota"]
    assert (remedy.outcome, remedy.cost, remedy.numbers["limit"]) == ("found", 3, "borrowing_limit")
    assert remedy.numbers["lenders"] == "t2 9"
    full = built.pod("b", "n1", 6, tenant="t9").pod("c", "n2", 8, tenant="t9")
    assert _remedies(full)["quota"].outcome == "none"


def test_case_c14_a_cap_is_checked_net_of_the_victims() -> None:
    built = world(1000).node("n1").tenant("t1", cap_gpus=3).tenant("t2", cap_gpus=8)
    built.pod("l1", "n1", 2, tier="LP", started_s=0, checkpoint_s=0).pod("h", gpus=2, **CLAIMANT)
    built.pod("o1", "n1", 2, tenant="t2", tier="LP", started_s=0, checkpoint_s=999)
    remedy = _remedies(built)["victims"]
    assert (remedy.outcome, remedy.cost, remedy.numbers["named"]) == ("found", 2000, "jobs/l1")


def test_case_c17_its_own_share_is_reclaimed() -> None:
    built = world(1000).node("n1").tenant("q1", guarantee_gpus=3, cohort="c").tenant("q2", guarantee_gpus=5, cohort="c")
    built.pod("pod1", "n1", 4, tenant="q1", tier="LP", priority=7).pod("pod2", "n1", 1, tenant="q2")
    built.pod("pod3", gpus=4, tenant="q2")
    assert _remedies(built, "jobs/pod3")["victims"].numbers["grounds"] == "reclaim"
    built.rows["tenants"][0]["guarantee_gpus"] = 4
    assert _remedies(built, "jobs/pod3")["victims"].outcome == "none"  # nobody borrows, and its priority is higher
    ping = world().node("n1").tenant("q1", guarantee_gpus=3, cohort="c").tenant("q2", guarantee_gpus=5, cohort="c")
    ping.pod("pod2", "n1", 1, tenant="q2").pod("pod3", "n1", 4, tenant="q2").pod("pod1", gpus=4, tenant="q1", tier="LP")
    assert "victims" not in _remedies(ping, "jobs/pod1")


def test_no_more_is_reclaimed_than_what_is_borrowed() -> None:
    built = (
        world(1000)
        .nodes("n1", "n2")
        .tenant("q1", guarantee_gpus=7, cohort="c")
        .tenant("q2", guarantee_gpus=16, cohort="c")
    )
    for name, node, started_s in (("old", "n1", 10), ("young", "n2", 20)):
        built.pod(name, node, 4, tenant="q1", tier="LP", priority=7, started_s=started_s).pod(f"k{name}", node, 4)
    one = _remedies(built.pod("h", gpus=4, tenant="q2"))["victims"]
    assert (one.numbers["named"], one.numbers["grounds"]) == ("jobs/young", "reclaim")
    two = (
        built.without("jobs/h")
        .gang("g", 2)
        .pod("g-0", gpus=4, tenant="q2", gang="g")
        .pod("g-1", gpus=4, tenant="q2", gang="g")
    )
    assert _remedies(two, "jobs/g")["victims"].outcome == "none"


def test_case_c20_nobodys_pods_are_no_prey() -> None:
    built = world(1000).node("n1").tenant("t1", guarantee_gpus=0, cohort="c").tenant("t2", guarantee_gpus=8, cohort="c")
    built.pod("notebook", "n1", 3, tenant=None, started_s=990).pod("worker", "n1", 1, tenant=None, started_s=995)
    built.pod("l1", "n1", 4, tier="LP", started_s=0, checkpoint_s=100).pod("h", gpus=4, tenant="t2", **CLAIMANT)
    remedy = _remedies(built)["victims"]
    assert (remedy.cost, remedy.numbers["named"]) == (3600, "jobs/l1")
    alone = built.without("jobs/l1").pod("k", "n1", 4)
    assert _remedies(alone)["victims"].outcome == "none"


def test_moves_are_planned_where_pieces_are_the_reason() -> None:
    built = world().nodes("n1", "n2").pod("a", "n1", 2).pod("b", "n2", 2).pod("h", gpus=8)
    remedy = _remedies(built)["consolidation"]
    assert (remedy.outcome, remedy.numbers["moves"]) == ("found", 1)
    assert remedy.cost is not None and remedy.cost > 0
    assert "consolidation" not in _remedies(built, limits=Limits(moves=False))
    built.rows["pods"][0]["locked"] = built.rows["pods"][1]["locked"] = True
    stuck = _remedies(built)
    assert stuck["consolidation"].outcome in ("none", "budget")
    assert stuck["smaller_shape"].numbers == {"pods": 1, "gpus_per_pod": 4, "fewer_gpus": 4}


def test_quota_and_moves_together_are_a_solution_where_neither_is_alone() -> None:
    built = world().nodes("n1", "n2").pod("a", "n1", 2, tenant="t2").pod("b", "n2", 2, tenant="t2").pod("h", gpus=8)
    remedies = _remedies(built.tenant("t1", quotas=[{"gpu_model": MODEL, "nominal": 4}]))
    assert (remedies["quota"].outcome, remedies["consolidation"].outcome) == ("found", "none")
    assert remedies["quota"].detail.endswith("Together with 1 move it would start.")


def test_moves_free_nothing_where_too_little_is_free() -> None:
    built = world().node("n1").pod("a", "n1", 8).pod("h", gpus=8)
    remedies = _remedies(built)
    assert {kind: remedy.outcome for kind, remedy in remedies.items()} == {
        "victims": "none", "consolidation": "none", "wait": "unknown",
    }  # fmt: skip
    found = explain(built.snapshot())
    assert solved(found.rows[0], tuple(remedies.values())) == "unknown"
    free = explain(built.node("n2").snapshot())
    assert solved(free.rows[0], unblock(free, free.rows[0])) == ""
    sized = _remedies(world().nodes("n1", "n2").pod("h", gpus=16))
    assert sized["smaller_shape"].numbers == {"pods": 1, "gpus_per_pod": 8, "fewer_gpus": 8}
    assert _remedies(world().node("n1").gang("g", 3).pod("g-0", gang="g"), "jobs/g") == {}


def test_a_smaller_shape_keeps_the_gpus_where_it_can() -> None:
    built = world().nodes("n1", "n2").pod("a", "n1", 4).pod("b", "n2", 4).gang("g", 1).pod("g-0", gpus=8, gang="g")
    assert _remedies(built, "jobs/g")["smaller_shape"].numbers == {"pods": 2, "gpus_per_pod": 4, "fewer_gpus": 0}


def test_another_model_is_proposed_and_left_to_the_owner() -> None:
    built = (
        world()
        .node("n1")
        .node("n2", gpu_model="H20")
        .pod("a", "n1", 8, gpu_model=MODEL)
        .pod("h", gpus=8, gpu_model=MODEL)
    )
    remedy = _remedies(built)["model"]
    assert remedy.numbers == {"model": "H20", "rate": 0.15, "memory_gb": 96, "memory_gb_asked": 80}
    assert "has to allow it" in remedy.detail


def test_waiting_counts_only_ends_that_are_stated() -> None:
    built = world(1000).nodes("n1", "n2").pod("a", "n1", 8).pod("b", "n2", 8).pod("h", gpus=8)
    assert _remedies(built)["wait"].numbers == {"unknown_milli": 16_000}
    known = _remedies(built, estimates={"jobs/a": 1500, "jobs/b": 1300})["wait"]
    assert (known.outcome, known.cost, known.numbers["start_s"]) == ("found", 300, 1300)


def _run(tmp_path: Path, built: World, *words: str) -> tuple[int, dict[str, Any]]:
    file = tmp_path / "world.json"
    file.write_bytes(built.json())
    result = CliRunner().invoke(main, [words[0], str(file), *words[1:], "--json"])
    return result.exit_code, json.loads(result.stdout) if result.exit_code < 2 else {}


@pytest.fixture
def crowded() -> World:
    built = world(1000).nodes("n1", "n2").pod("hp", "n1", 4, priority=100)
    saved = (("lpA", "n1", 4, 999), ("l1", "n2", 5, 900), ("l2", "n2", 2, 950), ("l3", "n2", 1, 990))
    for name, node, gpus, checkpoint_s in saved:
        built.pod(name, node, gpus, tier="LP", started_s=0, checkpoint_s=checkpoint_s)
    return built.pod("h", gpus=6, tenant="t2", priority=100)


def test_the_command_line_prints_the_stated_documents(tmp_path: Path, crowded: World) -> None:
    code, found = _run(tmp_path, crowded, "victims", "--pod", "jobs/h", "--now", "1000")
    assert (code, found["ok"], found["node"], found["cost"], found["reason"]) == (0, True, "n2", 510, "")
    assert [(one["pod"], one["gpu_seconds"]) for one in found["victims"]] == [("jobs/l1", 500), ("jobs/l3", 10)]
    assert found["victims"][0]["terms"]["gpus"] == 5
    code, told = _run(tmp_path, crowded, "explain", "--pod", "jobs/h")
    (pod,) = told["pods"]
    assert (code, pod["pod"], pod["reason"]) == (0, "jobs/h", "capacity")
    assert {"kind": "victims", "cost": 510.0}.items() <= pod["unblock"][0].items()
    assert pod["numbers"]["missing_milli"] == 6000


def test_the_command_line_says_no_and_refuses(tmp_path: Path, crowded: World) -> None:
    lacking = crowded.gang("q", 2).pod("q-0", gpus=2, gang="q", priority=100)
    code, found = _run(tmp_path, lacking, "victims", "--pod", "jobs/q")
    assert (code, found["victims"], found["reason"]) == (1, [], "misconfigured")  # it could not start whoever left
    for row in crowded.rows["pods"]:
        row["locked"] = True
    code, found = _run(tmp_path, crowded, "victims", "--pod", "jobs/h")
    assert (code, found["ok"], found["victims"], found["reason"]) == (1, False, [], "no_victims")
    assert _run(tmp_path, crowded, "explain", "--pod", "jobs/none")[0] == 2
    assert _run(tmp_path, crowded, "victims", "--pod", "jobs/h", "--now", "9" * 30)[0] == 2
    free = crowded.node("n9").pod("i", gpus=1)
    assert [one["solution"] for one in _run(tmp_path, free, "explain", "--pod", "jobs/i")[1]["pods"]] == [None]
    assert _run(tmp_path, crowded, "victims", "--pod", "jobs/hp")[0] == 2
