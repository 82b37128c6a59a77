"""Which devices pods keep where some of them fail under them.

That devices have failed does not tell who had them.  Where the healthy ones suffice for all pods of a node, nothing is
said.  Where they do not, failed ones are certainly held: without a list the pods would be laid on healthy devices
alone, the node be over-committed though it promised nothing that it has not, and nobody own what failed.  So the pods
keep as many failed devices as they must, and lie in the order in which they lay before.
"""

from collections.abc import Sequence

from scheduler.cluster.records import FINISHED_PHASES, WHOLE_GPU_MILLI, NodeRecord, PodRecord

Key = tuple[str, str]  # namespace, name


def kept_devices(node: NodeRecord, pods: Sequence[PodRecord]) -> dict[Key, list[int]]:
    """The devices of each pod on ``node``; nothing where shares, slices, lists or lending leave it open."""
    holders = [pod for pod in pods if (pod.gpus or pod.mig) and pod.phase not in FINISHED_PHASES]
    if any(pod.devices or pod.mig or pod.lent_by or pod.gpu_milli != WHOLE_GPU_MILLI for pod in holders):
        return {}
    known = {device.index: device for device in node.devices}
    cut = {index for index, device in known.items() if device.mig}
    failed = [index for index, device in known.items() if device.health == "failed" and not device.mig]
    well = [index for index in range(node.gpus) if index not in cut and index not in failed]
    under = sum(pod.gpus for pod in holders) - len(well)
    if not 0 < under <= len(failed):
        return {}
    order = iter(sorted([*well, *sorted(failed)[:under]]))
    return {
        (pod.namespace, pod.name): [next(order) for _ in range(pod.gpus)]
        for pod in sorted(holders, key=lambda pod: (pod.namespace, pod.name))
    }
