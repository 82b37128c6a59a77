"""Nodes on which the pods of a wave hold beyond doubt, found for all of them at once.

Only what a few sums and one common layout can settle is settled here; every other node is for ``cluster.room``.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.sharing import Rounds, lay_out_together
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Longs, Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class Company:
    """Which pods may stand beside which, told apart at once where nobody near has any wish."""

    snapshot: Snapshot
    choosy: Bools  # [p] pods with host ports or affinity
    wary: Bools  # [p] pods that shun others or are shunned by some
    shuns: tuple[frozenset[str], ...]  # [spec] what their pods will not stand beside
    shows: tuple[frozenset[str], ...]  # [spec] the labels of their pods that somebody shuns

    def keeps(self, pods: Sequence[int]) -> bool:
        """No wish of these pods speaks against their standing together; False: look closer."""
        if self.choosy[pods].any():
            return False
        wary = np.asarray(pods)[self.wary[pods]]
        if len(wary) < 2:
            return True
        specs = list(
            zip(self.snapshot.pod_namespace[wary].tolist(), self.snapshot.pod_spec[wary].tolist(), strict=True)
        )
        shown = Counter((space, term) for space, spec in specs for term in self.shows[spec])
        return all(
            shown[space, term] == (term in self.shows[spec]) for space, spec in specs for term in self.shuns[spec]
        )


def company(snapshot: Snapshot) -> Company:
    specs = snapshot.pod_specs
    shuns = tuple(frozenset(spec.anti_affinity) for spec in specs)
    shunned = frozenset().union(*shuns)
    shows = tuple(frozenset(f"{key}={value}" for key, value in spec.labels) & shunned for spec in specs)
    choosy = np.array([bool(spec.host_ports or spec.affinity) for spec in specs], np.bool_)
    wary = np.array([bool(shun or show) for shun, show in zip(shuns, shows, strict=True)], np.bool_)
    return Company(snapshot, choosy[snapshot.pod_spec], wary[snapshot.pod_spec], shuns, shows)


def holds_plainly(snapshot: Snapshot, together: Mapping[int, Sequence[int]]) -> set[int]:
    """Of the nodes with the pods that stand ``together`` there, those whose capacity holds them.

    A node that is missing may hold its pods too: lending, slices, listed devices, device memory and devices that
    differ are not looked at.
    """
    nodes = np.array(sorted(together), np.int64)
    if not len(nodes):
        return set()
    node = np.repeat(nodes, [len(together[n]) for n in nodes.tolist()])
    pod = np.array([p for n in nodes.tolist() for p in together[n]], np.int64)
    order = np.argsort(pod, kind="stable")  # identities
    node, pod = node[order], pod[order]
    good = ~_odd_nodes(snapshot)
    good[node[_odd_pods(snapshot)[pod]]] = False
    for amounts, room in (
        (snapshot.pod_cpu_milli, snapshot.node_cpu_milli),
        (snapshot.pod_memory_mib, snapshot.node_memory_mib),
        (np.ones(len(snapshot.pod_name), np.int64), snapshot.node_max_pods),
    ):
        good &= _sums(snapshot, node, amounts[pod]) <= room
    for asked, offered in _resources(snapshot):
        good &= _sums(snapshot, node, asked[snapshot.pod_spec[pod]]) <= offered[snapshot.node_spec]
    good[nodes] &= _devices_hold(snapshot, nodes, node, pod)
    return set(nodes[good[nodes]].tolist())


def _resources(snapshot: Snapshot) -> Iterator[tuple[Longs, Longs]]:
    """[spec of pods] asked and [spec of nodes] offered of every counted resource that some pod asks for."""
    pods = [dict(spec.resources) for spec in snapshot.pod_specs]
    nodes = [dict(spec.resources) for spec in snapshot.node_specs]
    for name in sorted(set().union(*pods)):
        yield (
            np.array([one.get(name, 0) for one in pods], np.int64),
            np.array([one.get(name, 0) for one in nodes], np.int64),
        )


def _odd_pods(snapshot: Snapshot) -> Bools:
    sliced = np.array([bool(spec.mig) for spec in snapshot.pod_specs], np.bool_)
    odd = np.asarray(sliced[snapshot.pod_spec] | (snapshot.pod_lender != UNKNOWN) | (snapshot.pod_gpu_memory_mib > 0))
    odd[snapshot.pod_lender[snapshot.pod_lender != UNKNOWN]] = True
    odd[list(snapshot.pod_devices)] = True
    return odd


def _odd_nodes(snapshot: Snapshot) -> Bools:
    odd = np.zeros(len(snapshot.node_name), np.bool_)
    odd[list(snapshot.node_devices)] = True
    return odd


def _sums(snapshot: Snapshot, node: Longs, amounts: Longs) -> Longs:
    total = np.zeros(len(snapshot.node_name), np.int64)
    np.add.at(total, node, amounts)
    return total


def _devices_hold(snapshot: Snapshot, nodes: Longs, node: Longs, pod: Longs) -> Bools:
    """[nodes] The pods are laid out as if each pair of ``node`` and ``pod`` were a pod of its own."""
    gpus, milli = snapshot.pod_gpus[pod].astype(np.int64), snapshot.pod_gpu_milli[pod]
    whole = (gpus > 0) & (milli == WHOLE_GPU_MILLI)
    taken = _sums(snapshot, node, np.where(whole, gpus, 0))
    pairs = replace(
        snapshot,
        pod_node=node.astype(np.int32),
        pod_gpus=snapshot.pod_gpus[pod],
        pod_gpu_milli=milli,
        pod_gpu_memory_mib=np.zeros(len(pod), np.int64),
        node_gpu_memory_mib=np.full(len(snapshot.node_name), ABSENT, np.int64),
    )
    shares = np.flatnonzero((gpus > 0) & ~whole)
    laid = lay_out_together(Rounds(pairs, nodes, shares, np.zeros(len(pod), np.bool_), taken))
    return np.asarray(laid.over_milli == 0)
