"""What a lease pays, what it gets back, what a lender earns: whole cents, one rounding, each against the splitter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.cluster.errors import ParamError
from scheduler.spot.billing import RUNNING, Bill, BillingRules, NoPrice, PriceFrom, Run, bill, guarantee_s
from scheduler.spot.money import shared_out
from scheduler.spot.rebate import Held, Loan, SleepRates, rebate, sleep_cost

HOUR = 3600
STEPS = (PriceFrom(0, 200), PriceFrom(10 * HOUR, 220), PriceFrom(20 * HOUR, 210))
FLOOR = 60


def run(hours: float, gpus: int = 8, start: float = 0, guaranteed: float = 0, **more: object) -> Run:
    return Run(
        gpu_milli=gpus * 1000, started_s=round(start * HOUR), ended_s=round((start + hours) * HOUR),
        guaranteed_s=round(guaranteed * HOUR), **more,  # type: ignore[arg-type]
    )  # fmt: skip


def billed(*runs: Run) -> Bill:
    return bill(runs, STEPS, FLOOR)


@pytest.mark.parametrize(
    ("runs", "charge", "credit"),
    [
        ((run(1),), 1600, 0),
        ((run(2, start=9),), 8 * 420, 0),  # each hour at its own price
        ((run(1 / 3600, gpus=1),), 1, 0),  # a second of one GPU: up to a cent
        ((run(0),), 0, 0),
        # a guarantee that was kept, and one that its tenant gave up: both whole, with the premium
        ((run(2, guaranteed=1),), 8 * 400 + 160, 0),
        ((run(0.25, guaranteed=1),), 1600 + 160, 0),
        ((run(0.25, guaranteed=1, cause="given_back"),), 1600 + 160, 0),
        ((run(0.25, guaranteed=1, cause="price"),), 1600 + 160, 0),
        ((run(0.25, guaranteed=1, cause="recall", own=True),), 1600 + 160, 0),
        ((run(0.25, guaranteed=1, cause=RUNNING),), 400 + 40, 0),
        # broken by others: the premium back, and the flat rebate of that time where nobody could make it for a purpose
        ((run(0.5, guaranteed=1, cause="recall"),), 800 + 80, 80 + 4 * 30),
        ((run(0.5, guaranteed=1, cause="hardware"),), 800 + 80, 80 + 4 * 30),
        ((run(0.5, guaranteed=1, cause="high_priority"),), 800 + 80, 80),
        ((run(0.5, guaranteed=1, cause="storm"),), 800 + 80, 80),
        ((run(2, guaranteed=1, cause="recall"),), 3200 + 160, 0),
        ((run(1, guaranteed=1, cause="recall", noticed_s=HOUR - 60),), 1600 + 160, 160 + 8 * 30),
        # two runs of one lease, rounded once
        ((run(1 / 3600, gpus=1), run(1 / 3600, gpus=1, start=1)), 1, 0),
    ],
)
def test_bills(runs: tuple[Run, ...], charge: int, credit: int) -> None:
    found = billed(*runs)
    assert (found.charge_cents, found.credit_cents, found.due_cents) == (charge, credit, charge - credit)
    assert found.base_cents + found.premium_cents == found.charge_cents
    assert sum(cents for _, cents in found.owed) == credit


def test_who_owes_the_credit_is_said() -> None:
    assert billed(run(0.5, guaranteed=1, cause="recall")).owed == (("fleet", 80), ("lender", 120))
    assert billed(run(0.5, guaranteed=1, cause="hardware")).owed == (("fleet", 200),)


def test_lines_say_each_stretch_at_its_price() -> None:
    found = billed(run(12, gpus=1, start=9, guaranteed=2))
    hours = [(line.from_s // HOUR, line.to_s // HOUR, line.cents_per_gpu_hour, line.percent) for line in found.lines]
    assert hours == [(9, 10, 200, 100), (10, 20, 220, 100), (20, 21, 210, 100), (9, 10, 200, 10), (10, 11, 220, 10)]


def test_without_a_price_there_is_no_bill() -> None:
    for steps in ((), (PriceFrom(HOUR, 200),), (PriceFrom(0, 200), PriceFrom(HOUR, None))):
        with pytest.raises(NoPrice):
            bill([run(2)], steps, FLOOR)


@pytest.mark.parametrize(
    ("limit", "steps", "expected"),
    [
        (None, STEPS, 4 * HOUR),
        (220, STEPS, 4 * HOUR),
        (219, STEPS, HOUR),  # the announced price would pass the limit
        (None, (PriceFrom(0, 200), PriceFrom(11 * HOUR, None)), 2 * HOUR),
    ],
)
def test_a_guarantee_ends_where_an_announced_price_passes_the_limit(
    limit: int | None, steps: tuple[PriceFrom, ...], expected: int
) -> None:
    assert guarantee_s(4 * HOUR, 9 * HOUR, limit, steps) == expected


def test_a_lender_earns_by_the_floor_and_forgoes_what_its_recalls_broke() -> None:
    found = rebate([Loan(gpu_milli=8000, from_s=0, to_s=HOUR), Loan(gpu_milli=1000, from_s=0, to_s=HOUR)], FLOOR)
    assert (found.earned_cents, found.forgone_cents, found.due_cents) == (9 * 30, 0, 270)
    broken = rebate([Loan(gpu_milli=1000, from_s=0, to_s=HOUR, credit_cents=500)], FLOOR)
    assert (broken.earned_cents, broken.forgone_cents, broken.due_cents) == (30, 30, 0)
    assert rebate([], FLOOR).due_cents == 0


def test_what_sleep_costs_is_unknown_where_what_is_held_is() -> None:
    held = Held(host_memory_mib=512 * 1024, device_memory_mib=None, addresses=2, seconds=10 * HOUR)
    found = sleep_cost(held)
    assert (found.host_memory_cents, found.device_memory_cents, found.address_cents) == (1536, None, 10)
    assert found.total_cents is None
    rates = SleepRates(device_memory_milli_cents_per_gib=1)
    known = Held(host_memory_mib=0, device_memory_mib=1, addresses=0, seconds=1)
    assert sleep_cost(known, rates).total_cents == 1  # any use costs a cent


def test_rules_and_runs_check_themselves() -> None:
    for wrong in ({"guarantee_percent": 101}, {"rebate_percent": -1}):
        with pytest.raises(ParamError, match=next(iter(wrong))):
            BillingRules(**wrong)
    with pytest.raises(ParamError, match="ended_s"):
        Run(gpu_milli=1, started_s=2, ended_s=1)
    with pytest.raises(ParamError, match="noticed_s"):
        Run(gpu_milli=1, started_s=2, ended_s=3, noticed_s=4)


causes = st.sampled_from(("", RUNNING, "given_back", "price", "recall", "hardware", "high_priority", "storm"))
some_runs = st.lists(
    st.builds(
        lambda gpus, start, length, guaranteed, cause, own: Run(
            gpu_milli=gpus, started_s=start, ended_s=start + length, guaranteed_s=guaranteed, cause=cause, own=own
        ),
        st.integers(1, 64_000), st.integers(0, 90_000), st.integers(0, 50_000), st.integers(0, 20_000), causes,
        st.booleans(),
    ),
    max_size=5,
)  # fmt: skip


@given(runs=some_runs, floor=st.integers(1, 500))
def test_credits_never_exceed_what_was_paid(runs: list[Run], floor: int) -> None:
    found = bill(runs, STEPS, floor)
    assert 0 <= found.credit_cents <= found.charge_cents and found.premium_cents >= 0
    assert found.charge_cents <= sum(bill([one], STEPS, floor).charge_cents for one in runs)
    assert found.credit_cents >= sum(bill([one], STEPS, floor).credit_cents for one in runs)


@given(parts=st.lists(st.floats(-50, 50), min_size=1, max_size=9))
def test_what_is_shared_out_adds_up(parts: list[float]) -> None:
    total = round(sum(parts))
    found = shared_out(total, [*parts[:-1], total - sum(parts[:-1])])
    assert sum(found) == total
    assert all(abs(a - b) <= 1 for a, b in zip(found[:-1], parts[:-1], strict=True))
