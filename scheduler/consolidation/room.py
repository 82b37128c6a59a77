# mypy: disable-error-code="no-any-return"
# Elements of arrays have no type of their own for the checker; for the compiler they have.
"""Room on a node, as kernels: does a pod fit, what changes when it comes or goes.

The same rules as ``cluster.layout`` and ``cluster.feasibility``, on the tables of ``columns``.
"""

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.consolidation.columns import (
    CARRIES,
    N_ATTRACTED,
    N_BROKEN,
    N_CLASS,
    N_CPU,
    N_DEVICE_MEMORY,
    N_DEVICES,
    N_FIRST,
    N_FLOATING,
    N_GPUS,
    N_MEMORY,
    N_MILLI,
    N_OWN,
    N_PINNED,
    N_ROOM,
    N_SLICES,
    N_SLOTS,
    N_WORK,
    NONE,
    P_AGENT,
    P_CLASS,
    P_COMPANY,
    P_CPU,
    P_DEVICE_MEMORY,
    P_DOMAIN,
    P_DOMAIN_2,
    P_FIXED,
    P_GPUS,
    P_IDENTITY,
    P_LEVEL,
    P_LEVEL_2,
    P_LISTED,
    P_MEMORY,
    P_MILLI,
    P_MOVED,
    P_NEXT,
    P_NODE,
    P_PREVIOUS,
    P_STEADY,
    P_TRAITS,
    PORTS,
    REFUSES,
    SLICE_COUNTS,
    SLICES,
    TRAIT_AFFINITY,
    TRAIT_PORTS,
    TRAIT_REFUSAL,
    TRAIT_SLICES,
    TRAIT_TOPOLOGY,
    WANTS,
    Arena,
)
from scheduler.consolidation.kernel import kernel, pasted

MASKED = 62  # devices of a node whose health the bit mask can say


@pasted
def floats(a: Arena, p: int) -> bool:
    """Whether the pod's place on the devices has to be computed: a share, or devices that it listed and still holds."""
    share = a.pod[p, P_GPUS] > 0 and a.pod[p, P_MILLI] != WHOLE_GPU_MILLI
    return share or (a.pod[p, P_LISTED] != NONE and a.pod[p, P_MOVED] == 0)


@pasted
def usable(a: Arena, t: int, device: int) -> bool:
    """Whether the device is healthy and not cut into slices; the mask covers the first MASKED devices."""
    return device >= MASKED or (a.node[t, N_BROKEN] >> device) & 1 == 0


@pasted
def bind_listed(a: Arena, p: int, t: int) -> int:
    """Lay the pod on the devices it lists; returns how many it touches first, NONE where one of them is overfull."""
    opened = 0
    for i in range(a.listed_start[a.pod[p, P_LISTED]], a.listed_start[a.pod[p, P_LISTED] + 1]):
        device = a.listed[i]
        opened += a.touched[device] == 0 and usable(a, t, device)
        a.touched[device] = 1
        a.rest[device] -= a.pod[p, P_MILLI]
        a.memory[device] -= a.pod[p, P_DEVICE_MEMORY]
        if a.rest[device] < 0 or a.memory[device] < 0:
            return NONE
    return opened


@pasted
def open_whole(a: Arena, t: int, wanted: int) -> int:
    """Take the first untouched devices for whole GPUs; returns how many were still missing."""
    for device in range(a.node[t, N_DEVICES]):
        if wanted > 0 and a.touched[device] == 0 and usable(a, t, device):
            a.touched[device] = 1
            a.rest[device] = 0
            wanted -= 1
    return wanted


@pasted
def queue_share(a: Arena, p: int, queued: int) -> int:
    """Insert into the scratch list by falling share, then identity; returns the new length."""
    i = queued
    while i > 0:
        other = a.shares[i - 1]
        if a.pod[other, P_MILLI] > a.pod[p, P_MILLI]:
            break
        if a.pod[other, P_MILLI] == a.pod[p, P_MILLI] and a.pod[other, P_IDENTITY] < a.pod[p, P_IDENTITY]:
            break
        a.shares[i] = other
        i -= 1
    a.shares[i] = p
    return queued + 1


@pasted
def place_shares(a: Arena, t: int, queued: int, room: int) -> int:
    """First fit in the queue's order on at most ``room`` more devices; returns the room left, NONE without a place."""
    for i in range(queued):
        p = a.shares[i]
        wanted = a.pod[p, P_GPUS]
        for device in range(a.node[t, N_DEVICES]):
            if wanted == 0:
                break
            opens = a.touched[device] == 0
            if (opens and room == 0) or a.rest[device] < a.pod[p, P_MILLI] or not usable(a, t, device):
                continue
            if a.memory[device] >= a.pod[p, P_DEVICE_MEMORY]:
                a.rest[device] -= a.pod[p, P_MILLI]
                a.memory[device] -= a.pod[p, P_DEVICE_MEMORY]
                a.touched[device] = 1
                room -= opens
                wanted -= 1
        if wanted > 0:
            return NONE
    return room


