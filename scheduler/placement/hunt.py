"""The cheapest set of pods whose end lets one pod onto one node; and a bound below it for all nodes at once.

Costs are those of the hunt's scale.  Where the hunt has a limit, no set loses more than that of the study's C.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.room import faults
from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs
from scheduler.placement.prey import Prey, Scale

STEPS = 400  # of the exact search on one node; beyond, the best set so far stands
NEVER = np.int64(1 << 62)  # the bound of a node that not even all of its candidates make fit


@dataclass(frozen=True, slots=True)
class Unit:
    """What is stopped together: a pod, or a gang.  ``here``: on the node in question; ``surplus_of``: its gang."""

    pods: tuple[int, ...]
    here: tuple[int, ...]
    cost: int  # on the hunt's scale
    loss: int  # the study's C
    devices: int
    cpu: int
    memory: int
    surplus_of: int


@dataclass(slots=True)
class Hunt:
    """What has been decided so far for one claimant: who is stopped, and where its pods go."""

    prey: Prey
    candidates: Bools  # [p]
    scale: Scale
    limit: int | None = None  # of the study's C
    cut: bool = False  # a search was ended by its limit
    chosen: set[int] = field(default_factory=set)
    placed: dict[int, list[int]] = field(default_factory=dict)  # node -> pods of the claimant

    def copy(self) -> "Hunt":
        placed = {n: list(pods) for n, pods in self.placed.items()}
        return Hunt(self.prey, self.candidates, self.scale, self.limit, self.cut, set(self.chosen), placed)

    def stopped_of(self, gang: int) -> int:
        return sum(int(self.prey.snapshot.pod_gang[p]) == gang for p in self.chosen)

    def cost(self) -> int:
        return int(self.scale.cost[list(self.chosen)].sum()) if self.chosen else 0

    def holds(self, node: int, pods: Sequence[int], stopped: set[int]) -> bool:
        """Whether the node takes these pods beside those placed there, once ``stopped`` have left."""
        here = [p for p in self.prey.standing(node) if p not in stopped and p not in self.chosen]
        arrivals = [*self.placed.get(node, ()), *pods]
        return next(faults(self.prey.snapshot, node, here, arrivals), None) is None

    def waits(self, node: int, pods: Sequence[int] = ()) -> list[int]:
        """Pods that are leaving the node and take the room of these and of those placed there as long as they stay."""
        snapshot = self.prey.snapshot
        ending = [p for p in self.prey.ending.get(node, ()) if p not in self.chosen]
        if not ending:
            return []
        here = [p for p in self.prey.standing(node) if p not in self.chosen]
        arrivals = [*self.placed.get(node, ()), *pods]
        return [] if next(faults(snapshot, node, [*here, *ending], arrivals), None) is None else ending

    def within_budgets(self, pods: set[int]) -> bool:
        used: dict[int, int] = {}
        for p in self.chosen | pods:
            for b in self.prey.budget_of.get(p, ()):
                used[b] = used.get(b, 0) + 1
        return all(count <= self.prey.budget_left[b] for b, count in used.items())

    def units(self, node: int) -> list[Unit]:
        """Least cost per device first; gangs whole, and their surplus members one by one."""
        prey, found, gangs = self.prey, [], set()
        for p in prey.standing(node):
            if not self.candidates[p] or p in self.chosen:
                continue
            gang = int(prey.snapshot.pod_gang[p])
            if gang == UNKNOWN:
                found.append(self._unit((p,), (p,), UNKNOWN))
                continue
            if prey.spare[gang] > self.stopped_of(gang):
                found.append(self._unit((p,), (p,), gang))
            gangs.add(gang)
        found += [unit for gang in sorted(gangs) for unit in self._whole(gang, node)]
        return sorted(found, key=lambda unit: (unit.cost / max(unit.devices, 1), len(unit.pods), unit.here))

    def _whole(self, gang: int, node: int) -> Iterator[Unit]:
        snapshot = self.prey.snapshot
        if self.prey.whole[gang]:
            live = np.flatnonzero(snapshot.pod_live & ~snapshot.pod_terminating & (snapshot.pod_gang == gang)).tolist()
            pods = tuple(p for p in live if p not in self.chosen)
            here = tuple(p for p in pods if snapshot.pod_node[p] == node)
            if all(self.candidates[p] for p in pods):
                yield self._unit(pods, here, UNKNOWN)

    def _unit(self, pods: tuple[int, ...], here: tuple[int, ...], surplus_of: int) -> Unit:
        snapshot, rows = self.prey.snapshot, list(here)
        return Unit(
            pods, here, int(self.scale.cost[list(pods)].sum()), int(self.prey.loss[list(pods)].sum()),
            int(snapshot.pod_gpus[rows].sum()), int(snapshot.pod_cpu_milli[rows].sum()),
            int(snapshot.pod_memory_mib[rows].sum()), surplus_of,
        )  # fmt: skip

    def lawful(self, units: Sequence[Unit]) -> bool:
        """No gang loses more surplus members than it can spare, and none twice; no budget is overdrawn."""
        surplus: dict[int, int] = {}
        for unit in units:
            if unit.surplus_of != UNKNOWN:
                surplus[unit.surplus_of] = surplus.get(unit.surplus_of, 0) + 1
        gangs = {int(self.prey.snapshot.pod_gang[unit.pods[0]]) for unit in units if unit.surplus_of == UNKNOWN}
        if gangs & surplus.keys():
            return False
        if any(count > self.prey.spare[gang] - self.stopped_of(gang) for gang, count in surplus.items()):
            return False
        return self.within_budgets({p for unit in units for p in unit.pods})


Standing = tuple[int, int, int]  # cost, pods stopped, GPUs stopped: smaller is better


def standing(prey: Prey, units: Sequence[Unit]) -> Standing:
    pods = [p for unit in units for p in unit.pods]
    return sum(unit.cost for unit in units), len(pods), int(prey.snapshot.pod_gpus[pods].sum())


def cheapest(hunt: Hunt, node: int, pod: int) -> tuple[Unit, ...] | None:
    """The units of least cost, then fewest pods, whose end lets the pod onto the node.

    None: not even all of them, or none within the limit.
    """
    if hunt.holds(node, [pod], set()):
        return ()
    units = hunt.units(node)
    gone = {p for unit in units for p in unit.here}
    if not units or not hunt.holds(node, [pod], gone):
        return None
    search = _Search(hunt, node, pod, units, need_of(hunt, node, pod))
    for order in (units, sorted(units, key=lambda unit: (unit.cost, unit.here))):
        search.prefix(order)
    search.dig(0, [], search.need)
    return search.best


def need_of(hunt: Hunt, node: int, pod: int) -> tuple[int, int, int]:
    """At least so many devices, so much CPU and memory have to come free."""
    prey, snapshot = hunt.prey, hunt.prey.snapshot
    there = hunt.placed.get(node, [])
    gone = [p for p in prey.standing(node) if p in hunt.chosen]
    devices = 0
    if snapshot.pod_gpu_milli[pod] >= WHOLE_GPU_MILLI and not snapshot.pod_specs[snapshot.pod_spec[pod]].mig:
        whole = [p for p in there if snapshot.pod_gpu_milli[p] >= WHOLE_GPU_MILLI]
        asked = int(snapshot.pod_gpus[pod]) + int(snapshot.pod_gpus[whole].sum())
        devices = asked - int(prey.later.free_gpus[node]) - int(snapshot.pod_gpus[gone].sum())
    rooms = (
        (snapshot.node_cpu_milli, prey.later.used_cpu_milli, snapshot.pod_cpu_milli),
        (snapshot.node_memory_mib, prey.later.used_memory_mib, snapshot.pod_memory_mib),
    )
    cpu, memory = (
        int(asks[pod]) + int(asks[there].sum()) - int(asks[gone].sum()) + int(used[node]) - int(has[node])
        for has, used, asks in rooms
    )
    return devices, cpu, memory


@dataclass(slots=True)
class _Search:
    """Branch and bound over the units of one node."""

    hunt: Hunt
    node: int
    pod: int
    units: list[Unit]
    need: tuple[int, int, int]
    best: tuple[Unit, ...] | None = None
    value: Standing | None = None
    steps: int = 0

    def prefix(self, order: Sequence[Unit]) -> None:
        """The first units in this order that suffice, less those that turn out not to be needed: dearest first."""
        taken: list[Unit] = []
        for unit in order:
            if self.hunt.lawful([*taken, unit]):
                taken.append(unit)
            if self._enough(taken):
                break
        else:
            return
        for unit in sorted(taken, key=lambda unit: (-unit.cost, -len(unit.pods))):
            rest = [one for one in taken if one is not unit]
            if self._enough(rest):
                taken = rest
        self._keep(taken)

    def dig(self, at: int, taken: list[Unit], need: tuple[int, int, int]) -> None:
        self.steps += 1
        if self.steps > STEPS or not self._promising(at, taken, need):
            return
        if max(need) <= 0 and taken and self._enough(taken):
            self._keep(taken)
            return
        if at == len(self.units):
            return
        unit = self.units[at]
        if self.hunt.lawful([*taken, unit]):
            left = (need[0] - unit.devices, need[1] - unit.cpu, need[2] - unit.memory)
            self.dig(at + 1, [*taken, unit], left)
        self.dig(at + 1, taken, need)

    def _promising(self, at: int, taken: Sequence[Unit], need: tuple[int, int, int]) -> bool:
        """Units are sorted by cost per device, so that what is missing costs at least so much per device."""
        if not self._allowed(taken):
            return False
        if self.value is None:
            return True
        cost, pods, _ = standing(self.hunt.prey, taken)
        if max(need) > 0:
            if at == len(self.units):
                return False
            pods += 1
            if need[0] > 0:
                cost += int(self.units[at].cost / max(self.units[at].devices, 1) * need[0])
        return (cost, pods) <= self.value[:2]

    def _allowed(self, taken: Sequence[Unit]) -> bool:
        return self.hunt.limit is None or sum(unit.loss for unit in taken) <= self.hunt.limit

    def _enough(self, taken: Sequence[Unit]) -> bool:
        gone = {p for unit in taken for p in unit.here}
        return self.hunt.holds(self.node, [self.pod], gone) and self.hunt.lawful(taken)

    def _keep(self, taken: Sequence[Unit]) -> None:
        value = standing(self.hunt.prey, taken)
        if not self._allowed(taken):
            return
        if self.value is None or value < self.value:
            self.best, self.value = tuple(taken), value


def most_seats(hunt: Hunt, pod: int) -> Longs:
    """[n] how many such pods fit at most when all candidates have left."""
    snapshot, prey = hunt.prey.snapshot, hunt.prey
    each, later = int(snapshot.pod_gpus[pod]) * int(snapshot.pod_gpu_milli[pod]), prey.later
    freed = _freed(hunt, snapshot.pod_gpus.astype(np.int64))
    if not each or snapshot.pod_specs[snapshot.pod_spec[pod]].mig:
        return np.full(len(freed), 1000, np.int64)
    room = ((later.free_gpus.astype(np.int64) + freed) * WHOLE_GPU_MILLI + later.shared_rest_milli) // each
    return np.asarray(np.clip(room, 0, 1000), np.int64)


def _freed(hunt: Hunt, amount: Longs) -> Longs:
    """[n] what the candidates on each node have."""
    snapshot = hunt.prey.snapshot
    rows = np.flatnonzero(hunt.candidates)
    weights = amount[rows]
    return np.bincount(snapshot.pod_node[rows], weights=weights, minlength=len(snapshot.node_name)).astype(np.int64)


def least_costs(hunt: Hunt, pod: int, scale: Scale | None = None) -> tuple[Longs, Bools]:
    """[n] no set on the node costs less for the pod, NEVER where not even all are enough; whether somebody has to go.

    Devices that are missing cost at least as much as the cheapest ones of candidates there, parts of them allowed.
    """
    prey, snapshot = hunt.prey, hunt.prey.snapshot
    later, gpus = prey.later, int(snapshot.pod_gpus[pod])
    may = snapshot.node_usable & prey.rules.eligible(pod)
    whole = snapshot.pod_gpu_milli[pod] >= WHOLE_GPU_MILLI and not snapshot.pod_specs[snapshot.pod_spec[pod]].mig
    short = np.maximum(gpus - later.free_gpus, 0).astype(np.int64) if whole else np.zeros(len(may), np.int64)
    must = short > 0
    for asks, has, used in (
        (snapshot.pod_cpu_milli, snapshot.node_cpu_milli, later.used_cpu_milli),
        (snapshot.pod_memory_mib, snapshot.node_memory_mib, later.used_memory_mib),
    ):
        lacking = asks[pod] - has + used
        must |= lacking > 0
        may &= (lacking <= 0) | (_freed(hunt, asks) >= lacking)
    scale = scale or hunt.scale
    rows = scale.cheap_first[hunt.candidates[scale.cheap_first]]
    node, devices = snapshot.pod_node[rows], snapshot.pod_gpus[rows].astype(np.int64)
    price = scale.weight[rows] / devices
    before = np.cumsum(devices) - devices
    starts = np.flatnonzero(np.diff(node, prepend=-1))
    before -= np.repeat(before[starts], np.diff(starts, append=len(node)))
    taken = np.clip(short[node] - before, 0, devices)
    found = np.bincount(node, weights=taken, minlength=len(may))
    cost = np.bincount(node, weights=taken * price, minlength=len(may))
    least = np.floor(cost * (1 - 1e-9)).astype(np.int64)  # below what rounding may have added
    return np.where(may & (found >= short), least, NEVER), must
