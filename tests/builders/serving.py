"""A client of a service in a simulated cluster: every request goes to a pod that is up, at every state there ever was.

A state is the base or what one journal row leaves; between two rows nothing happens, so no instant is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import msgspec

from console.connectors import changes, documents
from console.connectors.models import JournalRow, SimulatedCluster
from console.connectors.moves import STARTING
from console.connectors.world import World, found
from scheduler.cluster.records import FINISHED_PHASES, Document, PodRecord


@dataclass(frozen=True)
class Served:
    """Requests of one client over the whole journal, at a steady pace, and the fewest pods that were up at once."""

    asked: int
    failed: int
    fewest: int


def served(uid: str, workload: str, per_second: int) -> Served:
    """What a steady load on the workload has seen, from the first journal row to the last."""
    asked = failed = 0
    counts = []
    states = list(_states(UUID(uid), workload))
    for (at_s, up), (until_s, _) in zip(states, [*states[1:], states[-1]], strict=True):
        requests = max(1, (until_s - at_s) * per_second)  # a state of no length is asked once, too
        asked += requests
        failed += requests if up == 0 else 0
        counts.append(up)
    return Served(asked, failed, min(counts))


def _states(uid: UUID, workload: str) -> Iterator[tuple[int, int]]:
    """(when it began, pods of the workload that were up)."""
    row = SimulatedCluster.objects.get(uid=uid)
    document = msgspec.json.decode(documents.fetch(row.base_id), type=Document)
    world = found(document, row.base_position, row.head, row.began_s, [])
    yield row.began_s, _up(world, workload)
    for journal in JournalRow.objects.filter(cluster=row, seq__gt=row.base_position).order_by("seq"):
        world.apply(changes.unpack(journal.changes))
        yield journal.at_s, _up(world, workload)


def _up(world: World, workload: str) -> int:
    return sum(pod.workload == workload and _answers(world, pod) for pod in world.pods.values())


def _answers(world: World, pod: PodRecord) -> bool:
    """Ready, as an endpoint is: bound to a ready node, up, and not asked to end."""
    node = world.nodes.get((pod.cluster, pod.node or ""))
    down = pod.terminating or pod.phase == STARTING or pod.phase in FINISHED_PHASES
    return node is not None and node.ready and not down
