"""What people decided beside quotas: budgets that stop, run times that are promised to borrowers, priority classes."""

import random
from typing import Any

from scheduler.admission.claims import claimed
from scheduler.admission.classes import PriorityClass
from scheduler.admission.planner import Explained, explain
from scheduler.admission.promises import promised
from scheduler.admission.quota import book_of
from scheduler.admission.spending import Budget
from scheduler.advice.remedy import Remedy
from scheduler.advice.unblock import unblock
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World, world

MODEL = "H100-SXM5-80GB"
MONTH: dict[str, Any] = {"unit": "gpu_hours", "period": "this month", "limit_milli": 100_000}


def _ruled(built: World, **ruled: Any) -> Explained:
    snapshot = built.snapshot()
    return explain(snapshot, book=book_of(snapshot).ruled(**ruled))


def _remedies(found: Explained, key: str = "jobs/h") -> dict[str, Remedy]:
    row = found.row(key)
    assert row is not None
    return {one.kind: one for one in unblock(found, row)}


def test_a_spent_budget_stops_its_tenant_and_its_teams_and_says_what_helps() -> None:
    built = world(1000).node("n1").tenant("dept").tenant("t1", parent="dept").pod("h", gpus=2).pod("cpu", gpus=0)
    built.pod("lp", gpus=1, tier="LP").pod("other", gpus=1, tenant="t9")
    spent = Budget(tenant="dept", spent_milli=101_500, over_s=4600, until="on Friday", raised_by="Ann", **MONTH)
    found = _ruled(built, budgets=[spent, Budget(tenant="t9", spent_milli=99_999, **MONTH)])
    words = {row.key.partition("/")[2]: row.reason.word for row in found.rows}
    assert words == {"h": "budget", "lp": "budget", "cpu": "fits_now", "other": "fits_now"}
    reason = next(row.reason for row in found.rows if row.key == "jobs/h")
    assert reason.sentence == (
        "t1 may start nothing more until on Friday: the budget of dept, to which it belongs, of 100 GPU-hours this "
        "month is spent, 101.5 GPU-hours in all. Ann may raise it."
    )
    remedies = _remedies(found)
    assert (remedies["budget"].outcome, remedies["budget"].cost, remedies["budget"].unit) == ("found", 3.5, "GPU-hours")
    assert (remedies["wait"].outcome, remedies["wait"].cost) == ("found", 3600)
    assert remedies["victims"].numbers["reason"] == "budget", "nobody is stopped for it"


def test_budget_and_quota_are_told_apart_and_money_without_a_price_is_unknown() -> None:
    quota = [{"gpu_model": MODEL, "nominal": 0}]
    built = world(1000).node("n1").tenant("t1", quotas=quota).pod("h", gpus=2, gpu_model=MODEL)
    usd = Budget(tenant="t1", spent_milli=0, **{**MONTH, "unit": "usd", "limit_milli": 0})
    found = _ruled(built, budgets=[usd])
    row = found.rows[0]
    assert (row.reason.word, [one.word for one in row.others]) == ("quota", ["budget"])
    remedies = _remedies(found)
    assert [remedies[kind].outcome for kind in ("quota", "budget", "wait")] == ["none", "none", "unknown"]
    assert "nobody says the price" in remedies["budget"].detail
    priced = Budget(**{name: getattr(usd, name) for name in ("tenant", "unit", "period", "limit_milli", "spent_milli")},
                    prices={("default", MODEL, False): 6880})  # fmt: skip
    remedy = _remedies(_ruled(built, budgets=[priced]))["budget"]
    assert (remedy.cost, remedy.unit) == (13.76, "USD")


def _lent(promised_s: int = 600, **fields: Any) -> tuple[World, dict[str, int]]:
    """q2's share of 8 is lent to q1: three pods of 3, 3 and 2 GPUs, the last two begun 100 s ago."""
    share = [{"gpu_model": MODEL, "nominal": 8}]
    built = world(1000).node("n1").tenant("q1", cohort="c", quotas=[{"gpu_model": MODEL, "nominal": 0}])
    built.tenant("q2", cohort="c", quotas=share)
    for name, gpus, started_s in (("old", 3, 0), ("young", 3, 900), ("fresh", 2, 900)):
        built.pod(name, "n1", gpus, tenant="q1", tier="LP", priority=9, started_s=started_s, **fields)
    return built, {"q1": promised_s}


def test_a_borrower_is_left_alone_for_as_long_as_was_promised() -> None:
    built, promise = _lent()
    built.pod("h", gpus=8, tenant="q2", gpu_model=MODEL)
    found = _ruled(built, min_runtime_s=promise)
    reason = found.rows[0].reason
    assert reason.word == "capacity"
    assert "5 of 8 GPUs that others borrow of its share are protected for at most 500 s more" in reason.sentence
    assert (reason.numbers["protected_milli"], reason.numbers["protected_until_s"]) == (5000, 1500)
    remedies = _remedies(found)
    assert remedies["victims"].outcome == "none"
    assert "5 of 8 GPUs" in remedies["victims"].detail
    assert (remedies["wait"].outcome, remedies["wait"].cost, remedies["wait"].numbers["pods"]) == ("found", 500, 3)
    free = _ruled(built)
    assert "protected" not in free.rows[0].reason.sentence, "unset is none"
    assert _remedies(free)["victims"].numbers["pods"] == 3
    small = world(1000).pod("h", gpus=3, tenant="q2", gpu_model=MODEL)
    small.rows["nodes"], small.rows["tenants"] = built.rows["nodes"], built.rows["tenants"]
    small.rows["pods"] += built.rows["pods"][:3]
    assert _remedies(_ruled(small, min_runtime_s=promise))["victims"].numbers["named"] == "jobs/old"
    unknown, promise = _lent()
    for pod in unknown.rows["pods"]:
        pod.pop("started_s")
    silent = _ruled(unknown.pod("h", gpus=8, tenant="q2", gpu_model=MODEL), min_runtime_s=promise).rows[0].reason
    assert "8 of 8 GPUs that others borrow of its share are protected nobody knows until when" in silent.sentence


