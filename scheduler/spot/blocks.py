"""Sleepers that can only be called together: whoever leaves for one of them is of a gang that leaves for another."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.occupancy import borrowers
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.performance.leaving import Leaving
from scheduler.performance.stopping import StopCosts, law_for
from scheduler.placement.prey import Prey


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Compared by identity.  ``ends``: (sleeper, end of its window)."""

    ends: tuple[tuple[str, int], ...]
    leavers: tuple[int, ...]  # rows
    laws: tuple[Leaving, ...]  # of those who leave
    gangs: int  # that end whole
    gpu_milli: int  # of the sleepers
    leaver_milli: int
    state_mib: int  # written on notice
    protected: bool  # somebody who leaves is locked, or within a guaranteed run time

    @property
    def sleepers(self) -> tuple[str, ...]:
        return tuple(pod for pod, _ in self.ends)

    @property
    def first_end_s(self) -> int:
        return min(end for _, end in self.ends)

    @property
    def end_s(self) -> int:
        return max(end for _, end in self.ends)


def blocks_of(
    snapshot: Snapshot, prey: Prey, ends: Mapping[str, int], costs: StopCosts, cluster: str | None = None
) -> tuple[Block, ...]:
    """In the order of their first sleepers' names; sleepers that do not sleep, and those unknown, are left out."""
    sleeps = snapshot.pod_live & snapshot.pod_standby
    if cluster is not None:
        sleeps &= np.array([one.name == cluster for one in snapshot.clusters], np.bool_)[snapshot.pod_cluster]
    rows = {snapshot.pod_key(p): p for p in np.flatnonzero(sleeps).tolist()}
    asleep = {rows[pod]: pod for pod in sorted(ends) if pod in rows}
    lent: dict[int, list[int]] = {}
    for p in borrowers(snapshot).tolist():
        if not snapshot.pod_terminating[p]:
            lent.setdefault(int(snapshot.pod_lender[p]), []).append(p)
    group = {sleeper: sleeper for sleeper in asleep}

    def root(one: int) -> int:
        while group[one] != one:
            group[one] = group[group[one]]
            one = group[one]
        return one

    owners: dict[int, list[int]] = {}  # gang -> sleepers that its members borrow from
    for sleeper in asleep:
        for p in lent.get(sleeper, ()):
            owners.setdefault(int(snapshot.pod_gang[p]), []).append(sleeper)
    owners.pop(UNKNOWN, None)
    for some in owners.values():
        for other in some[1:]:
            one, two = sorted((root(some[0]), root(other)))
            group[two] = one
    together: dict[int, list[int]] = {}
    for sleeper in asleep:
        together.setdefault(root(sleeper), []).append(sleeper)
    found = [_block(snapshot, prey, costs, some, lent, asleep, ends) for some in together.values()]
    return tuple(sorted(found, key=lambda one: one.sleepers))


def _block(
    snapshot: Snapshot, prey: Prey, costs: StopCosts, some: list[int], lent: Mapping[int, list[int]],
    asleep: Mapping[int, str], ends: Mapping[str, int],
) -> Block:  # fmt: skip
    leavers = {p for sleeper in some for p in lent.get(sleeper, ())}
    gangs = 0
    for gang in sorted({int(snapshot.pod_gang[p]) for p in leavers} - {UNKNOWN}):
        members = np.flatnonzero(snapshot.pod_live & ~snapshot.pod_terminating & (snapshot.pod_gang == gang)).tolist()
        if len(leavers.intersection(members)) > prey.spare[gang]:
            leavers.update(members)
            gangs += 1
    order, stops = sorted(leavers), prey.stops
    gpus = snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli
    writes = [p for p in order if stops.on_notice[p]]
    return Block(
        ends=tuple(sorted((asleep[sleeper], ends[asleep[sleeper]]) for sleeper in some)),
        leavers=tuple(order),
        laws=tuple(law_for(snapshot, stops, p, costs) for p in order),
        gangs=gangs,
        gpu_milli=int(gpus[some].sum()),
        leaver_milli=int(gpus[order].sum()) if order else 0,
        state_mib=round(float(stops.state_mib[writes].sum())) if writes else 0,
        protected=bool((prey.guarded | snapshot.pod_locked)[order].any()) if order else False,
    )
