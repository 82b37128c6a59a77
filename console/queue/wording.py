"""A reason as a viewer may read it: whoever sees only its own reads no names and no use of others."""

from collections.abc import Mapping
from typing import Any

from console.queue.choices import Outcome, Reason, RemedyKind
from console.ui.figures import DASH, plural, whole_gpus

# Sentences of the core that name nobody: sizes, levels, models and sums of free room.
PLAIN = frozenset(
    {Reason.MISCONFIGURED, Reason.NO_SUCH_MODEL, Reason.TOPOLOGY, Reason.FRAGMENTATION, Reason.CAPACITY}
    | {Reason.NOT_EVALUATED, Reason.BUDGET_RAN_OUT}
)


def sentence_for(reason: Mapping[str, Any], scope: frozenset[str] | None) -> str:
    """``scope`` None: everything may be read."""
    if scope is None or reason["word"] in PLAIN:
        return str(reason["sentence"])
    numbers: Mapping[str, Any] = reason["numbers"]
    match reason["word"]:
        case Reason.QUOTA if numbers.get("at") in scope:
            return str(reason["sentence"])
        case Reason.QUOTA:
            return _quota(numbers)
        case Reason.SPENT:
            return _spent(numbers, numbers.get("at") in scope)
        case Reason.CONSTRAINT:
            return _constraint(numbers)
        case Reason.WAITING_FOR_VICTIMS:
            return f"It starts when {plural(numbers.get('pods'), 'pod')} have left; the room is held for it."
        case Reason.QUEUED:
            return "There is room for it, which jobs before it in the queue take or wait for."
        case Reason.FITS_NOW:
            return "It would start now: the cluster's scheduler has not bound it yet."
    return str(Reason(reason["word"]).label)


_NAMES = {"at": "account", "possible": "possible at all", "until_s": "until", "seated_pods": "pods with room",
          "nodes_of_unknown_place": "nodes of unknown place", "fault": "what is wrong",
          "over_s": "free again"}  # fmt: skip


_CODED = ("short_of", "fault", "cause", "limit", "unit")  # whose values are words of the core


def number_words(name: str, value: Any) -> tuple[str, str]:
    """A figure of the core as people read it: its name without the unit, and its value with it."""
    label = _NAMES.get(name)
    if value is None:
        return label or _spaced(name), "unknown"
    if not isinstance(value, int) or isinstance(value, bool):
        words = str(value)
        return label or _spaced(name), _spaced(words) if name in _CODED else words
    if name == "possible":
        return _NAMES[name], "yes" if value else "no"
    if name.endswith("_milli_gpu_hours"):
        return _spaced(name.removesuffix("_milli_gpu_hours")), f"{value / 1000:,.0f} GPU-hours"
    if name.endswith("_milli_usd"):
        return _spaced(name.removesuffix("_milli_usd")), f"{value / 1000:,.2f} USD"
    if name.endswith("_cpu_milli"):
        return label or _spaced(name.removesuffix("_cpu_milli")) + " CPU", f"{value / 1000:,.0f} cores"
    if name.endswith("_milli"):
        return label or _spaced(name.removesuffix("_milli")), f"{whole_gpus(value)} GPUs"
    if name.endswith("_mib"):
        return label or _spaced(name.removesuffix("_mib")), f"{value / 1024:,.1f} GiB"
    if name.endswith("_s"):
        return label or _spaced(name.removesuffix("_s")), f"second {value:,} of the cluster's clock"
    return label or _spaced(name), f"{value:,}"


def _spaced(name: str) -> str:
    return name.replace("_", " ").replace("gpus", "GPUs").replace("gpu ", "GPU ")


def _quota(numbers: Mapping[str, Any]) -> str:
    asked, left = whole_gpus(numbers.get("asked_milli")), whole_gpus(numbers.get("available_milli"))
    never = "" if numbers.get("possible", 1) else " It can never be admitted under this quota."
    return f"It asks for {asked} GPUs, and {left} may still be used under the quota of a group above yours.{never}"


