"""Two months of an ASI-like fleet: its world as it stands, whose jobs end and are followed by others like them.

Jobs of the world ``asi`` are there at the start.  Where one ends, another arrives after a pause, of the kind of a job
drawn from the same pool and tier, so that the mix stays that of the study while its pieces move.  Run times are
log-normal with the study's median of 5 h and P90 of 24 h [P]; online services and sleepers run ten times as long, and
pauses are a tenth of a run [O].
"""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.build import build
from scheduler.cluster.snapshot import Longs
from scheduler.replay import columns as c
from scheduler.replay.recorded import jobs_of, row_of, tenant_of, world_at
from scheduler.replay.trace import Trace, estimates
from scheduler.replay.world import work_of
from scheduler.worlds.generate import generate

type Floats = NDArray[np.float64]
DAY_S = 86_400
MEDIAN_S, SIGMA = 5 * 3600, 1.224  # P90 / P50 = 24 / 5
LASTING = 10.0
PAUSE = 0.1
SHORTEST_S = 300


def asi_trace(*, nodes: int, days: int, seed: int) -> Trace:
    """Equal arguments give an equal trace."""
    snapshot = build(generate("asi", nodes=nodes, seed=seed, hour=12))
    world, found = world_at(snapshot), jobs_of([snapshot])
    tenants = sorted({tenant_of(job) for job in found.values()})
    at = {tenant: row for row, tenant in enumerate(tenants)}
    kinds = np.array([row_of(job, world, at, snapshot.now_s, snapshot.now_s + 1) for job in found.values()], np.int64)
    kinds = kinds[(kinds[:, c.J_GPUS] > 0) & (kinds[:, c.J_POOLS] > 0)]
    lasting = np.where((kinds[:, c.J_FIXED] == 0) & (kinds[:, c.J_RESTARTS] == 0), LASTING, 1.0)
    lasting = np.where(kinds[:, c.J_TIER] == c.HP, lasting, 1.0)
    asked, names = _renewed(kinds, lasting, days * DAY_S, np.random.default_rng(seed))
    asked[:, c.J_ESTIMATE] = estimates(asked[:, c.J_DURATION], names)
    notes = (
        "jobs of the world asi, each followed by others of its pool and tier",
        "run times: median 5 h, P90 24 h; services ten times as long",
    )
    return Trace(f"asi-{nodes}-{days}d", world, work_of(names, tenants, asked), days * DAY_S, notes)


def _renewed(kinds: Longs, lasting: Floats, until: int, rng: np.random.Generator) -> tuple[Longs, list[str]]:
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, (pools, tier) in enumerate(kinds[:, [c.J_POOLS, c.J_TIER]].tolist()):
        alike[pools, tier].append(row)
    rows, names = [], []
    for slot in range(len(kinds)):
        now, kind, turn = 0.0, slot, 0
        while now < until:
            took = max(SHORTEST_S, MEDIAN_S * np.exp(SIGMA * rng.standard_normal())) * lasting[kind]
            took = took * rng.random() if not turn else took  # at the start it has run for a while
            row = kinds[kind].copy()
            row[c.J_ARRIVAL], row[c.J_DURATION] = int(now), max(SHORTEST_S, int(took))
            rows.append(row)
            names.append(f"{slot:06d}-{turn:04d}")
            now += took * (1 + PAUSE * rng.exponential())
            others = alike[int(kinds[slot, c.J_POOLS]), int(kinds[slot, c.J_TIER])]
            kind, turn = others[int(rng.integers(len(others)))], turn + 1
    return np.array(rows, np.int64), names
