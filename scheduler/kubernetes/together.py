"""What the device plugin and the drivers of DRA say of one node, put together.

A plugin and a driver of one vendor tell of the same devices.  A node is of one model in the records: where several
stand in it, those of which there are most are counted, and the others are said.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from scheduler.cluster.records import DeviceRecord, MigRecord
from scheduler.kubernetes.devices import Machine
from scheduler.kubernetes.hardware import Hardware, Offer
from scheduler.kubernetes.slices import (
    DRIVERS,
    Place,
    SliceDevice,
    SliceFacts,
    newest,
    partitions,
    whole_devices,
)
from scheduler.kubernetes.unheld import Note

LISTED = "$.spec.devices (resourceslices)"
Kind = tuple[str, str]  # vendor, model
Listed = Sequence[tuple[Place, SliceDevice]]


def with_slices(hardware: Hardware, slices: Iterable[SliceFacts]) -> Machine:
    """``slices`` are those of one node."""
    found = newest(slices)
    kinds = _kinds(found)
    if not kinds:
        return Machine(hardware)
    choice = _choose(hardware, kinds)
    kept = [_only(one, kinds, choice) for one in found]
    left = {key for key, kind in kinds.items() if not choice.takes(kind)}
    drivers = {one.place[0] for one in kept if one.devices}
    away = {driver for driver, _, _ in left} - drivers
    base = hardware
    if choice.vendor != hardware.vendor:
        base = Hardware(uncounted=(hardware.vendor,) if hardware.gpus else (), units=hardware.units)
        base = replace(base, uncounted=(*base.uncounted, *hardware.uncounted), vendor=choice.vendor)
    base = replace(base, uncounted=tuple(sorted({*base.uncounted, *away})))
    machine = _joined(base, kept)
    notes = (*machine.notes, *_mixed(hardware, machine.hardware, kinds, choice))
    return replace(machine, uncounted=frozenset(left), notes=notes)


@dataclass(frozen=True, slots=True)
class _Choice:
    """``model`` None: all of the vendor, since its device plugin counts them together."""

    vendor: str
    model: str | None

    def takes(self, kind: Kind) -> bool:
        return kind[0] == self.vendor and self.model in (None, kind[1])


def _kinds(slices: Sequence[SliceFacts]) -> dict[tuple[str, str, str], Kind]:
    """Of each device and each part; a part is of the kind of its device, where one is known."""
    listed = whole_devices(slices)
    inside, others = partitions(slices, listed)
    found = {(*place, one.name): (DRIVERS[place[0]], one.model) for place, one in (*listed, *others)}
    for place, part, index in inside:
        model = listed[index][1].model if index is not None else part.model
        found[*place, part.name] = (DRIVERS[place[0]], model)
    return found


def _choose(hardware: Hardware, kinds: dict[tuple[str, str, str], Kind]) -> _Choice:
    """Whose devices are counted; on a tie those of the device plugin."""
    number = Counter(kinds.values())
    if not hardware.gpus:
        vendor, model = max(number, key=lambda kind: (number[kind], kind))
        return _Choice(vendor, model)
    others = {kind: n for kind, n in number.items() if kind[0] != hardware.vendor}
    most = max(others, key=lambda kind: (others[kind], kind), default=("", ""))
    own = sum(n for kind, n in number.items() if kind[0] == hardware.vendor)
    return _Choice(*most) if others.get(most, 0) > max(hardware.gpus, own) else _Choice(hardware.vendor, None)


def _only(one: SliceFacts, kinds: dict[tuple[str, str, str], Kind], choice: _Choice) -> SliceFacts:
    kept = tuple(device for device in one.devices if choice.takes(kinds[*one.place, device.name]))
    return replace(one, devices=kept)


def _mixed(
    told: Hardware, found: Hardware, kinds: dict[tuple[str, str, str], Kind], choice: _Choice
) -> tuple[Note, ...]:
    """What is said of devices that are not counted, and of those that are counted under another's name."""
    left = Counter(kind for kind in kinds.values() if not choice.takes(kind))
    words = [f"{n} of {model or vendor}" for (vendor, model), n in sorted(left.items())]
    words += [f"{told.gpus} of {told.model}"] if told.gpus and choice.vendor != told.vendor else []
    notes = []
    if words:
        notes.append(Note("mixed_devices", "ignored", LISTED, f"{found.model} is counted, {', '.join(words)} are not"))
    models = sorted({model for vendor, model in kinds.values() if choice.takes((vendor, model)) and model})
    if len(models) > 1:
        detail = f"{', '.join(models)} are counted together as {found.model}, as the device plugin does"
        notes.append(Note("mixed_devices", "ignored", LISTED, detail))
    return tuple(notes)


