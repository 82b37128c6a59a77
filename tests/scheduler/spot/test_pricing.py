"""A quote: where it stands, how little it moves, why, and where there is none."""

from dataclasses import replace
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.cluster.errors import ParamError
from scheduler.spot.demand import TenantUse, counted
from scheduler.spot.pricing import Quote, Standing, price_range, quote, step_range
from scheduler.spot.readings import DAY_S, PriceRules, Readings, acceptance_of

USUAL = Readings(on_demand_cents=688, standby_milli=100_000, idle_milli=50_000, paid_milli=119_000, waiting_milli=0)
milli = st.integers(0, 400_000)
some_readings = st.builds(
    Readings,
    on_demand_cents=st.integers(1, 3_000),
    standby_milli=milli,
    idle_milli=milli,
    paid_milli=milli,
    waiting_milli=milli,
    forecast_milli=st.none() | milli,
    payers_before=st.just(10),
    payers_again=st.integers(0, 10),
    reclaimed_permille=st.none() | st.integers(0, 1_000),
)
a_day_on = st.sampled_from((0, DAY_S - 1, DAY_S, 40 * DAY_S))


def usual(**changed: int | None) -> Readings:
    return replace(USUAL, **changed)  # type: ignore[arg-type]


def priced(found: Quote) -> int:
    assert found.cents is not None, found.said
    return found.cents


def test_the_usual_market_has_the_neutral_price() -> None:
    found = quote("H100", USUAL)  # 119 GPUs and one of 150 are wanted: 80 %
    assert (found.cents, found.reason, found.said) == (206, "first", "First quote, 206 cents.")
    assert (found.floor_cents, found.on_demand_cents) == (69, 688)


@pytest.mark.parametrize(
    ("changed", "dearer"),
    [
        ({"waiting_milli": 20_000}, True),
        ({"paid_milli": 140_000}, True),
        ({"paid_milli": 60_000}, False),
        ({"standby_milli": 60_000}, True),
        ({"idle_milli": 90_000}, False),
        ({"forecast_milli": 80_000}, True),
        ({"forecast_milli": 200_000}, False),
        ({"on_demand_cents": 800}, True),
        ({"payers_before": 10, "payers_again": 10}, True),
        ({"payers_before": 10, "payers_again": 5}, False),
        ({"reclaimed_permille": 200}, False),
    ],
)
def test_each_reading_moves_the_price_its_way(changed: dict[str, int], dearer: bool) -> None:
    before = Standing(206, 0, USUAL)
    found = quote("H100", usual(**changed), before, DAY_S)
    assert (priced(found) > 206) == dearer and found.cents != 206
    moved = [term.name for term in found.terms if term.cents and term.name not in ("bound", "held_back")]
    assert moved and all((term.factor > 1) == dearer for term in found.terms if term.name == moved[0])


def test_a_change_says_its_causes_with_their_parts() -> None:
    busier = usual(waiting_milli=12_000, standby_milli=91_000)
    first = quote("H100", usual(waiting_milli=10_000), Standing(206, 0, USUAL), DAY_S)
    found = quote("H100", busier, Standing(priced(first), DAY_S, usual(waiting_milli=10_000)), 2 * DAY_S)
    assert first.said == "Up 4 % to 215 cents: queue up from 0 to 10 GPUs."
    assert found.said == "Up 4 % to 223 cents: standby down 9 % to 91 GPUs, queue up 20 % to 12 GPUs."
    assert {term.name: term.cents for term in found.terms if term.cents} == {"queue": 1, "standby": 7}
    assert sum(abs(term.share or 0) for term in found.terms) == pytest.approx(1)


def test_one_step_a_day_at_most_and_what_was_held_back_follows() -> None:
    rush = usual(waiting_milli=119_000)
    day = quote("H100", rush, Standing(206, 0, USUAL), DAY_S)
    assert (day.cents, day.target_cents, day.reason) == (226, 291, "step")
    assert day.said.endswith("; no more than 10 % at once.")
    early = quote("H100", rush, Standing(226, DAY_S, rush), DAY_S + 3600)
    assert (early.cents, early.reason, early.changed) == (226, "period", False)
    assert "no change for another 23 h" in early.said and early.next_review_s == 2 * DAY_S
    after = quote("H100", rush, Standing(226, DAY_S, rush), 2 * DAY_S)
    held = next(term for term in after.terms if term.name == "held_back")
    assert (after.cents, held.said) == (248, "the price stood 29 % below what it should have been")


def test_its_keeper_may_allow_less_than_a_step() -> None:
    rush, before = usual(waiting_milli=119_000), Standing(206, 0, USUAL)
    assert quote("H100", rush, before, DAY_S, within=(200, 210)).cents == 210
    assert quote("H100", rush, before, DAY_S, within=(200, 900)).cents == 226
    assert quote("H100", usual(on_demand_cents=150), before, DAY_S, within=(200, 210)).cents == 150


@pytest.mark.parametrize(
    ("model", "changed", "reason"),
    [
        ("", {}, "no_model"),
        ("H20", {"on_demand_cents": None}, "no_anchor"),
        ("H100", {"standby_milli": None}, "supply_unknown"),
        ("H100", {"idle_milli": None}, "supply_unknown"),
        ("H100", {"paid_milli": None}, "demand_unknown"),
        ("H100", {"waiting_milli": None}, "demand_unknown"),
        ("H100", {"standby_milli": 0, "idle_milli": 0}, "no_supply"),
        ("H100", {"sleep_cents": 689}, "floor_above_on_demand"),
    ],
)
def test_what_is_unknown_has_no_quote_and_a_reason(model: str, changed: dict[str, int | None], reason: str) -> None:
    found = quote(model, usual(**changed), Standing(206, 0, USUAL), DAY_S)
    assert (found.cents, found.reason, found.terms) == (None, reason, ())
    document = found.document()
    assert document["usd_per_gpu_hour"] is None and document["reason"].startswith("No quote: ")


