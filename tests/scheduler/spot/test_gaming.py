"""Gaming must not pay: what each kind of strategy wins over the honest one, under the rules of price and bill.

A market of two weeks: each midnight the price is reviewed on the last seven days as ``quote`` does it, and everything
is billed by ``bill`` and ``rebate``.  ``gain`` = (worth of hours - bill + rebate) of the strategy less the same of the
honest one, in whole cents; it must not be above 0.
"""

import itertools
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.placement.victims import claim_of, find_victims
from scheduler.spot.billing import BillingRules, PriceFrom, Run, bill
from scheduler.spot.demand import TenantUse, counted
from scheduler.spot.pricing import Standing, price_range, quote
from scheduler.spot.readings import DAY_S, PriceRules, Readings
from scheduler.spot.rebate import Loan, rebate
from tests.builders.worlds import World, world

HOUR = 3600
DAYS, WEEK = 14, 7
SUPPLY_MILLI = 1_000_000
ON_DEMAND = 688
RULES = PriceRules()
FLOOR = price_range(ON_DEMAND, RULES)[0]
ME = "me"


@dataclass(frozen=True, slots=True)
class Day:
    """Means of one day, thousandths of GPUs: what I pay for and what I say that I wait for, and what others do."""

    mine: int = 100_000
    words: int = 0
    others: int = 600_000
    others_wait: int = 50_000
    lent: int = 0  # of my own, asleep; part of the pool whether I lend it or not


def prices(days: list[Day], first: int = 200) -> list[int]:
    """The price of each day; the review at its beginning has read the seven days before it."""
    found, standing = [first], Standing(first, 0)
    past = [days[0]] * WEEK
    for number, day in enumerate(days[:-1], 1):
        past = [*past[1:], day]
        found.append(quote("H100", _read(past), standing, number * DAY_S).cents or 0)
        if found[-1] != standing.cents:
            standing = Standing(found[-1], number * DAY_S, _read(past))
    return found


