"""What a simulated cluster does when it is told to: one row per operation key, in steps that survive a kill.

What has to do with standby and leases is in ``lending``.  A move has two steps, each a transaction of its own: the
copy starts on the target (from then on both count), and later, when the copy is up, the old pod ends and the copy takes
its name.  The next call with the same key finds at which step it stands; there is never a third copy.
"""

import random

import msgspec
from msgspec.structs import replace

from console.connectors.changes import Arrived, Change, Ended, Fields, Identity, NodeSet, PodSet, identity
from console.connectors.choices import OperationState
from console.connectors.holding import LONGEST_HOLD_S, held_for
from console.connectors.leaving import Course, ends_already
from console.connectors.lending import Lending, begin, ended, follow, refusal
from console.connectors.load import NO_REQUESTS, STARTING, service_of
from console.connectors.models import SimulatedCluster, SimulatedOperation
from console.connectors.protocol import Outcome, Requests, State
from console.connectors.room import shortage
from console.connectors.tide import Tide
from console.connectors.world import World
from scheduler.cluster.records import PodRecord
from scheduler.plan.operations import Bind, Cordon, Evict, Hold, Launch, Migrate, Operation, Recall, Sleep

Step = tuple[Outcome, list[Change]]
_LENDING = (Sleep, Recall, Launch, Evict)


def carry_on(
    row: SimulatedCluster,
    world: World,
    tide: Tide,
    operation: Operation,
    key: str,
    now_s: int,
    *,
    released: bool = False,
) -> Step:
    """Takes the next step of the operation ``key``; the caller holds the cluster's row and writes the changes."""
    known = SimulatedOperation.objects.filter(cluster=row, key=key).first()
    if known is None:
        return _begin(row, world, tide, operation, key, now_s, released)
    asked = msgspec.convert(known.operation, type=Operation)
    if isinstance(asked, _LENDING):
        return _follow(row, world, known, asked, now_s), []
    if known.state != OperationState.RUNNING:
        state: State = "succeeded" if known.state == OperationState.SUCCEEDED else "failed"
        return Outcome(state, known.detail, _kept(known)), []
    if now_s < known.ready_s:
        return Outcome("running", f"{known.detail}, up in {known.ready_s - now_s} s"), []
    outcome, changes = _finish(row, world, tide, known, asked)
    requests = _requests(row, world, tide, known, now_s)
    known.state, known.detail, known.ended_s = outcome.state, outcome.detail, now_s
    known.served, known.lost = requests or (None, None)
    known.save(update_fields=["state", "detail", "ended_s", "served", "lost"])
    return Outcome(outcome.state, outcome.detail, requests), changes


def _follow(row: SimulatedCluster, world: World, known: SimulatedOperation, asked: Lending, now_s: int) -> Outcome:
    if known.state != OperationState.RUNNING:
        return ended(row, known)
    outcome = follow(row, world, known, asked, now_s)
    if outcome.state != "running":
        known.state, known.detail, known.ended_s = outcome.state, outcome.detail, now_s
        known.save(update_fields=["state", "detail", "ended_s"])
    return outcome


def _begin(
    row: SimulatedCluster, world: World, tide: Tide, operation: Operation, key: str, now_s: int, released: bool
) -> Step:
    against = _refusal(world, operation, released) or _kept_off(row, world, operation, now_s)
    changes: list[Change] = []
    copy: Identity | None = None
    course: Course | None = None
    ready_s = now_s + _takes(row, tide, operation, key)
    if against is not None:
        outcome = Outcome("failed", against, _none_asked(tide) if isinstance(operation, Migrate) else None)
    elif isinstance(operation, Migrate):
        copied, changes = _start_copy(world, operation, key, now_s)
        copy = identity(copied)
        outcome = Outcome("running", f"a copy of {operation.pod} starts on {operation.target}")
    elif isinstance(operation, _LENDING):
        outcome, changes, course, ready_s = begin(row, world, tide, operation, key, now_s)
    else:
        changes = _at_once(world, operation, now_s)
        outcome = Outcome("succeeded", "done")
    served, lost = outcome.requests or (None, None)
    SimulatedOperation.objects.create(
        cluster=row, key=key, operation=msgspec.to_builtins(operation), state=outcome.state, detail=outcome.detail,
        copy=copy, asked_s=now_s, ready_s=ready_s, course=msgspec.to_builtins(course),
        ended_s=None if outcome.state == "running" or course is None else now_s,
        service=_service(world, operation), served=served, lost=lost,
    )  # fmt: skip
    return outcome, changes


