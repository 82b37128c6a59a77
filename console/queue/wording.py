"""A reason as a viewer may read it: whoever sees only its own reads no names and no use of others."""

from collections.abc import Mapping
from typing import Any

from console.queue.choices import Reason
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
        case Reason.CONSTRAINT:
            return _constraint(numbers)
        case Reason.WAITING_FOR_VICTIMS:
            return f"It starts when {plural(numbers.get('pods'), 'pod')} have left; the room is held for it."
        case Reason.QUEUED:
            return "There is room for it, which jobs before it in the queue take or wait for."
        case Reason.FITS_NOW:
            return "It would start now: the cluster's scheduler has not bound it yet."
    return str(Reason(reason["word"]).label)


def _quota(numbers: Mapping[str, Any]) -> str:
    asked, left = whole_gpus(numbers.get("asked_milli")), whole_gpus(numbers.get("available_milli"))
    never = "" if numbers.get("possible", 1) else " It can never be admitted under this quota."
    return f"It asks for {asked} GPUs, and {left} may still be used under the quota of a group above yours.{never}"


def _constraint(numbers: Mapping[str, Any]) -> str:
    word = str(numbers.get("constraint", "")).replace("_", "-") or DASH
    return f"There is room, where it may not run: {word} on {plural(numbers.get('nodes'), 'node')}."


def numbers_for(reason: Mapping[str, Any], scope: frozenset[str] | None) -> dict[str, Any]:
    """The figures behind the sentence; of reasons that may name others only what is the job's own."""
    numbers = dict(reason["numbers"])
    if scope is None or reason["word"] in PLAIN or (reason["word"] == Reason.QUOTA and numbers.get("at") in scope):
        return numbers
    own = {"asked_milli", "available_milli", "missing_milli", "model", "possible", "constraint", "nodes", "pods"}
    if reason["word"] == Reason.CONSTRAINT:
        own -= {"pods"}  # names, where others refuse it
    return {name: value for name, value in numbers.items() if name in own}
