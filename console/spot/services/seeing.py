"""What the newest readings and the standby room tell of the pods of leases."""

from collections.abc import Iterable
from datetime import datetime

import numpy as np

from console.inventory import services as inventory
from console.inventory.models import Source
from console.prices.selectors import Quote, quote_of
from console.spot.models import Run
from console.spot.services.reclaiming import Told, awaiting_hand_over, handed_over
from console.spot.services.running import Recalled, Seen
from console.spot.services.sightings import sightings
from console.standby.selectors import endings_of
from scheduler.cluster.snapshot import Snapshot


def seen_of(source: Source, runs: Iterable[Run]) -> Seen | None:
    """The newest reading as far as these runs are concerned; None where there is none that is kept."""
    found = inventory.newest(source)
    if found is None:
        return None
    reading, snapshot = found
    uids = frozenset(str(run.lease.uid) for run in runs)
    unready = frozenset(snapshot.node_name[n] for n in np.flatnonzero(~snapshot.node_ready).tolist())
    awake = _awake(snapshot, {seat.lent_by for run in runs for seat in run.seats.all() if seat.lent_by})
    return Seen(reading.begun_at, reading.observed_at, sightings(snapshot, reading.observed_at, uids), unready, awake)


def _awake(snapshot: Snapshot, lenders: set[str]) -> frozenset[str]:
    """Those of the lenders that do not sleep, or are gone."""
    if not lenders:
        return frozenset()
    asleep = {snapshot.pod_key(p) for p in np.flatnonzero(snapshot.pod_standby).tolist()}
    return frozenset(lenders - asleep)


def recalls_of(runs: Iterable[Run]) -> dict[str, list[Recalled]]:
    """By the uid of the lease, the ends that recalls told."""
    by_uid = {str(run.lease.uid): run for run in runs}
    found: dict[str, list[Recalled]] = {}
    for one in endings_of(list(by_uid)):
        told = Told(
            pod=one.pod, noticed_at=one.noticed_at, kill_at=one.due_at, hook_ended_at=one.hook_ended_at,
            ended_at=one.ended_at, killed=one.killed if one.ended_at is not None else None,
            checkpoint_at=one.checkpoint_at, serving_at=one.serving_at,
        )  # fmt: skip
        own = one.claimant_tenant == by_uid[one.lease].lease.tenant
        found.setdefault(one.lease, []).append(Recalled(told, one.claimant, own, one.recall_id))
    return found


def quote_for(run: Run) -> Quote:
    """The price in force of the model on which it runs, and what is announced."""
    return quote_of(run.gpu_model)


def note_hand_overs(now: datetime) -> None:
    """Claimants that serve again since the last look."""
    rows = list(awaiting_hand_over(now))
    if not rows:
        return
    serving = {one.recall_id: one.serving_at for one in endings_of([str(row.lease.uid) for row in rows])}
    for row in rows:
        at = serving.get(row.detail.get("recall"))
        if at is not None:
            handed_over(row, at)
