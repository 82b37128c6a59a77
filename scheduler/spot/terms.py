"""Why a price is what it is: one term per cause, with its number, its factor, its part in cents and a sentence.

The formula of ``readings`` is a product, so its logarithm is a sum, and a change from p0 to p1 falls apart exactly:

    ln(p1 / p0) = on demand + use + queue + standby + idle + forecast + acceptance + reclaims + held back + bound

A sum inside a logarithm is shared by the logarithmic mean L(a, b) = (a - b) / ln(a / b) (Divisia's index, as energy
studies use it): the queue's part of ln(D1 / D0) is (q1 - q0) / L(D1, D0).  In cents a part is L(p1, p0) times its
logarithm; they are rounded to whole cents that add up to p1 - p0.
"""

from dataclasses import dataclass
from math import exp, log
from typing import Any

from scheduler.spot.money import shared_out
from scheduler.spot.readings import Level, PriceRules, Readings

LABELS = {
    "on_demand": "on-demand price",
    "use": "paid use",
    "queue": "queue",
    "standby": "standby",
    "idle": "idle",
    "forecast": "supply ahead",
    "acceptance": "tenants that pay again",
    "reclaims": "reclaimed GPU time",
    "held_back": "held back before",
    "bound": "bound",
}
UNITS = {"on_demand": "cents", "acceptance": "%", "reclaims": "%", "held_back": "%", "bound": "%"}
GPUS = "GPUs"
STEADY = 0.0005  # less than half a thousandth either way


