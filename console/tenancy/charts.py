"""Rows of tenants turned into what templates draw.  No database."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from console.tenancy.periods import Period
from console.tenancy.selectors.budgets import STOPPED, WARNING, Burn
from console.tenancy.selectors.standings import TenantRow
from console.tenancy.selectors.teams import of_no_team
from console.tenancy.selectors.use import Stretch
from console.tenancy.standing import GPU, TENANT, Standing
from console.ui.figures import number, whole_gpus

WIDTH = 240.0
LEGEND = (
    ("HP, own quota", "hp"),
    ("HP, borrowed", "cpu"),
    ("over", "stranded"),
    ("LP", "lp"),
    ("lent", "standby"),
    ("guaranteed", "total"),
)
LINES = (("HP", "hp"), ("LP", "lp"), ("borrowed", "cpu"), ("lent", "standby"), ("waiting", "other"))
TONES = {WARNING: "warn", STOPPED: "bad"}


@dataclass(frozen=True, slots=True)
class Part:
    x: str
    width: str
    fill: str


@dataclass(frozen=True, slots=True)
class Bar:
    """What one row is drawn as; ``nominal`` and ``cap`` are places of lines, "" where there is none."""

    parts: list[Part]
    nominal: str
    cap: str
    words: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """A row with its bar; ``model`` "" is the sum over models."""

    row: TenantRow
    model: str
    standing: Standing
    bar: Bar
    first: bool


def drawn(rows: Sequence[TenantRow], by_model: bool, whole: int) -> list[Drawn]:
    """Each row, and below it each model where those are asked for; all on one scale."""
    found = []
    for row in rows:
        found.append(Drawn(row, "", row.whole, bar(row.whole, whole, row.cap), first=True))
        if by_model:
            found += [Drawn(row, model, one, bar(one, whole, None), first=False) for model, one in row.models]
    return found


def scale_of(rows: Iterable[TenantRow]) -> int:
    """GPU milli at the right end: the most that any tenant holds or is guaranteed."""
    mine = [row.whole for row in rows if row.kind == TENANT]
    return max((max(one.nominal or 0, one.hp + one.lp) for one in mine), default=0) or GPU


def bar(one: Standing, whole: int, cap: int | None) -> Bar:
    """From the left: HP of the own quota, borrowed, over, LP; what is lent stands where the quota is not used."""
    over = min(one.hp, one.over)
    borrowed = max(0, one.borrowed - over)
    own = one.hp - over - borrowed
    lengths = ((own, "hp"), (borrowed, "cpu"), (over, "stranded"), (one.lp, "lp"))
    parts = [_part(0, one.nominal or 0, whole, "total")] if one.nominal else []
    at = 0
    for length, fill in lengths:
        if length > 0:
            parts.append(_part(at, length, whole, fill))
        at += length
    if one.lent:
        parts.append(_part(max(own, (one.nominal or 0) - one.lent), one.lent, whole, "standby"))
    return Bar(parts, _at(one.nominal, whole), _at(cap, whole), words_of(one, cap))


def words_of(one: Standing, cap: int | None) -> str:
    said = [f"{whole_gpus(one.hp)} GPUs HP", f"{whole_gpus(one.lp)} LP"]
    said.append("no quota" if one.nominal is None else f"{whole_gpus(one.nominal)} guaranteed")
    for amount, word in ((one.borrowed, "borrowed"), (one.over, "over"), (one.lent, "lent")):
        if amount:
            said.append(f"{whole_gpus(amount)} {word}")
    return ", ".join([*said, *([f"cap {whole_gpus(cap)}"] if cap is not None else [])])


def _part(start: int, length: int, whole: int, fill: str) -> Part:
    x = min(WIDTH, WIDTH * start / whole)
    return Part(f"{x:.1f}", f"{max(1.0, min(WIDTH - x, WIDTH * length / whole)):.1f}", fill)


def _at(amount: int | None, whole: int) -> str:
    """A cap far off the scale has no line."""
    return "" if amount is None or amount > whole else f"{min(WIDTH - 0.5, WIDTH * amount / whole):.1f}"


SHARES = ("hp", "lp", "cpu", "standby", "usable", "other")  # in turn; a line parts those that are alike


@dataclass(frozen=True, slots=True)
class Share:
    """One team's part of what its department holds; ``row`` None: of no team."""

    row: TenantRow | None
    standing: Standing
    percent: float | None
    part: Part | None
    tone: str


def shares(whole: Standing, teams: Sequence[TenantRow]) -> list[Share]:
    """HP and LP of a department on one bar, team by team, and last what is of none."""
    rest = of_no_team(whole, [row.whole for row in teams])
    held, at, found = whole.hp + whole.lp, 0, []
    for index, (row, one) in enumerate([*((row, row.whole) for row in teams), (None, rest)]):
        tone = "unknown" if row is None else SHARES[index % len(SHARES)]
        length = one.hp + one.lp
        part = _part(at, length, held, tone) if length else None
        found.append(Share(row, one, 100 * length / held if held else None, part, tone))
        at += length
    return found


@dataclass(frozen=True, slots=True)
class BurnBar:
    burn: Burn
    used: str  # per cent, at most 100
    warn: str
    forecast: str  # "" where there is none on the scale
    tone: str
    unit: str


def burn_bars(burns: Iterable[Burn]) -> list[BurnBar]:
    """On a scale from nothing to the limit."""
    found = []
    for one in burns:
        ahead = None if one.forecast is None or not one.limit else 100 * one.forecast / one.limit
        found.append(
            BurnBar(
                one,
                f"{min(100.0, one.percent):.1f}",
                f"{one.warn_percent}",
                "" if ahead is None or ahead > 100 else f"{ahead:.1f}",
                TONES.get(one.state, "hp"),
                "GPU-h" if one.unit == "gpu_hours" else "USD",
            )
        )
    return found


def series(stretches: Sequence[Stretch], period: Period, nominal: int | None, days: bool) -> dict[str, Any]:
    """For the chart: instants and mean GPUs, null where nothing is known; gaps between stretches break the lines."""
    step_s = 86_400 if days else 3_600
    points: list[Stretch | None] = []
    for before, after in zip([None, *stretches], stretches, strict=False):
        if before is not None and (after.at - before.at).total_seconds() > step_s:
            points.append(None)
        points.append(after)
    at, previous = [], period.start
    for point in points:
        previous = previous if point is None else point.at
        at.append(previous.strftime("%Y-%m-%dT%H:%M:%S"))
    return {
        "at": at,
        **{name: [_rounded(point, name) for point in points] for name in ("hp", "lp", "borrowed", "lent", "pending")},
        "from": period.start.strftime("%Y-%m-%dT%H:%M:%S"),
        "nominal": None if nominal is None else nominal / GPU,
        "days": days,
    }


def _rounded(point: Stretch | None, name: str) -> float | None:
    value = None if point is None else getattr(point, name)
    return None if value is None else round(value, 2)


def series_words(stretches: Sequence[Stretch]) -> str:
    known = [one.hp for one in stretches if one.hp is not None]
    if not known:
        return "No use is known in this time."
    return f"HP between {number(min(known))} and {number(max(known))} GPUs in {len(known)} stretches that are known."
