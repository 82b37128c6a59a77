"""Node records to columns."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from scheduler.cluster.records import DeviceRecord, NodeRecord
from scheduler.cluster.rows import MAX_COUNT, MAX_DEVICES, MAX_QUANTITY, Rows, amounts, frozen
from scheduler.cluster.snapshot import ABSENT, NO_LIMIT, UNKNOWN, Ints, Longs, NodeSpec
from scheduler.cluster.topology import Domains, at_levels, place_nodes

ZONE_LABELS = ("topology.kubernetes.io/zone", "zone")
Fields = dict[str, object]


def zone_of(node: NodeRecord) -> str | None:
    """The zone field, else the first zone label that is not blank."""
    return node.zone or next((zone for label in ZONE_LABELS if (zone := node.labels.get(label, "").strip())), None)


def node_fields(rows: Rows[NodeRecord], domains: Domains, clusters: Sequence[str], zones: Sequence[str]) -> Fields:
    """The ``node_*`` fields of the snapshot; raises ``InputError`` for values out of range."""
    nodes = rows.records
    models = sorted(set(rows.values("gpu_model")) - {""})
    devices = {n: tuple(sorted(listed, key=attrgetter("index"))) for n, listed in rows.given("devices")}
    checked = _checked(rows)
    gpus, declared, max_pods = checked["gpus"], checked["allocatable_gpus"], checked["max_pods"]
    domain, by_asw = place_nodes(rows, domains)
    specs, spec_ix = _specs(rows)
    zone_ix = {zone: i for i, zone in enumerate(zones)} | {None: UNKNOWN}
    return {
        "models": tuple(models),
        "node_name": rows.texts("name"),
        "node_cluster": frozen(rows.ranks("cluster", clusters)),
        "node_domain": frozen(domain),
        "node_declared_asw": frozen(by_asw),
        "node_at_level": frozen(at_levels(domain, domains)),
        "node_model": frozen(rows.ranks("gpu_model", models)),
        "node_gpus": frozen(gpus.astype(np.int32)),
        "node_allocatable": frozen(_allocatable(gpus, declared, devices)),
        "node_declared_allocatable": frozen(declared),
        "node_gpu_memory_mib": frozen(checked["gpu_memory_mib"]),
        "node_cpu_milli": frozen(checked["cpu_milli"]),
        "node_memory_mib": frozen(checked["memory_mib"]),
        "node_max_pods": frozen(np.where(max_pods == ABSENT, NO_LIMIT, max_pods).astype(np.int32)),
        "node_zone": frozen(np.array([zone_ix[zone_of(node)] for node in nodes], np.int32)),
        "node_declared_zone": frozen(np.array([zone is not None for zone in rows.values("zone")], np.bool_)),
        "node_cordoned": frozen(rows.flags("cordoned")),
        "node_ready": frozen(rows.flags("ready")),
        "node_power_watts": frozen(checked["power_watts"]),
        "node_spec": frozen(spec_ix),
        "node_specs": specs,
        "node_devices": devices,
    }


def check_nodes(rows: Rows[NodeRecord]) -> None:
    """Raise ``InputError`` for a value that no document may have, whatever else stands in it."""
    _checked(rows)


def _checked(rows: Rows[NodeRecord]) -> dict[str, Longs]:
    """[rows] The numbers of each node."""
    found = {"gpus": rows.integers("gpus", high=MAX_DEVICES)}
    _check_devices(rows, dict(rows.given("devices")))
    _check_taints(rows)
    _check_resources(rows)
    found["allocatable_gpus"] = rows.optional("allocatable_gpus", high=MAX_DEVICES)
    found["max_pods"] = rows.optional("max_pods", high=MAX_COUNT)
    found |= {name: rows.optional(name) for name in ("gpu_memory_mib", "power_watts")}
    return found | {name: rows.integers(name) for name in ("cpu_milli", "memory_mib")}


def _specs(rows: Rows[NodeRecord]) -> tuple[tuple[NodeSpec, ...], Ints]:
    """Interned specs in the order of first use."""
    seen: dict[tuple[Any, ...], int] = {}
    index = np.empty(len(rows.records), np.int32)
    columns = (rows.values(name) for name in ("labels", "taints", "resources"))
    for n, (labels, taints, resources) in enumerate(zip(*columns, strict=True)):
        key = (tuple(sorted(labels.items())), tuple(taints), amounts(resources))
        index[n] = seen.setdefault(key, len(seen))
    return tuple([NodeSpec(*key) for key in seen]), index


def whole_device_loss(devices: Sequence[DeviceRecord]) -> int:
    """How many listed devices are no whole GPUs: failed, or partitioned into slices."""
    return sum(device.health == "failed" or bool(device.mig) for device in devices)


def _allocatable(gpus: Longs, declared: Longs, devices: Mapping[int, Sequence[DeviceRecord]]) -> Ints:
    lost = np.zeros(len(gpus), np.int64)
    for n, listed in devices.items():
        lost[n] = whole_device_loss(listed)
    cap = np.where(declared == ABSENT, gpus, np.minimum(gpus, declared))
    return np.asarray(np.maximum(np.minimum(cap, gpus - lost), 0), np.int32)


def _check_devices(rows: Rows[NodeRecord], devices: Mapping[int, Sequence[DeviceRecord]]) -> None:
    for n, listed in devices.items():
        seen: set[int] = set()
        for i, device in enumerate(listed):
            gpus = rows.records[n].gpus
            where = f"devices[{i}]"
            if not 0 <= device.index < gpus:
                raise rows.refuse(n, f"{where}.index", device.index, f"no such device on a node of {gpus} GPUs")
            if device.index in seen:
                raise rows.refuse(n, f"{where}.index", device.index, "the same device is listed twice")
            seen.add(device.index)
            if device.memory_mib is not None and not 0 <= device.memory_mib <= MAX_COUNT:
                raise rows.refuse(n, f"{where}.memory_mib", device.memory_mib, f"must be from 0 to {MAX_COUNT}")
            for name in ("numa", "nvlink_group"):
                number = getattr(device, name)
                if isinstance(number, int) and not -1 <= number <= MAX_COUNT:  # -1: the kernel's word for no NUMA node
                    raise rows.refuse(n, f"{where}.{name}", number, f"must be from -1 to {MAX_COUNT}")
            _check_slices(rows, n, where, device)


def _check_slices(rows: Rows[NodeRecord], n: int, where: str, device: DeviceRecord) -> None:
    for j, slices in enumerate(device.mig):
        if not 0 <= slices.count <= MAX_DEVICES:
            raise rows.refuse(n, f"{where}.mig[{j}].count", slices.count, f"must be from 0 to {MAX_DEVICES}")
    if device.utilisation is not None:
        for name in ("sm", "memory"):
            share = getattr(device.utilisation, name)
            if share is not None and not 0 <= share <= 100:
                raise rows.refuse(n, f"{where}.utilisation.{name}", share, "must be from 0 to 100")


def _check_resources(rows: Rows[NodeRecord]) -> None:
    for n, resources in rows.given("resources"):
        for name, amount in resources.items():
            if not 0 <= amount <= MAX_QUANTITY:
                raise rows.refuse(n, f"resources.{name}", amount, f"must be from 0 to {MAX_QUANTITY}")


def _check_taints(rows: Rows[NodeRecord]) -> None:
    for n, taints in rows.given("taints"):
        for i, taint in enumerate(taints):
            if taint.effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
                raise rows.refuse(
                    n, f"taints[{i}].effect", taint.effect, "expected NoSchedule, PreferNoSchedule or NoExecute"
                )
