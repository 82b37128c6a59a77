"""How a simulated cluster changes by itself: pods that come and go, locks, faults, sleep.  Seeded; no clock in here.

Every virtual second draws from a generator of its own (seed, second), so the same history of seconds gives the same
world however often it was looked at.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from console.connectors.changes import (
    Arrived,
    Came,
    Change,
    Ended,
    Fields,
    Identity,
    NodeSet,
    Planned,
    PodSet,
    identity,
)
from console.connectors.leaving import wake
from console.connectors.room import shortage
from console.connectors.world import LEASE, RULED, World
from scheduler.cluster.records import AGENT_OWNERS, OwnerRecord, PodRecord
from scheduler.performance.exit_times import GRACE_S, ExitLaw

DAY_S = 86_400
MAX_PENDING = 40  # without gangs, whose members wait for each other
TRIES = 6  # nodes that an arrival looks at before it waits
OURS = "slackline.io/"  # labels that say something of one pod alone


class Tide(msgspec.Struct, frozen=True, kw_only=True):
    """Rates of change.  ``nodes_per_minute`` is the share of nodes on which something happens within a minute.

    ``stray`` is the share of it that may hit pods which a plan could move; the rest stays among locked ones, so that
    a plan has some minutes to live.  ``fail`` is the share of moves whose copy never gets ready.
    """

    nodes_per_minute: float = 0.005
    least_per_minute: float = 6.0  # changes in a small world that lives at all: a page that never moves looks broken
    stray: float = 0.008
    holes: int = 1  # places of work that ended, open until work of its likeness comes back
    prompt: float = 0.85  # share of such places that work takes in the same second, as in any full cluster
    fail: float = 0.004
    startup_s: tuple[int, int] = (1, 4)
    repair_s: tuple[int, int] = (60, 240)
    lock_s: tuple[int, int] = (120, 900)
    trouble: float = 0.02  # share of changes that are a node going down
    locks: float = 0.06
    sleep: float = 0.14
    asleep_at_midnight: float = 0.08  # share of HP pods asleep at the peak of the day's curve
    requests_per_s: int = 100  # asked of each service, see ``load``; 0: nobody counts them
    exits: ExitLaw = "paper"  # how long pods take to leave that are told to
    resume_s: tuple[int, int] = (3, 8)  # a woken pod serves so long after its last borrower has gone


QUIET = Tide(nodes_per_minute=0.0, fail=0.0, startup_s=(0, 0), resume_s=(0, 0))


class Held(NamedTuple):
    """What a node is kept for: a gang, or else pods of at least so much, until a second."""

    until_s: int
    least_gpus: int = 0
    least_cpu_milli: int = 0
    gang: str = ""  # namespace/name of a gang, or of a pod without one

    def admits(self, pod: PodRecord) -> bool:
        if self.gang:
            return self.gang in (f"{pod.namespace}/{pod.gang}", identity(pod)[1])
        return pod.gpus >= self.least_gpus and pod.cpu_milli >= self.least_cpu_milli


Holds = dict[Identity, Held]  # by node


@dataclass(slots=True)
class _Moment:
    """One virtual second of one world: draws, applies what it drew, remembers it for the journal."""

    world: World
    tide: Tide
    chance: random.Random
    seed: int
    second: int
    done: list[Change]
    held: Holds = field(default_factory=dict)

    def do(self, *changes: Change) -> None:
        self.world.apply(list(changes))
        self.done.extend(changes)


def live_through(
    world: World, tide: Tide, seed: int, second: int, hour: float, held: Holds | None = None
) -> list[Change]:
    """Lets ``world`` live through virtual second ``second`` at ``hour`` of its day; returns the changes it applied.

    Nodes that are ``held`` take only the pods that they are held for.
    """
    moment = _Moment(world, tide, random.Random(f"{seed}:{second}"), seed, second, [], held or {})
    moment.done += overdue(world, second)
    _wake_in_time(moment)
    _write_checkpoints(moment)
    for _ in range(_count(moment.chance, _per_minute(tide, len(world.order)) / 60)):
        _happen(moment, hour)
    if moment.held and tide.nodes_per_minute > 0:
        _let_in(moment)
    return moment.done


def _per_minute(tide: Tide, nodes: int) -> float:
    share = tide.nodes_per_minute * nodes
    return max(share, tide.least_per_minute) if share > 0 else 0.0


def _count(chance: random.Random, mean: float) -> int:
    """A Poisson draw (Knuth's product of uniforms; the mean is small)."""
    if mean <= 0:
        return 0
    limit, product, count = math.exp(-mean), chance.random(), 0
    while product > limit:
        product *= chance.random()
        count += 1
    return count


def overdue(world: World, second: int) -> list[Change]:
    """What was planned for ``second`` or earlier happens to ``world`` now, in order; returned for the journal."""
    due = sorted(((at_s, place) for place, (at_s, _) in enumerate(world.agenda) if at_s <= second))
    if not due:
        return []
    changes: list[Change] = [*(world.agenda[place][1] for _, place in due), Came(at_s=second)]
    world.apply(changes)
    return changes


def _wake_in_time(moment: _Moment) -> None:
    """A sleeper wakes at the end that it was given, if nobody has recalled it before."""
    for key in list(moment.world.asleep):
        pod = moment.world.pods[key]
        if pod.standby_until_s is not None and pod.standby_until_s <= moment.second and key not in moment.world.waking:
            _wake_up(moment, pod)


def _wake_up(moment: _Moment, pod: PodRecord) -> None:
    """It takes back what it lent: its borrowers are told to end, then it serves."""
    chance = random.Random(f"{moment.seed}:wake:{moment.second}:{identity(pod)}")
    _, changes = wake(moment.world, pod, moment.tide, chance, moment.second, GRACE_S)
    moment.do(*changes)


def _write_checkpoints(moment: _Moment) -> None:
    """Jobs keep to the interval that they tell; only of pods that are stopped to move, so that worlds stay calm."""
    for key in list(moment.world.writers):
        pod = moment.world.pods[key]
        interval, last = pod.checkpoint_interval_s or 0, pod.checkpoint_s or 0
        if moment.second - last >= interval and not pod.terminating:
            written = last + (moment.second - last) // interval * interval
            moment.do(PodSet(pod=key, fields={"checkpoint_s": written}))


def _happen(moment: _Moment, hour: float) -> None:
    """One change: first what kind, then where."""
    draw, tide = moment.chance.random(), moment.tide
    if draw < tide.trouble:
        _trouble(moment)
    elif draw < tide.trouble + tide.locks:
        _lock(moment)
    elif draw < tide.trouble + tide.locks + tide.sleep:
        _sleep_or_wake(moment, hour)
    else:
        _end_or_arrive(moment)


def _end_or_arrive(moment: _Moment) -> None:
    """At most ``holes`` places that work has left stay open: a plan counts on such room, and loses it at its return."""
    left = _left(moment)
    stray = moment.chance.random() < moment.tide.stray
    if moment.chance.random() < 0.5 if stray else len(left) < moment.tide.holes:
        _end_one(moment)
        if not stray and moment.chance.random() < moment.tide.prompt and (left := _left(moment)):
            _arrive(moment, left)
    else:
        _arrive(moment, [] if stray else left)


def _left(moment: _Moment) -> list[PodRecord]:
    """Work that has ended and would still find room in its place."""
    ended = moment.world.ended
    return [gone for gone in ended if shortage(moment.world, (gone.cluster, gone.node or ""), gone) is None]


def _trouble(moment: _Moment) -> None:
    node = moment.chance.choice(moment.world.order)
    if not moment.world.nodes[node].ready:
        return
    back_s = moment.second + moment.chance.randint(*moment.tide.repair_s)
    up = NodeSet(node=node, fields={"ready": True})
    moment.do(NodeSet(node=node, fields={"ready": False}), Planned(at_s=back_s, then=up))


def _lock(moment: _Moment) -> None:
    pod = _draw_pod(moment, lambda pod: not (pod.locked or pod.terminating or LEASE in pod.labels), strays=True)
    if pod is None:
        return
    until_s = moment.second + moment.chance.randint(*moment.tide.lock_s)
    lock: Fields = {
        "locked": True,
        "locked_by": "owner",
        "lock_reason": "checkpoint running",
        "locked_until_s": until_s,
    }
    free: Fields = {"locked": False, "locked_by": None, "lock_reason": None, "locked_until_s": None}
    moment.do(
        PodSet(pod=identity(pod), fields=lock),
        Planned(at_s=until_s, then=PodSet(pod=identity(pod), fields=free)),
    )


def _sleep_or_wake(moment: _Moment, hour: float) -> None:
    """Follows the day's curve, which peaks at midnight.  Pods whose owners say when they sleep are left alone."""
    world = moment.world
    share = moment.tide.asleep_at_midnight * (0.55 + 0.45 * math.cos(2 * math.pi * hour / 24))
    own = [key for key in world.asleep if RULED not in world.pods[key].labels and key not in world.waking]
    if len(own) > share * len(world.pods):
        _wake(moment, own)
        return
    pod = _draw_pod(moment, lambda pod: _may_sleep(pod) and pod.locked)
    if pod is not None:
        moment.do(PodSet(pod=identity(pod), fields={"standby": True}))


def _may_sleep(pod: PodRecord) -> bool:
    return pod.tier == "HP" and not pod.standby and not pod.terminating and pod.gpus > 0 and RULED not in pod.labels


def _wake(moment: _Moment, sleepers: list[Identity]) -> None:
    """Who lends to nobody and is locked wakes first."""
    drawn = [moment.world.pods[moment.chance.choice(sleepers)] for _ in range(2 * TRIES)]
    _wake_up(moment, min(drawn, key=lambda one: bool(moment.world.borrowers(one)) + (not one.locked)))


def _end_one(moment: _Moment) -> None:
    pod = _draw_pod(moment, lambda pod: not pod.standby and not pod.terminating and LEASE not in pod.labels)
    if pod is None:
        return
    moment.do(Ended(pod=identity(pod)))
    if moment.world.pending and moment.chance.random() < 0.8:
        waiting = moment.world.pods[moment.chance.choice(list(moment.world.pending))]
        here = (pod.cluster, pod.node or "")
        # A gang starts together or not at all; alone no member takes a place that is left.
        fits = waiting.gang is None and _no_larger(waiting, pod) and _admits(moment, here, waiting)
        if fits and shortage(moment.world, here, waiting) is None:
            start: Fields = {"node": pod.node, "phase": "Running", "started_s": moment.second}
            moment.do(PodSet(pod=identity(waiting), fields=start))


def _no_larger(pod: PodRecord, than: PodRecord) -> bool:
    gpus = pod.gpus * pod.gpu_milli <= than.gpus * than.gpu_milli
    return gpus and pod.cpu_milli <= than.cpu_milli and pod.memory_mib <= than.memory_mib


def _arrive(moment: _Moment, left: list[PodRecord]) -> None:
    """A new pod in the likeness of an old one.

    Most work comes back to a place that is ``left``, so that what a plan counts on lasts; strays go anywhere.
    """
    if left:
        model: PodRecord | None = moment.chance.choice(left)
        nodes = [(model.cluster, model.node or "")] if model is not None else []
    else:
        model = _draw_pod(moment, lambda pod: True, strays=True)
        nodes = [moment.chance.choice(moment.world.order) for _ in range(TRIES)]
    if model is not None:
        _place(moment, _likeness(moment, model), nodes)


def _place(moment: _Moment, pod: PodRecord, nodes: list[Identity]) -> None:
    """On the first ready node with room, else it waits."""
    for node in nodes:
        if node[0] == pod.cluster and _admits(moment, node, pod) and shortage(moment.world, node, pod) is None:
            moment.do(Arrived(pod=replace(pod, node=node[1], phase="Running", started_s=moment.second)))
            return
    alone = sum(moment.world.pods[key].gang is None for key in moment.world.pending)
    if alone < MAX_PENDING:
        moment.do(Arrived(pod=replace(pod, phase="Pending")))


def _admits(moment: _Moment, node: Identity, pod: PodRecord) -> bool:
    """Whether no hold keeps this pod off."""
    held = moment.held.get(node)
    return held is None or moment.second >= held.until_s or held.admits(pod)


def _let_in(moment: _Moment) -> None:
    """Those that nodes are held for start there: a gang all at once or not at all, of others one in a second."""
    lasting = {node: held for node, held in moment.held.items() if moment.second < held.until_s}
    waiting = [moment.world.pods[pod] for pod in moment.world.pending]
    for name in sorted({held.gang for held in lasting.values()}):
        nodes = sorted(node for node, held in lasting.items() if held.gang == name)
        wanted = [pod for pod in waiting if any(lasting[node].admits(pod) for node in nodes)]
        for group in [wanted] if name else [[pod] for pod in wanted[:TRIES]]:
            if _start_together(moment, group, nodes):
                break


def _start_together(moment: _Moment, pods: list[PodRecord], nodes: list[Identity]) -> bool:
    """All of them or none: where one finds no place, those before it wait again."""
    started: list[PodSet] = []
    for pod in sorted(pods, key=lambda one: (-one.gpus, identity(one))):
        place = next((node for node in nodes if _takes(moment, node, pod)), None)
        if place is None:
            back: Fields = {"node": None, "phase": "Pending", "started_s": None}
            moment.world.apply([PodSet(pod=one.pod, fields=back) for one in started])
            return False
        start: Fields = {"node": place[1], "phase": "Running", "started_s": moment.second}
        started.append(PodSet(pod=identity(pod), fields=start))
        moment.world.apply([started[-1]])
    moment.done.extend(started)
    return bool(started)


def _takes(moment: _Moment, node: Identity, pod: PodRecord) -> bool:
    """Asked of the GPUs first: to ask for all else takes a snapshot of the node."""
    world = moment.world
    used = sum(one.gpus * one.gpu_milli for one in world.residents(node))
    free = 1000 * world.nodes[node].gpus - used >= pod.gpus * pod.gpu_milli
    return node[0] == pod.cluster and free and _admits(moment, node, pod) and shortage(world, node, pod) is None


def _likeness(moment: _Moment, model: PodRecord) -> PodRecord:
    """Same shape and wishes, another identity; its lock follows the model's tide, not the model."""
    tag = f"{moment.second:x}{moment.chance.randrange(1 << 20):05x}"
    locked = moment.chance.random() >= moment.tide.stray * 4
    return replace(
        model, name=f"{(model.workload or 'job')[:200]}-{tag}", uid=f"u-{tag}", node=None, devices=[], lent_by=None,
        labels={name: said for name, said in model.labels.items() if not name.startswith(OURS)},
        gang=None, standby=False, standby_until_s=None, terminating=False, deleted_at_s=None, started_s=None,
        checkpoint_s=None, locked=locked, locked_by="owner" if locked else None, lock_reason=None, locked_until_s=None,
    )  # fmt: skip


def _draw_pod(moment: _Moment, wanted: Callable[[PodRecord], bool], strays: bool = False) -> PodRecord | None:
    """A random live pod that is ``wanted`` and, but for strays, one that no plan would move."""
    loose = strays or moment.chance.random() < moment.tide.stray
    for _ in range(TRIES * 2):
        node = moment.chance.choice(moment.world.order)
        residents = list(moment.world.resident.get(node, ()))
        if not residents:
            continue
        pod = moment.world.pods[moment.chance.choice(residents)]
        if wanted(pod) and _kind(pod) not in AGENT_OWNERS and (loose or pod.locked):
            return pod
    return None


def _kind(pod: PodRecord) -> str:
    return pod.owner.kind if isinstance(pod.owner, OwnerRecord) else pod.owner or ""
