"""How long a collective takes: the alpha-beta model with NCCL's constants.

    t = latency + bytes / bandwidth
    ring: latency = base + (2(n-1) - 2(N-1)) intra + 2(N-1) inter,  bandwidth = bus n / (2(n-1))
    tree: latency = base + 2 ((n/N - 1) intra + log2(N) inter),     bandwidth = min(0.92 bus, channels most) / 2
    NVLS: one node whose switch adds up: every GPU sends and receives the bytes once

for n GPUs on N nodes; of all ways the shortest one is taken, as NCCL's tuner does.  All-gather, reduce-scatter and
all-to-all move half as much as an all-reduce.  The bus is the slower of the links inside a node and the network.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from scheduler.performance.fabrics import (
    BASE_LATENCY_US,
    HOP_LATENCY_US,
    LL,
    LL128,
    MOST_TREE_GB_PER_S,
    NET_GB_PER_S,
    NVLS,
    NVLS_EFFICIENCY,
    PLATEAU,
    PROTOCOLS,
    RING,
    SIMPLE,
    TREE,
    TREE_SHARE,
    Fabric,
)

PROTOCOL_SHARE = {
    LL: 0.5,
    LL128: 0.92,
    SIMPLE: 1.0,
}  # of the bus: flags take half of LL's words, 8 of LL128's 128 bytes
LARGE_BYTES_PER_GPU = 4096  # from here on a ring over nodes shows its plateau
MICRO, GIGA = 1e-6, 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """GPUs that talk to one another: how many, on how many nodes, and whether they cross an access switch."""

    gpus: int
    nodes: int
    crosses: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    seconds: float
    latency_s: float
    algorithm: str
    protocol: str

    def bus_gb_per_s(self, size: float, gpus: int) -> float:
        """As nccl-tests counts it: bytes / t times 2 (n-1) / n."""
        return size / self.seconds / GIGA * 2 * (gpus - 1) / gpus


def all_reduce(size: float, reach: Reach, fabric: Fabric) -> Time:
    """``size`` bytes of each GPU.  Nobody to talk to takes no time."""
    if reach.gpus <= 1 or size <= 0:
        return Time(seconds=0.0, latency_s=0.0, algorithm=RING, protocol=PROTOCOLS[SIMPLE])
    return min(_ways(size, reach, fabric), key=lambda way: way.seconds)


def all_gather(size: float, reach: Reach, fabric: Fabric) -> Time:
    """``size`` bytes that every GPU has in the end; a reduce-scatter takes as long."""
    ring = min(_rings(size, reach, fabric), key=lambda way: way.seconds) if reach.gpus > 1 and size > 0 else None
    if ring is None:
        return Time(seconds=0.0, latency_s=0.0, algorithm=RING, protocol=PROTOCOLS[SIMPLE])
    return replace(ring, seconds=ring.seconds / 2, latency_s=ring.latency_s / 2)


def all_to_all(size: float, reach: Reach, fabric: Fabric) -> Time:
    """``size`` bytes that every GPU sends in all, to everybody alike."""
    return all_gather(size, reach, fabric)


def _ways(size: float, reach: Reach, fabric: Fabric) -> Iterator[Time]:
    yield from _rings(size, reach, fabric)
    for protocol in (LL, LL128, SIMPLE):
        yield _tree(size, reach, fabric, protocol)
    if reach.nodes == 1 and reach.gpus > 2 and fabric.inside.links and fabric.inside.capability in NVLS_EFFICIENCY:
        gb_per_s = fabric.node_gb_per_s * NVLS_EFFICIENCY[fabric.inside.capability]
        latency = BASE_LATENCY_US[TREE][SIMPLE] * MICRO
        yield Time(seconds=latency + size / (gb_per_s * GIGA), latency_s=latency, algorithm=NVLS, protocol="Simple")


def _rings(size: float, reach: Reach, fabric: Fabric) -> Iterator[Time]:
    steps = 2 * (reach.gpus - 1)
    outside = 2 * (reach.nodes - 1)
    for protocol in (LL, LL128, SIMPLE):
        inner, outer = _hops(RING, protocol, fabric)
        latency = BASE_LATENCY_US[RING][protocol] + (steps - outside) * inner + outside * outer
        if protocol == SIMPLE and reach.nodes > 1 and size >= LARGE_BYTES_PER_GPU * reach.gpus:
            latency *= PLATEAU
        gb_per_s = _bus(reach, fabric) * PROTOCOL_SHARE[protocol] * reach.gpus / steps
        yield _time(RING, protocol, latency, size, gb_per_s)


def _tree(size: float, reach: Reach, fabric: Fabric, protocol: int) -> Time:
    inner, outer = _hops(TREE, protocol, fabric)
    latency = BASE_LATENCY_US[TREE][protocol]
    latency += 2 * ((reach.gpus / reach.nodes - 1) * inner + math.log2(reach.nodes) * outer)
    gb_per_s = _bus(reach, fabric) * PROTOCOL_SHARE[protocol] * TREE_SHARE
    most = MOST_TREE_GB_PER_S.get(fabric.inside.capability)
    if most is not None:
        channel = most[0 if reach.nodes == 1 else 1 if reach.nodes == 2 else 2]
        gb_per_s = min(gb_per_s, max(1, fabric.inside.links) * channel)
    return _time(TREE, protocol, latency, size, gb_per_s / 2)


def _time(algorithm: str, protocol: int, latency_us: float, size: float, gb_per_s: float) -> Time:
    latency = latency_us * MICRO
    seconds = latency + size / (gb_per_s * GIGA)
    return Time(seconds=seconds, latency_s=latency, algorithm=algorithm, protocol=PROTOCOLS[protocol])


def _hops(algorithm: str, protocol: int, fabric: Fabric) -> tuple[float, float]:
    """Microseconds of a hop inside a node and of one between nodes."""
    inside = HOP_LATENCY_US["NVLINK" if fabric.inside.links else "PCI"][algorithm][protocol]
    return inside, HOP_LATENCY_US["NET"][algorithm][protocol]


def _bus(reach: Reach, fabric: Fabric) -> float:
    """GB/s; a node's interfaces are those of its GPUs that take part, and a ring uses them all."""
    if reach.nodes == 1:
        return fabric.node_gb_per_s
    network = NET_GB_PER_S * fabric.nic_gbit / 100 * reach.gpus / reach.nodes
    # the study measured all-reduces as a whole, so its figure is for the bus and not for the network alone
    return min(fabric.node_gb_per_s, network) * (fabric.crossing if reach.crosses else 1.0)
