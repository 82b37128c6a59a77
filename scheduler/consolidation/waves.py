"""Make before break: the earliest legal wave of every move.

The search's log is legal one move after the other.  Here the moves of one wave run together: every new copy stands on
its target while every old copy still stands on its source.  A copy is a row of its own; the original row leaves the
source when its wave ends.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scheduler.cluster import budgets
from scheduler.cluster.mobility import gang_spare
from scheduler.cluster.snapshot import MOVE_RESTART, UNKNOWN, Longs, Snapshot
from scheduler.consolidation.columns import (
    L_PARENT,
    L_POD,
    L_SOURCE,
    L_TARGET,
    NONE,
    P_MOVED,
    P_NODE,
    P_STEADY,
    POD_COLUMNS,
    Arena,
)
from scheduler.consolidation.kernel import edition, entry, pasted
from scheduler.consolidation.room import fits, place, remove

Allowed = tuple[Longs, Longs, Longs]  # left, start, entries of an Allowance
Gone = tuple[Longs, Longs]  # departures: the next one of the same node [i], the last one of each node [n]
Out = tuple[Longs, Longs, Longs, Longs, Longs]  # wave, first and number of the entries of after [i]; after; its length
LATE = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Allowance:
    """Moves that one wave may hold.  Axes: b disruption budget or gang, p pod."""

    left: Longs  # [b]
    start: Longs  # [p + 1]
    entries: Longs  # budgets of each pod


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Axis i: moves of the log."""

    wave: Longs  # [i] LATE where the move found none
    after: list[list[int]]  # [i] moves of earlier waves whose departure made the room, ascending


def allowance(snapshot: Snapshot) -> Allowance:
    """Budgets for every move of their pods; for pods that are stopped first, also what their gang can spare."""
    covered = budgets.covered(snapshot)
    left = np.concatenate([budgets.left(snapshot, covered), gang_spare(snapshot)])
    stopped = snapshot.pod_live & (snapshot.pod_move == MOVE_RESTART) & (snapshot.pod_gang != UNKNOWN)
    stops = np.flatnonzero(stopped)
    pods = np.concatenate([*covered, stops]).astype(np.int64)
    owner = np.repeat(np.arange(len(covered)), [len(rows) for rows in covered])
    owner = np.concatenate([owner, snapshot.pod_gang[stops] + len(covered)])
    order = np.argsort(pods, kind="stable")
    start = np.searchsorted(pods[order], np.arange(len(snapshot.pod_name) + 1))
    return Allowance(np.maximum(left, 0), start.astype(np.int64), owner[order].astype(np.int64))


@pasted
def affordable(left: Longs, start: Longs, entries: Longs, p: int) -> bool:
    spent = 0
    for i in range(start[p], start[p + 1]):
        spent += left[entries[i]] <= 0
    return spent == 0


@pasted
def made_by(a: Arena, i: int, gone: Longs, first_gone: Longs, after: Longs, count: int) -> int:
    """Write to ``after`` the fewest earlier departures from the target without which move ``i`` has no room.

    ``gone`` chains the departures of each node.  Each one comes back for a moment; those that leave room stay so, and
    the others are needed, as are those that the search made for this very pod.  Returns their number.
    """
    p, t = a.log[i, L_POD], a.log[i, L_TARGET]
    first, j = count, first_gone[t]
    while j != NONE:
        q = a.log[j, L_POD]
        place(a, q, t)
        if a.log[j, L_PARENT] == p or not fits(a, p, t):
            remove(a, q)
            after[count] = j
            count += 1
        j = gone[j]
    j = first_gone[t]
    while j != NONE:
        if a.pod[a.log[j, L_POD], P_NODE] == t:
            remove(a, a.log[j, L_POD])
        j = gone[j]
    return count - first


@pasted
def start_move(a: Arena, i: int, copy: int) -> None:
    p = a.log[i, L_POD]
    for column in range(POD_COLUMNS):
        a.pod[copy, column] = a.pod[p, column]
    a.pod[copy, P_MOVED], a.pod[copy, P_STEADY], a.pod[p, P_STEADY] = 1, 0, 0
    place(a, copy, a.log[i, L_TARGET])


