"""The virtual clock: what happens at each instant, then who starts in the pools where something changed."""

from typing import Any

from scheduler.replay import columns as c
from scheduler.replay.events import FAILURE_DRAW, REPAIR_DRAW, SUBJECT, chance, exponential, pop, push, resume_seconds
from scheduler.replay.held import held
from scheduler.replay.kernel import edition, entry, kernel, pasted
from scheduler.replay.lanes import join
from scheduler.replay.preempting import call_back
from scheduler.replay.room import delist, devices_of, enlist, given, hold, recount, shift, slots, touch
from scheduler.replay.settling import settle
from scheduler.replay.starting import awake, begin, doze, finish, lull, rouse, sleeps_until, stop

FULL, REACHED = 1, 0
SETTLED_S = 60  # after which it is looked again whether a move has ended
MARGIN = 4096  # rows of the heap that one instant may need


@pasted
def _handle(state, kind, subject, epoch):  # type: ignore[no-untyped-def]
    if kind == c.REPAIR:
        _repair(state, subject)
    elif kind == c.FAIL:
        _fail(state, subject)
    elif kind == c.MOVE:
        _move(state, subject, epoch)
    elif kind == c.MOVED:
        _moved(state, subject, epoch)
    elif kind == c.LOOK:
        state.clock[c.C_DIRTY] |= 1 << subject
    elif state.job[subject, c.J_EPOCH] == epoch:
        _of_job(state, kind, subject)


@kernel
def _of_job(state, kind, job):  # type: ignore[no-untyped-def]
    one, now = state.job[job], state.clock[c.C_NOW]
    running = one[c.J_STATUS] == c.RUNNING
    if kind == c.END and now == one[c.J_DUE]:
        finish(state, job)
    elif kind == c.EXIT and one[c.J_STATUS] == c.LEAVING:
        stop(state, job, one[c.J_TOLD])
    elif kind == c.SLEEP and running and not one[c.J_ASLEEP]:
        _sleep(state, job)
    elif kind == c.FORESEEN and one[c.J_ASLEEP] == 1:
        rouse(state, job)
        one[c.J_ASLEEP] = 3
        call_back(state, job, c.BY_AHEAD)
    elif kind == c.WAKE and (one[c.J_ASLEEP] == 1 or one[c.J_ASLEEP] == 3):
        _wake(state, job)
    elif kind == c.AWAKE and one[c.J_ASLEEP] == 2:
        one[c.J_ASLEEP], one[c.J_SERVED] = 0, now
        one[c.J_SLOWEST] = max(one[c.J_SLOWEST], now - one[c.J_WAKE])
        if one[c.J_WAKE] < one[c.J_UNTIL]:
            one[c.J_RECALLED] = now - one[c.J_WAKE]
        state.called[min(c.SLOWEST, now - one[c.J_WAKE])] += 1
        doze(state, job)


@kernel
def _wake(state, job):  # type: ignore[no-untyped-def]
    """It is called: who is in its way is told to leave, and when the last of them has left it resumes."""
    one, now = state.job[job], state.clock[c.C_NOW]
    if one[c.J_ASLEEP] == 1:
        rouse(state, job)
    awake(state, job)
    one[c.J_ASLEEP], one[c.J_WAKE] = 2, now
    state.clock[c.C_CALLS] += 1
    push(state, call_back(state, job, c.BY_RECALL) + resume_seconds(state, job), c.AWAKE, job, one[c.J_EPOCH])


@kernel
def _sleep(state, job):  # type: ignore[no-untyped-def]
    """Fall asleep until its window ends; who is being moved comes to rest first."""
    one, now, until = state.job[job], state.clock[c.C_NOW], sleeps_until(state, job)
    if until == c.NONE:
        doze(state, job)
    elif _moves(state, job):
        push(state, min(now + SETTLED_S, until), c.SLEEP, job, one[c.J_EPOCH])
    else:
        one[c.J_UNTIL], early = until, now < one[c.J_RECALL_AT] < until
        lull(state, job)
        push(state, one[c.J_RECALL_AT] if early else until, c.WAKE, job, one[c.J_EPOCH])
        if state.setting[c.S_AHEAD]:
            push(state, max(now, until - state.setting[c.S_AHEAD]), c.FORESEEN, job, one[c.J_EPOCH])


@kernel
def _moves(state, job):  # type: ignore[no-untyped-def]
    one = state.job[job]
    for task in range(one[c.J_TASK], one[c.J_TASK] + one[c.J_WORKERS]):
        if state.task[task, c.T_MOVING] != c.NONE:
            return True
    return False


