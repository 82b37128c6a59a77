"""Dynamic resource allocation: the devices that drivers publish, and which pod has which of them.

Only drivers of accelerators are looked at; network and other devices are no GPUs.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import WHOLE_GPU_MILLI, DeviceRecord, Health
from scheduler.kubernetes.accelerators import device as device_parts
from scheduler.kubernetes.accelerators import product, weight
from scheduler.kubernetes.builtin import (
    Device,
    DeviceAttribute,
    ExactRequest,
    ResourceClaim,
    ResourceSlice,
    ResourceSliceSpec,
)
from scheduler.kubernetes.quantities import memory_mib
from scheduler.kubernetes.unheld import Note

# Drivers of accelerators and the vendors of their device plugins.  Sources: the drivers of NVIDIA, AMD and Intel
DRIVERS = {"gpu.nvidia.com": "nvidia", "gpu.amd.com": "amd", "gpu.intel.com": "intel", "gaudi.intel.com": "habana"}
# Drivers of what is certainly no accelerator: their slices are nothing to tell of
_NO_ACCELERATORS = re.compile(
    r"dra\.(net|cpu|memory)|compute-domain\.nvidia\.com|qat\.intel\.com|sriovnetwork\..*|(.*\.)?(rdma|net|network)\..*"
)
# Classes that ask for any whole device of a driver, and those that ask for a part of one.
WHOLE_CLASSES, PART_CLASSES = tuple(DRIVERS), ("mig.nvidia.com", "vfio.gpu.nvidia.com")
PART_DRIVERS = {"mig.nvidia.com": "gpu.nvidia.com"}
_PART_NAME = re.compile(r"(gpu-[0-9]+)-mig-[0-9]+-[0-9]+-([0-9]{1,2})")
Place = tuple[str, str]  # driver, pool


@dataclass(frozen=True, slots=True)
class SliceDevice:
    name: str
    uuid: str | None
    model: str
    memory_mib: int | None
    profile: str  # of a part of another device, else ""
    parent: str  # uuid of that device
    health: Health
    counters: tuple[str, ...] = ()  # sets of its pool of which it takes a part; those of one device share them


@dataclass(frozen=True, slots=True)
class SliceFacts:
    """What a ResourceSlice of an accelerator's driver lists of one node; ``node`` is "" where it lists of none."""

    place: Place
    generation: int
    node: str
    devices: tuple[SliceDevice, ...]


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """``devices`` are (driver, pool, device) once allocated; ``asked`` whole devices; ``odd`` what is not held."""

    devices: tuple[tuple[str, str, str], ...]
    asked: int
    odd: str
    users: int
    allocated: bool
    drivers: tuple[str, ...] = ()
    parts: bool = False  # asks for parts of devices


def read_slice(found: ResourceSlice) -> tuple[SliceFacts, ...]:
    """Node by node; nothing for devices of other kinds.  Raises ``InputError`` that names the field."""
    spec = found.spec
    if spec.driver not in DRIVERS:
        return ()
    by_node: dict[str, list[SliceDevice]] = {spec.node_name: []}
    for i, one in enumerate(spec.devices):
        device = _device(one, f"$.spec.devices[{i}]")
        if node := _node_of(spec, one):
            by_node.setdefault(node, []).append(device)
    place, generation = (spec.driver, spec.pool.name), spec.pool.generation
    return tuple(SliceFacts(place, generation, node, tuple(listed)) for node, listed in sorted(by_node.items()))


def _node_of(spec: ResourceSliceSpec, device: Device) -> str:
    """The one node of a device, "" where there may be several."""
    return (device.basic or device).node_name if spec.per_device_node_selection else spec.node_name


