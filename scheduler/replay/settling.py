"""Who starts now: the waiting jobs of one pool, by the policy's order, HP before LP."""

from scheduler.replay import columns as c
from scheduler.replay.events import push
from scheduler.replay.gangs import seat
from scheduler.replay.kernel import kernel, pasted
from scheduler.replay.lanes import blame, leave
from scheduler.replay.losing import NOBODY
from scheduler.replay.preempting import preempt
from scheduler.replay.quota import share, within
from scheduler.replay.room import slots, touch
from scheduler.replay.seating import SEATED, enough, short
from scheduler.replay.starting import begin
from scheduler.replay.withheld import make_ready, open_pools

FIFO, GREEDY, FAIR, LARGE, BACKFILL = 0, 1, 2, 3, 4
FAR = 1 << 61
KEPT_S = 3600  # a reservation stands for at least so long before it is made anew
ASKED_AGAIN_S = 1200  # after which a lane asks anew whether LP may leave for it


@kernel
def settle(state, pool):  # type: ignore[no-untyped-def]
    """Start what can start in ``pool``.  With order FIFO nobody passes the first one of his class that cannot."""
    _expire(state, pool)
    for tier in (c.HP, c.LP):
        lanes, count = state.scratch[0], 0
        for at in range(state.clock[c.C_ACTIVE]):
            lane = state.active[at]
            row = state.lane[lane]
            if row[c.L_TIER] == tier and row[c.L_POOLS] >> pool & 1:
                lanes[count] = lane
                count += 1
        if state.setting[c.S_ORDER] != FIFO:
            count = _sift(state, pool, lanes, count)
        while count:
            at = _next(state, lanes, count)
            lane = lanes[at]
            cause = attempt(state, lane)
            if cause == SEATED and state.lane[lane, c.L_COUNT]:
                continue
            lanes[at] = lanes[count - 1]
            count -= 1
            if cause != SEATED:
                blame(state, lane, cause)
                state.lane[lane, c.L_SEEN] = 0 if cause == c.BY_QUOTA else state.pool[pool, c.P_GIVEN]
                if state.setting[c.S_ORDER] == FIFO:
                    break
        if tier == c.HP:
            make_ready(state, pool)


@kernel
def _sift(state, pool, lanes, count):  # type: ignore[no-untyped-def]
    """Leave out lanes whose jobs find no room at a first look, unless somebody might leave for them."""
    kept = 0
    for at in range(count):
        lane = lanes[at]
        row = state.lane[lane]
        new = _something_new(state, pool, row)
        if (new and enough(state, lane)) or _may_preempt(state, row):
            lanes[kept] = lane
            kept += 1
        else:
            if not within(state, row[c.L_HEAD]):
                blame(state, lane, c.BY_QUOTA)
            elif new or (row[c.L_CAUSE] != c.BY_TOPOLOGY and row[c.L_CAUSE] != c.BY_ORDER):
                blame(state, lane, short(state, row))
            if state.setting[c.S_ORDER] == BACKFILL:
                _reserve(state, row[c.L_HEAD])
    return kept


@kernel
def _something_new(state, pool, row):  # type: ignore[no-untyped-def]
    """False where the lane found no room before and none of the nodes that gave something back since can run it."""
    given = state.pool[pool, c.P_GIVEN]
    since = given - row[c.L_SEEN]
    if not row[c.L_SEEN] or since > c.RING or row[c.L_POOLS] != 1 << pool:
        return True
    if row[c.L_TIER] == c.LP and (state.pool[pool, c.P_KEEP] or state.pool[pool, c.P_CAP] != c.NO_LIMIT):
        return True  # what kept it out need not have been the nodes
    lends = row[c.L_TIER] == c.LP and state.setting[c.S_LEND]
    for back in range(1, since + 1):
        node = state.pool[pool, c.P_RING + (given - back) % c.RING]
        asks = (row[c.L_GPUS], row[c.L_MILLI], row[c.L_CPU], row[c.L_MEMORY])
        if slots(state, node, asks[0], asks[1], asks[2], asks[3], state.left, 0):
            return True
        if lends and slots(state, node, asks[0], asks[1], asks[2], asks[3], state.lent, 1):
            return True
    return False


@kernel
def _may_preempt(state, row):  # type: ignore[no-untyped-def]
    """HP, LP runs there, and the last time that nobody could leave for this lane is a while ago."""
    reclaims = state.setting[c.S_RECLAIM] and state.setting[c.S_QUOTA]
    if row[c.L_TIER] != c.HP or (state.setting[c.S_PREEMPT] == NOBODY and not reclaims):
        return False
    late = state.clock[c.C_NOW] - row[c.L_TRIED] >= ASKED_AGAIN_S or not row[c.L_TRIED]
    return late and _lp_runs(state, row[c.L_POOLS])


@kernel
def _lp_runs(state, pools):  # type: ignore[no-untyped-def]
    for pool in range(state.pool.shape[0]):
        if pools >> pool & 1 and state.pool[pool, c.P_LP_HELD] > state.pool[pool, c.P_BORROWED]:
            return True
    return False


@kernel
def _next(state, lanes, count):  # type: ignore[no-untyped-def]
    """Place of the lane whose first job comes first."""
    chosen, order = 0, state.setting[c.S_ORDER]
    for at in range(1, count):
        ours, theirs = state.lane[lanes[chosen]], state.lane[lanes[at]]
        less = False
        if order == FAIR:
            one, other = share(state, ours[c.L_TENANT]), share(state, theirs[c.L_TENANT])
            if one != other:
                chosen = at if other < one else chosen
                continue
        elif order == LARGE:
            one, other = ours[c.L_GPUS] * ours[c.L_MILLI], theirs[c.L_GPUS] * theirs[c.L_MILLI]
            if one != other:
                chosen = at if other > one else chosen
                continue
        less = theirs[c.L_HEAD] < ours[c.L_HEAD]
        if state.setting[c.S_SHORT_FIRST] and ours[c.L_TIER] == c.LP:
            one, other = _said(state, ours[c.L_HEAD]), _said(state, theirs[c.L_HEAD])
            less = other < one or (other == one and less)
        chosen = at if less else chosen
    return chosen


