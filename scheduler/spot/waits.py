"""Why an ask waits: one reason, with the numbers that a person can check and act on."""

from collections.abc import Mapping
from dataclasses import dataclass, field

NO_SUCH_MODEL, NO_QUOTE, OVER_LIMIT, SPOT_QUOTA = "no_such_model", "no_quote", "over_limit", "spot_quota"
CAPACITY, FRAGMENTATION, TOPOLOGY, CONSTRAINT, PROMISED = (
    "capacity", "fragmentation", "topology", "constraint", "promised",
)  # fmt: skip
REASONS = (NO_SUCH_MODEL, NO_QUOTE, OVER_LIMIT, SPOT_QUOTA, CONSTRAINT, CAPACITY, FRAGMENTATION, TOPOLOGY, PROMISED)
CENTS = 100

Value = int | str | None


@dataclass(frozen=True, slots=True)
class Wait:
    """``numbers`` by name, GPUs whole and cents of a GPU-hour; None is unknown.

    capacity: needs_gpus, free_gpus (found for such pods: free and lent) · fragmentation: gpus_per_pod, free_gpus,
    largest_gpus (on one node) · topology: needs_gpus, level, largest_gpus, free_gpus · constraint: limit, nodes ·
    promised: needs_gpus, free_gpus, promised_gpus · spot_quota: scope ("pool" or "tenant"), model, quota_gpus,
    used_gpus, needs_gpus · over_limit: price_cents, limit_cents.  With all: ``models``; where a plan would help:
    would_free_gpus, plan, ready_at_s.
    """

    reason: str
    numbers: Mapping[str, Value] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """One sentence without a full stop."""
        told = _TELL[self.reason](self.numbers)
        frees, plan = self.numbers.get("would_free_gpus"), self.numbers.get("plan")
        return told if frees is None or plan is None else f"{told}; plan {plan} would free {frees}"


def _level(word: Value) -> str:
    return str(word).upper() if word == "asw" else str(word)


def _money(cents: Value) -> str:
    return f"{int(cents or 0) / CENTS:.2f} USD/GPU-h"


def _capacity(n: Mapping[str, Value]) -> str:
    return f"needs {n['needs_gpus']} GPUs of {n['models']}; {n['free_gpus']} are free or lent"


def _fragmentation(n: Mapping[str, Value]) -> str:
    return (
        f"needs nodes with {n['gpus_per_pod']} GPUs each free; {n['free_gpus']} of {n['models']} are free or lent, "
        f"at most {n['largest_gpus']} on one node"
    )


def _topology(n: Mapping[str, Value]) -> str:
    return f"needs {n['needs_gpus']} GPUs in one {_level(n['level'])}; largest free block {n['largest_gpus']}"


def _constraint(n: Mapping[str, Value]) -> str:
    return f"no node of {n['models']} takes such a pod now: {n['limit']} (on {n['nodes']} nodes)"


def _promised(n: Mapping[str, Value]) -> str:
    return (
        f"needs {n['needs_gpus']} GPUs of {n['models']}; {n['free_gpus']} are left beside "
        f"{n['promised_gpus']} that are promised to others"
    )


def _quota(n: Mapping[str, Value]) -> str:
    whose = "the tenant's spot quota" if n["scope"] == "tenant" else f"the spot quota of {n['model']}"
    return f"{whose} is {n['quota_gpus']} GPUs, {n['used_gpus']} are in use; needs {n['needs_gpus']}"


_TELL = {
    NO_SUCH_MODEL: lambda n: f"no usable node has {n['models']}",
    NO_QUOTE: lambda n: f"there is no quote for {n['models']}",
    OVER_LIMIT: lambda n: f"the price is {_money(n['price_cents'])}, its limit {_money(n['limit_cents'])}",
    SPOT_QUOTA: _quota,
    CAPACITY: _capacity,
    FRAGMENTATION: _fragmentation,
    TOPOLOGY: _topology,
    CONSTRAINT: _constraint,
    PROMISED: _promised,
}
assert set(_TELL) == set(REASONS)
