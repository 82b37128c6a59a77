"""The maps of a revision as bytes: encoded once, then shared by all viewers of all processes.

Whoever asks must hold ``inventory.view_fleet``; the views see to it.
"""

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import brotli  # type: ignore[import-untyped]
import numpy as np
import redis
import structlog
from django.core.cache import cache

from console.inventory.cells import (
    DELTA,
    FULL,
    MAGIC_GPUS,
    MAGIC_NODES,
    Cells,
    encode_delta,
    encode_full,
    pick,
    unpack_columns,
)
from console.inventory.choices import STORED, Measure
from console.inventory.models import FleetLayout, Layout, Observation

log = structlog.get_logger(__name__)
KEPT_S = 900
WORTH_PACKING = 150  # bytes; below, the packed form is no smaller


class UnknownRevisionError(LookupError):
    """No map of that revision is kept; the text says why."""


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent: bytes in an encoding ("" is none), with what identifies and describes them."""

    content: bytes
    encoding: str
    etag: str
    revision: int
    layout: str
    kind: int  # FULL or DELTA


def newest_map_revision() -> int | None:
    return Observation.objects.filter(columns__isnull=False).values_list("revision", flat=True).first()


def node_map(revision: int, measure: Measure, since: int | None, encoding: str) -> Body:
    """The map of all nodes at ``revision``; as a delta from ``since`` where that has the same layout and is smaller.

    Raises ``UnknownRevisionError``.
    """
    kind = f"nodes-{measure}"
    return _body(revision, since, encoding, kind, lambda: _draw_nodes(revision, measure, since))


def gpu_map(revision: int, since: int | None, encoding: str) -> Body:
    """One byte per GPU of every node, nodes in cell order.  Raises ``UnknownRevisionError``."""
    return _body(revision, since, encoding, "gpus", lambda: _draw_gpus(revision, since))


def layout_json(digest: str, encoding: str) -> Body | None:
    """Groups source -> cluster -> model -> ASW with counts in cell order, and GPUs per node as [gpus, nodes] runs."""
    return packed(f"layout:{digest}", encoding, f"layout-{digest}", lambda: _layout(digest))


def layout_names(digest: str, encoding: str) -> Body | None:
    """The node names in cell order, one a line, UTF-8."""
    return packed(f"names:{digest}", encoding, f"names-{digest}", lambda: _names(digest))


type Drawn = tuple[bytes, str, int]  # bytes, layout, FULL or DELTA


def _body(revision: int, since: int | None, encoding: str, kind: str, draw: Callable[[], Drawn]) -> Body:
    key = f"map:{kind}:{revision}:{since or 0}:{encoding}"
    known = _cached(key)
    if known is None:
        content, layout, form = draw()
        sent, used = _pack(content, encoding)
        known = (sent, used, layout, form)
        _remember(key, known)
    sent, used, layout, form = known
    return Body(sent, used, f"{kind}-{revision}-{since or 0}-{used or 'id'}", revision, layout, form)


def packed(key: str, encoding: str, etag: str, make: Callable[[], bytes | None]) -> Body | None:
    """What ``make`` gives, encoded once and remembered under ``key``; None where it gives nothing."""
    known = _cached(f"{key}:{encoding}")
    if known is None:
        content = make()
        if content is None:
            return None
        known = (*_pack(content, encoding), "", FULL)
        _remember(f"{key}:{encoding}", known)
    sent, used, layout, form = known
    return Body(sent, used, f"{etag}-{used or 'id'}", 0, layout, form)


def _pack(content: bytes, encoding: str) -> tuple[bytes, str]:
    if not encoding or len(content) < WORTH_PACKING:
        return content, ""
    sent = brotli.compress(content, quality=5) if encoding == "br" else gzip.compress(content, 6, mtime=0)
    return (sent, encoding) if len(sent) < len(content) else (content, "")


def _cached(key: str) -> Any:
    """A cache that is away costs time, not the page."""
    try:
        return cache.get(key)
    except (redis.RedisError, OSError) as error:
        log.warning("map.cache_away", error=str(error))
        return None


def _remember(key: str, value: Any) -> None:
    try:
        cache.set(key, value, KEPT_S)
    except (redis.RedisError, OSError) as error:
        log.warning("map.cache_away", error=str(error))


def _draw_nodes(revision: int, measure: Measure, since: int | None) -> Drawn:
    now, layout = _columns(revision)
    shown = pick(now, measure)
    return _full_or_delta(MAGIC_NODES, revision, shown, layout, since, lambda cells: pick(cells, measure), _columns)


def _draw_gpus(revision: int, since: int | None) -> Drawn:
    now, layout = _gpus(revision)
    return _full_or_delta(MAGIC_GPUS, revision, now, layout, since, lambda cells: cells, _gpus)


def _full_or_delta(
    magic: bytes,
    revision: int,
    now: Cells,
    layout: str,
    since: int | None,
    shown: Callable[[Cells], Cells],
    read: Callable[[int], tuple[Cells, str]],
) -> Drawn:
    full = encode_full(magic, revision, now)
    if since is None:
        return full, layout, FULL
    try:
        before, former = read(since)
    except UnknownRevisionError:
        return full, layout, FULL
    if former != layout:
        return full, layout, FULL
    delta = encode_delta(magic, revision, shown(before), now)
    return (delta, layout, DELTA) if len(delta) < len(full) else (full, layout, FULL)


def _columns(revision: int) -> tuple[Cells, str]:
    rows, layout = _parts(revision, "columns")
    return np.concatenate([unpack_columns(row, len(STORED)) for row in rows], axis=1), layout


def _gpus(revision: int) -> tuple[Cells, str]:
    rows, layout = _parts(revision, "gpu_states")
    return np.concatenate([unpack_columns(row, 1) for row in rows], axis=1), layout


def _parts(revision: int, field: str) -> tuple[list[bytes], str]:
    """The stored columns of each member of the fleet at ``revision``, in the order of sources."""
    head = Observation.objects.filter(pk=revision).values_list("fleet", "fleet_layout_id").first()
    if head is None or head[1] is None:
        raise UnknownRevisionError(f"revision {revision} is not kept: ask for the latest one")
    wanted = [number for _, number in head[0]]
    found = dict(Observation.objects.filter(pk__in=wanted, columns__isnull=False).values_list("pk", field))
    if len(found) < len(wanted):
        raise UnknownRevisionError(f"revision {revision} is no longer kept whole: ask for the latest one")
    return [bytes(found[number]) for number in wanted], head[1]


def _layout(digest: str) -> bytes | None:
    members = _members(digest)
    if members is None:
        return None
    groups = [{"source": name, **cluster} for name, layout in members for cluster in layout.groups]
    nodes = sum(layout.nodes for _, layout in members)
    return json.dumps({"layout": digest, "nodes": nodes, "groups": groups}, separators=(",", ":")).encode()


def _names(digest: str) -> bytes | None:
    members = _members(digest)
    if members is None:
        return None
    return b"\n".join(zlib.decompress(layout.names) for _, layout in members if layout.nodes)


def _members(digest: str) -> list[tuple[str, Layout]] | None:
    fleet = FleetLayout.objects.filter(pk=digest).first()
    if fleet is None:
        return None
    layouts = Layout.objects.in_bulk([layout for _, layout in fleet.members])
    return [(name, layouts[layout]) for name, layout in fleet.members]
