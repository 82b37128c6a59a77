"""All pods of a job find a place together, or none does: on a topology tree of any depth.

A job is tried at the level that it wants, then at every wider one up to the level that it requires (no further), or to
the cluster.  At each level the domains that hold it are candidates; inside a domain the pods are spread with least
entropy, level by level down to the nodes.  Unknown is no common domain: a node without one is a place of its own, and
no candidate where a domain is required.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, permutations

import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Bools, Ints, Longs
from scheduler.fragmentation.shapes import CLUSTER, HOST
from scheduler.placement.entropy import least_entropy
from scheduler.placement.filters import Judge, Offer
from scheduler.placement.ground import Ground
from scheduler.placement.homes import domains_of
from scheduler.placement.policy import Policy
from scheduler.placement.request import Group, Request
from scheduler.placement.resolving import Resolved
from scheduler.placement.scores import Floats

Taken = dict[int, int]  # node -> pods
ORDERS = 24  # of the groups of a job that are tried in a domain


@dataclass(frozen=True, slots=True)
class Domain:
    level: str
    domain: int


@dataclass(frozen=True, slots=True, eq=False)
class Seating:
    """Nodes of the pods of each group, in the order of their members."""

    top: Domain  # in which all of them stand; of level CLUSTER where nothing closer holds them
    nodes: tuple[Ints, ...]  # [group][pod]


@dataclass(slots=True, eq=False)
class Search:
    """One request on one ground.  ``slots`` [group][n] only ever shrinks: to what the judge has allowed."""

    ground: Ground
    found: Resolved
    request: Request
    policy: Policy
    offers: tuple[Offer, ...]
    terms: tuple[dict[str, Floats], ...]  # [group] name -> [n] of one more pod there; NaN: unknown, or no room
    score: Floats  # [n] their weighted mean, for the largest group
    judge: Judge
    only: Bools | None = None  # [n] nodes that take part for pods on devices; None: all
    slots: list[Longs] = field(init=False)
    turn: Longs = field(init=False)  # [n] rank by score, ties by position

    def __post_init__(self) -> None:
        parts = self.found.asked.parts
        self.slots = [
            one.slots * self.only
            if self.only is not None and part.on_devices(self.found.snapshot)
            else one.slots.copy()
            for one, part in zip(self.offers, parts, strict=True)
        ]
        order = np.lexsort((np.arange(len(self.score)), -self.score))
        self.turn = np.empty(len(order), np.int64)
        self.turn[order] = np.arange(len(order))

    # ---- candidates ------------------------------------------------------------------------------------------------
    def seatings(self) -> Iterator[Seating]:
        """Whole seatings, the most wanted level first, at each level the domains that promise most."""
        for level in self.levels():
            for domain in self.candidates(level)[: self.policy.candidates]:
                found = self.seat(domain)
                if found is not None:
                    yield found

    def levels(self) -> list[str]:
        """From the level that is wanted to the one that is required, or the cluster."""
        order, request = self.ground.levels, self.request
        closest = HOST if self.policy.entropy > 0 else CLUSTER
        preferred = request.preferred if request.preferred in order else ""  # a job may wish for what nobody knows
        wanted = preferred or (request.required if self.policy.entropy <= 0 else "") or closest
        widest = order.index(request.required or CLUSTER)
        return list(order[min(order.index(wanted), widest) : widest + 1])

    def inside(self, level: str, domain: int) -> Ints:
        """Nodes of the domain that also stand in some known domain of the required level."""
        mask = self.ground.domains_at(level) == domain
        if self.request.required:
            mask = mask & self.home
        return np.flatnonzero(mask).astype(np.int32)

    @property
    def home(self) -> Bools:
        """[n] Inside a known domain of every level that is required, that of the running members if there are some."""
        asked = self.found.asked
        return np.asarray(domains_of(self.found.snapshot, asked.cluster, asked.levels, asked.running) != UNKNOWN)

    def candidates(self, level: str) -> list[Domain]:
        """Domains that hold each group by itself: partly used ones first, then the tightest, then by score."""
        place = self.ground.domains_at(level)
        allowed = self.home if self.request.required else np.ones(len(place), np.bool_)
        known = allowed & (place != UNKNOWN)
        domains = int(place.max(initial=-1)) + 1
        able, spare = np.ones(domains, np.bool_), np.zeros(domains, np.int64)
        for group, slots in zip(self.request.groups, self.slots, strict=True):
            room = capacity(self.ground, np.where(known, slots, 0), place, domains, group)
            able &= room >= group.count
            spare += room * max(group.gpus, 1)
        able &= self._near_the_others(level, place, domains)
        rows = np.flatnonzero(able)
        whole = self._whole(level)[rows] if self.policy.keep_whole else np.zeros(len(rows), np.bool_)
        turn = np.full(domains, len(place), np.int64)
        np.minimum.at(turn, place[known], self.turn[known])
        keys = (rows, turn[rows], whole) if level == HOST else (rows, turn[rows], spare[rows], whole)
        return [Domain(level, int(rows[i])) for i in np.lexsort(keys)]

    def _near_the_others(self, level: str, place: Ints, domains: int) -> Bools:
        """[d] Where the running members of the gang stand, if they share one domain; else anywhere."""
        able = np.ones(domains, np.bool_)
        if len(self.found.stay) and level != HOST:
            here = set(place[self.found.snapshot.pod_node[self.found.stay]].tolist())
            if len(here) == 1 and UNKNOWN not in here:
                able[:] = False
                able[here.pop()] = True
        return able

    def _whole(self, level: str) -> Bools:
        """[d] Nobody works on any GPU node of the domain."""
        place = self.ground.domains_at(level)
        whole = np.ones(int(place.max(initial=-1)) + 1, np.bool_)
        whole[place[(place != UNKNOWN) & ~self.ground.untouched]] = False
        return whole

    # ---- one domain ------------------------------------------------------------------------------------------------
    def seat(self, domain: Domain) -> Seating | None:
        """All groups inside the domain, in one order or another; what the judge refuses is tried elsewhere."""
        for order in self._orders():
            before = None
            while before != (before := [int(slots.sum()) for slots in self.slots]):
                found = self._try(domain, order)
                if found is not None:
                    return found
        return None

    def _orders(self) -> Iterator[Sequence[int]]:
        """The hardest group first: those that want one domain, then the largest pods; then other orders."""
        groups = self.request.groups
        hard = sorted(range(len(groups)), key=lambda g: (not groups[g].required, -groups[g].gpus, -groups[g].count, g))
        yield from islice(permutations(hard), ORDERS)

    def _try(self, domain: Domain, order: Sequence[int]) -> Seating | None:
        nodes = self.inside(domain.level, domain.domain)
        there: dict[int, list[int]] = {}
        seats: dict[int, Ints] = {}
        for g in order:
            group, rows = self.request.groups[g], self.found.rows[g]
            slots = self._left(g, there)
            taken = place_group(self.ground, slots, nodes, group, self.turn, self._start(domain), self.policy)
            if taken is None:
                return None
            ordered = sorted(taken.items(), key=lambda item: self._position(item[0]))
            if not self._allowed(g, ordered, there):
                return None
            seats[g] = np.repeat([n for n, _ in ordered], [k for _, k in ordered]).astype(np.int32)
            for n, row in zip(seats[g].tolist(), rows.tolist(), strict=True):
                there.setdefault(n, []).append(row)
        return Seating(domain, tuple(seats[g] for g in range(len(seats))))

    def _start(self, domain: Domain) -> int:
        return self.ground.levels.index(domain.level)

    def _left(self, g: int, there: dict[int, list[int]]) -> Longs:
        """[n] Slots beside the pods of groups that are seated already."""
        if not there:
            return self.slots[g]
        slots, rows = self.slots[g].copy(), self.found.rows[g]
        for n, pods in there.items():
            slots[n] = self.judge.most(n, pods, rows, int(slots[n]))
        return slots

    def _allowed(self, g: int, taken: Sequence[tuple[int, int]], there: dict[int, list[int]]) -> bool:
        """Whether the law allows it everywhere; where it does not, the slots shrink."""
        rows, good = self.found.rows[g], True
        for n, count in taken:
            if not self.judge.allows(n, [*there.get(n, ()), *rows[:count].tolist()]):
                self.slots[g][n] = self.judge.most(n, there.get(n, ()), rows, count - 1)
                good = False
        return good

    def _position(self, node: int) -> tuple[int, ...]:
        """Nodes of one domain stand together, from the widest level down."""
        return (*(int(self.ground.domains_at(level)[node]) for level in reversed(self.ground.levels[1:])), node)


def capacity(ground: Ground, slots: Longs, place: Ints, domains: int, group: Group) -> Longs:
    """[d] Pods of the group that the domain holds, in whole slices where it has slices."""
    known = place != UNKNOWN
    if group.slice_pods:
        inner = ground.domains_at(group.slice_level)
        sums = np.zeros(int(inner.max(initial=-1)) + 1, np.int64)
        some = known & (inner != UNKNOWN)
        wide = np.zeros(len(sums), np.int64)
        wide[inner[some]] = place[some]
        np.add.at(sums, inner[some], slots[some])
        whole = sums // group.slice_pods * group.slice_pods
        found = np.zeros(domains, np.int64)
        np.add.at(found, wide[whole > 0], whole[whole > 0])
        return found
    found = np.zeros(domains, np.int64)
    np.add.at(found, place[known], slots[known])
    return found


def place_group(
    ground: Ground, slots: Longs, nodes: Ints, group: Group, turn: Longs, start: int, policy: Policy
) -> Taken | None:
    """Pods of one group on ``nodes``, which are a domain of level ``start``; None where they do not fit."""
    here = np.zeros(len(slots), np.int64)
    here[nodes] = slots[nodes]
    for level in _own_levels(ground, group, start):
        place = ground.domains_at(level)
        room = capacity(ground, here, place, int(place.max(initial=-1)) + 1, group)
        fitting = np.flatnonzero(room >= group.count)
        if len(fitting):
            tight = fitting[np.argmin(room[fitting])]
            inner = nodes[place[nodes] == tight]
            return _descend(ground, here, inner, group, group.count, ground.levels.index(level), turn, policy)
    if group.required:
        return None
    return _descend(ground, here, nodes, group, group.count, start, turn, policy)


def _own_levels(ground: Ground, group: Group, start: int) -> Sequence[str]:
    """Levels below ``start`` that the group alone wants, from the closest; the last one binds if it requires one."""
    if not group.required and not group.preferred:
        return ()
    order = ground.levels
    widest = order.index(group.required) if group.required else start - 1
    closest = order.index(group.preferred) if group.preferred else widest
    return order[min(closest, widest) : min(widest, start) + 1]


def _descend(
    ground: Ground, slots: Longs, nodes: Ints, group: Group, wanted: int, level: int, turn: Longs, policy: Policy
) -> Taken | None:
    """Spread ``wanted`` pods over the places of the next level inside, and so on down to the nodes."""
    if level == 0:
        return {int(nodes[0]): wanted} if len(nodes) and slots[nodes[0]] >= wanted else None
    inner = ground.levels[level - 1]
    if policy.entropy <= 0 and not group.slice_pods:
        return _by_score(slots, nodes, wanted, turn)
    place = ground.domains_at(inner)[nodes].astype(np.int64)
    alone = len(ground.untouched) + nodes.astype(np.int64)
    names, member = np.unique(np.where(place == UNKNOWN, alone, place), return_inverse=True)
    room = _room(ground, slots[nodes], nodes, member, len(names), group, level - 1)
    whole, rank = np.ones(len(names), np.bool_), np.full(len(names), len(turn), np.int64)
    whole[member[~ground.untouched[nodes]]] = False
    np.minimum.at(rank, member, turn[nodes])
    taken = least_entropy(room, whole if policy.keep_whole else np.zeros_like(whole), rank, wanted)
    found: Taken = {}
    for d in np.flatnonzero(taken).tolist():
        part = _descend(ground, slots, nodes[member == d], group, int(taken[d]), _next(level, names[d], ground), turn,
                        policy)  # fmt: skip
        if part is None:
            return None
        found.update(part)
    return found or None


def _next(level: int, name: int, ground: Ground) -> int:
    """A node without a known domain is at the bottom of the tree already."""
    return 0 if name >= len(ground.untouched) else level - 1


def _room(ground: Ground, slots: Longs, nodes: Ints, member: Longs, places: int, group: Group, level: int) -> Longs:
    """[place] Pods it holds; in whole slices down to the level of the slices."""
    found = np.zeros(places, np.int64)
    if not group.slice_pods or level < ground.levels.index(group.slice_level):
        np.add.at(found, member, slots)
        return found
    inner = ground.domains_at(group.slice_level)[nodes]
    known = inner != UNKNOWN
    names, of = np.unique(inner[known], return_inverse=True)
    sums, wide = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
    np.add.at(sums, of, slots[known])
    wide[of] = member[known]
    np.add.at(found, wide, sums // group.slice_pods * group.slice_pods)
    return found


def _by_score(slots: Longs, nodes: Ints, wanted: int, turn: Longs) -> Taken | None:
    """The nodes that the terms like best, whatever their domains."""
    found: Taken = {}
    for n in nodes[np.argsort(turn[nodes], kind="stable")].tolist():
        if wanted and slots[n]:
            found[n] = min(wanted, int(slots[n]))
            wanted -= found[n]
    return None if wanted else found
