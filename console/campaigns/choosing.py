"""Which nodes a selector means, and how they fall into groups; asked of one cluster's snapshot.

Axes as in ``scheduler.cluster.snapshot``: n nodes.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from console.campaigns.choices import NO_GROUPING, ZONE, Order, Selects
from console.inventory import archive
from console.inventory.archive import ABSENT, UNKNOWN, Snapshot

Rows = list[int]


@dataclass(frozen=True, slots=True)
class Drafted:
    """A group to be; ``domains`` are those of the protected level, "" for nodes of which none is known."""

    name: str
    rows: tuple[int, ...]
    domains: tuple[str, ...]
    gpus: int
    pods: int
    used_gpu_milli: int


def chosen(snapshot: Snapshot, selects: str, wanted: Mapping[str, Any]) -> Rows:
    """Rows of the nodes that the selector means now."""
    match selects:
        case Selects.LABEL:
            return having(snapshot, wanted["label"], wanted["value"])
        case Selects.MODEL:
            return _where(snapshot, lambda n: model_of(snapshot, n) == wanted["model"])
        case Selects.DOMAINS:
            inside = {row for row, name in enumerate(snapshot.domain_name) if name in set(wanted["names"])}
            at_level = snapshot.node_at_level
            return _where(snapshot, lambda n: not inside.isdisjoint(at_level[:, n].tolist()))
        case Selects.NODES:
            names = set(wanted["names"])
            return _where(snapshot, lambda n: snapshot.node_name[n] in names)
    bad = degraded(snapshot)
    return _where(snapshot, lambda n: not snapshot.node_ready[n] or n in bad)


def having(snapshot: Snapshot, label: str, value: str) -> Rows:
    """Rows of the nodes with this label."""
    specs = {i for i, spec in enumerate(snapshot.node_specs) if (label, value) in spec.labels}
    return [n for n, spec in enumerate(snapshot.node_spec.tolist()) if spec in specs]


def degraded(snapshot: Snapshot) -> set[int]:
    """Fewer GPUs to give than there are, or a device that is not well."""
    declared = snapshot.node_declared_allocatable
    few = np.flatnonzero((declared != ABSENT) & (declared < snapshot.node_gpus)).tolist()
    listed = snapshot.node_devices.items()
    return {*few, *(n for n, devices in listed if any(device.health != "ok" for device in devices))}


def model_of(snapshot: Snapshot, node: int) -> str:
    model = int(snapshot.node_model[node])
    return "" if model == UNKNOWN else snapshot.models[model]


def labels_of(snapshot: Snapshot) -> dict[str, dict[str, int]]:
    """Label -> value -> number of nodes, of labels that fewer values have than nodes."""
    counts = np.bincount(snapshot.node_spec, minlength=len(snapshot.node_specs)).tolist()
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for spec, count in zip(snapshot.node_specs, counts, strict=True):
        for label, value in spec.labels:
            found[label][value] += count
    return {label: dict(values) for label, values in sorted(found.items()) if len(values) < sum(values.values())}


def place_of(snapshot: Snapshot, node: int, level: str) -> str:
    """Name of the node's domain at a level of the network, or of its zone; "" where it is not known."""
    if level == ZONE:
        zone = int(snapshot.node_zone[node])
        return "" if zone == UNKNOWN else snapshot.zones[zone]
    if level not in snapshot.levels:
        return ""
    domain = int(snapshot.node_at_level[snapshot.levels.index(level), node])
    return "" if domain == UNKNOWN else snapshot.domain_name[domain]


def grouped(
    snapshot: Snapshot, rows: Rows, *, grouping: str, protect: str, order: str, most: int | None
) -> list[Drafted]:
    """The groups in the order that is proposed; a place with more than ``most`` nodes is cut into parts."""
    places: dict[str, Rows] = defaultdict(list)
    for row in rows:
        places["" if grouping == NO_GROUPING else place_of(snapshot, row, grouping)].append(row)
    pods = pods_on(snapshot)
    found = []
    for name, mine in sorted(places.items()):
        parts = _parts(mine, most)
        for number, part in enumerate(parts, 1):
            named = _span(snapshot, part) if grouping == NO_GROUPING else _named(name, grouping, number, len(parts))
            found.append(_drafted(snapshot, named, part, protect, pods))
    if order == Order.EMPTIEST:
        return sorted(found, key=lambda one: (one.used_gpu_milli, one.pods))
    return found


def _parts(rows: Rows, most: int | None) -> list[Rows]:
    size = most or len(rows)
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _span(snapshot: Snapshot, rows: Rows) -> str:
    first, last = snapshot.node_name[rows[0]], snapshot.node_name[rows[-1]]
    return first if first == last else f"{first} to {last}"


def _named(place: str, grouping: str, number: int, parts: int) -> str:
    name = place or f"no {'zone' if grouping == ZONE else grouping.upper() if grouping == 'asw' else grouping}"
    return name if parts == 1 else f"{name}, part {number} of {parts}"


def _drafted(snapshot: Snapshot, name: str, rows: Sequence[int], protect: str, pods: Any) -> Drafted:
    return Drafted(
        name=name,
        rows=tuple(rows),
        domains=tuple(sorted({place_of(snapshot, row, protect) for row in rows})) if protect else (),
        gpus=int(snapshot.node_gpus[list(rows)].sum()),
        pods=int(pods[list(rows)].sum()),
        used_gpu_milli=int(archive.occupancy_of(snapshot).used_gpu_milli[list(rows)].sum()),
    )


def working(snapshot: Snapshot) -> Any:
    """[p] live pods that are no node agents."""
    return snapshot.pod_live & ~snapshot.pod_agent


def _where(snapshot: Snapshot, meant: Any) -> Rows:
    return [n for n in range(len(snapshot.node_name)) if meant(n)]


def pods_on(snapshot: Snapshot) -> Any:
    """[n] how many pods work on each node."""
    return np.bincount(snapshot.pod_node[working(snapshot)], minlength=len(snapshot.node_name))