def _joined(hardware: Hardware, slices: Sequence[SliceFacts]) -> Machine:
    """The devices of one vendor; the same ones are not counted twice."""
    listed = whole_devices(slices)
    inside, parts = partitions(slices, listed)
    cut: dict[str, dict[str, int]] = defaultdict(dict)
    for _, part in parts:
        if part.health == "failed":
            continue
        cut[part.parent][part.profile] = cut[part.parent].get(part.profile, 0) + 1
    if not listed and not parts:
        return Machine(hardware)
    devices = _records(listed)
    for parent in sorted(cut):
        mig = [MigRecord(profile=profile, count=n) for profile, n in sorted(cut[parent].items())]
        devices.append(DeviceRecord(index=len(devices), uuid=parent or None, mig=mig))
    notes: tuple[Note, ...] = ()
    if hardware.gpus > len(devices) or hardware.devices:
        found, notes = _of_plugin(hardware, listed)
    else:
        found = _of_slices(hardware, devices, [*listed, *parts])
    drivers = sorted({driver for (driver, _), _ in listed})
    offers = (*found.offers, *(Offer(driver) for driver in drivers))
    numbered = not hardware.devices
    return Machine(replace(found, offers=offers), tuple(listed), parts, inside, numbered=numbered, notes=notes)


def _records(listed: Listed) -> list[DeviceRecord]:
    return [
        DeviceRecord(index=i, uuid=device.uuid, memory_mib=device.memory_mib, health=device.health)
        for i, (_, device) in enumerate(listed)
    ]


def _of_plugin(hardware: Hardware, listed: Listed) -> tuple[Hardware, tuple[Note, ...]]:
    """The plugin knows of more devices, or more of them; what the driver says has failed has failed all the same."""
    if not hardware.devices:
        return replace(hardware, devices=tuple(_records(listed))), ()
    failed = {device.uuid or device.name for _, device in listed if device.health == "failed"}
    known = {device.uuid for device in hardware.devices}
    devices = tuple(
        DeviceRecord(index=d.index, uuid=d.uuid, memory_mib=d.memory_mib, health="failed", mig=d.mig)
        if d.uuid in failed
        else d
        for d in hardware.devices
    )
    lost = sorted(failed - known)
    detail = f"{', '.join(lost)}: which of the devices they are, the device plugin does not tell; taken as healthy"
    notes = (Note("device_taint", "unread", LISTED, detail),) if lost else ()
    return replace(hardware, devices=devices), notes


def _of_slices(hardware: Hardware, devices: list[DeviceRecord], listed: Listed) -> Hardware:
    models = {device.model for _, device in listed if device.model}
    sizes = {device.memory_mib for _, device in listed if not device.profile}
    only = sizes.pop() if len(sizes) == 1 else None
    dra_alone = not any(offer.resource for offer in hardware.offers)
    return replace(
        hardware,
        gpus=len(devices),
        allocatable=None if dra_alone else hardware.allocatable,
        model=hardware.model or min(models, default="GPU"),
        memory_mib=hardware.memory_mib or only,
        devices=tuple(devices),
    )
