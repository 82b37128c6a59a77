"""Dynamic resource allocation: the devices that drivers publish, and which pod has which of them.

Only drivers of accelerators are looked at; network and other devices are no GPUs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import DeviceRecord, Health
from scheduler.kubernetes.accelerators import product
from scheduler.kubernetes.builtin import Device, DeviceAttribute, ExactRequest, ResourceClaim, ResourceSlice
from scheduler.kubernetes.quantities import memory_mib

DRIVERS = ("gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com")
# Classes that ask for any whole device of a driver, and those that ask for a part of one.
WHOLE_CLASSES, PART_CLASSES = DRIVERS, ("mig.nvidia.com", "vfio.gpu.nvidia.com")
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


@dataclass(frozen=True, slots=True)
class SliceFacts:
    """One ResourceSlice of an accelerator's driver; devices of no single node are not read."""

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


def read_slice(found: ResourceSlice) -> SliceFacts | None:
    """None for devices of other kinds; raises ``InputError`` that names the field."""
    spec = found.spec
    if spec.driver not in DRIVERS:
        return None
    devices = tuple(_device(d, f"$.spec.devices[{i}]") for i, d in enumerate(spec.devices))
    return SliceFacts((spec.driver, spec.pool.name), spec.pool.generation, spec.node_name, devices)


def _device(found: Device, path: str) -> SliceDevice:
    facts = found.basic or found
    attributes = {name.rpartition("/")[2]: value for name, value in facts.attributes.items()}
    capacity = {name.rpartition("/")[2]: value.value for name, value in facts.capacity.items()}
    memory = memory_mib(capacity["memory"], f"{path}.capacity.memory", down=True) if "memory" in capacity else None
    gone = any(taint.effect in ("NoSchedule", "NoExecute") for taint in facts.taints)
    return SliceDevice(
        name=found.name,
        uuid=_text(attributes, "uuid") or None,
        model=product(_text(attributes, "productName").replace(" ", "-")).model,
        memory_mib=memory,
        profile=_text(attributes, "profile"),
        parent=_text(attributes, "parentUUID"),
        health="failed" if gone else "ok",
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


def _natural(name: str) -> tuple[str, int, str]:
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    return stem, int(digits) if digits else -1, name


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
    odd = next((why for exact, whole in requests if (why := _odd(exact, bool(whole.first_available)))), "")
    if allocation is not None:
        results = allocation.devices.results
        devices = tuple((r.driver, r.pool, r.device) for r in results if r.driver in DRIVERS and not r.admin_access)
        return ClaimFacts(tuple(sorted(devices)), len(devices), odd, users, True)
    asked = sum(exact.count or 1 for exact, _ in requests if exact.device_class_name in WHOLE_CLASSES)
    return ClaimFacts((), 0 if odd else asked, odd, users, False)


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
