"""Snapshot to bytes and back: the JSON of ``slackline/snapshot/v1``, and the packed form of the archive."""

from scheduler.cluster.build import build
from scheduler.cluster.packing import pack, unpack
from scheduler.cluster.parsing import Parsed, parse
from scheduler.cluster.snapshot import Snapshot
from scheduler.cluster.writing import write

__all__ = ["Parsed", "pack", "parse", "read", "unpack", "write"]


def read(data: bytes) -> Snapshot:
    """Read one JSON document; raises ``InputError`` with path, value and reason, and then keeps nothing of it."""
    parsed = parse(data)
    return build(parsed.document, parsed.extras)
