"""Writing a reading down: its place in the order of all readings, its cells, and the notice of it."""

import hashlib
import json
import uuid
from datetime import datetime
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import F, OuterRef, Subquery

from console.inventory.cells import Cells, layout_of, pack_columns, unpack_columns
from console.inventory.choices import MEASURES, STORED, SourceState
from console.inventory.models import Counter, FleetLayout, Layout, Observation, Source, Unheld
from console.inventory.services.notices import tell_of_reading
from scheduler.cluster.snapshot import ORPHAN, UNKNOWN, Snapshot

KEPT_WARNINGS = 200


class Overtaken(Exception):
    """Another reader has the source now, or it is gone: what this one read may be older than what is there."""


@transaction.atomic
def record(
    source: Source,
    claim: uuid.UUID,
    snapshot: Snapshot,
    begun_at: datetime,
    version: str,
    columns: Cells | None,
    gpu_states: Cells | None,
    unheld: Unheld | None = None,
    doubt: str = "",
) -> Observation:
    """One new row, after all rows that are committed: the order of revisions is the order of commits.

    Raises ``Overtaken`` where ``claim`` is no longer that of the source.
    """
    _hold(source, claim)
    revision = _next_revision()
    observation = Observation(
        revision=revision,
        source=source,
        digest=snapshot.digest,
        taken_at=datetime.fromisoformat(snapshot.taken_at),
        begun_at=begun_at,
        observed_at=begun_at,
        counts=_counts(snapshot),
        unheld=unheld,
        warnings=list(snapshot.warnings[:KEPT_WARNINGS]),
    )
    if columns is not None and gpu_states is not None:
        _draw(observation, snapshot, columns, gpu_states)
    observation.save(force_insert=True)
    _note_success(source, begun_at, version, doubt)
    if observation.columns is not None:
        _announce("snapshot.taken", observation, source, changed=observation.changed)
    return observation


@transaction.atomic
def confirm(
    source: Source,
    claim: uuid.UUID,
    last: Observation,
    begun_at: datetime,
    version: str = "",
    unheld: Unheld | None = None,
    doubt: str = "",
) -> Observation:
    """The source reports what it reported before: only the age changes, and perhaps what the format cannot hold.

    Raises ``Overtaken`` where ``claim`` is no longer that of the source.
    """
    _hold(source, claim)
    last.observed_at = begun_at
    last.unheld = unheld or last.unheld
    Observation.objects.filter(pk=last.pk).update(observed_at=begun_at, unheld=last.unheld)
    _note_success(source, begun_at, version or source.version, doubt)
    _announce("snapshot.confirmed", last, source, changed=0)
    return last


def _hold(source: Source, claim: uuid.UUID) -> None:
    """Nobody takes the source over until this transaction ends.  Before the counter, as all who need both."""
    if not Source.objects.select_for_update().filter(pk=source.pk, claim=claim).exists():
        raise Overtaken


def redraw(source: Source) -> Observation | None:
    """The newest reading once more under a number of its own, since the source has another place among the others.

    Its instants stay: nothing was read.  What was drawn before keeps the order that it was drawn in.  Call it within
    the transaction that changes the source.  None before the first reading.
    """
    drawn = Observation.objects.filter(source=source, columns__isnull=False)
    if not drawn.exists():
        return None
    revision = _next_revision()  # nobody records until this transaction ends
    again = drawn.select_related("layout", "unheld").get(pk=drawn.values_list("pk", flat=True)[:1])
    again.pk, again.changed = revision, 0
    _join_fleet(again)
    again.save(force_insert=True)
    _announce("snapshot.taken", again, source, changed=0)
    return again


def _announce(kind: str, observation: Observation, source: Source, **fields: Any) -> None:
    tell_of_reading(
        kind,
        observation.revision,
        source=source.name,
        nodes=observation.counts["nodes"],
        layout=observation.fleet_layout_id,
        observed_at=observation.observed_at.isoformat(),
        period_s=source.period_s,
        **fields,
    )