PROD, SPOT = PriorityClass("prod", 100, frozenset({"dept"})), PriorityClass("spot", 0)


def test_classes_order_the_queue_and_no_number_makes_a_class_of_others_ones_own() -> None:
    built = world(1000).nodes("n1").tenant("dept").tenant("t1", parent="dept").tenant("t2")
    built.pod("team", gpus=4, priority=120).pod("loud", gpus=8, tenant="t2", priority=999).pod(
        "low", gpus=8, priority=-5
    )
    found = _ruled(built, classes=[PROD, SPOT])
    told = [(row.key.partition("/")[2], row.called, row.reason.word) for row in found.rows]
    assert told == [("team", "prod", "fits_now"), ("loud", "spot", "queued"), ("low", None, "queued")]
    assert "1 of class prod, 1 of class spot" in found.rows[2].reason.sentence
    assert [row.key for row in _ruled(built).rows] == ["jobs/loud", "jobs/team", "jobs/low"]


def test_only_lower_classes_are_preempted_and_ones_own_share_is_reclaimed_from_any() -> None:
    built = world(1000).node("n1").tenant("dept").tenant("t1", parent="dept").tenant("t2")
    built.pod("same", "n1", 4, priority=150, tier="LP").pod("spot", "n1", 4, tenant="t2", priority=999, tier="LP")
    built.pod("h", gpus=4, priority=100)
    assert _remedies(_ruled(built, classes=[PROD, SPOT]))["victims"].numbers["named"] == "jobs/spot"
    assert _remedies(_ruled(built))["victims"].outcome == "none", "by number both stand above it"
    built.rows["pods"][1]["tenant"] = "t1"
    assert _remedies(_ruled(built, classes=[PROD, SPOT]))["victims"].outcome == "none"
    lent, _ = _lent()
    remedy = _remedies(_ruled(lent.pod("h", gpus=8, tenant="q2"), classes=[PriorityClass("one", 0)]))["victims"]
    assert (remedy.outcome, remedy.numbers["grounds"]) == ("found", "reclaim"), "nobody is below it"


def test_whatever_was_decided_nobody_starts_beyond_quota_budget_or_cap_and_no_promise_is_broken() -> None:
    started = spared = 0
    for seed in range(20):
        dice, built = random.Random(seed), random_world(seed, plain=seed % 3 == 0, scarce=seed % 3 == 1)
        names = sorted({pod["tenant"] for pod in built.rows["pods"] if pod.get("tenant")})
        for name in names:
            built.tenant(
                name,
                cohort="c",
                cap_gpus=dice.choice([None, 30]),
                quotas=[{"gpu_model": "H100", "nominal": dice.choice([0, 6, 20])}],
            )
        for pod in built.rows["pods"]:
            if dice.random() < 0.3 and not pod.get("lent_by") and not pod.get("standby"):
                pod |= {"tier": "HP", "priority": 1}
                pod.pop("node", None)
            elif pod.get("node") and not pod.get("lent_by") and not pod.get("standby"):
                pod |= {"tier": dice.choice(["HP", "LP", "LP"]), "priority": dice.choice([0, 0, 5])}
        stopped = set(dice.sample(names, len(names) // 2))
        ruled: dict[str, Any] = {
            "budgets": [Budget(tenant=name, spent_milli=100_000, **MONTH) for name in stopped],
            "min_runtime_s": {name: dice.choice([0, 0, 10**6]) for name in names},
            "classes": [PriorityClass("a", 1, frozenset(names[:1])), PriorityClass("b", 0)],
        }
        found = _ruled(built, **ruled)
        book, snapshot = found.book, found.snapshot
        for row in found.starts:
            assert row.seats is not None
            assert not (row.job.tenant in stopped and row.job.gpu_milli), seed
            for part, node, pods in row.seats.placed:
                asked = part.shape[2] * part.shape[3] * len(pods)
                model = snapshot.models[snapshot.node_model[node]] if asked else ""
                assert book.check(row.job.tenant, model, asked, lp=row.job.lp) is None, seed
                book = book.take(row.job.tenant, model, asked, lp=row.job.lp) if asked else book
            started += 1
        kept = promised(snapshot, found.book).pod_min_runtime_s
        standings = book.ranks.standings(snapshot)
        for row in found.rows[:5]:
            for victim in claimed(snapshot, row.job, found.book).victims.victims:
                assert kept[victim.pod] <= 0 or snapshot.pod_started_s[victim.pod] + kept[victim.pod] <= found.now_s
                mine = book.ranks.standing(row.job.tenant, row.job.priority)
                assert victim.ground == "reclaim" or standings[victim.pod] < mine, seed
                spared += 1
    assert started > 10
    assert spared
