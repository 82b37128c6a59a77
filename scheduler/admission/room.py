"""What is free, as columns that jobs take from one after another; and how often a pod's shape fits on each node.

Counts are exact for whole GPUs, CPU, memory, places for pods and company (affinity, anti-affinity); shares count
device by device.  What they cannot see (ports, slices, device memory of shares, counted resources, shares of several
devices) is asked of ``cluster.room`` node by node, up to a number of nodes, and the answer says when that was not all.
"""

from collections import defaultdict
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np

from scheduler.admission.jobs import Part, Shape
from scheduler.cluster.feasibility import Eligibility
from scheduler.cluster.layout import slices
from scheduler.cluster.occupancy import Occupancy, occupancy
from scheduler.cluster.ports import in_conflict
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.room import faults, pods_by_node
from scheduler.cluster.snapshot import ABSENT, NO_LIMIT, UNKNOWN, Bools, Ints, Longs, Snapshot
from scheduler.fragmentation.sums import sum_by

MANY = np.int64(1 << 40)  # of a pod that asks for nothing of an axis
ASKED_NODES = 200  # that are asked one by one for one shape

Term = tuple[int, str]  # namespace, key=value
Kind = tuple[int, ...]  # shape and namespace


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Of each pod spec the labels that somebody asks for, and those refused that somebody has.  Axis s: specs."""

    labelled: list[set[str]]
    refusing: list[set[str]]
    marked: Bools  # [s] any of both


def terms_of(snapshot: Snapshot, waiting: Iterable[int]) -> Terms:
    """``waiting``: the pods that may be asked about; labels that none of them minds are left out."""
    asking = [snapshot.pod_specs[s] for s in sorted({int(snapshot.pod_spec[p]) for p in waiting})]
    wanted = {term for spec in asking for term in (*spec.affinity, *spec.anti_affinity)}
    unwanted = {term for spec in snapshot.pod_specs for term in spec.anti_affinity}
    unwanted &= {term for spec in asking for term in Company.labels(spec.labels)}
    nothing: set[str] = set()
    specs = snapshot.pod_specs
    labelled = [Company.labels(spec.labels) & wanted if wanted and spec.labels else nothing for spec in specs]
    refusing = [unwanted.intersection(spec.anti_affinity) if spec.anti_affinity else nothing for spec in specs]
    return Terms(
        labelled, refusing, np.array([bool(a or b) for a, b in zip(labelled, refusing, strict=True)], np.bool_)
    )


class Company:
    """Which nodes hold pods with a label, or pods that refuse it; worked out only for labels that somebody asks for."""

    def __init__(self, snapshot: Snapshot, terms: Terms) -> None:
        self._snapshot = snapshot
        self.having: dict[Term, set[int]] = defaultdict(set)
        self.refusing: dict[Term, set[int]] = defaultdict(set)
        marked = terms.marked[snapshot.pod_spec] if len(terms.marked) else np.zeros(0, np.bool_)
        for p in np.flatnonzero(snapshot.pod_live & marked).tolist():
            node, space, s = int(snapshot.pod_node[p]), int(snapshot.pod_namespace[p]), snapshot.pod_spec[p]
            for term in terms.labelled[s]:
                self.having[space, term].add(node)
            for term in terms.refusing[s]:
                self.refusing[space, term].add(node)

    @staticmethod
    def labels(labels: Iterable[tuple[str, str]]) -> set[str]:
        return {f"{key}={value}" for key, value in labels}

    def copy(self) -> "Company":
        other = copy(self)
        other.having, other.refusing = self.having.copy(), self.refusing.copy()
        return other

    def seat(self, pod: int, node: int) -> None:
        """The pod stands there from now on.  Sets are replaced, since copies share them."""
        space = int(self._snapshot.pod_namespace[pod])
        spec = self._snapshot.pod_specs[self._snapshot.pod_spec[pod]]
        for term in self.labels(spec.labels):
            self.having[space, term] = self.having[space, term] | {node}
        for term in spec.anti_affinity:
            self.refusing[space, term] = self.refusing[space, term] | {node}

    def welcome(self, pod: int, rows: Longs) -> tuple[Bools, bool]:
        """[rows] nodes whose pods the pod can stand beside; and whether two of its kind refuse each other."""
        snapshot, space = self._snapshot, int(self._snapshot.pod_namespace[pod])
        spec = snapshot.pod_specs[snapshot.pod_spec[pod]]
        good, labels = np.ones(len(rows), np.bool_), self.labels(spec.labels)
        against = [self.having.get((space, term)) for term in spec.anti_affinity]
        against += [self.refusing.get((space, term)) for term in labels]
        for nodes in against:
            if nodes:
                good &= ~np.isin(rows, list(nodes))
        for term in spec.affinity:
            good &= np.isin(rows, list(self.having.get((space, term), ())))
        return good, bool(labels & set(spec.anti_affinity))


@dataclass(frozen=True, slots=True, eq=False)
class Homes:
    """Nodes by the domain that a job there would have to stay in.  Axis d: domains that have nodes, in their order."""

    of: Ints  # [n] -> domain, UNKNOWN for none
    order: Longs  # nodes that have one, by domain
    starts: Longs  # [d] first position of each domain in ``order``

    def sums(self, count: Longs) -> Longs:
        """[d]"""
        if len(self.starts) < 2:
            inside = count if len(self.order) == len(count) else count[self.order]
            return np.array([inside.sum()] if len(self.starts) else [], np.int64)
        return np.asarray(np.add.reduceat(count[self.order], self.starts))

    def domain(self, d: int) -> int:
        return int(self.of[self.order[self.starts[d]]])

    def inside(self, d: int) -> Bools:
        """[n] nodes of the domain."""
        return np.asarray(self.of == self.domain(d))


def homes_of(domains: Ints) -> Homes:
    nodes = np.flatnonzero(domains != UNKNOWN)
    order = nodes[np.argsort(domains[nodes], kind="stable")]
    return Homes(domains, order, np.flatnonzero(np.diff(domains[order], prepend=UNKNOWN)))


@dataclass(slots=True, eq=False)
class Room:
    """Axes: n nodes, r touched devices with something left.  Jobs are seated in it; it is copied, never shared."""

    snapshot: Snapshot
    rules: Eligibility
    company: Company
    free: Longs  # [n] whole GPUs, of usable nodes
    cpu: Longs
    memory: Longs
    places: Longs  # [n] pods that may still come
    rest_node: Longs  # [r]
    rest: Longs  # [r] milli
    residents: tuple[Ints, Ints]  # as ``pods_by_node``
    device_memory: Longs  # [n] of the smallest device, where some are known to be smaller than the node says
    seated: dict[int, list[int]] = field(default_factory=dict)  # node -> pods that were given a seat here
    partial: set[Shape] = field(default_factory=set)  # shapes for which not all nodes could be asked
    touched: list[int] = field(default_factory=list)  # nodes that changed, in the order of changes
    known: dict[Kind, tuple[int, Longs]] = field(default_factory=dict)  # counts, and how many changes they know of
    homes: dict[tuple[int, tuple[str, ...], tuple[int, ...]], Homes] = field(default_factory=dict)  # by its question
    origin: "Room | None" = None  # of which this is a copy, and in which nobody is seated

    def copy(self) -> "Room":
        """To seat jobs in; this room must then stay as it is, since its counts are used further."""
        return replace(
            self,
            company=self.company.copy(),
            free=self.free.copy(),
            cpu=self.cpu.copy(),
            memory=self.memory.copy(),
            places=self.places.copy(),
            rest=self.rest.copy(),
            seated={n: list(pods) for n, pods in self.seated.items()},
            touched=[],
            known={},
            origin=None if self.touched else self,
        )

    def slots(self, part: Part) -> Longs:
        """[n] how many of the part's pods fit on each node now; at most one where they refuse each other.

        Only nodes that changed since the last time are counted anew.
        """
        pod = part.pods[0]
        asked = len(part.pods) if part.shape[4] or self._hidden(pod, part.shape) else 0  # no more than those are asked
        kind = (*part.shape, int(self.snapshot.pod_namespace[pod]), asked)
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
        beside, apart = self.company.welcome(pod, rows)
        may = self.rules.eligible(pod)[rows]
        count = np.where(beside, self.fits(part, may, rows), 0)
        lender = int(self.snapshot.pod_lender[pod])
        if lender != UNKNOWN and self.snapshot.pod_live[lender]:  # what it borrows is counted as used there
            home = beside & may & self.snapshot.node_usable[rows] & (rows == self.snapshot.pod_node[lender])
            count = np.where(home, np.minimum(self.places[rows], len(part.pods)), count)
        if apart:
            count = np.minimum(count, 1)
        if self._hidden(pod, part.shape):
            return self._asked(part, count, rows)
        uneven = self.device_memory[rows] < part.shape[4]  # some devices there are too small for it
        if part.shape[2] and uneven.any():
            count = np.where(uneven, self._asked(part, np.where(uneven, count, 0), rows), count)
        return count

    def fits(self, part: Part, may: Bools, rows: Longs) -> Longs:
        """[rows] how many would fit by amounts alone on the usable nodes of ``may``, whoever is there."""
        good = self.snapshot.node_usable[rows] & may & (self.places[rows] > 0)
        if part.shape[3] >= WHOLE_GPU_MILLI and not self.snapshot.pod_specs[part.shape[1]].mig:
            good &= self.free[rows] >= part.shape[2]
        count = np.zeros(len(rows), np.int64)
        nodes = rows[good]  # division is the dear step: only where something can be left of it
        some = np.minimum(self.devices(part, nodes), self.places[nodes])
        for amount, left in ((part.shape[5], self.cpu), (part.shape[6], self.memory)):
            if amount:
                some = np.minimum(some, np.maximum(left[nodes], 0) // amount)
        count[good] = some
        return count

    def devices(self, part: Part, rows: Longs) -> Longs:
        """[rows] how many would fit by their devices alone."""
        gpus, milli = part.shape[2], part.shape[3]
        if gpus == 0 or self.snapshot.pod_specs[part.shape[1]].mig:
            return np.full(len(rows), MANY)
        if milli >= WHOLE_GPU_MILLI:
            return np.asarray(self.free[rows] // gpus)
        each = self.rest // milli
        shared = np.bincount(self.rest_node, weights=each, minlength=len(self.free)).astype(np.int64)[rows]
        fresh = self.free[rows] * (WHOLE_GPU_MILLI // milli)
        return np.asarray((shared + fresh) // gpus)

    def _hidden(self, pod: int, shape: Shape) -> bool:
        spec = self.snapshot.pod_specs[shape[1]]
        lent = self.snapshot.pod_lender[pod] != UNKNOWN
        shares = shape[3] < WHOLE_GPU_MILLI and (shape[4] or shape[2] > 1)
        return bool(spec.host_ports or spec.mig or spec.resources or lent or shares)

    def _asked(self, part: Part, count: Longs, rows: Longs) -> Longs:
        """As many of the part's pods on each node as the node really takes."""
        found, order = np.zeros_like(count), np.flatnonzero(count > 0)
        if len(order) > ASKED_NODES:
            self.partial.add(part.shape)
        pods = tuple(dict.fromkeys(part.pods))  # made up ones stand for one pod: it is asked about once
        for i in order[:ASKED_NODES].tolist():
            found[i] = self._most(pods[: int(count[i])], int(rows[i]))
        return found

    def _most(self, pods: tuple[int, ...], node: int) -> int:
        """How many of these pods the node takes together; the fewer, the easier."""
        standing = self.standing(node)
        good, bad = 0, len(pods) + 1
        while bad - good > 1:
            some = len(pods) if bad > len(pods) and good == 0 else (good + bad) // 2
            if next(faults(self.snapshot, node, standing, pods[:some]), None) is None:
                good = some
            else:
                bad = some
        return good

    def standing(self, node: int) -> list[int]:
        order, starts = self.residents
        return [*order[starts[node] : starts[node + 1]].tolist(), *self.seated.get(node, ())]

    def seat(self, part: Part, pods: Iterable[int], node: int) -> None:
        """Take what the pods need on the node, which has it."""
        self.touched.append(node)
        for pod in pods:
            gpus, milli = part.shape[2], part.shape[3]
            if gpus and milli >= WHOLE_GPU_MILLI:
                self.free[node] = max(0, self.free[node] - gpus)  # a borrower takes what is not free
            elif gpus and not self.snapshot.pod_specs[part.shape[1]].mig:
                self._share(node, gpus, milli)
            self.cpu[node] -= part.shape[5]
            self.memory[node] -= part.shape[6]
            self.places[node] -= 1
            self.seated.setdefault(node, []).append(pod)
            self.company.seat(pod, node)

    def hold(self, nodes: list[int], later: "Room") -> None:
        """Leave free no more than what is left when others have gone and who waits for that has come."""
        self.touched += nodes
        for mine, theirs in ((self.free, later.free), (self.cpu, later.cpu), (self.memory, later.memory),
                             (self.places, later.places)):  # fmt: skip
            mine[nodes] = np.minimum(mine[nodes], theirs[nodes])

    def _share(self, node: int, gpus: int, milli: int) -> None:
        for r in np.flatnonzero((self.rest_node == node) & (self.rest >= milli)).tolist()[:gpus]:
            self.rest[r] -= milli
            gpus -= 1
        gpus = min(gpus, int(self.free[node]))  # the others are borrowed
        self.free[node] -= gpus
        self.rest_node = np.append(self.rest_node, np.full(gpus, node, np.int64))
        self.rest = np.append(self.rest, np.full(gpus, WHOLE_GPU_MILLI - milli, np.int64))