def not_read(found: ResourceSlice) -> tuple[Note, ...]:
    """Devices of a slice that no node is given."""
    spec = found.spec
    whose = f"{spec.driver}, pool {spec.pool.name}"
    if spec.driver not in DRIVERS:
        odd = spec.devices and not _NO_ACCELERATORS.fullmatch(spec.driver)
        detail = f"{whose}: {len(spec.devices)} devices of no driver that is known"
        return (Note("resource", "ignored", "$.spec.driver", detail),) if odd else ()
    lost = [device.name for device in spec.devices if not _node_of(spec, device)]
    detail = f"{whose}: {', '.join(lost)} of no single node"
    return (Note("resource", "ignored", "$.spec.devices", detail),) if lost else ()


def _device(found: Device, path: str) -> SliceDevice:
    facts = found.basic or found
    attributes = {name.rpartition("/")[2]: value for name, value in facts.attributes.items()}
    capacity = {name.rpartition("/")[2]: value.value for name, value in facts.capacity.items()}
    memory = memory_mib(capacity["memory"], f"{path}.capacity.memory", down=True) if "memory" in capacity else None
    gone = any(taint.effect in ("NoSchedule", "NoExecute") for taint in facts.taints)
    gone |= "healthy" in attributes and attributes["healthy"].truth is False
    return SliceDevice(
        name=found.name,
        uuid=_text(attributes, "uuid") or None,
        model=product((_text(attributes, "productName") or _text(attributes, "model")).replace(" ", "-")).model,
        memory_mib=memory,
        profile=_text(attributes, "profile") or ("mig" if _text(attributes, "type") == "mig" else ""),
        parent=_text(attributes, "parentUUID"),
        health="failed" if gone else "ok",
        counters=tuple(use.counter_set for use in facts.consumes_counters),
    )


def _text(attributes: Mapping[str, DeviceAttribute], name: str) -> str:
    return (attributes[name].string or "") if name in attributes else ""


def newest(slices: Iterable[SliceFacts]) -> list[SliceFacts]:
    """Only the latest generation of each pool counts."""
    listed = list(slices)
    latest: dict[Place, int] = {}
    for one in listed:
        latest[one.place] = max(one.generation, latest.get(one.place, one.generation))
    return [one for one in listed if one.generation == latest[one.place]]


def whole_devices(slices: Iterable[SliceFacts]) -> list[tuple[Place, SliceDevice]]:
    """The whole devices of one node in the order of their names, which gives them their index."""
    found = [(one.place, device) for one in newest(slices) for device in one.devices if not device.profile]
    return sorted(found, key=lambda pair: (pair[0], _natural(pair[1].name)))


def partitions(
    slices: Iterable[SliceFacts], listed: Sequence[tuple[Place, SliceDevice]]
) -> tuple[tuple[tuple[Place, SliceDevice, int | None], ...], tuple[tuple[Place, SliceDevice], ...]]:
    """Parts that may be cut from listed devices, each with the index of that device, and parts of other devices.

    Drivers that cut devices on demand list a device and all its possible parts side by side.  The index is None where
    nothing tells which device a part is of.
    """
    found = [(one.place, device) for one in newest(slices) for device in one.devices if device.profile]
    inside, others = [], []
    for place, part in sorted(found, key=lambda pair: (pair[0], pair[1].name)):
        index = _parent(place, part, listed)
        if index is not None or (listed and not part.parent):
            inside.append((place, part, index))
        else:
            others.append((place, part))
    return tuple(inside), tuple(others)


def _parent(place: Place, part: SliceDevice, listed: Sequence[tuple[Place, SliceDevice]]) -> int | None:
    for i, (where, device) in enumerate(listed):
        if part.parent and part.parent == device.uuid:
            return i
        if where == place and set(part.counters) & set(device.counters):
            return i
    return None if part.parent else _at(place, parent_by_name(place[0], part.name)[0], listed)


def _at(place: Place, name: str, listed: Sequence[tuple[Place, SliceDevice]]) -> int | None:
    return next((i for i, (where, device) in enumerate(listed) if where == place and device.name == name), None)


