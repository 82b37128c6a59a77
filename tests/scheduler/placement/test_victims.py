"""Victims: the worlds of the public case list, who is never one, and a set that never loses more than the paper's."""

import random
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from scheduler.cluster.room import faults, pods_by_node
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.placement.prey import Prey, Scale, prey_of
from scheduler.placement.victims import VictimRules, Victims, claim_of, find_victims
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World, world

CLAIMANT: dict[str, Any] = {"tenant": "t2", "priority": 100}


def _victims(built: World, key: str = "jobs/h", **asked: Any) -> tuple[Snapshot, Victims]:
    snapshot = built.snapshot()
    claim = claim_of(snapshot, key)
    assert claim is not None
    return snapshot, find_victims(snapshot, claim, **asked)


def _names(built: World, key: str = "jobs/h", **asked: Any) -> tuple[set[str], float]:
    snapshot, found = _victims(built, key, **asked)
    return {snapshot.pod_name[victim.pod] for victim in found.victims}, found.gpu_seconds


def _lp(built: World, name: str, node: str, gpus: int, checkpoint_s: int | None = None, **fields: Any) -> World:
    return built.pod(name, node, gpus, **{"tier": "LP", "started_s": 0, "checkpoint_s": checkpoint_s, **fields})


def test_case_c01_a_gang_costs_all_of_it() -> None:
    built = world(10_000).nodes("n1", "n2").gang("g", 2)
    _lp(built, "g-0", "n1", 4, 9800, gang="g")
    _lp(built, "g-1", "n2", 8, 9800, gang="g")
    _lp(built, "s-0", "n1", 4, 9500).pod("h", gpus=4, **CLAIMANT)
    assert _names(built) == ({"s-0"}, 2000)
    both = _names(built.without("jobs/s-0").pod("k", "n1", 4))
    assert both == ({"g-0", "g-1"}, 2400)


def test_case_c37_exactly_those_that_are_needed() -> None:
    built = world(1000).nodes("n1", "n2").pod("hp", "n1", 4, priority=100)
    for name, node, gpus, saved in (
        ("lpA", "n1", 4, 999),
        ("l1", "n2", 5, 900),
        ("l2", "n2", 2, 950),
        ("l3", "n2", 1, 990),
    ):
        _lp(built, name, node, gpus, saved)
    assert _names(built.pod("h", gpus=6, **CLAIMANT)) == ({"l1", "l3"}, 510)


def test_case_c03_those_who_are_leaving_are_waited_for() -> None:
    built = world(1005).nodes("n1", "n2")
    _lp(built, "v1", "n1", 8, 990, terminating=True, deleted_at_s=1000, grace_s=60)
    _lp(built, "v2", "n2", 8, 900).pod("h", gpus=8, **CLAIMANT)
    snapshot, found = _victims(built)
    assert (found.ok, found.victims, found.held_until_s) == (True, (), 1060)
    assert [snapshot.pod_name[p] for p in found.leaving] == ["v1"]


def test_case_c38_nobody_is_stopped_for_who_cannot_run() -> None:
    built = world().nodes("n1", "n2", "n3")
    for name, node, gpus in (("l1", "n1", 8), ("l2", "n2", 8), ("l3", "n3", 4)):
        _lp(built, name, node, gpus)
    built.pod("k", "n3", 4, priority=100, labels={"app": "db"})
    built.pod("h1", gpu_model="H100-PCIe-80GB", **CLAIMANT).pod("h2", gpus=16, **CLAIMANT)
    built.pod("h3", gpus=4, anti_affinity=["app=db"], only_node="n3", **CLAIMANT)
    reasons = {}
    for name in ("h1", "h2", "h3"):
        _, found = _victims(built, f"jobs/{name}")
        assert not found.ok and found.victims == ()
        reasons[name] = found.reason
    assert reasons == {"h1": "no_node", "h2": "no_victims", "h3": "no_victims"}
    assert "jobs/k" in _victims(built, "jobs/h3")[1].detail


