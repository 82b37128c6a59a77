"""Snapshots under their digests: packed in the database, unpacked once per process.

What is derived from a snapshot alone (its occupancy) is remembered beside it.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from threading import RLock

from console.inventory.models import Blob
from scheduler.cluster.codec import pack, unpack
from scheduler.cluster.occupancy import Occupancy, occupancy
from scheduler.cluster.snapshot import ABSENT, NO_LIMIT, ORPHAN, UNKNOWN, Snapshot

__all__ = [
    "ABSENT",
    "NO_LIMIT",
    "ORPHAN",
    "UNKNOWN",
    "GoneError",
    "Occupancy",
    "Recent",
    "Snapshot",
    "load",
    "load_all",
    "occupancy_of",
    "store",
]

# Nodes and pods of what a process keeps unpacked.  150,000 of them take some 100 MB; a page of a fleet in 17 clusters
# with 200,000 needs all of it at once, whatever the number of its parts.
KEPT_OBJECTS = 400_000
KEPT_LEAST = 2


class GoneError(LookupError):
    """The snapshot is not kept, or no longer."""


class Recent[Value]:
    """The values that were used last, by digest, shared by the threads of a process.

    As many as have ``most`` objects together, as ``size`` counts them, and ``KEPT_LEAST`` in any case.
    """

    def __init__(self, size: Callable[[Value], int], most: int = KEPT_OBJECTS) -> None:
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._size, self._most, self._objects = size, most, 0
        self._lock = RLock()

    def get(self, digest: str, make: Callable[[], Value]) -> Value:
        with self._lock:
            if digest not in self._values:
                self._values[digest] = make()
                self._objects += self._size(self._values[digest])
                self._drop()
            self._values.move_to_end(digest)
            return self._values[digest]

    def __contains__(self, digest: str) -> bool:
        with self._lock:
            return digest in self._values

    def forget(self) -> None:
        with self._lock:
            self._values.clear()
            self._objects = 0

    def _drop(self) -> None:
        while self._objects > self._most and len(self._values) > KEPT_LEAST:
            _, oldest = self._values.popitem(last=False)
            self._objects -= self._size(oldest)


def objects_of(snapshot: Snapshot) -> int:
    """Nodes and pods."""
    return len(snapshot.node_name) + len(snapshot.pod_name)


_snapshots: Recent[Snapshot] = Recent(objects_of)
_occupancies: Recent[Occupancy] = Recent(lambda occupied: len(occupied.state))


def store(snapshot: Snapshot, *, remember: bool = True) -> str:
    """Keeps ``snapshot``, once per digest, and returns the digest.

    ``remember`` False: this process will not ask for it again.
    """
    if not Blob.objects.filter(pk=snapshot.digest).exists():
        Blob.objects.get_or_create(pk=snapshot.digest, defaults={"content": pack(snapshot)})
    if remember:
        _snapshots.get(snapshot.digest, lambda: snapshot)
    return snapshot.digest


def load(digest: str) -> Snapshot:
    """The snapshot of that digest; raises ``GoneError``."""
    return _snapshots.get(digest, lambda: _read(digest))


def load_all(digests: Sequence[str]) -> dict[str, Snapshot]:
    """Those of them that are kept, with one query for all that this process has not unpacked."""
    missing = [digest for digest in digests if digest not in _snapshots]
    rows = Blob.objects.filter(pk__in=missing).values_list("digest", "content") if missing else ()
    packed = {digest: bytes(content) for digest, content in rows}
    found = {}
    for digest in digests:
        content = packed.pop(digest, None)
        if content is not None:
            found[digest] = _snapshots.get(digest, partial(unpack, content))
        elif digest in _snapshots:
            found[digest] = load(digest)
    return found


def occupancy_of(snapshot: Snapshot) -> Occupancy:
    return _occupancies.get(snapshot.digest, lambda: occupancy(snapshot))


def forget() -> None:
    """Empties this process's memory, as a new process would find it."""
    _snapshots.forget()
    _occupancies.forget()


def _read(digest: str) -> Snapshot:
    content = Blob.objects.filter(pk=digest).values_list("content", flat=True).first()
    if content is None:
        raise GoneError(f"the snapshot {digest[:12]} is no longer kept")
    return unpack(bytes(content))
