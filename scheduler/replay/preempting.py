"""Room for an HP job that found none, and for a sleeper that wakes: which LP jobs leave, and on what ground.

By standing (preempt) any LP job may be told to leave; for a tenant's own share (reclaim) those that run on it.

The cost of a job is C = G (now - last checkpoint) over all GPUs of its gang, since the gang leaves as a whole.  On a
node the cheapest prefix that suffices goes, and the cheapest node is taken (the OSDI '26 study's rule); the rule
"spare" then keeps whom the last one of the prefix made superfluous, and counts what a restart costs; "least" takes the
set of least loss on each node, as ``placement.victims`` does.  "extended" goes by all that is foreseen to be lost, and
also looks whether one job alone makes room for less.  To be compared with: "fewest" (who began last leaves, on the node
with the fewest to leave) and "longest" (GPUs times the time since the start, as GFS counts).
"""

from scheduler.replay import columns as c
from scheduler.replay.kernel import kernel, pasted
from scheduler.replay.losing import DEAR, EXTENDED, FEWEST, LEAST, NOBODY, SPARE, loss
from scheduler.replay.quota import claim
from scheduler.replay.room import devices_of, shift
from scheduler.replay.seating import ANY_ASW, fill_up, put_back, take
from scheduler.replay.starting import begin, notify

MOST_EXACT = 10  # jobs of a node of which all sets are looked at
MOST = 200  # tasks of a node that are looked at


@kernel
def may_leave(state, task, mark):  # type: ignore[no-untyped-def]
    """LP, running on devices of its own, past the time that it was promised; ``mark``: the claimant's claim, or 0."""
    one = state.task[task]
    other = state.job[one[c.T_JOB]]
    if other[c.J_TIER] != c.LP or other[c.J_STATUS] != c.RUNNING or one[c.T_BORROWS] or one[c.T_MOVING] != c.NONE:
        return False
    ran = state.clock[c.C_NOW] - other[c.J_STARTED]
    if mark and other[c.J_BORROWED] == mark and ran >= state.setting[c.S_BORROWED]:
        return True
    return state.setting[c.S_PREEMPT] != NOBODY and ran >= state.setting[c.S_GUARANTEE]


@kernel
def _fits_without(state, asks, node, victims, count):  # type: ignore[no-untyped-def]
    """Devices that one worker would take once ``victims[:count]`` have left the node; 0 where it has no room then."""
    row, work = state.node[node], state.scratch[5:6]
    cpu, memory = row[c.N_CPU], row[c.N_MEMORY]
    work[0, : row[c.N_GPUS]] = state.left[node, : row[c.N_GPUS]]
    follows = row[c.N_FIRST]
    while follows != c.NONE:
        place = state.task[follows]
        follows = place[c.T_NEXT]
        for at in range(count):
            if victims[at] == place[c.T_JOB]:
                other = state.job[place[c.T_JOB]]
                memory += other[c.J_MEMORY]
                if place[c.T_BORROWS]:  # what it gives back is the sleeper's
                    continue
                cpu += other[c.J_CPU]
                for device in range(row[c.N_GPUS]):
                    if place[c.T_DEVICES] >> device & 1:
                        work[0, device] += other[c.J_MILLI]
    if cpu < asks[c.J_CPU] or memory < asks[c.J_MEMORY]:
        return 0
    return devices_of(work, 0, row[c.N_GPUS], asks[c.J_GPUS], asks[c.J_MILLI])


@kernel
def _victims(state, job, node, victims, mark):  # type: ignore[no-untyped-def]
    """(how many, cost) of the cheapest prefix on the node that makes room for one worker; (0, DEAR) for none."""
    asks, follows, count = state.job[job], state.node[node, c.N_FIRST], 0
    while follows != c.NONE and count < MOST:
        if may_leave(state, follows, mark):
            other, known = state.task[follows, c.T_JOB], False
            for at in range(count):
                known = known or victims[at] == other
            if not known:
                victims[count] = other
                count += 1
        follows = state.task[follows, c.T_NEXT]
    for at in range(count):  # by cost, then by order of arrival
        least = at
        for later in range(at + 1, count):
            ours, theirs = loss(state, victims[least]), loss(state, victims[later])
            if theirs < ours or (theirs == ours and victims[later] < victims[least]):
                least = later
        victims[at], victims[least] = victims[least], victims[at]
        if state.setting[c.S_PREEMPT] != LEAST and _fits_without(state, asks, node, victims, at + 1):
            if state.setting[c.S_PREEMPT] == FEWEST:
                return at + 1, at + 1
            found, cost = _spared(state, asks, node, victims, at + 1)
            return _alone(state, asks, node, victims, found, cost, count)
    if state.setting[c.S_PREEMPT] == LEAST:
        return _least(state, asks, node, victims, count)
    return 0, DEAR


