"""The quota state while time passes, by the rules of ``admission.quota``: who is charged, what is left, who borrows.

HP uses quota; LP does not, but counts against caps, and as use of others' share where it goes beyond its tenant's own.
"""

from scheduler.replay import columns as c
from scheduler.replay.kernel import kernel, pasted


@pasted
def models(state):  # type: ignore[no-untyped-def]
    return state.quota.shape[0] // state.account.shape[0]


@kernel
def charge(state, job, node, sign):  # type: ignore[no-untyped-def]
    """What its tenant holds of the node's model and of all, or is promised."""
    asks = state.job[job]
    milli, tenant, count = sign * asks[c.J_GPUS] * asks[c.J_MILLI], asks[c.J_TENANT], models(state)
    lp = asks[c.J_TIER] == c.LP
    for model in (state.pool[state.node[node, c.N_POOL], c.P_MODEL], count - 1):
        row = state.quota[tenant * count + model]
        row[c.Q_LP if lp else c.Q_HP] += milli
        row[c.Q_PEAK] = max(row[c.Q_PEAK], row[c.Q_HP])
        if state.setting[c.S_QUOTA] and not lp:
            _charge_line(state, tenant, model, milli)
    at = tenant if state.setting[c.S_QUOTA] else c.NONE
    while at != c.NONE:
        state.account[at, c.A_TOTAL] += milli
        at = state.account[at, c.A_PARENT]


@kernel
def _charge_line(state, account, model, milli):  # type: ignore[no-untyped-def]
    """An account is charged with its own use and with what its children use beyond what they keep at home."""
    at, rest, count = account, milli, models(state)
    while at != c.NONE:
        row = state.quota[at * count + model]
        before, home = row[c.Q_CHARGED], row[c.Q_HOME]
        row[c.Q_CHARGED] = before + rest
        rest = max(0, before + rest - home) - max(0, before - home)
        at = state.account[at, c.A_PARENT]


@kernel
def available(state, tenant, model):  # type: ignore[no-untyped-def]
    """What the tenant may still use of the model; NO_LIMIT where no quota holds it."""
    path, depth, at, count = state.scratch[8], 0, tenant, models(state)
    while state.account[at, c.A_PARENT] != c.NONE:
        path[depth] = at
        depth += 1
        at = state.account[at, c.A_PARENT]
    row = state.quota[at * count + model]
    left = row[c.Q_SHARE] - row[c.Q_CHARGED] if row[c.Q_KEPT] else c.NO_LIMIT
    while depth:
        depth -= 1
        row = state.quota[path[depth] * count + model]
        if row[c.Q_LIMIT] != c.NO_LIMIT:
            over = max(0, row[c.Q_CHARGED] - row[c.Q_HOME])
            left = min(left, row[c.Q_SHARE] - row[c.Q_HOME] - over + row[c.Q_LIMIT])
        if left != c.NO_LIMIT:
            left += max(0, row[c.Q_HOME] - row[c.Q_CHARGED])
    return left


@kernel
def _capped(state, tenant, need):  # type: ignore[no-untyped-def]
    at = tenant
    while at != c.NONE:
        if state.account[at, c.A_TOTAL] + need > state.account[at, c.A_CAP]:
            return True
        at = state.account[at, c.A_PARENT]
    return False


@kernel
def within(state, job):  # type: ignore[no-untyped-def]
    """Bits of the pools of which the job's tenant may use so much more."""
    asks, found = state.job[job], 0
    need = asks[c.J_WORKERS] * asks[c.J_GPUS] * asks[c.J_MILLI]
    if not state.setting[c.S_QUOTA] or not need:
        return asks[c.J_POOLS]
    if _capped(state, asks[c.J_TENANT], need):
        return 0
    if asks[c.J_TIER] == c.LP:
        return asks[c.J_POOLS]
    for pool in range(state.pool.shape[0]):
        if asks[c.J_POOLS] >> pool & 1 and need <= available(state, asks[c.J_TENANT], state.pool[pool, c.P_MODEL]):
            found |= 1 << pool
    return found


@kernel
def entitled(state, tenant, model, need):  # type: ignore[no-untyped-def]
    """The closest account in whose own quota the tenant stays with so much more; NONE: it would borrow."""
    at, count = tenant, models(state)
    while at != c.NONE:
        own, good = False, True
        for word in (model, count - 1):
            row = state.quota[at * count + word]
            if row[c.Q_NOMINAL] != c.NO_LIMIT:
                own, good = True, good and row[c.Q_CHARGED] + need <= row[c.Q_SHARE]
        if own and good:
            return at
        at = state.account[at, c.A_PARENT]
    return c.NONE


