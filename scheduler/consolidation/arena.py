"""A snapshot of one cluster as the search's tables."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.feasibility import Eligibility, eligibility
from scheduler.cluster.mobility import bound_domains, immovable
from scheduler.cluster.occupancy import borrowers
from scheduler.cluster.ports import Given, in_conflict
from scheduler.cluster.reasons import IMMOVABLE
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Ints, Longs, Snapshot
from scheduler.consolidation import columns as c
from scheduler.consolidation.columns import NONE, Arena
from scheduler.consolidation.company import Company, company_of
from scheduler.consolidation.kernel import edition, entry
from scheduler.consolidation.room import MASKED, settle
from scheduler.plan.pace import owner_of

UNLIMITED = 2**62
RESTING = IMMOVABLE.index("resting")


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """The tables, and what the planner keeps beside them.  Axes as in ``Arena``."""

    arena: Arena
    rules: Eligibility
    takes: Bools  # [n] may receive, as far as the node itself goes
    empty_before: Bools  # [n] counted as empty before the plan


def compile_arena(snapshot: Snapshot, scope: Bools, resting: Collection[str] = ()) -> Compiled:
    """``scope`` [n]: nodes that the plan may empty; ``resting``: workloads (``pace.owner_of``) whose pods stay."""
    company = company_of(snapshot)
    pod = _pod_table(snapshot, company, _fixed(snapshot, resting))
    node = _node_table(snapshot, pod)
    slices = _slice_table(snapshot, company, node, pod)
    rules = eligibility(snapshot)
    pod[:, c.P_CLASS], node[:, c.N_CLASS] = rules.pod_class, rules.node_class
    widest = max(1, int(snapshot.node_gpus.max(initial=1)))
    arena = Arena(
        node=node,
        pod=pod,
        eligible=rules.matrix.copy(),
        at_level=np.array([*snapshot.node_at_level, np.full(len(node), NONE)], np.int32),
        company_start=company.start,
        company=company.entries,
        **_listed(snapshot, pod),
        slices=slices,
        own_memory=_own_memory(snapshot, node, widest),
        rest=np.zeros(widest, np.int64),
        memory=np.zeros(widest, np.int64),
        touched=np.zeros(widest, np.int64),
        shares=np.zeros(int(snapshot.pod_live.sum()) + 1, np.int64),
        log=np.zeros((int((pod[:, c.P_FIXED] == 0).sum()) + _fullest(snapshot) + 1, c.LOG_COLUMNS), np.int64),
        work=np.zeros(c.WORK_COLUMNS, np.int64),
        stuck=np.full((2, group_alike(pod), 2), c.ENDLESS, np.int64),
    )
    arena.work[c.W_OPENED], arena.work[c.W_PROFILES] = NONE, len(company.profiles)
    _book_all(arena, snapshot)
    counted = snapshot.node_usable & (snapshot.node_allocatable > 0)
    empty = counted & (node[:, c.N_WORK] == 0)
    node[:, c.N_WORKED] = node[:, c.N_WORK]
    node[:, c.N_DRAINABLE] = counted & scope
    takes = snapshot.node_usable & ~doubled_ports(snapshot)
    node[:, c.N_OPEN] = takes & ~empty
    return Compiled(arena, rules, takes, empty)


def doubled_ports(snapshot: Snapshot) -> Bools:
    """[n] Nodes where two live pods use host ports that collide already: no copy may arrive beside them."""
    users = np.array([bool(spec.host_ports) for spec in snapshot.pod_specs], np.bool_)
    doubled = np.zeros(len(snapshot.node_name), np.bool_)
    held: dict[int, list[tuple[int, Given]]] = {}
    for p in np.flatnonzero(users[snapshot.pod_spec] & snapshot.pod_live).tolist() if len(users) else ():
        ports = snapshot.pod_specs[snapshot.pod_spec[p]].host_ports
        held.setdefault(int(snapshot.pod_node[p]), []).extend((p, port) for port in ports)
    doubled[[n for n, ports in held.items() if len(ports) > 1 and in_conflict(ports)]] = True
    return doubled


def _fixed(snapshot: Snapshot, resting: Collection[str]) -> Longs:
    """[p] 0 for pods that may move, else the position of the reason, or LENT."""
    fixed = immovable(snapshot).astype(np.int64)
    if resting:
        fixed[(fixed == 0) & _of_workloads(snapshot, set(resting))] = RESTING
    lent = _tied_borrowers(snapshot)
    fixed[lent] = np.where(fixed[lent] == 0, c.LENT, fixed[lent])
    return fixed


def _of_workloads(snapshot: Snapshot, names: set[str]) -> Bools:
    """[p] pods of the named workloads."""
    specs = snapshot.pod_spec.tolist()
    owners = (owner_of(snapshot.pod_key(p), snapshot.pod_specs[spec]) for p, spec in enumerate(specs))
    return np.fromiter((owner in names for owner in owners), np.bool_, len(specs))


def _tied_borrowers(snapshot: Snapshot) -> Ints:
    """Those whose lender keeps the node: an agent keeps none, so who borrows from one may leave like any other."""
    lent = borrowers(snapshot)
    return np.asarray(lent[~snapshot.pod_agent[snapshot.pod_lender[lent]]], np.int32)


def _pod_table(snapshot: Snapshot, company: Company, fixed: Longs) -> Longs:
    pods = len(snapshot.pod_name)
    table = np.full((pods, c.POD_COLUMNS), NONE, np.int64)
    table[:, c.P_CPU], table[:, c.P_MEMORY] = snapshot.pod_cpu_milli, snapshot.pod_memory_mib
    table[:, c.P_GPUS], table[:, c.P_MILLI] = snapshot.pod_gpus, snapshot.pod_gpu_milli
    table[:, c.P_FIXED], table[:, c.P_MOVED], table[:, c.P_STEADY] = fixed, 0, 1
    table[:, c.P_AGENT], table[:, c.P_IDENTITY] = snapshot.pod_agent, np.arange(pods)
    table[:, c.P_COMPANY], table[:, c.P_TRAITS] = company.row, company.traits[company.row] if pods else 0
    table[:, c.P_DEVICE_MEMORY] = snapshot.pod_gpu_memory_mib
    sliced = np.array([bool(spec.mig) for spec in snapshot.pod_specs], np.bool_)[snapshot.pod_spec]
    table[sliced, c.P_GPUS] = 0  # slices are not GPUs
    table[:, c.P_NODE] = np.where(snapshot.pod_live, snapshot.pod_node, NONE)
    _require_topology(snapshot, table)
    _reduce_borrowers(snapshot, table)
    return table


def _require_topology(snapshot: Snapshot, table: Longs) -> None:
    for p, homes in bound_domains(snapshot).items():
        table[p, c.P_TRAITS] |= c.TRAIT_TOPOLOGY
        held = [(level, domain) for level, domain in homes.items() if level != UNKNOWN]
        for (level, domain), columns in zip(held, ((c.P_LEVEL, c.P_DOMAIN), (c.P_LEVEL_2, c.P_DOMAIN_2)), strict=False):
            table[p, list(columns)] = level, domain


def _reduce_borrowers(snapshot: Snapshot, table: Longs) -> None:
    """Leave of each borrower only what it adds to its node beyond the lender's request and the borrowers before it."""
    spare: dict[int, list[int]] = {}
    for p in _tied_borrowers(snapshot).tolist():
        lender = int(snapshot.pod_lender[p])
        rest = spare.setdefault(lender, [int(snapshot.pod_cpu_milli[lender]), int(snapshot.pod_gpus[lender])])
        cpu = min(rest[0], int(table[p, c.P_CPU]))
        rest[0] -= cpu
        table[p, c.P_CPU] -= cpu
        if snapshot.pod_gpu_milli[lender] == WHOLE_GPU_MILLI == snapshot.pod_gpu_milli[p]:
            gpus = min(rest[1], int(table[p, c.P_GPUS]))
            rest[1] -= gpus
            table[p, c.P_GPUS] -= gpus


