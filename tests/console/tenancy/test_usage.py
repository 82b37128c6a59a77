"""GPU time by tenant: exact however readings fall, gaps left out, charged by what is known of prices."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.inventory.models import Source
from console.inventory.services import remove_source
from console.tenancy import prices, selectors, services
from console.tenancy.choices import Role
from console.tenancy.entries import Given
from console.tenancy.models import TenantHour, UsageFeed, UsageSpan
from console.tenancy.periods import BadPeriodError, asked_period, period_of
from console.tenancy.selectors.use import MEASURES, known_of, sums_of
from console.tenancy.services import UsageRow
from console.tenancy.services.usage import fold_days
from tests.builders.books import cohort_entry, edited, tenant_entry
from tests.builders.fleets import observed
from tests.builders.people import operator, person, tenant
from tests.builders.worlds import world

pytestmark = pytest.mark.django_db
START = datetime(2026, 11, 9, 10, 40, tzinfo=UTC)
MONTH = period_of("month", START)
HOUR_US = 3_600_000_000


def told(at: datetime, *rows: UsageRow, since: datetime | None = None, source: int = 1) -> None:
    services.record_usage(source, f"s{source}", rows, at, stood=None if since is None else (since, at))


def _row(tenant: str = "d1", hp: int = 0, lp: int = 0, pending: int = 0, model: str = "H20") -> UsageRow:
    return UsageRow("c1", tenant, model, hp, lp, pending)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(
    steps=st.lists(
        st.tuples(st.integers(1, 9_000_000), st.integers(0, 9_000), st.integers(0, 900)), min_size=2, max_size=6
    )
)
def test_gpu_time_is_exact_whatever_the_times_between_readings(steps: list[tuple[int, int, int]]) -> None:
    """Steps of (milliseconds until the next reading, HP, LP): sums are those of arithmetic, hour by hour and in all."""
    for model in (UsageFeed, UsageSpan, TenantHour):
        model.objects.all().delete()
    at, times = START, []
    for milliseconds, _, _ in steps:
        times.append(at)
        at += timedelta(milliseconds=milliseconds)
    for index, ((_, hp, lp), when) in enumerate(zip(steps, times, strict=True)):
        told(when, _row(hp=hp, lp=lp), since=times[index - 1] if index else None)
    stood = [((b - a) // timedelta(milliseconds=1), step) for (a, b), step in zip(pairwise(times), steps, strict=False)]
    found = sums_of(period_of("rolling-7", START)).get(("c1", "d1", "H20"), [0] * len(MEASURES))
    assert found[:2] == [sum(ms * step[1] for ms, step in stood), sum(ms * step[2] for ms, step in stood)]
    (known,) = known_of(MONTH, times[-1])
    assert round(known.covered_s * 1000) == sum(ms for ms, _ in stood)
    assert all(row.hp_us <= 9_000 * 3_600_000 for row in TenantHour.objects.all())


def test_what_is_not_known_is_a_gap_and_in_no_sum() -> None:
    told(START, _row(hp=1000))
    services.record_usage(
        1, "s1", [_row(hp=1000)], START + timedelta(hours=2), stood=(START, START + timedelta(minutes=5))
    )
    told(START + timedelta(hours=2), _row(hp=9000), since=START)  # the same reading again
    told(START + timedelta(hours=1), _row(hp=9000), since=START)  # an older one, late
    assert sums_of(MONTH)["c1", "d1", "H20"][0] == 300_000 * 1000
    (known,) = known_of(MONTH, START)
    assert (known.covered_s, known.gap_s) == (300, (START - MONTH.start).total_seconds() - 300)


def test_days_put_together_say_what_their_hours_said() -> None:
    for hour in range(30):
        told(
            START + timedelta(hours=hour),
            _row(hp=1000 + hour),
            since=START + timedelta(hours=hour - 1) if hour else None,
        )
    before, known = sums_of(MONTH), known_of(MONTH, START)
    fold_days(1, START + timedelta(days=1))
    assert (sums_of(MONTH), known_of(MONTH, START)) == (before, known)
    assert sorted(TenantHour.objects.values_list("hours", flat=True))[-1] == 24


def test_borrowed_and_lent_are_summed_by_the_book_as_it_was() -> None:
    edited(cohort_entry("c"), tenant_entry("d1", cohort="c", H20=2), tenant_entry("d2", cohort="c", H20=4))
    told(START, _row(hp=5000), _row("d2", hp=1000))
    told(START + timedelta(hours=1), _row(hp=1000), since=START)
    edited(tenant_entry("d1", H20=9))
    sums = sums_of(MONTH)
    lent = MEASURES.index("lent")
    assert sums["c1", "d1", "H20"][MEASURES.index("borrowed")] == 3 * HOUR_US
    assert sums["c1", "d2", "H20"][lent] == 3 * HOUR_US


def test_a_reading_hands_over_what_tenants_hold_and_what_the_cluster_says_itself() -> None:
    built = (
        world().node("n1", gpu_model="H20").pod("a", "n1", 2, tenant="d1").pod("b", "n1", 1, tenant="d1", tier="LP")
        .pod("c", "n1", 1, tenant="d2", standby=True, gpu_milli=500).pod("w", None, 4, tenant="d1", gpu_model="H20")
        .pod("any", None, 1, tenant="d2").pod("done", "n1", 8, tenant="d1", phase="Succeeded")
        .tenant("d1", quotas=[{"gpu_model": "H20", "nominal": 3}]).tenant("d2")
    )  # fmt: skip
    observed(built)
    feed = UsageFeed.objects.get()
    assert feed.rows == [
        ["default", "d1", "H20", 2000, 1000, 4000],
        ["default", "d2", "", 0, 0, 1000],
        ["default", "d2", "H20", 500, 0, 0],
    ]
    (theirs,) = selectors.theirs_of(operator())
    assert (theirs.name, theirs.record["quotas"][0]["nominal"]) == ("d1", 3)
    edited(tenant_entry("d1", H20=1), tenant_entry("d2", H20=2))
    records = {record["name"]: record for record in selectors.tenant_records(feed.theirs)}
    assert [records[name]["quotas"][0]["nominal"] for name in ("d1", "d2")] == [3, 2]


def test_a_source_that_goes_holds_nothing_and_leaves_what_was_used() -> None:
    observed(world().node("n1", gpu_model="H20").pod("a", "n1", 2, tenant="d1"))
    source = UsageFeed.objects.get().source
    told(START + timedelta(days=9999), _row(hp=1000), source=source)
    told(START + timedelta(days=9999, hours=2), _row(hp=1000), since=START + timedelta(days=9999), source=source)
    remove_source(operator(), Source.objects.get(), "old")
    assert selectors.tenant_tree(operator()).rows == []
    assert sum(row.hp_us for row in TenantHour.objects.all()) == 2 * HOUR_US


def test_chargeback_adds_up_and_a_missing_price_is_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    edited(Given("price", "H20", {"hp_cents": 333}), tenant_entry("d1"), tenant_entry("t1", "d1"))
    rows = [_row("t1", hp=1001, lp=500), _row("d1", hp=7), _row("d2", hp=1000, model="XPU-Z"), _row("", hp=1000)]
    told(START, *rows)
    told(START + timedelta(minutes=90), since=START)
    bill = selectors.bill(operator(), MONTH, now=START)
    assert [account.tenant for account in bill.accounts] == ["d1", "d2", "t1", ""]
    assert bill.whole.milli_hours == sum(line.milli_hours for line in bill.lines)
    assert bill.whole.cents == sum(line.cents for line in bill.lines if line.cents is not None)
    by_place = {(line.tenant, line.tier): line for line in bill.lines}
    assert (by_place["t1", "hp"].milli_hours, by_place["t1", "hp"].cents) == (1502, 500)
    assert (by_place["t1", "lp"].cents, by_place["t1", "lp"].price_from) == (None, "no price")
    assert bill.whole.unpriced_milli_hours == 750 + 1500
    assert [a.tenant for a in selectors.bill(operator(), MONTH, "d1").accounts] == ["d1", "t1"]
    monkeypatch.setattr(
        prices, "_registered", {"policies": lambda clusters: lambda c, m, t: 100 if t == "t1" else None}
    )
    lines = {(one.tenant, one.tier): one.price_from for one in selectors.bill(operator(), MONTH).lines}
    assert (lines["t1", "lp"], lines["d1", "hp"]) == ("policies", "the book")


def test_published_prices_are_found_by_the_words_of_a_model() -> None:
    named = ("NVIDIA-H100-SXM5-80GB", "NVIDIA-A100-SXM4-80GB", "A100-40GB", "A100", "H20", "")
    assert [prices.anchor(name).cents for name in named] == [688, 460, 275, None, None, None]


def test_a_budget_warns_stops_and_says_where_it_leads() -> None:
    edited(tenant_entry("d1", budgets={"month": {"gpu_hours": 10}}), tenant_entry("t1", "d1"))
    told(MONTH.start, _row("t1", hp=1000))
    seen = []
    for hours in (5, 8, 10):
        at = MONTH.start + timedelta(hours=hours)
        told(at, _row("t1", hp=1000), since=MONTH.start)
        (burn,) = selectors.burns(operator(), now=at)
        seen.append((burn.state, round(burn.used, 3), bool(burn.stop)))
    assert seen == [("ok", 5, False), ("warning", 8, False), ("stopped", 10, True)]
    early = MONTH.start + timedelta(hours=5)
    assert burn.forecast == pytest.approx(720)  # one GPU to the end of a month of 30 days
    assert "10 of 10 GPU-hours used" in selectors.stops(now=early)["d1"]
    assert selectors.burns(tenant("d2")) == []


def test_a_line_leads_to_the_day_on_which_a_budget_ends() -> None:
    edited(tenant_entry("d1", budgets={"rolling-2": {"usd": 100}, "month": {"gpu_hours": 100}}))
    (first, second) = selectors.burns(operator(), now=START)
    assert (first.forecast, second.forecast, first.state) == (None, None, "ok")
    told(START - timedelta(hours=10), _row(hp=1000))
    told(START, _row(hp=1000), since=START - timedelta(hours=10))
    month, rolling = sorted(selectors.burns(operator(), now=START), key=lambda one: one.unit)
    assert month.exhausted_at == START + timedelta(hours=90)
    assert (rolling.partly, rolling.used, rolling.exhausted_at) == (True, 0, None)
    edited(tenant_entry("d1", budgets={"month": {"gpu_hours": 0}}))
    assert selectors.burns(operator(), now=START)[0].state == "stopped"


def test_periods_are_whole_days_of_utc() -> None:
    now = datetime(2026, 1, 31, 23, 59, tzinfo=UTC)
    names = ("month", "last-month", "quarter", "rolling-1")
    starts = [period_of(name, now).start.date().isoformat() for name in names]
    assert starts == ["2026-01-01", "2025-12-01", "2026-01-01", "2026-01-31"]
    assert asked_period("", "2026-01-30", "2026-01-31", now).seconds == 2 * 86_400
    for name, since, until, field in (
        ("year", "", "", "period"), ("", "2026-01-01", "", "to"), ("", "2026-01-02", "2026-01-01", "to"),
        ("", "soon", "2026-01-01", "from"), ("", "2024-01-01", "2026-01-01", "to"), ("rolling-999", "", "", "period"),
    ):  # fmt: skip
        with pytest.raises(BadPeriodError) as refused:
            asked_period(name, since, until, now)
        assert refused.value.field == field


def test_what_one_borrows_others_lend_inside_the_department_first() -> None:
    edited(
        cohort_entry("top", H20=1), cohort_entry("left", "top"),
        tenant_entry("d1", cohort="left", H20=(10, 3, None)),
        tenant_entry("a", "d1", H20=4), tenant_entry("b", "d1", H20=4),
        tenant_entry("d2", cohort="top", H20=(8, None, 2)), tenant_entry("d3", H20=1), tenant_entry("d4", cap_gpus=1),
    )  # fmt: skip
    told(START, _row("a", hp=9000), _row("b", hp=1000), _row("d3", hp=3000), _row("d4", hp=2000), _row("x", hp=500))
    tree = selectors.tenant_tree(operator())
    rows = {row.name: row.whole for row in tree.rows}
    assert (rows["a"].borrowed, rows["a"].over, rows["b"].lent, rows["d2"].lent) == (5000, 0, 3000, 0)
    assert (rows["d1"].hp, rows["d1"].borrowed, rows["d1"].may_borrow) == (10_000, 0, 3000)
    assert (rows["d2"].may_borrow, rows["d3"].over, rows["x"].may_borrow) == (1000, 2000, None)
    assert [row.name for row in tree.rows if row.over] == ["d3", "d4"]
    told(START + timedelta(minutes=1), _row("a", hp=15_000))
    rows = {row.name: row.whole for row in selectors.tenant_tree(operator()).rows}
    assert (rows["d1"].borrowed, rows["d1"].over, rows["d1"].may_borrow) == (5000, 2000, 3000)  # a limit of 3
    assert (rows["d2"].lent, rows["b"].lent, rows["top"].lent) == (2000, 4000, 0)  # the first by its lending limit


def test_the_core_gets_of_a_department_what_none_of_its_teams_has() -> None:
    """A parent's quota comes on top of its children's there, and holds theirs in the book."""
    edited(
        cohort_entry("c", H20=1), tenant_entry("d", cohort="c", H20=(10, 2, 9), guarantee_gpus=5, cap_gpus=20),
        tenant_entry("t", "d", H20=6, guarantee_gpus=2, min_runtime_s=60), tenant_entry("u", "t", H20=6),
        tenant_entry("v", "t", A10=1),
    )  # fmt: skip
    records = {record["name"]: record for record in selectors.tenant_records()}
    nominal = {name: [quota["nominal"] for quota in record["quotas"]] for name, record in records.items()}
    assert nominal == {"cohort/c": [1], "d": [4], "t": [0], "u": [6], "v": [1]}
    assert [records["d"][field] for field in ("parent", "guarantee_gpus", "cap_gpus")] == ["cohort/c", 3, 20]
    assert [records["u"]["parent"], records["t"]["guarantee_gpus"]] == ["t", 2]
    assert selectors.min_runtimes() == {"t": 60, "u": 60, "v": 60}
    merged = {one["name"]: one for one in selectors.tenant_records([{"name": "d", "parent": "u", "cap_gpus": 1}])}
    assert [merged[name]["parent"] for name in ("d", "u", "t")] == ["u", "t", None]  # no circle with what is theirs


def test_a_tenant_sees_its_own_and_how_many_others_there_are() -> None:
    edited(
        tenant_entry("org", H20=98_765),
        tenant_entry("d1", "org", H20=2),
        tenant_entry("t1", "d1"),
        tenant_entry("secret"),
    )
    told(START, _row("d1", hp=3000), _row("secret", hp=77_000, model="HIDDEN"), _row("unknown-secret", hp=1))
    told(START + timedelta(hours=1), since=START)
    edited(tenant_entry("d1", "org", H20=3), tenant_entry("secret", weight=8), reason="secret gets more weight")
    for user in (tenant("d1"), person(Role.TENANT_ADMIN, tenants=("d1",))):
        tree = selectors.tenant_tree(user)
        assert [row.name for row in tree.rows] == ["d1", "t1"]
        assert (tree.others, tree.models) == (2, ["H20"])
        bill = selectors.bill(user, MONTH)
        past = [selectors.edition_row(user, row) for row in selectors.editions(user)]
        seen = repr((tree, bill, past, selectors.seen_by(user).docs, selectors.theirs_of(user), selectors.burns(user)))
        assert not any(word in seen for word in ("secret", "org", "77000", "HIDDEN", "98765"))
        assert [row.hidden > 0 for row in past] == [True, True]
        assert selectors.bill(user, MONTH, "secret").accounts == []
    told(START + timedelta(hours=2), _row("d1", hp=1000))
    edited(tenant_entry("d1", "org", H20=3), cohort_entry("c", H20=4), tenant_entry("org", cohort="c", H20=3))
    (row,) = (row.whole for row in selectors.tenant_tree(tenant("d1")).rows if row.name == "d1")
    assert (row.may_borrow, row.borrows) == (None, True)  # of one other tenant the amount is its idle sum
    assert next(row.whole for row in selectors.tenant_tree(operator()).rows if row.name == "d1").may_borrow == 4000
    stranger = person(Role.TENANT_USER, "stranger")
    assert (selectors.tenant_tree(stranger).rows, list(selectors.editions(stranger))) == ([], [])


def test_history_is_the_mean_of_what_is_known_and_gaps_stay_gaps() -> None:
    """Two sources, one silent for an hour: its part is in neither the sum nor the time."""
    edited(tenant_entry("d1"), tenant_entry("t1", "d1"))
    begin = START.replace(hour=0, minute=0)
    for source, hours in ((1, 3), (2, 1)):
        told(begin, _row("t1", hp=2000), _row("d1", lp=500), source=source)
        told(begin + timedelta(hours=hours), _row("t1", hp=2000), since=begin, source=source)
    told(begin + timedelta(hours=6), source=1)  # nobody knows of the time between
    told(begin + timedelta(hours=6, minutes=30), since=begin + timedelta(hours=6), source=1)
    period = period_of("rolling-1", begin)
    points = selectors.history_of(operator(), "d1", period)
    assert [(one.at.hour, one.hp, one.lp) for one in points] == [(0, 4, 1), (1, 2, 0.5), (2, 2, 0.5), (6, 0, 0)]
    assert [round(one.covered, 2) for one in points] == [1, 1, 1, 0.5]
    (day,) = selectors.history_of(operator(), "d1", period, "H20", days=True)
    assert day.at == begin and day.hp == pytest.approx(2 * (2 * 4 * 3600) / (4.5 * 3600))
    assert selectors.history_of(tenant("d2"), "d1", period) == []
