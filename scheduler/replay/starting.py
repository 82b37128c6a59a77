"""A job's way: it starts, is told to leave, is stopped, ends; each keeps the sums of nodes, pools and tenants right."""

import math

from scheduler.performance.exit_times import GRACE_S
from scheduler.replay import columns as c
from scheduler.replay.events import exit_seconds, push
from scheduler.replay.kernel import kernel
from scheduler.replay.lanes import join
from scheduler.replay.losing import done_by, foreseen, kept_of, milli_of, restart_s
from scheduler.replay.room import delist, given, hold, recount, shift, touch


@kernel
def begin(state, job):  # type: ignore[no-untyped-def]
    """All its tasks have their places and nobody is in the way."""
    one, now = state.job[job], state.clock[c.C_NOW]
    again = one[c.J_EVICTIONS] + one[c.J_FAILURES] > 0
    one[c.J_STATUS], one[c.J_STARTED], one[c.J_OVERHEAD] = c.RUNNING, now, restart_s(state, one) if again else 0
    if one[c.J_FIRST] == c.NONE:
        one[c.J_FIRST] = now
    hold(state, job, 1)
    state.clock[c.C_STARTS] += 1
    one[c.J_DUE] = now + one[c.J_OVERHEAD] + one[c.J_DURATION] - one[c.J_SAVED]
    push(state, one[c.J_DUE], c.END, job, one[c.J_EPOCH])
    doze(state, job)
    _spread(state, job)


@kernel
def _spread(state, job):  # type: ignore[no-untyped-def]
    """GPU entropy over switches, H = - sum p ln p; a node without a known switch is a place of its own."""
    one, places, counts, nodes = state.job[job], state.scratch[3], state.scratch[4], state.scratch[9]
    found, different, unknown = 0, 0, False
    for task in range(one[c.J_TASK], one[c.J_TASK] + one[c.J_WORKERS]):
        node = state.task[task, c.T_NODE]
        asw = state.node[node, c.N_ASW]
        place = asw if asw != c.NONE else -2 - node
        at = 0
        while at < found and places[at] != place:
            at += 1
        if at == found:
            places[at], counts[at] = place, 0
            found += 1
        counts[at] += 1
        unknown = unknown or asw == c.NONE
        at = 0
        while at < different and nodes[at] != node:
            at += 1
        nodes[at] = node
        different = max(different, at + 1)
    one[c.J_POOL], one[c.J_NODES] = state.node[nodes[0], c.N_POOL], different
    one[c.J_UNKNOWN] = unknown and different > 1
    entropy = 0.0
    for at in range(found):
        part = counts[at] / one[c.J_WORKERS]
        entropy -= part * math.log(part)
    one[c.J_ENTROPY], one[c.J_ASWS] = int(1000 * entropy + 0.5), found