def parent_by_name(driver: str, name: str) -> tuple[str, int]:
    """The device of which a part is, and of how many of its memory slices, by its name; "" where names do not tell.

    NVIDIA's driver calls devices ``gpu-0`` and their parts ``gpu-0-mig-PROFILE-START-SIZE`` (``CanonicalName``).
    """
    found = _PART_NAME.fullmatch(name) if driver == "gpu.nvidia.com" else None
    return (found[1], int(found[2])) if found else ("", 0)


def unlisted_part(key: tuple[str, str, str], listed: Sequence[tuple[Place, SliceDevice]]) -> tuple[int | None, int]:
    """Index of the device, None where nobody tells it, and milli of a part that no slice lists, 1 if unknown."""
    driver, pool, name = key
    parent, size = parent_by_name(driver, name)
    index = _at((driver, pool), parent, listed) if parent else None
    if index is None:
        return None, 1
    return index, min(max(WHOLE_GPU_MILLI * size // device_parts("", listed[index][1].model)[1], 1), WHOLE_GPU_MILLI)


def share_of(part: SliceDevice, whole: SliceDevice | None) -> int:
    """Milli of the device by memory, of which the parts that fit together never take more than all; 1 if not known."""
    model, size = (whole.model, whole.memory_mib) if whole is not None else (part.model, None)
    taken = weight(part.profile, model, size)
    return max(WHOLE_GPU_MILLI * taken[1] // device_parts(part.profile, model)[1], 1) if taken is not None else 1


def _natural(name: str) -> tuple[str, int, str, str]:
    """Numbers by their length first, which is their order, however long they are."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    number = digits.lstrip("0")
    return stem, len(number) if digits else -1, number, name


def device_records(slices: Iterable[SliceFacts]) -> tuple[DeviceRecord, ...]:
    return tuple(
        DeviceRecord(index=i, uuid=device.uuid, memory_mib=device.memory_mib, health=device.health)
        for i, (_, device) in enumerate(whole_devices(slices))
    )


def read_claim(claim: ResourceClaim) -> ClaimFacts:
    """What a claim has or asks for."""
    allocation = claim.status.allocation
    users = max(len(claim.status.reserved_for), 1)
    requests = [(request.exactly or request, request) for request in claim.spec.devices.requests]
    classes = {exact.device_class_name for exact, _ in requests}
    parts = not classes.isdisjoint(PART_CLASSES)
    odd = next((why for exact, whole in requests if (why := _odd(exact, bool(whole.first_available)))), "")
    if allocation is not None:
        results = allocation.devices.results
        devices = tuple((r.driver, r.pool, r.device) for r in results if r.driver in DRIVERS and not r.admin_access)
        drivers = tuple(sorted({driver for driver, _, _ in devices}))
        return ClaimFacts(tuple(sorted(devices)), len(devices), odd, users, True, drivers, parts)
    asked = sum(exact.count or 1 for exact, _ in requests if exact.device_class_name in WHOLE_CLASSES)
    return ClaimFacts((), 0 if odd else asked, odd, users, False, tuple(sorted(classes & set(WHOLE_CLASSES))), parts)


def _odd(request: ExactRequest, choice: bool) -> str:
    """Why a request is more than a number of whole devices, "" if it is not or is for other devices."""
    if choice:
        return "one of several requests"
    if request.device_class_name in PART_CLASSES:
        return f"parts of class {request.device_class_name}"
    if request.device_class_name not in WHOLE_CLASSES:
        return f"devices of class {request.device_class_name}"
    if request.allocation_mode == "All":
        return "all devices of a node"
    return "a selector on device attributes" if request.selectors else ""


def check_slice(facts: SliceFacts, limit: int) -> None:
    """Raise ``InputError`` for a slice of more devices than the format holds."""
    if len(facts.devices) > limit:
        raise InputError("$.spec.devices", len(facts.devices), f"more than {limit} devices")
