"""How many pods of one kind each node has room for, and why a node has none.

The counts are upper bounds for whole GPUs and for everything but devices that are shared; there they are what the
devices as they lie hold.  ``judge`` asks the law of the house (``cluster.room``), device by device.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from scheduler.cluster.feasibility import eligibility
from scheduler.cluster.layout import slices
from scheduler.cluster.ports import collide
from scheduler.cluster.reasons import ELIGIBILITY, TARGET_REASONS
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.room import faults
from scheduler.cluster.snapshot import NO_LIMIT, UNKNOWN, Bools, Bytes, Ints, Longs, PodSpec, Snapshot
from scheduler.placement.ground import Ground
from scheduler.placement.resolving import only_rows

MOST = np.int64(NO_LIMIT)


class OutOfBudget(Exception):
    """More nodes would have to be judged than the policy allows: nothing is known of the rest."""


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """Axis n: nodes."""

    slots: Longs  # pods of the kind that find room there
    reason: Bytes  # position in ``reasons.TARGET_REASONS`` of why there is none, UNKNOWN where there is some
    binding: Bytes  # position of what limits the pods there, UNKNOWN where nothing does or a rule forbids them all
    loose: Longs  # as ``slots``, and never less than what a new layout of shared devices could hold

    @property
    def reasons(self) -> dict[str, int]:
        """Word -> nodes, the most frequent first."""
        found = Counter(self.reason[self.reason != UNKNOWN].tolist())
        return {TARGET_REASONS[code]: count for code, count in sorted(found.items(), key=lambda one: (-one[1], one[0]))}

    @property
    def scarce(self) -> dict[str, int]:
        """Word -> nodes that may take the pods and whose number it limits, the most frequent first."""
        found = Counter(self.binding[self.binding != UNKNOWN].tolist())
        return {TARGET_REASONS[code]: count for code, count in sorted(found.items(), key=lambda one: (-one[1], one[0]))}


def offer(ground: Ground, world: Snapshot, row: int) -> Offer:
    """What the nodes hold of pods like ``row`` of ``world`` (the snapshot of ``ground``, with pods made up behind)."""
    reason = eligibility(only_rows(world, np.array([row], np.int32))).reasons(0)
    slots = np.where(reason == UNKNOWN, MOST, 0)
    loose, binding = slots.copy(), np.full(len(slots), UNKNOWN, np.int8)
    for word, tight, wide in _limits(ground, world, row):
        short = (slots > 0) & (tight <= 0)
        reason[short] = TARGET_REASONS.index(word)
        if word not in ("cordoned", "not_ready"):
            binding[(slots > 0) & (tight < slots)] = TARGET_REASONS.index(word)
        slots, loose = np.minimum(slots, np.maximum(tight, 0)), np.minimum(loose, np.maximum(wide, 0))
    lender = int(world.pod_lender[row])
    if lender != UNKNOWN and world.pod_node[lender] >= 0:
        home = int(world.pod_node[lender])
        if reason[home] == UNKNOWN or reason[home] >= len(ELIGIBILITY) + 2:  # what it borrows is counted as used there
            slots[home], loose[home], reason[home] = max(1, slots[home]), MOST, UNKNOWN
    return Offer(slots, reason, binding, loose)


type Limit = tuple[str, Longs, Longs]  # word; pods that fit; pods that fit at most, however shares are laid out


def _limits(ground: Ground, world: Snapshot, row: int) -> Iterator[Limit]:
    """In the order of ``reasons.BLOCKING``."""
    for word, tight in _simple_limits(ground, world, row):
        yield word, tight, tight
    yield from _device_limits(ground, world, row)
    for word, tight in _amounts(ground, world, row):
        yield word, tight, tight
    for word, tight in _company(ground, world, row):
        yield word, tight, tight


def _simple_limits(ground: Ground, world: Snapshot, row: int) -> Iterator[tuple[str, Longs]]:
    snapshot = ground.snapshot
    yield "cordoned", np.where(snapshot.node_cordoned, 0, MOST)
    yield "not_ready", np.where(snapshot.node_ready, MOST, 0)
    limit = snapshot.node_max_pods.astype(np.int64)
    yield "max_pods", np.where(limit == NO_LIMIT, MOST, limit - ground.occupancy.pods)


def _device_limits(ground: Ground, world: Snapshot, row: int) -> Iterator[Limit]:
    gpus, share = int(world.pod_gpus[row]), int(world.pod_gpu_milli[row])
    mig = _spec(world, row).mig
    if not gpus or mig:
        if mig:
            tight = _slices(ground, mig)
            yield "mig", tight, tight
        return
    held = ground.occupancy
    broken = held.over_committed_milli > 0  # nobody may come to a node that has promised too much
    if share == WHOLE_GPU_MILLI:
        tight = np.where(broken, 0, held.free_gpus // gpus).astype(np.int64)
        yield "gpus", tight, tight
        return
    each = WHOLE_GPU_MILLI // share
    parts = held.free_gpus.astype(np.int64) * each
    np.add.at(parts, held.rest_node, held.rest_milli // share)
    devices = held.free_gpus.astype(np.int64)
    np.add.at(devices, held.rest_node, (held.rest_milli >= share).astype(np.int64))
    tight = np.where(devices >= gpus, parts // gpus, 0)
    left = held.free_gpus.astype(np.int64) * WHOLE_GPU_MILLI + held.shared_rest_milli
    yield "gpu_share", np.where(broken, 0, tight), np.where(broken, 0, left // (share * gpus))


def _slices(ground: Ground, mig: tuple[tuple[str, int], ...]) -> Longs:
    snapshot = ground.snapshot
    found = np.zeros(len(snapshot.node_name), np.int64)
    for node, devices in snapshot.node_devices.items():
        if any(device.mig for device in devices):
            there = slices(snapshot, node, ground.residents(node))
            if not there.short:
                found[node] = min(there.free.get(profile, 0) // count for profile, count in mig)
    return found


def _amounts(ground: Ground, world: Snapshot, row: int) -> Iterator[tuple[str, Longs]]:
    asked = _spec(world, row).resources
    if asked:
        yield "resource", _named(ground, asked)
    cpu, memory = ground.capacity.cpu_milli, ground.capacity.memory_mib
    for word, left, amount in (("cpu", cpu, world.pod_cpu_milli[row]), ("memory", memory, world.pod_memory_mib[row])):
        if amount:
            yield word, left // amount


def _named(ground: Ground, asked: tuple[tuple[str, int], ...]) -> Longs:
    """Counted resources, such as vendors' slices."""
    snapshot = ground.snapshot
    fit = np.full(len(snapshot.node_name), MOST)
    for name, amount in asked:
        has = np.array([dict(spec.resources).get(name, 0) for spec in snapshot.node_specs], np.int64)
        takes = np.array([dict(spec.resources).get(name, 0) for spec in snapshot.pod_specs], np.int64)
        used = np.zeros(len(fit), np.int64)
        np.add.at(used, snapshot.pod_node[ground.order], takes[snapshot.pod_spec[ground.order]])
        fit = np.minimum(fit, (has[snapshot.node_spec] - used) // amount)
    return fit


def _company(ground: Ground, world: Snapshot, row: int) -> Iterator[tuple[str, Longs]]:
    """Ports and (anti-)affinity with the pods that stand there, and with pods of the same kind."""
    mine = _spec(world, row)
    labels = {f"{key}={value}" for key, value in mine.labels}
    if mine.host_ports:
        yield "host_port", np.where(_stands(ground, lambda s: _same_port(mine, s)), 0, 1)
    space = int(world.pod_namespace[row])
    if mine.anti_affinity or labels:
        refused = _stands(ground, lambda spec: _repel(mine, labels, spec), space)
        alone = 1 if set(mine.anti_affinity) & labels else MOST
        yield "anti_affinity", np.where(refused, 0, alone)
    for term in mine.affinity:
        yield "affinity", np.where(_stands(ground, partial(_bears, term), space), MOST, 0)


def _stands(ground: Ground, told: Callable[[PodSpec], bool], namespace: int = UNKNOWN) -> Bools:
    """[n] Some live pod there is of a spec for which ``told`` holds, and of the namespace if one is given."""
    snapshot = ground.snapshot
    hit = np.array([told(spec) for spec in snapshot.pod_specs], np.bool_)
    rows = ground.order[hit[snapshot.pod_spec[ground.order]]] if len(hit) else ground.order[:0]
    if namespace != UNKNOWN:
        rows = rows[snapshot.pod_namespace[rows] == namespace]
    found = np.zeros(len(snapshot.node_name), np.bool_)
    found[snapshot.pod_node[rows]] = True
    return found


def _same_port(mine: PodSpec, other: PodSpec) -> bool:
    return any(collide(a, b) for a in mine.host_ports for b in other.host_ports)


def _repel(mine: PodSpec, labels: set[str], other: PodSpec) -> bool:
    if mine.anti_affinity and set(mine.anti_affinity) & _labels(other):
        return True
    return bool(other.anti_affinity and labels & set(other.anti_affinity))


def _bears(term: str, spec: PodSpec) -> bool:
    return term in _labels(spec)


def _labels(spec: PodSpec) -> set[str]:
    return {f"{key}={value}" for key, value in spec.labels}


def _spec(world: Snapshot, row: int) -> PodSpec:
    return world.pod_specs[int(world.pod_spec[row])]


@dataclass(slots=True)
class Judge:
    """Asks the law whether pods may stand together on a node, within a budget."""

    ground: Ground
    world: Snapshot
    budget: int
    asked: int = field(default=0)

    def allows(self, node: int, arrivals: Sequence[int]) -> bool:
        """Raises ``OutOfBudget`` when the budget is spent."""
        if self.asked >= self.budget:
            raise OutOfBudget
        self.asked += 1
        return next(faults(self.world, node, self.ground.residents(node), arrivals), None) is None

    def most(self, node: int, there: Sequence[int], rows: Ints, upto: int) -> int:
        """How many of ``rows`` may join ``there``, at most ``upto``; the fewer, the easier."""
        low, high = 0, min(upto, len(rows))
        if high and self.allows(node, [*there, *rows[:high].tolist()]):
            return high
        high -= 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.allows(node, [*there, *rows[:middle].tolist()]):
                low = middle
            else:
                high = middle - 1
        return max(low, 0)
