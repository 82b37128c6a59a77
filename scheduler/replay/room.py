"""What is left on a node: taking devices, giving them back, and the pools' running sums."""

from scheduler.replay import columns as c
from scheduler.replay.kernel import kernel, pasted
from scheduler.replay.quota import charge


@kernel
def touch(state, pool):  # type: ignore[no-untyped-def]
    """Bring the pool's integrals up to now: before every change of what they are made of."""
    row, now = state.pool[pool], state.clock[c.C_NOW]
    span = now - row[c.P_AT]
    row[c.P_AT] = now
    if not span:
        return
    row[c.P_HP_TIME] += span * row[c.P_HP_HELD]
    row[c.P_LP_TIME] += span * row[c.P_LP_HELD]
    row[c.P_FREE_TIME] += span * row[c.P_FREE]
    row[c.P_ASLEEP_TIME] += span * row[c.P_ASLEEP]
    row[c.P_BORROWED_TIME] += span * row[c.P_BORROWED]
    row[c.P_UP_TIME] += span * row[c.P_UP]
    row[c.P_LOST_TIME] += span * max(0, min(row[c.P_FREE], row[c.P_WAITING]))


@pasted
def alter(state, pool, column, by):  # type: ignore[no-untyped-def]
    touch(state, pool)
    state.pool[pool, column] += by


@kernel
def recount(state, node, by):  # type: ignore[no-untyped-def]
    """Take the node out of its pool's sums (by -1) before a change, or put it in again (1)."""
    row = state.node[node]
    if row[c.N_UP]:
        pool = row[c.N_POOL]
        touch(state, pool)
        state.pool[pool, c.P_COUNT + row[c.N_WHOLE]] += by
        lendable = 0
        for device in range(row[c.N_GPUS]):
            lendable += state.lent[node, device]
        state.pool[pool, c.P_WHOLE] += by * row[c.N_WHOLE]
        state.pool[pool, c.P_CPU] += by * max(0, row[c.N_CPU])
        state.pool[pool, c.P_MEMORY] += by * max(0, row[c.N_MEMORY])
        state.pool[pool, c.P_FREE] += by * row[c.N_FREE]
        state.pool[pool, c.P_LENDABLE] += by * lendable
        state.pool[pool, c.P_UP] += by * c.WHOLE * row[c.N_GPUS]


@kernel
def wholes(state, node):  # type: ignore[no-untyped-def]
    whole, free, row = 0, 0, state.node[node]
    for device in range(row[c.N_GPUS]):
        whole += state.left[node, device] == c.WHOLE
        free += state.left[node, device]
    row[c.N_WHOLE], row[c.N_FREE] = whole, free
    row[c.N_VERSION] += 1


@kernel
def given(state, node):  # type: ignore[no-untyped-def]
    """Something came free on the node: who found no room in its pool looks there again."""
    pool = state.pool[state.node[node, c.N_POOL]]
    pool[c.P_RING + pool[c.P_GIVEN] % c.RING] = node
    pool[c.P_GIVEN] += 1


@kernel
def shift(state, job, node, devices, sign, borrows):  # type: ignore[no-untyped-def]
    """Take (sign -1) what one task of ``job`` needs on ``devices`` of ``node``, or give it back (1)."""
    asks, row = state.job[job], state.node[node]
    recount(state, node, -1)
    table = state.lent if borrows else state.left
    for device in range(row[c.N_GPUS]):
        if devices >> device & 1:
            table[node, device] += sign * asks[c.J_MILLI]
    row[c.N_LENT_CPU if borrows else c.N_CPU] += sign * asks[c.J_CPU]
    row[c.N_MEMORY] += sign * asks[c.J_MEMORY]
    wholes(state, node)
    recount(state, node, 1)


