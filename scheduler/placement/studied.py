"""What the OSDI '26 study's own rule would take for one pod, as a limit that no answer exceeds.

On each node its LP pods by C ascending, the smallest prefix whose end is enough, and the cheapest node; a gang that
falls below its minimum costs all of it.  Nodes are looked at in the order of what they lose at least.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs
from scheduler.placement.hunt import NEVER, Hunt, Unit, least_costs, need_of

LOOKED = 300  # nodes; what the rest loses at least is the limit then, which is no more than what the rule would take


@dataclass(frozen=True, slots=True, eq=False)
class Studied:
    """``limit``: of C, None where the rule takes nobody anywhere; ``units`` are its set on ``node``, if it was found.

    ``floor`` [n]: what each node loses at least.
    """

    limit: int | None
    node: int
    units: tuple[Unit, ...] | None
    floor: Longs


def studied(hunt: Hunt, pod: int, nodes: Bools) -> Studied:
    """For one pod alone, on ``nodes``."""
    floor, _ = least_costs(hunt, pod, hunt.prey.lost)
    rows = np.flatnonzero(nodes & (floor < NEVER))
    order = rows[np.argsort(floor[rows], kind="stable")]
    best: int | None = None
    node, units = UNKNOWN, None
    for looked, n in enumerate(order.tolist()):
        if best is not None and floor[n] >= best:
            break
        if looked == LOOKED:
            least = int(floor[n])
            return Studied(least if best is None else min(best, least), node, None, floor)
        found = _prefix(hunt, pod, n)
        if found is None:
            continue
        loss = sum(unit.loss for unit in found)
        if best is None or loss < best:
            best, node, units = loss, n, found
    return Studied(best, node, units, floor)


def _prefix(hunt: Hunt, pod: int, node: int) -> tuple[Unit, ...] | None:
    """The rule's set on one node; None where it has none, or one that stops somebody who may not be stopped."""
    snapshot, prey = hunt.prey.snapshot, hunt.prey
    order = sorted(
        (p for p in prey.standing(node) if hunt.candidates[p] and p not in hunt.chosen),
        key=lambda p: (int(prey.loss[p]), p),
    )
    need = need_of(hunt, node, pod)
    taken: list[int] = []
    freed = [0, 0, 0]
    for victim in [UNKNOWN, *order]:
        if victim != UNKNOWN:
            taken.append(victim)
            freed[0] += int(snapshot.pod_gpus[victim])
            freed[1] += int(snapshot.pod_cpu_milli[victim])
            freed[2] += int(snapshot.pod_memory_mib[victim])
        enough = all(has >= asked for has, asked in zip(freed, need, strict=True))
        if enough and hunt.holds(node, [pod], set(taken)):
            return _units(hunt, node, taken)
    return None


def _units(hunt: Hunt, node: int, taken: list[int]) -> tuple[Unit, ...] | None:
    """As units of the hunt: pods, surplus members, and gangs that end whole; None where that is not allowed."""
    gang_of, spare = hunt.prey.snapshot.pod_gang, hunt.prey.spare
    count = Counter(int(gang_of[p]) for p in taken)
    broken = {g for g, some in count.items() if g != UNKNOWN and some > spare[g] - hunt.stopped_of(g)}
    found = [
        unit
        for unit in hunt.units(node)
        if (int(gang_of[unit.pods[0]]) in broken and unit.surplus_of == UNKNOWN)
        or (unit.here[0] in taken and unit.surplus_of == gang_of[unit.pods[0]])
    ]
    covered = {p for unit in found for p in unit.pods}
    return tuple(found) if covered >= set(taken) and hunt.lawful(found) else None
