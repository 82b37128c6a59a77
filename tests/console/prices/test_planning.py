"""The worker's half of a proposal: what it reads of the last week, what it answers, and when it says that it cannot."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.inventory.models import Blob, Measurement, Observation
from console.inventory.selectors.lendable import Lendable, lendable_by_hour
from console.prices import planning, record, selectors, services
from console.prices.choices import State
from console.prices.models import Price, Proposal
from console.prices.planning.quoting import readings_of, rows_of
from console.prices.services import effect
from console.prices.spans import full_hour
from console.tenancy.models import TenantHour, UsageSpan
from console.tenancy.selectors.spot_use import spot_use
from scheduler.spot.pricing import quote
from scheduler.spot.readings import Readings
from tests.builders.fleets import observed
from tests.builders.people import operator
from tests.builders.worlds import World, world
from tests.console.prices.scene import H100, price
from tests.console.prices.test_pages import api, signed_in

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
GPU_HOUR_US = 3_600_000_000


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No review by the clock, and no leases but a test's own."""
    monkeypatch.setattr(effect, "_open_due", lambda now: 0)
    monkeypatch.setattr(record, "_sources", {})


def fleet() -> World:
    """16 GPUs: 6 asleep of which 4 are lent, 3 held by other LP, 2 awake, 5 free."""
    return (
        world()
        .nodes("n1", "n2")
        .pod("asleep", "n1", gpus=6, standby=True)
        .pod("awake", "n1", gpus=2)
        .pod("borrower", "n1", gpus=4, tier="LP", tenant="t2", lent_by="jobs/asleep")
        .pod("lp", "n2", gpus=3, tier="LP", tenant="t2")
        .pod("waits", gpus=2, tier="LP", tenant="t2", gpu_model=H100)
    )


def seen_for_a_week(made: World | None = None, hours: int = 200) -> Observation:
    row = observed(made or fleet())
    Observation.objects.filter(pk=row.pk).update(begun_at=timezone.now() - hours * HOUR)
    return row


def used(tenant: str, gpus: float, hours: range = range(1, 170)) -> None:
    """So many GPUs of LP in each of the hours before now."""
    end = full_hour(timezone.now())
    for back in hours:
        UsageSpan.objects.get_or_create(source=1, began_at=end - back * HOUR, defaults={"covered_ms": 3_600_000})
    TenantHour.objects.bulk_create(
        TenantHour(
            source=1, began_at=end - back * HOUR, cluster="default", tenant=tenant, gpu_model=H100,
            lp_us=round(gpus * GPU_HOUR_US),
        )
        for back in hours
    )  # fmt: skip


def leased(key: str, tenant: str, gpus: int, hours: float, **said: Any) -> record.Asked:
    fields: dict[str, Any] = {
        "gpu_model": H100, "tenant": tenant, "key": key, "gpu_milli": gpus * 1000,
        "asked_at": full_hour(timezone.now()) - 100 * HOUR, "work_s": round(hours * 3600), "limit_cents": None,
        "guaranteed_s": 0, "checkpoint_s": 1800, "waited_s": 0, "ran_s": round(hours * 3600), "reclaims": 0,
    }  # fmt: skip
    return record.Asked(**fields | said)


def reviewed(*models: str) -> Proposal:
    row = services.open_review(operator(), models or [H100])
    planning.review(row.pk)
    return Proposal.objects.get(pk=row.pk)


def terms(row: Proposal) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in row.lines.get().terms}


