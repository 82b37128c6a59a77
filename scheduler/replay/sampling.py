"""What the cluster looks like at an instant: by pool what is held, slack and empty nodes, F(M), what fits per level."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.snapshot import Longs
from scheduler.fragmentation.demand import CPU_MILLI_PER_GPU
from scheduler.replay import columns as c
from scheduler.replay.columns import State
from scheduler.replay.held import held
from scheduler.replay.kernel import edition, entry, kernel
from scheduler.replay.seating import fragment

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LEVELS = ("host", "asw", "cluster")
S_FREE, S_HP, S_LP, S_ASLEEP, S_BORROWED, S_WAITING, S_UP = 0, 1, 2, 3, 4, 5, 6
S_SLACK, S_EMPTY, S_NODES, S_FRAGMENT = 7, 8, 9, 10
COLUMNS = 11
CPU_PER_GPU = int(CPU_MILLI_PER_GPU)
_HELD = ((S_FREE, c.P_FREE), (S_HP, c.P_HP_HELD), (S_LP, c.P_LP_HELD), (S_ASLEEP, c.P_ASLEEP))


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Axes: i instant, p pool, l level, s size."""

    at_s: Longs  # [i]
    pools: Longs  # [i, p, COLUMNS] thousandths, nodes
    fits: NDArray[np.int32]  # [i, p, l, s] jobs of SIZES that find room, at 12 CPU per GPU
    memo: Longs  # [n, 2] not part of the result

    def upto(self, count: int) -> "Series":
        return Series(self.at_s[:count], self.pools[:count], self.fits[:count], self.memo)


def empty_series(count: int, pools: int, nodes: int) -> Series:
    return Series(
        np.zeros(count, np.int64),
        np.zeros((count, pools, COLUMNS), np.int64),
        np.zeros((count, pools, len(LEVELS), len(SIZES)), np.int32),
        np.full((nodes, 2), c.NONE, np.int64),
    )


@kernel
def _units(state, row):  # type: ignore[no-untyped-def]
    """Whole free GPUs of a node that have their CPU."""
    return min(row[c.N_WHOLE], max(row[c.N_CPU], 0) // CPU_PER_GPU)


@kernel
def _fits(state, pool, sizes, found):  # type: ignore[no-untyped-def]
    under, total = state.scratch[2], 0
    under[:] = 0
    for node in range(state.pool[pool, c.P_LOW], state.pool[pool, c.P_HIGH]):
        row = state.node[node]
        units = _units(state, row) if row[c.N_UP] else 0
        if not units:
            continue
        total += units
        if row[c.N_ASW] != c.NONE:
            under[row[c.N_ASW]] += units
        for s in range(sizes.size):
            found[0, s] += units // sizes[s]
    for s in range(sizes.size):
        for units in under:
            found[1, s] += units // sizes[s]
        found[2, s] = total // sizes[s]


def _entry(number: int) -> Any:
    @entry
    def look(tables, sizes, found, fits, memo):  # type: ignore[no-untyped-def]
        """Fill ``found`` [p, COLUMNS] and ``fits`` [p, l, s]; ``memo`` [n, 2]: version of a node, and its F_n then."""
        if number < 0:
            return
        state = held(tables)
        for p in range(state.pool.shape[0]):
            pool, lost = state.pool[p], 0.0
            found[p, S_FREE], found[p, S_HP], found[p, S_LP] = pool[c.P_FREE], pool[c.P_HP_HELD], pool[c.P_LP_HELD]
            found[p, S_ASLEEP], found[p, S_BORROWED] = pool[c.P_ASLEEP], pool[c.P_BORROWED]
            found[p, S_WAITING], found[p, S_UP] = pool[c.P_WAITING], pool[c.P_UP]
            for node in range(pool[c.P_LOW], pool[c.P_HIGH]):
                row = state.node[node]
                if not row[c.N_UP] or not row[c.N_GPUS]:
                    continue
                found[p, S_NODES] += 1
                found[p, S_EMPTY] += row[c.N_TASKS] == 0
                found[p, S_SLACK] += row[c.N_TASKS] > 0 and row[c.N_FREE] > 0
                if row[c.N_FREE] > 0:
                    if memo[node, 0] != row[c.N_VERSION]:
                        memo[node, 0] = row[c.N_VERSION]
                        memo[node, 1] = fragment(state, state.left[node], row[c.N_GPUS], row[c.N_CPU], p)
                    lost += memo[node, 1]
            found[p, S_FRAGMENT] = int(lost)
            _fits(state, p, sizes, fits[p])

    return look


look = _entry(edition())


def sample(state: State, series: Series, at: int) -> None:
    """Write the present instant as row ``at`` of the series."""
    series.at_s[at] = state.clock[c.C_NOW]
    look(state, np.array(SIZES, np.int64), series.pools[at], series.fits[at], series.memo)
