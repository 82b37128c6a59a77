"""Two months of an ASI-like fleet: its world as it stands, whose jobs end and are followed by others like them.

GPU jobs that run in the world ``asi`` are there at the start, those on lent GPUs aside; CPU-only work is left out.
Where one ends, another arrives after a pause, of the kind of a job drawn from the same pool and tier.  Run times are
log-normal with the study's median of 5 h and P90 of 24 h [P]; online services run ten times as long, and pauses are a
tenth of a run [O].

The world is what an observer sees at an instant, who sees long jobs more often than short ones.  So the jobs at the
start are drawn long by their length, kinds that run ten times as long follow a tenth as often, and a tenth more jobs
take turns than stand at the start, because of the pauses: then the shares of the world, HP 68 % and with LP 93 % of
GPUs, are those that are asked for at any later instant, too, in the mean.
"""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.build import build
from scheduler.cluster.snapshot import UNKNOWN, WORK_CLASSES, Longs
from scheduler.replay import columns as c
from scheduler.replay.recorded import Seen, jobs_of, row_of, tenant_of, world_at
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
    world, found = world_at(snapshot), [job for job in jobs_of([snapshot]).values() if _counts(job)]
    tenants = sorted({tenant_of(job) for job in found})
    at = {tenant: row for row, tenant in enumerate(tenants)}
    kinds = np.array([row_of(job, world, at, snapshot.now_s, snapshot.now_s + 1) for job in found], np.int64)
    lasting = np.array([LASTING if _serves(job) else 1.0 for job in found])
    asked, names = _renewed(kinds, lasting, days * DAY_S, np.random.default_rng(seed))
    asked[:, c.J_ESTIMATE] = estimates(asked[:, c.J_DURATION], names)
    notes = (
        "jobs of the world asi, each followed by others of its pool and tier; no CPU-only work",
        "run times: median 5 h, P90 24 h; services ten times as long",
    )
    return Trace(f"asi-{nodes}-{days}d", world, work_of(names, tenants, asked), days * DAY_S, notes)


def _counts(job: Seen) -> bool:
    """It runs on GPUs that nobody lends to it."""
    snapshot, pod = job.snapshot, job.pod
    own = snapshot.pod_live[pod] and snapshot.pod_lender[pod] == UNKNOWN
    return bool(own and snapshot.pod_gpus[pod] > 0)


def _serves(job: Seen) -> bool:
    online = job.snapshot.pod_work_class[job.pod] == WORK_CLASSES.index("online")
    return bool(online and not job.snapshot.pod_lp[job.pod])


def _renewed(kinds: Longs, lasting: Floats, until: int, rng: np.random.Generator) -> tuple[Longs, list[str]]:
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, (pools, tier) in enumerate(kinds[:, [c.J_POOLS, c.J_TIER]].tolist()):
        alike[pools, tier].append(row)
    often = {key: _chances(lasting[others]) for key, others in alike.items()}
    rows, names = [], []
    more = rng.choice(len(kinds), round(PAUSE * len(kinds)), replace=False).tolist()
    for slot, first in enumerate([*range(len(kinds)), *more]):
        key = int(kinds[first, c.J_POOLS]), int(kinds[first, c.J_TIER])
        now, kind, turn = 0.0, first, 0
        # Seen at an instant: drawn long by its length, and somewhere in its run or in the pause behind it
        rest = MEDIAN_S * np.exp(SIGMA * (SIGMA + rng.standard_normal())) * lasting[kind] * rng.random()
        if rng.random() < PAUSE / (1 + PAUSE):
            now, rest = PAUSE * rest, MEDIAN_S * np.exp(SIGMA * rng.standard_normal()) * lasting[kind]
        while now < until:
            row, took = kinds[kind].copy(), max(SHORTEST_S, int(rest))
            row[c.J_ARRIVAL], row[c.J_DURATION] = int(now), took
            rows.append(row)
            names.append(f"{slot:06d}-{turn:04d}")
            now += took * (1 + PAUSE * rng.exponential())
            kind, turn = alike[key][int(np.searchsorted(often[key], rng.random(), side="right"))], turn + 1
            rest = MEDIAN_S * np.exp(SIGMA * rng.standard_normal()) * lasting[kind]
    return np.array(rows, np.int64), names


def _chances(lasting: Floats) -> Floats:
    """[k] Summed shares of the starts: who runs longer starts less often."""
    summed = np.cumsum(1 / lasting)
    return np.asarray(summed / summed[-1])