@kernel
def lay_out(a: Arena, t: int, extra: int) -> int:
    """Untouched devices of node ``t`` with its pods and ``extra`` (NONE: nobody) on it, NONE where they do not fit."""
    devices = a.node[t, N_DEVICES]
    for device in range(devices):
        a.rest[device], a.memory[device], a.touched[device] = WHOLE_GPU_MILLI, a.node[t, N_DEVICE_MEMORY], 0
        if a.node[t, N_OWN] != NONE:
            a.memory[device] = a.own_memory[a.node[t, N_OWN], device]
    whole, queued, room = 0, 0, a.node[t, N_ROOM]
    arrives = extra != NONE
    p = extra if arrives else a.node[t, N_FIRST]
    while p != NONE:
        if not arrives and a.pod[p, P_LISTED] != NONE and a.pod[p, P_MOVED] == 0:
            opened = bind_listed(a, p, t)
            if opened == NONE:
                return NONE
            room -= opened
        elif a.pod[p, P_GPUS] > 0 and a.pod[p, P_MILLI] == WHOLE_GPU_MILLI:
            whole += a.pod[p, P_GPUS]
            if a.pod[p, P_DEVICE_MEMORY] > a.node[t, N_DEVICE_MEMORY]:
                return NONE  # it may come to lie on the smallest device
        elif a.pod[p, P_GPUS] > 0:
            queued = queue_share(a, p, queued)
        p = a.node[t, N_FIRST] if arrives else a.pod[p, P_NEXT]
        arrives = False
    room -= whole
    if room < 0 or (whole > 0 and open_whole(a, t, whole) > 0):
        return NONE
    return place_shares(a, t, queued, room)


@kernel
def devices_fit(a: Arena, p: int, t: int) -> bool:
    if a.node[t, N_GPUS] < 0:
        return False
    gpus, milli = a.pod[p, P_GPUS], a.pod[p, P_MILLI]
    if gpus == 0:
        return True
    if a.node[t, N_MILLI] < gpus * milli:
        return False
    if a.node[t, N_FLOATING] == 0 and milli == WHOLE_GPU_MILLI:
        return a.node[t, N_GPUS] >= gpus and a.pod[p, P_DEVICE_MEMORY] <= a.node[t, N_DEVICE_MEMORY]
    return lay_out(a, t, p) >= 0


@kernel
def share_entry(a: Arena, kind: int, p: int, other_kind: int, r: int) -> bool:
    """Whether a list of pod ``p`` and a list of pod ``r`` have an entry in common."""
    k, m = a.pod[p, P_COMPANY], a.pod[r, P_COMPANY]
    for i in range(a.company_start[kind, k], a.company_start[kind, k + 1]):
        for j in range(a.company_start[other_kind, m], a.company_start[other_kind, m + 1]):
            if a.company[i] == a.company[j]:
                return True
    return False


@kernel
def clashes(a: Arena, p: int, r: int) -> bool:
    """Whether two pods cannot stand on one node: a host port, or anti-affinity in either direction."""
    both = a.pod[p, P_TRAITS] & a.pod[r, P_TRAITS]
    if both & TRAIT_PORTS and share_entry(a, PORTS, p, PORTS, r):
        return True
    if both & TRAIT_REFUSAL == 0:
        return False
    return share_entry(a, REFUSES, p, CARRIES, r) or share_entry(a, CARRIES, p, REFUSES, r)


@pasted
def near_wanted(a: Arena, p: int, t: int) -> bool:
    """Affinity: every wanted entry is carried by a pod that stands on the node and stays there in this wave."""
    k = a.pod[p, P_COMPANY]
    for i in range(a.company_start[WANTS, k], a.company_start[WANTS, k + 1]):
        found = False
        r = a.node[t, N_FIRST]
        while r != NONE and not found:
            m = a.pod[r, P_COMPANY]
            if a.pod[r, P_STEADY] == 1:
                for j in range(a.company_start[CARRIES, m], a.company_start[CARRIES, m + 1]):
                    found = found or a.company[i] == a.company[j]
            r = a.pod[r, P_NEXT]
        if not found:
            return False
    return True


@pasted
def over_cut(a: Arena, t: int) -> bool:
    """Whether pods use more slices than the node has: then nobody may arrive."""
    row, over = a.node[t, N_SLICES], False
    if row != NONE:
        for free in a.slices[row]:
            over = over or free < 0
    return over


