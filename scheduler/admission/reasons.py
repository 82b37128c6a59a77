"""Why a job waits: a closed set of words in a fixed order, each with numbers and a sentence for people.

The first that holds is the job's one primary reason; the others that hold as well are its runners-up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

MISCONFIGURED = "misconfigured"  # it could start on no cluster like this one, whoever left
NO_SUCH_MODEL = "no_such_model"  # no node has a GPU model that it accepts
QUOTA = "quota"  # its tenant may not use so much more
SPENT = "budget"  # its tenant, or who stands above it, has spent its budget
CONSTRAINT = "constraint"  # there is room, where its selectors, tolerations or (anti-)affinity do not let it
TOPOLOGY = "topology"  # there is room, but not in one domain of the level that it requires
FRAGMENTATION = "fragmentation"  # enough is free in sum, in pieces that do not hold its pods
CAPACITY = "capacity"  # too little is free, even in sum
QUEUED = "queued"  # there is room for it alone, and jobs before it take it
WAITING_FOR_VICTIMS = "waiting_for_victims"  # pods that are leaving make the room
NOT_EVALUATED = "not_evaluated"  # nobody has looked at it yet
BUDGET_RAN_OUT = "budget_ran_out"  # the search stopped before it knew
FITS_NOW = "fits_now"  # the cluster's scheduler has not bound it yet

PRECEDENCE = (
    MISCONFIGURED,
    NO_SUCH_MODEL,
    QUOTA,
    SPENT,
    CONSTRAINT,
    TOPOLOGY,
    FRAGMENTATION,
    CAPACITY,
    QUEUED,
    WAITING_FOR_VICTIMS,
    NOT_EVALUATED,
    BUDGET_RAN_OUT,
    FITS_NOW,
)
LABELS = {
    MISCONFIGURED: "Misconfigured",
    NO_SUCH_MODEL: "No such GPU model",
    QUOTA: "Quota",
    SPENT: "Budget spent",
    CONSTRAINT: "Placement constraint",
    TOPOLOGY: "Topology",
    FRAGMENTATION: "Fragmentation",
    CAPACITY: "Not enough free GPUs",
    QUEUED: "Behind others in the queue",
    WAITING_FOR_VICTIMS: "Waiting for pods to leave",
    NOT_EVALUATED: "Not evaluated yet",
    BUDGET_RAN_OUT: "Search budget ran out",
    FITS_NOW: "Would start now",
}

Number = int | str | None
Numbers = Mapping[str, Number]


@dataclass(frozen=True, slots=True)
class Reason:
    """``numbers`` hold what the sentence says, names with their units; None: unknown."""

    word: str  # of ``PRECEDENCE``
    sentence: str
    numbers: Numbers = field(default_factory=dict)


def first(found: list[Reason]) -> tuple[Reason, tuple[Reason, ...]]:
    """The primary reason and the runners-up, in the fixed order; one of each word."""
    ordered = sorted(found, key=lambda reason: PRECEDENCE.index(reason.word))
    seen: dict[str, Reason] = {}
    for reason in ordered:
        seen.setdefault(reason.word, reason)
    kept = list(seen.values())
    return kept[0], tuple(kept[1:])


def some(count: int, one: str) -> str:
    return f"{count} {one}" + ("" if count == 1 else "s")


def gpus(milli: int) -> str:
    """Thousandths as people say them: "3 GPUs", "0.4 GPUs"."""
    whole, rest = divmod(milli, 1000)
    amount = f"{whole}" if rest == 0 else f"{milli / 1000:g}"
    return f"{amount} GPU" + ("" if milli == 1000 else "s")
