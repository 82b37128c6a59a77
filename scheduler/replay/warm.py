"""Compile the loop's kernels, so that the first replay waits for no compiler.

python -m scheduler.replay.warm
"""

import numpy as np

from scheduler.cluster.records import NodeRecord
from scheduler.replay import columns as c
from scheduler.replay.loop import begin_replay
from scheduler.replay.rules import NAMED
from scheduler.replay.turning import plan_move
from scheduler.replay.world import work_of, world_of


def warm_up() -> None:
    """One job on one of two nodes, which is moved."""
    nodes = [NodeRecord(name=f"n{at}", gpu_model="any", gpus=1) for at in range(2)]
    asked = np.zeros((1, c.J_LANE), np.int64)
    asked[0, [c.J_DURATION, c.J_POOLS, c.J_WORKERS, c.J_GPUS, c.J_MILLI]] = 1000, 1, 1, 1, 1000
    one = begin_replay(world_of(nodes), work_of(["job"], ["tenant"], asked), NAMED["greedy"], until_s=3600)
    one.run(pause_s=0)
    home = int(one.state.task[0, c.T_NODE])
    plan_move(one.state, 0, 1 - home, 10, 10)
    done = one.run()
    if done.state.job[0, c.J_STATUS] != c.DONE or done.state.clock[c.C_MOVES] != 1:
        raise RuntimeError("the loop does not run, move and end the one job there is")


if __name__ == "__main__":
    warm_up()
