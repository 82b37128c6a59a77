"""The week run again at one price: who starts, who is reclaimed when less can be lent, and what all of it pays.

In the order in which they were asked; who does not fit waits, and smaller ones may pass.  An ask is all or nothing.
When less can be lent the least lost work is reclaimed first (GPUs x time since the last checkpoint, the study's C),
those inside a guarantee last; it waits again in its old place with what its last checkpoint does not hold.
"""

import heapq
from dataclasses import dataclass, field

from scheduler.spot.week import ASSUMED_CHECKPOINT_S, HOUR_S, PastAsk, Week

FINISH, CHANGE, ARRIVAL = range(3)


@dataclass(frozen=True, slots=True)
class Stretch:
    """An ask that ran: its number in the list of asks, and whether it was reclaimed."""

    ask: int
    started_s: int
    ended_s: int
    reclaimed: bool


@dataclass(frozen=True, slots=True)
class Rerun:
    stretches: tuple[Stretch, ...]
    held_milli_s: int
    lendable_milli_s: int
    lost_milli_s: int  # run again because no checkpoint held it
    unserved_milli_s: int  # wanted in the week, and not run when it ended


@dataclass(slots=True)
class _World:
    asks: list[PastAsk]
    left: list[int]  # seconds of work
    free: int = 0
    waiting: dict[int, list[int]] = field(default_factory=dict)  # by size: numbers of asks, a heap
    running: dict[int, int] = field(default_factory=dict)  # number -> started_s
    stretches: list[Stretch] = field(default_factory=list)
    lost: int = 0


def rerun(week: Week, asks: list[PastAsk], work_s: list[int]) -> Rerun:
    """``asks`` in line order, with the seconds that each wants at this price.  Hours that nobody saw lend nothing."""
    world = _World(asks, list(work_s))
    events = [(week.from_s + HOUR_S * h, CHANGE, h) for h in range(len(week.lendable_milli))]
    events += [(max(week.from_s, ask.asked_s), ARRIVAL, i) for i, ask in enumerate(asks) if ask.asked_s < week.to_s]
    heapq.heapify(events)
    room = 0
    while events and events[0][0] < week.to_s:
        at_s = events[0][0]
        while events and events[0][0] == at_s:
            _, kind, which = heapq.heappop(events)
            if kind == FINISH:
                _finish(world, which, at_s)
            elif kind == ARRIVAL:
                _queue(world, which)
            else:
                now = week.lendable_milli[which] or 0
                world.free, room = world.free + now - room, now
        _reclaim(world, at_s)
        for started in _start(world, at_s):
            heapq.heappush(events, (at_s + world.left[started], FINISH, started))
    for i in list(world.running):
        _stop(world, i, week.to_s, reclaimed=False)
    return _told(week, world)


def _queue(world: _World, i: int) -> None:
    heapq.heappush(world.waiting.setdefault(world.asks[i].gpu_milli, []), i)


def _finish(world: _World, i: int, at_s: int) -> None:
    """An end that was foreseen before a reclaim is none."""
    if i in world.running and at_s - world.running[i] >= world.left[i]:
        _stop(world, i, at_s, reclaimed=False)


def _stop(world: _World, i: int, at_s: int, *, reclaimed: bool) -> None:
    started = world.running.pop(i)
    world.free += world.asks[i].gpu_milli
    world.stretches.append(Stretch(i, started, at_s, reclaimed))
    world.left[i] -= at_s - started


def _start(world: _World, at_s: int) -> list[int]:
    """First come, first served, among those that fit."""
    started: list[int] = []
    while True:
        fitting = [line for size, line in world.waiting.items() if line and size <= world.free]
        if not fitting:
            return started
        i = heapq.heappop(min(fitting, key=lambda line: line[0]))
        world.free -= world.asks[i].gpu_milli
        world.running[i] = at_s
        started.append(i)


def _reclaim(world: _World, at_s: int) -> None:
    if world.free >= 0:
        return
    order = sorted(world.running, key=lambda i: (_guarded(world, i, at_s), _unsaved(world, i, at_s), -i))
    for i in order:
        if world.free >= 0:
            return
        again = _unsaved(world, i, at_s)
        _stop(world, i, at_s, reclaimed=True)
        world.lost += again
        world.left[i] += again // world.asks[i].gpu_milli
        _queue(world, i)


def _guarded(world: _World, i: int, at_s: int) -> bool:
    return at_s - world.running[i] < world.asks[i].guaranteed_s


def _unsaved(world: _World, i: int, at_s: int) -> int:
    """Thousandths of GPU-seconds that no checkpoint holds."""
    ran, ask = at_s - world.running[i], world.asks[i]
    return ask.gpu_milli * (ran % ask.checkpoint_s if ask.checkpoint_s else min(ran, ASSUMED_CHECKPOINT_S))


def _told(week: Week, world: _World) -> Rerun:
    asked = [i for i, ask in enumerate(world.asks) if ask.asked_s < week.to_s]
    return Rerun(
        stretches=tuple(world.stretches),
        held_milli_s=sum(world.asks[one.ask].gpu_milli * (one.ended_s - one.started_s) for one in world.stretches),
        lendable_milli_s=sum(milli or 0 for milli in week.lendable_milli) * HOUR_S,
        lost_milli_s=world.lost,
        unserved_milli_s=sum(world.asks[i].gpu_milli * max(0, world.left[i]) for i in asked),
    )
