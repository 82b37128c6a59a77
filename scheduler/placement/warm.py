"""Compile the kernels and keep them on disk, so that no placement waits for a compiler."""

import numpy as np

from scheduler.cluster.build import build
from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.placement.entropy import least_entropy, place_in_domains
from scheduler.placement.joint import Effort, place_jointly
from scheduler.placement.request import Group, Request


def warm_up() -> None:
    slots, free = np.ones(2, np.int64), np.ones(2, np.bool_)
    least_entropy(slots, free, slots, 1)
    place_in_domains(slots, np.zeros(2, np.int32), 1, 1, free)
    group = Group(count=2, gpus=1)
    nodes = [NodeRecord(name=f"n{i}", gpu_model="any", gpus=1) for i in range(2)]
    nodes.append(NodeRecord(name="shared", gpu_model="any", gpus=1))
    pods = [PodRecord(name="share", node="shared", gpus=1, gpu_milli=500)]
    snapshot = build(Document(taken_at="2026-01-01T00:00:00Z", nodes=nodes, pods=pods))
    if not place_jointly(snapshot, [Request(groups=(group,))], effort=Effort(tries=1)).found.seated_jobs:
        raise RuntimeError("the planner does not seat what every planner seats")


if __name__ == "__main__":
    warm_up()
