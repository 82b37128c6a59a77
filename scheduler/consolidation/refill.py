# mypy: disable-error-code="no-any-return"
# Elements of arrays have no type of their own for the checker; for the compiler they have.
"""Places for pods by kinds, as kernels: two nodes at a time are filled anew, with their own pods and those left over.

The first of the two takes what fills it best, by branch and bound, the second what fills it best of the rest.  What is
worse is taken, too, ever more rarely (simulated annealing), until nobody is left over.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Bools, Longs
from scheduler.consolidation.kernel import edition, entry, kernel, pasted

Doubles = NDArray[np.float64]

SLOTS, CPU, MEMORY, MILLI = range(4)  # amounts that a pod asks for and a node has; the tables' first columns
AMOUNTS = 4
SHARE, GPUS = 4, 5  # columns of kinds: thousandths of each device that is touched, and how many are
DEVICES, FIXED, FIXED_END = 4, 5, 6  # columns of nodes: devices beside whole GPUs that stay; shares that stay
FIRST, SECOND, LEFT = range(3)  # of ``trial``: what each of two nodes gets, and who is left
KIND, COUNT, ORDER, TAKEN = range(4)  # of ``item``
STEPS = 400  # of the search for what fills one node
TINY = 1e-9
SHIFTS = (np.uint64(12), np.uint64(25), np.uint64(27), np.uint64(11))
TIMES = np.uint64(0x2545F4914F6CDD1D)


class Packing(NamedTuple):
    """Axes: n node, k kind, i item: pods of one kind offered to one node.  What stays for good is taken off."""

    kind: Longs  # [k, 6]
    by_share: Longs  # kinds with shares of devices, largest share first
    worth: Doubles  # [k] of a pod that has a place
    clash: Bools  # [k, k] no node takes both; on the diagonal: no node takes two
    node: Longs  # [n, 7]
    fixed: Longs  # shares that stay, by node, largest first
    most: Longs  # [n, k] as many of the kind as the node may take
    home: Longs  # [n, k] stand there before any move
    held: Longs  # [n, k] have their place there now
    loose: Longs  # [k] have none
    trial: Longs  # [3, k] scratch
    item: Longs  # [4, i] scratch
    value: Doubles  # [i] scratch
    density: Doubles  # [i] scratch
    free: Longs  # scratch: amounts of a node, thousandths of devices
    dice: NDArray[np.uint64]  # [1] not 0


@kernel
def draw(q: Packing) -> float:
    """A number from 0 up to 1, by Marsaglia's xorshift with Vigna's multiplier."""
    x = q.dice[0]
    x ^= x >> SHIFTS[0]
    x ^= x << SHIFTS[1]
    x ^= x >> SHIFTS[2]
    q.dice[0] = x
    return ((x * TIMES) >> SHIFTS[3]) / 9007199254740992.0


@kernel
def offer(q: Packing, n: int, tight: int, noise: float, stay: float) -> int:
    """List who is left as items for the node, most valuable for their size first; returns how many there are."""
    items = 0
    for k in range(len(q.loose)):
        most = min(q.trial[LEFT, k], q.most[n, k])
        home, value = min(q.home[n, k], most), q.worth[k]
        if most > 0:
            value *= 1.0 + noise * (draw(q) - 0.5)
        for count, bonus in ((home, stay), (most - home, 0.0)):
            if count > 0:
                q.item[KIND, items], q.item[COUNT, items], q.value[items] = k, count, value + bonus
                items += 1
    for i in range(items):
        j, density = i, q.value[i] / max(q.kind[q.item[KIND, i], tight], 1)
        while j > 0 and q.density[q.item[ORDER, j - 1]] < density:
            q.item[ORDER, j] = q.item[ORDER, j - 1]
            j -= 1
        q.item[ORDER, j], q.density[i] = i, density
    return items


@pasted
def promise(q: Packing, at: int, items: int, tight: int) -> float:
    """No choice among the items from position ``at`` on is worth more: the tight amount alone, fractions allowed."""
    room, value = q.free[tight], 0.0
    for j in range(at, items):
        i = q.item[ORDER, j]
        asked = q.kind[q.item[KIND, i], tight] * q.item[COUNT, i]
        if asked > room:
            return value + q.value[i] * q.item[COUNT, i] * room / asked
        room -= asked
        value += q.value[i] * q.item[COUNT, i]
    return value


@pasted
def take(q: Packing, j: int, count: int) -> float:
    """Take so many more of the item at position ``j``; returns what they are worth."""
    i = q.item[ORDER, j]
    q.item[TAKEN, j] += count
    for r in range(AMOUNTS):
        q.free[r] -= count * q.kind[q.item[KIND, i], r]
    return count * q.value[i]


@pasted
def room_for(q: Packing, j: int) -> int:
    """How many of the item at position ``j`` there is room for."""
    i = q.item[ORDER, j]
    most = q.item[COUNT, i]
    for r in range(AMOUNTS):
        asked = q.kind[q.item[KIND, i], r]
        if asked > 0:
            most = min(most, max(q.free[r], 0) // asked)
    return most


@kernel
def fill(q: Packing, n: int, tight: int, noise: float, stay: float, which: int) -> None:
    """Choose of those left about the most valuable that the node's amounts take, in at most STEPS steps."""
    items = offer(q, n, tight, noise, stay)
    for k in range(len(q.loose)):
        q.trial[which, k] = 0
    for r in range(AMOUNTS):
        q.free[r] = q.node[n, r]
    best, value, j = 0.0, 0.0, 0
    for _ in range(STEPS):
        if value > best + TINY:
            best = value
            for k in range(len(q.loose)):
                q.trial[which, k] = 0
            for i in range(j):
                q.trial[which, q.item[KIND, q.item[ORDER, i]]] += q.item[TAKEN, i]
        if j < items and value + promise(q, j, items, tight) > best + TINY:
            q.item[TAKEN, j] = 0
            value += take(q, j, room_for(q, j))
            j += 1
            continue
        while j > 0 and q.item[TAKEN, j - 1] == 0:
            j -= 1
        if j == 0:
            break
        value += take(q, j - 1, -1)


