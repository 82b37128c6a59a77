"""The accelerators of one node: how many there are, what is cut and shared of them, and what each resource means there.

What pods can ask for (``nvidia.com/gpu: 12``) is not what stands in the machine (one A10, shared by twelve).  The
number of devices comes from the vendor's labels where there are any, else it is worked out from what is offered.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from scheduler.cluster.records import DeviceRecord, MigRecord
from scheduler.kubernetes.accelerators import (
    BY_NAME,
    SHARED_SUFFIX,
    Product,
    Vendor,
    accelerator,
    alone,
    device,
    likely_per_device,
    memory_of,
    model_of,
    per_device,
    product,
    units_of,
    weight,
)
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.unheld import Note

WHOLE, SHARED, SLICE, VIRTUAL = "whole", "shared", "slice", "virtual"
HAMI_DEVICES = "hami.io/node-nvidia-register"
LARGEST_CUT = 7  # parts of a device of unknown size, so that no device is counted that is not there
AMD_PARTITION = "amd.com/compute-memory-partition"


@dataclass(frozen=True, slots=True)
class Offer:
    """What one unit of a resource is on this node."""

    resource: str
    mode: str = WHOLE
    replicas: int = 1
    profile: str = ""

    @property
    def word(self) -> str:
        """As the value of a label: pods of one word are no pods of another."""
        if self.profile and self.replicas > 1:
            return f"{self.profile}.{SHARED}-{self.replicas}"
        return self.profile or (f"{self.mode}-{self.replicas}" if self.mode == SHARED else self.mode)


@dataclass(frozen=True, slots=True)
class Hardware:
    """``allocatable`` is None where all devices that are not cut can be had; ``unsure`` = what labels do not tell.

    ``units``: how many units of resources of foreign sharers make a device.  ``vendor`` is that of the devices counted,
    ``uncounted`` are vendors, resources and DRA drivers whose devices stand in the node too and are not.
    """

    gpus: int = 0
    allocatable: int | None = None
    model: str = ""
    memory_mib: int | None = None
    devices: tuple[DeviceRecord, ...] = ()
    offers: tuple[Offer, ...] = ()
    unsure: str = ""
    units: tuple[tuple[str, int], ...] = ()
    vendor: str = ""
    uncounted: tuple[str, ...] = ()

    def offer(self, resource: str) -> Offer | None:
        return next((offer for offer in self.offers if offer.resource == resource), None)

    @property
    def uncut(self) -> int:
        """Devices that lie in no slices."""
        return self.gpus - sum(bool(device.mig) for device in self.devices)

    def counts(self, resource: str) -> bool:
        """Whether a pod's devices of this resource are among those counted."""
        told = accelerator(resource)
        return resource not in self.uncounted and (told is None or told.vendor not in self.uncounted)


@dataclass(slots=True)
class _Pile:
    """The resources of one vendor: [capacity, allocatable]."""

    whole: dict[str, tuple[int, int]] = field(default_factory=dict)
    slices: dict[str, tuple[int, int]] = field(default_factory=dict)  # by resource


class _HamiDevice(msgspec.Struct, frozen=True):
    id: str
    index: int = 0
    count: int = 1
    devmem: int = 0
    health: bool = True


_hami = msgspec.json.Decoder(list[_HamiDevice])


