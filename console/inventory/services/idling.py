"""Allocated but idle: GPU-seconds by owner, summed hour by hour as readings come in.

Only what is known counts.  A device's time is *observed* while its use was measured and it is known which pod holds it;
it is *idle* while its SMs were busy for less than the source's threshold.  Pods that are asleep are left out: they are
reserved, and may be lent.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from console.inventory import archive
from console.inventory.models import IdleSlot, Observation, Source
from console.inventory.selectors.devices import known_devices
from console.inventory.selectors.pods import workload_name
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Snapshot

IDLE_BELOW = 5  # percent of SMs, where the source says nothing else
HOUR = timedelta(hours=1)
GAP_S, GAP_PERIODS = 60, 6  # after so long without a reading nothing is known of the time between
LONGEST = 253  # characters of a name
MOST = 1_000  # rows of one source and hour; then rows by tenant, and after twice as many a single one


class Owner(NamedTuple):
    """Whose: the names as the snapshot has them, "" where nobody says."""

    cluster: str
    tenant: str
    namespace: str
    workload: str
    rest: bool = False


class Tally(NamedTuple):
    """GPUs at one moment."""

    allocated: float = 0.0
    observed: float = 0.0
    idle: float = 0.0

    def __add__(self, other: "Tally") -> "Tally":  # type: ignore[override]
        return Tally(self.allocated + other.allocated, self.observed + other.observed, self.idle + other.idle)

    def times(self, seconds: float) -> "Tally":
        return Tally(self.allocated * seconds, self.observed * seconds, self.idle * seconds)


def add_up(before: Observation, after: Observation) -> None:
    """What held when ``before`` was begun held until ``after`` was, or for as long as anybody said so."""
    source = after.source
    watched = isinstance(source.config, dict) and source.config.get("telemetry")
    try:
        tallies = _tallies(before.digest, idle_below(source))
    except archive.GoneError:
        return
    if not watched and not any(tally.observed for tally in tallies.values()):
        return
    for hour, seconds in hours_between(*span_of(before, after)):
        _add(source, hour, {owner: tally.times(seconds) for owner, tally in tallies.items()})


def span_of(before: Observation, after: Observation) -> tuple[datetime, datetime]:
    """From when until when ``before`` stood: until ``after``, where the silence between them was short enough."""
    silent_s = (after.begun_at - before.observed_at).total_seconds()
    return before.begun_at, after.begun_at if silent_s <= longest_gap_s(after.source) else before.observed_at


def idle_below(source: Source) -> int:
    """Percent of SMs below which a device of this source is idle."""
    telemetry = source.config.get("telemetry") if isinstance(source.config, dict) else None
    return int((telemetry or {}).get("idle_below", IDLE_BELOW))


def longest_gap_s(source: Source) -> float:
    return max(GAP_S, GAP_PERIODS * source.period_s)


@lru_cache(maxsize=32)
def _tallies(digest: str, below: int) -> dict[Owner, Tally]:
    return tally(archive.load(digest), below)


def tally(snapshot: Snapshot, below: int) -> dict[Owner, Tally]:
    """GPUs held now, by owner.  ``below`` in percent."""
    holds = snapshot.pod_live & (snapshot.pod_node >= 0) & (snapshot.pod_gpus > 0)
    found: defaultdict[Owner, Tally] = defaultdict(Tally)
    owners: dict[int, Owner] = {}
    for pod in np.flatnonzero(holds & ~snapshot.pod_standby).tolist():
        owners[pod] = _owner(snapshot, pod)
        found[owners[pod]] += Tally(int(snapshot.pod_gpus[pod]) * _share(snapshot, pod))
    for pod, used in _uses(snapshot, holds, owners):
        found[owners[pod]] += Tally(0.0, _share(snapshot, pod), _share(snapshot, pod) if used < below else 0.0)
    return dict(found)


def _uses(
    snapshot: Snapshot, holds: "np.ndarray[tuple[int], np.dtype[np.bool_]]", owners: Mapping[int, Owner]
) -> Iterator[tuple[int, int]]:
    """(pod, percent) for each device that was measured and whose holder is known."""
    by_node: defaultdict[int, list[int]] = defaultdict(list)
    for pod in np.flatnonzero(holds).tolist():
        by_node[int(snapshot.pod_node[pod])].append(pod)
    for node, devices in snapshot.node_devices.items():
        use = {one.index: one.utilisation.sm for one in devices if one.utilisation is not None and not one.mig}
        if not use or node not in by_node:
            continue
        for pod, held in known_devices(snapshot, node, by_node[node]).items():
            if pod in owners:
                told = (use.get(index) for index in held[: int(snapshot.pod_gpus[pod])])
                yield from ((pod, percent) for percent in told if percent is not None)


def _share(snapshot: Snapshot, pod: int) -> float:
    return int(snapshot.pod_gpu_milli[pod]) / WHOLE_GPU_MILLI


def _owner(snapshot: Snapshot, pod: int) -> Owner:
    tenant = int(snapshot.pod_tenant[pod])
    return Owner(
        snapshot.clusters[snapshot.pod_cluster[pod]].name[:LONGEST],
        (snapshot.tenants[tenant] if tenant != UNKNOWN else "")[:LONGEST],
        snapshot.namespaces[snapshot.pod_namespace[pod]][:LONGEST],
        (workload_name(snapshot.pod_specs[snapshot.pod_spec[pod]]) or "")[:LONGEST],
    )


def hours_between(start: datetime, end: datetime) -> Iterator[tuple[datetime, float]]:
    """The hours of UTC between two instants, each with the seconds that fall into it."""
    while start < end:
        hour = start.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        stop = min(end, hour + HOUR)
        yield hour, (stop - start).total_seconds()
        start = stop


def _add(source: Source, hour: datetime, amounts: Mapping[Owner, Tally]) -> None:
    """Under the lock of the source: two workers may never sum up into the same row at once."""
    Source.objects.select_for_update().get(pk=source.pk)
    there = {_key(row): row for row in IdleSlot.objects.filter(source=source, began_at=hour)}
    new: dict[Owner, IdleSlot] = {}
    changed: dict[Owner, IdleSlot] = {}
    for owner, amount in sorted(amounts.items(), key=lambda item: (-item[1].allocated, item[0])):
        place = _place(owner, there.keys() | new.keys())
        row = there.get(place) or new.get(place)
        if row is None:
            row = new[place] = IdleSlot(source=source, began_at=hour, **place._asdict())
        elif place in there:
            changed[place] = row
        row.allocated_gpu_s += amount.allocated
        row.observed_gpu_s += amount.observed
        row.idle_gpu_s += amount.idle
    IdleSlot.objects.bulk_create(new.values())
    IdleSlot.objects.bulk_update(changed.values(), ["allocated_gpu_s", "observed_gpu_s", "idle_gpu_s"], batch_size=200)


def _key(row: IdleSlot) -> Owner:
    return Owner(row.cluster, row.tenant, row.namespace, row.workload, row.rest)


def _place(owner: Owner, taken: "set[Owner]") -> Owner:
    """Its own row while there is room, else the one of its tenant, else that of everybody."""
    if owner in taken or len(taken) < MOST:
        return owner
    tenants = Owner(owner.cluster, owner.tenant, "", "", rest=True)
    return tenants if tenants in taken or len(taken) < 2 * MOST else Owner("", "", "", "", rest=True)