@kernel
def _fail(state, node):  # type: ignore[no-untyped-def]
    """Who ran there stops at once, its gang with it."""
    row, setting = state.node[node], state.setting
    recount(state, node, -1)
    row[c.N_UP] = 0
    state.clock[c.C_FAILURES] += 1
    while row[c.N_FIRST] != c.NONE:
        job = state.task[row[c.N_FIRST], c.T_JOB]
        at = state.job[job, c.J_TOLD] if state.job[job, c.J_STATUS] == c.LEAVING else state.clock[c.C_NOW]
        if state.job[job, c.J_STATUS] != c.CLAIMING:
            state.job[job, c.J_FAILURES] += 1
            state.clock[c.C_KILLED] += 1
            state.clock[c.C_TOLD + c.BY_FAILURE] += state.job[job, c.J_STATUS] != c.LEAVING
        stop(state, job, at)
    took = exponential(setting[c.S_REPAIR_MEAN], chance(setting[c.S_SEED], REPAIR_DRAW, node, row[c.N_FAILS]))
    push(state, state.clock[c.C_NOW] + took, c.REPAIR, node, 0)


@kernel
def _repair(state, node):  # type: ignore[no-untyped-def]
    row, setting = state.node[node], state.setting
    row[c.N_UP] = 1
    recount(state, node, 1)
    given(state, node)
    row[c.N_FAILS] += 1
    state.clock[c.C_DIRTY] |= 1 << row[c.N_POOL]
    next_one = exponential(setting[c.S_FAIL_MEAN], chance(setting[c.S_SEED], FAILURE_DRAW, node, row[c.N_FAILS]))
    push(state, state.clock[c.C_NOW] + next_one, c.FAIL, node, 0)


@kernel
def _move(state, task, epoch):  # type: ignore[no-untyped-def]
    """Make before break: the second copy takes its place, if it still can; ``epoch`` also tells for how long."""
    place = state.task[task]
    job, target = place[c.T_JOB], place[c.T_PLANNED]
    one, seconds = state.job[job], epoch % SUBJECT
    place[c.T_PLANNED] = c.NONE
    asks = state.job[job]
    fits = one[c.J_STATUS] == c.RUNNING and not one[c.J_ASLEEP] and one[c.J_EPOCH] == epoch // SUBJECT
    if fits and target != c.NONE and not place[c.T_BORROWS] and place[c.T_MOVING] == c.NONE:
        fits = (
            slots(state, target, asks[c.J_GPUS], asks[c.J_MILLI], asks[c.J_CPU], asks[c.J_MEMORY], state.left, 0) > 0
            and state.node[target, c.N_HELD] == c.NONE
        )
    else:
        fits = False
    if not fits:
        state.clock[c.C_STALE_MOVES] += 1
        return
    devices = devices_of(state.left, target, state.node[target, c.N_GPUS], asks[c.J_GPUS], asks[c.J_MILLI])
    shift(state, job, target, devices, -1, 0)
    place[c.T_MOVING], place[c.T_MOVING_DEVICES] = target, devices
    state.clock[c.C_MOVES] += 1
    state.clock[c.C_MOVED] += seconds * asks[c.J_GPUS] * asks[c.J_MILLI]
    one[c.J_MOVES] += 1
    push(state, state.clock[c.C_NOW] + seconds, c.MOVED, task, one[c.J_EPOCH])