def group_alike(pod: Longs) -> int:
    """Fill P_GROUP; returns how many groups there are."""
    pod[:, c.P_GROUP] = number_alike(pod, (c.P_CLASS, c.P_GPUS, c.P_MILLI, c.P_DEVICE_MEMORY))
    return int(pod[:, c.P_GROUP].max(initial=-1)) + 1


def number_alike(table: Longs, columns: Iterable[int]) -> Longs:
    """[rows] Numbers from 0 on, equal for rows that are equal in the columns."""
    code, codes = np.zeros(len(table), np.int64), 1
    for column in columns:
        value = table[:, column] - table[:, column].min(initial=0)
        values = int(value.max(initial=0)) + 1
        if codes * values > UNLIMITED:
            (code, codes), (value, values) = _dense(code), _dense(value)
        code, codes = code * values + value, codes * values
    return _dense(code)[0]


def _dense(code: Longs) -> tuple[Longs, int]:
    kinds, number = np.unique(code, return_inverse=True)
    return number.astype(np.int64), len(kinds)


def _node_table(snapshot: Snapshot, pod: Longs) -> Longs:
    nodes = len(snapshot.node_name)
    table = np.zeros((nodes, c.NODE_COLUMNS), np.int64)
    table[:, c.N_CPU], table[:, c.N_MEMORY] = snapshot.node_cpu_milli, snapshot.node_memory_mib
    table[:, c.N_SLOTS], table[:, c.N_DEVICES] = snapshot.node_max_pods, snapshot.node_gpus
    table[:, c.N_ROOM] = snapshot.node_allocatable
    table[:, c.N_MILLI] = snapshot.node_allocatable.astype(np.int64) * WHOLE_GPU_MILLI
    table[:, [c.N_FIRST, c.N_SLICES, c.N_OWN]] = NONE
    known = snapshot.node_gpu_memory_mib
    table[:, c.N_DEVICE_MEMORY] = np.where(known == ABSENT, UNLIMITED, known)
    _note_devices(snapshot, table)
    _chain(pod, table)
    return table


