"""The map of the difference: cells are the nodes of the later instant, columns what changed and how the node is now.

A map is named by the readings that it compares, ``then-now`` of each source in the order of sources, so that its
address never answers anything else.  Whoever asks must hold ``inventory.view_fleet``; the views see to it.
"""

import json
import re
import zlib
from collections.abc import Callable

import numpy as np

from console.inventory.cells import MAGIC_NODES, Cells, encode_full, unpack_columns
from console.inventory.choices import STORED, Measure
from console.inventory.ledgers import CHANGES, comparison_key
from console.inventory.models import Comparison, Observation
from console.inventory.selectors.maps import Body, UnknownRevisionError, packed
from console.inventory.selectors.since import Pair, Since

MOST_PAIRS = 100
_PAIRS = re.compile(r"\d{1,15}-\d{1,15}(\.\d{1,15}-\d{1,15})*")


def name_of_map(pairs: tuple[Pair, ...], found: Since) -> str:
    """Of the sources that are compared; "" where there is none."""
    known = {span.source for span in found.sources if span.state == "known"}
    return ".".join(f"{pair.then.revision}-{pair.now.revision}" for pair in pairs if pair.source in known)


def change_map(pairs: str, change: str, encoding: str) -> Body:
    """SLM1: one byte a node around ``ledgers.ZERO``, and its health code now.  Raises ``UnknownRevisionError``."""
    return _body(pairs, encoding, f"since-{change}", lambda rows: _draw(rows, change))


def change_layout(pairs: str, encoding: str) -> Body:
    """The same JSON as the layout of the fleet's map.  Raises ``UnknownRevisionError``."""
    return _body(pairs, encoding, "since-layout", _layout)


def change_names(pairs: str, encoding: str) -> Body:
    """Node names in cell order, one a line.  Raises ``UnknownRevisionError``."""
    return _body(pairs, encoding, "since-names", _names)


type Rows = list[tuple[Observation, Observation]]


def _body(pairs: str, encoding: str, kind: str, make: Callable[[Rows], bytes]) -> Body:
    body = packed(f"{kind}:{pairs}", encoding, f"{kind}-{pairs}", lambda: make(_rows(pairs)))
    if body is None:
        raise UnknownRevisionError("there is no such map")
    return body


def _rows(pairs: str) -> Rows:
    """The readings that the name stands for, then and now of each source."""
    if not _PAIRS.fullmatch(pairs) or pairs.count(".") >= MOST_PAIRS:
        raise UnknownRevisionError("a map of changes is named by readings, such as 12-340.13-341")
    wanted = [[int(number) for number in pair.split("-")] for pair in pairs.split(".")]
    numbers = {number for pair in wanted for number in pair}
    rows = Observation.objects.filter(pk__in=numbers, columns__isnull=False).select_related("source", "layout")
    found = rows.defer("gpu_states").in_bulk()
    if len(found) < len(numbers):
        raise UnknownRevisionError("these readings are no longer kept: load the page again")
    both = [(found[then], found[now]) for then, now in wanted]
    if any(then.source_id != now.source_id for then, now in both):
        raise UnknownRevisionError("a reading is compared with one of its own source only")
    return both


def _draw(rows: Rows, change: str) -> bytes:
    keys = [comparison_key(then.digest, now.digest) for then, now in rows]
    found = Comparison.objects.defer("ledger").filter(columns__isnull=False).in_bulk(keys)
    if len(found) < len(set(keys)):
        raise UnknownRevisionError("these readings are not compared: load the page again")
    parts = [
        np.stack([_column(bytes(found[key].columns or b""), len(CHANGES), CHANGES.index(change)), _health(now)])
        for key, (_, now) in zip(keys, rows, strict=True)
    ]
    return encode_full(MAGIC_NODES, max(now.revision for _, now in rows), np.concatenate(parts, axis=1))


def _column(content: bytes, rows: int, row: int) -> Cells:
    return np.asarray(unpack_columns(content, rows)[row])


def _health(now: Observation) -> Cells:
    return _column(bytes(now.columns or b""), len(STORED), STORED.index(Measure.HEALTH))


def _layout(rows: Rows) -> bytes:
    layouts = [(now.source.name, now.layout) for _, now in rows if now.layout is not None]
    groups = [{"source": name, **cluster} for name, layout in layouts for cluster in layout.groups]
    nodes = sum(layout.nodes for _, layout in layouts)
    return json.dumps({"nodes": nodes, "groups": groups}, separators=(",", ":")).encode()


def _names(rows: Rows) -> bytes:
    layouts = [now.layout for _, now in rows if now.layout is not None and now.layout.nodes]
    return b"\n".join(zlib.decompress(layout.names) for layout in layouts)