@kernel
def _moved(state, task, epoch):  # type: ignore[no-untyped-def]
    """The first copy ends.  Work that a restart loses is done again: the job ends so much later."""
    place = state.task[task]
    job, target, devices = place[c.T_JOB], place[c.T_MOVING], place[c.T_MOVING_DEVICES]
    one, now = state.job[job], state.clock[c.C_NOW]
    if target == c.NONE or one[c.J_EPOCH] != epoch:
        return
    place[c.T_MOVING] = c.NONE
    status = one[c.J_STATUS]
    state.clock[c.C_DIRTY] |= 1 << state.node[place[c.T_NODE], c.N_POOL]
    hold(state, job, -1)
    shift(state, job, place[c.T_NODE], place[c.T_DEVICES], 1, 0)
    given(state, place[c.T_NODE])
    delist(state, task)
    enlist(state, task, target, devices, 0)
    hold(state, job, 1)
    if one[c.J_RESTARTS] and status == c.RUNNING:
        done = one[c.J_SAVED] + max(0, now - one[c.J_STARTED] - one[c.J_OVERHEAD])
        every = one[c.J_CHECKPOINT]
        kept = max(one[c.J_SAVED], done // every * every) if every else one[c.J_SAVED]
        one[c.J_LOST] += (done - kept) * one[c.J_WORKERS] * one[c.J_GPUS] * one[c.J_MILLI]
        one[c.J_SAVED], one[c.J_STARTED], one[c.J_OVERHEAD] = kept, now, 0
        one[c.J_DUE] = now + one[c.J_DURATION] - kept
        push(state, one[c.J_DUE], c.END, job, one[c.J_EPOCH])


@pasted
def _instant(state):  # type: ignore[no-untyped-def]
    """All that happens at the present instant, then who starts."""
    now = state.clock[c.C_NOW]
    while True:
        while state.clock[c.C_HEAP] and state.heap[0, 0] <= now:
            pop(state)
            row = state.heap[state.clock[c.C_HEAP]]
            _handle(state, row[1] // SUBJECT, row[1] % SUBJECT, row[2])
            state.clock[c.C_EVENTS] += 1
        while (
            state.clock[c.C_NEXT_JOB] < state.job.shape[0] and state.job[state.clock[c.C_NEXT_JOB], c.J_ARRIVAL] <= now
        ):
            job = state.clock[c.C_NEXT_JOB]
            state.clock[c.C_NEXT_JOB] += 1
            state.clock[c.C_EVENTS] += 1
            if state.job[job, c.J_STATUS] == c.AHEAD:
                join(state, job)
                state.clock[c.C_DIRTY] |= state.job[job, c.J_POOLS]
        dirty = state.clock[c.C_DIRTY]
        state.clock[c.C_DIRTY] = 0
        for pool in range(state.pool.shape[0]):
            if dirty >> pool & 1:
                settle(state, pool)
        if not state.clock[c.C_DIRTY] and not (state.clock[c.C_HEAP] and state.heap[0, 0] <= now):
            return


@pasted
def _upcoming(state):  # type: ignore[no-untyped-def]
    at = 1 << 62
    if state.clock[c.C_HEAP]:
        at = state.heap[0, 0]
    if state.clock[c.C_NEXT_JOB] < state.job.shape[0]:
        at = min(at, state.job[state.clock[c.C_NEXT_JOB], c.J_ARRIVAL])
    return at


def _clock(number: int) -> Any:
    @entry
    def advance(tables, until, most):  # type: ignore[no-untyped-def]
        """Let happen what comes before or at ``until``, ``most`` instants at most.  FULL: the heap has to grow."""
        if number < 0:
            return FULL
        state = held(tables)
        while most:
            at = _upcoming(state)
            if at > until:
                break
            if state.clock[c.C_HEAP] + MARGIN > state.heap.shape[0]:
                return FULL
            state.clock[c.C_NOW] = at
            _instant(state)
            most -= 1
        if most:
            state.clock[c.C_NOW] = until
            for pool in range(state.pool.shape[0]):
                touch(state, pool)
        return REACHED

    return advance


def _ground(number: int) -> Any:
    @entry
    def open_up(tables):  # type: ignore[no-untyped-def]
        """Fill the sums of an empty cluster and draw the first failure of each node."""
        if number < 0:
            return
        state = held(tables)
        setting = state.setting
        for node in range(state.node.shape[0]):
            recount(state, node, 1)
            if setting[c.S_FAIL_MEAN]:
                draw = chance(setting[c.S_SEED], FAILURE_DRAW, node, 0)
                push(state, exponential(setting[c.S_FAIL_MEAN], draw), c.FAIL, node, 0)

    @entry
    def plan_move(tables, task, target, at, seconds):  # type: ignore[no-untyped-def]
        if number < 0:
            return
        state = held(tables)
        state.task[task, c.T_PLANNED] = target
        push(state, at, c.MOVE, task, state.job[state.task[task, c.T_JOB], c.J_EPOCH] * SUBJECT + seconds)

    @entry
    def stand(tables, places):  # type: ignore[no-untyped-def]
        """Tasks that run already, rows of (task, node, bits of devices); their jobs begin now."""
        if number < 0:
            return
        state = held(tables)
        for at in range(places.shape[0]):
            task, node, devices = places[at, 0], places[at, 1], places[at, 2]
            shift(state, state.task[task, c.T_JOB], node, devices, -1, 0)
            enlist(state, task, node, devices, 0)
        for at in range(places.shape[0]):
            job = state.task[places[at, 0], c.T_JOB]
            if state.job[job, c.J_STATUS] == c.AHEAD or state.job[job, c.J_STATUS] == c.NEVER:
                begin(state, job)

    return open_up, plan_move, stand


advance = _clock(edition())
open_up, plan_move, stand = _ground(edition())
