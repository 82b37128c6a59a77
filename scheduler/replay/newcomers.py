"""Jobs that will arrive while others wait, drawn from those that arrived of late: as often, and of their kinds.

A newcomer is like a job that is there now of the same size class, of the tenant of the one that arrived where there is
one.  What arrived of a size of which nothing is there is left out.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduler.cluster.snapshot import Longs
from scheduler.replay import columns as c
from scheduler.replay.lasting import Lasts, size_of
from scheduler.replay.opening import Opening
from scheduler.replay.world import work_of

LOOKED_BACK_S = 3 * 86_400
MOST = 20_000  # newcomers of one run; with more of them only the first ones come


@dataclass(frozen=True, slots=True)
class Arrived:
    """A job that arrived ``ago_s`` before now."""

    tenant: str
    gpu_milli: int
    ago_s: int


@dataclass(frozen=True, slots=True, eq=False)
class Newcomers:
    """``kinds`` [k]: a job of the opening that each of those that arrived is like; ``per_s``: so many a second."""

    kinds: Longs
    per_s: float

    def count(self, horizon_s: int) -> int:
        return min(MOST, round(self.per_s * horizon_s)) if len(self.kinds) else 0


NOBODY = Newcomers(np.zeros(0, np.int64), 0.0)


def newcomers_of(opening: Opening, arrived: Iterable[Arrived], rows: Sequence[Lasts]) -> Newcomers:
    """``rows`` [j]: tenant and GPUs of the opening's jobs."""
    late = [one for one in arrived if 0 <= one.ago_s < LOOKED_BACK_S]
    alike: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for j, row in enumerate(rows):
        if row.gpu_milli:
            for tenant in {row.tenant, ""}:
                alike[tenant, size_of(row.gpu_milli)].append(j)
    kinds = []
    for at, one in enumerate(sorted(late, key=lambda one: (one.ago_s, one.tenant, one.gpu_milli))):
        of = alike.get((one.tenant, size_of(one.gpu_milli))) or alike.get(("", size_of(one.gpu_milli)))
        if of:
            kinds.append(of[at % len(of)])
    if not kinds:
        return NOBODY
    looked = min(LOOKED_BACK_S, max(one.ago_s for one in late) + 1)
    return Newcomers(np.array(kinds, np.int64), len(kinds) / looked)


def joined(opening: Opening, newcomers: Newcomers, lasts: Sequence[Lasts], horizon_s: int, seed: int) -> tuple[
    Opening, list[Lasts]
]:  # fmt: skip
    """The opening with newcomers behind its jobs, and how long each of them will last."""
    count = newcomers.count(horizon_s)
    if not count:
        return opening, list(lasts)
    rng = np.random.default_rng([seed, 1])
    kinds = rng.choice(newcomers.kinds, count)
    waits = rng.exponential(1.0 / newcomers.per_s, count)
    asked = opening.work.asked[kinds].copy()
    asked[:, c.J_ARRIVAL] = np.maximum(1, np.cumsum(waits).astype(np.int64))
    names = [*opening.work.names, *(f"z{at:08}" for at in range(count))]
    work = work_of(names, opening.work.tenants, np.concatenate([opening.work.asked, asked]))
    # Who waits for a budget arrives later than some newcomers, so that rows may have moved
    row = {name: at for at, name in enumerate(work.names)}
    moved = [row[name] for name in opening.work.names]
    runs: list[tuple[int, ...]] = [()] * len(work)
    for was, now in enumerate(moved):
        runs[now] = opening.runs[was]
    both = [Lasts("", 0, 0)] * len(work)
    for was, now in enumerate(moved):
        both[now] = lasts[was]
    for at, kind in enumerate(kinds.tolist()):
        both[row[f"z{at:08}"]] = Lasts(lasts[kind].tenant, lasts[kind].gpu_milli, 0)
    return replace(opening, work=work, runs=tuple(runs), waits=tuple(moved[one] for one in opening.waits)), both
