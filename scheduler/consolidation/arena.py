"""A snapshot of one cluster as the search's tables."""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import MOVE_NEVER, UNKNOWN, Bools, Ints, Longs, Snapshot
from scheduler.consolidation import columns as c
from scheduler.consolidation.columns import NONE, Arena
from scheduler.consolidation.company import Company, company_of, covered
from scheduler.consolidation.kernel import edition, entry
from scheduler.consolidation.room import settle

NOWHERE = -2  # a required domain that no node has
FIXED_WORDS = ("", "agent", "terminating", "locked", "never", "lender", "lent", "budget")


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """The tables, and what the planner keeps beside them.  Axes as in ``Arena``; b budget."""

    arena: Arena
    budgets_of: list[list[int]]  # [k] budgets that cover a kind of pod
    budget_left: Longs  # [b] pods that may be away at one time
    empty_before: Bools  # [n] counted as empty before the plan
    scope: Bools  # [n] may be drained


def classes(snapshot: Snapshot):
    """Provisional."""
    from fnmatch import fnmatch
    nodes, pods, nc, pc = {}, {}, [], []
    for n in range(len(snapshot.node_name)):
        key = (int(snapshot.node_spec[n]), int(snapshot.node_model[n]), int(snapshot.node_zone[n]), int(snapshot.node_gpu_memory_mib[n]))
        nc.append(nodes.setdefault(key, len(nodes)))
    for p in range(len(snapshot.pod_name)):
        key = (int(snapshot.pod_spec[p]), bool(snapshot.pod_gpus[p]), int(snapshot.pod_gpu_memory_mib[p]))
        pc.append(pods.setdefault(key, len(pods)))
    def ok(pk, nk):
        spec, node = snapshot.pod_specs[pk[0]], snapshot.node_specs[nk[0]]
        labels = dict(node.labels)
        if pk[1]:
            if nk[1] < 0 or (spec.gpu_models and snapshot.models[nk[1]] not in spec.gpu_models): return False
            if pk[2] > max(nk[3], 0): return False
        if any(labels.get(k) != v for k, v in spec.node_selector): return False
        if spec.only_node: return False
        if spec.volume_zone and (nk[2] < 0 or snapshot.zones[nk[2]] != spec.volume_zone): return False
        for t in node.taints:
            if t.effect in ("NoSchedule", "NoExecute") and not any(
                (x.key == t.key or (not x.key and x.operator == "Exists")) and (x.operator == "Exists" or (x.value or "") == (t.value or "")) and x.effect in (None, "", t.effect) for x in spec.tolerations): return False
        return True
    m = np.array([[ok(p, n) for n in nodes] for p in pods], bool).reshape(len(pods), len(nodes))
    return np.array(pc, np.int64), np.array(nc, np.int64), m


def compile_arena(snapshot: Snapshot, scope: Bools) -> Compiled:
    """``scope`` [n]: nodes that the plan may empty."""
    company = company_of(snapshot)
    budgets_of = covered(company, snapshot, [cluster.name for cluster in snapshot.clusters])
    left = _budget_left(snapshot, company, budgets_of)
    pod = _pod_table(snapshot, company, _fixed(snapshot, company, budgets_of, left))
    node = _node_table(snapshot, pod)
    slices = _slice_table(snapshot, company, node)
    pod_class, node_class, eligible = classes(snapshot)
    pod[:, c.P_CLASS], node[:, c.N_CLASS] = pod_class, node_class
    arena = Arena(
        node=node,
        pod=pod,
        eligible=eligible,
        at_level=snapshot.node_at_level if len(snapshot.levels) else np.full((1, len(node)), NONE, np.int32),
        company_start=company.start,
        company=company.entries,
        **_listed(snapshot, pod),
        slices=slices,
        rest=np.zeros(max(1, int(snapshot.node_gpus.max(initial=1))), np.int64),
        shares=np.zeros(_most_pods(snapshot) + 1, np.int64),
        log=np.zeros((int((pod[:, c.P_FIXED] == 0).sum()) + 1, c.LOG_COLUMNS), np.int64),
        work=np.zeros(c.WORK_COLUMNS, np.int64),
    )
    _book_all(arena, snapshot)
    counted = snapshot.node_usable & (snapshot.node_allocatable > 0)
    empty = counted & (node[:, c.N_WORK] == 0)
    node[:, c.N_WORKED] = node[:, c.N_WORK]
    node[:, c.N_DRAINABLE] = counted & scope
    node[:, c.N_OPEN] = snapshot.node_usable & ~empty
    return Compiled(arena, budgets_of, left, empty, scope)


