"""The pods of leases in one reading, by the label that their launch gave them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from scheduler.cluster.snapshot import ABSENT, Snapshot

LABEL = "slackline.io/lease"


@dataclass(frozen=True, slots=True)
class Sighting:
    """A pod of a lease; instants are told by the reading, None where it says nothing."""

    lease: str  # uid
    pod: str  # namespace/name
    uid: str
    node: str
    ready: bool  # its node is
    noticed_at: datetime | None  # it has notice to leave
    kill_at: datetime | None
    checkpoint_at: datetime | None


def sightings(snapshot: Snapshot, observed_at: datetime, uids: Collection[str]) -> dict[str, Sighting]:
    """By pod, those of the leases of these uids; live pods only."""
    wanted = {
        index: uid
        for index, spec in enumerate(snapshot.pod_specs)
        for key, uid in spec.labels
        if key == LABEL and uid in uids
    }
    if not wanted:
        return {}
    rows = np.flatnonzero(snapshot.pod_live & np.isin(snapshot.pod_spec, list(wanted)))
    found = (_sighting(snapshot, int(p), observed_at, wanted[int(snapshot.pod_spec[p])]) for p in rows)
    return {one.pod: one for one in found}


def _sighting(snapshot: Snapshot, p: int, observed_at: datetime, uid: str) -> Sighting:
    node = int(snapshot.pod_node[p])
    deleted_s, grace_s = int(snapshot.pod_deleted_at_s[p]), int(snapshot.pod_grace_s[p])
    noticed_at = _instant(snapshot, deleted_s, observed_at)
    if noticed_at is None and snapshot.pod_terminating[p]:
        noticed_at = observed_at
    return Sighting(
        lease=uid,
        pod=snapshot.pod_key(p),
        uid=snapshot.pod_uid[p],
        node=snapshot.node_name[node],
        ready=bool(snapshot.node_ready[node]),
        noticed_at=noticed_at,
        kill_at=None if noticed_at is None or grace_s == ABSENT else noticed_at + timedelta(seconds=grace_s),
        checkpoint_at=_instant(snapshot, int(snapshot.pod_checkpoint_s[p]), observed_at),
    )


def _instant(snapshot: Snapshot, second: int, observed_at: datetime) -> datetime | None:
    return None if second == ABSENT else observed_at + timedelta(seconds=second - snapshot.now_s)
