"""Where an ask can start now, and if it cannot, why.

Spot work starts on what is free or lent, never by stopping anybody.  Nodes are filtered, then ranked as in the OSDI '26
study: fewest free GPUs, most work of the same class, fewest evictions; ties by name.  All pods stand on one GPU model
and, where that is required, in one domain; of the domains that hold them the one with least to spare is taken.
On a node sleepers are used before what is free, which stays for those who cannot borrow; a sleeper that is known to
wake before the run ends is used only where nothing else is left, and never within the guaranteed time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from scheduler.cluster.room import faults
from scheduler.cluster.rows import frozen
from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs, Snapshot
from scheduler.fragmentation.shapes import CLUSTER
from scheduler.placement.parts import Part
from scheduler.placement.room import Room
from scheduler.placement.scores import NEUTRAL, Case, eviction_history
from scheduler.spot.asks import Ask
from scheduler.spot.board import Board, asking, places
from scheduler.spot.lenders import LEAST_LENT_S, Holds, holds
from scheduler.spot.refusing import refusal
from scheduler.spot.waits import Wait

MOST_TRIES = 200  # nodes that the law turns down before the ask is left for the next turn


@dataclass(frozen=True, slots=True)
class Seated:
    """A pod: its node, and the ``namespace/name`` of the sleeper that lends to it; "": on what is free."""

    node: str
    lent_by: str = ""


@dataclass(frozen=True, slots=True)
class Seating:
    """``level`` and ``domain``: the common domain that was wanted; "" where none was, or the wish was not met."""

    model: str
    pods: tuple[Seated, ...]
    level: str = ""
    domain: str = ""

    @property
    def lent(self) -> int:
        """Pods that borrow."""
        return sum(bool(pod.lent_by) for pod in self.pods)


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """Beside the seating what ``take`` needs: pods on what is free and on sleepers, by row."""

    seating: Seating
    room: Room  # as the ask saw it, with nobody of it seated
    part: Part
    free: tuple[tuple[int, int], ...]  # node, pods
    lent: tuple[tuple[int, int], ...]  # sleeper, pods


def seat(board: Board, ask: Ask) -> Chosen | Wait:
    """Seats for all pods of the ask, or for at least ``min_members`` of them, or the reason why it waits.

    The board stays as it is; ``take`` makes the answer binding.
    """
    room, part = asking(board, ask)
    for model in ask.models:
        chosen = _on_model(board, room, part, ask, model)
        if chosen is not None:
            return chosen
    return refusal(board, room, part, ask)


def take(board: Board, chosen: Chosen) -> None:
    """Give the seats away on the board."""
    room, part, lenders = chosen.room, chosen.part, board.lenders
    rows = iter(part.pods)
    for node, pods in chosen.free:
        room.seat(part, [next(rows) for _ in range(pods)], node)
        board.lp_milli[node] += pods * part.gpus * part.milli
    lender = room.snapshot.pod_lender.copy()
    for s, pods in chosen.lent:
        node, here = int(lenders.node[s]), [next(rows) for _ in range(pods)]
        lender[here] = lenders.pod[s]
        own = max(0, int(lenders.cpu[s] - lenders.lent_cpu[s]))
        lenders.borrowed[s] += pods * part.gpus
        lenders.lent_cpu[s] += pods * part.cpu
        room.cpu[node] -= max(0, pods * part.cpu - own)
        room.memory[node] -= pods * part.memory
        room.places[node] -= pods
        room.seated.setdefault(node, []).extend(here)
        room.touched.append(node)
        if room.state.odd[node]:
            room.mixed.add(node)  # its devices are counted by the law from now on
        board.lp_milli[node] += pods * part.gpus * part.milli
    room.snapshot = replace(room.snapshot, pod_lender=frozen(lender))
    board.room = room


def offers(board: Board, room: Room, part: Part, ask: Ask, model: str) -> Iterator[tuple[Bools, Holds]]:
    """[s] sleepers that take part, and what holds pods of the ask then: those that last, then all that may be used."""
    lenders, nodes = board.lenders, board.of_model(model)
    most = np.full(len(nodes), part.gpus * len(part.pods))
    usable = lenders.lasting(board.now_s + max(LEAST_LENT_S, ask.guaranteed_s))
    lasting = lenders.lasting(board.now_s + ask.run_s) & usable
    yield lasting, holds(room, lenders, part, lasting, most, nodes)
    if (lasting != usable).any():
        yield usable, holds(room, lenders, part, usable, most, nodes)


def _on_model(board: Board, room: Room, part: Part, ask: Ask, model: str) -> Chosen | None:
    for wanted in dict.fromkeys((ask.pods, ask.min_members)):  # all of it anywhere is more than a part of it nearby
        for level in _levels(ask):
            for may, held in offers(board, room, part, ask, model):
                chosen = _within(board, room, part, held, level, wanted, ask.pods, may)
                if chosen is not None:
                    return chosen
    return None


def _levels(ask: Ask) -> tuple[str, ...]:
    """Where a level is only a wish, anywhere comes after it."""
    if not ask.topology:
        return ("",)
    return (ask.topology,) if ask.required else (ask.topology, "")


def _within(
    board: Board, room: Room, part: Part, held: Holds, level: str, wanted: int, most: int, may: Bools
) -> Chosen | None:
    """``wanted`` pods or more, up to ``most``, in one domain of the level."""
    total = held.total.copy()
    for _ in range(MOST_TRIES):
        inside, domain = _home(board, total, level, wanted)
        if inside is None:
            return None
        pods = min(most, int(total[inside].sum()))
        order = inside[np.lexsort(_rank(board, room, part, inside, may))]
        free, lent = _fill(board, held, total, order, pods)
        bad = _turned_down(board, room, part, free, lent)
        if bad == UNKNOWN:
            return _chosen(board, room, part, free, lent, level, domain)
        total[bad] = 0
    return None


def _home(board: Board, total: Longs, level: str, wanted: int) -> tuple[Longs | None, int]:
    """Nodes of the domain with least to spare of those that hold so many; ties go to the first by name."""
    some = np.flatnonzero(total > 0)
    if not level:
        return (some, UNKNOWN) if int(total.sum()) >= wanted else (None, UNKNOWN)
    place = places(board, level)
    some = some[place[some] != UNKNOWN]
    sums = np.zeros(int(place.max(initial=UNKNOWN)) + 1, np.int64)
    np.add.at(sums, place[some], total[some])
    good = np.flatnonzero(sums >= wanted)
    if not len(good):
        return None, UNKNOWN
    domain = int(good[np.argmin(sums[good])])
    return some[place[some] == domain], domain


def _rank(board: Board, room: Room, part: Part, nodes: Longs, may: Bools) -> tuple[Longs, ...]:
    """Keys for ``lexsort``, the last first: free GPUs, those that are lent, same class, evictions, place by name."""
    free, lent = room.free[nodes], board.open_gpus(may)[nodes]
    capacity = board.ground.capacity
    hp = (capacity.hp_milli + capacity.standby_milli)[nodes].astype(np.float64)
    lp = board.lp_milli[nodes].astype(np.float64)
    same = np.divide(lp, hp + lp, out=np.full(len(nodes), NEUTRAL), where=hp + lp > 0)
    case = Case(board.ground, room.snapshot, part.pods[0], nodes.astype(np.int32), board.evictions)
    history = np.nan_to_num(eviction_history(case), nan=NEUTRAL)
    return nodes, -np.round(history, 9), -np.round(same, 9), lent, free  # type: ignore[return-value]


def _fill(
    board: Board, held: Holds, total: Longs, order: Longs, pods: int
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    free: list[tuple[int, int]] = []
    lent: list[tuple[int, int]] = []
    lenders, left = board.lenders, pods
    first = np.searchsorted(lenders.node, np.arange(len(total) + 1))
    for n in order.tolist():
        if not left:
            break
        for s in range(first[n], first[n + 1]):
            some = min(left, int(held.lent[s]))
            if some:
                lent.append((s, some))
                left -= some
        some = min(left, int(held.free[n]))
        if some:
            free.append((n, some))
            left -= some
    return free, lent


def _turned_down(board: Board, room: Room, part: Part, free: list[tuple[int, int]], lent: list[tuple[int, int]]) -> int:
    """The first node on which the law of the house does not take its pods together; UNKNOWN where it takes all."""
    rows = iter(part.pods)
    arrivals: dict[int, list[int]] = {}
    lender = room.snapshot.pod_lender.copy()
    for n, pods in free:
        arrivals.setdefault(n, []).extend(next(rows) for _ in range(pods))
    for s, pods in lent:
        here = [next(rows) for _ in range(pods)]
        lender[here] = board.lenders.pod[s]
        arrivals.setdefault(int(board.lenders.node[s]), []).extend(here)
    world: Snapshot = replace(room.snapshot, pod_lender=frozen(lender))
    for n, there in sorted(arrivals.items()):
        if next(faults(world, n, room.standing(n), there), None) is not None:
            return n
    return UNKNOWN


def _chosen(
    board: Board, room: Room, part: Part, free: list[tuple[int, int]], lent: list[tuple[int, int]],
    level: str, domain: int,
) -> Chosen:  # fmt: skip
    snapshot, lenders = board.ground.snapshot, board.lenders
    names = snapshot.node_name
    pods = [Seated(names[n]) for n, count in free for _ in range(count)]
    for s, count in lent:
        seated = Seated(names[int(lenders.node[s])], snapshot.pod_key(int(lenders.pod[s])))
        pods += [seated] * count
    first = free[0][0] if free else int(lenders.node[lent[0][0]])
    model = snapshot.models[snapshot.node_model[first]]
    place = board.ground.domain_name(level, domain) if level and level != CLUSTER else ""
    return Chosen(Seating(model, tuple(pods), level, place), room, part, tuple(free), tuple(lent))
