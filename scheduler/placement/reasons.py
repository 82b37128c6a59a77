"""Why a job finds no place, and the most that would fit now."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.reasons import TARGET_REASONS
from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs
from scheduler.placement.filters import obstacle
from scheduler.placement.gang import Search, capacity
from scheduler.placement.homes import models_of
from scheduler.placement.parts import Asked
from scheduler.placement.room import Room
from scheduler.placement.seating import blocks

# Beside the words of ``cluster.reasons``.
MEMBERS, TOPOLOGY, BUDGET, TOGETHER, ONE_MODEL = "members", "topology", "budget", "together", "one_model"
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


def largest_fits(search: Search, room: Room) -> tuple[Fit, ...]:
    """However many pods the job has.  In whole slices where the group has slices."""
    ground, asked = search.ground, search.found.asked
    g = _largest(search)
    group = search.request.groups[g]
    if not group.slice_pods:
        alone = Asked(asked.cluster, (asked.parts[g],), mixes=asked.mixes)
        return tuple(
            Fit(level, pods, pods * group.gpus, _name(search, level, node) if pods else "")
            for level, pods, node in blocks(room, alone)
        )
    found = []
    for level in ground.levels:
        place = ground.domains_at(level)
        held = capacity(ground, search.offers[g].slots, place, int(place.max(initial=-1)) + 1, group)
        best = int(np.argmax(held)) if len(held) else UNKNOWN
        pods = int(held[best]) if len(held) else 0
        found.append(Fit(level, pods, pods * group.gpus, ground.domain_name(level, best) if pods else ""))
    return tuple(found)


def _largest(search: Search) -> int:
    groups = search.request.groups
    return max(range(len(groups)), key=lambda g: (groups[g].gpus, groups[g].count, -g))


def _name(search: Search, level: str, node: int) -> str:
    return search.ground.domain_name(level, int(search.ground.domains_at(level)[node]))


def refusal(search: Search, room: Room, *, spent: bool, sure: bool) -> Refusal:
    """The request was well put, and the search has found nothing.

    ``spent``: the budget of judged nodes ran out; ``sure``: nothing that ``seating`` could find is left out.
    """
    request = search.request
    if spent:
        detail = f"the search looked at {search.judge.asked} nodes device by device and gave up before all were seen"
        return Refusal(BUDGET, detail, proven=False)
    for g, group in enumerate(request.groups):
        if int(search.offers[g].slots.sum()) < group.count:
            return _no_room(search, room, g, int(search.offers[g].slots.sum()))
    model = models_of(search.found.snapshot, search.found.asked)
    if model is not None and (one := _no_model(search, model)) is not None:
        return one
    if request.required or any(group.required or group.slice_pods for group in request.groups):
        return _no_domain(search, model, sure=sure)
    detail = "each of its groups fits alone, and " + (
        "no way seats them together" if sure else "the search ended before it knew whether they fit together"
    )
    return Refusal(TOGETHER if sure else BUDGET, detail, proven=sure)


def _no_room(search: Search, room: Room, g: int, have: int) -> Refusal:
    """What costs most room where such a pod may run; where it may run nowhere, the rule that comes closest to holding.

    Where no single rule does, the one that stops it on most nodes.
    """
    offers, wanted = search.offers[g], search.request.groups[g].count
    everywhere = np.ones(len(offers.slots), np.bool_)
    word = obstacle(room, search.found.asked.parts[g], wanted, everywhere)
    if word:
        nodes = offers.reasons.get(word)
        detail = f"all nodes together hold {have} of {wanted} pods; the limit is: {word}"
        return Refusal(word, detail + (f" (on {nodes} nodes without room)" if nodes else ""), proven=True)
    rules = [word for word in offers.reasons if word not in _STATES]
    word = max(offers.reasons, key=lambda word: (word in _STATES, TARGET_REASONS.index(word)), default="cluster")
    others = f"; others: {', '.join(rules)}" if word in _STATES and rules else ""
    nodes = offers.reasons.get(word, 0)
    detail = f"no node takes such a pod; on {nodes} the reason is: {word}{others}"
    if have:
        detail = f"all nodes together hold {have} of {wanted} pods; on {nodes} the reason is: {word}{others}"
    return Refusal(word, detail, proven=True)


def _no_model(search: Search, model: Longs) -> Refusal | None:
    """No one GPU model holds all pods on devices of the job."""
    snapshot, parts = search.found.snapshot, search.found.asked.parts
    rooms = {}
    for m, mask in _models(model):
        held = [
            min(int((offer.slots * mask).sum()), len(part.pods))
            for offer, part in zip(search.offers, parts, strict=True)
            if part.on_devices(snapshot)
        ]
        rooms[m] = sum(held)
    wanted = sum(len(part.pods) for part in parts if part.on_devices(snapshot))
    if not rooms or max(rooms.values()) >= wanted:
        return None
    best = max(rooms, key=lambda m: (rooms[m], -m))
    name = snapshot.models[best - 1] if best else "of no known name"
    free = "" if search.found.asked.running else ", unless it may mix models"
    detail = f"one job stays within one GPU model{free}; {name} has room for {rooms[best]} of {wanted} pods"
    return Refusal(ONE_MODEL, detail, proven=True)


def _models(model: Longs) -> Iterator[tuple[int, Bools]]:
    for m in np.unique(model[model != UNKNOWN]).tolist():
        yield m, model == m


def _no_domain(search: Search, model: Longs | None, *, sure: bool) -> Refusal:
    """There is room for all of it, though not where it has to stand."""
    request, ground = search.request, search.ground
    level = request.required or next(
        one.required or one.slice_level for one in request.groups if one.required or one.slice_pods
    )
    if len(search.found.stay) and request.required and not search.home.any():
        return Refusal(TOPOLOGY, f"its running members do not stand in one known {level}", proven=True)
    place = ground.domains_at(level)
    allowed = search.home if request.required else place != UNKNOWN
    g = _largest(search)
    masks = [allowed] if model is None else [allowed & mask for _, mask in _models(model)]
    most = 0
    for mask in masks:
        slots = np.where(mask, search.offers[g].slots, 0)
        held = capacity(ground, slots, place, int(place.max(initial=-1)) + 1, request.groups[g])
        most = max(most, int(held.max(initial=0)))
    wanted, where = request.groups[g].count, "in the one where it runs already"
    if not len(search.found.stay):
        where = f"in one {level}"
    if most < wanted:
        every = int(search.offers[g].slots.sum())
        return Refusal(TOPOLOGY, f"{most} of {wanted} pods find room {where}, {every} in the cluster", proven=True)
    if sure:
        return Refusal(TOPOLOGY, f"its groups do not fit together {where}", proven=True)
    detail = f"its groups fit one by one {where}; the search ended before it knew whether they fit together"
    return Refusal(BUDGET, detail, proven=False)