@kernel
def _alone(state, asks, node, victims, found, cost, count):  # type: ignore[no-untyped-def]
    """With "extended", one job that makes room by itself where that costs less than those found."""
    if state.setting[c.S_PREEMPT] != EXTENDED or found < 2:
        return found, cost
    trial, chosen = state.scratch[10], c.NONE
    for at in range(count):
        trial[0] = victims[at]
        single = loss(state, trial[0])
        if single < cost and _fits_without(state, asks, node, trial, 1):
            chosen, cost = victims[at], single
    if chosen == c.NONE:
        return found, cost
    victims[0] = chosen
    return 1, cost


@kernel
def _least(state, asks, node, victims, count):  # type: ignore[no-untyped-def]
    """Of all sets of victims that suffice that of least loss, then of fewest; beyond MOST_EXACT of the cheapest."""
    exact, chosen, cost, size = min(count, MOST_EXACT), 0, DEAR, 0
    trial = state.scratch[10]
    for mask in range(1, 1 << exact):
        total, some = 0, 0
        for at in range(exact):
            if mask >> at & 1:
                total += loss(state, victims[at])
                trial[some] = victims[at]
                some += 1
        better = total < cost or (total == cost and some < size)
        if better and _fits_without(state, asks, node, trial, some):
            chosen, cost, size = mask, total, some
    if not chosen:  # more than the cheapest few have to go
        for upto in range(exact + 1, count + 1):
            if _fits_without(state, asks, node, victims, upto):
                return _spared(state, asks, node, victims, upto)
        return 0, DEAR
    some = 0
    for at in range(exact):
        if chosen >> at & 1:
            victims[some] = victims[at]
            some += 1
    return size, cost


@kernel
def _spared(state, asks, node, victims, count):  # type: ignore[no-untyped-def]
    at = count - 2
    while SPARE <= state.setting[c.S_PREEMPT] <= EXTENDED and at >= 0:  # the dearest of those before the last one first
        kept = victims[at]
        for later in range(at, count - 1):
            victims[later] = victims[later + 1]
        if _fits_without(state, asks, node, victims, count - 1):
            count -= 1
        else:
            for later in range(count - 1, at, -1):
                victims[later] = victims[later - 1]
            victims[at] = kept
        at -= 1
    cost = 0
    for one in range(count):
        cost += loss(state, victims[one])
    return count, cost


@kernel
def preempt(state, job, pools):  # type: ignore[no-untyped-def]
    """Seat all workers where LP jobs leave, and tell those; False, and nothing changes, where not all find seats."""
    asks = state.job[job]
    need = asks[c.J_WORKERS] * asks[c.J_GPUS] * asks[c.J_MILLI]
    for p in range(state.pool.shape[0]):
        pool = state.pool[p]
        if not pools >> p & 1 or pool[c.P_LP_HELD] - pool[c.P_BORROWED] <= 0 or not asks[c.J_GPUS]:
            continue
        if pool[c.P_FREE] + pool[c.P_LP_HELD] - pool[c.P_BORROWED] >= need and _preempt_in(state, job, p):
            return True
    return False


@pasted
def _preempt_in(state, job, pool):  # type: ignore[no-untyped-def]
    asks, doomed, total, mark = state.job[job], state.scratch[6], 0, claim(state, job, pool)
    if not mark and state.setting[c.S_PREEMPT] == NOBODY:
        return False
    required = asks[c.J_TOPOLOGY] == c.REQUIRED
    done = 0 if required else fill_up(state, job, 0, asks[c.J_WORKERS], 1 << pool, ANY_ASW)
    asw = ANY_ASW
    while done < asks[c.J_WORKERS]:
        node = _cheapest(state, job, pool, asw, mark)
        if node == c.NONE:
            break
        count, _ = _victims(state, job, node, state.scratch[7], mark)
        for at in range(count):
            doomed[total] = state.scratch[7, at]
            _set_aside(state, doomed[total], 1)
            total += 1
        take(state, job, done, node, 0)
        if required:
            asw = state.node[node, c.N_ASW]
        done += 1
    for at in range(total):
        _set_aside(state, doomed[at], -1)
    if done < asks[c.J_WORKERS]:
        put_back(state, job, done)
        return False
    asks[c.J_STATUS], asks[c.J_LEAVERS] = c.CLAIMING, 0
    for at in range(total):
        owed = mark and state.job[doomed[at], c.J_BORROWED] == mark
        notify(state, doomed[at], job, c.BY_RECLAIM if owed else c.BY_PREEMPT)
    if not total:
        begin(state, job)
    return True