@kernel
def _said(state, job):  # type: ignore[no-untyped-def]
    """GPU time that the job says it still needs."""
    return (state.job[job, c.J_ESTIMATE] - state.job[job, c.J_SAVED]) * state.job[job, c.J_WORKERS]


@pasted
def attempt(state, lane):  # type: ignore[no-untyped-def]
    """SEATED, and the lane's first job runs or waits for those who leave; else what kept it."""
    job = state.lane[lane, c.L_HEAD]
    pools = within(state, job)
    cause = c.BY_QUOTA
    state.setting[c.S_OPEN] = open_pools(state, state.lane[lane])
    if pools:
        cause = seat(state, job, pools) if enough(state, lane) else short(state, state.lane[lane])
    preempts = pools and _may_preempt(state, state.lane[lane])
    if cause == SEATED:
        leave(state, lane)
        _give_up(state, job)
        begin(state, job)
    elif preempts and preempt(state, job, pools):
        _told(state, lane, job)
        cause = SEATED
    elif preempts:
        state.lane[lane, c.L_TRIED] = max(1, state.clock[c.C_NOW])
        _look_again(state, job)
    if cause != SEATED and pools and state.setting[c.S_ORDER] == BACKFILL:
        _reserve(state, job)
    return cause


@kernel
def _look_again(state, job):  # type: ignore[no-untyped-def]
    """Who is left alone for a time now may be told to leave later, although nothing else happens."""
    if not state.setting[c.S_GUARANTEE] and not state.setting[c.S_BORROWED]:
        return
    at = state.clock[c.C_NOW] + ASKED_AGAIN_S
    for pool in range(state.pool.shape[0]):
        if state.job[job, c.J_POOLS] >> pool & 1 and state.pool[pool, c.P_LOOK] <= state.clock[c.C_NOW]:
            state.pool[pool, c.P_LOOK] = at
            push(state, at, c.LOOK, pool, 0)


@kernel
def _told(state, lane, job):  # type: ignore[no-untyped-def]
    """Leave the queue although it may not run yet: its status and the start of its wait are those of the claim."""
    status, queued = state.job[job, c.J_STATUS], state.clock[c.C_NOW]
    leave(state, lane)
    state.job[job, c.J_STATUS], state.job[job, c.J_QUEUED] = status, queued
    _give_up(state, job)


# Reservations: one per pool, for the first job that asks for many GPUs and cannot start


@kernel
def _expire(state, pool):  # type: ignore[no-untyped-def]
    """A reservation whose time has passed is made anew: those who hold its nodes ran longer than they had said."""
    row = state.pool[pool]
    if row[c.P_HOLDER] != c.NONE and state.clock[c.C_NOW] > row[c.P_HELD_UNTIL]:
        _free(state, pool)


@kernel
def _free(state, pool):  # type: ignore[no-untyped-def]
    state.pool[pool, c.P_HOLDER] = c.NONE
    state.pool[pool, c.P_GIVEN] += c.RING + 1  # everybody looks everywhere again
    for node in range(state.pool[pool, c.P_LOW], state.pool[pool, c.P_HIGH]):
        state.node[node, c.N_HELD] = c.NONE


@kernel
def _give_up(state, job):  # type: ignore[no-untyped-def]
    for pool in range(state.pool.shape[0]):
        if state.pool[pool, c.P_HOLDER] == job:
            _free(state, pool)


@kernel
def _reserve(state, job):  # type: ignore[no-untyped-def]
    """Hold the nodes that will have room for the job first, until all of them have."""
    asks = state.job[job]
    if asks[c.J_GPUS] * asks[c.J_MILLI] * asks[c.J_WORKERS] < state.setting[c.S_BACKFILL_GPUS] * c.WHOLE:
        return
    for pool in range(state.pool.shape[0]):
        row = state.pool[pool]
        if not asks[c.J_POOLS] >> pool & 1 or row[c.P_HOLDER] != c.NONE or asks[c.J_TIER] != c.HP:
            continue
        places, until = 0, 0
        while places < asks[c.J_WORKERS]:
            node, ready = _soonest(state, job, pool)
            if node == c.NONE:
                _free(state, pool)
                return
            state.node[node, c.N_HELD] = job
            places += _holds(state, asks, node)
            until = max(until, ready)
        touch(state, pool)
        row[c.P_HOLDER], row[c.P_HELD_UNTIL] = job, max(until, state.clock[c.C_NOW] + KEPT_S)
        return


@kernel
def _holds(state, asks, node):  # type: ignore[no-untyped-def]
    """Workers that the node could run if it were empty, by its devices."""
    devices = state.node[node, c.N_GPUS]
    return devices // asks[c.J_GPUS] if asks[c.J_MILLI] == c.WHOLE else devices * (c.WHOLE // asks[c.J_MILLI])


@kernel
def _soonest(state, job, pool):  # type: ignore[no-untyped-def]
    """(node, when all on it will have ended by what their owners say), of those that nobody holds yet."""
    chosen, least = c.NONE, FAR
    for node in range(state.pool[pool, c.P_LOW], state.pool[pool, c.P_HIGH]):
        row = state.node[node]
        if row[c.N_UP] and row[c.N_HELD] == c.NONE and row[c.N_UNTIL] < least and _holds(state, state.job[job], node):
            chosen, least = node, row[c.N_UNTIL]
    return chosen, least
