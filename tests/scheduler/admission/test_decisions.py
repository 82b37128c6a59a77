"""What people decided beside quotas: budgets that stop, run times that are promised to borrowers, priority classes."""

from typing import Any

from scheduler.admission.planner import Explained, explain
from scheduler.admission.quota import book_of
from scheduler.admission.spending import Budget
from scheduler.advice.unblock import Remedy, unblock
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
