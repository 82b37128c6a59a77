"""LP is charged hour by hour at the price that was in force then; and the demo's past is a simulated one."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.prices import selectors, services
from console.prices.choices import State
from console.prices.models import Price, Proposal
from console.prices.services import seeding
from console.prices.services.past import Market, prices_of
from console.tenancy import prices as charged
from console.tenancy import selectors as tenancy
from console.tenancy.choices import Tier
from console.tenancy.models import TenantHour, UsageFeed
from console.tenancy.periods import Period
from console.tenancy.selectors.quoted import cents_at
from tests.builders.people import operator, tenant
from tests.console.prices.scene import A100, H100, price

pytestmark = pytest.mark.django_db
DAY = datetime(2026, 11, 10, tzinfo=UTC)
MONTH = Period("2026-11", datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC))
GPU_HOUR = 3_600_000_000


def used(began: datetime, gpus: int = 1, hours: int = 1, who: str = "team-a", model: str = H100) -> None:
    TenantHour.objects.create(
        source=1, began_at=began, hours=hours, cluster="c1", tenant=who, gpu_model=model, lp_us=gpus * hours * GPU_HOUR,
        hp_us=0,
    )  # fmt: skip


def lp_lines(**said: Any) -> list[tenancy.Line]:
    return [line for line in tenancy.bill(operator(), MONTH, **said).lines if line.tier == "lp"]


def test_each_hour_pays_what_was_in_force_then() -> None:
    price(cents=200, since=DAY)
    price(cents=210, since=DAY + timedelta(hours=2))
    for hour in range(4):
        used(DAY + timedelta(hours=hour), gpus=3)
    (line,) = lp_lines()
    assert (line.milli_hours, line.cents) == (12_000, 3 * (2 * 200 + 2 * 210))
    assert (line.cents_per_gpu_hour, line.price_from) == (205, "spot price, 2.00–2.10 by the hour")


def test_hours_without_a_quote_are_charged_by_nothing_that_came_later() -> None:
    price(cents=200, since=DAY + timedelta(hours=1))
    price(cents=None, since=DAY + timedelta(hours=2), why="no supply")
    for hour in range(3):
        used(DAY + timedelta(hours=hour))
    quoted, rest = lp_lines()
    assert (quoted.milli_hours, quoted.cents, quoted.price_from) == (1000, 200, "spot price")
    assert (rest.milli_hours, rest.cents) == (2000, None)
    assert tenancy.bill(operator(), MONTH).whole.unpriced_milli_hours == 2000


def test_a_day_that_was_put_together_is_spread_over_its_hours() -> None:
    price(cents=100, since=DAY - timedelta(days=9))
    price(cents=200, since=DAY + timedelta(hours=6))
    used(DAY, gpus=2, hours=24)
    used(DAY + timedelta(days=1), gpus=1, hours=24)
    (line,) = lp_lines()
    assert line.cents == 2 * (6 * 100 + 18 * 200) + 24 * 200


def test_the_hour_that_runs_counts_and_a_tenant_sees_its_own_alone() -> None:
    price(cents=200, since=DAY)
    UsageFeed.objects.create(
        source=1, name="s", at=DAY, hour=DAY + timedelta(hours=5), covered_ms=1,
        sums=[["c1", "team-a", H100, 0, GPU_HOUR, 0, 0, 0], ["c1", "team-b", H100, 0, GPU_HOUR, 0, 0, 0]],
    )  # fmt: skip
    used(DAY, who="team-b")
    assert sum(line.cents or 0 for line in lp_lines()) == 600
    mine = tenancy.bill(tenant("team-a"), MONTH).lines
    assert [(line.tenant, line.cents) for line in mine] == [("team-a", 200)]


def test_a_model_that_has_no_quotes_is_charged_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charged, "_registered", {"policies": lambda clusters: lambda c, m, t: 77})
    price(cents=200, since=DAY)
    used(DAY)
    used(DAY, model=A100)
    assert {line.gpu_model: line.cents for line in lp_lines()} == {H100: 200, A100: 77}
    now = charged.Prices({}, ["c1"], DAY)
    tiers = [now.of("c1", H100, "team-a", tier).cents for tier in (Tier.LP, Tier.HP)]
    assert tiers == [200, 77]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 99)), unique_by=lambda one: one[0]), st.integers(0, 60))
def test_the_step_that_counts_is_the_last_one_that_began(steps: list[tuple[int, int]], hour: int) -> None:
    said = [(DAY + timedelta(hours=at), cents) for at, cents in sorted(steps)]
    expected = [cents for at, cents in said if at <= DAY + timedelta(hours=hour)]
    assert cents_at(said, DAY + timedelta(hours=hour)) == (expected[-1] if expected else None)


def test_a_simulated_past_obeys_the_rules_and_is_the_same_each_time() -> None:
    market = Market(H100, 800, 688, 10, 5, 7)
    past = list(prices_of(market, DAY, 95))
    assert [one.found.cents for one in past] == [one.found.cents for one in prices_of(market, DAY, 95)]
    assert len(past) > 20
    for before, after in pairwise(past):
        was, now = before.found.cents or 0, after.found.cents or 0
        assert abs(now - was) <= max(1, was * 5 // 100)
        assert 69 <= now <= 688
        assert sum(term.cents for term in after.found.terms) == now - was
        assert after.found.said


def test_the_demo_has_ninety_days_and_a_proposal_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeding, "_markets", lambda: iter([Market(H100, 800, 688, 10, 5, 7)]))
    row = services.ensure_prices(operator())
    assert row is not None
    assert services.ensure_prices(operator()) is None
    assert Proposal.objects.get().state == State.PROPOSED
    assert not Price.objects.filter(simulated=False).exists()
    card = selectors.price_card(tenant(), H100)
    assert card.simulated
    assert (card.end - card.changes[0].since).days >= 90
    assert all(one.since.minute == 0 for one in card.changes)
    failing = [one.label for one in selectors.checks(operator("another"), row) if not one.holds]
    assert failing == []