def test_unknown_reclaims_and_few_payers_are_said_and_count_as_usual() -> None:
    found = {term.name: term for term in quote("H100", usual(payers_before=4, payers_again=0)).terms}
    assert (found["reclaims"].value, found["reclaims"].factor) == (None, 1)
    assert found["reclaims"].said == "reclaimed GPU time: not known, counted as usual"
    assert found["acceptance"].factor == 1
    assert acceptance_of(usual(payers_before=4, payers_again=4), PriceRules()) is None


def test_a_sleeper_is_never_lent_for_less_than_its_sleep_costs() -> None:
    assert price_range(688, PriceRules()) == (69, 688)
    assert price_range(688, PriceRules(), sleep_cents=100) == (100, 688)
    assert price_range(3, PriceRules()) == (1, 3)
    assert quote("H100", usual(paid_milli=0, sleep_cents=100)).cents == 100


def test_a_price_past_its_range_follows_at_once() -> None:
    found = quote("H100", usual(on_demand_cents=300), Standing(500, DAY_S - 1), DAY_S)
    assert (found.cents, found.reason) == (300, "on_demand")
    assert step_range(4, PriceRules(), 1, 100) == (3, 5)  # a cent at least


@pytest.mark.parametrize(
    ("field", "value"),
    [("floor_percent", 0), ("neutral_percent", 9), ("risk_percent", 100), ("step_percent", 0), ("period_s", -1)],
)
def test_rules_and_readings_check_themselves(field: str, value: int) -> None:
    with pytest.raises(ParamError) as caught:
        PriceRules(**{field: value})
    assert caught.value.field == field
    with pytest.raises(ParamError):
        usual(payers_again=1)
    with pytest.raises(ParamError):
        usual(on_demand_cents=0)


@given(now=some_readings, then=st.none() | some_readings, cents=st.integers(1, 4_000), at_s=a_day_on)
def test_a_price_stays_in_its_range_and_moves_one_step(
    now: Readings, then: Readings | None, cents: int, at_s: int
) -> None:
    rules = PriceRules()
    found = quote("H100", now, Standing(cents, 0, then), at_s, rules)
    if found.cents is None:
        assert found.reason == "no_supply" and not now.standby_milli and not (now.idle_milli and not now.forecast_milli)
        return
    floor, ceiling = price_range(now.on_demand_cents or 0, rules)
    assert floor <= found.cents <= ceiling
    if floor <= cents <= ceiling:
        assert abs(found.cents - cents) <= max(1, cents * rules.step_percent // 100)
        assert at_s >= rules.period_s or found.cents == cents
    assert found.cents == quote("H100", now, Standing(cents, 0, then), at_s, rules).cents


@given(now=some_readings, then=st.none() | some_readings, cents=st.none() | st.integers(1, 4_000))
def test_the_terms_are_the_whole_change_and_nothing_else(
    now: Readings, then: Readings | None, cents: int | None
) -> None:
    found = quote("H100", now, Standing(cents, 0, then) if cents else None, DAY_S)
    if found.cents is None:
        return
    start = cents or (now.on_demand_cents or 0) * 0.3
    assert sum(term.cents for term in found.terms) == found.cents - round(start)
    assert sum(log(term.factor) for term in found.terms) == pytest.approx(log(found.cents / start), abs=1e-6)
    assert all(term.said for term in found.terms) and found.said.endswith(".")


@given(now=some_readings, more=st.integers(0, 100_000), cents=st.integers(1, 3_000))
def test_more_wanted_is_never_cheaper_and_more_to_lend_never_dearer(now: Readings, more: int, cents: int) -> None:
    def at(**changed: int) -> int:
        return quote("H100", replace(now, **changed), Standing(cents, 0), DAY_S).cents or 0  # type: ignore[arg-type]

    here = at(standby_milli=(now.standby_milli or 0) + 1)
    assert at(standby_milli=(now.standby_milli or 0) + 1, waiting_milli=(now.waiting_milli or 0) + more) >= here
    assert at(standby_milli=(now.standby_milli or 0) + 1, paid_milli=(now.paid_milli or 0) + more) >= here
    assert at(standby_milli=(now.standby_milli or 0) + 1 + more) <= here


def test_demand_is_gpu_time_by_tenant_and_unpaid_words_count_little() -> None:
    uses = [TenantUse("a", 40_000, 90_000), TenantUse("b", 0, 50_000), TenantUse("c", 10_000, 0)]
    found = counted(uses, 100_000)
    assert (found.paid_milli, found.waiting_milli, found.tenants) == (50_000, 40_000 + 2_000, 3)
    assert found.cut_milli == 50_000 + 48_000


@given(
    uses=st.lists(st.builds(TenantUse, st.sampled_from("abc"), milli, milli), max_size=8), supply=milli,
    cut=st.integers(1, 5),
)  # fmt: skip
def test_demand_does_not_see_how_it_is_cut_into_asks(uses: list[TenantUse], supply: int, cut: int) -> None:
    split = [TenantUse(u.tenant, u.paid_milli * cut, u.waiting_milli * cut) for u in uses]
    pieces = [u for u in uses for _ in range(cut)]
    assert counted(pieces, supply) == counted(split, supply)
    assert counted(reversed(uses), supply) == counted(uses, supply)