@kernel
def _set_aside(state, victim, sign):  # type: ignore[no-untyped-def]
    """Act as if the victim had left (1), or had not (-1); then what the claimant took is a debt until it has."""
    other = state.job[victim]
    other[c.J_STATUS] = c.LEAVING if sign == 1 else c.RUNNING
    for task in range(other[c.J_TASK], other[c.J_TASK] + other[c.J_WORKERS]):
        place = state.task[task]
        shift(state, victim, place[c.T_NODE], place[c.T_DEVICES], sign, place[c.T_BORROWS])


@kernel
def _cheapest(state, job, pool, asw, mark):  # type: ignore[no-untyped-def]
    """The node where room for one worker costs least, of equal ones the first; free room costs nothing."""
    asks, victims = state.job[job], state.scratch[7]
    chosen, least = c.NONE, DEAR
    for node in range(state.pool[pool, c.P_LOW], state.pool[pool, c.P_HIGH]):
        row = state.node[node]
        if not row[c.N_UP] or (asw != ANY_ASW and row[c.N_ASW] != asw):
            continue
        if asks[c.J_TOPOLOGY] == c.REQUIRED and row[c.N_ASW] == c.NONE:
            continue
        if _fits_without(state, asks, node, victims, 0):
            return node
        if row[c.N_FREE] + row[c.N_LP] < asks[c.J_GPUS] * asks[c.J_MILLI]:
            continue
        count, cost = _victims(state, job, node, victims, mark)
        if count and cost < least:
            chosen, least = node, cost
    return chosen


@kernel
def call_back(state, job, ground):  # type: ignore[no-untyped-def]
    """Tell LP jobs to leave until nothing is in a waking job's way; the instant at which the last of them has left."""
    one, at = state.job[job], state.clock[c.C_NOW]
    for task in range(one[c.J_TASK], one[c.J_TASK] + one[c.J_WORKERS]):
        node = state.task[task, c.T_NODE]
        while True:
            victim = _in_debt(state, node)
            if victim == c.NONE:
                break
            notify(state, victim, c.NONE, ground)
        follows = state.node[node, c.N_FIRST]
        while follows != c.NONE:
            other = state.job[state.task[follows, c.T_JOB]]
            if other[c.J_STATUS] == c.LEAVING:
                at = max(at, other[c.J_EXIT])
            follows = state.task[follows, c.T_NEXT]
    return at


@kernel
def _in_debt(state, node):  # type: ignore[no-untyped-def]
    """The cheapest LP job that has to go from a node where more is taken than there is; NONE where none has to."""
    row, work = state.node[node], state.scratch[5]
    cpu, lent = row[c.N_CPU], row[c.N_LENT_CPU]
    work[: row[c.N_GPUS]] = state.left[node, : row[c.N_GPUS]]
    follows = row[c.N_FIRST]
    while follows != c.NONE:
        place = state.task[follows]
        other = state.job[place[c.T_JOB]]
        follows = place[c.T_NEXT]
        if other[c.J_STATUS] != c.LEAVING:
            continue
        if place[c.T_BORROWS]:
            lent += other[c.J_CPU]
            continue
        cpu += other[c.J_CPU]
        for device in range(row[c.N_GPUS]):
            if place[c.T_DEVICES] >> device & 1:
                work[device] += other[c.J_MILLI]
    short = 0
    for device in range(row[c.N_GPUS]):
        if work[device] + state.lent[node, device] < 0:
            short |= 1 << device
    tight = cpu + lent < 0
    return _in_the_way(state, node, short, tight) if short or tight else c.NONE


@kernel
def _in_the_way(state, node, devices, tight):  # type: ignore[no-untyped-def]
    chosen, least, follows = c.NONE, DEAR, state.node[node, c.N_FIRST]
    while follows != c.NONE:
        place = state.task[follows]
        other = state.job[place[c.T_JOB]]
        follows = place[c.T_NEXT]
        if other[c.J_TIER] != c.LP or other[c.J_STATUS] != c.RUNNING or not (tight or place[c.T_DEVICES] & devices):
            continue
        cost = loss(state, place[c.T_JOB])
        if cost < least or (cost == least and place[c.T_JOB] < chosen):
            chosen, least = place[c.T_JOB], cost
    return chosen