def _service(world: World, operation: Operation) -> str | None:
    """Of a move that the cluster begins."""
    pod = world.pods.get((operation.cluster, operation.pod)) if isinstance(operation, Migrate) else None
    return None if pod is None else (service_of(pod) or ("", ""))[1]


def _requests(
    row: SimulatedCluster, world: World, tide: Tide, known: SimulatedOperation, now_s: int
) -> Requests | None:
    """A second that moves of one service share counts with the one that ends first, so that sums hold."""
    if not known.service:
        return None if known.service is None else _none_asked(tide)
    service = known.operation["cluster"], known.service
    before = SimulatedOperation.objects.filter(
        cluster=row, service=known.service, operation__cluster=service[0], ended_s__gt=known.asked_s
    ).values_list("asked_s", "ended_s")
    others = sorted((asked_s, ended_s) for asked_s, ended_s in before if ended_s is not None)
    served = lost = 0
    for since_s, until_s in _apart(known.asked_s, now_s, others):
        found = world.load.requests(service, since_s, until_s, tide.requests_per_s) if tide.requests_per_s else None
        if found is None:
            return None
        served, lost = served + found.served, lost + found.failed
    return Requests(served, lost)


def _none_asked(tide: Tide) -> Requests | None:
    return NO_REQUESTS if tide.requests_per_s else None