def _note_success(source: Source, begun_at: datetime, version: str, doubt: str) -> None:
    """``doubt``: what the source says now and is not believed; the reading is what it said before."""
    state = SourceState.SUSPICIOUS if doubt else SourceState.LIVE
    told = {"last_error": doubt[:2000], **({"last_error_at": begun_at} if doubt != source.last_error else {})}
    Source.objects.filter(pk=source.pk).update(
        state=state, failures=0, last_observed_at=begun_at, version=version, **(told if doubt else {"last_error": ""})
    )


def _counts(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "nodes": len(snapshot.node_name),
        "pods": len(snapshot.pod_name),
        "live_pods": int(snapshot.pod_live.sum()),
        "pending_pods": int((snapshot.pod_node == UNKNOWN).sum()),
        "orphans": int((snapshot.pod_node == ORPHAN).sum()),
        "unlabelled": int((snapshot.node_domain == UNKNOWN).sum()),
        "gpus": int(snapshot.node_gpus.sum()),
        "clusters": [cluster.name for cluster in snapshot.clusters],
        "tenants": sorted(snapshot.tenants),
    }


def _draw(observation: Observation, snapshot: Snapshot, columns: Cells, gpu_states: Cells) -> None:
    """Cells in map order, with the layout they are for and how many differ from the reading before."""
    cells = layout_of(snapshot)
    ordered = columns[:, cells.order]
    observation.layout = Layout.objects.get_or_create(
        digest=cells.digest,
        defaults={"groups": cells.groups, "names": pack_text(cells.names), "nodes": len(cells.order)},
    )[0]
    observation.changed = _changed(observation, ordered)
    observation.columns = pack_columns(ordered)
    observation.gpu_states = pack_columns(_gpus_in_order(gpu_states, snapshot, cells.order))
    _join_fleet(observation)


def pack_text(text: bytes) -> bytes:
    return pack_columns(np.frombuffer(text, dtype=np.uint8))


def _gpus_in_order(states: Cells, snapshot: Snapshot, order: "np.ndarray[Any, Any]") -> Cells:
    ends = np.cumsum(snapshot.node_gpus)
    parts = [states[ends[node] - snapshot.node_gpus[node] : ends[node]] for node in order]
    return np.concatenate(parts) if parts else states


def _changed(observation: Observation, ordered: Cells) -> int:
    before = Observation.objects.filter(source=observation.source, columns__isnull=False).first()
    if before is None or before.columns is None or before.layout_id != observation.layout_id:
        return int(ordered.shape[1])
    shown = len(MEASURES)
    changed = (unpack_columns(bytes(before.columns), len(STORED))[:shown] != ordered[:shown]).any(axis=0)
    return int(changed.sum())


def _join_fleet(observation: Observation) -> None:
    """What all sources show as of this revision: for each its newest drawn reading, sources by name."""
    drawn = Observation.objects.filter(source=OuterRef("pk"), columns__isnull=False).order_by("-revision")
    others = (
        Source.objects.exclude(pk=observation.source_id)
        .annotate(seen=Subquery(drawn.values("revision")[:1]), places=Subquery(drawn.values("layout_id")[:1]))
        .filter(seen__isnull=False)
        .values_list("name", "pk", "seen", "places")
    )
    name = Source.objects.values_list("name", flat=True).get(pk=observation.source_id)  # it may have been renamed
    mine = (name, observation.source_id, observation.revision, observation.layout_id)
    sources = sorted([*others, mine])
    members = [[name, layout] for name, _, _, layout in sources]
    digest = hashlib.sha256(json.dumps(members).encode()).hexdigest()
    observation.fleet = [[pk, revision] for _, pk, revision, _ in sources]
    observation.fleet_layout = FleetLayout.objects.get_or_create(digest=digest, defaults={"members": members})[0]


def _next_revision() -> int:
    """The next number of the one order of readings.  Holds the counter until the transaction ends."""
    Counter.objects.get_or_create(name="revision")
    Counter.objects.filter(name="revision").update(value=F("value") + 1)
    return Counter.objects.get(name="revision").value
