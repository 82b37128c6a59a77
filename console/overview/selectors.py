"""The first page as one thing, composed of what inventory and plans say."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from console.automation import selectors as automation
from console.inventory import selectors as inventory
from console.inventory.selectors.measured import Measured, newest_measurements
from console.overview.charts import Grid, Share, grid, level_words, tone_of
from console.overview.filters import FILTERS, MEASURES, FleetView
from console.plans import inbox
from console.plans import selectors as plans
from console.plans.choices import State
from console.ui.ages import limits
from console.ui.figures import duration, number, plural

MOST_DECISIONS = 8
SOURCE_TROUBLE = {"failing": "offline", "unknown": "offline", "suspicious": "suspicious"}  # the pill of each
STANDBY_STEP = timedelta(minutes=10)
TREND = timedelta(hours=1)
STANDBY_HOURS = (2, 6, 24)  # the shortest that holds all that is known: a young history is not a sliver at the edge
IN_USE = ("unhealthy", "allocated_hp", "allocated_lp", "standby", "fractional")
CAUSE_OF_MEASURE = {
    "stranded": "stranded",
    "cpu_bound": "cpu_memory",
    "standby": "standby",
    "lp": "allocated_lp",
    "health": "unhealthy",
}
GRID_WORDS = {
    "free": "Free GPUs in % of the pool",
    "stranded": "Stranded GPUs in % of the pool",
    "cpu_bound": "GPUs short of CPU in % of the pool",
    "standby": "GPUs asleep in % of the pool",
    "lp": "GPUs held by LP in % of the pool",
    "health": "GPUs not ready or cordoned in % of the pool",
    "gpus": "Free GPUs in % of the pool",
}


@dataclass(frozen=True, slots=True)
class Link:
    """One choice that is a link."""

    value: str
    label: str
    url: str
    figure: int | None = None


@dataclass(frozen=True, slots=True)
class FallRow:
    label: str
    tone: str
    milli: int
    start_milli: int
    last: bool = False


@dataclass(frozen=True, slots=True)
class FitTable:
    label: str
    levels: list[str]
    rows: tuple[Any, ...]
    largest: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Standby:
    """Averages over stretches of `minutes`; None in `series` = nothing is known of that stretch."""

    series: dict[str, Any]
    hours: list[Any]
    words: str
    known: int
    minutes: float
    span_hours: int


@dataclass(frozen=True, slots=True)
class Decision:
    what: str
    url: str
    fact: str
    state: str
    words: str


@dataclass(frozen=True, slots=True)
class Board:
    """All panels, as of one revision. `map` is None for people who see only their own."""

    sources: int
    map: Any
    tiles: tuple[Any, ...]
    measures: list[Link]
    grid: Grid
    pools: tuple[Any, ...]
    waterfall: Any
    fall_rows: list[FallRow]
    shapes: list[Link]
    fits: FitTable | None
    standby: Standby | None
    decisions: list[Decision]
    observed_at: datetime | None
    period_s: int | None
    missing: tuple[str, ...]
    since_hour: int | None  # schedulable GPUs won or lost; None: not known

    @property
    def observed_ms(self) -> int:
        return 0 if self.observed_at is None else int(self.observed_at.timestamp() * 1000)

    @property
    def limits_s(self) -> tuple[float, float]:
        return limits(self.period_s)


def board(viewer: Any, view: FleetView) -> Board:
    """Everything below the filter bar."""
    wanted = inventory.Filters(**{name: getattr(view, name) for name in FILTERS})
    layout = inventory.fleet_layout(viewer)
    known = newest_measurements()
    tiles = inventory.fleet_headline(viewer, wanted, known)
    # Nobody who looks at one cluster wants to read where the GPUs of another model in five clusters are.
    pool = view.pool or inventory.pool_within(view.cluster, view.model, known)
    fall = inventory.waterfall(viewer, pool, view.shape, known)
    states = inventory.source_states(viewer)
    aged = layout if layout is not None else tiles[0]
    return Board(
        sources=len(states) if layout is not None else len(known),
        map=layout,
        tiles=tiles,
        measures=_measures(view, cells=layout is not None),
        grid=_grid(view, fall.shape if fall is not None else "", known),
        pools=inventory.pool_choices(viewer, known),
        waterfall=fall,
        fall_rows=_fall_rows(fall),
        shapes=_shapes(viewer, view, pool, known),
        fits=_fits(viewer, pool, known),
        standby=_standby(viewer) if layout is not None else None,
        decisions=_decisions(viewer, states),
        observed_at=aged.observed_at,
        period_s=aged.period_s,
        missing=tuple(state.name for state in states if state.revision is None),
        since_hour=inventory.schedulable_change(viewer, known, timezone.now(), TREND),
    )


def _fall_rows(fall: Any) -> list[FallRow]:
    if fall is None:
        return []
    rows = [FallRow(row.label, tone_of(row.cause), row.gpus_milli, row.start_milli) for row in fall.rows]
    start = fall.total_milli - fall.usable_milli
    return [*rows, FallRow(f"Usable: {plural(fall.slots, 'slot')}", "usable", fall.usable_milli, start, last=True)]


def _shapes(viewer: Any, view: FleetView, pool: str, known: list[Measured]) -> list[Link]:
    totals = inventory.shape_totals(viewer, pool, known)
    return [Link(row.shape, row.shape, view.with_changes(shape=row.shape), row.usable_gpus) for row in totals]


def _fits(viewer: Any, pool: str, known: list[Measured]) -> FitTable | None:
    found = inventory.what_fits(viewer, pool, known)
    if found is None:
        return None
    return FitTable(found.pool.label, [level_words(level) for level in found.levels], found.rows, found.largest)


def _measures(view: FleetView, cells: bool) -> list[Link]:
    """A level of cells is nothing to choose where there is no map."""
    return [
        Link(value, label, view.with_changes(measure=value)) for value, label in MEASURES if cells or value != "gpus"
    ]


def _grid(view: FleetView, shape: str, known: list[Measured]) -> Grid:
    """Every pool in percent of its GPUs, from the newest reports."""
    shares = []
    for row in known:
        for pool in row.pools:
            if (view.cluster and pool["cluster"] != view.cluster) or (view.model and pool["gpu_model"] != view.model):
                continue
            part = _part(pool, shape, view.measure)
            address = _nodes_address(source=row.source, cluster=pool["cluster"], model=pool["gpu_model"])
            shares.append(Share(pool["cluster"], pool["gpu_model"], part, pool["gpus"], address))
    return grid(shares, GRID_WORDS[view.measure])


def _part(pool: dict[str, Any], shape: str, measure: str) -> int | None:
    """GPU thousandths of the pool that a measure is about, None where the shape was not reported."""
    found = next((item for item in pool["shapes"] if item["shape"] == shape), None)
    if found is None:
        return None
    if measure in ("free", "gpus"):
        return int(pool["gpus"] * 1000 - sum(found["causes"][cause] for cause in IN_USE))
    return int(found["causes"][CAUSE_OF_MEASURE[measure]])


def _nodes_address(**query: str) -> str:
    return f"{reverse('inventory:nodes')}?{urlencode(query)}"


def _standby(viewer: Any) -> Standby:
    now = timezone.now()
    found = inventory.standby_series(viewer, hours=max(STANDBY_HOURS), now=now, step=STANDBY_STEP)
    known = [each.asleep_gpus for each in found if each.asleep_gpus is not None]
    hours = _span_hours([each.asleep_gpus is not None for each in found])
    found = found[-int(timedelta(hours=hours) / STANDBY_STEP) :]
    words = f"Standby pool over {hours} hours, most {number(max(known))} GPUs asleep" if known else ""
    series = {
        "from": found[0].began_at.isoformat() if found else "",
        "step_s": int(STANDBY_STEP.total_seconds()),
        "asleep": [_rounded(each.asleep_gpus) for each in found],
        "lent": [_rounded(each.lent_gpus) for each in found],
    }
    full = [each for each in found if each.asleep_gpus is not None and each.began_at.minute == 0]
    return Standby(series, full, words, len(known), STANDBY_STEP.total_seconds() / 60, hours)


def _span_hours(known: list[bool]) -> int:
    """Hours to draw of stretches of ``STANDBY_STEP`` that end now, some of which are known."""
    stretches = len(known) - known.index(True) if True in known else 0
    return next(hours for hours in STANDBY_HOURS if stretches * STANDBY_STEP <= timedelta(hours=hours))


def _rounded(gpus: float | None) -> float | None:
    return None if gpus is None else round(gpus, 1)


def _decisions(viewer: Any, states: tuple[Any, ...]) -> list[Decision]:
    """Plans and questions that wait for somebody, then sources that are silent or not believed."""
    found = (
        [*_open_reviews(viewer), *_plan_decisions(viewer), *_approvals(viewer)]
        if viewer.has_perm("plans.view_plan")
        else []
    )
    found += _lost_levels(viewer) if viewer.has_perm("policies.view_policy") else []
    found += [_question(release) for release in inventory.releases_to_answer(viewer)[:MOST_DECISIONS]]
    found += [_doubtful(state) for state in states if state.state in SOURCE_TROUBLE]
    return found[:MOST_DECISIONS]


def _approvals(viewer: Any) -> list[Decision]:
    """What else waits for a second person's yes."""
    return [
        Decision(one.title, one.url, one.fact, one.state, "" if one.until is None else f"{_left(one.until)} left")
        for one in inbox.of_others(viewer)[:MOST_DECISIONS]
    ]


