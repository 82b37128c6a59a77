"""Where a gang goes, as ``placement.gang`` has it: the closest place that holds all, inside it with least entropy.

Levels of a replay are node, switch and pool.  Where entropy has no weight, workers go one by one to the best node.
"""

import numpy as np

from scheduler.placement.entropy import least_entropy
from scheduler.replay import columns as c
from scheduler.replay.kernel import foreign, kernel
from scheduler.replay.room import slots
from scheduler.replay.seating import (
    ANY_ASW,
    KNOWN_ASW,
    SEATED,
    barred,
    fill_up,
    most_evicted,
    put_back,
    rounded,
    score,
    take,
    why,
)

CANDIDATES = 8  # switches that are filled for a try
foreign(least_entropy)


@kernel
def seat(state, job, pools):  # type: ignore[no-untyped-def]
    """Seat all workers, or none.  SEATED, or the cause.  A gang stays in one of ``pools``."""
    asks = state.job[job]
    workers = asks[c.J_WORKERS]
    if workers == 1 and (asks[c.J_TOPOLOGY] != c.PREFERRED or not state.setting[c.S_ENTROPY]):
        done = fill_up(state, job, 0, 1, pools, KNOWN_ASW if asks[c.J_TOPOLOGY] == c.REQUIRED else ANY_ASW)
        return SEATED if done == 1 else why(state, job)
    for pool in range(state.pool.shape[0]):
        if not pools >> pool & 1:
            continue
        if state.setting[c.S_ENTROPY] and not _borrows_first(state, asks, pool) and _together(state, job, pool):
            return SEATED
        if state.setting[c.S_ENTROPY] and not _lends(state, asks, pool):
            continue  # all that is free has been asked for
        if asks[c.J_TOPOLOGY] == c.ANYWHERE:
            done = fill_up(state, job, 0, workers, 1 << pool, ANY_ASW)
        else:
            done = _by_switch(state, job, pool)
        if done == workers:
            return SEATED
        put_back(state, job, done)
    return why(state, job)


@kernel
def _lends(state, asks, pool):  # type: ignore[no-untyped-def]
    """LP may borrow there: devices, or cores alone."""
    if asks[c.J_TIER] != c.LP or not state.setting[c.S_LEND]:
        return False
    return not asks[c.J_GPUS] or state.pool[pool, c.P_LENDABLE] > 0


@kernel
def _borrows_first(state, asks, pool):  # type: ignore[no-untyped-def]
    """Node by node then, so that some of its workers may borrow."""
    return state.setting[c.S_BORROW_FIRST] and asks[c.J_GPUS] and _lends(state, asks, pool)


@kernel
def _together(state, job, pool):  # type: ignore[no-untyped-def]
    """Seat all workers in the closest place that holds them; False, and nothing changes, where none does."""
    asks, low = state.job[job], state.pool[pool, c.P_LOW]
    count = state.pool[pool, c.P_HIGH] - low
    room, key, total, labelled = np.zeros(count, np.int64), np.ones(count, np.int64), 0, False
    wide = state.pool[pool, c.P_WIDE]
    spare = state.pool[pool, c.P_COUNT + wide] - state.pool[pool, c.P_KEEP_NODES]
    for i in range(count):
        asw = state.node[low + i, c.N_ASW]
        labelled = labelled or asw != c.NONE
        if not barred(state, job, low + i) and (asks[c.J_TOPOLOGY] != c.REQUIRED or asw != c.NONE):
            room[i] = slots(
                state, low + i, asks[c.J_GPUS], asks[c.J_MILLI], asks[c.J_CPU], asks[c.J_MEMORY], state.left, 0
            )
            if room[i] and asks[c.J_TIER] == c.LP and asks[c.J_GPUS] and state.node[low + i, c.N_WHOLE] == wide:
                room[i] = room[i] if spare > 0 else 0  # of whole nodes LP takes no more than may go
                spare -= 1
            total += room[i]
    if total < asks[c.J_WORKERS]:
        return False
    most = most_evicted(state, 1 << pool)
    for i in range(count):
        if room[i]:
            key[i] = -rounded(score(state, job, low + i, most))
    turn, order = np.empty(count, np.int64), np.argsort(key, kind="mergesort")
    turn[order] = np.arange(count)
    if asks[c.J_TOPOLOGY] != c.PREFERRED or not labelled:
        node = _one_node(state, low, room, turn, asks[c.J_WORKERS])
        if node != c.NONE:
            for worker in range(asks[c.J_WORKERS]):
                take(state, job, worker, node, 0)
            return True
    asw = _one_switch(state, low, room, turn, key, asks[c.J_WORKERS])
    if asw != c.NONE:
        _spread_in(state, job, low, room, turn, asw, asks[c.J_WORKERS], 0)
    elif asks[c.J_TOPOLOGY] != c.REQUIRED:
        _spread_over(state, job, low, room, turn)
    else:
        return False
    return True


@kernel
def _untouched(state, node):  # type: ignore[no-untyped-def]
    return state.setting[c.S_KEEP_WHOLE] and state.node[node, c.N_TASKS] == 0


@kernel
def _one_node(state, low, room, turn, workers):  # type: ignore[no-untyped-def]
    chosen = c.NONE
    for i in range(room.size):
        if room[i] < workers:
            continue
        whole, other = _untouched(state, low + i), chosen != c.NONE and _untouched(state, chosen)
        if chosen == c.NONE or (other and not whole) or (other == whole and turn[i] < turn[chosen - low]):
            chosen = low + i
    return chosen


