"""One value per node for maps and tables, and one per GPU for the zoomed map.

Stranded and CPU-bound need a request to be said of: a node is asked for as much of itself as one node of the study is
ever asked for, the largest power of two up to 8 GPUs that it has, at 12 CPU per GPU (1G12C, 4G48C, 8G96C ...).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, Bools, Longs, Snapshot
from scheduler.fragmentation.capacity import Capacity, capacity_of
from scheduler.fragmentation.demand import CPU_MILLI_PER_GPU

Octets = NDArray[np.uint8]

NO_DATA = 255
OK, CORDONED, NOT_READY, DEGRADED, NO_GPUS = range(5)
# Why a node's GPUs are not there for the request that it is asked for; "" where all its free GPUs are, or it has none.
WHY = ("", "unhealthy", "stranded", "cpu_memory", "constraint", "fractional", "standby", "allocated_lp", "allocated_hp")
LARGEST_ON_ONE_NODE = 8


@dataclass(frozen=True, slots=True, eq=False)
class NodeMeasures:
    """Columns [n] in snapshot order.  Shares are percent of the node's GPUs, 0 to 100; NO_DATA where it has none."""

    free: Octets
    stranded: Octets
    cpu_bound: Octets
    standby: Octets
    lp: Octets
    health: Octets  # OK, CORDONED, NOT_READY, DEGRADED, NO_GPUS
    free_gpus: Longs  # whole devices that no live pod touches, whatever the node's health
    gpus: Longs  # physical
    stranded_gpus: Longs  # free ones that the node's request cannot use: the remainder below one request
    asked_gpus: Longs  # size of the request that the node is asked for; 0 where it has no GPUs
    cpu_left_milli: Longs
    why: Octets  # -> WHY

    def why_text(self, node: int) -> str:
        """The cause word for one node, "" where there is none."""
        return WHY[int(self.why[node])]


def node_measures(snapshot: Snapshot) -> NodeMeasures:
    """All map columns of a snapshot."""
    return measures_of(capacity_of(snapshot))


def measures_of(capacity: Capacity) -> NodeMeasures:
    """The same, from a capacity already read."""
    snapshot = capacity.snapshot
    gpus = snapshot.node_gpus.astype(np.int64)
    asked = _asked(gpus)
    requests = capacity.free // np.maximum(asked, 1)
    served = np.minimum(requests, capacity.cpu_milli // np.maximum(asked * CPU_MILLI_PER_GPU, 1))
    stranded, short_of_cpu = capacity.free - requests * asked, (requests - served) * asked
    free = capacity.occupancy.free_gpus.astype(np.int64)
    return NodeMeasures(
        free=_percent(free * WHOLE_GPU_MILLI, gpus),
        stranded=_percent(stranded * WHOLE_GPU_MILLI, gpus),
        cpu_bound=_percent(short_of_cpu * WHOLE_GPU_MILLI, gpus),
        standby=_percent(capacity.standby_milli, gpus),
        lp=_percent(capacity.lp_milli, gpus),
        health=health_codes(snapshot),
        free_gpus=free,
        gpus=gpus,
        stranded_gpus=stranded,
        asked_gpus=asked,
        cpu_left_milli=capacity.cpu_milli,
        why=_why(capacity, stranded, short_of_cpu, served),
    )


def health_codes(snapshot: Snapshot) -> Octets:
    """[n] the worst that is known of each node; degraded: fewer GPUs allocatable than there are, or a bad device."""
    declared = snapshot.node_declared_allocatable
    degraded = (declared != ABSENT) & (declared < snapshot.node_gpus)
    for node, devices in snapshot.node_devices.items():
        degraded[node] |= any(device.health != "ok" for device in devices)
    conditions: list[Bools] = [~snapshot.node_ready, snapshot.node_cordoned, snapshot.node_gpus == 0, degraded]
    return np.select(conditions, [NOT_READY, CORDONED, NO_GPUS, DEGRADED], OK).astype(np.uint8)


def _asked(gpus: Longs) -> Longs:
    """[n] largest power of two up to the node's GPUs and ``LARGEST_ON_ONE_NODE``; 0 for none."""
    asked = np.zeros(gpus.size, np.int64)
    for size in (1, 2, 4, LARGEST_ON_ONE_NODE):
        asked[gpus >= size] = size
    return asked


def _percent(milli: Longs, gpus: Longs) -> Octets:
    """Rounded to the nearest, halves up, but never to 0 what is not nothing; NO_DATA without GPUs."""
    whole = np.maximum(gpus * WHOLE_GPU_MILLI, 1)
    share = np.maximum((200 * milli + whole) // (2 * whole), milli > 0)
    return np.where(gpus > 0, share, NO_DATA).astype(np.uint8)


def _why(capacity: Capacity, stranded: Longs, short_of_cpu: Longs, served: Longs) -> Octets:
    """[n] the first cause that keeps free GPUs of the node idle; where none are free, the one that holds most."""
    holders = ("unhealthy", "fractional", "standby", "allocated_lp", "allocated_hp")
    held = (
        capacity.unhealthy_milli,
        capacity.shared_rest_milli,
        capacity.standby_milli,
        capacity.lp_milli,
        capacity.hp_milli,
    )
    most = np.array([WHY.index(word) for word in holders])[np.argmax(np.stack(held), axis=0)]
    found = {
        "": capacity.snapshot.node_gpus == 0,
        "unhealthy": ~capacity.snapshot.node_usable,
        "stranded": stranded > 0,
        "cpu_memory": short_of_cpu > 0,
        "constraint": served > capacity.openings,
    }
    codes = [WHY.index(word) for word in found]
    idle = np.where(capacity.free > 0, WHY.index(""), most)
    return np.select(list(found.values()), codes, idle).astype(np.uint8)
