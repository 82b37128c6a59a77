"""The load on the services of a simulated cluster: each is asked at a steady pace, and a pod that is up answers.

A service is the pods of a workload of class ``online``.  No request is drawn or sent: of each second it is known
whether a pod of the service was up, from the same facts in every process, and the pace says how many requests that is.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from console.connectors.changes import Identity, identity
from console.connectors.protocol import Requests
from scheduler.cluster.records import FINISHED_PHASES, NodeRecord, PodRecord

STARTING = "Pending"  # phase of a copy that is bound and not yet up
NO_REQUESTS = Requests(0, 0)
REMEMBERED = 64  # changes of one service; who asks for earlier ones is told that nobody knows

Service = tuple[str, str]  # (cluster, namespace/workload)


class Standing(Enum):
    UP = "up"  # some pod answers
    DOWN = "down"
    ASLEEP = "asleep"  # all of its pods are on standby: nobody asks


def service_of(pod: PodRecord) -> Service | None:
    """The service to which the pod belongs, None where nobody asks it anything."""
    if pod.work_class != "online" or pod.workload is None:
        return None
    return pod.cluster, f"{pod.namespace}/{pod.workload}"


@dataclass(slots=True)
class Load:
    """Which services there are, and how each has stood since when; seconds on the world's clock."""

    pods: dict[Service, dict[Identity, None]] = field(default_factory=dict)
    stood: dict[Service, deque[tuple[int, Standing]]] = field(default_factory=dict)
    touched: set[Service] = field(default_factory=set)

    def came(self, pod: PodRecord) -> None:
        service = service_of(pod)
        if service is not None:
            self.pods.setdefault(service, {})[identity(pod)] = None
            self.touched.add(service)

    def went(self, pod: PodRecord) -> None:
        service = service_of(pod)
        if service is not None:
            self.pods.get(service, {}).pop(identity(pod), None)
            self.touched.add(service)

    def touch(self, pod: PodRecord) -> None:
        """Something of the pod or of its node has changed."""
        service = service_of(pod)
        if service is not None:
            self.touched.add(service)

    def settle(self, at_s: int, pods: Mapping[Identity, PodRecord], nodes: Mapping[Identity, NodeRecord]) -> None:
        """What has changed since the last call is so from ``at_s`` on."""
        for service in self.touched:
            history = self.stood.setdefault(service, deque(maxlen=REMEMBERED))
            now = _standing([pods[key] for key in self.pods.get(service, ())], nodes)
            if not history or history[-1][1] != now:
                history.append((at_s, now))
        self.touched.clear()

    def requests(self, service: Service, since_s: int, until_s: int, per_s: int) -> Requests | None:
        """Asked of ``service`` from ``since_s`` to before ``until_s``, ``per_s`` in a second.

        None where it is not known how it stood all that time.
        """
        if since_s >= until_s:
            return NO_REQUESTS
        history = self.stood.get(service, ())
        if not history or history[0][0] > since_s:
            return None
        ends = [*[at_s for at_s, _ in history][1:], until_s]
        seconds = dict.fromkeys(Standing, 0)
        for (at_s, standing), end_s in zip(history, ends, strict=True):
            seconds[standing] += max(0, min(end_s, until_s) - max(at_s, since_s))
        return Requests(seconds[Standing.UP] * per_s, seconds[Standing.DOWN] * per_s)


def _standing(pods: list[PodRecord], nodes: Mapping[Identity, NodeRecord]) -> Standing:
    if pods and all(pod.standby for pod in pods):
        return Standing.ASLEEP
    return Standing.UP if any(_answers(pod, nodes) for pod in pods) else Standing.DOWN


def _answers(pod: PodRecord, nodes: Mapping[Identity, NodeRecord]) -> bool:
    """Ready, as an endpoint is: on a ready node, up, awake and not asked to end."""
    node = nodes.get((pod.cluster, pod.node or ""))
    down = pod.standby or pod.terminating or pod.phase == STARTING or pod.phase in FINISHED_PHASES
    return node is not None and node.ready and not down
