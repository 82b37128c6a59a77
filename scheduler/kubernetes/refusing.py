"""Records that the format would refuse, found before they stand in a document: they would lose all the others."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from scheduler.cluster.errors import InputError
from scheduler.cluster.nodes import check_nodes
from scheduler.cluster.podcolumns import pod_columns
from scheduler.cluster.podspecs import Specs
from scheduler.cluster.records import NodeRecord, PodRecord
from scheduler.cluster.rows import as_given
from scheduler.kubernetes.objects import Bad
from scheduler.kubernetes.wire import Key


def refused_nodes(records: Mapping[Key, NodeRecord]) -> dict[Key, Bad]:
    return _refused("nodes", records, lambda some: check_nodes(as_given("nodes", NodeRecord, some)))


def refused_pods(records: Mapping[Key, PodRecord]) -> dict[Key, Bad]:
    return _refused("pods", records, lambda some: pod_columns(as_given("pods", PodRecord, some), Specs()))


def _refused[R: msgspec.Struct](kind: str, records: Mapping[Key, R], check: Callable[[list[R]], Any]) -> dict[Key, Bad]:
    """All of them at once where all are good, else half by half."""
    found: dict[Key, Bad] = {}
    left = [list(records)]
    while left:
        keys = left.pop()
        try:
            check([records[key] for key in keys])
        except InputError as error:
            if len(keys) == 1:
                found[keys[0]] = _bad(kind, keys[0], error)
            else:
                left += [keys[: len(keys) // 2], keys[len(keys) // 2 :]]
    return found


def _bad(kind: str, key: Key, error: InputError) -> Bad:
    field = error.path.partition("].")[2]
    value = "" if error.value is None else f" (got {error.value!r:.60})"
    return Bad(kind=kind, namespace=key[0], name=key[1], path="$", reason=f"its {field} {error.reason}{value}")
