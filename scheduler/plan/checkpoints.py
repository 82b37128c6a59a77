"""Moves that wait for a checkpoint: which they are, where in the plan they stand, and what the judge asks of them.

A pod that is stopped to move loses its work since the last checkpoint; right after the next one it loses almost none.
Its owner allows the stop (``move: restart``) and its job tells when it writes; an operator says how long to wait.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from scheduler.cluster.snapshot import ABSENT, MOVE_RESTART, UNKNOWN, Snapshot
from scheduler.plan.operations import LEAVE, MOVE_ANYWAY, AfterCheckpoint, Migrate
from scheduler.plan.plan import Plan
from scheduler.plan.resolve import Rows, resolve
from scheduler.plan.waves import in_waves

Fault = tuple[int, str]  # move, what is wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """What an operator says of the pods of one pool and tenant."""

    limit_s: int = 0  # so long at most; 0: moves do not wait
    lag_s: int = 15  # from a checkpoint to the stop of the pod
    otherwise: str = LEAVE  # when the time is over


PatienceOf = Callable[[str, str], Patience]  # GPU model of the pod's node, tenant; "" where unknown


def told(snapshot: Snapshot, pod: int) -> tuple[int, int] | None:
    """(seconds since the last checkpoint, until the next one); None where the job does not tell."""
    interval, last = int(snapshot.pod_checkpoint_interval_s[pod]), int(snapshot.pod_checkpoint_s[pod])
    if interval <= 0 or last == ABSENT:
        return None
    age = max(0, snapshot.now_s - last)
    return age, interval - age % interval


def with_waits(plan: Plan, snapshot: Snapshot, patience_of: PatienceOf) -> Plan:
    """The plan whose moves wait where that loses less work and is expected to be over in time.

    Their waves are as before: ``statement.waiting_last`` puts them behind the others.
    """
    rows = resolve(plan, snapshot)
    there = rows.snapshot
    models, tenants = (*there.models, ""), (*there.tenants, "")
    moves = []
    for move, pod in zip(plan.moves, rows.pod, strict=True):
        patience = patience_of(models[there.node_model[there.pod_node[pod]]], tenants[there.pod_tenant[pod]])
        moves.append(_waiting(move, there, pod, patience.limit_s, patience.lag_s, patience.otherwise))
    return msgspec.structs.replace(plan, moves=tuple(moves))


def again(plan: Plan, rows: Rows) -> Plan:
    """The same moves on another reading: those that wait are asked anew whether it is worth it."""
    moves = [
        move if (wait := move.checkpoint) is None
        else _waiting(move, rows.snapshot, pod, wait.limit_s, wait.lost_after_s, wait.otherwise)
        for move, pod in zip(plan.moves, rows.pod, strict=True)
    ]  # fmt: skip
    return msgspec.structs.replace(plan, moves=tuple(moves))


def _waiting(move: Migrate, snapshot: Snapshot, pod: int, limit_s: int, lag_s: int, otherwise: str) -> Migrate:
    found = told(snapshot, pod) if pod != UNKNOWN and move.mode == "restart" else None
    wait: AfterCheckpoint | msgspec.UnsetType = msgspec.UNSET
    if found is not None and lag_s < found[0] and found[1] <= limit_s:
        wait = AfterCheckpoint(
            lost_s=found[0], lost_after_s=lag_s, wait_s=found[1], limit_s=limit_s, otherwise=otherwise
        )
    return msgspec.structs.replace(move, after_checkpoint=wait)


def late(plan: Plan, rows: Rows) -> Plan:
    """Moves that wait, and that no other move needs, in waves behind all others, so that they hold up nobody.

    At most one pod of a gang and one move of a node in each of these waves.  It is for the judge to say whether the
    cluster allows that; where it does not, the plan as it was is the one to use.
    """
    needed = {before for move in plan.moves for before in move.after}
    last = [i for i, move in enumerate(plan.moves) if move.checkpoint is not None and i not in needed]
    if not last or len(last) == len(plan.moves):
        return plan
    behind = set(last)
    used = sorted({wave for i, wave in enumerate(plan.wave_of) if i not in behind})
    wave_of = {i: used.index(wave) for i, wave in enumerate(plan.wave_of) if i not in behind}
    seen: dict[tuple[str, object], int] = defaultdict(int)
    for i in last:
        gang = int(rows.snapshot.pod_gang[rows.pod[i]])
        keys: list[tuple[str, object]] = [("node", plan.moves[i].source), ("node", plan.moves[i].target)]
        keys += [("gang", gang)] if gang != UNKNOWN else []
        place = max(seen[key] for key in keys)
        wave_of[i] = len(used) + place
        seen |= dict.fromkeys(keys, place + 1)
    moves, waves = in_waves(plan, wave_of)
    return msgspec.structs.replace(plan, moves=moves, wave_of=waves)


def faults(plan: Plan, rows: Rows, exact: bool) -> Iterator[Fault]:
    """Waits for what nobody writes; with ``exact`` also numbers that the reading does not bear out."""
    for i, (move, pod) in enumerate(zip(plan.moves, rows.pod, strict=True)):
        wait = move.checkpoint
        if wait is None or pod == UNKNOWN:
            continue
        found = told(rows.snapshot, pod)
        if found is None or int(rows.snapshot.pod_move[pod]) != MOVE_RESTART:
            yield i, "waits for a checkpoint that nobody writes"
        elif wait.otherwise not in (MOVE_ANYWAY, LEAVE) or not 0 <= wait.lost_after_s < wait.lost_s:
            yield i, "waits for a checkpoint and gains nothing by it"
        elif exact and (wait.lost_s, wait.wait_s) != found:
            yield i, f"says {wait.lost_s} s since its checkpoint and {wait.wait_s} s to the next, is {found}"
        elif exact and wait.wait_s > wait.limit_s:
            yield i, f"waits for {wait.wait_s} s, at most {wait.limit_s} s are allowed"