@kernel
def _one_switch(state, low, room, turn, key, workers):  # type: ignore[no-untyped-def]
    """Of the tightest switches that hold all, partly used ones first, the one with the best nodes; NONE: none does."""
    under, whole, first = _switches(state, low, room, turn)
    chosen, best_key = c.NONE, 0
    tried = np.zeros(under.size, np.bool_)
    for _ in range(CANDIDATES):
        asw = c.NONE
        for a in range(under.size):
            if tried[a] or under[a] < workers:
                continue
            if asw == c.NONE or _sooner(whole, under, first, a, asw):
                asw = a
        if asw == c.NONE or (chosen != c.NONE and whole[asw] and not whole[chosen]):
            break
        tried[asw] = True
        taken, total = _inside(state, low, room, turn, asw, workers), 0
        for i in range(room.size):
            total += taken[i] * key[i]
        if chosen == c.NONE or total < best_key:
            chosen, best_key = asw, total
    return chosen


@kernel
def _sooner(whole, under, first, one, other):  # type: ignore[no-untyped-def]
    if whole[one] != whole[other]:
        return not whole[one]
    if under[one] != under[other]:
        return under[one] < under[other]
    return first[one] < first[other]


@kernel
def _switches(state, low, room, turn):  # type: ignore[no-untyped-def]
    """([a] workers that it holds, [a] nobody works there, [a] the turn of its best node)."""
    switches = 0
    for i in range(room.size):
        switches = max(switches, state.node[low + i, c.N_ASW] + 1)
    under, whole = np.zeros(switches, np.int64), np.ones(switches, np.bool_)
    first = np.full(switches, room.size)
    for i in range(room.size):
        asw = state.node[low + i, c.N_ASW]
        if asw != c.NONE:
            under[asw] += room[i]
            first[asw] = min(first[asw], turn[i])
            whole[asw] = whole[asw] and _untouched(state, low + i)
    return under, whole, first


@kernel
def _inside(state, low, room, turn, asw, wanted):  # type: ignore[no-untyped-def]
    """[i] workers on each node of one switch, with least entropy over its nodes."""
    here = np.zeros(room.size, np.int64)
    whole = np.zeros(room.size, np.bool_)
    for i in range(room.size):
        if state.node[low + i, c.N_ASW] == asw:
            here[i] = room[i]
        whole[i] = _untouched(state, low + i)
    return least_entropy(here, whole, turn, wanted)


@kernel
def _spread_in(state, job, low, room, turn, asw, wanted, worker):  # type: ignore[no-untyped-def]
    """Seat ``wanted`` workers under the switch; the number of the next one."""
    taken = _inside(state, low, room, turn, asw, wanted)
    for i in range(room.size):
        for _ in range(taken[i]):
            take(state, job, worker, low + i, 0)
            worker += 1
    return worker


@kernel
def _spread_over(state, job, low, room, turn):  # type: ignore[no-untyped-def]
    """Seat all workers with least entropy over switches; a node without a known one is a place of its own."""
    under, whole, first = _switches(state, low, room, turn)
    switches, count = under.size, room.size
    places = np.zeros(switches + count, np.int64)
    kept, rank = np.zeros(switches + count, np.bool_), np.full(switches + count, count)
    places[:switches], kept[:switches], rank[:switches] = under, whole, first
    for i in range(count):
        if state.node[low + i, c.N_ASW] == c.NONE:
            places[switches + i], rank[switches + i] = room[i], turn[i]
            kept[switches + i] = _untouched(state, low + i)
    taken, worker = least_entropy(places, kept, rank, state.job[job, c.J_WORKERS]), 0
    for asw in range(switches):
        if taken[asw]:
            worker = _spread_in(state, job, low, room, turn, asw, taken[asw], worker)
    for i in range(count):
        for _ in range(taken[switches + i]):
            take(state, job, worker, low + i, 0)
            worker += 1


@kernel
def _by_switch(state, job, pool):  # type: ignore[no-untyped-def]
    """Under one switch that holds it with the least to spare; else, where that is not required, under as few as can be.

    The paper's greedy choice: the switch that can hold most of what is left gives the lowest entropy.
    """
    asks, done = state.job[job], 0
    while done < asks[c.J_WORKERS]:
        asw, room = _switch(state, job, pool, asks[c.J_WORKERS] - done)
        if asw == c.NONE or (room < asks[c.J_WORKERS] and asks[c.J_TOPOLOGY] == c.REQUIRED):
            break
        fresh = fill_up(state, job, done, min(asks[c.J_WORKERS], done + room), 1 << pool, asw)
        if fresh == done:
            break
        done = fresh
    if asks[c.J_TOPOLOGY] == c.PREFERRED:
        return fill_up(state, job, done, asks[c.J_WORKERS], 1 << pool, ANY_ASW)
    return done


@kernel
def _switch(state, job, pool, need):  # type: ignore[no-untyped-def]
    """(switch, room): the least room that is enough, else the most; unlabelled nodes share no switch."""
    asks, room = state.job[job], state.scratch[2]
    room[:] = 0
    for node in range(state.pool[pool, c.P_LOW], state.pool[pool, c.P_HIGH]):
        asw = state.node[node, c.N_ASW]
        if asw != c.NONE and not barred(state, job, node):
            room[asw] += slots(
                state, node, asks[c.J_GPUS], asks[c.J_MILLI], asks[c.J_CPU], asks[c.J_MEMORY], state.left, 0
            )
    chosen = c.NONE
    for asw in range(room.size):
        if not room[asw]:
            continue
        better = chosen == c.NONE or (
            room[asw] < room[chosen] if room[asw] >= need and room[chosen] >= need else room[asw] > room[chosen]
        )
        chosen = asw if better else chosen
    return chosen, room[chosen] if chosen != c.NONE else 0
