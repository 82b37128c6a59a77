"""What a simulated cluster does with standby pods and with the pods of leases: sleep, recall, launch, evict.

An operation settles its whole course with its first step, in one transaction with the facts that follow from it (see
``leaving``); every later call only reads how far the course has come.  So a worker may die at any moment.
"""

import random
from datetime import datetime, timedelta

import msgspec

from console.connectors.changes import Arrived, Change, Ended, Fields, Ganged, Planned, PodSet, identity
from console.connectors.holding import held_for
from console.connectors.leaving import ON_NOTICE, Course, Instants, evict, wake
from console.connectors.load import STARTING
from console.connectors.models import SimulatedCluster, SimulatedOperation
from console.connectors.protocol import Outcome
from console.connectors.room import shortage
from console.connectors.tide import Tide
from console.connectors.world import LEASE, RULED, World
from scheduler.cluster.records import GangRecord, PodRecord
from scheduler.plan.operations import Evict, Launch, LaunchedPod, Recall, Sleep

Lending = Sleep | Recall | Launch | Evict
Begun = tuple[Outcome, list[Change], Course | None, int]  # with the second at which it is over
NODE_PATIENCE_S = 600  # so long a woken pod may wait for a node that is not ready


def instants(row: SimulatedCluster) -> Instants:
    """From seconds of the world's clock to the calendar."""
    return lambda second: row.began_at + timedelta(seconds=second - row.began_s)


def begin(row: SimulatedCluster, world: World, tide: Tide, operation: Lending, key: str, now_s: int) -> Begun:
    """The first step; ``refusal`` has found nothing against it."""
    chance = random.Random(f"{row.seed}:exit:{key}")
    match operation:
        case Sleep():
            return _sleep(row, world, operation, now_s)
        case Launch():
            return _launch(row, world, tide, operation, key, now_s)
        case Recall():
            lender = world.pods[operation.cluster, operation.pod]
            course, changes = wake(world, lender, tide, chance, now_s, operation.grace_s)
        case Evict():
            pod = world.pods[operation.cluster, operation.pod]
            grace_s, kept_s = operation.grace_s, operation.kept_s
            course, changes = evict(world, pod, tide, chance, now_s, grace_s, operation.claimant, kept_s)
    return _told(row, world, operation, course, now_s), changes, course, course.over_s


def refusal(world: World, operation: Sleep | Recall | Launch) -> str | None:
    """Why the cluster will not begin it, None where it will; a launch finds its room later."""
    if isinstance(operation, Launch):
        return _wrong_names(world, operation)
    pod = world.pods.get((operation.cluster, operation.pod))
    if pod is None:
        return f"there is no pod {operation.pod}"
    if operation.uid and pod.uid != operation.uid:
        return f"{operation.pod} is another pod of that name now"
    if isinstance(operation, Recall):
        return None if pod.standby else f"{operation.pod} is not asleep"
    return _no_sleep(world, pod, operation)


def follow(row: SimulatedCluster, world: World, known: SimulatedOperation, operation: Lending, now_s: int) -> Outcome:
    """How far an operation has come that was begun before."""
    if isinstance(operation, Launch):
        return _launched(world, operation, key=known.key, ready=now_s >= known.ready_s, left_s=known.ready_s - now_s)
    return _told(row, world, operation, msgspec.convert(known.course, type=Course), now_s)


def ended(row: SimulatedCluster, known: SimulatedOperation) -> Outcome:
    """The outcome of one that is over, told again."""
    state = "succeeded" if known.state == "succeeded" else "failed"
    if known.course is None:
        return Outcome(state, known.detail)  # type: ignore[arg-type]
    course = msgspec.convert(known.course, type=Course)
    told_s = known.ended_s if known.ended_s is not None else course.over_s
    reclaim = course.told(told_s, instants(row), served=state == "succeeded")
    return Outcome(state, known.detail, reclaim=reclaim)  # type: ignore[arg-type]


# --- recall and eviction --------------------------------------------------------------------------------------------
def _told(row: SimulatedCluster, world: World, operation: Lending, course: Course, now_s: int) -> Outcome:
    state, detail = _standing(world, operation, course, now_s)
    reclaim = course.told(now_s, instants(row), served=state == "succeeded")
    return Outcome(state, detail, reclaim=reclaim)  # type: ignore[arg-type]