@pasted
def slices_fit(a: Arena, p: int, t: int) -> bool:
    k, row = a.pod[p, P_COMPANY], a.node[t, N_SLICES]
    first = a.company_start[SLICES, k]
    for i in range(a.company_start[SLICES, k + 1] - first):
        count = a.company[a.company_start[SLICE_COUNTS, k] + i]
        if row == NONE or a.slices[row, a.company[first + i]] < count:
            return False
    return True


@pasted
def at_home(a: Arena, p: int, t: int) -> bool:
    """Whether the node lies in the domains that hold the pod; an unknown domain is none."""
    for level, wanted in ((a.pod[p, P_LEVEL], a.pod[p, P_DOMAIN]), (a.pod[p, P_LEVEL_2], a.pod[p, P_DOMAIN_2])):
        if level != NONE:
            domain = a.at_level[level, t]
            if domain == NONE or (wanted != NONE and wanted != domain):
                return False
    return True


@pasted
def company_fits(a: Arena, p: int, t: int) -> bool:
    """Whether ports, affinity, topology and slices allow the pod on the node."""
    traits = a.pod[p, P_TRAITS]
    if traits & TRAIT_TOPOLOGY and not at_home(a, p, t):
        return False
    if traits & TRAIT_SLICES and not slices_fit(a, p, t):
        return False
    if traits & (TRAIT_PORTS | TRAIT_REFUSAL):
        r = a.node[t, N_FIRST]
        while r != NONE:
            if clashes(a, p, r):
                return False
            r = a.pod[r, P_NEXT]
    return traits & TRAIT_AFFINITY == 0 or near_wanted(a, p, t)


@kernel
def fits(a: Arena, p: int, t: int) -> bool:
    """Whether node ``t`` can take a copy of pod ``p`` beside all that stands on it now."""
    if a.node[t, N_CPU] < a.pod[p, P_CPU] or a.node[t, N_MEMORY] < a.pod[p, P_MEMORY] or a.node[t, N_SLOTS] < 1:
        return False
    if not a.eligible[a.pod[p, P_CLASS], a.node[t, N_CLASS]] or not devices_fit(a, p, t) or over_cut(a, t):
        return False
    return a.pod[p, P_TRAITS] == 0 or company_fits(a, p, t)


@pasted
def book(a: Arena, p: int, t: int, sign: int) -> None:
    """Take (sign 1) or give back (-1) what pod ``p`` asks of node ``t``; the devices' layout comes after the lists."""
    a.node[t, N_CPU] -= sign * a.pod[p, P_CPU]
    a.node[t, N_MEMORY] -= sign * a.pod[p, P_MEMORY]
    a.node[t, N_SLOTS] -= sign
    a.node[t, N_MILLI] -= sign * a.pod[p, P_GPUS] * a.pod[p, P_MILLI]
    a.node[t, N_FLOATING] += sign * floats(a, p)
    if a.pod[p, P_AGENT] == 0:
        a.node[t, N_WORK] += sign
        a.node[t, N_PINNED] += sign * (a.pod[p, P_FIXED] > 0 or a.pod[p, P_MOVED] > 0)
    if a.pod[p, P_TRAITS] & TRAIT_AFFINITY and a.pod[p, P_MOVED] > 0:
        a.node[t, N_ATTRACTED] += sign
    if a.pod[p, P_TRAITS] & TRAIT_SLICES and a.node[t, N_SLICES] != NONE:
        k, row = a.pod[p, P_COMPANY], a.node[t, N_SLICES]
        first = a.company_start[SLICES, k]
        for i in range(a.company_start[SLICES, k + 1] - first):
            a.slices[row, a.company[first + i]] -= sign * a.company[a.company_start[SLICE_COUNTS, k] + i]


@pasted
def settle(a: Arena, t: int) -> None:
    """Count the untouched devices anew after a pod came or went."""
    if a.node[t, N_FLOATING] > 0:
        a.node[t, N_GPUS] = lay_out(a, t, NONE)
    else:
        a.node[t, N_GPUS] = a.node[t, N_MILLI] // WHOLE_GPU_MILLI


@kernel
def place(a: Arena, p: int, t: int) -> None:
    head = a.node[t, N_FIRST]
    a.pod[p, P_NODE], a.pod[p, P_NEXT], a.pod[p, P_PREVIOUS] = t, head, NONE
    if head != NONE:
        a.pod[head, P_PREVIOUS] = p
    a.node[t, N_FIRST] = p
    book(a, p, t, 1)
    settle(a, t)


@kernel
def remove(a: Arena, p: int) -> None:
    t, after, before = a.pod[p, P_NODE], a.pod[p, P_NEXT], a.pod[p, P_PREVIOUS]
    if before == NONE:
        a.node[t, N_FIRST] = after
    else:
        a.pod[before, P_NEXT] = after
    if after != NONE:
        a.pod[after, P_PREVIOUS] = before
    book(a, p, t, -1)
    settle(a, t)
    a.pod[p, P_NODE] = NONE
