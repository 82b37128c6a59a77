"""Fair share: of what a tenant uses the largest part of any resource, over its weight; the past counts less with age.

Shares are exact fractions, so that two tenants of weight ten million do not round to one number.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from scheduler.admission.quota import Book
from scheduler.admission.tree import ALL, Account
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.fragmentation.sums import sum_by

CPU = "cpu"  # beside the names of GPU models
DEFAULT_WEIGHT = 1

Uses = Mapping[str, Mapping[str, Fraction]]  # account -> resource -> thousandths of GPUs or cores


@dataclass(frozen=True, slots=True)
class Share:
    """``value`` = use / capacity of the dominant resource / weight; None: a weight of 0 and some use, so no bound."""

    value: Fraction | None
    resource: str  # GPU model or CPU, "" where nothing is used
    weight: int

    @property
    def turn(self) -> tuple[bool, Fraction]:
        """Smaller is served first; who has no bound is last."""
        return self.value is None, self.value or Fraction(0)

    def as_json(self) -> float | None:
        """None where there is no bound: JSON has no infinity."""
        return None if self.value is None else float(self.value)


@dataclass(frozen=True, slots=True)
class Past:
    """A tenant's constant use of a resource from one instant to another; thousandths of GPUs or cores."""

    tenant: str
    resource: str
    milli: int
    from_s: int
    to_s: int


def capacity_of(snapshot: Snapshot) -> dict[str, int]:
    """What the nodes have of each GPU model and of CPU, in thousandths, whatever their state."""
    milli = sum_by(snapshot.node_model, snapshot.node_gpus, len(snapshot.models)) * WHOLE_GPU_MILLI
    return {**dict(zip(snapshot.models, milli.tolist(), strict=True)), CPU: int(snapshot.node_cpu_milli.sum())}


def use_of(snapshot: Snapshot, book: Book) -> dict[str, dict[str, Fraction]]:
    """What each account and all below use now, HP and LP together."""
    own: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for table in (book.hp, book.lp):
        for (tenant, model), milli in table.items():
            if model != ALL:
                own[tenant][model] += milli
    live = snapshot.pod_live & (snapshot.pod_tenant != UNKNOWN)
    cpu = sum_by(snapshot.pod_tenant[live], snapshot.pod_cpu_milli[live], len(snapshot.tenants))
    for t in np.flatnonzero(cpu).tolist():
        own[snapshot.tenants[t]][CPU] += int(cpu[t])
    return _summed(book, own)


def _summed(book: Book, own: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, Fraction]]:
    found: dict[str, dict[str, Fraction]] = {}
    for tenant in sorted(own):
        for name in [account.name for account in book.tree.line(tenant)] or [tenant]:
            sums = found.setdefault(name, {})
            for resource, milli in own[tenant].items():
                sums[resource] = sums.get(resource, Fraction(0)) + milli
    return found


def decayed(book: Book, past: Iterable[Past], now_s: int, half_life_s: int) -> dict[str, dict[str, Fraction]]:
    """The mean of past use in which an instant counts half as much as one a half-life later.

    With u(t) the use, h the half-life: mean = (ln 2 / h) * integral of u(t) * 2^(-(now - t) / h) dt, which for constant
    use u from a to b is u * (2^(-(now - b) / h) - 2^(-(now - a) / h)).  Constant use for ever gives itself.
    """
    own: dict[str, dict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for row in past:
        begin, end = min(row.from_s, now_s), min(row.to_s, now_s)
        part = 2.0 ** (-(now_s - end) / half_life_s) - 2.0 ** (-(now_s - begin) / half_life_s)
        own[row.tenant][row.resource] += row.milli * Fraction(max(0.0, part))
    found: dict[str, dict[str, Fraction]] = {}
    for tenant in sorted(own):
        for name in [account.name for account in book.tree.line(tenant)] or [tenant]:
            sums = found.setdefault(name, {})
            for resource, milli in own[tenant].items():
                sums[resource] = sums.get(resource, Fraction(0)) + milli
    return found


def mixed(now: Uses, past: Uses, past_percent: int) -> dict[str, dict[str, Fraction]]:
    """Present and past use, ``past_percent`` of it the past's."""
    part = Fraction(past_percent, 100)
    found: dict[str, dict[str, Fraction]] = {}
    for weight, uses in ((1 - part, now), (part, past)):
        for account, amounts in uses.items():
            sums = found.setdefault(account, {})
            for resource, milli in amounts.items():
                sums[resource] = sums.get(resource, Fraction(0)) + weight * milli
    return found


def share(account: Account | None, use: Mapping[str, Fraction], capacity: Mapping[str, int]) -> Share:
    """Of one account; a resource that no node has is in nobody's share."""
    weight = DEFAULT_WEIGHT if account is None or account.weight is None else account.weight
    parts = [(milli / capacity[name], name) for name, milli in use.items() if milli and capacity.get(name)]
    if not parts:
        return Share(Fraction(0), "", weight)
    most, resource = max(parts, key=lambda part: (part[0], part[1]))
    return Share(None if weight == 0 else most / weight, resource, weight)


def shares(book: Book, uses: Uses, capacity: Mapping[str, int]) -> dict[str, Share]:
    """Of all accounts, and of tenants without a record that use something."""
    names = sorted({*book.tree.accounts, *uses})
    return {name: share(book.tree.accounts.get(name), uses.get(name, {}), capacity) for name in names}