def _standing(world: World, operation: Lending, course: Course, now_s: int) -> tuple[str, str]:
    assert not isinstance(operation, Launch)
    left = sum(one.gone_s > now_s for one in course.leaving)
    if course.serving_s is None:
        return ("running", f"{operation.pod} ends") if left else ("succeeded", f"{operation.pod} has ended")
    if left:
        some = "1 borrower" if left == 1 else f"{left} borrowers"
        return "running", f"{some} of {operation.pod} must end first"
    if now_s < course.serving_s:
        return "running", f"{operation.pod} starts up"
    return _serves(world, operation, course.serving_s, now_s)


def _serves(world: World, operation: Lending, serving_s: int, now_s: int) -> tuple[str, str]:
    assert not isinstance(operation, Launch)
    pod = world.pods.get((operation.cluster, operation.pod))
    if pod is None or (operation.uid and pod.uid != operation.uid):
        return "failed", f"{operation.pod} ended by itself before it served"
    if not world.nodes[pod.cluster, pod.node or ""].ready:
        waits = now_s < serving_s + NODE_PATIENCE_S
        return "running" if waits else "failed", f"{pod.node} is not ready: {operation.pod} cannot serve there"
    return "succeeded", f"{operation.pod} serves"


# --- sleep ----------------------------------------------------------------------------------------------------------
def _no_sleep(world: World, pod: PodRecord, operation: Sleep) -> str | None:
    if pod.node is None:
        return f"{operation.pod} runs nowhere"
    if pod.tier != "HP":
        return f"{operation.pod} is low priority: it has nothing of its own to lend"
    if pod.terminating:
        return f"{operation.pod} is terminating"
    if pod.phase == STARTING:
        return f"{operation.pod} is not up yet"
    return f"{operation.pod} is waking" if (pod.cluster, operation.pod) in world.waking else None


def _sleep(row: SimulatedCluster, world: World, operation: Sleep, now_s: int) -> Begun:
    pod = world.pods[operation.cluster, operation.pod]
    until_s = None
    if operation.until:
        until_s = row.began_s + int((datetime.fromisoformat(operation.until) - row.began_at).total_seconds())
    fields: Fields = {"standby": True, "standby_until_s": until_s, "labels": {**pod.labels, RULED: "owner"}}
    asleep = f"{operation.pod} was asleep already" if pod.standby else f"{operation.pod} sleeps"
    return Outcome("succeeded", asleep), [PodSet(pod=identity(pod), fields=fields)], None, now_s


# --- launch ---------------------------------------------------------------------------------------------------------
def _wrong_names(world: World, launch: Launch) -> str | None:
    names = [pod.name for pod in launch.pods]
    if not names or len(set(names)) < len(names):
        return "a launch needs pods, each with a name of its own"
    taken = next((name for name in names if (launch.cluster, f"{launch.namespace}/{name}") in world.pods), None)
    if taken is not None:
        return f"there is a pod {launch.namespace}/{taken} already"
    gang = (launch.cluster, f"{launch.namespace}/{launch.workload}")
    return f"there is a gang {gang[1]} already" if launch.min_members and gang in world.gangs else None


def _launch(row: SimulatedCluster, world: World, tide: Tide, launch: Launch, key: str, now_s: int) -> Begun:
    """Each is placed with those before it counted; where one finds no room, none of them was ever there."""
    ready_s = now_s + random.Random(f"{row.seed}:start:{key}").randint(*tide.startup_s)
    changes: list[Change] = [Ganged(gang=_gang(launch))] if launch.min_members else []
    world.apply(changes)
    placed: list[PodRecord] = []
    for asked in launch.pods:
        pod = _pod_of(launch, asked, key, now_s)
        lacking = _no_seat(row, world, pod, now_s)
        if lacking is not None:
            world.apply([Ended(pod=identity(one), moved=True) for one in placed])
            if not placed:
                world.gangs.pop((launch.cluster, f"{launch.namespace}/{launch.workload}"), None)
            return Outcome("failed", f"{launch.namespace}/{asked.name}: {lacking}"), [], None, now_s
        placed.append(pod)
        world.apply([Arrived(pod=pod)])
    up: Fields = {"phase": "Running"}
    changes += [Arrived(pod=pod) for pod in placed]
    changes += [Planned(at_s=ready_s, then=PodSet(pod=identity(p), fields=up, uid=p.uid or "")) for p in placed]
    world.apply([Ended(pod=identity(one), moved=True) for one in placed])  # the caller applies what is written
    return Outcome("running", _starting(launch, ready_s - now_s)), changes, None, ready_s


