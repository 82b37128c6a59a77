"""Recalls: who is told, who is waited for, when it serves again, and that a promise is nobody else's."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster.promised import Promise, respecting
from scheduler.cluster.room import faults
from scheduler.cluster.snapshot import Snapshot
from scheduler.performance.exit_times import exit_seconds
from scheduler.performance.leaving import Leaving, resuming
from scheduler.performance.stopping import Habit, StopCosts
from scheduler.placement.named import VictimRules
from scheduler.placement.planner import place, request_of
from scheduler.placement.victims import Claim, find_victims
from scheduler.spot.reclaim import RecallPlan, plan_recall
from tests.builders.worlds import World, world

LP: dict[str, Any] = {"tier": "LP", "started_s": 0, "checkpoint_s": 900}


def _plan(built: World, *pods: str, **asked: Any) -> RecallPlan:
    return plan_recall(built.snapshot(), [f"jobs/{pod}" for pod in pods], **asked)


def _told(plan: RecallPlan) -> dict[str, str]:
    return {one.pod.removeprefix("jobs/"): one.cause for one in plan.notices}


def _lending() -> World:
    built = world(1000).nodes("n1", "n2").pod("s", "n1", 6, standby=True).pod("t", "n2", 4, standby=True)
    built.pod("b1", "n1", 4, lent_by="jobs/s", **LP).pod("b2", "n1", 2, lent_by="jobs/s", **LP)
    return built.pod("free", "n1", 2, **LP).pod("c1", "n2", 4, lent_by="jobs/t", **LP)


def test_borrowers_leave_and_nobody_else() -> None:
    plan = _plan(_lending(), "s")
    assert _told(plan) == {"b1": "lent", "b2": "lent"}
    (one,) = plan.sleepers
    assert one.ok and one.serving is not None and one.waits == ()
    assert [(p.node, p.gpu_milli, p.claimant) for p in plan.promises] == [("n1", 6000, "jobs/s")]
    assert one.serving.p50_s < one.serving.p95_s <= one.serving.p99_s <= 68
    assert plan.terms.lost == 6 * 100 and sum(n.loss_milli for n in plan.notices) == 600_000


def test_who_cannot_be_called_is_told_why() -> None:
    built = _lending().pod("day", "n2", 1).node("down", ready=False).pod("z", "down", 2, standby=True)
    reasons = {one.pod: one.reason for one in _plan(built, "day", "none", "b1", "z", "t", "t").sleepers}
    assert reasons == {
        "jobs/day": "awake", "jobs/none": "unknown_pod", "jobs/b1": "unknown_pod", "jobs/z": "out_of_service",
        "jobs/t": "",
    }  # fmt: skip


def test_who_is_leaving_is_waited_for_and_never_told_twice() -> None:
    built = _lending()
    for row in built.rows["pods"]:
        if row["name"] == "b1":
            row |= {"terminating": True, "deleted_at_s": 960, "grace_s": 60}
    (one,) = (plan := _plan(built, "s")).sleepers
    assert _told(plan) == {"b2": "lent"} and one.waits == ("jobs/b1",)
    alone = _plan(built.without("jobs/b2"), "s").sleepers[0]
    assert alone.notices == () and alone.serving is not None and alone.serving.law.longest_s <= 20 + 8


def test_others_leave_only_where_the_room_is_needed_back_and_the_cheapest_ones() -> None:
    """Beside the sleeper stands more than there is room for: somebody took its CPU on the strength of its sleep."""
    built = world(1000).node("n1", cpu_milli=64_000).pod("s", "n1", 4, standby=True, cpu_milli=32_000)
    built.pod("b", "n1", 4, lent_by="jobs/s", cpu_milli=8_000, **LP)
    built.pod("dear", "n1", 2, cpu_milli=20_000, tier="LP", started_s=0, checkpoint_s=0)
    built.pod("cheap", "n1", 2, cpu_milli=20_000, tier="LP", started_s=0, checkpoint_s=990)
    assert _told(_plan(built, "s")) == {"b": "lent", "cheap": "room"}
    for row in built.rows["pods"]:
        row["locked"] = row["name"] in ("dear", "cheap")
    plan = _plan(built, "s")
    assert plan.notices == () and plan.promises == ()
    assert plan.sleepers[0].reason == "no_room" and "cpu" in plan.sleepers[0].detail


def test_a_gang_that_breaks_leaves_whole_and_one_that_can_spare_a_member_does_not() -> None:
    built = world(1000).nodes("n1", "n2").pod("s", "n1", 4, standby=True).gang("g", 2)
    built.pod("g-0", "n1", 4, lent_by="jobs/s", gang="g", **LP).pod("g-1", "n2", 4, gang="g", **LP)
    assert _told(_plan(built, "s")) == {"g-0": "lent", "g-1": "gang"}
    assert _told(_plan(built.pod("g-2", "n2", 4, gang="g", **LP), "s")) == {"g-0": "lent"}


def test_several_sleepers_at_once_name_nobody_twice() -> None:
    built = world(1000).nodes("n1", "n2").gang("g", 2)
    for i in (1, 2):
        built.pod(f"s{i}", f"n{i}", 8, standby=True).pod(f"g-{i}", f"n{i}", 8, lent_by=f"jobs/s{i}", gang="g", **LP)
    plan = _plan(built, "s1", "s2")
    assert sorted(one.pod for one in plan.notices) == ["jobs/g-1", "jobs/g-2"]
    assert [len(one.notices) for one in plan.sleepers] == [2, 1] and all(one.ok for one in plan.sleepers)


def test_times_are_those_of_the_law_and_of_what_was_seen() -> None:
    """One thousand recalls drawn from the law of the study, against what was said of one."""
    built = _lending()
    said = _plan(built, "s").sleepers[0].serving
    assert said is not None
    dice = random.Random(11)
    drawn = sorted(
        max(round(min(60.0, exit_seconds("paper", dice.uniform(1e-9, 1 - 1e-9)))) for _ in range(2))
        + dice.randint(3, 8)
        for _ in range(4000)
    )
    for p, seconds in ((0.5, said.p50_s), (0.95, said.p95_s), (0.99, said.p99_s)):
        assert abs(drawn[int(p * len(drawn))] - seconds) <= 2
    hung = VictimRules(costs=StopCosts(habits={"jobs/b1": Habit((60.0,) * 300, killed=300)}))
    worse = _plan(built, "s", rules=hung).sleepers[0].serving
    assert worse is not None and worse.p50_s >= 60 and worse.killed > 0.9
    assert _plan(built, "s", resume=resuming(30, 30)).sleepers[0].serving.p50_s > said.p50_s + 20  # type: ignore[union-attr]


def test_room_that_is_promised_to_others_is_not_taken() -> None:
    """A victim for h left n1; before h comes, a sleeper there is called: it keeps to its own room."""
    built = world(1000).node("n1").pod("s", "n1", 4, standby=True).pod("b", "n1", 4, lent_by="jobs/s", **LP)
    built.pod("h", gpus=4, tenant="t2", priority=100)
    mine = Promise(cluster="default", node="n1", claimant="jobs/h", gpu_milli=4000)
    assert _plan(built, "s", promises=[mine]).sleepers[0].ok
    more = Promise(cluster="default", node="n1", claimant="jobs/h", gpu_milli=5000)
    assert _plan(built, "s", promises=[more]).sleepers[0].reason == "no_room"


def _drawn(seed: int) -> World:
    dice, built = random.Random(seed), world(1000)
    for n in range(3):
        built.node(f"n{n}", cpu_milli=64_000)
        left, asleep = 8, dice.choice([2, 4, 6])
        built.pod(f"s{n}", f"n{n}", asleep, standby=True, cpu_milli=4000 * asleep)
        for i in range(dice.randint(0, 2)):
            built.pod(f"b{n}{i}", f"n{n}", asleep // 2, lent_by=f"jobs/s{n}", cpu_milli=2000, **LP)
        left -= asleep
        for i in range(dice.randint(0, left)):
            tier: dict[str, Any] = LP if dice.random() < 0.7 else {"tier": "HP"}
            going = {"terminating": True, "deleted_at_s": 990, "grace_s": 60} if dice.random() < 0.3 else {}
            built.pod(f"p{n}{i}", f"n{n}", 1, cpu_milli=dice.choice([1000, 12_000]), **tier, **going)
    for i in range(3):
        built.pod(
            f"h{i}", gpus=dice.choice([1, 2, 4]), tenant="t2", priority=100, cpu_milli=dice.choice([1000, 20_000])
        )
    return built.pod("l", gpus=2, tier="LP", tenant="t3")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_a_promised_gpu_is_given_to_nobody_else(seed: int) -> None:
    """Recalls and victims one after the other: whoever is told leaves once, and every claimant finds its room."""
    snapshot = _drawn(seed).snapshot()
    plan = plan_recall(snapshot, ["jobs/s0", "jobs/s1"])
    promises, told = list(plan.promises), [one.row for one in plan.notices]
    snapshot = _notified(snapshot, told)
    for i in range(3):
        key = f"jobs/h{i}"
        (pod,) = [p for p in range(len(snapshot.pod_name)) if snapshot.pod_key(p) == key]
        seen = respecting(snapshot, promises, but=key)
        found = find_victims(seen, Claim((pod,)))
        if not found.ok:
            continue
        victims = [one.pod for one in found.victims]
        assert not set(victims) & set(told)
        told += victims
        snapshot = _notified(snapshot, victims)
        promises.append(_promise(snapshot, pod, found.placed[0][1]))
    assert len(told) == len(set(told))
    where = place(respecting(snapshot, promises), request_of(snapshot, "jobs/l"))
    for node in range(3):
        stay = np.flatnonzero(snapshot.pod_live & ~snapshot.pod_terminating & (snapshot.pod_node == node)).tolist()
        waking = [p for p in stay if snapshot.pod_key(p) in {one.claimant for one in promises}]
        come = [p for p in range(len(snapshot.pod_name)) for one in promises
                if one.claimant == snapshot.pod_key(p) and one.node == f"n{node}" and p not in waking]  # fmt: skip
        come += (
            []
            if where.best is None
            else [p for p in range(len(snapshot.pod_name)) if (snapshot.pod_key(p), f"n{node}") in where.assignment]
        )
        awake = _awake(snapshot, waking)
        fault = next(faults(awake, node, [p for p in stay if p not in waking], [*waking, *come]), None)
        assert fault is None or not (waking or come), (node, fault)


def _notified(snapshot: Snapshot, pods: list[int]) -> Snapshot:
    leaving = snapshot.pod_terminating.copy()
    leaving[pods] = True
    return replace(snapshot, pod_terminating=leaving)


def _awake(snapshot: Snapshot, pods: list[int]) -> Snapshot:
    standby = snapshot.pod_standby.copy()
    standby[pods] = False
    return replace(snapshot, pod_standby=standby)


def _promise(snapshot: Snapshot, pod: int, node: int) -> Promise:
    return Promise(
        cluster="default", node=snapshot.node_name[node], claimant=snapshot.pod_key(pod),
        gpu_milli=int(snapshot.pod_gpus[pod]) * 1000, cpu_milli=int(snapshot.pod_cpu_milli[pod]),
        memory_mib=int(snapshot.pod_memory_mib[pod]),
    )  # fmt: skip


def test_a_recall_of_laws_that_hang_is_bounded_by_the_kill() -> None:
    law: Leaving = _plan(_lending(), "s", rules=VictimRules(costs=StopCosts(law="hangs"))).sleepers[0].serving.law  # type: ignore[union-attr]
    assert law.longest_s == 68 and law.killed > 0.25