def read_hardware(
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    capacity: Mapping[str, int],
    allocatable: Mapping[str, int],
    options: Options,
) -> tuple[Hardware, tuple[Note, ...]]:
    """The accelerators, and what the record cannot say of them."""
    piles = _piles(capacity, allocatable, dict(options.vendors))
    for name, vendor in BY_NAME.items():
        if name not in piles and (model_of(vendor, labels) or _number(labels, vendor.counts)):
            piles[name] = _Pile()  # labelled, but the device plugin offers nothing now
    found = {name: _of_vendor(name, pile, labels, annotations, options) for name, pile in piles.items()}
    whose, best = max(found.items(), key=lambda item: (item[1].gpus, item[0]), default=("", Hardware()))
    units = ((name, units_of(name, number, best.gpus)) for name, number in sorted(capacity.items()))
    others = sorted(name for name, one in found.items() if one.gpus and one is not best)
    notes = [Note("fraction", "unread", "$.metadata.labels", best.unsure)] if best.unsure else []
    if others:
        detail = f"{best.model} is counted, devices of {', '.join(others)} are not"
        notes.append(Note("mixed_devices", "ignored", "$.status.capacity", detail))
    beside = _beside(piles[whose]) if whose else []
    if beside:
        detail = f"of {whose} those of {_main(piles[whose])} are counted, those of {', '.join(beside)} are not"
        notes.append(Note("mixed_devices", "ignored", "$.status.capacity", detail))
    known = tuple((name, number) for name, number in units if number)
    return replace(best, units=known, vendor=whose, uncounted=(*others, *beside)), tuple(notes)


def _main(pile: _Pile) -> str:
    """The resource of whole devices that is counted."""
    return max(pile.whole, key=lambda r: (pile.whole[r], r), default="")


def _beside(pile: _Pile) -> list[str]:
    """Other resources of whole devices of the same vendor, which are other devices."""
    return sorted(name for name, amounts in pile.whole.items() if name != _main(pile) and any(amounts))


def _piles(capacity: Mapping[str, int], allocatable: Mapping[str, int], extra: Mapping[str, str]) -> dict[str, _Pile]:
    piles: dict[str, _Pile] = {}
    for resource in sorted({*capacity, *allocatable}):
        amounts = capacity.get(resource, 0), allocatable.get(resource, 0)
        known = accelerator(resource)
        if resource in extra:
            piles.setdefault(resource, _Pile()).whole[resource] = amounts
        elif known is not None and known.sort != "share":
            pile = piles.setdefault(known.vendor, _Pile())
            (pile.whole if known.sort == "whole" else pile.slices)[resource] = amounts
    return piles


def _of_vendor(
    name: str, pile: _Pile, labels: Mapping[str, str], annotations: Mapping[str, str], options: Options
) -> Hardware:
    resource = _main(pile)
    have, offered = pile.whole.get(resource, (0, 0))
    vendor = BY_NAME.get(name)
    if vendor is None:
        text = labels.get(dict(options.vendors)[name], "").strip()
        found = product(text or name.partition("/")[0])
        return _plain(found.model, None, resource, None, have, offered)
    told = accelerator(resource)
    found = model_of(vendor, labels) or Product(told.model if told else vendor.name)
    memory = None if found.profile else memory_of(vendor, labels)
    if HAMI_DEVICES in annotations and name == "nvidia":
        virtual = _virtual(annotations[HAMI_DEVICES], found.model, resource)
        if virtual is not None:
            return virtual
    if name == "amd" and labels.get(AMD_PARTITION, "")[:3] in ("dpx", "tpx", "qpx", "cpx") and not pile.slices:
        found = Product(found.model, labels[AMD_PARTITION])
    labelled = _labelled(labels, vendor, pile)
    if pile.slices:
        return _some_cut(found.model, memory, pile, resource, labelled, labels)
    plain = _beside(pile) and not resource.endswith(SHARED_SUFFIX)  # then the label tells of the others
    replicas = 1 if plain else _replicas(labels, vendor.replicas, labelled, have)
    if found.profile:
        return _all_cut(found, resource, labelled, replicas, have, offered)
    if replicas > 1:
        return _shared(found.model, memory, resource, labelled, replicas, have, offered)
    return _plain(found.model, memory, resource, labelled, have, offered)


def _labelled(labels: Mapping[str, str], vendor: Vendor, pile: _Pile) -> int | None:
    """How many devices the labels tell of, without those of the resources that are not counted."""
    told = _number(labels, vendor.counts)
    others = sum(max(pile.whole[name]) for name in _beside(pile))
    return told if told is None or not others else max(told - others, 0) or None


