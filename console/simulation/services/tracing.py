"""Traces of our own: files that people give, and the console's recorded readings of one cluster."""

import zlib
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
from django.db import transaction
from django.utils import timezone

from console.audit.services import record
from console.dispatch.services import enqueue
from console.inventory.models import Blob, Observation, Source
from console.live.services import publish
from console.rest.errors import Conflict, FieldError
from console.simulation import selectors
from console.simulation.choices import (
    MOST_BYTES,
    MOST_FILES,
    MOST_HOURS,
    MOST_READINGS,
    MOST_SEEN_PODS,
    MOST_TRACES,
    TraceKind,
    TraceState,
)
from console.simulation.models import Trace
from console.simulation.services.checking import checked_text
from console.simulation.services.studying import LIST_TOPIC
from console.tenancy.models import User
from console.tenancy.services import person, require

LEAST_READINGS = 2
SUFFIXES = (".csv", ".json")


@transaction.atomic
def receive_files(user: Any, name: str, files: Mapping[str, bytes]) -> Trace:
    """Keeps the files until a worker has read them.  Raises ``FieldError`` for what is no trace's, or is too much."""
    require(user, selectors.RUN)
    named = checked_text("name", name, 100, least=1)
    if not 1 <= len(files) <= MOST_FILES:
        raise FieldError("files", f"give 1 to {MOST_FILES} files")
    wrong = next((file for file in files if not file.endswith(SUFFIXES)), None)
    if wrong is not None:
        raise FieldError("files", f"{wrong[:100]} is neither .csv nor .json")
    empty = next((file for file, content in files.items() if not content.strip()), None)
    if empty is not None:
        raise FieldError("files", f"{empty[:100]} is empty")
    total = sum(map(len, files.values()))
    if total > MOST_BYTES:
        raise FieldError("files", f"together {total:,} bytes, more than the limit of {MOST_BYTES:,}")
    given = zlib.compress(msgspec.msgpack.encode(dict(files)))
    origin = {"files": [[file, len(content)] for file, content in sorted(files.items())]}
    return _kept(user, TraceKind.UPLOADED, named, origin, given)


@transaction.atomic
def record_trace(user: Any, *, name: str, source_id: int, cluster: str, hours: int) -> Trace:
    """The readings of one cluster of the last ``hours``, as a trace that stays when readings are dropped."""
    require(user, selectors.RUN)
    named = checked_text("name", name, 100, least=1)
    if isinstance(hours, bool) or not isinstance(hours, int) or not 1 <= hours <= MOST_HOURS:
        raise FieldError("hours", f"must be 1 to {MOST_HOURS}")
    source = Source.objects.filter(pk=source_id).first()
    if source is None:
        raise FieldError("cluster", "there is no such source")
    now = timezone.now()
    found = _readings(source_id, now - timedelta(hours=hours), now)
    if len(found) < LEAST_READINGS:
        raise FieldError("hours", f"{source.name} keeps {len(found)} readings of that time, and a trace needs two")
    origin = {
        "source": source_id, "source_name": source.name, "cluster": cluster, "hours": hours, "until": now.isoformat()
    }  # fmt: skip
    return _kept(user, TraceKind.RECORDED, named, origin, None)


def _kept(user: Any, kind: TraceKind, name: str, origin: dict[str, Any], given: bytes | None) -> Trace:
    mine = person(user)
    User.objects.select_for_update().get(pk=mine.pk)
    if Trace.objects.filter(made_by=mine).exclude(state=TraceState.REFUSED).count() >= MOST_TRACES:
        raise Conflict(f"{mine.get_username()} keeps {MOST_TRACES} traces already. Delete one first.")
    now = timezone.now()
    trace = Trace.objects.create(
        kind=kind, name=name, made_by=mine, made_at=now, sent_at=now, origin=origin, given=given
    )
    record(actor=mine, action="trace.given", target_kind="trace", target_id=trace.pk, detail={"name": name, **origin})
    enqueue("simulation.read_trace", trace_id=trace.pk)
    publish(LIST_TOPIC, "trace.given")
    return trace


@transaction.atomic
def delete_trace(user: Any, trace_id: int) -> None:
    """Raises ``Conflict`` while a study is on it."""
    require(user, selectors.RUN)
    trace = selectors.trace_of(user, trace_id)
    used = trace.studies.count()
    if used:
        raise Conflict(f"{used} {'study is' if used == 1 else 'studies are'} on this trace: delete them first.")
    record(
        actor=person(user), action="trace.deleted", target_kind="trace", target_id=trace.pk,
        digest=trace.digest, detail={"name": trace.name},
    )  # fmt: skip
    trace.delete()
    publish(LIST_TOPIC, "trace.deleted")


def trace_to_read(trace_id: int) -> Trace | None:
    return Trace.objects.filter(pk=trace_id, state=TraceState.WAITING).first()


def files_of(trace: Trace) -> dict[str, bytes]:
    assert trace.given is not None
    return msgspec.msgpack.decode(zlib.decompress(bytes(trace.given)), type=dict[str, bytes])


def readings_of(trace: Trace) -> list[str]:
    """Digests of the readings that it is made of, oldest first: all, or evenly chosen ones where they are many."""
    until = msgspec.convert(trace.origin["until"], type=type(trace.made_at))
    found = _readings(trace.origin["source"], until - timedelta(hours=trace.origin["hours"]), until)
    pods = max((int(counts.get("pods", 0)) for _, counts in found), default=0)
    most = max(LEAST_READINGS, min(MOST_READINGS, MOST_SEEN_PODS // max(1, pods)))
    digests = list(dict.fromkeys(digest for digest, _ in found))
    if len(digests) <= most:
        return digests
    return [digests[round(at * (len(digests) - 1) / (most - 1))] for at in range(most)]


def _readings(source_id: int, since: Any, until: Any) -> list[tuple[str, dict[str, Any]]]:
    """Those whose snapshots are kept: retention drops them before the rows."""
    rows = Observation.objects.filter(
        source=source_id, begun_at__gte=since, begun_at__lte=until, digest__in=Blob.objects.values("digest")
    )
    return list(rows.order_by("revision").values_list("digest", "counts"))


@transaction.atomic
def accept_trace(trace: Trace, *, packed: bytes, digest: str, told: Mapping[str, Any]) -> None:
    _settle(
        trace, state=TraceState.READY, packed=packed, digest=digest, jobs=told["jobs"], nodes=told["nodes"],
        gpus=told["gpus"], seconds=told["seconds"], notes=list(told["notes"]),
    )  # fmt: skip


@transaction.atomic
def refuse_trace(trace: Trace, path: str, value: object, reason: str) -> None:
    """Nothing of the files stays; where they are wrong does."""
    shown = None if value is None else str(value)[:300]
    _settle(trace, state=TraceState.REFUSED, refusal={"path": path, "value": shown, "reason": reason})


def _settle(trace: Trace, **said: Any) -> None:
    if Trace.objects.filter(pk=trace.pk, state=TraceState.WAITING).update(given=None, **said):
        publish(LIST_TOPIC, "trace.read")
