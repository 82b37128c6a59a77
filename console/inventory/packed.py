"""JSON as it is kept in rows that nobody searches: compressed, in the one way of all of them."""

import json
import zlib
from typing import Any

LEVEL = 6


def pack_json(value: Any) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), LEVEL)


def unpack_json(packed: bytes | memoryview) -> Any:
    """``packed`` as the database gives it, which differs by its kind."""
    return json.loads(zlib.decompress(packed))
