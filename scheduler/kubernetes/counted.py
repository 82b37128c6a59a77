"""Resources beside CPU, memory and accelerators: network devices, huge pages, local disk, unknown accelerators.

They are counted by name, as the scheduler counts them: what pods request together is within what the node allocates.
Slices of devices are counted by their profile, but a pod gets one only under the very name by which it is offered:
those names are labels of nodes.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from scheduler.cluster.errors import InputError
from scheduler.cluster.rows import MAX_QUANTITY
from scheduler.kubernetes.accelerators import accelerator
from scheduler.kubernetes.quantities import KIB, MIB, NANO
from scheduler.kubernetes.unheld import Note

OFFERED = "offered"
DISK = "ephemeral-storage"
PAGES = "hugepages-"
BYTES = {"MiB": MIB, "KiB": KIB, "": 1}
OWN_FIELDS = ("cpu", "memory", "pods")
REQUESTS, CAPACITY = "$.spec.containers.resources", "$.status.capacity"
# Devices that are certainly no accelerators: nodes that offer them are nothing to tell of.
_NETWORK = re.compile(
    r"rdma/.*|vpc\.amazonaws\.com/.*|networking\.gke\.io(\.networks)?/.*|openshift\.io/.*|mellanox\.com/.*"
    r"|nvidia\.com/(hostdev|rdma|ib|mlnx|sriov).*|intel\.com/.*(sriov|netdevice|dpdk).*"
    r"|devices\.kubevirt\.io/.*|kubernetes\.io/.*|smarter-devices/.*"
)


def counted(amounts: Mapping[str, int], vendors: Collection[str], path: str, *, down: bool) -> dict[str, int]:
    """Amounts given in thousand-millionths, as the records have them.

    Disk and huge pages in MiB, pages smaller than that in KiB (so that none is rounded), others in whole ones.

    ``vendors`` are those that an option adds.  Volumes that a node can attach, and the like, are nobody's request.
    """
    found = {}
    for name, nano in sorted(amounts.items()):
        if not nano or name in OWN_FIELDS or known(name, vendors):
            continue
        if "/" not in name and name != DISK and not name.startswith(PAGES):
            continue
        unit = NANO * BYTES[unit_of(name)]
        number = nano // unit if down else -(-nano // unit)
        if number > MAX_QUANTITY and not down:
            raise InputError(f"{path}.{name}", number, f"must be at most {MAX_QUANTITY}")
        found[name] = min(number, MAX_QUANTITY)
    return found


def unit_of(name: str) -> Literal["MiB", "KiB", ""]:
    """In which a resource is counted; "" for whole ones."""
    if not name.startswith((DISK, PAGES)):
        return ""
    return "KiB" if name.startswith(PAGES) and name.endswith("Ki") else "MiB"


def known(name: str, vendors: Collection[str]) -> bool:
    """An accelerator, or part of one."""
    return name in vendors or accelerator(name) is not None


def asked_slices(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if _slice(name)))


def _slice(name: str) -> bool:
    told = accelerator(name)
    return told is not None and told.sort == "slice"


def by_claim(names: Iterable[str]) -> tuple[Note, ...]:
    """Why a pod does not move: a claim on devices that are no accelerators stands for what it asks."""
    return tuple(
        Note("resource", "pinned", REQUESTS, f"{name} is given by a claim and not counted") for name in sorted(names)
    )


def offered_slices(amounts: Mapping[str, int]) -> tuple[str, ...]:
    """Slices of a node that its labels tell of; those of amount 0 are not offered."""
    return tuple(sorted(name for name, number in amounts.items() if number and _slice(name)))


def unknown_devices(names: Iterable[str]) -> tuple[Note, ...]:
    """What may be accelerators of vendors that are not known, said once for a node."""
    odd = sorted(name for name in names if "/" in name and not _NETWORK.fullmatch(name))
    return (Note("resource", "ignored", CAPACITY, f"{', '.join(odd)}: no vendor that is known"),) if odd else ()
