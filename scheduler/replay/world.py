"""What a replay starts from: nodes, and jobs that arrive, as columns in an order that does not depend on their rows."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import WHOLE_GPU_MILLI, DomainRecord, NodeRecord
from scheduler.cluster.snapshot import Longs
from scheduler.replay import columns as c

MOST_POOLS = 62
ASW = "asw"


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Nodes by pool, then by name.  Axes: p pool, n node, a switch."""

    pools: tuple[tuple[str, str], ...]  # [p] cluster and GPU model, "" for nodes without GPUs
    names: tuple[str, ...]  # [n]
    pool: Longs  # [n]
    gpus: Longs
    cpu_milli: Longs
    memory_mib: Longs
    asw: Longs  # [n] -> asws, NONE where nobody knows
    asws: tuple[str, ...]  # [a]


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Jobs by arrival, then by name.  Axis j.  Times in seconds from the start of the trace."""

    names: tuple[str, ...]
    tenants: tuple[str, ...]
    asked: Longs  # [j, columns J_ARRIVAL to J_SLICED]
    windows: Longs  # [w, 3] job, asleep from, until: windows of standby, by job, then by time

    def __len__(self) -> int:
        return len(self.names)

    def column(self, column: int) -> Longs:
        return self.asked[:, column]


def world_of(nodes: Sequence[NodeRecord], domains: Sequence[DomainRecord] = ()) -> World:
    """Nodes as they are when nothing runs.  Raises InputError for a node or a fleet that is too large."""
    large = next((node for node in nodes if node.gpus > c.MOST_DEVICES), None)
    if large is not None:
        raise InputError(f"node {large.name}", large.gpus, f"at most {c.MOST_DEVICES} GPUs per node")
    pools = sorted({(node.cluster, node.gpu_model) for node in nodes})
    if len(pools) > MOST_POOLS:
        raise InputError("nodes", len(pools), f"at most {MOST_POOLS} pairs of cluster and GPU model")
    ordered = sorted(nodes, key=lambda node: (node.cluster, node.gpu_model, node.name))
    switches = [_switch(node, domains_by_name(domains)) if domains or node.asw else node.asw for node in ordered]
    asws = sorted({switch for switch in switches if switch})
    row = {name: at for at, name in enumerate(asws)}
    place = {pool: at for at, pool in enumerate(pools)}
    return World(
        tuple(pools),
        tuple(node.name for node in ordered),
        longs(place[node.cluster, node.gpu_model] for node in ordered),
        longs(_devices(node) for node in ordered),
        longs(node.cpu_milli for node in ordered),
        longs(node.memory_mib for node in ordered),
        longs(row[switch] if switch else c.NONE for switch in switches),
        tuple(asws),
    )


def _devices(node: NodeRecord) -> int:
    """Whole GPUs that work may hold: none that failed or is partitioned into slices, none beyond those given out."""
    unfit = sum(device.health == "failed" or bool(device.mig) for device in node.devices)
    most = node.gpus if node.allocatable_gpus is None else min(node.gpus, node.allocatable_gpus)
    return max(0, min(most, node.gpus - unfit))


def longs(values: object) -> Longs:
    return np.fromiter(values, np.int64)  # type: ignore[call-overload,no-any-return]


def domains_by_name(domains: Sequence[DomainRecord]) -> dict[tuple[str, str], DomainRecord]:
    return {(domain.cluster, domain.name): domain for domain in domains}


def _switch(node: NodeRecord, domains: Mapping[tuple[str, str], DomainRecord]) -> str | None:
    """The access switch of a node, with its cluster: names are unique in a cluster only."""
    at = node.asw or node.domain
    while at is not None:
        domain = domains.get((node.cluster, at))
        if domain is None or domain.level == ASW:
            return f"{node.cluster}/{at}" if domain is not None or node.asw else None
        at = domain.parent
    return None


def work_of(names: Sequence[str], tenants: Sequence[str], asked: Longs, windows: Longs | None = None) -> Work:
    """Jobs in the loop's order.  ``windows`` [w, 3]: row of ``asked``, asleep from, until.

    Raises InputError for a name that stands twice, for a tenant that is not among ``tenants``, and for windows that end
    before they begin or overlap.
    """
    order = sorted(range(len(names)), key=lambda row: (int(asked[row, c.J_ARRIVAL]), names[row]))
    if len(set(names)) != len(names):
        seen: set[str] = set()
        raise InputError("jobs", next(name for name in names if name in seen or seen.add(name)), "job stands twice")  # type: ignore[func-returns-value]
    _known_tenants(names, asked[:, c.J_TENANT], len(tenants))
    sleeps = _windows(names, order, np.zeros((0, 3), np.int64) if windows is None else windows)
    rows = np.ascontiguousarray(asked[order], np.int64)
    return Work(tuple(names[row] for row in order), tuple(tenants), rows, sleeps)


def _known_tenants(names: Sequence[str], tenant: Longs, known: int) -> None:
    """Compiled code looks nothing up: a row of an account that is not there would be somebody else's memory."""
    for at in np.flatnonzero((tenant < 0) | (tenant >= known)).tolist():
        raise InputError(f"jobs, {names[at]}", int(tenant[at]), f"names a tenant by number, and there are {known}")