def _left(until: datetime) -> str:
    return duration((until - timezone.now()).total_seconds())


def _open_reviews(viewer: Any) -> list[Decision]:
    """Glass that was broken and that somebody else must still look at."""
    return [
        Decision(
            f"Review of plan {one.plan_id}", f"{reverse('plans:reviews')}#review-{one.pk}",
            f"glass broken by {one.user.get_username()}: {one.reason}", "waiting", "",
        )
        for one in plans.open_reviews(viewer)[:MOST_DECISIONS]
    ]  # fmt: skip


def _lost_levels(viewer: Any) -> list[Decision]:
    """Pools that may be automatic and have lost it: somebody looks at it and gives it back."""
    return [
        Decision(card.pool.words, f"{reverse('automation:card')}?{card.pool.query}", card.newest.reason, "lost", "")
        for card in automation.lost_pools(viewer)[:MOST_DECISIONS]
        if card.newest is not None
    ]


def _plan_decisions(viewer: Any) -> list[Decision]:
    order = (State.PROPOSED, State.HALTED, State.STALE, State.APPROVED)
    rows = plans.plans_to_decide(viewer)[:MOST_DECISIONS]
    return [_plan_decision(plan) for plan in sorted(rows, key=lambda plan: order.index(State(plan.state)))]