def test_a_review_reads_the_week_and_says_what_moved_the_price() -> None:
    seen_for_a_week()
    used("t2", 7)
    price(cents=200)
    row = reviewed()
    line = row.lines.get()
    assert row.state == State.DRAFT, row.reason
    assert line.cents is not None
    assert 190 <= line.cents <= 210 and line.cents != 200
    assert line.why.startswith(("Up ", "Down ")) and line.why.endswith(".")
    found = terms(row)
    assert {name: found[name]["value"] for name in ("on_demand", "use", "standby", "idle", "forecast")} == {
        "on_demand": 688, "use": 7, "standby": 6, "idle": 8, "forecast": 14,
    }  # fmt: skip
    assert found["queue"]["value"] == 2  # what waits now in the cluster
    assert sum(one["effect_cents"] for one in line.terms) == line.cents - 200
    assert row.preview is not None
    (one,) = row.preview["models"]
    assert one["now"]["occupancy"] == pytest.approx(7 / 14, abs=0.01)
    others = [figures["cents"] for figures in one["others"]]
    assert len(others) == 4 and others == sorted(others) and others[1] < line.cents < others[2]
    assert [answer["elasticity_percent"] for answer in one["then"]["answers"]] == [20, 60, 120]
    page = signed_in(operator()).get(f"/prices/proposals/{row.pk}/").content.decode()
    assert "other prices, and what demand may make of each" in page and "0.6 % fewer" in page
    told = api(operator()).get(f"/api/v1/prices/proposals/{row.pk}/").json()["preview"]["models"][0]
    assert told["others"][0]["answers"][0]["revenue_cents"] == one["others"][0]["answers"][0]["revenue_cents"]
    said = " ".join(row.preview["assumptions"])
    assert "no lease was recorded" in said and "assumed" in said and f"{H100}: 50 % of what could be lent" in said


def test_the_next_review_compares_with_what_was_read_for_the_price_in_force() -> None:
    seen_for_a_week()
    used("t2", 7)
    price(cents=200)
    first = reviewed()
    Price.objects.create(
        gpu_model=H100, since=timezone.now() - HOUR, cents=first.lines.get().cents, why="reviewed",
        terms=first.lines.get().terms,
    )  # fmt: skip
    used("t3", 3)
    later = terms(reviewed())
    assert (later["use"]["was"], later["use"]["value"]) == (7, 10)
    assert later["standby"]["effect_cents"] == 0
    assert later["use"]["words"] == "paid use up 43 % to 10 GPUs"


def test_leases_that_are_recorded_stand_for_asks_with_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    seen_for_a_week()
    used("t2", 7)
    price(cents=200)
    leases = [
        leased("L-1", "rich", 4, 10, reclaims=1),
        leased("L-2", "thrifty", 2, 5, limit_cents=205),
        leased("L-3", "poor", 2, 5, limit_cents=150, waited_s=168 * 3600, ran_s=0),
        leased("L-4", "rich", 2, 5, waited_s=168 * 3600, ran_s=0),
    ]
    record.register("leases", lambda start, end: leases)
    with pytest.raises(ValueError, match="twice"):
        record.register("leases", lambda start, end: leases)
    row = reviewed()
    assert row.preview is not None
    figures = row.preview["models"][0]
    assert (figures["now"]["tenants_out"], figures["then"]["tenants_out"][-1:]) == (["poor"], ["thrifty"]) or (
        (row.lines.get().cents or 0) <= 205 and figures["then"]["tenants_out"] == ["poor"]
    )
    assert terms(row)["reclaims"]["value"] == pytest.approx(8.0)  # 4 of 50 GPU-hours that ran
    # what waits above its limit is no demand; the rest is believed of an unproven tenant as far as 2 % of the pool
    assert terms(row)["queue"]["value"] == pytest.approx(2 + 0.28)


def test_prices_that_a_person_named_are_previewed_as_they_are() -> None:
    seen_for_a_week()
    used("t2", 7)
    price(cents=200)
    row = reviewed()
    services.edit_prices(operator(), row.pk, {H100: 204}, version=row.version)
    planning.preview(row.pk)
    row.refresh_from_db()
    assert (row.state, row.lines.get().cents) == (State.DRAFT, 204)
    assert row.preview is not None
    assert row.preview["models"][0]["then"]["cents"] == 204


