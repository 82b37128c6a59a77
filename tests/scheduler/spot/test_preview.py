"""The last week at another price: who is out, what is held and reclaimed, what it pays."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.cluster.errors import ParamError
from scheduler.spot.preview import Preview, PreviewRules, preview
from scheduler.spot.rerun import Stretch, rerun
from scheduler.spot.week import HOUR_S, PastAsk, Week


def ask(key: str, gpus: int, at_hour: float, hours: float, tenant: str = "t1", **more: int | None) -> PastAsk:
    return PastAsk(
        key=key, tenant=tenant, gpu_milli=gpus * 1000, asked_s=round(at_hour * HOUR_S), work_s=round(hours * HOUR_S),
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


def week(*asks: PastAsk, lendable: tuple[int | None, ...] = (8, 8, 8, 8), held: tuple[int | None, ...] = ()) -> Week:
    return Week(
        gpu_model="H100", from_s=0, lendable_milli=tuple(None if n is None else n * 1000 for n in lendable),
        asks=asks, held_milli=tuple(None if n is None else n * 1000 for n in held),
    )  # fmt: skip


def ran(made: Week) -> list[tuple[str, float, float, bool]]:
    found = rerun(made, list(made.asks), [one.work_s for one in made.asks])
    return [(made.asks[s.ask].key, s.started_s / HOUR_S, s.ended_s / HOUR_S, s.reclaimed) for s in found.stretches]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (week(ask("a", 8, 0, 1), ask("b", 8, 0.5, 1)), [("a", 0, 1, False), ("b", 1, 2, False)]),
        # a smaller one passes, a gang does not start in part
        (week(ask("a", 6, 0, 3), ask("b", 4, 1, 1), ask("c", 2, 2, 1)),
         [("a", 0, 3, False), ("c", 2, 3, False), ("b", 3, 4, False)]),
        # what is asked later, or past the end, does not run; what runs on is cut at the end
        (week(ask("a", 8, 3, 9), ask("b", 1, 4, 1)), [("a", 3, 4, False)]),
        # the least lost work is reclaimed, and waits in its old place with what no checkpoint holds
        (week(ask("a", 4, 0, 3, checkpoint_s=3600), ask("b", 4, 0.5, 1.5, checkpoint_s=HOUR_S * 9),
              lendable=(8, 8, 4, 4)),
         [("b", 0.5, 2, False), ("a", 0, 3, False)]),
        (week(ask("a", 4, 0, 3, checkpoint_s=2400), ask("b", 4, 0.5, 4, checkpoint_s=600), lendable=(8, 4, 8, 8)),
         [("b", 0.5, 1, True), ("a", 0, 3, False), ("b", 2, 4, False)]),
        # inside a guarantee last
        (week(ask("a", 4, 0, 3, checkpoint_s=1), ask("b", 4, 0.5, 2, checkpoint_s=1, guaranteed_s=HOUR_S),
              lendable=(8, 4, 4, 4)),
         [("a", 0, 1, True), ("b", 0.5, 2.5, False), ("a", 2.5, 4, False)]),
        # an hour that nobody saw lends nothing
        (week(ask("a", 4, 0, 1), lendable=(None, 8, 8, 8)), [("a", 1, 2, False)]),
    ],
)  # fmt: skip
def test_worlds(made: Week, expected: list[tuple[str, float, float, bool]]) -> None:
    assert ran(made) == expected


def test_who_has_a_limit_below_the_price_is_out_and_named() -> None:
    made = week(
        ask("a", 4, 0, 4, "cheap", limit_cents=150), ask("b", 4, 0, 4, "rich", limit_cents=400),
        ask("c", 4, 1, 1, "mixed", limit_cents=150), ask("d", 4, 1, 1, "mixed"), held=(8, 8, 4, None),
    )  # fmt: skip
    found = preview(made, 150, 200, 69, alternatives=[500], rules=PreviewRules(elasticity_percents=(0,)))
    assert [one.tenants_out for one in found.outcomes] == [(), ("cheap",), ("cheap", "rich")]
    assert [one.asks_out for one in found.outcomes] == [0, 2, 3]
    now, then = found.of(150, 0), found.of(200, 0)
    assert (now.occupancy, then.occupancy) == (1, 20 / 32)
    assert (now.revenue_cents, then.revenue_cents) == (32 * 150, 20 * 200)
    assert then.rebate_cents == 20 * 69 // 2
    assert found.seen_occupancy == pytest.approx(20 / 24)


def test_elasticity_is_shown_low_middle_and_high_and_said_to_be_assumed() -> None:
    made = week(ask("a", 4, 0, 2), lendable=(8,) * 10)
    found = preview(made, 100, 200, 10)
    held = [found.of(200, percent).held_gpu_hours for percent in (20, 60, 120)]
    assert held == pytest.approx([8 * 2**-0.2, 8 * 2**-0.6, 8 * 2**-1.2], rel=1e-3)
    assert [found.of(100, percent).held_gpu_hours for percent in (20, 60, 120)] == [8, 8, 8]
    assert "assumed" in found.assumptions[0] and "Nobody has measured it here" in found.assumptions[0]
    assert found.assumptions[2] == "What can be lent is as it was in 10 of 10 hours."


def test_without_a_price_in_force_hours_are_as_asked_and_it_says_so() -> None:
    found = preview(week(ask("a", 4, 0, 2), lendable=(None, 8, 8, 8)), None, 200, 10)
    assert {one.held_gpu_hours for one in found.outcomes} == {8}
    assert found.assumptions[-1] == "No price was in force: hours are as asked at the proposed one."
    assert found.assumptions[2] == "What can be lent is as it was in 3 of 4 hours; the others lend nothing."
    assert preview(week(lendable=(0,)), 100, 100, 10).outcomes[0].occupancy is None


def test_reclaims_lose_work_and_guarantees_are_credited() -> None:
    made = week(ask("a", 8, 0, 3, checkpoint_s=2000, guaranteed_s=2 * HOUR_S), lendable=(8, 0, 8, 8))
    found = preview(made, 100, 100, 20).of(100, 60)
    assert (found.reclaims, found.lost_gpu_hours) == (1, pytest.approx(8 * 1600 / HOUR_S))
    # 8 GPU-hours, then 16 to the end; the premium only of the unbroken guarantee, and a flat credit of the broken one
    assert found.revenue_cents == 24 * 100 + 16 * 10 - 8 * 10
    assert found.unserved_gpu_hours == pytest.approx(8 * 1600 / HOUR_S)


@pytest.mark.parametrize("percents", [(), (2, 1), (1, 1), (-1,)])
def test_rules_check_themselves(percents: tuple[int, ...]) -> None:
    with pytest.raises(ParamError, match="elasticity_percents"):
        PreviewRules(elasticity_percents=percents)


def test_records_check_themselves() -> None:
    with pytest.raises(ParamError, match="held_milli"):
        week(lendable=(8, 8), held=(1,))
    with pytest.raises(ParamError, match="gpu_milli"):
        ask("a", 0, 0, 1)


asks = st.lists(
    st.builds(
        ask, st.sampled_from("abcdef"), st.integers(1, 9), st.integers(-1, 11), st.integers(1, 5),
        st.sampled_from(("t1", "t2", "t3")), limit_cents=st.none() | st.integers(50, 400),
        checkpoint_s=st.none() | st.integers(60, 9_000), guaranteed_s=st.sampled_from((0, 1_800)),
    ),
    max_size=12, unique_by=lambda one: one.key,
)  # fmt: skip
hours = st.lists(st.none() | st.integers(0, 12), min_size=6, max_size=12).map(tuple)


def at(made: Week, *cents: int) -> Preview:
    return preview(made, 100, 100, 20, alternatives=cents, rules=PreviewRules(elasticity_percents=(0, 100)))


@given(found=asks, lendable=hours)
def test_laws_of_a_rerun(found: list[PastAsk], lendable: tuple[int | None, ...]) -> None:
    made = week(*found, lendable=lendable)
    told = rerun(made, found, [one.work_s for one in found])
    for hour, gpus in enumerate(lendable):
        at_s = hour * HOUR_S
        held = [s for s in told.stretches if s.started_s <= at_s < s.ended_s]
        assert sum(found[s.ask].gpu_milli for s in held) <= (gpus or 0) * 1000
    for i, one in enumerate(found):
        own: list[Stretch] = sorted((s for s in told.stretches if s.ask == i), key=lambda s: s.started_s)
        assert all(a.ended_s <= b.started_s for a, b in pairwise(own))
        assert all(s.reclaimed for s in own[:-1])
        assert all(s.started_s >= max(0, one.asked_s) for s in own)
    served = told.held_milli_s - told.lost_milli_s
    wanted = sum(one.gpu_milli * one.work_s for one in found if one.asked_s < made.to_s)
    assert served + told.unserved_milli_s == wanted


@given(found=asks, lendable=hours)
def test_a_dearer_price_only_sends_tenants_away(found: list[PastAsk], lendable: tuple[int | None, ...]) -> None:
    told = at(week(*found, lendable=lendable), 100, 200, 300)
    for percent in (0, 100):
        low, high = told.of(100, percent), told.of(300, percent)
        assert low.asks_out <= high.asks_out and set(low.tenants_out) <= set(high.tenants_out)
        assert high.held_gpu_hours <= high.lendable_gpu_hours
    assert told == at(week(*reversed(found), lendable=lendable), 300, 200, 100)
