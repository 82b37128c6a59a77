"""Devices that are partitioned into slices (MIG): what their pods hold and what is left, in GPU thousandths.

The format gives no size of a slice.  A slice weighs the compute units that its profile names (``3g.40gb`` weighs
3), else 1, and is worth its part of all that the node's devices are cut into.
"""

import re
from collections import Counter

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Bools, Longs, Snapshot


def in_slices(snapshot: Snapshot) -> Bools:
    """[p] the pod asks for slices and not for devices."""
    sliced = np.array([bool(spec.mig) for spec in snapshot.pod_specs], np.bool_)
    return np.asarray(sliced[snapshot.pod_spec])


def slice_use(snapshot: Snapshot) -> tuple[Longs, Longs]:
    """[3, n] thousandths held by HP pods, LP pods and sleepers, and [n] what is left of the partitioned devices."""
    held = np.zeros((3, len(snapshot.node_name)), np.int64)
    left = np.zeros(len(snapshot.node_name), np.int64)
    weights = _weights_in_use(snapshot)
    for node, devices in snapshot.node_devices.items():
        cut = [device for device in devices if device.mig and device.health != "failed"]
        if not cut:
            continue
        total = sum(_weight(part.profile) * part.count for device in cut for part in device.mig)
        left[node] = len(cut) * WHOLE_GPU_MILLI
        for kind in range(3):
            worth = int(len(cut) * WHOLE_GPU_MILLI * weights[node, kind] // total) if total else 0
            held[kind, node] = min(worth, left[node])
            left[node] -= held[kind, node]
    return held, left


def _weights_in_use(snapshot: Snapshot) -> Counter[tuple[int, int]]:
    """(node, kind) -> weight of the slices that live pods hold."""
    found: Counter[tuple[int, int]] = Counter()
    for pod in np.flatnonzero(in_slices(snapshot) & snapshot.pod_live).tolist():
        low = bool(snapshot.pod_lp[pod])
        kind = 1 if low else 2 * int(snapshot.pod_standby[pod])
        for profile, count in snapshot.pod_specs[snapshot.pod_spec[pod]].mig:
            found[int(snapshot.pod_node[pod]), kind] += _weight(profile) * count
    return found


def _weight(profile: str) -> int:
    units = re.search(r"(\d+)g\b", profile)
    return int(units.group(1)) if units else 1