@kernel
def _under(state, account, top):  # type: ignore[no-untyped-def]
    at = account
    while at != c.NONE and at != top:
        at = state.account[at, c.A_PARENT]
    return at == top


@kernel
def _root(state, account):  # type: ignore[no-untyped-def]
    at = account
    while state.account[at, c.A_PARENT] != c.NONE:
        at = state.account[at, c.A_PARENT]
    return at


@kernel
def claim(state, job, pool):  # type: ignore[no-untyped-def]
    """Mark LP jobs that hold what is the share of the job's tenant; the number of the mark, 0 where there are none."""
    asks, model = state.job[job], state.pool[pool, c.P_MODEL]
    if not state.setting[c.S_QUOTA] or not state.setting[c.S_RECLAIM]:
        return 0
    own = entitled(state, asks[c.J_TENANT], model, asks[c.J_WORKERS] * asks[c.J_GPUS] * asks[c.J_MILLI])
    if own == c.NONE:
        return 0
    state.clock[c.C_CLAIMS] += 1
    mark, found, root = state.clock[c.C_CLAIMS], 0, _root(state, own)
    for tenant in range(state.setting[c.S_TENANTS]):
        if state.account[tenant, c.A_LISTED] and _root(state, tenant) == root and not _under(state, tenant, own):
            beyond = excess(state, tenant, model) - _leaving(state, tenant, model)
            while beyond > 0:
                borrower = _youngest(state, tenant, model, mark)
                if borrower == c.NONE:
                    break
                other = state.job[borrower]
                other[c.J_BORROWED] = mark
                beyond -= other[c.J_WORKERS] * other[c.J_GPUS] * other[c.J_MILLI]
                found += 1
    return mark if found else 0


@kernel
def excess(state, tenant, model):  # type: ignore[no-untyped-def]
    """What the tenant uses beyond its own quota of the model, or of all models, LP included; 0 for none."""
    most, count, root = 0, models(state), _root(state, tenant)
    for word in (model, count - 1):
        if state.quota[root * count + word, c.Q_NAMED]:
            row = state.quota[tenant * count + word]
            most = max(most, row[c.Q_CHARGED] + row[c.Q_LP] - row[c.Q_SHARE])
    return most


@kernel
def _leaving(state, tenant, model):  # type: ignore[no-untyped-def]
    """Thousandths that LP jobs of the tenant give back soon."""
    found = 0
    for p in range(state.pool.shape[0]):
        for node in range(state.pool[p, c.P_LOW], state.pool[p, c.P_HIGH] if state.pool[p, c.P_MODEL] == model else 0):
            follows = state.node[node, c.N_FIRST]
            while follows != c.NONE:
                other = state.job[state.task[follows, c.T_JOB]]
                follows = state.task[follows, c.T_NEXT]
                if other[c.J_TENANT] == tenant and other[c.J_TIER] == c.LP and other[c.J_STATUS] == c.LEAVING:
                    found += other[c.J_GPUS] * other[c.J_MILLI]
    return found


@kernel
def _youngest(state, tenant, model, mark):  # type: ignore[no-untyped-def]
    """The tenant's running LP job that started last, of those without the mark; NONE where all have it."""
    chosen = c.NONE
    for p in range(state.pool.shape[0]):
        for node in range(state.pool[p, c.P_LOW], state.pool[p, c.P_HIGH] if state.pool[p, c.P_MODEL] == model else 0):
            follows = state.node[node, c.N_FIRST]
            while follows != c.NONE:
                job = state.task[follows, c.T_JOB]
                other = state.job[job]
                follows = state.task[follows, c.T_NEXT]
                if other[c.J_TENANT] != tenant or other[c.J_TIER] != c.LP or other[c.J_STATUS] != c.RUNNING:
                    continue
                if other[c.J_BORROWED] == mark or not other[c.J_GPUS]:
                    continue
                started = state.job[chosen, c.J_STARTED] if chosen != c.NONE else -1
                if other[c.J_STARTED] > started or (other[c.J_STARTED] == started and job < chosen):
                    chosen = job
    return chosen


@kernel
def share(state, tenant):  # type: ignore[no-untyped-def]
    """The tenant's dominant share: of all models that of which it holds most, over its weight.  Millionths."""
    most, count = 0, models(state)
    for model in range(count - 1):
        up = 0
        for pool in range(state.pool.shape[0]):
            up += state.pool[pool, c.P_UP] if state.pool[pool, c.P_MODEL] == model else 0
        row = state.quota[tenant * count + model]
        if up:
            most = max(most, (row[c.Q_HP] + row[c.Q_LP]) * 1_000_000 // up)
    return most * c.WHOLE // state.weight[tenant]