def _plan_decision(plan: Any) -> Decision:
    net = plan.headline.get("net_emptied")
    fact = plan.reason or (f"empties {number(net)} nodes" if net is not None else plan.title)
    words = ""
    if plan.state in (State.PROPOSED, State.APPROVED) and plan.expires_at is not None:
        words = f"{duration((plan.expires_at - timezone.now()).total_seconds())} left"
    if plan.state == State.STALE and plan.changes:
        fact = f"{number(len(plan.changes))} changed"
    return Decision(f"Plan {plan.pk}, {plan.cluster}", reverse("plans:detail", args=[plan.pk]), fact, plan.state, words)


def _question(release: Any) -> Decision:
    """An operator asks this person to release a lock."""
    left = duration((release.ends_at - timezone.now()).total_seconds())
    page = f"{reverse('inventory:owner-locks')}#to-answer"
    return Decision(f"Release {release.key}", page, release.why, release.state, f"asked, {left} left")


def _doubtful(state: Any) -> Decision:
    since = "never read" if state.observed_at is None else _since(state.observed_at)
    fact = state.last_error if state.state == "suspicious" else since
    page = reverse("inventory:source", args=[state.id])
    return Decision(f"Source {state.name}", page, fact, SOURCE_TROUBLE[state.state], "")


def _since(at: datetime) -> str:
    return f"no reading for {duration((timezone.now() - at).total_seconds())}"
