"""What is free, as columns that jobs take from one after another; and how often a pod's shape fits on each node.

Counts are those of the law of the house (``cluster.room``), worked out for all nodes at once: by division where pods
take whole devices, by ``devices`` where shares, listed devices or device memory matter, and by the law itself where a
sleeper lends.  ``place`` and ``explain`` both count here, and nowhere else.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from scheduler.cluster.layout import slices
from scheduler.cluster.occupancy import Occupancy, borrowers, occupancy
from scheduler.cluster.ports import in_conflict
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.room import faults, pods_by_node
from scheduler.cluster.snapshot import NO_LIMIT, UNKNOWN, Bools, Ints, Longs, NodeSpec, PodSpec, Snapshot
from scheduler.fragmentation.sums import sum_by
from scheduler.placement.company import MANY, Company, Terms
from scheduler.placement.devices import Bench, bench_of, odd_nodes, rows_of, with_seated
from scheduler.placement.homes import Homes, Ways
from scheduler.placement.parts import Part

Kind = tuple[int, ...]  # shape and namespace
Limit = tuple[str, Longs]  # word of ``cluster.reasons.BLOCKING``, and how many pods it leaves


class Rules(Protocol):
    """Which nodes a pod may run on if there is room: ``feasibility.Eligibility``, or as much of it as is asked."""

    def eligible(self, pod: int, /) -> Bools: ...


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What nobody's seat changes.  Axes: n nodes."""

    held: Occupancy
    residents: tuple[Ints, Ints]  # as ``pods_by_node``
    odd: Bools  # [n] division does not count their devices
    lending: Bools  # [n] somebody borrows there
    bench: Bench  # the odd ones
    sound: Bools  # [n] the devices hold whoever stands there
    spoilt: Mapping[str, Bools]  # word -> [n] so much is promised there that nobody may come
    alone: dict[int, Bench] = field(default_factory=dict)  # of nodes that were laid out one by one

    def bench_at(self, snapshot: Snapshot, node: int) -> Bench:
        if self.odd[node]:
            return self.bench
        if node not in self.alone:
            self.alone[node] = bench_of(snapshot, np.arange(len(self.odd)) == node)
        return self.alone[node]