def _windows(names: Sequence[str], order: Sequence[int], windows: Longs) -> Longs:
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    found = windows.astype(np.int64).reshape(-1, 3).copy()
    found[:, 0] = place[found[:, 0]]
    found = found[np.lexsort((found[:, 1], found[:, 0]))]
    again = (found[1:, 0] == found[:-1, 0]) & (found[1:, 1] < found[:-1, 2])
    for at in np.flatnonzero((found[:, 1] >= found[:, 2]) | np.append(again, False)).tolist():
        name = names[order[int(found[at, 0])]]
        raise InputError(f"jobs, {name}", found[at, 1:].tolist(), "windows of standby end after they begin, one by one")
    return found


def digest_of(world: World, work: Work) -> str:
    """sha256 hex of all that a replay starts from."""
    summed = hashlib.sha256()
    for one in (world, work):
        for field in fields(one):
            value = getattr(one, field.name)
            summed.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return summed.hexdigest()


def mix_of(work: Work, most: int = 16) -> Longs:
    """[m, 5] The most frequent worker shapes, weighted by how many workers ask for them: M of F(M)."""
    rows = work.asked[:, [c.J_CPU, c.J_GPUS, c.J_MILLI, c.J_POOLS]]
    shapes, at = np.unique(rows, axis=0, return_inverse=True)
    weight = np.zeros(len(shapes), np.int64)
    np.add.at(weight, at.reshape(-1), work.asked[:, c.J_WORKERS])
    first = np.lexsort((np.arange(len(shapes)), -weight))[:most]
    return np.column_stack([shapes[first], weight[first]]).astype(np.int64)


def never_fits(world: World, lanes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[l] lanes whose jobs would not start on the empty cluster either."""
    kinds, at = np.unique(
        np.column_stack([world.pool, world.gpus, world.cpu_milli, world.memory_mib, world.asw]),
        axis=0,
        return_inverse=True,
    )
    count = np.bincount(at.reshape(-1), minlength=len(kinds))
    return np.array([_never(kinds, count, lane) for lane in lanes], np.bool_).reshape(len(lanes))


def _never(kinds: Longs, count: Longs, lane: Longs) -> bool:
    pools, workers, gpus, milli = lane[c.L_POOLS], lane[c.L_WORKERS], lane[c.L_GPUS], lane[c.L_MILLI]
    room = np.full(len(kinds), c.NO_LIMIT)
    if gpus:
        share = WHOLE_GPU_MILLI // milli if gpus == 1 else 1
        room = kinds[:, 1] // gpus * share
    for column, need in ((2, lane[c.L_CPU]), (3, lane[c.L_MEMORY])):
        room = np.minimum(room, kinds[:, column] // need) if need else room
    room = room * (pools >> kinds[:, 0] & 1) * count
    places = kinds[:, [0, 4]] if lane[c.L_TOPOLOGY] == c.REQUIRED else kinds[:, :1]
    if lane[c.L_TOPOLOGY] == c.REQUIRED:
        room = room * (kinds[:, 4] != c.NONE)
    _, place = np.unique(places, axis=0, return_inverse=True)
    totals = np.zeros(place.max(initial=0) + 1)
    np.add.at(totals, place.reshape(-1), np.minimum(room, 1 << 40))
    return bool(totals.max(initial=0) < workers)