def _note_devices(snapshot: Snapshot, table: Longs) -> None:
    """Broken devices by mask, and the memory of the smallest whole one."""
    for n, devices in snapshot.node_devices.items():
        broken = [device.index for device in devices if device.health == "failed" or device.mig]
        table[n, c.N_BROKEN] = sum(1 << index for index in broken if index < MASKED)
        own = [device.memory_mib for device in devices if device.memory_mib is not None and device.index not in broken]
        table[n, c.N_DEVICE_MEMORY] = min([int(table[n, c.N_DEVICE_MEMORY]), *own])


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


def _own_memory(snapshot: Snapshot, node: Longs, widest: int) -> Longs:
    """[nodes, devices] Memory device by device, for nodes where some device states its own."""
    rows: list[Longs] = []
    for n, devices in snapshot.node_devices.items():
        own = {device.index: device.memory_mib for device in devices if device.memory_mib is not None}
        if own:
            known = int(snapshot.node_gpu_memory_mib[n])
            row = np.full(widest, UNLIMITED if known == ABSENT else known, np.int64)
            row[list(own)] = list(own.values())
            node[n, c.N_OWN] = len(rows)
            rows.append(row)
    return np.array(rows, np.int64).reshape(len(rows), widest)


def _slice_table(snapshot: Snapshot, company: Company, node: Longs, pod: Longs) -> Longs:
    """[slice nodes, profiles then resources] what the nodes offer; nothing where pods use some all the same."""
    rows: list[list[int]] = []
    if not (company.profiles or company.resources):
        return np.zeros((0, 1), np.int64)
    sliced = (pod[:, c.P_NODE] >= 0) & ((pod[:, c.P_TRAITS] & c.TRAIT_SLICES) != 0)
    users = set(pod[sliced, c.P_NODE].tolist())
    has = _offering(snapshot, company.resources)
    for n in sorted(users | set(snapshot.node_devices) | set(has)):
        devices = snapshot.node_devices.get(n, ())
        offered = [(mig.profile, mig.count) for device in devices if device.health != "failed" for mig in device.mig]
        if offered or n in users or n in has:
            node[n, c.N_SLICES] = len(rows)
            slices = [sum(count for name, count in offered if name == profile) for profile in company.profiles]
            rows.append([*slices, *has.get(n, [0] * len(company.resources))])
    return np.array(rows, np.int64).reshape(len(rows), len(company.profiles) + len(company.resources))