def _launched(world: World, launch: Launch, *, key: str, ready: bool, left_s: int) -> Outcome:
    gone = [asked.name for asked in launch.pods if not _is_there(world, launch, asked, key)]
    if gone:
        return Outcome("failed", f"{launch.namespace}/{gone[0]} was ended while it started")
    if not ready:
        return Outcome("running", _starting(launch, left_s))
    return Outcome("succeeded", "1 pod runs" if len(launch.pods) == 1 else f"{len(launch.pods)} pods run")


def _starting(launch: Launch, left_s: int) -> str:
    return f"{'1 pod starts' if len(launch.pods) == 1 else f'{len(launch.pods)} pods start'}, up in {left_s} s"


def _is_there(world: World, launch: Launch, asked: LaunchedPod, key: str) -> bool:
    pod = world.pods.get((launch.cluster, f"{launch.namespace}/{asked.name}"))
    return pod is not None and pod.uid == _uid(key, asked)


def _uid(key: str, asked: LaunchedPod) -> str:
    return f"u-{random.Random(f'launch:{key}:{asked.name}').getrandbits(48):012x}"


def _gang(launch: Launch) -> GangRecord:
    return GangRecord(
        name=launch.workload, namespace=launch.namespace, cluster=launch.cluster, min_members=launch.min_members
    )


def _pod_of(launch: Launch, asked: LaunchedPod, key: str, now_s: int) -> PodRecord:
    labels = {**launch.labels, LEASE: launch.lease}
    if launch.checkpoint_on_notice:
        labels[ON_NOTICE] = "true"
    return PodRecord(
        name=asked.name, namespace=launch.namespace, cluster=launch.cluster, uid=_uid(key, asked),
        tenant=launch.tenant, workload=launch.workload, tier="LP", work_class="offline", labels=labels,
        node=asked.node, only_node=asked.node, lent_by=asked.lent_by or None, phase=STARTING, started_s=now_s,
        gpus=launch.gpus, gpu_milli=launch.gpu_milli, cpu_milli=launch.cpu_milli, memory_mib=launch.memory_mib,
        gang=launch.workload if launch.min_members else None, move="restart",
        checkpoint_interval_s=launch.checkpoint_interval_s or None,
        checkpoint_s=now_s if launch.checkpoint_interval_s else None,
        min_runtime_s=launch.min_runtime_s or None,
    )  # fmt: skip


def _no_seat(row: SimulatedCluster, world: World, pod: PodRecord, now_s: int) -> str | None:
    node = world.nodes.get((pod.cluster, pod.node or ""))
    if node is None:
        return f"there is no node {pod.node}"
    if not node.ready or node.cordoned:
        return f"{pod.node} is {'cordoned' if node.ready else 'not ready'}"
    held = held_for(row, (pod.cluster, node.name), pod, now_s)
    if held is not None:
        return held
    if pod.lent_by is not None:
        unlent = _lends_not(world, pod)
        if unlent is not None:
            return unlent
    lacking = shortage(world, (pod.cluster, node.name), pod, borrows=pod.lent_by is not None)
    return f"{pod.node} has no room: {lacking}" if lacking else None


def _lends_not(world: World, pod: PodRecord) -> str | None:
    """What speaks against borrowing from the sleeper that the pod names."""
    lender = world.pods.get((pod.cluster, pod.lent_by or ""))
    if lender is None or lender.node != pod.node:
        return f"{pod.lent_by} is not on {pod.node}"
    if (pod.cluster, pod.lent_by) in world.waking:
        return f"{pod.lent_by} is being recalled: it lends nothing more"
    if not lender.standby:
        return f"{pod.lent_by} is awake: it lends nothing"
    lent = sum(one.gpus * one.gpu_milli for one in world.borrowers(lender))
    free = lender.gpus * lender.gpu_milli - lent
    wanted = pod.gpus * pod.gpu_milli
    return (
        None if wanted <= free else f"{pod.lent_by} has {free / 1000:g} GPUs left to lend, {wanted / 1000:g} are asked"
    )