def _budget_left(snapshot: Snapshot, company: Company, budgets_of: list[list[int]]) -> Longs:
    """[b] max_unavailable less terminating pods, or live ones that stay less min_available."""
    kinds = len(company.spec)
    live, going = snapshot.pod_live, snapshot.pod_live & snapshot.pod_terminating
    per_kind = np.bincount(company.row[live], minlength=kinds), np.bincount(company.row[going], minlength=kinds)
    left = np.zeros(len(snapshot.pdbs), np.int64)
    for b, budget in enumerate(snapshot.pdbs):
        covers = np.array([b in found for found in budgets_of], np.bool_)
        bound, leaving = (int(counts[covers].sum()) for counts in per_kind)
        if budget.max_unavailable is not None:
            left[b] = budget.max_unavailable - leaving
        else:
            left[b] = bound - leaving - (budget.min_available or 0)
    return left


def _fixed(snapshot: Snapshot, company: Company, budgets_of: list[list[int]], left: Longs) -> Longs:
    """[p] 0 for pods that may move, else the position in FIXED_WORDS of the first word that forbids it."""
    lenders = np.zeros(len(snapshot.pod_name), np.bool_)
    lenders[snapshot.pod_lender[snapshot.pod_live & (snapshot.pod_lender != UNKNOWN)]] = True
    spent = np.array([any(left[b] <= 0 for b in found) for found in budgets_of], np.bool_)
    rules = (
        ("agent", snapshot.pod_agent),
        ("terminating", snapshot.pod_terminating),
        ("locked", snapshot.pod_locked),
        ("never", snapshot.pod_move == MOVE_NEVER),
        ("lender", lenders),
        ("lent", _borrowing(snapshot)),
        ("budget", spent[company.row] if len(spent) else np.zeros(0, np.bool_)),
    )
    fixed = np.zeros(len(snapshot.pod_name), np.int64)
    for word, holds in reversed(rules):
        fixed[holds] = FIXED_WORDS.index(word)
    return fixed


def _borrowing(snapshot: Snapshot) -> Bools:
    """[p] Borrowers beside their lender: on that node both use the larger of the two together."""
    lender = snapshot.pod_lender
    beside = (lender != UNKNOWN) & snapshot.pod_live & snapshot.pod_live[lender]
    return np.asarray(beside & (snapshot.pod_node == snapshot.pod_node[lender]))


def _pod_table(snapshot: Snapshot, company: Company, fixed: Longs) -> Longs:
    pods = len(snapshot.pod_name)
    table = np.full((pods, c.POD_COLUMNS), NONE, np.int64)
    table[:, c.P_CPU], table[:, c.P_MEMORY] = snapshot.pod_cpu_milli, snapshot.pod_memory_mib
    table[:, c.P_GPUS], table[:, c.P_MILLI] = snapshot.pod_gpus, snapshot.pod_gpu_milli
    table[:, c.P_FIXED], table[:, c.P_MOVED], table[:, c.P_STEADY] = fixed, 0, 1
    table[:, c.P_AGENT], table[:, c.P_IDENTITY] = snapshot.pod_agent, np.arange(pods)
    table[:, c.P_COMPANY], table[:, c.P_TRAITS] = company.row, company.traits[company.row] if pods else 0
    table[:, c.P_NODE] = np.where(snapshot.pod_live, snapshot.pod_node, NONE)
    _require_topology(snapshot, table)
    _reduce_borrowers(snapshot, table)
    return table


def _require_topology(snapshot: Snapshot, table: Longs) -> None:
    """A pod whose gang must share a domain stays in the one where the gang stands now."""
    gang_level = [gang.topology and gang.topology.required for gang in snapshot.gangs]
    spec_level = [spec.topology and spec.topology.required for spec in snapshot.pod_specs]
    if not any(gang_level) and not any(spec_level):
        return
    levels = {name: i for i, name in enumerate(snapshot.levels)}
    for p in np.flatnonzero(snapshot.pod_live).tolist():
        g = int(snapshot.pod_gang[p])
        own = g == UNKNOWN or snapshot.gangs[g].topology is None
        level = spec_level[snapshot.pod_spec[p]] if own else gang_level[g]
        if not level:
            continue
        table[p, c.P_TRAITS] |= c.TRAIT_TOPOLOGY
        table[p, c.P_LEVEL] = max(levels.get(level, NONE), 0)
        table[p, c.P_DOMAIN] = _domain(snapshot, p, g, levels[level]) if level in levels else NOWHERE


def _domain(snapshot: Snapshot, p: int, gang: int, level: int) -> int:
    if gang == UNKNOWN:
        return NONE
    members = snapshot.pod_live & (snapshot.pod_gang == gang)
    homes = np.unique(snapshot.node_at_level[level, snapshot.pod_node[members]])
    return int(homes[0]) if len(homes) == 1 and homes[0] != UNKNOWN else NOWHERE


def _reduce_borrowers(snapshot: Snapshot, table: Longs) -> None:
    """Leave of each borrower only what it adds to its node beyond the lender's request and the borrowers before it."""
    spare: dict[int, list[int]] = {}
    for p in np.flatnonzero(_borrowing(snapshot)).tolist():
        lender = int(snapshot.pod_lender[p])
        rest = spare.setdefault(lender, [int(snapshot.pod_cpu_milli[lender]), int(snapshot.pod_gpus[lender])])
        cpu = min(rest[0], int(table[p, c.P_CPU]))
        rest[0] -= cpu
        table[p, c.P_CPU] -= cpu
        if snapshot.pod_gpu_milli[lender] == WHOLE_GPU_MILLI == snapshot.pod_gpu_milli[p]:
            gpus = min(rest[1], int(table[p, c.P_GPUS]))
            rest[1] -= gpus
            table[p, c.P_GPUS] -= gpus