def _spent(numbers: Mapping[str, Any], own: bool) -> str:
    """Who may raise it would name who stands above, and what a group above has used is not one's own."""
    until = f" until {numbers['until']}" if numbers.get("until") else ""
    if not own:
        return f"Nothing more may start{until}: the budget of a group above yours is spent."
    unit = str(numbers.get("unit"))
    limit = number_words(f"limit_milli_{unit}", numbers.get(f"limit_milli_{unit}"))[1]
    spent = number_words(f"spent_milli_{unit}", numbers.get(f"spent_milli_{unit}"))[1]
    words = f"Nothing more may start{until}: the budget of {limit} {numbers.get('period')} is spent, {spent} in all."
    return f"{words} Whoever sets your quotas may raise it."


def _constraint(numbers: Mapping[str, Any]) -> str:
    word = str(numbers.get("constraint", "")).replace("_", "-") or DASH
    return f"There is room, where it may not run: {word} on {plural(numbers.get('nodes'), 'node')}."


def numbers_for(reason: Mapping[str, Any], scope: frozenset[str] | None) -> dict[str, Any]:
    """The figures behind the sentence; of reasons that may name others only what is the job's own."""
    numbers = dict(reason["numbers"])
    numbers.pop("protected_until_s", None)  # an instant on the cluster's own clock: the sentence says how long it is
    if reason["word"] == Reason.SPENT and numbers.get("until"):
        numbers.pop("over_s", None)  # the same instant on the cluster's own clock
    if scope is None or reason["word"] in PLAIN or (reason["word"] == Reason.QUOTA and numbers.get("at") in scope):
        return numbers
    if reason["word"] == Reason.SPENT:
        return _spent_numbers(numbers, numbers.get("at") in scope)
    own = {"asked_milli", "available_milli", "missing_milli", "model", "possible", "constraint", "nodes", "pods"}
    if reason["word"] == Reason.CONSTRAINT:
        own -= {"pods"}  # names, where others refuse it
    return {name: value for name, value in numbers.items() if name in own}


def _spent_numbers(numbers: Mapping[str, Any], own: bool) -> dict[str, Any]:
    kept = {"unit", "period", "until"}
    if own:
        kept |= {"tenant", "at"} | {name for name in numbers if "_milli_" in name}
    return {name: value for name, value in numbers.items() if name in kept}


def remedy_cost(remedy: Mapping[str, Any], scope: frozenset[str] | None) -> float | None:
    """By how much a group's budget is overspent is nothing that its members read."""
    if remedy["kind"] == RemedyKind.SPENT and scope is not None and remedy["numbers"].get("at") not in scope:
        return None
    cost: float | None = remedy["cost"]
    return cost


def remedy_words(remedy: Mapping[str, Any], scope: frozenset[str] | None) -> str:
    """A remedy as a viewer may read it: whoever sees only its own reads whom it takes something from as a number."""
    numbers: Mapping[str, Any] = remedy["numbers"]
    found = remedy["outcome"] == Outcome.FOUND
    match remedy["kind"]:
        case _ if scope is None:
            return str(remedy["detail"])
        case RemedyKind.QUOTA:
            then = "it would start" if found else "it would still wait for something else"
            return f"With {whole_gpus(numbers.get('missing_milli'))} more GPUs of quota {then}."
        case RemedyKind.SPENT:
            then = "it would start" if found else "it would still wait for something else"
            return f"With a larger budget, its own or that of a group above, {then}."
        case RemedyKind.WAIT if numbers.get("for") == "budget":
            return "The budget is free again when its period ends, or enough of it has passed."
        case RemedyKind.VICTIMS if found:
            return f"{plural(numbers.get('pods'), 'pod')} of LP tier would have to leave."
        case RemedyKind.VICTIMS:
            return "No pods that may be stopped make room for it."
        case RemedyKind.MOVES if found:
            return f"{plural(numbers.get('moves'), 'move')} of other pods make room for it."
        case RemedyKind.MOVES:
            return "No moves are known that make room for it."
    return str(remedy["detail"])