NEVER: dict[str, dict[str, Any]] = {
    "of the tier HP": {"tier": "HP"},
    "locked": {"locked": True},
    "of nobody": {"tenant": None},
    "an agent": {"owner": {"kind": "DaemonSet"}},
    "within the run time that it was promised": {"min_runtime_s": 2000},
    "of higher priority": {"priority": 101},
}


@pytest.mark.parametrize("kind", NEVER)
def test_who_is_never_a_victim(kind: str) -> None:
    built = _lp(world(), "v", "n1", 8, 999, **NEVER[kind]).node("n1").pod("h", gpus=8, **CLAIMANT)
    _, found = _victims(built)
    assert (found.ok, found.reason) == (False, "no_victims")
    other = _lp(built.node("n2"), "w", "n2", 8, 0)
    assert _names(other) == ({"w"}, 8000)


def test_a_budget_is_never_overdrawn_and_an_lp_job_never_claims() -> None:
    built = world().nodes("n1").budget("app=a", max_unavailable=1).pod("h", gpus=8, **CLAIMANT)
    for i in range(2):
        _lp(built, f"v{i}", "n1", 4, labels={"app": "a"})
    assert _victims(built)[1].reason == "no_victims"
    assert _victims(built.pod("l", gpus=8, tier="LP"), "jobs/l")[1].reason == "lp"


def test_surplus_members_go_first_and_a_gang_that_somebody_protects_goes_on() -> None:
    built = world(1000).nodes("n1", "n2").gang("g", 2).pod("h", gpus=4, **CLAIMANT)
    for i, node in enumerate(("n1", "n1", "n2")):
        _lp(built, f"g-{i}", node, 4, 900, gang="g")
    built.pod("k", "n2", 4)
    snapshot, found = _victims(built)
    assert [(snapshot.pod_name[v.pod], v.part) for v in found.victims] == [("g-0", "surplus")]
    built.gang("q", 2).pod("q-0", gpus=8, gang="q", **CLAIMANT).pod("q-1", gang="q", **CLAIMANT)
    assert _names(built, "jobs/q") == ({"g-0", "g-1", "g-2"}, 1200)
    next(row for row in built.rows["pods"] if row["name"] == "g-1")["locked"] = True
    assert _victims(built, "jobs/q")[1].reason == "no_victims"


def test_silence_is_no_protection_and_is_said() -> None:
    built = world(100_000).nodes("n1", "n2").pod("h", gpus=8, **CLAIMANT)
    _lp(built, "silent", "n1", 8)
    _lp(built, "saved", "n2", 8, 97_000)
    snapshot, found = _victims(built, rules=VictimRules(assumed_age_s=1800))
    assert [(snapshot.pod_name[v.pod], v.age_s, v.assumed) for v in found.victims] == [("silent", 1800, True)]
    later = _victims(built, rules=VictimRules(assumed_age_s=30_000))[1]  # no more than who reports loses
    assert [v.age_s for v in later.victims] == [3_000]
    _lp(built.node("n3"), "often", "n3", 8, 99_990, checkpoint_interval_s=600, locked=True)
    assert [(v.age_s, v.assumed) for v in _victims(built)[1].victims] == [(300, True)]  # nor than who writes often


def test_a_gang_is_seated_in_one_domain_or_nobody_is_stopped() -> None:
    built = world(1000).asw("a").nodes("n1", "n2").asw("b").nodes("n3", "n4")
    for name, node, saved in (("v1", "n1", 999), ("v2", "n2", 100), ("v3", "n3", 800), ("v4", "n4", 700)):
        _lp(built, name, node, 8, saved)
    built.gang("q", 2, topology={"required": "asw"})
    built.pod("q-0", gpus=8, gang="q", **CLAIMANT).pod("q-1", gpus=8, gang="q", **CLAIMANT)
    assert _names(built, "jobs/q") == ({"v3", "v4"}, 4000)
    for row in built.rows["pods"]:
        row["locked"] = row["name"] in ("v2", "v4")
    assert _victims(built, "jobs/q")[1].reason == "no_victims"


