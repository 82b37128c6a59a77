"""Resources whose amounts the records do not hold: network devices, huge pages, local disk, unknown accelerators.

Nodes that offer one carry a label, so that pods which ask for it go nowhere else; and because nobody counts how much of
it is left there, such pods do not move at all.  Slices of devices are counted by their profile, but a pod gets one only
under the very name by which it is offered: those names are labelled, too.
"""

import re
from collections.abc import Collection, Iterable, Mapping

from scheduler.kubernetes.accelerators import accelerator
from scheduler.kubernetes.unheld import Note

OFFERED = "offered"
DISK = "ephemeral-storage"  # every node has some, so no label says who does
COUNTED = ("cpu", "memory", "pods")
REQUESTS, CAPACITY = "$.spec.containers.resources", "$.status.capacity"
# Devices that are certainly no accelerators: nodes that offer them are nothing to tell of.
_NETWORK = re.compile(
    r"rdma/.*|vpc\.amazonaws\.com/.*|networking\.gke\.io(\.networks)?/.*|openshift\.io/.*|mellanox\.com/.*"
    r"|nvidia\.com/(hostdev|rdma|ib|mlnx|sriov).*|intel\.com/.*(sriov|netdevice|dpdk).*"
    r"|devices\.kubevirt\.io/.*|kubernetes\.io/.*|smarter-devices/.*"
)


def asked_uncounted(names: Iterable[str], vendors: Collection[str]) -> tuple[str, ...]:
    """Resources of a pod that no record counts; ``vendors`` are those that an option adds."""
    return tuple(sorted(name for name in names if name not in COUNTED and not _known(name, vendors)))


def _known(name: str, vendors: Collection[str]) -> bool:
    return name in vendors or accelerator(name) is not None


def asked_slices(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if _slice(name)))


def _slice(name: str) -> bool:
    told = accelerator(name)
    return told is not None and told.sort == "slice"


def pins(names: Iterable[str]) -> tuple[Note, ...]:
    """Why a pod that asks for them does not move."""
    return tuple(Note("resource", "pinned", REQUESTS, f"{name} is not counted") for name in names)


def offered_by_name(amounts: Mapping[str, int], vendors: Collection[str]) -> tuple[str, ...]:
    """Resources of a node that its label tells of; those of amount 0 are not offered."""
    found = (name for name, number in amounts.items() if number)
    return tuple(
        sorted(
            name
            for name in found
            if _slice(name) or (("/" in name or name.startswith("hugepages-")) and not _known(name, vendors))
        )
    )


def unknown_devices(names: Iterable[str]) -> tuple[Note, ...]:
    """What may be accelerators of vendors that are not known, said once for a node."""
    odd = [name for name in names if "/" in name and not _slice(name) and not _NETWORK.fullmatch(name)]
    return (Note("resource", "ignored", CAPACITY, f"{', '.join(odd)}: no vendor that is known"),) if odd else ()
