"""A simulated cluster's state as one process holds it: the base document with the journal folded in."""

from collections import deque
from dataclasses import dataclass, field
from uuid import UUID

import msgspec
from msgspec.structs import replace

from console.connectors.changes import (
    Arrived,
    Came,
    Change,
    Due,
    Ended,
    Fields,
    Ganged,
    Identity,
    Kept,
    NodeSet,
    Planned,
    PodSet,
    identity,
)
from console.connectors.load import Load
from scheduler.cluster.records import FINISHED_PHASES, Document, GangRecord, NodeRecord, PodRecord

LEASE = "slackline.io/lease"  # label: the uid of the lease whose pod this is
RULED = "slackline.io/standby-by"  # label: its owner's windows decide when it sleeps, the tide does not
Agenda = list[tuple[int, Due]]


@dataclass(slots=True)
class World:
    """Mutable; ``position`` and ``head`` say which journal row it stands at, ``changed_s`` when it last changed."""

    rest: Document  # what never changes: clusters, domains, budgets, tenants
    position: int
    head: UUID
    changed_s: int
    nodes: dict[Identity, NodeRecord] = field(default_factory=dict)
    pods: dict[Identity, PodRecord] = field(default_factory=dict)
    resident: dict[Identity, dict[Identity, None]] = field(default_factory=dict)  # node -> live pods, oldest first
    asleep: dict[Identity, None] = field(default_factory=dict)
    pending: dict[Identity, None] = field(default_factory=dict)
    writers: dict[Identity, None] = field(default_factory=dict)  # pods that write checkpoints and are stopped to move
    agenda: Agenda = field(default_factory=list)
    order: list[Identity] = field(default_factory=list)  # nodes, to draw from
    ended: deque[PodRecord] = field(default_factory=lambda: deque(maxlen=32))  # whose places nobody has taken since
    load: Load = field(default_factory=Load)
    gangs: dict[Identity, GangRecord] = field(default_factory=dict)
    leased: dict[Identity, set[Identity]] = field(default_factory=dict)  # gang of a lease -> its pods that are there
    waking: set[Identity] = field(default_factory=set)  # sleepers whose borrowers have been told to end
    kept: dict[Identity, list[Kept]] = field(default_factory=dict)  # node -> room that is promised to somebody

    def apply(self, changes: list[Change]) -> None:
        for change in changes:
            self._apply(change)

    def settle(self, position: int, head: UUID, at_s: int) -> None:
        """The changes applied so far are those up to the journal row ``position``."""
        self.position, self.head, self.changed_s = position, head, at_s
        self.load.settle(at_s, self.pods, self.nodes)

    def document(self, taken_at: str, now_s: int) -> Document:
        return replace(
            self.rest, taken_at=taken_at, now_s=now_s, nodes=list(self.nodes.values()), pods=list(self.pods.values()),
            gangs=list(self.gangs.values()),
        )  # fmt: skip

    def clusters(self) -> tuple[str, ...]:
        return tuple(sorted({cluster for cluster, _ in self.order}))

    def residents(self, node: Identity) -> list[PodRecord]:
        return [self.pods[pod] for pod in self.resident.get(node, ())]

    def borrowers(self, lender: PodRecord) -> list[PodRecord]:
        """Pods that run on what the sleeping ``lender`` lends."""
        key = identity(lender)[1]
        return [pod for pod in self.residents((lender.cluster, lender.node or "")) if pod.lent_by == key]

    def _apply(self, change: Change) -> None:
        match change:
            case Arrived(pod):
                self._put(pod)
            case Ended(pod=key, moved=moved, uid=uid) if self._is_there(key, uid):
                self._drop(key, moved)
            case PodSet(pod=key, fields=fields, uid=uid) if self._is_there(key, uid):
                self._change_pod(key, fields)
            case NodeSet(node=key, fields=fields) if key in self.nodes:
                self.nodes[key] = _with(self.nodes[key], fields)
                for pod in self.residents(key):
                    self.load.touch(pod)
            case Ganged(gang=gang):
                self.gangs[gang.cluster, f"{gang.namespace}/{gang.name}"] = gang
            case Planned(at_s=at_s, then=then):
                self.agenda.append((at_s, then))
                self._foresee(then)
            case Came(at_s=at_s):
                self._look_ahead([item for item in self.agenda if item[0] > at_s])
            case _:
                pass  # a promise that is over, or a planned change of something that has gone meanwhile

    def _is_there(self, key: Identity, uid: str) -> bool:
        return key in self.pods and (not uid or self.pods[key].uid == uid)

    def _look_ahead(self, agenda: Agenda) -> None:
        self.agenda = agenda
        self.waking.clear()
        self.kept.clear()
        for _, then in agenda:
            self._foresee(then)

    def _foresee(self, then: Due) -> None:
        """What is planned binds those who look for room now."""
        if isinstance(then, Kept):
            self.kept.setdefault((then.pod.cluster, then.pod.node or ""), []).append(then)
        elif isinstance(then, PodSet) and then.fields.get("standby") is False:
            self.waking.add(then.pod)

    def _change_pod(self, key: Identity, fields: Fields) -> None:
        old = self.pods[key]
        new = _with(old, fields)
        self.load.touch(new)
        if (old.node, old.phase) == (new.node, new.phase) and old.standby == new.standby:
            self.pods[key] = new
            return
        self._unlink(old)
        self.pods[key] = new
        self._link(new)

    def _put(self, pod: PodRecord) -> None:
        key = identity(pod)
        if key in self.pods:
            raise ValueError(f"{key} is already there")
        self.pods[key] = pod
        self.load.came(pod)
        self._link(pod)
        if pod.gang is not None and LEASE in pod.labels:
            self.leased.setdefault(_gang_of(pod), set()).add(key)

    def _drop(self, key: Identity, moved: bool) -> None:
        pod = self.pods.pop(key, None)
        if pod is None:
            return
        self.load.went(pod)
        self._unlink(pod)
        self._leave_gang(key, pod)
        if not moved and pod.node is not None and (pod.cluster, pod.node) in self.nodes:
            self.ended.append(pod)

    def _leave_gang(self, key: Identity, pod: PodRecord) -> None:
        if pod.gang is None or LEASE not in pod.labels:
            return
        members = self.leased.get(_gang_of(pod), set())
        members.discard(key)
        if not members:
            self.leased.pop(_gang_of(pod), None)
            self.gangs.pop(_gang_of(pod), None)

    def _link(self, pod: PodRecord) -> None:
        key = identity(pod)
        if pod.node is None:
            self.pending[key] = None
        elif (pod.cluster, pod.node) in self.nodes and pod.phase not in FINISHED_PHASES:
            self.resident.setdefault((pod.cluster, pod.node), {})[key] = None
            left = next((gone for gone in self.ended if (gone.cluster, gone.node) == (pod.cluster, pod.node)), None)
            if left is not None:
                self.ended.remove(left)
            if pod.standby:
                self.asleep[key] = None
            if pod.move == "restart" and pod.checkpoint_interval_s and pod.checkpoint_s is not None:
                self.writers[key] = None

    def _unlink(self, pod: PodRecord) -> None:
        key = identity(pod)
        self.pending.pop(key, None)
        self.asleep.pop(key, None)
        self.writers.pop(key, None)
        self.resident.get((pod.cluster, pod.node or ""), {}).pop(key, None)


def _gang_of(pod: PodRecord) -> Identity:
    return pod.cluster, f"{pod.namespace}/{pod.gang}"


def _with[Record: msgspec.Struct](record: Record, fields: Fields) -> Record:
    return replace(record, **fields)


def found(document: Document, position: int, head: UUID, clock_s: int, agenda: Agenda) -> World:
    """The world of a base document, which must have passed ``cluster.build``."""
    rest = replace(document, nodes=[], pods=[], gangs=[])
    world = World(rest=rest, position=position, head=head, changed_s=clock_s)
    world.gangs = {(gang.cluster, f"{gang.namespace}/{gang.name}"): gang for gang in document.gangs}
    world.nodes = {(node.cluster, node.name): node for node in document.nodes}
    world.order = list(world.nodes)
    world._look_ahead(list(agenda))
    for pod in document.pods:
        world._put(pod)
    world.load.settle(clock_s, world.pods, world.nodes)
    return world
