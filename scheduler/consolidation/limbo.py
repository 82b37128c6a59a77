"""A node that is none: where pods without a node stand in the search's tables, so that seats are moves like others."""

import numpy as np

from scheduler.cluster.reasons import IMMOVABLE
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Longs
from scheduler.consolidation import columns as c
from scheduler.consolidation.columns import NONE, Arena

PLENTY = 1 << 50
STAYS = IMMOVABLE.index("gang")


def with_limbo(a: Arena, pods: Longs, stay: Longs) -> Arena:
    """Tables of their own with one more node, the last, that holds ``pods``; nobody may enter it.

    Pods that ``stay`` make no room for anybody.
    """
    node, pod = np.vstack([a.node, _node(len(pods), a.eligible.shape[1])]), a.pod.copy()
    free = stay[(pod[stay, c.P_FIXED] == 0) & (pod[stay, c.P_AGENT] == 0)]
    np.add.at(node[:, c.N_PINNED], pod[free, c.P_NODE], 1)
    pod[free, c.P_FIXED] = STAYS
    pod[pods, c.P_NODE] = len(a.node)
    pod[pods, c.P_NEXT], pod[pods, c.P_PREVIOUS] = np.append(pods[1:], NONE), np.append(NONE, pods[:-1])
    # Nobody comes for their company: they are not there while the plan runs
    pod[pods, c.P_FIXED], pod[pods, c.P_MOVED], pod[pods, c.P_STEADY] = 0, 0, 0
    node[-1, c.N_FIRST] = pods[0] if len(pods) else NONE
    share = (pod[pods, c.P_GPUS] > 0) & (pod[pods, c.P_MILLI] != WHOLE_GPU_MILLI)
    node[-1, c.N_FLOATING] = int(share.sum()) + int((pod[pods, c.P_LISTED] != NONE).sum())
    rows = len(a.log) + len(pods)
    return a._replace(
        node=node,
        pod=pod,
        eligible=np.hstack([a.eligible, np.zeros((len(a.eligible), 1), np.bool_)]),
        at_level=np.hstack([a.at_level, np.full((len(a.at_level), 1), NONE, np.int32)]),
        slices=a.slices.copy(),
        shares=np.zeros(len(a.shares) + len(pods), np.int64),
        log=np.zeros((rows, c.LOG_COLUMNS), np.int64),
        work=a.work.copy(),
        stuck=a.stuck.copy(),
    )


def _node(pods: int, node_class: int) -> Longs:
    row = np.zeros((1, c.NODE_COLUMNS), np.int64)
    row[0, [c.N_CPU, c.N_MEMORY, c.N_SLOTS, c.N_MILLI, c.N_GPUS, c.N_DEVICE_MEMORY]] = PLENTY
    row[0, [c.N_FIRST, c.N_SLICES, c.N_OWN]] = NONE
    row[0, c.N_WORK], row[0, c.N_CLASS] = pods, node_class
    return row
