"""The order of the queue, shares with a past, and large jobs that keep their room."""

import json
import random
from fractions import Fraction
from typing import Any

import pytest

from scheduler.admission.backfill import Backfill, ends_of, releases
from scheduler.admission.estimate import estimate
from scheduler.admission.fairness import Past, capacity_of, decayed, share, shares, use_of
from scheduler.admission.order import QueueRules
from scheduler.admission.planner import Explained, explain
from scheduler.admission.quota import book_of, opened
from scheduler.admission.tree import Account, tree_of
from scheduler.cluster.records import TenantRecord
from scheduler.cluster.room import faults, pods_by_node
from scheduler.placement.planner import place
from scheduler.placement.resolving import request_of
from scheduler.plan.ask import ParamError
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World, world

M = "H100-SXM5-80GB"


def _order(built: World, **rules: Any) -> list[str]:
    return [row.key.partition("/")[2] for row in explain(built.snapshot(), rules=QueueRules(**rules)).rows]


def test_case_c19_weight_0_and_weight_10_million() -> None:
    def account(weight: int) -> Account:
        return Account("a", None, weight, None, {}, True)

    u, v = (share(account(10_000_000), {M: Fraction(used)}, {M: 8000}).value for used in (3000, 5000))
    assert u is not None and v is not None and u < v
    best_effort = share(account(0), {M: Fraction(4000)}, {M: 8000})
    assert best_effort.value is None and json.dumps(best_effort.as_json()) == "null"
    assert share(account(0), {}, {M: 8000}).value == 0
    built = world().node("n1")
    for name in "xy":
        built.tenant(name, weight=0, guarantee_gpus=0, cohort="c").pod(f"{name}1", "n1", 4, tenant=name, tier="LP")
        built.pod(f"{name}2", gpus=4, tenant=name, tier="LP")
    assert explain(built.snapshot()).totals == {"capacity": 2}


def test_hp_first_then_priority_then_share_then_age() -> None:
    built = world().nodes("n1", "n2").pod("used", "n1", 6, tenant="big").pod("lp", gpus=1, tier="LP", priority=9)
    built.pod("big-1", tenant="big").pod("new-1", tenant="new").pod("new-2", tenant="new").pod(
        "top", tenant="big", priority=5
    )
    assert _order(built) == ["top", "new-1", "new-2", "big-1", "lp"]
    assert _order(built, fair=False) == ["top", "big-1", "new-1", "new-2", "lp"]
    since = {"jobs/new-2": 5, "jobs/big-1": 7}
    assert _order(built, waiting_since_s=since) == ["top", "new-2", "new-1", "big-1", "lp"]
    assert _order(built, fair=False, waiting_since_s=since) == ["top", "new-2", "big-1", "new-1", "lp"]


def test_shares_grow_as_jobs_are_taken_and_follow_weights_and_departments() -> None:
    built = world().nodes("n1", "n2")
    for name, count in (("a", 4), ("b", 2)):
        for i in range(count):
            built.pod(f"{name}{i}", tenant=name)
    assert _order(built) == ["a0", "b0", "a1", "b1", "a2", "a3"]
    built.tenant("a", weight=3).tenant("b", weight=1)
    assert _order(built) == ["a0", "b0", "a1", "a2", "a3", "b1"]
    tree = (
        world()
        .node("n1")
        .tenant("d1")
        .tenant("d2")
        .tenant("x", parent="d1")
        .tenant("y", parent="d1")
        .tenant("z", parent="d2")
    )
    for name in ("x0", "x1", "y0", "y1", "z0", "z1"):
        tree.pod(name, tenant=name[0])
    assert _order(tree) == ["x0", "z0", "y0", "z1", "x1", "y1"]


def test_the_past_counts_less_with_age() -> None:
    book = opened(tree_of([TenantRecord(name="d"), TenantRecord(name="a", parent="d")]), {}, {})
    for_ever = decayed(book, [Past("a", M, 8000, -(10**9), 1000)], 1000, 3600)
    assert for_ever["a"][M] == for_ever["d"][M] == 8000
    halved = decayed(book, [Past("a", M, 8000, -(10**9), 1000)], 4600, 3600)
    assert halved["a"][M] == 4000
    built = world().nodes("n1").pod("a0", tenant="a").pod("b0", tenant="b")
    past = (Past("a", M, 4000, 0, 900), Past("b", M, 1000, 0, 900))
    assert _order(built, past=past) == ["b0", "a0"]
    with pytest.raises(ParamError):
        QueueRules(past=(Past("a", M, 1, 9, 3),))


def test_the_dominant_resource_is_the_largest_part() -> None:
    built = world().node("n1").pod("a", "n1", 1, cpu_milli=64_000).tenant("t1", weight=2)
    snapshot = built.snapshot()
    book = book_of(snapshot)
    found = shares(book, use_of(snapshot, book), capacity_of(snapshot))["t1"]
    assert (found.resource, found.value) == ("cpu", Fraction(1, 4))


def _large() -> World:
    built = world(1000).nodes("n1", "n2").pod("a", "n1", 8).pod("b", "n2", 4)
    return (
        built.gang("g", 2)
        .pod("g-0", gpus=8, gang="g", priority=9)
        .pod("g-1", gpus=8, gang="g", priority=9)
        .pod("s", gpus=4)
    )


def _words(found: Explained) -> dict[str, str]:
    return {row.key.partition("/")[2]: row.reason.word for row in found.rows}


