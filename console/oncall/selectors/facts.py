"""A plan in a few lines: what a person needs to decide it on a phone.  Messages and the page say the same."""

from dataclasses import dataclass
from typing import Any

from console.plans import selectors as plans
from console.plans.selectors.goals import goal_words
from console.ui.figures import number, plural, whole_gpus

SHOWN_TENANTS = 4


@dataclass(frozen=True, slots=True)
class Fact:
    label: str
    words: str


def headline_of(plan: Any) -> str:
    """What it is for, in half a line."""
    h = plan.headline
    if not h:
        return str(plan.title)
    if plan.undoes_id:
        return f"puts {plural(h['moves'], 'pod')} back"
    if h.get("goal"):
        said = goal_words(h["goal"], h["moves"])
        return plan.title if said is None else said.sentence.rstrip(".")
    return f"empties {plural(h['net_emptied'], 'node')} net"


def facts_of(plan: Any) -> list[Fact]:
    """What, where, gain, moves, GPUs, tenants, restarts, price, windows, until when, digest; only what is known."""
    h = plan.headline
    found = [Fact("What", plan.title), Fact("Where", f"{plan.cluster}{_models(plan)}")]
    if not h.get("moves"):
        return found
    found += [
        Fact("Gain", headline_of(plan)),
        Fact("Moves", f"{number(h['moves'])} in {plural(h['chains'], 'chain')}"),
        Fact("GPUs moved", f"{whole_gpus(h['moved_milli'])}, at most {whole_gpus(h['peak_milli'])} doubled"),
        Fact("Tenants", _tenants(plan.impact)),
        Fact("Restarts", "none, all by copy" if not h["restarts"] else f"{plural(h['restarts'], 'pod')} stopped first"),
        *_price(h),
        Fact("Windows", _windows(plan)),
    ]
    if plan.expires_at is not None and plan.is_awaiting:
        found.append(Fact("Valid until", f"{plan.expires_at:%F %R} UTC"))
    return [*found, Fact("Asked by", _asked(plan)), Fact("Digest", plan.digest[:8])]


def _models(plan: Any) -> str:
    models = plan.headline.get("models", [])
    return f": {', '.join(models[:3])}{', …' if len(models) > 3 else ''}" if models else ""


def _tenants(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "none"
    named = [f"{row['tenant'] or 'unassigned'} {plural(row['pods'], 'pod')}" for row in rows[:SHOWN_TENANTS]]
    rest = len(rows) - len(named)
    return ", ".join(named) + (f", {plural(rest, 'more tenant')}" if rest else "")


def _price(h: dict[str, Any]) -> list[Fact]:
    price = h.get("price")
    if not price or price.get("spent") is None:
        return []
    gained = "" if price.get("gained") is None else f", gains {number(price['gained'] / 3600, 1)}"
    return [Fact("Price", f"{number(price['spent'] / 3600, 2)} GPU-h spent{gained}")]


def _windows(plan: Any) -> str:
    gate = plans.gate_of(plan)
    return gate.words if gate.ruled else "none rule it: may run at any time"


def _asked(plan: Any) -> str:
    because = f": {plan.because}" if plan.because else ""
    return f"{plan.proposer.get_username()}{because}"