def _node_table(snapshot: Snapshot, pod: Longs) -> Longs:
    nodes = len(snapshot.node_name)
    table = np.zeros((nodes, c.NODE_COLUMNS), np.int64)
    table[:, c.N_CPU], table[:, c.N_MEMORY] = snapshot.node_cpu_milli, snapshot.node_memory_mib
    table[:, c.N_SLOTS], table[:, c.N_DEVICES] = snapshot.node_max_pods, snapshot.node_allocatable
    table[:, c.N_MILLI] = snapshot.node_allocatable.astype(np.int64) * WHOLE_GPU_MILLI
    table[:, c.N_FIRST], table[:, c.N_SLICES] = NONE, NONE
    _chain(pod, table)
    return table


def _chain(pod: Longs, node: Longs) -> None:
    """Link the pods of each node in the order of their rows."""
    bound = np.flatnonzero(pod[:, c.P_NODE] >= 0)
    order = bound[np.argsort(pod[bound, c.P_NODE], kind="stable")]
    home = pod[order, c.P_NODE]
    same = home[1:] == home[:-1]
    pod[order[:-1][same], c.P_NEXT] = order[1:][same]
    pod[order[1:][same], c.P_PREVIOUS] = order[:-1][same]
    first = np.concatenate([[True], ~same]) if len(order) else np.zeros(0, np.bool_)
    node[home[first], c.N_FIRST] = order[first]


def _slice_table(snapshot: Snapshot, company: Company, node: Longs) -> Longs:
    """[slice nodes, profiles] what the nodes' partitioned devices offer."""
    rows = []
    for n, devices in snapshot.node_devices.items():
        offered = [(mig.profile, mig.count) for device in devices if device.health != "failed" for mig in device.mig]
        if offered and company.profiles:
            node[n, c.N_SLICES] = len(rows)
            rows.append([sum(count for name, count in offered if name == profile) for profile in company.profiles])
    return np.array(rows, np.int64).reshape(len(rows), max(1, len(company.profiles)))


def _listed(snapshot: Snapshot, pod: Longs) -> dict[str, Longs]:
    start, entries = [0], []
    for p in sorted(snapshot.pod_devices):
        pod[p, c.P_LISTED] = len(start) - 1
        entries += snapshot.pod_devices[p]
        start.append(len(entries))
    return {"listed_start": np.array(start, np.int64), "listed": np.array(entries or [0], np.int64)}


def _most_pods(snapshot: Snapshot) -> int:
    """Pods that one node could hold at once in any plan: all that share devices on the fullest, and some more."""
    live = snapshot.pod_node[snapshot.pod_live]
    return int(np.bincount(live).max(initial=0)) + len(live)


def _book_all(a: Arena, snapshot: Snapshot) -> None:
    """Take what the live pods use from the free columns."""
    live = np.flatnonzero(snapshot.pod_live)
    home, pod = a.pod[live, c.P_NODE], a.pod[live]
    work = pod[:, c.P_AGENT] == 0
    share = (pod[:, c.P_GPUS] > 0) & (pod[:, c.P_MILLI] != WHOLE_GPU_MILLI)
    for column, amount in (
        (c.N_CPU, -pod[:, c.P_CPU]),
        (c.N_MEMORY, -pod[:, c.P_MEMORY]),
        (c.N_SLOTS, -np.ones(len(live), np.int64)),
        (c.N_MILLI, -pod[:, c.P_GPUS] * pod[:, c.P_MILLI]),
        (c.N_WORK, work),
        (c.N_PINNED, work & (pod[:, c.P_FIXED] > 0)),
        (c.N_FLOATING, share | (pod[:, c.P_LISTED] != NONE)),
    ):
        np.add.at(a.node[:, column], home, amount)
    _book_slices(a, live[(pod[:, c.P_TRAITS] & c.TRAIT_SLICES) != 0])
    settle_all(a)


def _book_slices(a: Arena, pods: Longs) -> None:
    for p in pods.tolist():
        row, k = int(a.node[a.pod[p, c.P_NODE], c.N_SLICES]), int(a.pod[p, c.P_COMPANY])
        first, last = a.company_start[c.SLICES, k : k + 2]
        counts = int(a.company_start[c.SLICE_COUNTS, k])
        if row != NONE:
            np.subtract.at(a.slices[row], a.company[first:last], a.company[counts : counts + last - first])


def _settle_entry(stamp: int):  # type: ignore[no-untyped-def]
    @entry
    def settle_nodes(a: Arena) -> None:
        for t in range(len(a.node)):
            if stamp >= 0:
                settle(a, t)

    return settle_nodes


settle_all = _settle_entry(edition(vars(c)))
