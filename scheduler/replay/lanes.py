"""Queues of alike jobs, in order of arrival, and clocks of why their first one has not started."""

from scheduler.replay import columns as c
from scheduler.replay.kernel import kernel
from scheduler.replay.room import touch

CAUSES = len(c.CAUSES)


@kernel
def tick(state, lane):  # type: ignore[no-untyped-def]
    """Bring the lane's clock of its present cause up to now."""
    row, now = state.lane[lane], state.clock[c.C_NOW]
    row[c.L_CLOCK + row[c.L_CAUSE]] += now - row[c.L_SINCE]
    row[c.L_SINCE] = now


@kernel
def blame(state, lane, cause):  # type: ignore[no-untyped-def]
    if state.lane[lane, c.L_CAUSE] != cause:
        tick(state, lane)
        state.lane[lane, c.L_CAUSE] = cause


@kernel
def waits(state, job, sign):  # type: ignore[no-untyped-def]
    """What waiting jobs ask for, in each pool that they may use."""
    asks = state.job[job]
    for pool in range(state.pool.shape[0]):
        if asks[c.J_POOLS] >> pool & 1:
            touch(state, pool)
            state.pool[pool, c.P_WAITING] += sign * asks[c.J_WORKERS] * asks[c.J_GPUS] * asks[c.J_MILLI]


@kernel
def join(state, job):  # type: ignore[no-untyped-def]
    """The job waits from now on; of a lane those that arrived first are first, however often they ran before."""
    one = state.job[job]
    lane, now = one[c.J_LANE], state.clock[c.C_NOW]
    row = state.lane[lane]
    if row[c.L_COUNT] == 0:
        row[c.L_PLACE], row[c.L_CAUSE], row[c.L_SINCE] = state.clock[c.C_ACTIVE], c.BY_ORDER, now
        state.active[state.clock[c.C_ACTIVE]] = lane
        state.clock[c.C_ACTIVE] += 1
    tick(state, lane)
    row[c.L_COUNT] += 1
    one[c.J_STATUS], one[c.J_QUEUED] = c.WAITING, now
    for cause in range(CAUSES):
        one[c.J_MARK + cause] = row[c.L_CLOCK + cause]
    waits(state, job, 1)
    _insert(state, row, job)


@kernel
def _insert(state, row, job):  # type: ignore[no-untyped-def]
    table = state.job
    if row[c.L_COUNT] == 1 or job < row[c.L_HEAD]:
        table[job, c.J_NEXT] = c.NONE if row[c.L_COUNT] == 1 else row[c.L_HEAD]
        row[c.L_HEAD] = job
        if row[c.L_COUNT] == 1:
            row[c.L_TAIL] = job
        return
    at = row[c.L_TAIL] if job > row[c.L_TAIL] else row[c.L_HEAD]
    while table[at, c.J_NEXT] != c.NONE and table[at, c.J_NEXT] < job:
        at = table[at, c.J_NEXT]
    table[job, c.J_NEXT] = table[at, c.J_NEXT]
    table[at, c.J_NEXT] = job
    if table[job, c.J_NEXT] == c.NONE:
        row[c.L_TAIL] = job


@kernel
def leave(state, lane):  # type: ignore[no-untyped-def]
    """Its first job waits no longer; the seconds are booked to what kept it."""
    row, now = state.lane[lane], state.clock[c.C_NOW]
    job = row[c.L_HEAD]
    one = state.job[job]
    tick(state, lane)
    for cause in range(CAUSES):
        one[c.J_CAUSE + cause] += row[c.L_CLOCK + cause] - one[c.J_MARK + cause]
    one[c.J_WAITED] += now - one[c.J_QUEUED]
    waits(state, job, -1)
    row[c.L_HEAD] = one[c.J_NEXT]
    row[c.L_COUNT] -= 1
    if row[c.L_COUNT] == 0:
        last = state.clock[c.C_ACTIVE] - 1
        other = state.active[last]
        state.active[row[c.L_PLACE]] = other
        state.lane[other, c.L_PLACE] = row[c.L_PLACE]
        row[c.L_PLACE] = c.NONE
        state.clock[c.C_ACTIVE] = last
