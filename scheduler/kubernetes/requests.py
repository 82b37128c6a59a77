"""What a pod takes from its node, by the rule of the Kubernetes scheduler.

Containers add up, and so do init containers that keep running beside them (``restartPolicy: Always``).  Other init
containers run one after the other, each beside the sidecars that started before it: the largest of those sums counts if
it is larger.  Requests of the pod as a whole replace the sum for CPU, memory and huge pages.  Overhead is added last.
While a container is resized, the largest of what is wanted, allocated and running counts; where the node refuses the
resize, what is wanted does not.
Source: ``PodRequests`` of k8s.io/component-helpers/resource, 1.33 and later.
"""

from collections.abc import Iterable

from scheduler.kubernetes.builtin import Container, ContainerStatus, Pod, Resources
from scheduler.kubernetes.quantities import nano
from scheduler.kubernetes.wire import Quantity

Amounts = dict[str, int]  # thousand-millionths, so that sums are rounded once
_POD_LEVEL = ("cpu", "memory")


def effective(pod: Pod) -> Amounts:
    """Thousand-millionths by resource name; raises ``InputError`` that names the field."""
    spec, status = pod.spec, pod.status
    statuses = {found.name: found for found in (*status.container_statuses, *status.init_container_statuses)}
    infeasible = _infeasible(pod)
    total: Amounts = {}
    for i, container in enumerate(spec.containers):
        _add(total, _of(container, statuses.get(container.name), f"$.spec.containers[{i}]", infeasible))
    if spec.init_containers:
        _init_containers(total, spec.init_containers, statuses, infeasible)
    if spec.resources is not None:
        wanted = _pod_level(pod, spec.resources, infeasible)
        total.update({name: value for name, value in wanted.items() if _is_pod_level(name)})
    if spec.overhead:
        _add(total, _read(spec.overhead, "$.spec.overhead"))
    return total


def _init_containers(
    total: Amounts, containers: Iterable[Container], statuses: dict[str, ContainerStatus], infeasible: bool
) -> None:
    sidecars: Amounts = {}
    peak: Amounts = {}
    for i, container in enumerate(containers):
        stays = container.restart_policy == "Always"
        found = statuses.get(container.name) if stays else None
        own = _of(container, found, f"$.spec.initContainers[{i}]", infeasible)
        if stays:
            _add(total, own)
            _add(sidecars, own)
            _raise(peak, sidecars)
        else:
            beside = dict(own)
            _add(beside, sidecars)
            _raise(peak, beside)
    _raise(total, peak)


def _of(container: Container, status: ContainerStatus | None, path: str, infeasible: bool) -> Amounts:
    asked = requested(container.resources, f"{path}.resources")
    if status is None or status.resources is None:
        return asked
    found = {} if infeasible else asked
    now = dict(found)
    _raise(now, _read(status.resources.requests, f"{path}.status.resources.requests"))
    _raise(now, _read(status.allocated_resources, f"{path}.status.allocatedResources"))
    return now


def _pod_level(pod: Pod, asked: Resources, infeasible: bool) -> Amounts:
    wanted = requested(asked, "$.spec.resources")
    if pod.status.resources is None and not pod.status.allocated_resources:
        return wanted
    now = {} if infeasible else dict(wanted)
    if pod.status.resources is not None:
        _raise(now, _read(pod.status.resources.requests, "$.status.resources.requests"))
    _raise(now, _read(pod.status.allocated_resources, "$.status.allocatedResources"))
    return now


def _is_pod_level(name: str) -> bool:
    return name in _POD_LEVEL or name.startswith("hugepages-")


def _infeasible(pod: Pod) -> bool:
    """The node can never grant the resize, so what is wanted does not count."""
    said = any(c.type == "PodResizePending" and c.reason == "Infeasible" for c in pod.status.conditions)
    return said or pod.status.resize == "Infeasible"


def requested(resources: Resources, path: str) -> Amounts:
    """Requests; a resource that has only a limit asks for that, as the API server fills it in."""
    if not resources.limits:
        return _read(resources.requests, f"{path}.requests")
    found = _read(resources.limits, f"{path}.limits")
    found.update(_read(resources.requests, f"{path}.requests"))
    return found


def _read(amounts: dict[str, Quantity], path: str) -> Amounts:
    return {name: nano(text, path, name) for name, text in amounts.items()}


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise(total: Amounts, other: Amounts) -> None:
    for name, value in other.items():
        if value > total.get(name, -1):
            total[name] = value
