"""What locks hold, by owner: kept up to date with every measured reading, and summed hour by hour.

A node is *kept* by a lock where it is in use, has free GPUs, and nothing but locked pods stands in the way of emptying
it; its free GPUs are *stranded* by the lock.  Whether its other pods would find room elsewhere is a plan's business.  A
node that several workloads lock belongs to none of them: it stands in a row of their tenant, or of nobody in
particular, so that each node is counted once.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from console.inventory import archive
from console.inventory.choices import LockShare
from console.inventory.models import LockSlot, Observation, OwnerLock, Source
from console.inventory.selectors.pods import workload_name
from console.inventory.services.idling import LONGEST, hours_between, span_of
from scheduler.cluster.mobility import immovable
from scheduler.cluster.reasons import IMMOVABLE
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Snapshot

MOST = 1_000  # rows of one source; then rows by tenant, and after twice as many a single one
LISTED = 5  # words of a row: who locks, and why
LONGEST_WORD = 200
LOCKED, AGENT = IMMOVABLE.index("locked"), IMMOVABLE.index("agent")
AMOUNTS = ("pods", "held_milli", "kept_nodes", "kept_gpus", "stranded_gpus", "locked_by", "reasons", "until")
WRITTEN = (*AMOUNTS, "open_ended", "ended_at", "revision", "since", "since_known")

type Numbers = NDArray[np.int64]


class Holder(NamedTuple):
    """Whose locks: the names as the snapshot has them, "" where nobody says."""

    cluster: str
    tenant: str
    namespace: str
    workload: str
    share: str = LockShare.WORKLOAD.value


@dataclass(slots=True)
class Held:
    """What one holder's locks hold at one moment.  ``until`` is the last end that a pod names."""

    pods: int = 0
    held_milli: int = 0
    kept_nodes: int = 0
    kept_gpus: int = 0
    stranded_gpus: int = 0
    locked_by: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    until: datetime | None = None
    open_ended: bool = False

    def add(self, other: "Held") -> None:
        for name in ("pods", "held_milli", "kept_nodes", "kept_gpus", "stranded_gpus"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.locked_by = _few((*self.locked_by, *other.locked_by))
        self.reasons = _few((*self.reasons, *other.reasons))
        self.until = max((end for end in (self.until, other.until) if end is not None), default=None)
        self.open_ended = self.open_ended or other.open_ended


def follow(before: Observation | None, after: Observation) -> None:
    """Sums up what held since ``before`` was begun, and keeps what ``after`` shows.

    Does nothing where a snapshot is no longer kept: what is not known is no zero.
    """
    try:
        found = _tallies(after.digest)
        earlier = None if before is None else _tallies(before.digest)
    except archive.GoneError:
        return
    Source.objects.select_for_update().get(pk=after.source_id)  # two workers never write its rows at once
    rows = {_key(row): row for row in OwnerLock.objects.filter(source=after.source_id)}
    if earlier is not None and before is not None:
        _sum_up(before, after, earlier, rows)
    _keep(after, _placed(found, rows), rows, None if earlier is None else earlier.keys())


@lru_cache(maxsize=32)
def _tallies(digest: str) -> Mapping[Holder, Held]:
    return tally(archive.load(digest))


def tally(snapshot: Snapshot) -> dict[Holder, Held]:
    """What is locked now, by holder.  Node agents are nobody's lock: they go with their node."""
    pods = np.flatnonzero(snapshot.pod_live & snapshot.pod_locked & ~snapshot.pod_agent)
    if not pods.size:
        return {}
    holders, whose = _holders(snapshot, pods)
    found = {holder: Held() for holder in holders}
    milli = snapshot.pod_gpus[pods].astype(np.int64) * snapshot.pod_gpu_milli[pods]
    amounts = zip(_counted(whose, len(holders)), _counted(whose, len(holders), milli), strict=True)
    for holder, (count, held_milli) in zip(holders, amounts, strict=True):
        found[holder].pods, found[holder].held_milli = int(count), int(held_milli)
    _say(snapshot, pods, whose, [found[holder] for holder in holders])
    for node, holder in _kept(snapshot, pods, whose, holders):
        free, gpus = int(archive.occupancy_of(snapshot).free_gpus[node]), int(snapshot.node_allocatable[node])
        found.setdefault(holder, Held()).add(Held(kept_nodes=1, kept_gpus=gpus, stranded_gpus=free))
    return found


def _counted(whose: Numbers, size: int, weights: Numbers | None = None) -> Numbers:
    return np.bincount(whose, weights=weights, minlength=size).astype(np.int64)


def _holders(snapshot: Snapshot, pods: NDArray[np.intp]) -> tuple[list[Holder], Numbers]:
    """Each holder once, and for each of ``pods`` its place among them."""
    made: dict[str, int] = {}
    specs = np.array([made.setdefault(workload_name(spec) or "", len(made)) for spec in snapshot.pod_specs])
    columns = (snapshot.pod_cluster, snapshot.pod_tenant, snapshot.pod_namespace)
    keys = np.stack([*(column[pods].astype(np.int64) for column in columns), specs[snapshot.pod_spec[pods]]], axis=1)
    rows, whose = np.unique(keys, axis=0, return_inverse=True)
    names = list(made)
    found = [
        Holder(
            snapshot.clusters[cluster].name[:LONGEST],
            ("" if tenant == UNKNOWN else snapshot.tenants[tenant])[:LONGEST],
            snapshot.namespaces[space][:LONGEST],
            names[workload][:LONGEST],
        )
        for cluster, tenant, space, workload in rows.tolist()
    ]
    return found, whose.reshape(-1).astype(np.int64)


def _say(snapshot: Snapshot, pods: NDArray[np.intp], whose: Numbers, found: list[Held]) -> None:
    """Who locks, why and until when, in the words of the pods."""
    said = np.unique(np.stack([whose, snapshot.pod_spec[pods].astype(np.int64)], axis=1), axis=0)
    for place, spec in said.tolist():
        told = snapshot.pod_specs[spec]
        found[place].locked_by = _few((*found[place].locked_by, told.locked_by or ""))
        found[place].reasons = _few((*found[place].reasons, told.lock_reason or ""))
    ends = snapshot.pod_locked_until_s[pods]
    last = np.full(len(found), ABSENT)
    np.maximum.at(last, whose, ends)
    for place in np.unique(whose[ends == ABSENT]).tolist():
        found[place].open_ended = True
    for held, end_s in zip(found, last.tolist(), strict=True):
        held.until = None if end_s == ABSENT else _instant(snapshot, end_s)


def _instant(snapshot: Snapshot, second: int) -> datetime | None:
    """A second of the snapshot's own clock by ours; None for one that no calendar has."""
    try:
        return datetime.fromisoformat(snapshot.taken_at) + timedelta(seconds=second - snapshot.now_s)
    except OverflowError:
        return None


def _few(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word[:LONGEST_WORD] for word in dict.fromkeys(words) if word)[:LISTED]


def _kept(
    snapshot: Snapshot, pods: NDArray[np.intp], whose: Numbers, holders: list[Holder]
) -> Iterable[tuple[int, Holder]]:
    """(node, holder) of the nodes that nothing but locks keeps from being emptied."""
    free = archive.occupancy_of(snapshot).free_gpus
    codes = immovable(snapshot)
    stays = snapshot.pod_live & (codes != AGENT) & (codes != 0)
    others = np.unique(snapshot.pod_node[stays & (codes != LOCKED)])
    nodes = snapshot.pod_node[pods]
    wanted = snapshot.node_usable & (free > 0)
    wanted[others] = False
    chosen = (codes[pods] == LOCKED) & wanted[nodes]
    pairs = np.unique(np.stack([nodes[chosen].astype(np.int64), whose[chosen]], axis=1), axis=0)
    for node, group in groupby(pairs.tolist(), key=itemgetter(0)):
        yield node, _joint([holders[place] for _, place in group])


def _joint(holders: list[Holder]) -> Holder:
    """The one that stands for several: their tenant where they have one in common."""
    first = holders[0]
    if len(holders) == 1:
        return first
    if len({holder.tenant for holder in holders}) == 1:
        return Holder(first.cluster, first.tenant, "", "", LockShare.TENANT.value)
    return Holder(first.cluster, "", "", "", LockShare.MIXED.value)


# --- rows -----------------------------------------------------------------------------------------------------------
def _key(row: OwnerLock) -> Holder:
    return Holder(row.cluster, row.tenant, row.namespace, row.workload, row.share)


def _placed(found: Mapping[Holder, Held], there: Mapping[Holder, OwnerLock]) -> dict[Holder, Held]:
    """The holders that get a row: known ones and the largest; the others are summed up."""
    placed: dict[Holder, Held] = {}
    taken = set(there)
    for holder, held in sorted(found.items(), key=lambda item: (-item[1].stranded_gpus, -item[1].held_milli, item[0])):
        place = _place(holder, taken)
        taken.add(place)
        placed.setdefault(place, Held()).add(held)
    return placed


def _place(holder: Holder, taken: set[Holder]) -> Holder:
    if holder in taken or len(taken) < MOST:
        return holder
    tenants = Holder(holder.cluster, holder.tenant, "", "", LockShare.REST.value)
    return tenants if tenants in taken or len(taken) < 2 * MOST else Holder("", "", "", "", LockShare.REST.value)


def _keep(
    after: Observation,
    found: Mapping[Holder, Held],
    rows: dict[Holder, OwnerLock],
    earlier: Collection[Holder] | None,
) -> None:
    """Rows as this reading shows them; what is no longer locked ends with it.  ``earlier`` were there before it."""
    changed = []
    for holder, held in found.items():
        row = rows.get(holder)
        if row is None:
            row = rows[holder] = OwnerLock(source=after.source, **holder._asdict())
        if row.pk is None or row.ended_at is not None:
            was_free = row.pk is not None or (earlier is not None and holder not in earlier)
            row.since, row.since_known = after.begun_at, was_free
        if _set(row, held, after.revision):
            changed.append(row)
    for holder, row in rows.items():
        if holder not in found and row.ended_at is None:
            row.pods = row.held_milli = row.kept_nodes = row.kept_gpus = row.stranded_gpus = 0
            row.ended_at, row.revision = after.begun_at, after.revision
            changed.append(row)
    OwnerLock.objects.bulk_create([row for row in changed if row.pk is None])
    OwnerLock.objects.bulk_update([row for row in changed if row.pk is not None], WRITTEN, batch_size=100)


def _set(row: OwnerLock, held: Held, revision: int) -> bool:
    """Whether anything that people read is another than before."""
    values = {**{name: getattr(held, name) for name in AMOUNTS}, "open_ended": held.open_ended, "ended_at": None}
    values |= {"locked_by": list(held.locked_by), "reasons": list(held.reasons)}
    if row.pk is not None and all(getattr(row, name) == value for name, value in values.items()):
        return False
    for name, value in values.items():
        setattr(row, name, value)
    row.revision = revision
    return True


def _sum_up(
    before: Observation, after: Observation, earlier: Mapping[Holder, Held], rows: Mapping[Holder, OwnerLock]
) -> None:
    """GPU-seconds of what was held when ``before`` was begun, by the rows that it has made."""
    amounts = {
        rows[holder].pk: (held.stranded_gpus, held.held_milli / WHOLE_GPU_MILLI)
        for holder, held in _placed(earlier, rows).items()
        if holder in rows
    }
    for hour, seconds in hours_between(*span_of(before, after)):
        _add(after.source, hour, seconds, amounts)


def _add(source: Source, hour: datetime, seconds: float, amounts: Mapping[int, tuple[int, float]]) -> None:
    rows = LockSlot.objects.filter(began_at=hour, lock__source=source)
    there = {row.lock_id: row for row in rows if row.lock_id in amounts}
    new: list[LockSlot] = []
    for lock_id, (stranded, held) in amounts.items():
        row = there.get(lock_id)
        if row is None:
            new.append(row := LockSlot(lock_id=lock_id, began_at=hour))
        row.stranded_gpu_s += stranded * seconds
        row.held_gpu_s += held * seconds
    LockSlot.objects.bulk_create(new)
    LockSlot.objects.bulk_update(list(there.values()), ["stranded_gpu_s", "held_gpu_s"], batch_size=200)


def drop_old(hours: timedelta) -> None:
    """Hours that no page asks for, and locks that ended before them."""
    oldest = timezone.now() - hours
    LockSlot.objects.filter(began_at__lt=oldest).delete()
    OwnerLock.objects.filter(ended_at__lt=oldest).delete()
