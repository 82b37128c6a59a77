"""What LP leaves alone although it is free: quota, room for HP work to come, and sleepers who are about to be back."""

import math

from scheduler.replay import columns as c
from scheduler.replay.kernel import kernel
from scheduler.replay.losing import DEAR, foreseen, milli_of
from scheduler.replay.starting import notify


@kernel
def open_to(state, row, p):  # type: ignore[no-untyped-def]
    """The first job of the lane ``row`` may take devices of pool ``p`` that are nobody's: HP always."""
    if row[c.L_TIER] == c.HP:
        return True
    pool, need = state.pool[p], row[c.L_WORKERS] * row[c.L_GPUS] * row[c.L_MILLI]
    if not need:
        return True
    if pool[c.P_LP_HELD] - pool[c.P_BORROWED] + need > pool[c.P_CAP]:
        return False
    return not pool[c.P_KEEP] or pool[c.P_FREE] - need >= max(pool[c.P_LEAST], pool[c.P_KEEP] * _short(state, row))


@kernel
def _short(state, row):  # type: ignore[no-untyped-def]
    """Of what is kept for HP work to come the part that may come before the lane's first job says to end.

    HP work goes up and down like a walk at random, which is as far away as the root of the time.
    """
    asks = state.job[row[c.L_HEAD]]
    left = min(max(asks[c.J_ESTIMATE] - asks[c.J_SAVED], 0), state.setting[c.S_RESERVE])
    return math.sqrt(left / state.setting[c.S_RESERVE])


@kernel
def open_pools(state, row):  # type: ignore[no-untyped-def]
    found = 0
    for p in range(state.pool.shape[0]):
        if row[c.L_POOLS] >> p & 1 and open_to(state, row, p):
            found |= 1 << p
    return found


@kernel
def withheld(state, job, node):  # type: ignore[no-untyped-def]
    """Of LP: the node's pool is closed to it, or the node is one of the last whole ones that are kept."""
    asks, row = state.job[job], state.node[node]
    if asks[c.J_TIER] == c.HP or not asks[c.J_GPUS]:
        return False
    if not state.setting[c.S_OPEN] >> row[c.N_POOL] & 1:
        return True
    pool = state.pool[row[c.N_POOL]]
    if row[c.N_WHOLE] != pool[c.P_WIDE]:
        return False
    lane = state.lane[asks[c.J_LANE]]
    return pool[c.P_COUNT + pool[c.P_WIDE]] <= max(pool[c.P_CLEAR], int(pool[c.P_KEEP_NODES] * _short(state, lane)))


@kernel
def back_too_soon(state, job, node):  # type: ignore[no-untyped-def]
    """A sleeper on the node is back before the job can save anything; strictly: before the job says to end."""
    if not state.setting[c.S_WINDOWS] and not state.setting[c.S_STRICT]:
        return False
    back, follows = c.NO_LIMIT, state.node[node, c.N_FIRST]
    while follows != c.NONE:
        other = state.job[state.task[follows, c.T_JOB]]
        follows = state.task[follows, c.T_NEXT]
        if other[c.J_ASLEEP] == 1:
            back = min(back, other[c.J_UNTIL])
    asks = state.job[job]
    left = back - state.setting[c.S_AHEAD] - state.clock[c.C_NOW]
    if asks[c.J_ESTIMATE] - asks[c.J_SAVED] <= left:
        return False
    if state.setting[c.S_STRICT]:
        return True
    if asks[c.J_NOTICE]:
        return left < QUICK_S
    return not asks[c.J_CHECKPOINT] or asks[c.J_SILENT] or left < asks[c.J_CHECKPOINT] + QUICK_S


QUICK_S = 600  # of work that is worth a start


@kernel
def _leaving(state, pool):  # type: ignore[no-untyped-def]
    """Thousandths of the pool's own devices that those who were told to leave give back."""
    found = 0
    for node in range(state.pool[pool, c.P_LOW], state.pool[pool, c.P_HIGH]):
        follows = state.node[node, c.N_FIRST] if state.node[node, c.N_LP] else c.NONE
        while follows != c.NONE:
            other = state.job[state.task[follows, c.T_JOB]]
            if other[c.J_STATUS] == c.LEAVING and not state.task[follows, c.T_BORROWS]:
                found += other[c.J_GPUS] * other[c.J_MILLI]
            follows = state.task[follows, c.T_NEXT]
    return found