@kernel
def notify(state, job, claimant, ground):  # type: ignore[no-untyped-def]
    """Tell a running job to leave; it works no more and holds its place until it has left.  ``ground`` of GROUNDS."""
    one, now = state.job[job], state.clock[c.C_NOW]
    one[c.J_PREDICTED] = foreseen(state, job)
    one[c.J_STATUS], one[c.J_CLAIMANT], one[c.J_TOLD], one[c.J_GROUND] = c.LEAVING, claimant, now, ground
    state.clock[c.C_TOLD + ground] += 1
    if claimant != c.NONE:
        state.job[claimant, c.J_LEAVERS] += 1
        one[c.J_CLAIM] = state.job[claimant, c.J_EPOCH]
    one[c.J_EXIT] = now + exit_seconds(state, job, one[c.J_EVICTIONS])
    push(state, one[c.J_EXIT], c.EXIT, job, one[c.J_EPOCH])
    one[c.J_EVICTIONS] += 1
    state.clock[c.C_EVICTIONS] += 1
    for task in range(one[c.J_TASK], one[c.J_TASK] + one[c.J_WORKERS]):
        row = state.node[state.task[task, c.T_NODE]]
        row[c.N_EVICTED] = (row[c.N_EVICTED] >> min(40, (now - row[c.N_EVICTED_AT]) // c.DAY_S)) + c.WHOLE
        row[c.N_EVICTED_AT] = now


@kernel
def release(state, job):  # type: ignore[no-untyped-def]
    """Give back all that it holds; pools that may serve others now are marked."""
    one = state.job[job]
    if one[c.J_ASLEEP] == 1:
        rouse(state, job)
    if one[c.J_ASLEEP] == 1 or one[c.J_ASLEEP] == 3:
        awake(state, job)
    one[c.J_ASLEEP] = 0
    if one[c.J_STATUS] != c.CLAIMING:
        hold(state, job, -1)
    for task in range(one[c.J_TASK], one[c.J_TASK] + one[c.J_WORKERS]):
        place = state.task[task]
        state.clock[c.C_DIRTY] |= 1 << state.node[place[c.T_NODE], c.N_POOL]
        if place[c.T_MOVING] != c.NONE:
            second = place[c.T_MOVING]
            place[c.T_MOVING] = c.NONE
            shift(state, job, second, place[c.T_MOVING_DEVICES], 1, 0)
            given(state, second)
        shift(state, job, place[c.T_NODE], place[c.T_DEVICES], 1, place[c.T_BORROWS])
        given(state, place[c.T_NODE])
        delist(state, task)
    one[c.J_EPOCH] += 1


@kernel
def stop(state, job, at):  # type: ignore[no-untyped-def]
    """It stops without having ended, its last work done at ``at``; what no checkpoint holds is lost, and it waits."""
    one, now = state.job[job], state.clock[c.C_NOW]
    if one[c.J_STATUS] != c.CLAIMING:
        leaves = one[c.J_STATUS] == c.LEAVING
        done = done_by(one, at)
        kept = done if leaves and _left_a_checkpoint(state, job) else kept_of(one, done)
        spent = now - one[c.J_STARTED] - (kept - one[c.J_SAVED])
        lost = spent * milli_of(one)
        ground = one[c.J_GROUND] if leaves else c.BY_FAILURE
        if leaves:
            one[c.J_REALISED] = (done - kept + now - at + restart_s(state, one)) * milli_of(one)
        one[c.J_LOST] += lost
        state.clock[c.C_LOST + ground] += lost
        one[c.J_SAVED] = kept
    else:
        one[c.J_CAUSE + c.BY_LEAVING] += now - one[c.J_QUEUED]
        one[c.J_WAITED] += now - one[c.J_QUEUED]
    release(state, job)
    one[c.J_LEAVERS] = 0
    join(state, job)
    excuse(state, job)


@kernel
def _left_a_checkpoint(state, job):  # type: ignore[no-untyped-def]
    """It has left by itself, and its exit hook writes one.  What hooks took is remembered either way."""
    one, clock = state.job[job], state.clock
    took = clock[c.C_NOW] - one[c.J_TOLD]
    if clock[c.C_NOW] == one[c.J_EXIT]:
        clock[c.C_HOOKS] += 1
        clock[c.C_HOOK_S] += took
        clock[c.C_CUT] += took >= GRACE_S
    return one[c.J_NOTICE] == 1 and clock[c.C_NOW] == one[c.J_EXIT] and took < GRACE_S


@kernel
def finish(state, job):  # type: ignore[no-untyped-def]
    one = state.job[job]
    one[c.J_LOST] += one[c.J_OVERHEAD] * one[c.J_WORKERS] * one[c.J_GPUS] * one[c.J_MILLI]
    release(state, job)
    one[c.J_STATUS], one[c.J_END] = c.DONE, state.clock[c.C_NOW]
    excuse(state, job)


@kernel
def excuse(state, job):  # type: ignore[no-untyped-def]
    """It has left: its claimant waits for one fewer, and starts if that was the last."""
    one = state.job[job]
    claimant = one[c.J_CLAIMANT]
    one[c.J_CLAIMANT] = c.NONE
    if claimant == c.NONE:
        return
    other, now = state.job[claimant], state.clock[c.C_NOW]
    if other[c.J_STATUS] == c.CLAIMING and other[c.J_EPOCH] == one[c.J_CLAIM]:
        other[c.J_LEAVERS] -= 1
        if not other[c.J_LEAVERS]:
            other[c.J_CAUSE + c.BY_LEAVING] += now - other[c.J_QUEUED]
            other[c.J_WAITED] += now - other[c.J_QUEUED]
            begin(state, claimant)


# Standby: a sleeping job keeps its place, its devices and CPU can be lent.  It sleeps in windows: every day from one
# second of the day on, or from instant to instant as the trace lists them.


@kernel
def doze(state, job):  # type: ignore[no-untyped-def]
    """Plan its next sleep: at once inside of a window, but for one that its owner has ended."""
    one, now = state.job[job], state.clock[c.C_NOW]
    if one[c.J_RECALL_AT] and one[c.J_WAKE] < one[c.J_UNTIL]:
        now = max(now, one[c.J_UNTIL])
    if one[c.J_SLEEP_S]:
        since = (now - one[c.J_SLEEP_AT]) % c.DAY_S
        at = now if since < one[c.J_SLEEP_S] else now + c.DAY_S - since
        push(state, at, c.SLEEP, job, one[c.J_EPOCH])
    for window in range(one[c.J_WINDOW], one[c.J_WINDOW] + one[c.J_WINDOWS]):
        if state.window[window, 1] > now:
            push(state, max(now, state.window[window, 0]), c.SLEEP, job, one[c.J_EPOCH])
            return


@kernel
def sleeps_until(state, job):  # type: ignore[no-untyped-def]
    """The end of the window that is now, NONE where none is."""
    one, now = state.job[job], state.clock[c.C_NOW]
    since = (now - one[c.J_SLEEP_AT]) % c.DAY_S
    if since < one[c.J_SLEEP_S]:
        return now + one[c.J_SLEEP_S] - since
    for window in range(one[c.J_WINDOW], one[c.J_WINDOW] + one[c.J_WINDOWS]):
        if state.window[window, 0] <= now < state.window[window, 1]:
            return state.window[window, 1]
    return c.NONE


@kernel
def lull(state, job):  # type: ignore[no-untyped-def]
    """Fall asleep: what it holds but memory can be lent."""
    one = state.job[job]
    one[c.J_ASLEEP] = 1
    for task in range(one[c.J_TASK], one[c.J_TASK] + one[c.J_WORKERS]):
        place = state.task[task]
        node = place[c.T_NODE]
        _lend(state, node, place[c.T_DEVICES], one[c.J_MILLI], one[c.J_CPU])
        state.pool[state.node[node, c.N_POOL], c.P_ASLEEP] += one[c.J_GPUS] * one[c.J_MILLI]
        state.clock[c.C_DIRTY] |= 1 << state.node[node, c.N_POOL]


@kernel
def awake(state, job):  # type: ignore[no-untyped-def]
    """It counts as asleep no longer."""
    one = state.job[job]
    for task in range(one[c.J_TASK], one[c.J_TASK] + one[c.J_WORKERS]):
        pool = state.node[state.task[task, c.T_NODE], c.N_POOL]
        touch(state, pool)
        state.pool[pool, c.P_ASLEEP] -= one[c.J_GPUS] * one[c.J_MILLI]


@kernel
def rouse(state, job):  # type: ignore[no-untyped-def]
    """Lend nothing any more.  Borrowers on its devices, or of its CPU, hold theirs as their own from now on."""
    one = state.job[job]
    for task in range(one[c.J_TASK], one[c.J_TASK] + one[c.J_WORKERS]):
        place = state.task[task]
        node = place[c.T_NODE]
        _lend(state, node, place[c.T_DEVICES], -one[c.J_MILLI], -one[c.J_CPU])
        follows = state.node[node, c.N_FIRST]
        while follows != c.NONE:
            other = state.task[follows]
            short = state.node[node, c.N_LENT_CPU] < 0
            if other[c.T_BORROWS] and (short or other[c.T_DEVICES] & place[c.T_DEVICES]):
                _own(state, follows)
            follows = other[c.T_NEXT]


@kernel
def _lend(state, node, devices, milli, cpu):  # type: ignore[no-untyped-def]
    recount(state, node, -1)
    for device in range(state.node[node, c.N_GPUS]):
        if devices >> device & 1:
            state.lent[node, device] += milli
    state.node[node, c.N_LENT_CPU] += cpu
    recount(state, node, 1)
    given(state, node)


@kernel
def _own(state, task):  # type: ignore[no-untyped-def]
    """A borrower's devices become its own; what is left goes below nothing until somebody leaves."""
    one = state.task[task]
    job, node = one[c.T_JOB], one[c.T_NODE]
    asks = state.job[job]
    shift(state, job, node, one[c.T_DEVICES], 1, 1)
    shift(state, job, node, one[c.T_DEVICES], -1, 0)
    one[c.T_BORROWS] = 0
    if asks[c.J_STATUS] == c.RUNNING or asks[c.J_STATUS] == c.LEAVING:
        state.pool[state.node[node, c.N_POOL], c.P_BORROWED] -= asks[c.J_GPUS] * asks[c.J_MILLI]
