"""Which pod holds which device of a node, as far as it is known.

A source may list a pod's devices; else only the number is known, and which ones it holds can be said only where nothing
is left to choose.  Placing the others by a rule would be a guess, so they are named beside the devices instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from console.inventory.archive import UNKNOWN, Snapshot
from console.inventory.selectors.viewing import Mask, Reading, mask_of_scope

WHOLE_GPU_MILLI = 1000


@dataclass(frozen=True, slots=True)
class Holder:
    """A pod on a device, or on a node without it being known which device; ``gpu_milli`` of each of ``gpus``."""

    source: str
    cluster: str
    namespace: str
    name: str
    gpus: int
    gpu_milli: int

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """One device; what the source does not tell of it is None or "".  ``listed`` is False where it tells nothing.

    ``holders`` are those that are known to hold it; ``open``: one of the node's other pods may hold it as well.
    """

    index: int
    uuid: str | None
    health: str
    memory_mib: int | None
    mig: str
    listed: bool
    holders: tuple[Holder, ...]
    open: bool


@dataclass(frozen=True, slots=True)
class Holding:
    """All devices of a node, and the pods of which it is not known which devices they hold."""

    devices: tuple[DeviceRow, ...]
    unplaced: tuple[Holder, ...]


def holding(reading: Reading, node: int, scope: frozenset[str] | None) -> Holding:
    """A tenant's viewer gets the devices that are known to be its own, and none of anybody else's pods."""
    snapshot = reading.snapshot
    pods = np.flatnonzero(snapshot.pod_live & (snapshot.pod_node == node) & (snapshot.pod_gpus > 0)).tolist()
    placed = known_devices(snapshot, node, pods)
    seen = mask_of_scope(scope, snapshot)
    missing = [pod for pod in pods if pod not in placed]
    rows = [_row(reading, node, index, placed, seen, bool(missing)) for index in range(int(snapshot.node_gpus[node]))]
    shown = rows if scope is None else [row for row in rows if row.holders]
    return Holding(tuple(shown), tuple(_holder(reading, pod) for pod in missing if seen[pod]))


def known_devices(snapshot: Snapshot, node: int, pods: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """The devices of each of the node's pods of which they are known: listed, or all that is left for the last one."""
    placed = {pod: snapshot.pod_devices[pod] for pod in pods if pod in snapshot.pod_devices}
    others = [pod for pod in pods if pod not in placed]
    if len(others) == 1 and _holds_alone(snapshot, others[0], pods):
        taken = {index for devices in placed.values() for index in devices}
        left = [index for index in range(int(snapshot.node_gpus[node])) if index not in taken | _unfit(snapshot, node)]
        if len(left) == int(snapshot.pod_gpus[others[0]]):
            placed[others[0]] = tuple(left)
    return placed


def devices_of_pod(snapshot: Snapshot, pod: int) -> tuple[int, ...] | None:
    """None where it is not known which, () where the pod waits or asks for none."""
    node = int(snapshot.pod_node[pod])
    if node < 0 or not snapshot.pod_live[pod] or not snapshot.pod_gpus[pod]:
        return ()
    beside = np.flatnonzero(snapshot.pod_live & (snapshot.pod_node == node) & (snapshot.pod_gpus > 0)).tolist()
    return known_devices(snapshot, node, beside).get(pod)


def _holds_alone(snapshot: Snapshot, pod: int, pods: Sequence[int]) -> bool:
    """Whole devices that nobody shares; what is lent lies twice, and slices are parts."""
    whole = snapshot.pod_gpu_milli[pod] == WHOLE_GPU_MILLI and not snapshot.pod_specs[snapshot.pod_spec[pod]].mig
    return bool(whole and (snapshot.pod_lender[list(pods)] == UNKNOWN).all())


def _unfit(snapshot: Snapshot, node: int) -> set[int]:
    """Devices that hold no whole GPU: failed, or divided into slices."""
    return {device.index for device in snapshot.node_devices.get(node, ()) if device.health == "failed" or device.mig}


def _row(
    reading: Reading, node: int, index: int, placed: dict[int, tuple[int, ...]], seen: Mask, anybody: bool
) -> DeviceRow:
    told = {device.index: device for device in reading.snapshot.node_devices.get(node, ())}.get(index)
    holders = tuple(_holder(reading, pod) for pod, devices in placed.items() if index in devices and seen[pod])
    taken = any(index in devices for devices in placed.values())
    return DeviceRow(
        index=index,
        uuid=told.uuid if told is not None else None,
        health=told.health if told is not None else "",
        memory_mib=told.memory_mib if told is not None else None,
        mig=_slices(told) if told is not None else "",
        listed=told is not None,
        holders=holders,
        open=anybody and not taken,
    )


def _slices(device: Any) -> str:
    return ", ".join(f"{item.count} x {item.profile}" for item in device.mig)


def _holder(reading: Reading, pod: int) -> Holder:
    snapshot = reading.snapshot
    return Holder(
        source=reading.source,
        cluster=snapshot.clusters[snapshot.pod_cluster[pod]].name,
        namespace=snapshot.namespaces[snapshot.pod_namespace[pod]],
        name=snapshot.pod_name[pod],
        gpus=int(snapshot.pod_gpus[pod]),
        gpu_milli=int(snapshot.pod_gpu_milli[pod]),
    )
