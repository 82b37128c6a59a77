"""What each node has in use and what it still offers, as columns: what no request shape changes.

In use first, clipped to the node's physical GPUs; then what nobody can use (the rest of a node that is cordoned or not
ready, of a failed device, of one the node does not allocate) as unhealthy; then the rests of shared devices; the whole
devices that remain are free.  Per node: hp + lp + standby + unhealthy + shared rest + 1000 * free = 1000 * GPUs.
"""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.occupancy import Occupancy, borrowers, occupancy
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import NO_LIMIT, UNKNOWN, Bools, Ints, Longs, Snapshot
from scheduler.fragmentation.slices import in_slices, slice_use
from scheduler.fragmentation.sums import sum_by

BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Pool:
    """The nodes of one cluster with GPUs of one model."""

    cluster: str
    gpu_model: str


@dataclass(frozen=True, slots=True, eq=False)
class Capacity:
    """Axes: n node, p pool.  GPU columns are thousandths, ``free`` whole devices; nothing is negative."""

    snapshot: Snapshot
    occupancy: Occupancy
    pools: tuple[Pool, ...]
    pool: Ints  # [n] -> p, UNKNOWN for nodes without GPUs or without a model
    hp_milli: Longs
    lp_milli: Longs
    standby_milli: Longs
    unhealthy_milli: Longs
    shared_rest_milli: Longs
    free: Longs  # [n] whole devices on usable nodes
    cpu_milli: Longs  # [n] left
    memory_mib: Longs  # [n] left
    openings: Longs  # [n] plain pods that may still come: 0 where a taint keeps them out

    def units(self, cpu_milli_per_gpu: int) -> tuple[Longs, Longs]:
        """[n] GPUs that have their CPU, and those of them that a plain pod may take."""
        units = np.minimum(self.free, self.cpu_milli // cpu_milli_per_gpu) if cpu_milli_per_gpu else self.free
        return units, np.where(self.openings > 0, units, 0)

    def domains_at(self, level: str) -> Ints:
        """[n] the domain of ``level`` above each node; UNKNOWN for all where the snapshot has no such level."""
        levels = self.snapshot.levels
        if level not in levels:
            return np.full(self.pool.size, UNKNOWN, np.int32)
        return np.asarray(self.snapshot.node_at_level[levels.index(level)])


def capacity_of(snapshot: Snapshot) -> Capacity:
    """Read the snapshot once for all shapes."""
    held = occupancy(snapshot)
    usable = snapshot.node_usable
    physical = snapshot.node_gpus.astype(np.int64) * WHOLE_GPU_MILLI
    sliced, slices_left = slice_use(snapshot)
    shared_rest = held.shared_rest_milli + slices_left
    open_milli = held.free_gpus.astype(np.int64) * WHOLE_GPU_MILLI + shared_rest
    in_use = _clipped(in_use_milli(snapshot) + sliced, physical - open_milli)
    pools, pool = _pools(snapshot)
    return Capacity(
        snapshot=snapshot,
        occupancy=held,
        pools=pools,
        pool=pool,
        hp_milli=in_use[0],
        lp_milli=in_use[1],
        standby_milli=in_use[2],
        unhealthy_milli=physical - in_use.sum(axis=0) - np.where(usable, open_milli, 0),
        shared_rest_milli=np.where(usable, shared_rest, 0).astype(np.int64),
        free=np.where(usable, held.free_gpus, 0).astype(np.int64),
        cpu_milli=np.maximum(snapshot.node_cpu_milli - held.used_cpu_milli, 0),
        memory_mib=np.maximum(snapshot.node_memory_mib - held.used_memory_mib, 0),
        openings=_openings(snapshot, held),
    )


def in_use_milli(snapshot: Snapshot) -> Longs:
    """[3, n] thousandths of devices asked by live HP pods, LP pods and sleepers; what a sleeper lends counts as LP."""
    live = snapshot.pod_live & ~in_slices(snapshot)
    asked = np.where(live, snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli, 0)
    asleep = snapshot.pod_standby & ~snapshot.pod_lp & live
    lent = np.zeros(asked.size, np.int64)
    borrowing = borrowers(snapshot)
    np.add.at(lent, snapshot.pod_lender[borrowing], asked[borrowing])
    kinds = (~asleep & ~snapshot.pod_lp, ~asleep & snapshot.pod_lp, asleep)
    amounts = (asked, asked, np.maximum(asked - lent, 0))
    count = len(snapshot.node_name)
    chosen = [(kind & live, milli) for kind, milli in zip(kinds, amounts, strict=True)]
    return np.stack([sum_by(snapshot.pod_node[pods], milli[pods], count) for pods, milli in chosen])


def admits_plain_pods(snapshot: Snapshot) -> Bools:
    """[n] no taint that keeps out a pod without tolerations."""
    open_spec = [all(taint.effect not in BLOCKING_EFFECTS for taint in spec.taints) for spec in snapshot.node_specs]
    return np.array(open_spec, np.bool_)[snapshot.node_spec]


def _clipped(rows: Longs, limit: Longs) -> Longs:
    """The same rows, each cut so that together they stay within ``limit``; earlier rows first."""
    before = np.minimum(np.cumsum(rows, axis=0), limit)
    return np.diff(before, axis=0, prepend=0)


def _pools(snapshot: Snapshot) -> tuple[tuple[Pool, ...], Ints]:
    member = (snapshot.node_gpus > 0) & (snapshot.node_model != UNKNOWN)
    models = max(len(snapshot.models), 1)
    pairs = snapshot.node_cluster[member].astype(np.int64) * models + snapshot.node_model[member]
    found, ordinal = np.unique(pairs, return_inverse=True)
    pool = np.full(member.size, UNKNOWN, np.int32)
    pool[member] = ordinal
    named = [(snapshot.clusters[pair // models].name, snapshot.models[pair % models]) for pair in found.tolist()]
    return tuple(Pool(cluster, model) for cluster, model in named), pool


def _openings(snapshot: Snapshot, held: Occupancy) -> Longs:
    left = np.where(snapshot.node_max_pods == NO_LIMIT, NO_LIMIT, snapshot.node_max_pods.astype(np.int64) - held.pods)
    return np.where(admits_plain_pods(snapshot), np.maximum(left, 0), 0).astype(np.int64)
