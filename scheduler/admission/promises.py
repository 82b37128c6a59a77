"""Run times that are promised to borrowers: what runs on borrowed GPUs is left alone for so long, whoever owns them.

Borrowed is what a tenant's LP pods hold beyond its own quota of a model: of those pods the ones of lowest priority,
then the youngest, as far as what is borrowed reaches; a gang counts as one and is as young as its youngest member.  A
pod's own promise stays where it is longer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduler.admission.jobs import Job
from scheduler.admission.quota import Book, Borrower
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Snapshot

Unit = tuple[int, ...]  # pods that are stopped together, rows


@dataclass(frozen=True, slots=True)
class Lent:
    """What borrowers hold of a claimant's share of the models that it accepts; thousandths of GPUs.

    ``until_s``: when the last promise of them is over; None: somebody's start is unknown, or nothing is protected.
    """

    borrowed_milli: int
    protected_milli: int
    until_s: int | None

    def words(self, now_s: int) -> str:
        """A sentence; "" where nothing is protected."""
        if not self.protected_milli:
            return ""
        until = "nobody knows until when" if self.until_s is None else f"for at most {_span(self.until_s - now_s)} more"
        return (
            f" {self.protected_milli / 1000:g} of {self.borrowed_milli / 1000:g} GPUs that others borrow of its share"
            f" are protected {until}: a minimum run time was promised."
        )

    @property
    def numbers(self) -> dict[str, int | str | None]:
        return {
            "borrowed_milli": self.borrowed_milli, "protected_milli": self.protected_milli,
            "protected_until_s": self.until_s,
        }  # fmt: skip


def _span(seconds: int) -> str:
    """Up to ten minutes in seconds, up to two hours in minutes, then in hours; rounded up, as "at most" asks."""
    for unit, length, upto in (("s", 1, 600), ("min", 60, 7200)):
        if seconds <= upto:
            return f"{-(-seconds // length):,} {unit}"
    return f"{-(-seconds // 3600):,} h"


def borrowed_units(snapshot: Snapshot, borrower: Borrower, model: str, leaving: Bools) -> list[Unit]:
    """LP pods on nodes of the model that hold what the tenant borrows, gangs whole; the first to give back first.

    No further than the pod, or gang, with which the tenant no longer borrows.
    """
    here = snapshot.pod_live & snapshot.pod_lp & ~leaving
    here &= snapshot.pod_tenant == snapshot.tenants.index(borrower.tenant)
    rows = np.flatnonzero(here)
    rows = rows[snapshot.node_model[snapshot.pod_node[rows]] == snapshot.models.index(model)]
    units: dict[int, list[int]] = {}
    for p in rows.tolist():
        gang = int(snapshot.pod_gang[p])
        units.setdefault(-2 - p if gang == UNKNOWN else gang, []).append(p)
    started = np.where(snapshot.pod_started_s == ABSENT, 0, snapshot.pod_started_s)
    ordered = sorted(
        units.values(), key=lambda pods: (int(snapshot.pod_priority[pods].max()), -int(started[pods].max()), pods)
    )
    chosen: list[Unit] = []
    excess = borrower.excess_milli
    for pods in ordered:
        if excess <= 0:
            break
        chosen.append(tuple(pods))
        excess -= _milli(snapshot, pods)
    return chosen


def promised(snapshot: Snapshot, book: Book) -> Snapshot:
    """The snapshot in which every borrower has what its tenant was promised; for judging alone: its digest is old.

    ``book``: of when those who are leaving have left.
    """
    if not book.min_runtime_s:
        return snapshot
    until = np.full(len(snapshot.pod_name), ABSENT, np.int64)
    for unit, promise in _promises(snapshot, book):
        starts = snapshot.pod_started_s[list(unit)]
        longest = promise if (starts == ABSENT).any() else int(starts.max()) + promise - starts
        until[list(unit)] = np.maximum(until[list(unit)], longest)
    return replace(snapshot, pod_min_runtime_s=np.maximum(snapshot.pod_min_runtime_s, until))


def _promises(snapshot: Snapshot, book: Book) -> Iterator[tuple[Unit, int]]:
    leaving = snapshot.pod_live & snapshot.pod_terminating
    for tenant in sorted(book.min_runtime_s.keys() & set(snapshot.tenants) & book.tree.accounts.keys()):
        for model in snapshot.models:
            excess, lp = book.excess(tenant, model)
            if excess > 0 and lp:
                borrower = Borrower(tenant, excess, min(excess, lp))
                for unit in borrowed_units(snapshot, borrower, model, leaving):
                    yield unit, book.min_runtime_s[tenant]


def lent_of(snapshot: Snapshot, job: Job, book: Book, now_s: int) -> Lent | None:
    """What others borrow of the share that the job would use; None: it would borrow itself, or nobody does."""
    leaving = snapshot.pod_live & snapshot.pod_terminating
    models = [m for m in job.models if m in snapshot.models] or list(snapshot.models)
    units = {
        unit: book.min_runtime_s.get(one.tenant, 0)
        for model in models
        for one in book.borrowers(job.tenant, model, job.gpu_milli)
        if one.tenant in snapshot.tenants
        for unit in borrowed_units(snapshot, one, model, leaving)
    }
    if job.lp or not units:
        return None
    ends = {unit: _until(snapshot, unit, promise) for unit, promise in units.items()}
    kept = [unit for unit, end in ends.items() if end is None or end > now_s]
    known = [end for unit in kept if (end := ends[unit]) is not None]
    milli = {unit: _milli(snapshot, unit) for unit in units}
    last = max(known) if known and len(known) == len(kept) else None
    return Lent(sum(milli.values()), sum(milli[unit] for unit in kept), last)


def _until(snapshot: Snapshot, unit: Unit, promise: int) -> int | None:
    """When the promise to the unit is over, 0 without one; None: its start is unknown."""
    own = snapshot.pod_min_runtime_s[list(unit)]
    longest = np.maximum(np.where(own == ABSENT, 0, own), promise)
    starts = snapshot.pod_started_s[list(unit)]
    if not longest.any():
        return 0
    if (starts[longest > 0] == ABSENT).any() or (promise and (starts == ABSENT).any()):
        return None
    return max(int((starts + np.where(own == ABSENT, 0, own)).max()), int(starts.max()) + promise)


def _milli(snapshot: Snapshot, pods: Sequence[int]) -> int:
    rows = list(pods)
    return int((snapshot.pod_gpus[rows].astype(np.int64) * snapshot.pod_gpu_milli[rows]).sum())