def _read(past: list[Day]) -> Readings:
    uses = [
        TenantUse(ME, sum(day.mine for day in past) // WEEK, sum(day.words for day in past) // WEEK),
        TenantUse("others", sum(day.others for day in past) // WEEK, sum(day.others_wait for day in past) // WEEK),
    ]
    wanted = counted(uses, SUPPLY_MILLI)
    return Readings(
        on_demand_cents=ON_DEMAND, standby_milli=SUPPLY_MILLI // 2, idle_milli=SUPPLY_MILLI // 2,
        paid_milli=wanted.paid_milli, waiting_milli=wanted.waiting_milli,
    )  # fmt: skip


def purse(days: list[Day], worth_cents: int) -> int:
    """What the two weeks leave me: worth of my hours - what they cost + what I earn by lending."""
    path = prices(days)
    left = 0
    for number, (day, cents) in enumerate(zip(days, path, strict=True)):
        start = number * DAY_S
        schedule = [PriceFrom(start, cents)]
        paid = bill([Run(gpu_milli=day.mine, started_s=start, ended_s=start + DAY_S)], schedule, FLOOR).due_cents
        earned = rebate([Loan(gpu_milli=day.lent, from_s=start, to_s=start + DAY_S)], FLOOR).due_cents
        left += day.mine * 24 * worth_cents // 1000 - paid + earned
    return left


def gain(strategy: list[Day], honest: list[Day], worth_cents: int = 500) -> int:
    return purse(strategy, worth_cents) - purse(honest, worth_cents)


steps = st.lists(st.integers(69, 688), min_size=1, max_size=6).map(
    lambda cents: [PriceFrom(number * DAY_S, one) for number, one in enumerate(cents)]
)
gpus = st.integers(1, 200_000)
instants = st.integers(0, 5 * DAY_S)
days, hours = st.integers(1, DAY_S), st.integers(0, HOUR)
few = settings(max_examples=40)  # each runs four weeks of reviews


# Buying and selling round a change


@given(schedule=steps, milli=gpus, ends=st.tuples(instants, instants), cuts=st.lists(instants, max_size=6))
def test_to_end_and_begin_again_round_a_change(
    schedule: list[PriceFrom], milli: int, ends: tuple[int, int], cuts: list[int]
) -> None:
    """The same GPU time in pieces is never cheaper, wherever it is cut: every second has its own price."""
    start, end = sorted(ends)
    inside = sorted({start, end, *(cut for cut in cuts if start < cut < end)})
    pieces = [Run(gpu_milli=milli, started_s=a, ended_s=b) for a, b in itertools.pairwise(inside)]
    whole = bill([Run(gpu_milli=milli, started_s=start, ended_s=end)], schedule, FLOOR).due_cents
    assert whole <= sum(bill([one], schedule, FLOOR).due_cents for one in pieces)


@given(schedule=steps, milli=gpus, needed=instants, early=st.integers(0, DAY_S), length=st.integers(0, DAY_S))
def test_to_start_before_a_rise(schedule: list[PriceFrom], milli: int, needed: int, early: int, length: int) -> None:
    """Hours that are held before they are needed are paid, and the needed ones cost what they would have cost."""
    start = max(0, needed - early)
    honest = bill([Run(gpu_milli=milli, started_s=needed, ended_s=needed + length)], schedule, FLOOR)
    held = bill([Run(gpu_milli=milli, started_s=start, ended_s=needed + length)], schedule, FLOOR)
    assert held.due_cents >= honest.due_cents


@given(schedule=steps, milli=gpus, ends=st.tuples(instants, instants), lent=st.tuples(instants, instants))
def test_to_lend_and_borrow_in_a_circle(
    schedule: list[PriceFrom], milli: int, ends: tuple[int, int], lent: tuple[int, int]
) -> None:
    """So much lent at any time and borrowed at any other always loses: a rebate knows no price, and is below all."""
    (a, b), (c, d) = sorted(ends), sorted(lent)
    length = min(b - a, d - c)
    bought = bill([Run(gpu_milli=milli, started_s=a, ended_s=a + length)], schedule, FLOOR).due_cents
    sold = rebate([Loan(gpu_milli=milli, from_s=c, to_s=c + length)], FLOOR).due_cents
    assert sold <= bought
    assert not length or sold < bought


# Splitting a gang


@given(
    schedule=steps, milli=gpus, parts=st.integers(1, 16), length=st.integers(1, DAY_S), guaranteed=st.integers(0, HOUR)
)
@pytest.mark.parametrize("cause", ["", "recall", "hardware", "high_priority"])
def test_to_split_a_gang_into_many_asks(
    cause: str, schedule: list[PriceFrom], milli: int, parts: int, length: int, guaranteed: int
) -> None:
    def run(size: int) -> Run:
        return Run(gpu_milli=size, started_s=0, ended_s=length, guaranteed_s=guaranteed, cause=cause)

    whole = bill([run(milli * parts)], schedule, FLOOR)
    pieces = [bill([run(milli)], schedule, FLOOR) for _ in range(parts)]
    assert sum(one.due_cents for one in pieces) >= whole.due_cents
    assert sum(one.credit_cents for one in pieces) <= whole.credit_cents
    loans = [Loan(gpu_milli=milli, from_s=0, to_s=length)]
    assert parts * rebate(loans, FLOOR).due_cents <= rebate(loans * parts, FLOOR).due_cents
    asks = [TenantUse(ME, 0, milli)] * parts
    assert counted(asks, SUPPLY_MILLI) == counted([TenantUse(ME, 0, milli * parts)], SUPPLY_MILLI)


# Hiding checkpoints


def preempted(checkpoint_s: int | None, age_s: int) -> str:
    """Whom a high-priority pod would stop: my job, as it tells or hides its checkpoint, or one like it that tells."""
    made: World = world(now_s=100_000)
    for name, tenant, told in (("mine", ME, checkpoint_s), ("theirs", "t2", 100_000 - age_s)):
        node = f"n-{name}"
        made = made.node(node).pod(
            name, node, gpus=8, tier="LP", tenant=tenant, started_s=10_000, checkpoint_s=told,
            checkpoint_interval_s=600,
        )  # fmt: skip
    snapshot = made.pod("hp", gpus=8, tenant="t9", priority=100).snapshot()
    claim = claim_of(snapshot, "jobs/hp")
    assert claim is not None
    found = find_victims(snapshot, claim)
    return snapshot.pod_key(found.victims[0].pod)


@pytest.mark.parametrize("age_s", [0, 60, 299, 600, 1_799])
def test_to_hide_checkpoints(age_s: int) -> None:
    """Beside a job that tells, whoever is silent is never spared for it; and nothing in a bill asks for checkpoints."""
    assert preempted(None, age_s) == "jobs/mine"


# Words that cost nothing


@few
@given(words=st.lists(st.integers(0, 3_000_000), min_size=DAYS, max_size=DAYS), lent=st.integers(0, 300_000))
def test_to_ask_and_withdraw(words: list[int], lent: int) -> None:
    """Asks that are never meant only make my own hours dearer; and what I lend earns no more for it."""
    honest = [Day(lent=lent)] * DAYS
    strategy = [replace(day, words=said) for day, said in zip(honest, words, strict=True)]
    assert gain(strategy, honest) <= 0
    assert gain([replace(day, mine=0) for day in strategy], [replace(day, mine=0) for day in honest]) <= 0


@given(words=st.integers(0, 10**9))
def test_words_move_a_price_no_further_than_what_is_paid_for(words: int) -> None:
    loud, quiet = counted([TenantUse(ME, 100_000, words)], SUPPLY_MILLI), counted([TenantUse(ME, 100_000, 0)], 1)
    assert loud.waiting_milli <= 100_000 and loud.paid_milli == quiet.paid_milli


# Limits


@few
@given(skipped=st.sets(st.integers(0, DAYS - 1)), others=st.integers(400_000, 800_000))
def test_to_set_a_limit_below_the_price_and_wait_for_a_fall(skipped: set[int], others: int) -> None:
    """With a limit below the price nothing runs that day.  What is worth a quarter more than it costs loses by that."""
    honest = [Day(others=others)] * DAYS
    strategy = [replace(day, mine=0) if number in skipped else day for number, day in enumerate(honest)]
    worth = max(prices(honest)) * 5 // 4
    assert gain(strategy, honest, worth) <= 0


@few
@given(skipped=st.sets(st.integers(0, DAYS - 1)), others=st.integers(400_000, 800_000))
def test_what_holding_back_real_demand_can_win_at_most(skipped: set[int], others: int) -> None:
    """Who runs nothing for a day makes the others cheaper: that is a market, and no rule undoes it; but it is little.

    What the hours that are left save is at most exponent x own share of what is wanted, of all that is paid.
    """
    honest = [Day(others=others)] * DAYS
    strategy = [replace(day, mine=0) if number in skipped else day for number, day in enumerate(honest)]
    path, lower = prices(honest), prices(strategy)
    saved = sum(a - b for number, (a, b) in enumerate(zip(path, lower, strict=True)) if number not in skipped)
    share = 100_000 / (100_000 + others)
    assert saved <= RULES.tightness_percent / 100 * share * sum(path)


@given(limit=st.none() | st.integers(201, 10_000))
def test_a_limit_above_the_price_changes_nothing(limit: int | None) -> None:
    """It is in no reading: what is paid is the price, not the limit."""
    assert "limit" not in " ".join(Readings.__dataclass_fields__)
    found = bill([Run(gpu_milli=1000, started_s=0, ended_s=HOUR)], [PriceFrom(0, 200)], FLOOR)
    assert found.due_cents == 200 < (limit or 201)


# Guarantees and credits, also by two who work together


@given(schedule=steps, milli=gpus, length=st.integers(1, 4 * HOUR), guaranteed=st.integers(1, 4 * HOUR))
def test_to_have_a_friend_recall_early(schedule: list[PriceFrom], milli: int, length: int, guaranteed: int) -> None:
    """A lender that wakes its sleeper inside a guarantee gives the borrower what it forgoes: together nothing."""

    def together(run: Run) -> int:
        paid = bill([run], schedule, FLOOR)
        owes = dict(paid.owed).get("lender", 0)
        loan = Loan(gpu_milli=milli, from_s=0, to_s=run.paid_until_s, credit_cents=owes)
        return rebate([loan], FLOOR).due_cents - paid.due_cents

    honest = Run(gpu_milli=milli, started_s=0, ended_s=length)
    recalled = Run(gpu_milli=milli, started_s=0, ended_s=length, guaranteed_s=guaranteed, cause="recall")
    assert together(recalled) - together(honest) <= 0


@given(schedule=steps, milli=gpus, length=st.integers(1, 4 * HOUR), guaranteed=st.integers(1, 4 * HOUR))
@pytest.mark.parametrize("cause", ["high_priority", "storm", "recall"])
def test_to_be_preempted_on_purpose(
    cause: str, schedule: list[PriceFrom], milli: int, length: int, guaranteed: int
) -> None:
    """A friend's pod, or one's own recall, gives back the premium at most: the hours stay paid."""
    own = cause == "recall"
    honest = bill([Run(gpu_milli=milli, started_s=0, ended_s=length)], schedule, FLOOR)
    played = Run(gpu_milli=milli, started_s=0, ended_s=length, guaranteed_s=guaranteed, cause=cause, own=own)
    assert bill([played], schedule, FLOOR).due_cents >= honest.due_cents


@given(schedule=steps, milli=gpus, pieces=st.integers(1, 8), guaranteed=st.integers(1, HOUR))
def test_to_be_guaranteed_all_the_time(schedule: list[PriceFrom], milli: int, pieces: int, guaranteed: int) -> None:
    """One short guarantee after the other pays the premium of all of it: it is bought, not had."""
    runs = [
        Run(gpu_milli=milli, started_s=i * guaranteed, ended_s=(i + 1) * guaranteed, guaranteed_s=guaranteed)
        for i in range(pieces)
    ]
    whole = Run(gpu_milli=milli, started_s=0, ended_s=pieces * guaranteed, guaranteed_s=pieces * guaranteed)
    assert sum(bill([one], schedule, FLOOR).due_cents for one in runs) >= bill([whole], schedule, FLOOR).due_cents


def test_a_rebate_is_below_every_price() -> None:
    for on_demand in range(1, 2_000):
        floor = price_range(on_demand, RULES)[0]
        assert floor * BillingRules().rebate_percent < floor * 100
