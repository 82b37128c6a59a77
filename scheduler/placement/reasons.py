"""Why a job finds no place, and the most that would fit now."""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.reasons import TARGET_REASONS
from scheduler.cluster.snapshot import UNKNOWN
from scheduler.placement.filters import Offer
from scheduler.placement.gang import Search, capacity

# Beside the words of ``cluster.reasons``.
MEMBERS, TOPOLOGY, BUDGET, TOGETHER = "members", "topology", "budget", "together"
_STATES = ("cordoned", "not_ready")


@dataclass(frozen=True, slots=True)
class Refusal:
    """``proven``: no place exists; else the search gave up before it knew."""

    reason: str
    detail: str
    proven: bool


@dataclass(frozen=True, slots=True)
class Fit:
    """The most of the largest group that one domain of ``level`` holds now; ``domain`` "" where it holds none."""

    level: str
    pods: int
    gpus: int
    domain: str


def largest_fits(search: Search) -> tuple[Fit, ...]:
    groups = search.request.groups
    g = max(range(len(groups)), key=lambda i: (groups[i].gpus, groups[i].count, -i))
    found = []
    for level in search.ground.levels:
        place = search.ground.domains_at(level)
        room = capacity(search.ground, search.slots[g], place, int(place.max(initial=-1)) + 1, groups[g])
        best = int(np.argmax(room)) if len(room) else UNKNOWN
        pods = int(room[best]) if len(room) else 0
        name = search.ground.domain_name(level, best) if pods else ""
        found.append(Fit(level, pods, pods * groups[g].gpus, name))
    return tuple(found)


def refusal(search: Search, spent: bool) -> Refusal:
    """The request was well put, and the search has found nothing; ``spent``: because its budget ran out."""
    request = search.request
    if spent:
        detail = f"the search looked at {search.judge.asked} nodes device by device and gave up before all were seen"
        return Refusal(BUDGET, detail, proven=False)
    for g, group in enumerate(request.groups):
        room = int(_everywhere(search, g).sum())
        if room < group.count:
            return _no_room(search.offers[g], group.count, room)
    if request.required or any(group.required or group.slice_pods for group in request.groups):
        return _no_domain(search)
    detail = "each of its groups fits alone; no order in which they were tried seats them together"
    return Refusal(TOGETHER, detail, proven=False)


def _everywhere(search: Search, g: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return search.slots[g]


def _no_room(one: Offer, wanted: int, room: int) -> Refusal:
    """What is scarce where such a pod may run; where it may run nowhere, the rule that comes closest to holding."""
    if one.scarce:
        word = next(iter(one.scarce))
        detail = f"all nodes together hold {room} of {wanted} pods; on {one.scarce[word]} the limit is: {word}"
        return Refusal(word, detail, proven=True)
    rules = [word for word in one.reasons if word not in _STATES]
    word = max(one.reasons, key=lambda word: (word in _STATES, TARGET_REASONS.index(word)), default="gpus")
    others = f"; others: {', '.join(rules)}" if word in _STATES and rules else ""
    return Refusal(
        word, f"no node takes such a pod; on {one.reasons.get(word, 0)} the reason is: {word}{others}", proven=True
    )


def _no_domain(search: Search) -> Refusal:
    """There is room for all of it, though not where it has to stand."""
    request, ground = search.request, search.ground
    level = request.required or next(
        one.required or one.slice_level for one in request.groups if one.required or one.slice_pods
    )
    if len(search.found.stay) and request.required and not search.home.any():
        return Refusal(TOPOLOGY, f"its running members do not stand in one known {level}", proven=True)
    place = ground.domains_at(level)
    allowed = search.home if request.required else place != UNKNOWN
    g = max(range(len(request.groups)), key=lambda i: (request.groups[i].gpus, request.groups[i].count, -i))
    slots = np.where(allowed, search.slots[g], 0)
    room = capacity(ground, slots, place, int(place.max(initial=-1)) + 1, request.groups[g])
    most, wanted = int(room.max(initial=0)), request.groups[g].count
    where = "in the one where it runs already" if len(search.found.stay) else f"in one {level}"
    if most < wanted:
        detail = f"{most} of {wanted} pods find room {where}, {int(search.slots[g].sum())} in the cluster"
        return Refusal(TOPOLOGY, detail, proven=True)
    detail = f"its groups fit one by one {where}; no order in which they were tried seats them together"
    return Refusal(TOGETHER, detail, proven=False)
