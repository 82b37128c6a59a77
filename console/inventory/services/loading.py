"""Files that people give us: checked whole, kept whole, or refused with path, value and reason."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from django.db import transaction
from django.utils import timezone

from console.audit.services import SYSTEM
from console.audit.services import record as write_down
from console.connectors import documents, registry
from console.connectors.simulated import establish
from console.connectors.tide import QUIET, Tide
from console.dispatch.services import enqueue
from console.inventory.choices import Behaviour, SourceKind, UploadKind, UploadState
from console.inventory.models import Source, Upload
from console.tenancy.services import require
from scheduler.cluster.build import build
from scheduler.cluster.codec import parse
from scheduler.cluster.errors import InputError
from scheduler.cluster.records import Document
from scheduler.cluster.snapshot import Snapshot

MAX_BYTES = 200 * 1024 * 1024
FILE_PERIOD_S = 60
SHOWN = 100  # warnings and unknown fields listed one by one in a report


def load_snapshot_file(
    user: Any, name: str, content: bytes, *, behaviour: str = Behaviour.FILE, file_name: str = "snapshot.json"
) -> Upload:
    """Checks a snapshot file and makes it a source, replacing the file source of that name.

    Raises ``InputError`` (path, value, reason), and then nothing is kept; ``Denied`` without the permission.
    """
    require(user, "inventory.load_cluster")
    name = _checked_name(name, behaviour)
    _check_size(file_name, content)
    parsed = parse(content)
    snapshot = build(parsed.document, parsed.extras)
    with transaction.atomic():
        upload = Upload(user=user, kind=UploadKind.SNAPSHOT, name=name, params={"behaviour": behaviour})
        upload.files = {"snapshot": [file_name, documents.keep(content)]}
        _settle(upload, SourceKind.FILE, content, parsed.document, snapshot, {}, extras=parsed.extras)
    return upload


@transaction.atomic
def receive_files(
    user: Any, name: str, kind: str, files: dict[str, tuple[str, bytes]], params: dict[str, Any]
) -> Upload:
    """Takes tables that a worker will read: ``files`` = role ("nodes", "pods") -> (file name, bytes)."""
    require(user, "inventory.load_cluster")
    name = _checked_name(name, params.get("behaviour", Behaviour.FILE))
    for file_name, content in files.values():
        _check_size(file_name, content)
    kept = {role: [file_name, documents.keep(content)] for role, (file_name, content) in files.items()}
    upload = Upload.objects.create(user=user, kind=kind, name=name, files=kept, params=params)
    enqueue("inventory.read_upload", upload_id=upload.pk)
    return upload


def files_of(upload_id: int) -> tuple[Upload, dict[str, bytes]] | None:
    """A waiting upload and the bytes of its files by role; None where it has been dealt with."""
    upload = Upload.objects.filter(pk=upload_id, state=UploadState.WAITING).first()
    if upload is None:
        return None
    return upload, {role: documents.fetch(digest) for role, (_, digest) in upload.files.items()}


def accept_upload(upload_id: int, document: Document, warnings: list[str]) -> None:
    """A worker has read the tables of an upload: check what they say and make it a source.  Raises ``InputError``."""
    snapshot = build(document)
    content = msgspec.json.encode(document)
    with transaction.atomic():
        upload = Upload.objects.select_for_update().filter(pk=upload_id, state=UploadState.WAITING).first()
        if upload is None:
            return
        kind = SourceKind.OPENB if upload.kind == UploadKind.OPENB else SourceKind.FILE
        origin = {role: digest for role, (_, digest) in upload.files.items()}
        _settle(upload, kind, content, document, snapshot, {"made_of": origin}, warnings)


@transaction.atomic
def refuse_upload(upload_id: int, error: InputError) -> None:
    """Nothing of the files stays; the refusal does, so that the person can read it."""
    upload = Upload.objects.select_for_update().filter(pk=upload_id, state=UploadState.WAITING).first()
    if upload is None:
        return
    value = None if error.value is None else str(error.value)[:300]
    upload.refusal = {"path": error.path, "value": value, "reason": error.reason}
    given = [digest for _, digest in upload.files.values()]
    upload.state, upload.finished_at, upload.files = UploadState.REFUSED, timezone.now(), {}
    upload.save()
    shared = {digest for row in Upload.objects.exclude(pk=upload.pk) for _, digest in row.files.values()}
    documents.drop_given(set(given) - shared)


@transaction.atomic
def establish_world(name: str, document: Document, *, seed: int, lively: bool = True) -> Source:
    """A simulated cluster that starts as ``document``; a source of that name must not exist."""
    if Source.objects.filter(name=name).exists():
        raise InputError("name", name, "there is a source of that name already")
    build(document)
    source = _simulated(name, document, seed, Behaviour.LIVELY if lively else Behaviour.QUIET)
    write_down(
        actor=SYSTEM,
        action="source.established",
        target_kind="source",
        target_id=name,
        detail={"nodes": len(document.nodes), "pods": len(document.pods), "seed": seed},
    )
    return source


def period_for(nodes: int) -> int:
    """Seconds between readings of a simulated cluster: 2 up to 4,000 nodes, 10 at 20,000."""
    return max(2, min(20, nodes // 2000))


def _checked_name(name: str, behaviour: str) -> str:
    name = name.strip()
    if not name or len(name) > 100:
        raise InputError("name", name[:120], "a source needs a name of 1 to 100 characters")
    known = Source.objects.filter(name=name).first()
    if known is not None and (known.kind not in (SourceKind.FILE, SourceKind.OPENB) or behaviour != Behaviour.FILE):
        raise InputError("name", name, "there is a source of that name already, and a cluster is not replaced")
    if behaviour != Behaviour.FILE and not registry.allowed(SourceKind.SIMULATED):
        raise InputError("behaviour", behaviour, "simulated clusters are not enabled here")
    return name


def _check_size(file_name: str, content: bytes) -> None:
    if len(content) > MAX_BYTES:
        raise InputError(file_name, f"{len(content)} bytes", f"larger than the limit of {MAX_BYTES} bytes")
    if not content.strip():
        raise InputError(file_name, None, "the file is empty")


def _settle(
    upload: Upload,
    kind: str,
    content: bytes,
    document: Document,
    snapshot: Snapshot,
    origin: dict[str, Any],
    warnings: list[str] | None = None,
    extras: Mapping[str, Mapping[str, object]] | None = None,
) -> None:
    """The checked document becomes a source; the upload says so; one audit row."""
    behaviour = upload.params.get("behaviour", Behaviour.FILE)
    if behaviour == Behaviour.FILE:
        config = {"document": documents.keep(content), **origin}
        values = {"kind": kind, "config": config, "period_s": FILE_PERIOD_S, "version": "", "failures": 0}
        source, _ = Source.objects.update_or_create(name=upload.name, defaults=values)
        Source.objects.filter(pk=source.pk).update(next_due_at=timezone.now())
    else:
        source = _simulated(upload.name, document, int(upload.params.get("seed", 0)), behaviour)
    upload.source, upload.state, upload.finished_at = source, UploadState.LOADED, timezone.now()
    upload.report = _report(snapshot, warnings or [], extras or {})
    upload.save()
    write_down(
        actor=upload.user,
        action="source.loaded",
        target_kind="source",
        target_id=source.name,
        digest=snapshot.digest,
        detail={"kind": upload.kind, "behaviour": behaviour, "files": [name for name, _ in upload.files.values()]},
    )
    enqueue("inventory.observe", source_id=source.pk)


def _simulated(name: str, document: Document, seed: int, behaviour: str) -> Source:
    tide = Tide() if behaviour == Behaviour.LIVELY else QUIET
    uid = establish(name, document, seed=seed, tide=tide)
    period_s = period_for(len(document.nodes))
    return Source.objects.create(name=name, kind=SourceKind.SIMULATED, config={"cluster": uid}, period_s=period_s)


def _as_read(path: str) -> list[str | int]:
    """Key by which ``$.pods[9]`` comes before ``$.pods[10]``."""
    return [int(part) if place % 2 else part for place, part in enumerate(re.split(r"\[(\d+)\]", path))]


def _report(snapshot: Snapshot, warnings: list[str], extras: Mapping[str, Mapping[str, object]]) -> dict[str, Any]:
    """``extras`` by their paths in the file: a snapshot's rows stand in another order."""
    unknown = sorted((f"{path}.{field}" for path, fields in extras.items() for field in fields), key=_as_read)
    notes = [*warnings, *snapshot.warnings]
    return {
        "nodes": len(snapshot.node_name),
        "pods": len(snapshot.pod_name),
        "gpus": int(snapshot.node_gpus.sum()),
        "clusters": [cluster.name for cluster in snapshot.clusters],
        "digest": snapshot.digest,
        "warnings": notes[:SHOWN],
        "warnings_total": len(notes),
        "unknown_fields": unknown[:SHOWN],
        "unknown_fields_total": len(unknown),
    }
