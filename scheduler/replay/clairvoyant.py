"""The most LP work that anybody could run without taking a GPU from HP work, knowing all that comes.

A flow: each LP job gives as many GPU-seconds as it asks for to the hours from its arrival on, to one hour no more than
it could use of it, and an hour takes no more than HP work leaves in its pool (``lendable``).  Jobs may stop and go on
at no cost here, GPUs are one heap, and gangs need not start together: so nobody can do better, and no policy that tells
a job to leave, or packs nodes, reaches it quite.
"""

import numpy as np
from ortools.graph.python import max_flow  # type: ignore[import-untyped]

from scheduler.cluster.snapshot import Longs
from scheduler.replay import columns as c
from scheduler.replay.spot_world import HOUR_S, SpotWorld

UNIT = 1000 * 36  # thousandths of a GPU times seconds: a hundredth of a GPU-hour


def most_lent(world: SpotWorld) -> float:
    """GPU-hours."""
    work = world.trace.work
    rows = work.asked[work.column(c.J_TIER) == c.LP]
    pools = range(world.base.lendable.shape[1])
    return sum(
        _of_pool(rows[rows[:, c.J_POOLS] == 1 << p], world.base.lendable[:, p], world.base.warm_s) for p in pools
    )


def _of_pool(rows: Longs, lendable: Longs, since: int) -> float:
    if not len(rows):
        return 0.0
    hours, jobs = len(lendable), len(rows)
    milli = rows[:, c.J_WORKERS] * rows[:, c.J_GPUS] * rows[:, c.J_MILLI]
    begin = since + HOUR_S * np.arange(hours)
    open_s = np.clip(begin[None, :] + HOUR_S - rows[:, c.J_ARRIVAL][:, None], 0, HOUR_S)
    most = np.minimum(open_s, rows[:, c.J_DURATION][:, None]) * milli[:, None]
    job, hour = np.nonzero(most)
    flow = max_flow.SimpleMaxFlow()
    source, sink = jobs + hours, jobs + hours + 1
    for tail, head, amount in (
        (np.full(jobs, source), np.arange(jobs), rows[:, c.J_DURATION] * milli),
        (job, jobs + hour, most[job, hour]),
        (jobs + np.arange(hours), np.full(hours, sink), np.maximum(0, lendable)),
    ):
        flow.add_arcs_with_capacity(tail, head, -(-amount // UNIT))
    if flow.solve(source, sink) != flow.OPTIMAL:
        raise RuntimeError("the bound was not found")
    return float(flow.optimal_flow()) / 100.0
