"""Names in a plan to rows of a snapshot."""

from dataclasses import dataclass

from scheduler.cluster.build import restrict
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows a plan names; UNKNOWN where the snapshot does not list the name.  Axis m: moves."""

    snapshot: Snapshot  # of the plan's cluster alone
    pod: tuple[int, ...]  # [m]
    source: tuple[int, ...]  # [m]
    target: tuple[int, ...]  # [m]
    node: dict[str, int]


def resolve(plan: Plan, snapshot: Snapshot) -> Rows:
    """Raises ``InputError`` if the snapshot has no such cluster."""
    if [cluster.name for cluster in snapshot.clusters] != [plan.cluster] and plan.moves:
        snapshot = restrict(snapshot, plan.cluster)
    node = {name: n for n, name in enumerate(snapshot.node_name)}
    wanted = {move.pod for move in plan.moves}
    names = zip(snapshot.pod_namespace.tolist(), snapshot.pod_name, strict=True)
    spaces = snapshot.namespaces
    pod = {key: p for p, (space, name) in enumerate(names) if (key := f"{spaces[space]}/{name}") in wanted}
    return Rows(
        snapshot=snapshot,
        pod=tuple(pod.get(move.pod, UNKNOWN) for move in plan.moves),
        source=tuple(node.get(move.source, UNKNOWN) for move in plan.moves),
        target=tuple(node.get(move.target, UNKNOWN) for move in plan.moves),
        node=node,
    )