def _apart(since_s: int, until_s: int, others: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The parts of a span that none of the ``others``, which are in order, covers."""
    parts = []
    for begin_s, end_s in others:
        parts.append((since_s, min(begin_s, until_s)))
        since_s = max(since_s, end_s)
    return [*parts, (since_s, until_s)]


def _kept(known: SimulatedOperation) -> Requests | None:
    return None if known.served is None or known.lost is None else Requests(known.served, known.lost)


def _takes(row: SimulatedCluster, tide: Tide, operation: Operation, key: str) -> int:
    """Seconds from the first step to the last; of a hold, for which it lasts."""
    if isinstance(operation, Hold):
        return min(operation.seconds, LONGEST_HOLD_S)
    return random.Random(f"{row.seed}:start:{key}").randint(*tide.startup_s)


def _start_copy(world: World, move: Migrate, key: str, now_s: int) -> tuple[PodRecord, list[Change]]:
    old = world.pods[move.cluster, move.pod]
    copy = _copy_of(old, move.target, key, now_s)
    changes: list[Change] = [Arrived(pod=copy)]
    if move.mode == "restart":
        # Stopped first; it keeps its place until the copy is up, as the format's waves count it.
        changes.insert(0, PodSet(pod=identity(old), fields={"terminating": True, "deleted_at_s": now_s}))
    return copy, changes


def _copy_of(old: PodRecord, target: str, key: str, now_s: int) -> PodRecord:
    """The new instance: same wishes, no history of the old one, and not yet up."""
    tag = f"{random.Random(f'copy:{key}').getrandbits(48):012x}"
    return replace(
        old, name=f"{old.name[:230]}-copy-{tag}", uid=f"u-{tag}", node=target, phase=STARTING, devices=[],
        lent_by=None, started_s=now_s, checkpoint_s=None, terminating=False, deleted_at_s=None,
    )  # fmt: skip


def _finish(row: SimulatedCluster, world: World, tide: Tide, known: SimulatedOperation, operation: Operation) -> Step:
    if not isinstance(operation, Migrate):
        raise ValueError(f"{operation} has no second step")
    old = world.pods.get((operation.cluster, operation.pod))
    where, name = known.copy or ("", "")
    copy = world.pods.get((where, name))
    trouble = _copy_trouble(row, world, tide, known, operation, old, copy)
    if trouble is not None:
        return Outcome("failed", trouble), _take_back(operation, old, copy)
    assert old is not None and copy is not None
    moved = replace(copy, name=old.name, phase="Running")
    ends: list[Change] = [Ended(pod=identity(copy), moved=True), Ended(pod=identity(old), moved=True)]
    return Outcome("succeeded", f"{operation.pod} runs on {operation.target}"), [*ends, Arrived(pod=moved)]


def _copy_trouble(
    row: SimulatedCluster, world: World, tide: Tide, known: SimulatedOperation, move: Migrate,
    old: PodRecord | None, copy: PodRecord | None,
) -> str | None:  # fmt: skip
    """Why the copy cannot take over, None where it can."""
    if copy is None:
        return f"the copy on {move.target} was ended by somebody else"
    if old is None or (move.uid and old.uid != move.uid):
        return f"{move.pod} ended by itself while its copy started"
    if not world.nodes[move.cluster, move.target].ready:
        return f"{move.target} became not ready while the copy started"
    if random.Random(f"{row.seed}:fate:{known.key}").random() < tide.fail:
        return f"the copy on {move.target} did not become ready: the container exited"
    return None


def _take_back(move: Migrate, old: PodRecord | None, copy: PodRecord | None) -> list[Change]:
    changes: list[Change] = [Ended(pod=identity(copy), moved=True)] if copy is not None else []
    if old is not None and move.mode == "restart":
        changes.append(PodSet(pod=identity(old), fields={"terminating": False, "deleted_at_s": None}))
    return changes


def _at_once(world: World, operation: Operation, now_s: int) -> list[Change]:
    match operation:
        case Bind(cluster=cluster, pod=pod, target=target):
            fields: Fields = {"node": target, "phase": "Running", "started_s": now_s}
            return [PodSet(pod=(cluster, pod), fields=fields)]
        case Cordon(cluster=cluster, node=node, lift=lift):
            return [NodeSet(node=(cluster, node), fields={"cordoned": not lift})]
        case Hold():
            return []  # the row of the operation is the hold: see ``holds``
    raise ValueError(f"{operation} takes more than one step")


def _refusal(world: World, operation: Operation, released: bool) -> str | None:
    """Why the cluster will not begin ``operation``, None where it will.  A lock that is ``released`` is none."""
    if isinstance(operation, Sleep | Recall | Launch):
        return refusal(world, operation)
    if isinstance(operation, Cordon | Hold):
        known = (operation.cluster, operation.node) in world.nodes
        return None if known else f"there is no node {operation.node}"
    pod = world.pods.get((operation.cluster, operation.pod))
    if pod is None:
        return f"there is no pod {operation.pod}"
    if operation.uid and pod.uid != operation.uid:
        return f"{operation.pod} is another pod of that name now"
    if isinstance(operation, Bind):
        return _no_place(world, pod, operation.target) if pod.node is None else f"{operation.pod} is already bound"
    if pod.node != operation.source:
        return f"{operation.pod} is on {pod.node or 'no node'}, not on {operation.source}"
    told = isinstance(operation, Evict) and ends_already(world, pod)
    if (pod.terminating and not told) or (pod.locked and not released):
        return f"{operation.pod} is {'terminating' if pod.terminating else 'locked'}"
    if isinstance(operation, Migrate):
        return _no_move(world, pod, operation)
    return None


def _kept_off(row: SimulatedCluster, world: World, operation: Operation, now_s: int) -> str | None:
    """A hold keeps pods off that are bound there; a move was approved by people who saw where it goes."""
    if not isinstance(operation, Bind):
        return None
    pod = world.pods[operation.cluster, operation.pod]
    return held_for(row, (operation.cluster, operation.target), pod, now_s)


def _no_move(world: World, pod: PodRecord, move: Migrate) -> str | None:
    if pod.move == "never":
        return f"{move.pod} must never be moved"
    if world.borrowers(pod):
        return f"{move.pod} lends to another pod"
    return _no_place(world, pod, move.target)


def _no_place(world: World, pod: PodRecord, target: str) -> str | None:
    node = world.nodes.get((pod.cluster, target))
    if node is None:
        return f"there is no node {target}"
    if not node.ready or node.cordoned:
        return f"{target} is {'cordoned' if node.ready else 'not ready'}"
    lacking = shortage(world, (pod.cluster, target), replace(pod, node=None, devices=[], lent_by=None))
    return f"{target} has no room: {lacking}" if lacking else None