def test_seated_pod_by_pod_a_gang_costs_no_more_than_it_has_to() -> None:
    """The first member alone is cheapest beside b; both together are where a has left."""
    built = world(1000).nodes("n1", "n2").pod("k", "n2", 4).gang("q", 2)
    _lp(built, "a", "n1", 8, 990)
    _lp(built, "b", "n2", 4, 985).pod("q-0", gpus=4, gang="q", **CLAIMANT).pod("q-1", gpus=4, gang="q", **CLAIMANT)
    assert _names(built, "jobs/q") == ({"a"}, 80)


def test_victims_make_room_on_one_gpu_model() -> None:
    built = world(1000).node("n1").node("n2", gpu_model="H20").nodes("n3", "n4").gang("q", 2)
    for name, node, saved in (("a", "n1", 999), ("b", "n2", 999), ("c", "n3", 500), ("d", "n4", 400)):
        _lp(built, name, node, 8, saved)
    built.pod("q-0", gpus=8, gang="q", **CLAIMANT).pod("q-1", gpus=8, gang="q", **CLAIMANT)
    assert _names(built, "jobs/q") == ({"a", "c"}, 4008)
    assert _names(built.pod("q-r", "n2", 0, gang="q"), "jobs/q")[0] == {"a", "c"}  # it stands on no device


def test_members_that_need_less_do_not_close_a_domain() -> None:
    built = world(1000).asw("a").node("n1", 2)
    built.gang("q", 3, topology={"required": "asw"}).pod("q-0", gpus=0, gang="q", **CLAIMANT)
    built.pod("q-1", gpus=1, gang="q", **CLAIMANT).pod("q-2", gpus=1, gang="q", **CLAIMANT)
    _, found = _victims(built, "jobs/q")
    assert (found.ok, found.victims) == (True, ())
    for row in built.rows["gangs"]:
        row["topology"] = {"required": "host"}
    assert _names(_lp(built, "v", "n1", 1, 900), "jobs/q") == ({"v"}, 100)


def test_what_is_left_of_touched_devices_counts_for_shares_of_several() -> None:
    built = world(1000).asw("a").node("n1", 2).pod("k", "n1", 2, gpu_milli=300)
    built.gang("q", 2, topology={"required": "asw"})
    for name in ("q-0", "q-1"):
        built.pod(name, gpus=2, gpu_milli=300, gang="q", **CLAIMANT)
    assert _names(built, "jobs/q") == (set(), 0)


def test_a_search_that_was_ended_says_so() -> None:
    built = world().nodes(*(f"n{i}" for i in range(6))).pod("h", anti_affinity=["app=a"], **CLAIMANT)
    for i in range(6):
        built.pod(f"a{i}", f"n{i}", labels={"app": "a"})
    assert _victims(built, rules=VictimRules(nodes=3))[1].reason == "budget_ran_out"
    assert _victims(built)[1].reason == "no_victims"


def test_the_whole_cost_decides_among_those_that_lose_no_more_than_the_study_would() -> None:
    """The large pod starts again and reads back more; the small one loses as much work, or a little more."""
    for saved, names, free in ((960, {"small"}, {"small"}), (950, {"large"}, {"small"}), (999, {"small"}, {"small"})):
        built = _lp(world(1000).nodes("n1", "n2"), "large", "n1", 8, 990)
        _lp(built, "small", "n2", 2, saved).pod("k", "n2", 6).pod("h", gpus=2, **CLAIMANT)
        assert _names(built)[0] == names
        assert _names(built, rules=VictimRules(within_study=False))[0] == free
        assert _names(built, rules=VictimRules(whole_cost=False))[1] <= _names(built)[1]


