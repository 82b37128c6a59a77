"""Snapshots under their digests: packed in the database, unpacked once per process.

What is derived from a snapshot alone (its occupancy) is remembered beside it.
"""

from collections import OrderedDict
from collections.abc import Callable
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
    "occupancy_of",
    "store",
]

KEPT = 4  # a fleet of 20,000 nodes takes some 100 MB unpacked


class GoneError(LookupError):
    """The snapshot is not kept, or no longer."""


class Recent[Value]:
    """The last few values by digest, shared by the threads of a process."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._lock = RLock()

    def get(self, digest: str, make: Callable[[], Value]) -> Value:
        with self._lock:
            if digest not in self._values:
                self._values[digest] = make()
                while len(self._values) > KEPT:
                    self._values.popitem(last=False)
            self._values.move_to_end(digest)
            return self._values[digest]

    def forget(self) -> None:
        with self._lock:
            self._values.clear()


_snapshots: Recent[Snapshot] = Recent()
_occupancies: Recent[Occupancy] = Recent()


def store(snapshot: Snapshot) -> str:
    """Keeps ``snapshot``, once per digest, and returns the digest."""
    if not Blob.objects.filter(pk=snapshot.digest).exists():
        Blob.objects.get_or_create(pk=snapshot.digest, defaults={"content": pack(snapshot)})
    _snapshots.get(snapshot.digest, lambda: snapshot)
    return snapshot.digest


def load(digest: str) -> Snapshot:
    """The snapshot of that digest; raises ``GoneError``."""
    return _snapshots.get(digest, lambda: _read(digest))


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