def _plain(model: str, memory: int | None, resource: str, labelled: int | None, have: int, offered: int) -> Hardware:
    gpus = max(labelled or 0, have, offered)
    offers = (Offer(resource),) if resource else ()
    return Hardware(gpus, offered if offered < gpus else None, model if gpus else "", memory, (), offers)


def _shared(
    model: str, memory: int | None, resource: str, labelled: int | None, replicas: int, have: int, offered: int
) -> Hardware:
    gpus = labelled or -(-have // replicas)
    usable = -(-offered // replicas)
    offers = (Offer(resource, SHARED, replicas),) if resource else ()
    return Hardware(gpus, usable if usable < gpus else None, model, memory, (), offers)


def _all_cut(found: Product, resource: str, labelled: int | None, replicas: int, have: int, offered: int) -> Hardware:
    """Every device is cut into one profile, and the parts are offered under the name of whole devices."""
    profile, replicas = found.profile, max(replicas, 1)
    slices = max(-(-have // replicas), labelled or 0)
    each = per_device(profile, found.model) or likely_per_device(profile, slices)
    gpus = -(-slices // (each or LARGEST_CUT))
    offer = Offer(resource, SLICE, replicas, profile)
    parts = [{profile: n} if n else {} for n in _even(offered // replicas, gpus)]
    return Hardware(
        gpus=gpus,
        allocatable=None if all(parts) else 0,
        model=found.model,
        devices=_cut_devices(0, parts, {profile: offer}),
        offers=(offer,) if resource else (),
        unsure="" if each else f"how many {profile} a {found.model} holds is not known: {gpus} devices at least",
    )


def _even(number: int, places: int) -> list[int]:
    return [number // places + (i < number % places) for i in range(places)]


def _cut_devices(
    first: int, parts: Iterable[Mapping[str, int]], offers: Mapping[str, Offer]
) -> tuple[DeviceRecord, ...]:
    """A slice that several pods share counts once for each of them, under a name that says so."""
    return tuple(
        DeviceRecord(
            index=first + i,
            mig=[
                MigRecord(profile=offers[p].word, count=n * offers[p].replicas) for p, n in sorted(found.items()) if n
            ],
        )
        for i, found in enumerate(parts)
    )


def _some_cut(
    model: str, memory: int | None, pile: _Pile, resource: str, labelled: int | None, labels: Mapping[str, str]
) -> Hardware:
    """Some devices are whole, the last ones are cut; which is which nobody says, so the order is ours.

    Nor does anybody say that one without slices has failed: it may be uncut, or its slices not be offered now.
    """
    have, offered = pile.whole.get(resource, (0, 0))
    offers = [_slice_offer(r, n, labels) for r, (n, _) in sorted(pile.slices.items())]
    there: dict[str, int] = {}
    given: dict[str, int] = {}
    for offer in offers:
        amounts = pile.slices[offer.resource]
        there[offer.profile] = there.get(offer.profile, 0) + -(-amounts[0] // offer.replicas)
        given[offer.profile] = given.get(offer.profile, 0) + amounts[1] // offer.replicas
    least = _devices_of(there, model, memory)
    stem, more = resource.removesuffix(SHARED_SUFFIX), have > (labelled or have)  # more than there are: they are shared
    uncut = max((labelled or 0) - least, 0) if more else None
    replicas = max(_replicas(labels, (f"{stem}.replicas",), uncut, have), 1)
    have, offered = (
        -(-have // replicas),
        -(-offered // replicas),
    )  # whole devices may be shared beside those that are cut
    cut = max((labelled or 0) - have, least)
    parts = _spread(given, cut, model, memory)
    unknown = [p for p, n in sorted(there.items()) if n and per_device(p, model, memory) is None]
    by_profile = {offer.profile: offer for offer in sorted(offers, key=lambda o: pile.slices[o.resource])}
    whole = (Offer(resource, SHARED if replicas > 1 else WHOLE, replicas),) if resource else ()
    return Hardware(
        gpus=have + cut,
        allocatable=offered if offered < have or not all(parts) else None,
        model=model,
        memory_mib=memory,
        devices=_cut_devices(have, parts, by_profile),
        offers=(*whole, *(offer for offer in offers if offer.replicas > 1)),
        unsure=f"how many {', '.join(unknown)} a {model} holds is not known" if unknown else "",
    )


def _slice_offer(resource: str, number: int, labels: Mapping[str, str]) -> Offer:
    """GPU feature discovery labels each profile with its slices (``.count``) and the pods to each (``.replicas``)."""
    told = accelerator(resource)
    stem = resource.removesuffix(SHARED_SUFFIX)
    replicas = _replicas(labels, (f"{stem}.replicas",), _number(labels, (f"{stem}.count",)), number)
    return Offer(resource, SLICE, max(replicas, 1), told.profile if told is not None else "")


def _devices_of(slices: Mapping[str, int], model: str, memory: int | None) -> int:
    """The fewest devices that can hold so many slices."""
    share = [0.0, 0.0]
    for profile, number in slices.items():
        need = weight(profile, model, memory) or (1, 1)
        for i, (part, whole) in enumerate(zip(need, device(profile, model), strict=True)):
            share[i] += number * part / whole
    single = max((number for profile, number in slices.items() if alone(profile)), default=0)
    return max(-int(-max(share) // 1), single) if any(slices.values()) else 0


def _spread(slices: Mapping[str, int], cut: int, model: str, memory: int | None) -> list[dict[str, int]]:
    """Alike on all devices where numbers allow it or sizes are not known; else largest first, where there is room.

    What has no room lies on the last one, so that no slice is lost.
    """
    sizes = {profile: weight(profile, model, memory) for profile in slices}
    if cut and (None in sizes.values() or all(n % cut == 0 for n in slices.values())):
        shares = {profile: _even(number, cut) for profile, number in slices.items()}
        return [{profile: n[i] for profile, n in shares.items() if n[i]} for i in range(cut)]
    rooms = [[1.0, 1.0] for _ in range(cut)]
    counts: list[dict[str, int]] = [{} for _ in range(cut)]
    order = sorted(slices, key=lambda profile: (sizes[profile] or (1, 1), profile), reverse=True)
    for profile in order if cut else ():
        whole = device(profile, model)
        need = [part / all_ for part, all_ in zip(sizes[profile] or (1, 1), whole, strict=True)]
        for _ in range(slices[profile]):
            fitting = (i for i, room in enumerate(rooms) if all(r + 1e-9 >= n for r, n in zip(room, need, strict=True)))
            place = next(fitting, cut - 1)
            rooms[place] = [r - n for r, n in zip(rooms[place], need, strict=True)]
            counts[place][profile] = counts[place].get(profile, 0) + 1
    return counts


def _virtual(text: str, model: str, resource: str) -> Hardware | None:
    """Devices that HAMi shares out by memory and cores; None if its annotation cannot be read."""
    try:
        listed = _hami.decode(text)
    except msgspec.DecodeError:
        return None
    if not listed:
        return None
    devices = tuple(
        DeviceRecord(index=i, uuid=d.id, memory_mib=d.devmem or None, health="ok" if d.health else "failed")
        for i, d in enumerate(sorted(listed, key=lambda d: (d.index, d.id)))
    )
    sizes = {d.memory_mib for d in devices}
    memory = sizes.pop() if len(sizes) == 1 else None
    return Hardware(len(devices), None, model, memory, devices, (Offer(resource, VIRTUAL, listed[0].count),))


def _number(labels: Mapping[str, str], keys: tuple[str, ...]) -> int | None:
    for key in keys:
        text = labels.get(key, "").strip()
        if text.isascii() and text.isdigit() and len(text) < 6:
            return int(text)
    return None


def _replicas(labels: Mapping[str, str], keys: tuple[str, ...], labelled: int | None, have: int) -> int:
    """How many pods share a device.  Without a label, a whole multiple of the devices that are labelled tells it."""
    told = _number(labels, keys)
    if told is not None:
        return told
    return have // labelled if labelled and have > labelled and have % labelled == 0 else 1