@kernel
def _may_go(state, task):  # type: ignore[no-untyped-def]
    other = state.job[state.task[task, c.T_JOB]]
    if other[c.J_TIER] != c.LP or other[c.J_STATUS] != c.RUNNING or not other[c.J_GPUS]:
        return False
    ran = state.clock[c.C_NOW] - other[c.J_STARTED]
    return state.task[task, c.T_MOVING] == c.NONE and ran >= state.setting[c.S_GUARANTEE]


@kernel
def _dearest_least(state, pool):  # type: ignore[no-untyped-def]
    """The LP job on own devices that loses least for each GPU that it gives back; NONE where nobody may go."""
    chosen, least = c.NONE, float(DEAR)
    for node in range(state.pool[pool, c.P_LOW], state.pool[pool, c.P_HIGH]):
        follows = state.node[node, c.N_FIRST] if state.node[node, c.N_LP] else c.NONE
        while follows != c.NONE:
            job = state.task[follows, c.T_JOB]
            if not state.task[follows, c.T_BORROWS] and _may_go(state, follows):
                each = foreseen(state, job) / milli_of(state.job[job])
                if each < least or (each == least and job < chosen):
                    chosen, least = job, each
            follows = state.task[follows, c.T_NEXT]
    return chosen


@kernel
def _clears(state, node):  # type: ignore[no-untyped-def]
    """(loss, whole already or soon): what it costs until nobody is on the node; DEAR where somebody stays."""
    total, follows, soon = 0, state.node[node, c.N_FIRST], True
    while follows != c.NONE:
        job = state.task[follows, c.T_JOB]
        if state.job[job, c.J_STATUS] != c.LEAVING:
            soon = False
            if not _may_go(state, follows):
                return DEAR, False
            total += foreseen(state, job)
        elif state.job[job, c.J_CLAIMANT] != c.NONE:
            return DEAR, False
        follows = state.task[follows, c.T_NEXT]
    return total, soon


@kernel
def _whole_soon(state, pool):  # type: ignore[no-untyped-def]
    """(whole nodes of the largest kind now and soon, the one that is cleared at least cost or NONE)."""
    count, chosen, least = 0, c.NONE, DEAR
    for node in range(state.pool[pool, c.P_LOW], state.pool[pool, c.P_HIGH]):
        row = state.node[node]
        if not row[c.N_UP] or row[c.N_GPUS] != state.pool[pool, c.P_WIDE] or row[c.N_HP]:
            continue
        cost, soon = _clears(state, node)
        count += soon
        if not soon and cost < least:
            chosen, least = node, cost
    return count, chosen


@kernel
def make_ready(state, pool):  # type: ignore[no-untyped-def]
    """Tell LP to leave, cheapest first, until what is kept for HP work to come is free, or soon is."""
    row = state.pool[pool]
    if row[c.P_LEAST] and row[c.P_FREE] < row[c.P_LEAST]:
        soon = row[c.P_FREE] + _leaving(state, pool)
        while soon < row[c.P_LEAST]:
            job = _dearest_least(state, pool)
            if job == c.NONE:
                break
            soon += milli_of(state.job[job])
            notify(state, job, c.NONE, c.BY_RESERVE)
    if not row[c.P_CLEAR] or row[c.P_COUNT + row[c.P_WIDE]] >= row[c.P_CLEAR]:
        return
    count, node = _whole_soon(state, pool)
    while count < row[c.P_CLEAR] and node != c.NONE:
        follows = state.node[node, c.N_FIRST]
        while follows != c.NONE:
            job = state.task[follows, c.T_JOB]
            if state.job[job, c.J_STATUS] == c.RUNNING:
                notify(state, job, c.NONE, c.BY_RESERVE)
            follows = state.task[follows, c.T_NEXT]
        count, node = _whole_soon(state, pool)