@pasted
def lay_share(q: Packing, share: int, devices: int) -> bool:
    """Take the share of the first device that has it."""
    for device in range(AMOUNTS, AMOUNTS + devices):
        if q.free[device] >= share:
            q.free[device] -= share
            return True
    return False


@kernel
def lie(q: Packing, n: int, which: int) -> bool:
    """Whether the pods lie on the node's devices: whole ones first, then shares first fit, the largest first."""
    devices = q.node[n, DEVICES]
    for k in range(len(q.loose)):
        if q.kind[k, SHARE] == WHOLE_GPU_MILLI:
            devices -= q.trial[which, k] * q.kind[k, GPUS]
    if devices < 0:
        return False
    for device in range(devices):
        q.free[AMOUNTS + device] = WHOLE_GPU_MILLI
    at, queue = q.node[n, FIXED], 0
    while True:
        while queue < len(q.by_share) and q.trial[which, q.by_share[queue]] == 0:
            queue += 1
        share = q.kind[q.by_share[queue], SHARE] if queue < len(q.by_share) else 0
        if at < q.node[n, FIXED_END] and q.fixed[at] >= share:
            share, times = q.fixed[at], 1
            at += 1
        elif share > 0:
            times = q.trial[which, q.by_share[queue]] * q.kind[q.by_share[queue], GPUS]
            queue += 1
        else:
            return True
        for _ in range(times):
            if not lay_share(q, share, devices):
                return False


@kernel
def agree(q: Packing, n: int, which: int) -> bool:
    """Whether one node can hold all of them, as far as the amounts do not say so already."""
    for k in range(len(q.loose)):
        for m in range(len(q.loose) if q.trial[which, k] > 0 else 0):
            if q.clash[k, m] and q.trial[which, m] > (k == m):
                return False
    return lie(q, n, which)


@kernel
def refilled(q: Packing, n: int, m: int, tight: int, noise: float, stay: float) -> bool:
    """Choose new contents for both; False where one of them cannot be."""
    for k in range(len(q.loose)):
        q.trial[LEFT, k] = q.held[n, k] + q.held[m, k] + q.loose[k]
    for node, which in ((n, FIRST), (m, SECOND)):
        fill(q, node, tight, noise, stay, which)
        if not agree(q, node, which):
            return False
        for k in range(len(q.loose)):
            q.trial[LEFT, k] -= q.trial[which, k]
    return True


@kernel
def gain(q: Packing, n: int, m: int, stay: float) -> float:
    """What the new contents of the two nodes are worth more than those they hold."""
    found = 0.0
    for k in range(len(q.loose)):
        found += q.worth[k] * (q.loose[k] - q.trial[LEFT, k])
        found += stay * (min(q.trial[FIRST, k], q.home[n, k]) - min(q.held[n, k], q.home[n, k]))
        found += stay * (min(q.trial[SECOND, k], q.home[m, k]) - min(q.held[m, k], q.home[m, k]))
    return found


@kernel
def total(pods: Longs) -> int:
    found = 0
    for count in pods:
        found += count
    return found


def _anneal_entry(stamp: int) -> Callable[[Packing, Longs, int, int, float, float, float, float], int]:
    @entry
    def anneal(
        q: Packing, nodes: Longs, turns: int, tight: int, hot: float, cold: float, noise: float, stay: float
    ) -> int:
        """Fill pairs of ``nodes`` anew until nobody is loose, at most ``turns`` times; returns the turns that are left.

        ``hot`` and ``cold``: what a change for the worse may cost about, at first and in the end.  ``noise`` (share)
        blurs what pods are worth; ``stay`` is what it is worth that one stands at home.  Where nobody is loose at
        first, nobody ever is, and all turns are taken.
        """
        whole = total(q.loose) == 0
        for turn in range(turns):
            n, m = nodes[int(draw(q) * len(nodes))], nodes[int(draw(q) * len(nodes))]
            if n == m or not refilled(q, n, m, tight, noise, stay) or stamp < 0:
                continue
            left, more = total(q.trial[LEFT]), gain(q, n, m, stay)
            if whole and left > 0:
                continue
            if more < 0 and draw(q) >= np.exp(more / (hot * (cold / hot) ** (turn / turns))):
                continue
            for k in range(len(q.loose)):
                q.held[n, k], q.held[m, k], q.loose[k] = q.trial[FIRST, k], q.trial[SECOND, k], q.trial[LEFT, k]
            if left == 0 and not whole:
                return turns - turn - 1
        return 0

    return anneal


anneal = _anneal_entry(edition("refill"))