@dataclass(frozen=True, slots=True)
class Term:
    """``factor`` times the price before; ``cents`` is its part of the change; a number that nobody knows is None.

    ``share``: its part of all that moves the price, -1 to 1, in absolute values adding up to 1; None: nothing does.
    """

    name: str
    value: float | None
    before: float | None
    unit: str
    factor: float
    share: float | None
    cents: int
    said: str

    @property
    def label(self) -> str:
        return LABELS[self.name]

    def document(self) -> dict[str, Any]:
        return {
            "label": self.label, "value": self.value, "before": self.before, "unit": self.unit,
            "factor": round(self.factor, 6), "share": None if self.share is None else round(self.share, 4) + 0.0,
            "cents": self.cents, "said": self.said,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Move:
    """``from_cents`` is exact, and no whole number, where it is the neutral price."""

    from_cents: float
    to_cents: int
    bound: str  # a sentence, "" where nothing held it
    first: bool  # there was no price: the start is the neutral one


def explained(
    now: Level, then: Level, move: Move, readings: Readings, earlier: Readings | None, rules: PriceRules
) -> tuple[Term, ...]:
    """All terms in the order of ``LABELS``.  ``earlier``: the readings of ``then``; None: it is the neutral one."""
    logs = _logs(now, then, rules)
    logs["held_back"] = log(then.target / move.from_cents)
    logs["bound"] = log(move.to_cents / now.target)
    mean = _mean(float(move.to_cents), move.from_cents)
    weight = sum(abs(part) for part in logs.values())
    start = round(move.from_cents)
    cents = shared_out(move.to_cents - start, _scaled([mean * part for part in logs.values()], move.to_cents - start))
    new, old = _numbers(now, readings), _numbers(then, earlier)
    return tuple(
        Term(
            name=name,
            value=new.get(name, round((exp(part) - 1) * 100, 1)),
            before=old.get(name),
            unit=UNITS.get(name, GPUS),
            factor=exp(part),
            share=part / weight if weight > STEADY else None,
            cents=cents[i],
            said=_said(name, new.get(name), old.get(name), part, move, earlier is None),
        )
        for i, (name, part) in enumerate(logs.items())
    )


def heaviest(terms: tuple[Term, ...], most: int = 3) -> list[Term]:
    """Those that moved the price at least half a thousandth, the heaviest first."""
    moved = [term for term in terms if abs(log(term.factor)) >= STEADY]
    return sorted(moved, key=lambda term: -abs(log(term.factor)))[:most]


def _logs(now: Level, then: Level, rules: PriceRules) -> dict[str, float]:
    pull = rules.tightness_percent / 100
    wanted = _mean(sum(now.wanted.values()), sum(then.wanted.values()))
    ahead = max(now.ahead, then.ahead)
    supply, before = _forecast(now, ahead), _forecast(then, ahead)
    lendable = _mean(sum(supply.values()), sum(before.values()))
    found = {"on_demand": log(now.on_demand / then.on_demand)}
    found |= {name: pull * (now.wanted[name] - then.wanted[name]) / wanted for name in now.wanted}
    found |= {name: -pull * (supply[name] - before[name]) / lendable for name in supply}
    return found | {"acceptance": log(now.acceptance / then.acceptance), "reclaims": log(now.risk / then.risk)}


def _forecast(level: Level, ahead: float) -> dict[str, float]:
    """Where only the other level has a forecast, this one's is what was there: the same sum, comparable by part."""
    if level.ahead == ahead:
        return level.lendable
    total = sum(level.lendable.values())
    return {name: part * (1 - ahead) for name, part in level.lendable.items()} | {"forecast": total * ahead}


def _mean(a: float, b: float) -> float:
    """The logarithmic mean; its limit is the number itself."""
    return a if abs(a - b) <= 1e-9 * max(a, b) else (a - b) / log(a / b)


def _scaled(parts: list[float], total: int) -> list[float]:
    """Parts whose sum is the whole number exactly: a start that is no whole cent leaves a rest to the last."""
    return [*parts[:-1], total - sum(parts[:-1])]


def _numbers(level: Level, readings: Readings | None) -> dict[str, float | None]:
    """What people read: GPUs, cents and per cent; of the neutral market only what it has."""
    if readings is None:
        return {"on_demand": level.on_demand, "use": round(level.wanted["use"], 3), "queue": level.wanted["queue"]}
    reclaimed, before = readings.reclaimed_permille, readings.payers_before
    return {
        "on_demand": level.on_demand,
        "use": _gpus(readings.paid_milli),
        "queue": _gpus(readings.waiting_milli),
        "standby": _gpus(readings.standby_milli),
        "idle": _gpus(readings.idle_milli),
        "forecast": _gpus(readings.forecast_milli),
        "acceptance": round(readings.payers_again / before * 100, 1) if before else None,
        "reclaims": None if reclaimed is None else reclaimed / 10,
    }


def _gpus(milli: int | None) -> float | None:
    return None if milli is None else milli / 1000


def _read(value: float) -> str:
    """As people read it: thousandths of a GPU move no price."""
    return f"{value:.2g}" if 0 < abs(value) < 1 else f"{value:,.1f}".removesuffix(".0")


def _said(name: str, value: float | None, before: float | None, part: float, move: Move, neutral: bool) -> str:
    if name == "bound":
        return move.bound or "rounded to whole cents"
    if name == "held_back":
        return _held_back(part, move)
    label, unit = LABELS[name], "" if UNITS.get(name) == "%" else f" {UNITS.get(name, GPUS)}"
    percent = " %" if not unit else ""
    if value is None:
        return f"{label}: not known, counted as usual"
    if before is None or abs(value - before) < STEADY * max(1.0, abs(before)):
        return f"{label} {_read(value)}{percent}{unit}" + ("" if before is None or neutral else ", as before")
    if percent:
        return f"{label} {_read(value)} %, {'neutral' if neutral else 'before'} {_read(before)} %"
    if before == 0:
        return f"{label} {_read(value)}{unit}" if neutral else f"{label} up from 0 to {_read(value)}{unit}"
    change = (value / before - 1) * 100
    if neutral:
        side = "above" if change > 0 else "below"
        return f"{label} {_read(value)}{unit}, {abs(change):.0f} % {side} the neutral {_read(before)}"
    return f"{label} {'up' if change > 0 else 'down'} {abs(change):.0f} % to {_read(value)}{unit}"


def _held_back(part: float, move: Move) -> str:
    if move.first or abs(part) < STEADY:
        return "nothing was held back before"
    return (
        f"the price stood {abs(exp(part) - 1) * 100:.0f} % {'below' if part > 0 else 'above'} what it should have been"
    )