def room_of(snapshot: Snapshot, rules: Eligibility, terms: Terms) -> Room:
    """What is free on usable nodes."""
    held: Occupancy = occupancy(snapshot)
    usable = snapshot.node_usable
    limited = snapshot.node_max_pods != NO_LIMIT
    places = np.where(limited, snapshot.node_max_pods.astype(np.int64) - held.pods, MANY)
    cpu, memory = snapshot.node_cpu_milli - held.used_cpu_milli, snapshot.node_memory_mib - held.used_memory_mib
    # Nobody arrives there, whatever they ask for
    over = (held.over_committed_milli > 0) | (cpu < 0) | (memory < 0) | _overdrawn(snapshot) | _crowded(snapshot)
    return Room(
        snapshot=snapshot,
        rules=rules,
        company=Company(snapshot, terms),
        free=np.where(usable, held.free_gpus, 0).astype(np.int64),
        cpu=cpu,
        memory=memory,
        places=np.where(usable & ~over, np.maximum(places, 0), 0),
        rest_node=held.rest_node.astype(np.int64),
        rest=np.where(usable[held.rest_node], held.rest_milli, 0).astype(np.int64),
        residents=pods_by_node(snapshot),
        device_memory=_smallest_devices(snapshot),
    )


def _smallest_devices(snapshot: Snapshot) -> Longs:
    found = np.full(len(snapshot.node_name), MANY)
    for node, devices in snapshot.node_devices.items():
        found[node] = min((device.memory_mib for device in devices if device.memory_mib is not None), default=MANY)
    return found


