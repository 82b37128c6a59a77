"""Where a worker goes: filter, then score by small named terms; and why a job found no room."""

import math

from scheduler.replay import columns as c
from scheduler.replay.kernel import kernel, pasted
from scheduler.replay.room import delist, devices_of, enlist, shift, slots
from scheduler.replay.withheld import back_too_soon, open_to, withheld

ANY_ASW, KNOWN_ASW = -2, -3  # instead of a switch: any node; any with a known switch
GROWTH_BITS = 24
SEATED = -1  # instead of a cause
HALVED_S = 86_400  # evictions of a node count half after so long
LOOKED_UP_S = 3600
SHORT_S = 600.0  # ends that are this close together are together


@kernel
def enough(state, lane):  # type: ignore[no-untyped-def]
    """A cheap look at the pools' sums: False where the first job of the lane cannot fit in any of them as it is."""
    row = state.lane[lane]
    gpus, workers = row[c.L_GPUS], row[c.L_WORKERS]
    for p in range(state.pool.shape[0]):
        if not row[c.L_POOLS] >> p & 1:
            continue
        pool = state.pool[p]
        if gpus == 0:
            return True
        if row[c.L_TIER] == c.LP and state.setting[c.S_LEND] and pool[c.P_LENDABLE] >= workers * gpus * row[c.L_MILLI]:
            return True
        if not open_to(state, row, p):
            continue
        if row[c.L_MILLI] < c.WHOLE:
            if pool[c.P_FREE] >= workers * gpus * row[c.L_MILLI]:
                return True
            continue
        places = 0
        for whole in range(gpus, state.left.shape[1] + 1):
            places += pool[c.P_COUNT + whole] * (whole // gpus)
            if places >= workers:
                return True
    return False


@kernel
def barred(state, job, node):  # type: ignore[no-untyped-def]
    """Withheld from LP, or reserved."""
    return withheld(state, job, node) or reserved(state, job, node)


@kernel
def reserved(state, job, node):  # type: ignore[no-untyped-def]
    """Held for somebody else, who is to start before this job says that it ends."""
    holder = state.node[node, c.N_HELD]
    if holder == c.NONE or holder == job:
        return False
    asks = state.job[job]
    until = state.pool[state.node[node, c.N_POOL], c.P_HELD_UNTIL]
    return state.clock[c.C_NOW] + asks[c.J_ESTIMATE] - asks[c.J_SAVED] > until


@kernel
def indebted(state, node):  # type: ignore[no-untyped-def]
    """More is promised than there is, until somebody has left or woken: nobody may borrow there."""
    for device in range(state.node[node, c.N_GPUS]):
        if state.left[node, device] < 0:
            return True
    return state.node[node, c.N_CPU] < 0


@kernel
def evicted(state, node):  # type: ignore[no-untyped-def]
    """Thousandths of evictions here, halved every day."""
    row = state.node[node]
    return row[c.N_EVICTED] >> min(40, (state.clock[c.C_NOW] - row[c.N_EVICTED_AT]) // HALVED_S)


@kernel
def most_evicted(state, pools):  # type: ignore[no-untyped-def]
    """Of all nodes of the pools; looked up anew every hour."""
    most, now = 0, state.clock[c.C_NOW]
    for p in range(state.pool.shape[0]):
        if not pools >> p & 1 or not state.clock[c.C_EVICTIONS] or not state.weights[c.W_EVICTIONS]:
            continue
        pool = state.pool[p]
        if now - pool[c.P_EVICTED_AT] >= LOOKED_UP_S or not pool[c.P_EVICTED_AT]:
            pool[c.P_EVICTED], pool[c.P_EVICTED_AT] = 0, now
            for node in range(pool[c.P_LOW], pool[c.P_HIGH]):
                pool[c.P_EVICTED] = max(pool[c.P_EVICTED], evicted(state, node))
        most = max(most, pool[c.P_EVICTED])
    return most


@kernel
def score(state, job, node, most):  # type: ignore[no-untyped-def]
    """The weighted mean of the terms that are known, each from 0 to 1, as in ``placement.scores``."""
    asks, row, weights = state.job[job], state.node[node], state.weights
    lp, milli = asks[c.J_TIER] == c.LP, asks[c.J_GPUS] * asks[c.J_MILLI]
    left = (row[c.N_FREE] - milli) / (max(row[c.N_GPUS], 1) * c.WHOLE)
    points, total = weights[c.W_PACKING] * (1.0 - min(max(left, 0.0), 1.0)), weights[c.W_PACKING]
    held = row[c.N_HP] + row[c.N_LP]
    if held:
        points += weights[c.W_SAME_CLASS] * (row[c.N_LP] if lp else row[c.N_HP]) / held
        total += weights[c.W_SAME_CLASS]
    if weights[c.W_EVICTIONS]:
        seen = min(1.0, evicted(state, node) / most) if most > 0 else 0.5
        points += weights[c.W_EVICTIONS] * (1.0 - seen if lp else seen)
        total += weights[c.W_EVICTIONS]
    if weights[c.W_GRADIENT] and milli and state.mix.shape[0]:
        grows = growth(state, job, node)
        points += weights[c.W_GRADIENT] * min(max(0.5 - grows / (2.0 * milli), 0.0), 1.0)
        total += weights[c.W_GRADIENT]
    if weights[c.W_TOGETHER] and row[c.N_TASKS]:
        ours, theirs = asks[c.J_ESTIMATE] - asks[c.J_SAVED], row[c.N_UNTIL] - state.clock[c.C_NOW]
        apart = abs(math.log2((max(ours, 0) + SHORT_S) / (max(theirs, 0) + SHORT_S)))
        points += weights[c.W_TOGETHER] / (1.0 + apart)
        total += weights[c.W_TOGETHER]
    return points / total if total else 0.5


@pasted
def under(known, asw):  # type: ignore[no-untyped-def]
    return asw == ANY_ASW or known == asw or (asw == KNOWN_ASW and known != c.NONE)


@pasted
def rounded(points):  # type: ignore[no-untyped-def]
    """Scores are compared in billionths, as ``placement.planner`` does."""
    return int(points * 1e9 + 0.5)


@kernel
def growth(state, job, node):  # type: ignore[no-untyped-def]
    """``_grown`` in whole thousandths, kept until something changes on the node."""
    kind, version = state.lane[state.job[job, c.J_LANE], c.L_KIND], state.node[node, c.N_VERSION]
    if kind == c.NONE:
        return int(_grown(state, job, node))
    word = state.kept[kind, node]
    if word >> GROWTH_BITS != version + 1:
        word = ((version + 1) << GROWTH_BITS) + int(_grown(state, job, node)) + (1 << (GROWTH_BITS - 1))
        state.kept[kind, node] = word
    return (word & ((1 << GROWTH_BITS) - 1)) - (1 << (GROWTH_BITS - 1))


@kernel
def _grown(state, job, node):  # type: ignore[no-untyped-def]
    """By how many thousandths the node's fragment grows, F_n(M) after less before (Weng et al., ATC '23)."""
    asks, row = state.job[job], state.node[node]
    work, count = state.scratch[1], row[c.N_GPUS]
    work[:count] = state.left[node, :count]
    before = fragment(state, work, count, row[c.N_CPU], row[c.N_POOL])
    devices = devices_of(state.left, node, count, asks[c.J_GPUS], asks[c.J_MILLI])
    for device in range(count):
        if devices >> device & 1:
            work[device] -= asks[c.J_MILLI]
    return fragment(state, work, count, row[c.N_CPU] - asks[c.J_CPU], row[c.N_POOL]) - before


@kernel
def fragment(state, left, count, cpu, pool):  # type: ignore[no-untyped-def]
    """Thousandths on devices ``left[:count]`` that a request drawn from the mix cannot use."""
    idle, lost, total = 0, 0.0, 0
    for device in range(count):
        idle += max(left[device], 0)
    if not idle:
        return 0.0
    for m in range(state.mix.shape[0]):
        shape = state.mix[m]
        total += shape[4]
        fits, small = 0, 0
        if shape[1] and cpu >= shape[0] and shape[3] >> pool & 1:
            for device in range(count):
                if left[device] >= shape[2]:
                    fits += 1
                else:
                    small += max(left[device], 0)
        lost += shape[4] * (small if shape[1] and fits >= shape[1] else idle)
    return lost / total if total else 0.0


@kernel
def best(state, job, pools, asw, lends):  # type: ignore[no-untyped-def]
    """The node with the highest score for one worker, of equal ones the first; NONE where no node fits.

    Where whole nodes are kept, one on which somebody works comes before all on which nobody does.
    """
    asks, chosen, highest, opened = state.job[job], c.NONE, -1, False
    gpus, milli, table = asks[c.J_GPUS], asks[c.J_MILLI], state.lent if lends else state.left
    most = most_evicted(state, pools)
    for p in range(state.pool.shape[0]):
        if not pools >> p & 1:
            continue
        for node in range(state.pool[p, c.P_LOW], state.pool[p, c.P_HIGH]):
            row = state.node[node]
            if not lends and gpus and (row[c.N_WHOLE] < gpus if milli == c.WHOLE else row[c.N_FREE] < gpus * milli):
                continue
            if row[c.N_MEMORY] < asks[c.J_MEMORY] or not under(row[c.N_ASW], asw):
                continue
            if not slots(state, node, gpus, milli, asks[c.J_CPU], asks[c.J_MEMORY], table, lends):
                continue
            if reserved(state, job, node) or (not lends and withheld(state, job, node)):
                continue
            if lends and (indebted(state, node) or back_too_soon(state, job, node)):
                continue
            touched = row[c.N_TASKS] > 0 or not state.setting[c.S_KEEP_WHOLE]
            if opened and not touched:
                continue
            points = rounded(score(state, job, node, most))
            if points > highest or (touched and not opened):
                chosen, highest, opened = node, points, touched
    return chosen


@kernel
def take(state, job, worker, node, lends):  # type: ignore[no-untyped-def]
    asks, table = state.job[job], state.lent if lends else state.left
    devices = devices_of(table, node, state.node[node, c.N_GPUS], asks[c.J_GPUS], asks[c.J_MILLI])
    shift(state, job, node, devices, -1, lends)
    enlist(state, asks[c.J_TASK] + worker, node, devices, lends)


@kernel
def put_back(state, job, workers):  # type: ignore[no-untyped-def]
    """Undo ``take`` for the first ``workers``."""
    for task in range(state.job[job, c.J_TASK], state.job[job, c.J_TASK] + workers):
        one = state.task[task]
        shift(state, job, one[c.T_NODE], one[c.T_DEVICES], 1, one[c.T_BORROWS])
        delist(state, task)


@kernel
def fill_up(state, job, start, upto, pools, asw):  # type: ignore[no-untyped-def]
    """Seat workers ``start`` to ``upto`` one by one; how many have seats then."""
    lends = state.job[job, c.J_TIER] == c.LP and state.setting[c.S_LEND]
    first = lends and state.setting[c.S_BORROW_FIRST]
    for worker in range(start, upto):
        if first:  # sleepers who are back after the job has ended: no HP work to come needs their devices
            state.setting[c.S_STRICT] = 1
            node = best(state, job, pools, asw, 1)
            state.setting[c.S_STRICT] = 0
            if node != c.NONE:
                take(state, job, worker, node, 1)
                continue
        node = best(state, job, pools, asw, 0)
        if node != c.NONE:
            take(state, job, worker, node, 0)
            continue
        node = best(state, job, pools, asw, 1) if lends else c.NONE
        if node == c.NONE:
            return worker
        take(state, job, worker, node, 1)
    return upto


@kernel
def why(state, job):  # type: ignore[no-untyped-def]
    """Why it found no room: others hold a reservation, its switch is missing, or as ``short`` says."""
    asks = state.job[job]
    required, held = asks[c.J_TOPOLOGY] == c.REQUIRED, False
    for pool in range(state.pool.shape[0]):
        if asks[c.J_POOLS] >> pool & 1:
            held = held or (state.pool[pool, c.P_HOLDER] != c.NONE and state.pool[pool, c.P_HOLDER] != job)
    for pool in range(state.pool.shape[0] if required or held else 0):
        if not asks[c.J_POOLS] >> pool & 1:
            continue
        mine, everybody = 0, 0
        for node in range(state.pool[pool, c.P_LOW], state.pool[pool, c.P_HIGH]):
            room = slots(state, node, asks[c.J_GPUS], asks[c.J_MILLI], asks[c.J_CPU], asks[c.J_MEMORY], state.left, 0)
            everybody += room
            mine += 0 if barred(state, job, node) else room
        if everybody >= asks[c.J_WORKERS]:
            return c.BY_TOPOLOGY if required and mine >= asks[c.J_WORKERS] else c.BY_ORDER
    return short(state, state.lane[asks[c.J_LANE]])


@kernel
def short(state, row):  # type: ignore[no-untyped-def]
    """Enough is free in sum and in pieces, or too little even in sum: of GPUs, CPU or memory.  ``row``: of its lane."""
    free, cpu, memory = 0, 0, 0
    for p in range(state.pool.shape[0]):
        pool = state.pool[p]
        if row[c.L_POOLS] >> p & 1:
            free += pool[c.P_WHOLE] * c.WHOLE if row[c.L_MILLI] == c.WHOLE else pool[c.P_FREE]
            cpu += pool[c.P_CPU]
            memory += pool[c.P_MEMORY]
    workers = row[c.L_WORKERS]
    if workers * row[c.L_GPUS] * row[c.L_MILLI] > free or workers * row[c.L_CPU] > cpu:
        return c.BY_CAPACITY
    return c.BY_CAPACITY if workers * row[c.L_MEMORY] > memory else c.BY_FRAGMENTATION