@kernel
def enlist(state, task, node, devices, borrows):  # type: ignore[no-untyped-def]
    """The task has its place on the node from now on, and its tenant is charged for it."""
    one, row = state.task[task], state.node[node]
    one[c.T_NODE], one[c.T_DEVICES], one[c.T_BORROWS] = node, devices, borrows
    one[c.T_NEXT], one[c.T_PREVIOUS] = row[c.N_FIRST], c.NONE
    if row[c.N_FIRST] != c.NONE:
        state.task[row[c.N_FIRST], c.T_PREVIOUS] = task
    row[c.N_FIRST] = task
    row[c.N_TASKS] += 1
    asks = state.job[one[c.T_JOB]]
    row[c.N_UNTIL] = max(row[c.N_UNTIL], state.clock[c.C_NOW] + asks[c.J_ESTIMATE] - asks[c.J_SAVED])
    charge(state, one[c.T_JOB], node, 1)


@kernel
def delist(state, task):  # type: ignore[no-untyped-def]
    one = state.task[task]
    node, ahead, behind = one[c.T_NODE], one[c.T_PREVIOUS], one[c.T_NEXT]
    if ahead == c.NONE:
        state.node[node, c.N_FIRST] = behind
    else:
        state.task[ahead, c.T_NEXT] = behind
    if behind != c.NONE:
        state.task[behind, c.T_PREVIOUS] = ahead
    state.node[node, c.N_TASKS] -= 1
    charge(state, one[c.T_JOB], node, -1)
    one[c.T_NODE] = c.NONE
    latest, follows = 0, state.node[node, c.N_FIRST]
    while follows != c.NONE:
        asks = state.job[state.task[follows, c.T_JOB]]
        latest = max(latest, asks[c.J_STARTED] + asks[c.J_ESTIMATE] - asks[c.J_SAVED])
        follows = state.task[follows, c.T_NEXT]
    state.node[node, c.N_UNTIL] = latest


@kernel
def hold(state, job, sign):  # type: ignore[no-untyped-def]
    """What the job's class holds on its nodes and in their pools, while the job really runs there."""
    asks = state.job[job]
    lp, milli = asks[c.J_TIER] == c.LP, sign * asks[c.J_GPUS] * asks[c.J_MILLI]
    for task in range(asks[c.J_TASK], asks[c.J_TASK] + asks[c.J_WORKERS]):
        node = state.task[task, c.T_NODE]
        pool = state.node[node, c.N_POOL]
        touch(state, pool)
        state.node[node, c.N_LP if lp else c.N_HP] += milli
        state.pool[pool, c.P_LP_HELD if lp else c.P_HP_HELD] += milli
        if state.task[task, c.T_BORROWS]:
            state.pool[pool, c.P_BORROWED] += milli


@kernel
def devices_of(table, node, count, gpus, milli):  # type: ignore[no-untyped-def]
    """Bits of the tightest devices with room for a share each; 0 where there are too few."""
    chosen = 0
    if milli == c.WHOLE:
        need = gpus
        for device in range(count):
            if need and table[node, device] == c.WHOLE:
                chosen |= 1 << device
                need -= 1
        return 0 if need else chosen
    for _ in range(gpus):
        best = c.NONE
        for device in range(count):
            room = table[node, device]
            if room >= milli and not chosen >> device & 1 and (best < 0 or room < table[node, best]):
                best = device
        if best < 0:
            return 0
        chosen |= 1 << best
    return chosen


@kernel
def slots(state, node, gpus, milli, cpu, memory, table, lends):  # type: ignore[no-untyped-def]
    """How many tasks of that shape the node can take now."""
    row = state.node[node]
    if not row[c.N_UP] or (gpus and not lends and milli == c.WHOLE and row[c.N_WHOLE] < gpus):
        return 0  # most nodes of a full pool: without a division
    room = row[c.N_MEMORY] // memory if memory else c.NO_LIMIT
    spare = row[c.N_LENT_CPU] if lends else row[c.N_CPU]
    room = min(room, spare // cpu if cpu else c.NO_LIMIT)
    if gpus == 0 or room <= 0:
        return max(room, 0)
    if milli == c.WHOLE and not lends:
        return min(room, row[c.N_WHOLE] // gpus)
    fits, shares = 0, 0
    for device in range(row[c.N_GPUS]):
        if table[node, device] >= milli:
            fits += 1
            shares += table[node, device] // milli
    if gpus == 1:
        return min(room, shares)
    return min(room, fits // gpus)  # shares of several devices: one round of them is counted