@dataclass(slots=True, eq=False)
class Room:
    """Axes: n nodes.  Jobs are seated in it; it is copied, never shared."""

    snapshot: Snapshot
    rules: Rules
    company: Company
    state: State
    free: Longs  # [n] whole GPUs, of usable nodes
    cpu: Longs
    memory: Longs
    places: Longs  # [n] pods that may still come
    shared: Longs  # [n] milli left of touched devices, of usable nodes
    slices: dict[str, Longs]  # profile -> [n]
    named: dict[str, Longs]  # counted resource -> [n]
    seated: dict[int, list[int]] = field(default_factory=dict)  # node -> pods that were given a seat here
    mixed: set[int] = field(default_factory=set)  # of these, nodes whose devices have to be laid out now
    touched: list[int] = field(default_factory=list)  # nodes that changed, in the order of changes
    known: dict[Kind, tuple[int, Longs]] = field(default_factory=dict)  # counts, and how many changes they know of
    homes: dict[tuple[object, ...], Homes] = field(default_factory=dict)  # by their questions
    ways: dict[tuple[object, ...], Ways] = field(default_factory=dict)
    origin: "Room | None" = None  # of which this is a copy, and in which nobody is seated
    held: set[int] = field(default_factory=set)  # nodes on which no more is free than in the other room
    later: "Room | None" = None

    def copy(self) -> "Room":
        """To seat jobs in; this room must then stay as it is, since its counts are used further."""
        return replace(
            self,
            company=self.company.copy(),
            free=self.free.copy(),
            cpu=self.cpu.copy(),
            memory=self.memory.copy(),
            places=self.places.copy(),
            slices={name: left.copy() for name, left in self.slices.items()},
            named={name: left.copy() for name, left in self.named.items()},
            seated={n: list(pods) for n, pods in self.seated.items()},
            mixed=set(self.mixed),
            touched=[],
            known={},
            origin=None if self.touched else self,
        )

    def asking(self, world: Snapshot, rules: Rules, terms: Terms) -> "Room":
        """The same room for pods of ``world``: the snapshot, with pods made up behind its own."""
        return replace(
            self.copy(), snapshot=world, rules=rules, company=Company(world, terms), homes={}, ways={}, origin=None
        )

    def slots(self, part: Part) -> Longs:
        """[n] how many of the part's pods fit on each node now; at most one where they refuse each other.

        Only nodes that changed since the last time are counted anew.
        """
        kind = (*part.shape, int(self.snapshot.pod_namespace[part.pods[0]]))
        if kind in self.known:
            seen, count = self.known[kind]
        elif self.origin is not None and kind in self.origin.known:
            seen, count = 0, self.origin.known[kind][1].copy()
        else:
            seen, count = len(self.touched), self._counted(part, np.arange(len(self.free)))
        if seen < len(self.touched):
            rows = np.array(sorted(set(self.touched[seen:])), np.int64)
            count[rows] = self._counted(part, rows)
        self.known[kind] = len(self.touched), count
        return count

    def _counted(self, part: Part, rows: Longs) -> Longs:
        pod = part.pods[0]
        count = self.fits(part, self.rules.eligible(pod)[rows], rows, company=True)
        lender = int(self.snapshot.pod_lender[pod])
        home = np.flatnonzero(rows == self.snapshot.pod_node[lender]) if lender != UNKNOWN else rows[:0]
        if len(home) and self.snapshot.pod_live[lender]:  # what it borrows is counted as used there
            able = self.rules.eligible(pod)[rows[home]] & self.snapshot.node_usable[rows[home]]
            count[home] = [self._by_law(part, int(rows[i])) if may else 0 for i, may in zip(home, able, strict=True)]
        return count

    def fits(self, part: Part, may: Bools, rows: Longs, *, company: bool = False) -> Longs:
        """[rows] how many fit on the usable nodes of ``may``; without ``company`` whoever stands there."""
        good = self.snapshot.node_usable[rows] & may & (self.places[rows] > 0)
        if part.milli >= WHOLE_GPU_MILLI and not part.spec(self.snapshot).mig:
            good &= (self.free[rows] >= part.gpus) | self.state.odd[rows]
        count = np.zeros(len(rows), np.int64)
        nodes = rows[good]  # division is the dear step: only where something can be left of it
        some = np.full(len(nodes), MANY)
        for _, most in self.amounts(part, nodes):
            some = np.minimum(some, most)
        for _, most in self.company.limits(part.pods[0], nodes) if company else ():
            some = np.minimum(some, most)
        count[good] = some
        return count

    def limits(self, part: Part, rows: Longs) -> Iterator[Limit]:
        """Each rule by itself, [rows], in the order of ``reasons.BLOCKING``; the pod may run there at all."""
        yield "cordoned", np.where(self.snapshot.node_cordoned[rows], 0, MANY)
        yield "not_ready", np.where(self.snapshot.node_ready[rows], MANY, 0)
        yield from self.amounts(part, rows)
        yield from self.company.limits(part.pods[0], rows)

    def amounts(self, part: Part, rows: Longs) -> Iterator[Limit]:
        """Those that do not look at who stands there."""
        spec, spoilt = part.spec(self.snapshot), self.state.spoilt
        yield "max_pods", np.maximum(self.places[rows], 0)
        yield self.device_word(part), self.devices(part, rows)
        for word, left, asked in (("mig", self.slices, spec.mig), ("resource", self.named, spec.resources)):
            if asked or word in spoilt:
                most = np.full(len(rows), MANY)
                for name, amount in asked:
                    most = np.minimum(most, np.maximum(left[name][rows], 0) // amount if name in left else 0)
                yield word, most * ~spoilt[word][rows] if word in spoilt else most
        for word, free, amount in (("cpu", self.cpu, part.cpu), ("memory", self.memory, part.memory)):
            if amount or word in spoilt:
                most = np.maximum(free[rows], 0) // amount if amount else np.full(len(rows), MANY)
                yield word, most * ~spoilt[word][rows] if word in spoilt else most
        if "host_port" in spoilt:
            yield "host_port", MANY * ~spoilt["host_port"][rows]

    def device_word(self, part: Part) -> str:
        return "gpus" if part.milli >= WHOLE_GPU_MILLI or not part.gpus else "gpu_share"

    def devices(self, part: Part, rows: Longs) -> Longs:
        """[rows] how many would fit by their devices alone; slices are no devices."""
        if part.gpus == 0 or part.spec(self.snapshot).mig:
            return np.where(self.state.sound[rows], MANY, 0)
        found = self.free[rows] // part.gpus * self._of_one(part, rows) * self.state.sound[rows]
        odd = self.state.odd[rows]
        if odd.any():
            found[odd] = self._laid(part, rows[odd])
        for i in [i for i, n in enumerate(rows.tolist()) if n in self.mixed] if self.mixed else ():
            found[i] = self._beside_seated(part, int(rows[i]))
        if self.later is not None:
            for i in [i for i, n in enumerate(rows.tolist()) if n in self.held]:
                found[i] = min(int(found[i]), int(self.later.devices(part, rows[i : i + 1])[0]))
        return np.asarray(found)

    def _of_one(self, part: Part, rows: Longs) -> Longs | int:
        """Pods of a share that one device holds."""
        if part.milli >= WHOLE_GPU_MILLI:
            return 1
        each, memory = WHOLE_GPU_MILLI // part.milli, self.snapshot.node_gpu_memory_mib[rows]
        return np.minimum(each, memory // part.device_memory) if part.device_memory else each

    def _laid(self, part: Part, rows: Longs) -> Longs:
        found = self.state.bench.counts(rows, part.gpus, part.milli, part.device_memory, part.pods[0])
        for i in np.flatnonzero(self.state.lending[rows]).tolist():
            found[i] = self._by_law(part, int(rows[i]))
        return found

    def _beside_seated(self, part: Part, node: int) -> int:
        if self.state.lending[node] or any(self.snapshot.pod_lender[p] != UNKNOWN for p in self.seated[node]):
            return self._by_law(part, node)
        there = np.array([p for p in self.seated[node] if self.snapshot.pod_gpus[p]], np.int64)
        alone = with_seated(self.state.bench_at(self.snapshot, node), node, rows_of(self.snapshot, there))
        row = np.array([node])
        return int(alone.counts(row, part.gpus, part.milli, part.device_memory, part.pods[0])[0])

    def _by_law(self, part: Part, node: int) -> int:
        """How many of these pods the node takes together; the fewer, the easier."""
        standing, pods = self.standing(node), tuple(dict.fromkeys(part.pods))
        good, bad = 0, len(pods) + 1
        while bad - good > 1:
            some = len(pods) if bad > len(pods) and good == 0 else (good + bad) // 2
            if next(faults(self.snapshot, node, standing, pods[:some]), None) is None:
                good = some
            else:
                bad = some
        return good

    def standing(self, node: int) -> list[int]:
        order, starts = self.state.residents
        return [*order[starts[node] : starts[node + 1]].tolist(), *self.seated.get(node, ())]

    def seat(self, part: Part, pods: Iterable[int], node: int) -> None:
        """Take what the pods need on the node, which has it."""
        self.touched.append(node)
        spec, devices = part.spec(self.snapshot), part.gpus > 0 and not part.spec(self.snapshot).mig
        laid = devices and (part.milli < WHOLE_GPU_MILLI or part.shape[7] != UNKNOWN or bool(self.state.odd[node]))
        for pod in pods:
            if devices and not laid:
                self.free[node] -= part.gpus
            self.cpu[node] -= part.cpu
            self.memory[node] -= part.memory
            self.places[node] -= 1
            for left, asked in ((self.slices, spec.mig), (self.named, spec.resources)):
                for name, amount in asked:
                    left[name][node] -= amount
            self.seated.setdefault(node, []).append(pod)
            self.company.seat(pod, node)
        if laid:
            self.mixed.add(node)
        if node in self.mixed:
            whole = replace(part, shape=(*part.shape[:2], 1, WHOLE_GPU_MILLI, 0, *part.shape[5:]))
            self.free[node] = min(int(self.free[node]), self._beside_seated(whole, node))

    def hold(self, nodes: list[int], later: "Room") -> None:
        """Leave free no more than what is left when others have gone and who waits for that has come."""
        self.touched += nodes
        self.held, self.later = self.held | set(nodes), later
        for mine, theirs in (
            (self.free, later.free), (self.cpu, later.cpu), (self.memory, later.memory), (self.places, later.places),
            *((left, later.slices[name]) for name, left in self.slices.items()),
            *((left, later.named[name]) for name, left in self.named.items()),
        ):  # fmt: skip
            mine[nodes] = np.minimum(mine[nodes], theirs[nodes])


def room_of(snapshot: Snapshot, rules: Rules, terms: Terms, held: Occupancy | None = None) -> Room:
    """What is free on usable nodes; ``held``: its occupancy, where it is known already."""
    held = occupancy(snapshot) if held is None else held
    usable = snapshot.node_usable
    cpu, memory = snapshot.node_cpu_milli - held.used_cpu_milli, snapshot.node_memory_mib - held.used_memory_mib
    limited = snapshot.node_max_pods != NO_LIMIT
    places = np.where(limited, snapshot.node_max_pods.astype(np.int64) - held.pods, MANY)
    table = _Table(snapshot)
    spoilt = {"cpu": cpu < 0, "memory": memory < 0, **table.spoilt}
    return Room(
        snapshot=snapshot,
        rules=rules,
        company=Company(snapshot, terms),
        state=_state(snapshot, held, {word: over for word, over in spoilt.items() if over.any()}),
        free=np.where(usable, held.free_gpus, 0).astype(np.int64),
        cpu=cpu,
        memory=memory,
        places=np.where(usable, np.maximum(places, 0), 0),
        shared=np.where(usable, held.shared_rest_milli, 0).astype(np.int64),
        slices=table.slices,
        named=table.named,
    )


def _state(snapshot: Snapshot, held: Occupancy, spoilt: Mapping[str, Bools]) -> State:
    odd, lending = odd_nodes(snapshot), np.zeros(len(snapshot.node_name), np.bool_)
    lending[snapshot.pod_node[borrowers(snapshot)]] = True
    bench = bench_of(snapshot, odd)
    sound = held.over_committed_milli == 0
    alone = odd & ~lending
    sound[alone] = bench.sound[bench.row[alone]]
    return State(held, pods_by_node(snapshot), odd, lending, bench, sound, spoilt)


@dataclass(frozen=True, eq=False)
class _Table:
    """What few pods ask for: slices, counted resources, ports."""

    snapshot: Snapshot

    @cached_property
    def slices(self) -> dict[str, Longs]:
        found: dict[str, Longs] = defaultdict(lambda: np.zeros(len(self.snapshot.node_name), np.int64))
        for n, there in self._special.items():
            cut = slices(self.snapshot, n, there)
            for profile, total in cut.total.items():
                found[profile][n] = total - cut.used.get(profile, 0)
            for profile, short in cut.short.items():
                found[profile][n] = min(int(found[profile][n]), -short)
        return dict(found)

    @cached_property
    def named(self) -> dict[str, Longs]:
        snapshot, found = self.snapshot, {}
        live = np.flatnonzero(snapshot.pod_live)
        specs: list[PodSpec | NodeSpec] = [*snapshot.pod_specs, *snapshot.node_specs]
        names = {name for spec in specs for name, _ in spec.resources}
        for name in sorted(names):
            asked = np.array([dict(spec.resources).get(name, 0) for spec in snapshot.pod_specs], np.int64)
            has = np.array([dict(spec.resources).get(name, 0) for spec in snapshot.node_specs], np.int64)
            used = sum_by(snapshot.pod_node[live], asked[snapshot.pod_spec[live]], len(snapshot.node_name))
            found[name] = has[snapshot.node_spec] - used
        return found

    @cached_property
    def spoilt(self) -> dict[str, Bools]:
        count = len(self.snapshot.node_name)
        ports, nothing = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        for n, pods in self._special.items():
            specs = self.snapshot.pod_specs
            ports[n] = bool(
                in_conflict([(p, port) for p in pods for port in specs[self.snapshot.pod_spec[p]].host_ports])
            )
        mig, named = (
            np.logical_or.reduce([nothing, *(left < 0 for left in table.values())])
            for table in (self.slices, self.named)
        )
        return {"mig": mig, "resource": named, "host_port": ports}

    @cached_property
    def _special(self) -> dict[int, list[int]]:
        """Node -> its pods with slices or ports; all nodes with slices."""
        snapshot = self.snapshot
        found: dict[int, list[int]] = {n: [] for n, ds in snapshot.node_devices.items() if any(d.mig for d in ds)}
        special = np.array([bool(spec.mig or spec.host_ports) for spec in snapshot.pod_specs], np.bool_)
        for p in np.flatnonzero(snapshot.pod_live & special[snapshot.pod_spec]).tolist() if special.any() else ():
            found.setdefault(int(snapshot.pod_node[p]), []).append(p)
        return found
