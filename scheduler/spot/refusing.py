"""Why an ask finds no seats on a board, with the numbers of the GPU model that comes closest."""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs
from scheduler.placement.parts import Part
from scheduler.placement.room import Room
from scheduler.spot.asks import Ask
from scheduler.spot.board import Board, places
from scheduler.spot.lenders import LEAST_LENT_S, holds
from scheduler.spot.waits import (
    CAPACITY,
    CONSTRAINT,
    FRAGMENTATION,
    NO_SUCH_MODEL,
    PROMISED,
    TOPOLOGY,
    Value,
    Wait,
)


@dataclass(frozen=True, slots=True, eq=False)
class Outlay:
    """What one GPU model has for the ask now.  GPUs; ``nodes`` [n] of the model."""

    model: str
    nodes: Bools
    open_gpus: Longs  # [n] free, or lent by whoever does not wake too soon
    fits: Longs  # [n] pods
    block: int  # pods in the best domain of the level; all, where none is wanted

    @property
    def pods(self) -> int:
        return int(self.fits.sum())


def outlay_of(board: Board, room: Room, part: Part, ask: Ask, model: str) -> Outlay:
    nodes = board.of_model(model)
    usable = board.lenders.lasting(board.now_s + max(LEAST_LENT_S, ask.guaranteed_s))
    endless = np.full(len(nodes), np.int64(1 << 40))
    fits = holds(room, board.lenders, part, usable, endless, nodes).total
    open_gpus = np.where(nodes, board.open_gpus(usable), 0)
    return Outlay(model, nodes, open_gpus, fits, largest_block(board, fits, ask.topology))


def largest_block(board: Board, count: Longs, level: str) -> int:
    """The most of ``count`` [n] in one domain of the level; all of it for none."""
    if not level:
        return int(count.sum())
    place = places(board, level)
    known = place != UNKNOWN
    sums = np.zeros(int(place.max(initial=UNKNOWN)) + 1, np.int64)
    np.add.at(sums, place[known], count[known])
    return int(sums.max(initial=0))


def refusal(board: Board, room: Room, part: Part, ask: Ask) -> Wait:
    """The ask found no seats on any of its models."""
    rows = [outlay_of(board, room, part, ask, model) for model in ask.models]
    rows = [one for one in rows if one.nodes.any()]
    if not rows:
        return Wait(NO_SUCH_MODEL, {"models": ", ".join(ask.models)})
    level = ask.topology if ask.required else ""
    best = max(rows, key=lambda one: (one.block if level else one.pods, -rows.index(one)))
    return _why(board, room, part, ask, best)


def _why(board: Board, room: Room, part: Part, ask: Ask, best: Outlay) -> Wait:
    needs, free = ask.least_gpus, int(best.open_gpus.sum())
    told: dict[str, Value] = {"models": best.model, "needs_gpus": needs, "free_gpus": free}
    promised = int(board.promised[best.nodes].sum())
    if best.pods >= ask.min_members:  # enough in all, though not where it has to stand
        level = ask.topology if ask.required else ""
        block = best.block if level else best.pods
        return Wait(TOPOLOGY, {**told, "level": level or "cluster", "largest_gpus": block * ask.gpus_per_pod})
    limit, nodes = _limit(board, room, part, ask, best)
    if limit:
        return Wait(CONSTRAINT, {**told, "limit": limit, "nodes": nodes})
    if free < needs <= free + promised:
        return Wait(PROMISED, {**told, "promised_gpus": promised})
    if free >= needs:
        largest = int(best.open_gpus.max(initial=0))
        return Wait(FRAGMENTATION, {**told, "gpus_per_pod": ask.gpus_per_pod, "largest_gpus": largest})
    return Wait(CAPACITY, told)


def _limit(board: Board, room: Room, part: Part, ask: Ask, best: Outlay) -> tuple[str, int]:
    """What beside GPUs keeps it out, and on how many nodes; "" where the GPUs are what it lacks."""
    largest = int(board.ground.snapshot.node_allocatable[best.nodes].max(initial=0))
    if ask.gpus_per_pod > largest:
        return f"no node has more than {largest} GPUs", int(best.nodes.sum())
    by_gpus = np.minimum(best.open_gpus, board.open_gpus()) // ask.gpus_per_pod
    if int(by_gpus.sum()) < ask.min_members:
        return "", 0
    short: dict[str, int] = {}
    lost = by_gpus > best.fits
    for word, left, amount in (("memory", room.memory, ask.memory_mib), ("CPU", room.cpu, ask.cpu_milli)):
        if amount:
            short[word] = int((lost & (np.maximum(left, 0) // amount < by_gpus)).sum())
    if ask.gpu_memory_mib:
        short["memory of the GPUs"] = int(lost.sum()) - max(short.values(), default=0)
    word = max(short, key=lambda one: short[one], default="")
    return (word, short[word]) if word and short[word] else ("rules of its nodes", int(lost.sum()))