def _overdrawn(snapshot: Snapshot) -> Bools:
    """[n] nodes whose pods ask for more of a counted resource than the node has."""
    over = np.zeros(len(snapshot.node_name), np.bool_)
    live = np.flatnonzero(snapshot.pod_live)
    for name in sorted({name for spec in snapshot.pod_specs for name, _ in spec.resources}):
        asked = np.array([dict(spec.resources).get(name, 0) for spec in snapshot.pod_specs], np.int64)
        has = np.array([dict(spec.resources).get(name, 0) for spec in snapshot.node_specs], np.int64)
        used = sum_by(snapshot.pod_node[live], asked[snapshot.pod_spec[live]], len(over))
        over |= used > has[snapshot.node_spec]
    return over


def _crowded(snapshot: Snapshot) -> Bools:
    """[n] nodes whose pods ask for more slices or device memory than there is, or for one port twice."""
    live = np.flatnonzero(snapshot.pod_live)
    node, has = snapshot.pod_node[live], snapshot.node_gpu_memory_mib
    wanted = np.where(snapshot.pod_gpus[live] > 0, snapshot.pod_gpu_memory_mib[live], 0)
    over = np.zeros(len(has), np.bool_)
    over[node[(has[node] != ABSENT) & (wanted > has[node])]] = True
    special = np.array([bool(spec.mig or spec.host_ports) for spec in snapshot.pod_specs], np.bool_)
    there: dict[int, list[int]] = defaultdict(list)
    for p in live[special[snapshot.pod_spec[live]]].tolist():
        there[int(snapshot.pod_node[p])].append(p)
    for n, pods in there.items():
        ports = [(p, port) for p in pods for port in snapshot.pod_specs[snapshot.pod_spec[p]].host_ports]
        over[n] |= bool(slices(snapshot, n, pods).short) or bool(in_conflict(ports))
    return over