def _offering(snapshot: Snapshot, resources: tuple[str, ...]) -> dict[int, list[int]]:
    """By node, what it has of each resource; only nodes that have any."""
    if not resources:
        return {}
    amounts = [[dict(spec.resources).get(name, 0) for name in resources] for spec in snapshot.node_specs]
    return {n: amounts[spec] for n, spec in enumerate(snapshot.node_spec.tolist()) if any(amounts[spec])}


def _listed(snapshot: Snapshot, pod: Longs) -> dict[str, Longs]:
    start: list[int] = [0]
    entries: list[int] = []
    listed = _listed_once(snapshot, pod)
    for p in sorted(listed):
        pod[p, c.P_LISTED] = len(start) - 1
        entries += listed[p]
        start.append(len(entries))
    return {"listed_start": np.array(start, np.int64), "listed": np.array(entries or [0], np.int64)}


def _listed_once(snapshot: Snapshot, pod: Longs) -> dict[int, tuple[int, ...]]:
    """The devices that pods list, without those of borrowers that their lender lists too: whole ones count once."""
    listed = dict(snapshot.pod_devices)
    spare: dict[int, set[int]] = {}
    whole = snapshot.pod_gpu_milli == WHOLE_GPU_MILLI
    for p in _tied_borrowers(snapshot).tolist():
        lender = int(snapshot.pod_lender[p])
        if p in listed and lender in snapshot.pod_devices and whole[p] and whole[lender]:
            left = spare.setdefault(lender, set(snapshot.pod_devices[lender]))
            own = tuple(device for device in listed[p] if device not in left)
            left.difference_update(listed[p])
            listed[p], pod[p, c.P_GPUS] = own, len(own)
    return {p: devices for p, devices in listed.items() if devices}


def _fullest(snapshot: Snapshot) -> int:
    """Live pods of the node that has most: what is tried and taken back for one node fits behind the log."""
    return int(np.bincount(snapshot.pod_node[snapshot.pod_live]).max(initial=0))


def _book_all(a: Arena, snapshot: Snapshot) -> None:
    """Take what the live pods use from the free columns."""
    live = np.flatnonzero(snapshot.pod_live)
    home, pod = a.pod[live, c.P_NODE], a.pod[live]
    work = pod[:, c.P_AGENT] == 0
    share = (pod[:, c.P_GPUS] > 0) & (pod[:, c.P_MILLI] != WHOLE_GPU_MILLI)
    # Too large for the smallest device: whether all of the node's pods lie on its devices has to be computed
    swollen = (pod[:, c.P_GPUS] > 0) & ~share & (pod[:, c.P_DEVICE_MEMORY] > a.node[home, c.N_DEVICE_MEMORY])
    for column, amount in (
        (c.N_CPU, -pod[:, c.P_CPU]),
        (c.N_MEMORY, -pod[:, c.P_MEMORY]),
        (c.N_SLOTS, -np.ones(len(live), np.int64)),
        (c.N_MILLI, -pod[:, c.P_GPUS] * pod[:, c.P_MILLI]),
        (c.N_WORK, work),
        (c.N_PINNED, work & (pod[:, c.P_FIXED] > 0)),
        (c.N_FLOATING, share | swollen | (pod[:, c.P_LISTED] != NONE)),
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


settle_all = _settle_entry(edition("room"))
