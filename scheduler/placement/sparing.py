"""Whoever is not needed after all is left alone: first by asking again without them, then by seating anew without them.

A job is seated pod by pod, each where it costs least by then; together that may cost more than it has to.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs
from scheduler.placement.hunt import Hunt

TRIES = 24  # times that a job is seated anew


@dataclass(frozen=True, slots=True, eq=False)
class Relief:
    """Beside room: so much has to be given back by these pods, as where the claimant's tenant stands at its cap."""

    pods: Bools  # [p]
    gpu_milli: int


def given(hunt: Hunt, relief: Relief, asked: Longs) -> int:
    """What of the relief's amount those who are stopped give back; ``asked`` [p] GPU milli."""
    return int(sum(asked[p] for p in hunt.chosen if relief.pods[p]))


def pruned(hunt: Hunt, reliefs: Sequence[Relief]) -> Hunt:
    """Without those who are not needed after all, the dearest first: gangs whole, surplus members one by one."""
    asked = hunt.prey.snapshot.pod_gpus.astype(np.int64) * hunt.prey.snapshot.pod_gpu_milli
    for group in _groups(hunt):
        less = hunt.copy()
        less.chosen -= set(group)
        held = all(less.holds(n, (), set()) for n in less.placed)
        if held and all(given(less, relief, asked) >= relief.gpu_milli for relief in reliefs):
            hunt = less
    return hunt


def improved(hunt: Hunt, reliefs: Sequence[Relief], again: Callable[[Hunt], Hunt | None]) -> Hunt:
    """A set that costs less, found by seating the job ``again`` with some of its victims left alone; else the same."""
    tries, left = TRIES, _spared(hunt)
    while left and tries > 0:
        group, left, tries = left[0], left[1:], tries - 1
        spared: Bools = hunt.candidates.copy()
        spared[list(group)] = False
        found = again(replace(hunt, candidates=spared, chosen=hunt.chosen - set(group), placed={}))
        if found is None:
            continue
        better = pruned(replace(found, candidates=hunt.candidates), reliefs)
        if (better.cost(), len(better.chosen)) < (hunt.cost(), len(hunt.chosen)):
            hunt, left = better, _spared(better)
    return hunt


def _spared(hunt: Hunt) -> list[tuple[int, ...]]:
    """Who is left alone for a try: each by itself, then two at a time."""
    groups = _groups(hunt)
    return [*groups, *((*one, *other) for one, other in combinations(groups, 2))]


def _groups(hunt: Hunt) -> list[tuple[int, ...]]:
    """What may be spared together, the dearest first: a pod, a gang that ends whole, or of such a gang all but as many
    members as it can do without.
    """
    gangs: dict[int, list[int]] = {}
    for p in sorted(hunt.chosen):
        gang = int(hunt.prey.snapshot.pod_gang[p])
        whole = gang != UNKNOWN and hunt.stopped_of(gang) > hunt.prey.spare[gang]
        gangs.setdefault(gang if whole else -2 - p, []).append(p)
    found = [tuple(pods) for pods in gangs.values()]
    for gang, pods in gangs.items():
        spare = int(hunt.prey.spare[gang]) if gang >= 0 else 0
        kept = islice(combinations(pods, spare), TRIES) if spare else ()
        found += [tuple(p for p in pods if p not in some) for some in kept]
    return sorted(found, key=lambda pods: (-int(hunt.scale.cost[list(pods)].sum()), pods))
