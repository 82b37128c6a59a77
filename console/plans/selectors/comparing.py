"""Two plans side by side: what was asked, what it brings and what it costs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from console.plans.models import Plan, Step
from console.plans.selectors.lists import plan_detail, plans
from console.ui.figures import DASH, number, percent, plural, whole_gpus

SHOWN = 60  # nodes named in one list
HOUR_S = 3600
MILLI = 1000

Value = float | None
# label, what is read of a plan, its words, and whether more of it is better (1), worse (-1) or neither (0)
Line = tuple[str, Callable[[dict[str, Any]], Value], Callable[[Value], str], int]


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table; ``better`` is "left", "right" or "" where neither is, or nobody can say."""

    label: str
    left: str
    right: str
    change: str  # right less left
    better: str


@dataclass(frozen=True, slots=True)
class Named:
    """Nodes of one kind, the first of them by name."""

    count: int
    names: list[str]


@dataclass(frozen=True, slots=True)
class Comparison:
    left: Plan
    right: Plan
    asked: list[tuple[str, str, str]]  # label, left, right: only what differs
    figures: list[Figure]
    both: Named  # nodes that both plans empty
    only_left: Named
    only_right: Named
    same_moves: int  # same pod to the same node
    same_reading: bool


def comparison(viewer: Any, left_id: int, right_id: int) -> Comparison:
    """Raises ``Http404`` where one of them is not there."""
    left, right = plan_detail(viewer, left_id), plan_detail(viewer, right_id)
    drained = [set(Step.objects.filter(plan=one, depth=0).values_list("drains", flat=True)) for one in (left, right)]
    moves = [set(Step.objects.filter(plan=one).values_list("pod", "target_node")) for one in (left, right)]
    return Comparison(
        left=left,
        right=right,
        asked=list(_asked(left, right)),
        figures=[
            *_gains(left.headline, right.headline),
            *(_figure(left.headline, right.headline, *line) for line in LINES),
        ],
        both=_named(drained[0] & drained[1]),
        only_left=_named(drained[0] - drained[1]),
        only_right=_named(drained[1] - drained[0]),
        same_moves=len(moves[0] & moves[1]),
        same_reading=(left.source_id, left.base_revision) == (right.source_id, right.base_revision),
    )


def comparable(viewer: Any, plan: Plan, most: int = 20) -> list[Plan]:
    """Plans with an answer for the same cluster, the newest first, without those that take others back."""
    rows = plans(viewer).filter(source_id=plan.source_id, cluster=plan.cluster, undoes__isnull=True)
    found = list(rows.exclude(pk=plan.pk).exclude(digest="").order_by("-pk")[:most])
    for one in found:
        one.measure = measure(one.headline)  # type: ignore[attr-defined]
    return found


def _named(nodes: set[str]) -> Named:
    return Named(len(nodes), sorted(nodes)[:SHOWN])


def _asked(left: Plan, right: Plan) -> Iterator[tuple[str, str, str]]:
    pairs: list[tuple[str, Any, Any]] = [
        ("Cluster", left.cluster, right.cluster),
        ("Reading", f"rev {number(left.base_revision)}", f"rev {number(right.base_revision)}"),
        ("GPU models", _listed(left.models_in_scope), _listed(right.models_in_scope)),
        ("Goal", left.title, right.title),
        ("Seed", left.seed, right.seed),
    ]
    names = sorted({*left.params, *right.params} - {"goal"})
    pairs += [(name.replace("_", " ").capitalize(), left.params.get(name), right.params.get(name)) for name in names]
    for label, one, other in pairs:
        if one != other:
            yield label, _said(one), _said(other)


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "all"


def _said(value: Any) -> str:
    return DASH if value is None else str(value)


