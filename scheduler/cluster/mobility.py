"""Which pods may not move in any plan, and why; and the domain that holds a pod of required topology."""

from collections.abc import Iterator

import numpy as np

from scheduler.cluster import budgets
from scheduler.cluster.reasons import IMMOVABLE
from scheduler.cluster.records import TopologyRecord
from scheduler.cluster.rows import frozen
from scheduler.cluster.snapshot import MOVE_NEVER, MOVE_RESTART, UNKNOWN, Bools, Bytes, Snapshot

ANYWHERE, NOWHERE = -1, -2


def immovable(snapshot: Snapshot) -> Bytes:
    """[p] Position in ``reasons.IMMOVABLE`` of the first reason that holds, 0 for pods that may move.

    Said of every pod; one that is not live has nothing to move, and its code says only what its fields say.
    """
    code = np.zeros(len(snapshot.pod_name), np.int8)
    rules = {
        "agent": snapshot.pod_agent,
        "terminating": snapshot.pod_terminating,
        "locked": snapshot.pod_locked,
        "move_never": snapshot.pod_move == MOVE_NEVER,
        "budget": _budget_spent(snapshot),
        "lender": lenders(snapshot),
        "gang": _gang_breaks(snapshot),
        "topology": _scattered(snapshot),
    }
    for position in range(len(IMMOVABLE) - 1, 0, -1):
        if IMMOVABLE[position] in rules:
            code[rules[IMMOVABLE[position]]] = position
    return frozen(code)


def lenders(snapshot: Snapshot) -> Bools:
    """[p] Named by any ``lent_by``."""
    named = np.zeros(len(snapshot.pod_name), np.bool_)
    named[snapshot.pod_lender[snapshot.pod_lender != UNKNOWN]] = True
    return named


def _budget_spent(snapshot: Snapshot) -> Bools:
    spent = np.zeros(len(snapshot.pod_name), np.bool_)
    pods = budgets.covered(snapshot)
    for rows, remaining in zip(pods, budgets.left(snapshot, pods).tolist(), strict=True):
        if remaining <= 0:
            spent[rows] = True
    return spent


def gang_spare(snapshot: Snapshot) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """[g] Members that may be stopped at one time before the gang falls below ``min_members``."""
    running = snapshot.pod_live & ~snapshot.pod_terminating & (snapshot.pod_gang != UNKNOWN)
    members = np.bincount(snapshot.pod_gang[running], minlength=len(snapshot.gangs))
    return members - np.array([gang.min_members for gang in snapshot.gangs], np.int64)


def _gang_breaks(snapshot: Snapshot) -> Bools:
    """[p] Stopping this pod first would take its gang below ``min_members``."""
    stops = (snapshot.pod_move == MOVE_RESTART) & (snapshot.pod_gang != UNKNOWN) & snapshot.pod_live
    if not stops.any():
        return np.asarray(stops)
    return np.asarray(stops & (gang_spare(snapshot)[snapshot.pod_gang] <= 0))


def required_levels(snapshot: Snapshot, pod: int) -> list[str]:
    """Levels at which the pod's own wish or its gang's wish binds."""
    gang = int(snapshot.pod_gang[pod])
    wishes = (snapshot.pod_specs[snapshot.pod_spec[pod]].topology, None if gang < 0 else snapshot.gangs[gang].topology)
    return sorted({level for wish in wishes if (level := _required(wish)) is not None})


def _required(wish: TopologyRecord | None) -> str | None:
    return None if wish is None else wish.required


def bound_domains(snapshot: Snapshot) -> dict[int, dict[int, int]]:
    """For each live pod with required topology: level -> the domain it must stay in.

    A gang's members must stay in the domain that all live members share, NOWHERE if they share none or nobody knows;
    a pod without a gang may go to any known domain of the level (ANYWHERE).  A level that no domain has is NOWHERE,
    under the key UNKNOWN.
    """
    levels = {name: i for i, name in enumerate(snapshot.levels)}
    shared: dict[tuple[int, int], int] = {}
    found: dict[int, dict[int, int]] = {}
    for pod in _wishing(snapshot):
        gang = int(snapshot.pod_gang[pod])
        found[pod] = {}
        for word in required_levels(snapshot, pod):
            level = levels.get(word, UNKNOWN)
            if level == UNKNOWN:
                found[pod][UNKNOWN] = NOWHERE
            elif gang == UNKNOWN:
                found[pod][level] = ANYWHERE
            else:
                if (gang, level) not in shared:
                    shared[gang, level] = _shared(snapshot, gang, level)
                found[pod][level] = shared[gang, level]
    return found


def _wishing(snapshot: Snapshot) -> Iterator[int]:
    specs = np.array([_required(spec.topology) is not None for spec in snapshot.pod_specs], np.bool_)
    gangs = np.array([_required(gang.topology) is not None for gang in snapshot.gangs] + [False], np.bool_)
    wishes = snapshot.pod_live & (specs[snapshot.pod_spec] | gangs[snapshot.pod_gang])
    yield from np.flatnonzero(wishes).tolist()


def _shared(snapshot: Snapshot, gang: int, level: int) -> int:
    nodes = snapshot.pod_node[(snapshot.pod_gang == gang) & snapshot.pod_live]
    domains = np.unique(snapshot.node_at_level[level, nodes])
    return int(domains[0]) if len(domains) == 1 and domains[0] != UNKNOWN else NOWHERE


def _scattered(snapshot: Snapshot) -> Bools:
    held = np.zeros(len(snapshot.pod_name), np.bool_)
    held[[pod for pod, homes in bound_domains(snapshot).items() if NOWHERE in homes.values()]] = True
    return held
