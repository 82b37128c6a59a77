"""A simulated cluster with a plan on it, made by hand so that no planner is needed."""

from dataclasses import dataclass
from typing import Any

import msgspec

from console.connectors import simulated
from console.connectors.changes import Arrived, Change, Ended, NodeSet, PodSet
from console.inventory import services as inventory
from console.inventory.models import Source
from console.plans import execution, services
from console.plans.models import Plan
from console.plans.services import checking
from scheduler.cluster import codec
from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.records import PodRecord
from scheduler.cluster.snapshot import Snapshot
from scheduler.plan import plan as core
from scheduler.plan.operations import Migrate
from scheduler.plan.outcome import counts, emptied, moved
from tests.builders.people import approver, operator
from tests.builders.worlds import World, world

CLUSTER = "default"


@dataclass(frozen=True)
class Scene:
    source: Source

    def plan(self, *moves: Migrate, waves: tuple[int, ...] = (), **fields: Any) -> Plan:
        """A proposed plan of these moves, asked for by the operator."""
        made = requested(self.source, **fields)
        begun = services.begin_planning(made.pk, "tests")
        assert begun is not None
        snapshot = checking.newest_of(made).snapshot
        plan = self.answered(made.pk, core_plan(snapshot, named(snapshot, moves), waves))
        assert plan.state == "proposed", plan.reason
        return plan

    def answered(self, plan_id: int, answer: core.Plan) -> Plan:
        plan = Plan.objects.get(pk=plan_id)
        now = checking.newest_of(plan)
        return services.propose(plan_id, "tests", answer, now.snapshot, revision=now.revision, digest=now.digest)

    def happen(self, *changes: Change) -> None:
        """The cluster changes by itself, and is observed."""
        connector = simulated.SimulatedConnector(self.source.config["cluster"])
        with connector._held() as (row, state):
            state.apply(list(changes))
            simulated._write(row, state, row.clock_s, "tests", list(changes))
        observe(self.source)


def scene(made: World | None = None, name: str = "sim") -> Scene:
    """A quiet simulated cluster, observed once."""
    document = codec.parse((made or two_nodes()).json()).document
    source = inventory.establish_world(name, document, seed=1, lively=False)
    observe(source)
    return Scene(source)


def observe(source: Source) -> None:
    assert inventory.observe(source.pk) is not None
    source.refresh_from_db()


def two_nodes() -> World:
    """C27: a can go to n2, and n1 becomes empty."""
    return world().nodes("n1", "n2").pod("a", "n1", 2).pod("b", "n2", 5, locked=True)


def three_nodes() -> World:
    """C28: a and b can go to n3, and two nodes become empty."""
    return world().nodes("n1", "n2", "n3").pod("a", "n1", 2).pod("b", "n2", 2).pod("z", "n3", 2, locked=True)


def move(pod: str, source: str, target: str, chain: int = 0, **fields: Any) -> Migrate:
    given = {"uid": "", "mode": "copy", "drains": source, "depth": 0, "after": (), **fields}
    return Migrate(cluster=CLUSTER, pod=f"jobs/{pod}", source=source, target=target, chain=chain, **given)


TWO = (move("a", "n1", "n3", 0), move("b", "n2", "n3", 1))


def two() -> tuple[Scene, Plan]:
    """Both moves of ``three_nodes``, proposed."""
    one = scene(three_nodes())
    return one, one.plan(*TWO)


def named(snapshot: Snapshot, moves: tuple[Migrate, ...]) -> tuple[Migrate, ...]:
    """The moves with the uids that the cluster gave its pods."""
    uids = {snapshot.pod_key(p): uid for p, uid in enumerate(snapshot.pod_uid)}
    return tuple(msgspec.structs.replace(one, uid=one.uid or uids[one.pod]) for one in moves)


def core_plan(snapshot: Snapshot, moves: tuple[Migrate, ...], waves: tuple[int, ...] = ()) -> core.Plan:
    """The plan of these moves with honest counts."""
    row = {name: n for n, name in enumerate(snapshot.node_name)}
    pods = {snapshot.pod_key(p): p for p in range(len(snapshot.pod_name))}
    before = occupancy(snapshot)
    after = occupancy(moved(snapshot, {pods[m.pod]: row[m.target] for m in moves}))
    names = tuple(snapshot.node_name[n] for n in emptied(before, after).nonzero()[0].tolist())
    kept = tuple(
        core.Kept(node=name, reason="locked", blockers=(core.Blocker(pod="jobs/z", constraint="locked"),), targets={})
        for n, name in enumerate(snapshot.node_name)
        if name not in names and after.state[n] == 2
    )
    net = len(names)
    return core.Plan(
        kind="consolidation",
        cluster=CLUSTER,
        snapshot_digest=snapshot.digest,
        planner="hand/1",
        params={},
        seed=0,
        moves=moves,
        wave_of=waves or (0,) * len(moves),
        emptied_nodes=names,
        before=counts(before),
        after=counts(after),
        kept=kept,
        bound=core.Bound(net_upper=net, gap=0.0, proven=True),
    )


def requested(source: Source, **fields: Any) -> Plan:
    given = {"models": [], "params": {}, "seed": 0, "title": "empty nodes", **fields}
    user = given.pop("user", None) or operator()
    return services.open_plan(user, kind="consolidation", source_id=source.pk, cluster=CLUSTER, **given)


def approved(plan: Plan) -> Plan:
    return services.approve_plan(approver(), plan.pk, plan.digest, "looks right")


def started(plan: Plan) -> Plan:
    approved(plan)
    return services.start_plan(operator(), plan.pk)


def ran(plan: Plan) -> Plan:
    """Carried on by one worker until it has nothing more to do."""
    execution.run(plan.pk, wait=lambda _seconds: None)
    return Plan.objects.get(pk=plan.pk)


def arrives(name: str, node: str, gpus: int) -> Arrived:
    return Arrived(pod=PodRecord(name=name, namespace="jobs", tenant="t1", node=node, gpus=gpus, phase="Running"))


def pod_set(name: str, **fields: Any) -> PodSet:
    return PodSet(pod=(CLUSTER, f"jobs/{name}"), fields=fields)


def node_set(name: str, **fields: Any) -> NodeSet:
    return NodeSet(node=(CLUSTER, name), fields=fields)


def ends(name: str) -> Ended:
    return Ended(pod=(CLUSTER, f"jobs/{name}"))


def where(one: Scene) -> dict[str, str | None]:
    """Pod -> node, as the cluster is now (names of copies are their own until the old one ends)."""
    connector = simulated.SimulatedConnector(one.source.config["cluster"])
    found = connector.observe()
    return {pod.name: pod.node for pod in found.pods}