def _figure(
    left: dict[str, Any], right: dict[str, Any], label: str, read: Callable[[dict[str, Any]], Value],
    words: Callable[[Value], str], wish: int,
) -> Figure:  # fmt: skip
    """``wish``: 1 more is better, -1 less is better, 0 neither."""
    one, other = read(left), read(right)
    change = None if one is None or other is None else other - one
    gain = 0 if change is None else change * wish
    sign = "" if change is None or change <= 0 else "+"
    return Figure(
        label=label,
        left=words(one),
        right=words(other),
        change=DASH if change is None else "0" if change == 0 else f"{sign}{words(change)}",
        better="right" if gain > 0 else "left" if gain < 0 else "",
    )


def _gains(left: dict[str, Any], right: dict[str, Any]) -> list[Figure]:
    """What each was asked for, in its own measure; compared where both count the same."""
    units = [(goal.get("kind", ""), goal.get("unit", "")) for goal in map(_goal, (left, right))]
    if units[0] != units[1]:
        return [Figure("Reached", measure(left), measure(right), DASH, "")]
    lines = NODE_LINES if units[0][0] == "" else _goal_lines(units[0][1])
    return [_figure(left, right, *line) for line in lines]


def _goal(headline: dict[str, Any]) -> dict[str, Any]:
    return headline.get("goal") or {}


def _goal_lines(unit: str) -> tuple[Line, ...]:
    def of(name: str) -> Callable[[dict[str, Any]], Value]:
        return lambda headline: _goal(headline).get(name)

    return (
        (f"Reached, {unit}", of("reached"), number, 1),
        (f"Wanted, {unit}", of("wanted"), number, 0),
        (f"So already, {unit}", of("before"), number, 0),
        (f"Bound, {unit}", _of("net_upper"), number, 0),
        ("Gap to the bound", _of("gap"), _share, -1),
    )


def measure(headline: dict[str, Any]) -> str:
    """What a plan brings, in the measure of what it was asked for."""
    goal = _goal(headline)
    if goal:
        return f"{number(goal['reached'])} of {number(goal['wanted'])} {goal['unit']}"
    return plural(headline.get("net_emptied", 0), "node") + " emptied net"


def _of(name: str) -> Callable[[dict[str, Any]], Value]:
    return lambda headline: headline.get(name)


def _price(name: str, unit: float = 1.0) -> Callable[[dict[str, Any]], Value]:
    def read(headline: dict[str, Any]) -> Value:
        value = (headline.get("price") or {}).get(name)
        return None if value is None else value / unit

    return read


def _tenants(headline: dict[str, Any]) -> Value:
    return (headline.get("price") or {}).get("tenants")


def _gpus(milli: Value) -> str:
    return whole_gpus(None if milli is None else int(milli))


def _hours(hours: Value) -> str:
    return DASH if hours is None else f"{number(hours, 0 if abs(hours) >= 100 else 1)} GPU-h"


def _share(gap: Value) -> str:
    return DASH if gap is None else percent(gap, 1)


NODE_LINES: tuple[Line, ...] = (
    ("Net emptied nodes", _of("net_emptied"), number, 1),
    ("GPUs in emptied nodes", _of("emptied_gpus"), number, 1),
    ("Bound on net emptied", _of("net_upper"), number, 0),
    ("Gap to the bound", _of("gap"), _share, -1),
)
LINES: tuple[Line, ...] = (
    ("Slack nodes after", _of("slack_after"), number, -1),
    ("Moves", _of("moves"), number, -1),
    ("Pods stopped first", _of("restarts"), number, -1),
    ("GPUs moved", _of("moved_milli"), _gpus, -1),
    ("Second copies at once, GPUs", _of("peak_milli"), _gpus, -1),
    ("Waves", _of("waves"), number, -1),
    ("Nodes touched", _of("touched"), number, -1),
    ("Tenants touched", _tenants, number, -1),
    ("Spent", _price("spent", HOUR_S), _hours, -1),
    ("Gained", _price("gained", HOUR_S), _hours, 1),
)
