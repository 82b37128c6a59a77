"""How many devices a pod holds, which share of each, and which ones: from its requests and from the node it is on.

The same request means different things on different nodes (``hardware``), so a pod may only go where it means the same:
it selects nodes by a label of ours that says what a unit of its resource is there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.kubernetes.accelerators import accelerator
from scheduler.kubernetes.hardware import SHARED, SLICE, VIRTUAL, WHOLE, Hardware, Offer
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.pods import Asked, PodFacts
from scheduler.kubernetes.slices import ClaimFacts, Place, SliceDevice, share_of, unlisted_part
from scheduler.kubernetes.unheld import Note

CLAIMS, REQUESTS = "$.spec.resourceClaims", "$.spec.containers.resources"
SHARES_OF = "nvidia"  # whose devices HAMi and KAI share out
Claims = Callable[[str], ClaimFacts | None]


@dataclass(frozen=True, slots=True)
class Machine:
    """A node as its pods see it; ``listed`` are the devices of DRA in the order of their index.

    ``uncounted`` are devices (driver, pool, name) that stand in the node and are not among its GPUs.  ``numbered`` is
    False where the device plugin numbers its devices by itself, so that nobody knows which is which.
    """

    hardware: Hardware
    listed: tuple[tuple[Place, SliceDevice], ...] = ()
    parts: tuple[tuple[Place, SliceDevice], ...] = ()  # slices of devices that are not listed themselves
    inside: tuple[tuple[Place, SliceDevice, int | None], ...] = ()  # and of those that are, with their index
    uncounted: frozenset[tuple[str, str, str]] = frozenset()
    numbered: bool = True
    notes: tuple[Note, ...] = ()


@dataclass(slots=True)
class Holding:
    """Fields of the record; ``selector`` = what its node must offer."""

    gpus: int = 0
    gpu_milli: int = WHOLE_GPU_MILLI
    memory_mib: int | None = None
    mig: dict[str, int] | None = None
    devices: tuple[int, ...] = ()
    selector: tuple[tuple[str, str], ...] = ()
    notes: tuple[Note, ...] = ()
    pinned: bool = False

    def pin(self, note: Note) -> None:
        self.notes += (note,)
        self.pinned = True


NOTHING = Holding()


def offer_label(resource: str, options: Options) -> str:
    return _offer_label(options.prefix, resource)


@lru_cache(maxsize=4096)
def _offer_label(prefix: str, resource: str) -> str:
    return f"{prefix}offers-{resource.replace('/', '.')}"


def hold(pod: PodFacts, machine: Machine | None, claims: Claims, options: Options) -> Holding:
    """``machine`` is None for pending pods and for orphans."""
    asked = pod.shape.asked
    if not (asked.wants or pod.device_claims):
        return NOTHING
    found = Holding()
    if asked.odd:
        found.pin(Note("fraction", "pinned", "$.metadata.annotations", f"{asked.odd} is no share of a device"))
    shares = asked.given or asked.fraction_milli or asked.memory_mib or (asked.odd and not asked.resources)
    if shares and machine is not None and SHARES_OF in machine.hardware.uncounted:
        found.pin(_elsewhere("shares of devices"))
    elif asked.given:
        _given(found, asked, machine, options)
    elif asked.fraction_milli or asked.memory_mib:
        _fraction(found, asked, machine)
    elif asked.resources:
        backed = pod.backed if pod.backed and claims(pod.device_claims[-1][0]) is not None else ()
        _resources(found, [one for one in asked.resources if one[0] not in backed], machine, options)
    elif asked.odd and machine is not None and machine.hardware.gpus:
        found.gpus, found.gpu_milli = 1, 1  # it may have some of one, so that none of its node's is surely free
    if pod.device_claims:
        _claims(found, pod, machine, claims, options)
    return found


def _elsewhere(what: str) -> Note:
    return Note(
        "mixed_devices", "pinned", REQUESTS, f"{what}: its node has devices of several kinds, these not counted"
    )


def _resources(found: Holding, resources: Sequence[tuple[str, int]], machine: Machine | None, options: Options) -> None:
    mig: dict[str, int] = {}
    selector: dict[str, str] = {}
    whole = 0
    shares: list[tuple[str, int]] = []
    for resource, number in resources:
        if machine is not None and not machine.hardware.counts(resource):
            found.pin(_elsewhere(f"{number} of {resource}"))
            continue
        told = accelerator(resource)
        if told is not None and told.sort == "share":
            shares.append((resource, number))
            found.pin(Note("fraction", "pinned", REQUESTS, f"{number} of {resource}: which devices is not known"))
            continue
        known = machine.hardware.offer(resource) if machine is not None else None
        if told is not None and told.sort == "slice":  # a label says by itself who offers slices of this name
            profile = known.word if known is not None else told.profile
            mig[profile] = mig.get(profile, 0) + number
            continue
        offer = known or Offer(resource)
        selector[offer_label(resource, options)] = offer.word
        if offer.mode == SLICE:
            mig[offer.word] = mig.get(offer.word, 0) + number
        else:
            whole += 1
            _whole(found, number, offer, machine)
    if whole > 1 or (whole and mig):
        names = ", ".join(name for name, _ in resources)
        found.pin(Note("mixed_devices", "pinned", REQUESTS, f"several kinds of device in one pod: {names}"))
    if shares and not (whole or mig):
        _touched(found, shares, machine)
    found.mig = mig or None
    found.selector = tuple(sorted(selector.items()))


def _touched(found: Holding, shares: Sequence[tuple[str, int]], machine: Machine | None) -> None:
    """What foreign sharers give: one device at least is not free, and the least share of it where units say nothing."""
    if machine is None or not machine.hardware.gpus:
        return
    units = dict(machine.hardware.units)
    asked = [-(-number * WHOLE_GPU_MILLI // units[name]) for name, number in shares if name in units]
    most = max(asked, default=1)
    found.gpus = -(-most // WHOLE_GPU_MILLI)
    found.gpu_milli = -(-most // found.gpus)


def _whole(found: Holding, number: int, offer: Offer, machine: Machine | None) -> None:
    """Shares of time-sliced devices lie on as many devices as there are, and only then two on one."""
    if offer.mode == WHOLE:
        found.gpus += number
        return
    devices = max(machine.hardware.uncut if machine is not None else 1, 1)
    found.gpus += min(number, devices)
    each = WHOLE_GPU_MILLI // max(offer.replicas, 1)
    found.gpu_milli = min(max(each, 1) * -(-number // devices), WHOLE_GPU_MILLI)
    if offer.mode == VIRTUAL:
        found.pin(Note("fraction", "pinned", REQUESTS, "a virtual device of which nobody said how large it is"))


def _fraction(found: Holding, asked: Asked, machine: Machine | None) -> None:
    """KAI: a share of one or several devices, or an amount of their memory."""
    found.gpus = asked.devices
    found.memory_mib = asked.memory_mib or None
    size = machine.hardware.memory_mib if machine is not None else None
    if asked.fraction_milli:
        found.gpu_milli = asked.fraction_milli
    elif size:
        found.gpu_milli = min(-(-asked.memory_mib * WHOLE_GPU_MILLI // size), WHOLE_GPU_MILLI)
    else:
        detail = f"{asked.memory_mib} MiB of a device of unknown memory, taken as all of it"
        found.notes += (Note("fraction", "widened", "$.metadata.annotations.gpu-memory", detail),)


def _given(found: Holding, asked: Asked, machine: Machine | None, options: Options) -> None:
    """HAMi has chosen devices: their numbers, and the largest share that the pod has of one of them."""
    known = {d.uuid: d for d in machine.hardware.devices} if machine is not None else {}
    found.gpus = len(asked.given)
    shares, unknown = [], False
    for uuid, memory, cores in asked.given:
        device = known.get(uuid)
        size = device.memory_mib if device is not None else None
        part = -(-memory * WHOLE_GPU_MILLI // size) if size and memory else 0
        unknown |= not (cores or part)
        shares.append(max(cores * 10, part))
    share = min(max(shares), WHOLE_GPU_MILLI)
    found.gpu_milli = share if share and not unknown else WHOLE_GPU_MILLI
    found.memory_mib = max(memory for _, memory, _ in asked.given) or None
    if unknown:
        found.notes += (Note("fraction", "widened", REQUESTS, "neither cores nor memory of a device are known"),)
    if all(uuid in known for uuid, _, _ in asked.given):
        found.devices = tuple(sorted(known[uuid].index for uuid, _, _ in asked.given))
    selector: Mapping[str, str] = {
        offer_label(resource, options): VIRTUAL
        for resource, _ in asked.resources
        if (told := accelerator(resource)) is not None and told.sort == "whole"
    }
    found.selector = tuple(sorted(selector.items()))


def _claims(found: Holding, pod: PodFacts, machine: Machine | None, claims: Claims, options: Options) -> None:
    known = [(name, own, claims(name)) for name, own in pod.device_claims]
    taken = _Taken(machine or Machine(Hardware()), dict(found.mig or {}))
    selector = dict(found.selector)
    users = 1
    for name, own, claim in known:
        if claim is None:
            found.pin(Note("device_claim", "pinned", CLAIMS, f"claim {name or '?'} is not known"))
            continue
        if claim.odd or (not own and claim.allocated):
            detail = claim.odd or f"claim {name} stays with the devices that it has"
            found.pin(Note("device_claim", "pinned", CLAIMS, detail))
        users = max(users, claim.users)
        found.gpus += claim.asked - len(claim.devices) + sum(taken.take(key, claim.parts) for key in claim.devices)
        counted = [driver for driver in claim.drivers if driver not in taken.machine.hardware.uncounted]
        selector |= {offer_label(driver, options): WHOLE for driver in counted}
    if taken.uncounted:
        found.pin(_elsewhere(", ".join(taken.uncounted)))
    _parts_held(found, taken)
    if users > 1:
        found.gpu_milli = max(found.gpu_milli // users, 1)
        found.notes += (Note("fraction", "widened", CLAIMS, f"{users} pods share a claim, taken as equal parts"),)
    found.mig = taken.mig or None
    found.selector = tuple(sorted(selector.items()))
    if taken.machine.numbered and found.gpus and len(taken.devices) == found.gpus == len(set(taken.devices)):
        found.devices = tuple(sorted(taken.devices))


def _parts_held(found: Holding, taken: "_Taken") -> None:
    """Parts of devices that others could have whole: the pod touches those devices, each once."""
    if not taken.shares:
        return
    if not found.pinned:
        found.pin(Note("device_claim", "pinned", CLAIMS, "parts of devices that are cut on demand"))
    if found.gpus:
        detail = "whole devices and parts of others, taken as whole ones"
        found.notes += (Note("device_claim", "widened", CLAIMS, detail),)
    else:
        found.gpu_milli = min(max(taken.shares.values()), WHOLE_GPU_MILLI)
    parents = taken.shares.keys() - set(taken.devices)
    found.gpus += len(parents)
    taken.devices += [index for index in parents if index is not None]


@dataclass(slots=True)
class _Taken:
    """What claims have of a machine; ``shares`` in milli by the index of the device, None where nobody tells it."""

    machine: Machine
    mig: dict[str, int]
    devices: list[int] = field(default_factory=list)
    shares: dict[int | None, int] = field(default_factory=dict)
    uncounted: list[str] = field(default_factory=list)

    def take(self, key: tuple[str, str, str], part: bool) -> int:
        """How many whole devices that is; ``part`` where the claim says that it is none."""
        if key in self.machine.uncounted or key[0] in self.machine.hardware.uncounted:
            self.uncounted.append("/".join(key))
            return 0
        for i, (place, one) in enumerate(self.machine.listed):
            if (*place, one.name) == key:
                self.devices.append(i)
                return 1
        for place, one in self.machine.parts:
            if (*place, one.name) == key:
                self.mig[one.profile] = self.mig.get(one.profile, 0) + 1
                return 0
        for place, one, index in self.machine.inside:
            if (*place, one.name) == key:
                whole = self.machine.listed[index][1] if index is not None else None
                self.shares[index] = self.shares.get(index, 0) + share_of(one, whole)
                return 0
        if part:
            index, milli = unlisted_part(key, self.machine.listed)
            self.shares[index] = self.shares.get(index, 0) + milli
        return 0 if part else 1


__all__ = ["NOTHING", "SHARED", "Claims", "Holding", "Machine", "hold", "offer_label"]