@pytest.mark.parametrize(
    ("lay", "words"),
    [
        (lambda: seen_for_a_week(hours=9), "how much of this model is wanted is not known"),
        (lambda: used("t2", 7), "how much of this model can be lent is not known"),
    ],
)
def test_what_is_not_known_has_no_quote_and_says_why(lay: Callable[[], Any], words: str) -> None:
    price(cents=200)
    lay()
    line = reviewed().lines.get()
    assert line.cents is None and words in line.why


def test_a_model_without_an_anchor_has_no_quote() -> None:
    seen_for_a_week(world().node("n1", gpu_model="XPU-Z").pod("lp", "n1", gpus=3, tier="LP"))
    row = reviewed("XPU-Z")
    assert row.lines.get().cents is None and "on-demand price of XPU-Z" in row.lines.get().why


def test_who_lost_the_work_writes_nothing_and_what_breaks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    seen_for_a_week()
    used("t2", 7)
    row = services.open_review(operator(), [H100])
    assert services.begin_computing(row.pk, "somebody else") is not None
    planning.review(row.pk)
    assert Proposal.objects.get(pk=row.pk).state == State.COMPUTING

    other = services.open_review(operator(), [H100])
    monkeypatch.setattr(planning, "markets_of", lambda models, now: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        planning.review(other.pk)
    other.refresh_from_db()
    assert other.state == State.FAILED and "could not be worked out" in other.reason


def test_what_could_be_lent_hour_by_hour() -> None:
    end = full_hour(timezone.now())
    row = observed(fleet())
    Observation.objects.filter(pk=row.pk).update(begun_at=end - 3 * HOUR, observed_at=end - 90 * timedelta(minutes=1))
    found = lendable_by_hour(end - 4 * HOUR, end)[H100]
    there = Lendable(standby_milli=2_000, lp_milli=7_000, free_milli=5_000)
    assert found == [None, there, there, None] and there.total_milli == 14_000
    other = observed(fleet(), "second")
    Observation.objects.filter(pk=other.pk).update(begun_at=end - 2 * HOUR, observed_at=end)
    both = lendable_by_hour(end - 4 * HOUR, end)[H100]
    assert both == [None, None, there + there, None]  # a gap of one is a gap of the sum
    Measurement.objects.all().delete()
    assert lendable_by_hour(end - 4 * HOUR, end) == {}
    assert Blob.objects.exists()


def test_use_by_the_hour_knows_its_gaps_and_spreads_days() -> None:
    end = datetime(2026, 11, 8, tzinfo=UTC)
    UsageSpan.objects.create(source=1, began_at=end - 2 * HOUR, covered_ms=1_800_000)
    UsageSpan.objects.create(source=1, began_at=end - 26 * HOUR, hours=24, covered_ms=24 * 3_600_000)
    rows = {"source": 1, "cluster": "c", "tenant": "a", "gpu_model": H100}
    TenantHour.objects.create(began_at=end - 2 * HOUR, lp_us=2 * GPU_HOUR_US // 2, **rows)
    TenantHour.objects.create(began_at=end - 26 * HOUR, hours=24, lp_us=24 * GPU_HOUR_US, **rows)
    found = spot_use(end - 4 * HOUR, end)
    assert found.covered_s == [3600, 3600, 1800, 0]
    assert found.milli_s["a", H100] == [3_600_000, 3_600_000, 3_600_000, 0]
    assert found.mean_milli("a", H100) == 1200 and found.mean_milli("b", H100) == 0
    assert found.tenants_of(H100) == ["a"] and found.tenants_of("L20") == []
    assert spot_use(end, end + HOUR).mean_milli("a", H100) is None


def test_terms_keep_what_was_read() -> None:
    said = Readings(
        on_demand_cents=688, standby_milli=6_500, idle_milli=8_000, paid_milli=7_250, waiting_milli=0,
        forecast_milli=None, payers_before=1000, payers_again=900, reclaimed_permille=35,
    )  # fmt: skip
    rows = rows_of(quote(H100, said).terms)
    assert readings_of(rows) == said
    assert readings_of(rows[1:]) is None and readings_of([]) is None
    assert selectors.quote_of(H100).cents is None  # nothing of it is in force