def test_who_was_guaranteed_a_run_time_comes_last_and_what_is_owed_is_a_term() -> None:
    built = _lp(world(1000).nodes("n1", "n2"), "new", "n1", 8, 999, started_s=900, min_runtime_s=600)
    _lp(built, "old", "n2", 8, 0).pod("h", gpus=8, **CLAIMANT)
    last = VictimRules(guaranteed_last=True)
    assert _names(built, rules=last) == ({"old"}, 8000)
    alone = built.without("jobs/old").pod("k", "n2", 8)
    assert _victims(alone)[1].reason == "no_victims"
    _, found = _victims(alone, rules=last)
    assert [v.terms.credit for v in found.victims] == [8 * 500] and found.gpu_seconds == 8


def _paper(prey: Prey, pod: int, candidates: list[int]) -> tuple[int, int] | None:
    """The OSDI '26 rule: on each node LP pods by C ascending, the smallest prefix that suffices, the cheapest node.

    C and the whole cost of that set.  Written apart from the planner; a gang that falls below its minimum costs all
    of it, as everywhere.
    """
    snapshot = prey.snapshot
    order, starts = pods_by_node(snapshot)
    best: tuple[int, int] | None = None
    for node in np.flatnonzero(snapshot.node_usable & prey.rules.eligible(pod)).tolist():
        here = [p for p in order[starts[node] : starts[node + 1]].tolist() if not snapshot.pod_terminating[p]]
        prefix: list[int] = []
        for victim in [-1, *sorted((p for p in here if p in candidates), key=lambda p: (prey.loss[p], p))]:
            prefix += [victim] if victim >= 0 else []
            left = [p for p in here if p not in prefix]
            if next(faults(snapshot, node, left, [pod]), None) is None:
                loss, total = _with_gangs(prey, prey.lost, prefix), _with_gangs(prey, prey.total, prefix)
                if loss is not None and total is not None:
                    best = min(best or (loss, total), (loss, total))
                break
    return best


def _with_gangs(prey: Prey, scale: Scale, pods: list[int]) -> int | None:
    """What their end costs; None where it would stop somebody who may not be stopped."""
    snapshot = prey.snapshot
    lost: dict[int, list[int]] = defaultdict(list)
    for p in pods:
        lost[int(snapshot.pod_gang[p])].append(p)
    total = 0
    for gang, members in lost.items():
        if gang == UNKNOWN or len(members) <= prey.spare[gang]:
            total += int(scale.cost[members].sum())
        elif not prey.whole[gang]:
            return None
        else:
            total += int(scale.gang_cost[gang])
    return total


def test_never_a_larger_loss_than_the_papers_rule_and_always_room() -> None:
    compared = 0
    for seed in range(60):
        dice, built = random.Random(seed), random_world(seed, plain=seed % 2 == 0)
        for row in built.rows["pods"]:
            if row.get("node") and dice.random() < 0.7:
                row |= {"tier": "LP", "checkpoint_s": dice.randint(0, 1000), "started_s": 0, "locked": False}
                row.pop("standby", None)
                if dice.random() < 0.3:
                    row["labels"] = {**row.get("labels", {}), "slackline.io/checkpoint-on-notice": "true"}
        built.pod("h", gpus=dice.choice([2, 4, 8]), cpu_milli=dice.choice([1000, 40_000]), **CLAIMANT)
        snapshot, found = _victims(built)
        prey = prey_of(snapshot, snapshot.now_s, 1800)
        claim = claim_of(snapshot, "jobs/h")
        assert claim is not None
        paper = _paper(prey, claim.pods[0], np.flatnonzero(prey.may).tolist())
        if paper is not None and not snapshot.pdbs:
            total = int(prey.total.cost[[v.pod for v in found.victims]].sum())
            assert found.ok and found.loss_milli <= paper[0] and total <= paper[1], (seed, found, paper)
            compared += found.loss_milli > 0
        if found.ok:
            ((pod, node),) = found.placed
            order, starts = pods_by_node(snapshot)
            gone = {v.pod for v in found.victims} | set(found.leaving)
            left = [p for p in order[starts[node] : starts[node + 1]].tolist() if p not in gone]
            assert next(faults(snapshot, node, left, [pod]), None) is None, (seed, found)
            assert found.loss_milli == _with_gangs(prey, prey.lost, [v.pod for v in found.victims])
    assert compared > 10