def test_a_large_job_keeps_its_room_and_short_ones_run_before_it() -> None:
    ends = {"jobs/a": 2000, "jobs/b": 1500}
    plain, snapshot = explain(_large().snapshot()), _large().snapshot()
    assert _words(plain) == {"g": "capacity", "s": "fits_now"} and plain.reservations == ()
    held = explain(snapshot, backfill=Backfill(large_gpus=16, estimates=ends))
    assert _words(held) == {"g": "capacity", "s": "queued"}
    assert [(one.job, one.start_s, one.unknown_gpu_milli) for one in held.reservations] == [("jobs/g", 2000, 0)]
    for runtime, word in ((1000, "fits_now"), (1001, "queued")):
        rules = Backfill(large_gpus=16, estimates=ends, runtimes_s={"jobs/s": runtime})
        assert _words(explain(snapshot, backfill=rules))["s"] == word
    small = explain(snapshot, backfill=Backfill(large_gpus=17, estimates=ends))
    assert small.reservations == ()


def test_ends_that_nobody_knows_are_unknown() -> None:
    built = _large().pod("v", "n2", 2, terminating=True, deleted_at_s=990, grace_s=60)
    found = explain(built.snapshot(), backfill=Backfill(large_gpus=16, estimates={"jobs/a": 1200}))
    assert [(one.start_s, one.unknown_gpu_milli) for one in found.reservations] == [(None, 4000)]
    timeline = releases(found.snapshot, ends_of(found.snapshot, {"jobs/a": 1200}), 1000)
    assert [(one.at_s, one.gpu_milli) for one in timeline] == [(1050, 2000), (1200, 8000)]
    with pytest.raises(ParamError):
        Backfill(large_gpus=0)


def test_a_start_is_estimated_from_stated_ends_alone() -> None:
    built = world(1000).node("n1").node("n2").pod("a", "n1", 8).pod("b", "n2", 8)
    built.pod("first", gpus=8, priority=9).pod("h", gpus=8).pod("wrong", gpus=9).pod("lp", gpus=1, tier="LP")
    found = explain(built.snapshot())
    rows = {row.key.partition("/")[2]: row for row in found.rows}
    ends = {"jobs/a": 1500, "jobs/b": 2500}
    told = {name: estimate(found, row, ends) for name, row in rows.items()}
    assert [(told[n].earliest_s, told[n].latest_s, told[n].ahead) for n in ("first", "h", "lp", "wrong")] == [
        (1500, 1500, 0), (1500, 2500, 1), (1500, None, 2), (None, None, 0),
    ]  # fmt: skip
    assert estimate(found, rows["h"], {}).earliest_s is None


def _rows(found: Explained) -> list[tuple[Any, ...]]:
    return [
        (row.key, row.position, row.reason, row.others, row.largest,
         row.seats and [(node, pods) for _, node, pods in row.seats.placed])
        for row in found.rows
    ]  # fmt: skip


def test_who_would_start_alone_is_who_can_be_placed() -> None:
    """The room of the queue and that of placement are counted by different code."""
    compared = 0
    for seed in range(5):
        dice, built = random.Random(seed), random_world(seed, plain=seed % 3 == 0, scarce=seed % 3 == 1)
        for pod in built.rows["pods"]:
            if dice.random() < 0.3 and not pod.get("lent_by") and not pod.get("standby"):
                pod.pop("node", None)
        snapshot = built.snapshot()
        for row in explain(snapshot).rows:
            words = {row.reason.word, *(other.word for other in row.others)}
            alone = "fits_now" in words or ("queued" in words and "waiting_for_victims" not in words)
            assert place(snapshot, request_of(snapshot, row.key)).ok == alone, (seed, row.key)
            compared += 1
    assert compared > 15


def test_the_queue_keeps_every_law_and_no_order_of_rows_matters() -> None:
    started = 0
    for seed in range(40):
        dice, built = random.Random(seed), random_world(seed, plain=seed % 3 == 0, scarce=seed % 3 == 1)
        built.tenant("t1", quotas=[{"gpu_model": "H100", "nominal": dice.choice([0, 6, 20])}])
        for pod in built.rows["pods"]:
            if dice.random() < 0.3 and not pod.get("lent_by") and not pod.get("standby"):
                pod.pop("node", None)
        found = explain(built.snapshot())
        snapshot, waiting = found.snapshot, found.rows
        assert sorted(p for row in waiting for p in row.job.pods) == sorted(
            {p for row in waiting for p in row.job.pods}
        )
        book = found.book
        arrivals: dict[int, list[int]] = {}
        for row in found.starts:
            assert row.seats is not None
            seated = [p for _, _, pods in row.seats.placed for p in pods]
            assert sorted(seated) == sorted(row.job.pods), seed  # all of a gang, or nobody
            for part, node, pods in row.seats.placed:
                arrivals.setdefault(node, []).extend(pods)
                model = snapshot.models[snapshot.node_model[node]]
                asked = part.shape[2] * part.shape[3] * len(pods)
                assert book.check(row.job.tenant, model, asked, lp=row.job.lp) is None, seed
                book = book.take(row.job.tenant, model, asked, lp=row.job.lp)
        order, starts = pods_by_node(snapshot)
        for node, arrived in arrivals.items():
            there = order[starts[node] : starts[node + 1]].tolist()
            # Company is found among those who stand there; two residents on one port are nobody's fault here
            blocks = [
                b for b in faults(snapshot, node, there, arrived) if b.reason not in ("affinity", "host_port") or b.pods
            ]
            assert [b.reason for b in blocks if b.reason != "affinity"] == [], (seed, node)
            started += len(arrived)
        for kind in ("nodes", "pods", "gangs"):
            dice.shuffle(built.rows[kind])
        assert _rows(explain(built.snapshot())) == _rows(found), seed
    assert started > 30
