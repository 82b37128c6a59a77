"""What sleepers lend: their GPUs and CPU that nobody borrows yet; never their memory.

A sleeping pod and its borrowers together use the larger of its request and theirs (``snapshot-v1``), so what is lent
costs the node nothing but memory and a place.  A borrower stays within the GPUs of the one sleeper that lends to it;
CPU beyond what is lent is the node's own.
"""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.occupancy import borrowers
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Longs, Snapshot
from scheduler.placement.parts import Part
from scheduler.placement.room import Room

MANY = np.int64(1 << 40)
LEAST_LENT_S = 600  # who wakes sooner takes nobody in: to start and to stop costs more than the run gives


@dataclass(slots=True, eq=False)
class Lenders:
    """Axis s: sleepers that lend, by node and then by identity; ``borrowed`` and ``lent_cpu`` grow with seats."""

    pod: Longs  # rows of the snapshot
    node: Longs
    turn: Longs  # how many sleepers stand before it on the node
    gpus: Longs
    borrowed: Longs  # GPUs
    cpu: Longs
    lent_cpu: Longs
    until_s: Longs  # when it wakes, ABSENT where nobody has said
    gpu_memory_mib: Longs  # held of each device

    def copy(self) -> "Lenders":
        return Lenders(
            self.pod, self.node, self.turn, self.gpus, self.borrowed.copy(), self.cpu, self.lent_cpu.copy(),
            self.until_s, self.gpu_memory_mib,
        )  # fmt: skip

    @property
    def idle(self) -> Longs:
        """[s] GPUs that nobody borrows."""
        return np.asarray(np.maximum(self.gpus - self.borrowed, 0))

    def lasting(self, until_s: int) -> Bools:
        """[s] Not known to wake before that."""
        return np.asarray((self.until_s == ABSENT) | (self.until_s >= until_s))

    def idle_on(self, nodes: int, may: Bools | None = None) -> Longs:
        """[n] GPUs that nobody borrows, of sleepers that may lend."""
        found = np.zeros(nodes, np.int64)
        idle = self.idle if may is None else np.where(may, self.idle, 0)
        np.add.at(found, self.node, idle)
        return found


def lenders_of(snapshot: Snapshot, waking: frozenset[str] = frozenset()) -> Lenders:
    """Sleepers with whole GPUs on usable nodes that take no more than they have; those in ``waking`` lend nothing.

    Nor does one whose borrowers are leaving: it is being woken, or its GPUs are not back yet.
    """
    sliced = np.array([bool(spec.mig) for spec in snapshot.pod_specs], np.bool_)
    sleeps = snapshot.pod_standby & ~snapshot.pod_lp & snapshot.pod_live & ~snapshot.pod_terminating
    whole = (snapshot.pod_gpus > 0) & (snapshot.pod_gpu_milli == WHOLE_GPU_MILLI) & ~sliced[snapshot.pod_spec]
    rows = np.flatnonzero(sleeps & whole)
    rows = rows[snapshot.node_usable[snapshot.pod_node[rows]]].astype(np.int64)
    taken = borrowers(snapshot)
    leaving = set(snapshot.pod_lender[taken[snapshot.pod_terminating[taken]]].tolist())
    stay = [p not in leaving and snapshot.pod_key(p) not in waking for p in rows.tolist()]
    rows = rows[np.array(stay, np.bool_)] if len(rows) else rows
    rows = rows[np.argsort(snapshot.pod_node[rows], kind="stable")]
    gpus, cpu = np.zeros((2, len(snapshot.pod_name)), np.int64)
    np.add.at(gpus, snapshot.pod_lender[taken], snapshot.pod_gpus[taken])
    np.add.at(cpu, snapshot.pod_lender[taken], snapshot.pod_cpu_milli[taken])
    node = snapshot.pod_node[rows].astype(np.int64)
    starts = np.flatnonzero(np.diff(node, prepend=UNKNOWN))
    turn = np.arange(len(node)) - np.repeat(starts, np.diff(starts, append=len(node)))
    return Lenders(
        rows, node, turn, snapshot.pod_gpus[rows].astype(np.int64), gpus[rows],
        snapshot.pod_cpu_milli[rows].astype(np.int64), cpu[rows], snapshot.pod_standby_until_s[rows],
        snapshot.pod_gpu_memory_mib[rows].astype(np.int64),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Holds:
    """Pods of one kind that find room now: on sleepers [s], and beside them on what is free [n]."""

    lent: Longs
    free: Longs
    total: Longs  # [n]


def holds(room: Room, lenders: Lenders, part: Part, may: Bools, most: Longs, whole: Bools) -> Holds:
    """``may`` [s]: sleepers that take part; ``most`` [n]: GPUs at most; ``whole`` [n]: nodes that take part at all.

    Sleepers of a node one after the other, then what is free: each takes of the memory, places and CPU that the
    others have left, so that all of it fits together.
    """
    cpu, memory = np.maximum(room.cpu, 0), np.maximum(room.memory, 0)
    places, gpus = np.maximum(room.places, 0).copy(), np.where(_sound(room) & whole, most, 0)
    lent = np.zeros(len(lenders.pod), np.int64)
    fits = may & _device_memory(room.snapshot, lenders, part)
    for turn in range(int(lenders.turn.max(initial=UNKNOWN)) + 1):
        s = np.flatnonzero((lenders.turn == turn) & fits)
        n = lenders.node[s]
        own_cpu = np.maximum(lenders.cpu[s] - lenders.lent_cpu[s], 0)
        count = np.minimum(np.minimum(lenders.idle[s], gpus[n]) // part.gpus, places[n])
        count = np.minimum(count, (own_cpu + cpu[n]) // part.cpu) if part.cpu else count
        count = np.minimum(count, memory[n] // part.memory) if part.memory else count
        lent[s] = count
        cpu[n] -= np.maximum(count * part.cpu - own_cpu, 0)
        memory[n] -= count * part.memory
        places[n] -= count
        gpus[n] -= count * part.gpus
    free = np.minimum(np.minimum(np.where(whole, room.slots(part), 0), gpus // part.gpus), places)
    free = np.minimum(free, cpu // part.cpu) if part.cpu else free
    free = np.minimum(free, memory // part.memory) if part.memory else free
    total = free.copy()
    np.add.at(total, lenders.node, lent)
    return Holds(lent, free, total)


def _sound(room: Room) -> Bools:
    """[n] Nobody arrives where more is asked for already than there is."""
    good = room.state.sound & (room.cpu >= 0) & (room.memory >= 0) & room.snapshot.node_usable
    for spoilt in room.state.spoilt.values():
        good = good & ~spoilt
    return np.asarray(good)


def _device_memory(snapshot: Snapshot, lenders: Lenders, part: Part) -> Bools:
    """[s] What the sleeper keeps of each device leaves so much; unknown devices limit nothing."""
    has = snapshot.node_gpu_memory_mib[lenders.node]
    asked = part.device_memory
    return np.asarray((has == ABSENT) | (lenders.gpu_memory_mib + asked <= has)) if asked else has == has