@pasted
def end_wave(a: Arena, moves: Longs, gone: Gone, waiting: Longs, parent: Longs) -> None:
    """The old copies of the wave's moves leave; the new ones stand."""
    copies = len(a.pod) - len(parent)
    for i in moves:
        source = a.log[i, L_SOURCE]
        remove(a, a.log[i, L_POD])
        a.pod[copies + i, P_STEADY] = 1
        gone[0][i], gone[1][source] = gone[1][source], i
        if parent[i] != NONE:
            waiting[parent[i]] -= 1


@pasted
def run_wave(
    a: Arena, pending: Longs, turn: int, blocked: Longs, waiting: Longs, allowed: Allowed, gone: Gone, out: Out
) -> int:
    """Start the moves that may go now and compact the others to the front of ``pending``; returns their number."""
    left, start, entries = allowed
    wave, first, number, after, count = out
    copies, budget, stays = len(a.pod) - len(wave), left.copy(), 0
    for i in pending:
        p, t = a.log[i, L_POD], a.log[i, L_TARGET]
        free = blocked[t] != turn and waiting[i] == 0 and affordable(budget, start, entries, p)
        if not free or not fits(a, p, t):
            blocked[t] = turn
            pending[stays] = i
            stays += 1
            continue
        number[i] = made_by(a, i, gone[0], gone[1], after, count[0])
        first[i], count[0] = count[0], count[0] + number[i]
        start_move(a, i, copies + i)
        for k in range(start[p], start[p + 1]):
            budget[entries[k]] -= 1
        wave[i] = turn
    return stays


def _assign_entry(stamp: int) -> Callable[..., int]:
    @entry
    def assign(a: Arena, parent: Longs, allowed: Allowed, out: Out) -> int:
        """Fill ``out``; returns how many moves found no wave.

        ``parent`` [i] is the move that move i makes room for.  Arrivals of one node keep their order, so the first
        move that waits can always go once the wave ends: waiting never locks up.
        """
        wave, moves = out[0], len(parent)
        gone = np.full(moves, NONE, np.int64), np.full(len(a.node), NONE, np.int64)
        blocked, waiting = np.full(len(a.node), NONE, np.int64), np.zeros(moves, np.int64)
        for i in range(moves):
            if parent[i] != NONE:
                waiting[parent[i]] += 1
        pending, turn, left = np.arange(moves), 0, moves
        while left > 0 and stamp >= 0:
            stays = run_wave(a, pending[:left], turn, blocked, waiting, allowed, gone, out)
            if stays == left:
                break
            end_wave(a, np.flatnonzero(wave == turn), gone, waiting, parent)
            left, turn = stays, turn + 1
        return left

    return assign


assign = _assign_entry(edition("room", "waves"))


def schedule(a: Arena, moves: int, allowed: Allowance) -> Schedule:
    """Waves of the first ``moves`` rows of the log.  The tables stand as before the plan and are left so."""
    log = a.log[:moves]
    row_of = np.full(len(a.pod) + 1, NONE, np.int64)
    row_of[log[:, L_POD]] = np.arange(moves)
    arrivals, departures = (np.bincount(log[:, column], minlength=len(a.node)) for column in (L_TARGET, L_SOURCE))
    wave, first, number = np.full(moves, LATE), np.zeros(moves, np.int64), np.zeros(moves, np.int64)
    after = np.zeros(int((arrivals * departures).sum()) + moves + 1, np.int64)
    rows = np.concatenate([np.arange(len(a.pod)), log[:, L_POD]])
    copy = a._replace(pod=a.pod.take(rows, axis=0), node=a.node.copy(), slices=a.slices.copy())
    out = wave, first, number, after, np.zeros(1, np.int64)
    assign(copy, row_of[log[:, L_PARENT]], (allowed.left, allowed.start, allowed.entries), out)
    lists = [sorted(after[f : f + n].tolist()) for f, n in zip(first.tolist(), number.tolist(), strict=True)]
    return Schedule(wave, lists)
