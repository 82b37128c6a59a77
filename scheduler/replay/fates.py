"""What became of every job of a run, small enough to keep; and two policies set against each other over several seeds.

Of one seed the sums are those of ``tradeoff.compare``; here they are means over seeds with Student's t intervals.
"""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import Longs
from scheduler.replay import columns as c
from scheduler.replay.loop import Outcome
from scheduler.replay.tradeoff import Interval, interval, interval_of

type Ints = NDArray[np.int32]
SHOWN = 10  # jobs that gain most, and as many that lose most
HOUR_S = 3600
TIERS = ("HP", "LP")


@dataclass(frozen=True, slots=True, eq=False)
class Fates:
    """Axis j: jobs in the order of the trace's work."""

    tier: Ints  # [j]
    milli: Ints  # [j] GPU thousandths that it asks for
    first: Ints  # [j] second of its first start, NONE
    waited: Ints  # [j] seconds
    causes: Ints  # [j, CAUSES] the same by cause


@dataclass(frozen=True, slots=True)
class Change:
    """One job: seconds waited under either policy, second less first; the cause of most of the change.

    ``seed`` is None where all seeds have the same jobs: then these are means over seeds with an interval.
    """

    job: str
    seed: int | None
    tier: str
    gpus: float
    first_s: float
    second_s: float
    change: Interval
    cause: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Per seed of jobs that started under both, then over seeds.  Hours of waiting, second less first."""

    first: str
    second: str
    seeds: tuple[int, ...]
    jobs: Interval
    sooner: Interval
    later: Interval
    only_first: Interval  # jobs that started under the first policy alone
    only_second: Interval
    hours: dict[str, dict[str, Interval]]  # tier -> cause
    gained: tuple[Change, ...]  # wait less under the second
    lost: tuple[Change, ...]


def fates_of(outcome: Outcome) -> Fates:
    job = outcome.state.job
    return Fates(
        tier=_ints(job[:, c.J_TIER]),
        milli=_ints(job[:, c.J_WORKERS] * job[:, c.J_GPUS] * job[:, c.J_MILLI]),
        first=_ints(job[:, c.J_FIRST]),
        waited=_ints(job[:, c.J_WAITED]),
        causes=_ints(job[:, c.J_CAUSE : c.J_CAUSE + len(c.CAUSES)]),
    )


def _ints(column: Longs) -> Ints:
    """32 bits: 68 years of seconds, two million GPUs."""
    return np.minimum(column, np.iinfo(np.int32).max).astype(np.int32)


def pack_fates(found: Fates) -> bytes:
    blob = io.BytesIO()
    np.savez_compressed(blob, **{field.name: getattr(found, field.name) for field in fields(Fates)})
    return blob.getvalue()


def unpack_fates(packed: bytes) -> Fates:
    with np.load(io.BytesIO(packed), allow_pickle=False) as stored:
        return Fates(**{name: stored[name] for name in stored.files})


def compare_over_seeds(
    policies: tuple[str, str],
    seeds: Sequence[int],
    pairs: Sequence[tuple[Fates, Fates]],
    names: Sequence[Sequence[str]],
) -> Pair:
    """``pairs`` and ``names`` (of the jobs) are one per seed; seeds with the same names have the same jobs.

    Raises InputError where the two runs of a seed had different work.
    """
    for seed, (one, other), jobs in zip(seeds, pairs, names, strict=True):
        if len(one.first) != len(jobs) or not np.array_equal(one.milli, other.milli):
            raise InputError("runs", seed, "the two runs have different jobs: there is nothing to compare")
    both = [(one.first != c.NONE) & (other.first != c.NONE) for one, other in pairs]
    change = [other.waited - one.waited for one, other in pairs]
    gained, lost = _largest(seeds, pairs, both, names)
    return Pair(
        *policies,
        tuple(seeds),
        jobs=_counted(rows.sum() for rows in both),
        sooner=_counted((part[rows] < 0).sum() for part, rows in zip(change, both, strict=True)),
        later=_counted((part[rows] > 0).sum() for part, rows in zip(change, both, strict=True)),
        only_first=_counted(((one.first != c.NONE) & (other.first == c.NONE)).sum() for one, other in pairs),
        only_second=_counted(((one.first == c.NONE) & (other.first != c.NONE)).sum() for one, other in pairs),
        hours={tier: _hours(pairs, both, at) for at, tier in enumerate(TIERS)},
        gained=gained,
        lost=lost,
    )


def _counted(values: Iterable[int]) -> Interval:
    """Of numbers of jobs."""
    return interval_of("jobs", [float(value) for value in values])


def _over(values: object) -> Interval:
    return interval(sorted(float(value) for value in values))  # type: ignore[attr-defined]


def _hours(pairs: Sequence[tuple[Fates, Fates]], both: Sequence[np.ndarray], tier: int) -> dict[str, Interval]:
    sums = []
    for (one, other), rows in zip(pairs, both, strict=True):
        mine = rows & (one.tier == tier)
        sums.append((other.causes[mine] - one.causes[mine]).sum(axis=0) / HOUR_S)
    return {cause: _over(part[at] for part in sums) for at, cause in enumerate(c.CAUSES)}


def _largest(
    seeds: Sequence[int],
    pairs: Sequence[tuple[Fates, Fates]],
    both: Sequence[np.ndarray],
    names: Sequence[Sequence[str]],
) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """Of all seeds together where they have the same jobs, else of each seed for itself."""
    alike = all(other is names[0] or tuple(other) == tuple(names[0]) for other in names)
    groups = [list(range(len(pairs)))] if alike else [[at] for at in range(len(pairs))]
    found: list[tuple[float, int, int]] = []
    means = []
    for number, group in enumerate(groups):
        rows = np.logical_and.reduce([both[at] for at in group])
        mean = np.mean([pairs[at][1].waited - pairs[at][0].waited for at in group], axis=0)
        means.append(mean)
        for row in _ends(np.where(rows, mean, 0.0)):
            found.append((float(mean[row]), number, row))
    found.sort()
    gained = [one for one in found if one[0] < 0][:SHOWN]
    lost = [one for one in reversed(found) if one[0] > 0][:SHOWN]

    def told(part: list[tuple[float, int, int]]) -> tuple[Change, ...]:
        return tuple(_change(row, groups[number], seeds, pairs, names) for _, number, row in part)

    return told(gained), told(lost)


def _ends(mean: np.ndarray) -> list[int]:
    """Rows of the least and the largest values, as many as could be shown; equal ones by their row."""
    order = np.lexsort((np.arange(len(mean)), mean))
    return sorted({*order[:SHOWN].tolist(), *order[::-1][:SHOWN].tolist()})


def _change(
    row: int,
    group: list[int],
    seeds: Sequence[int],
    pairs: Sequence[tuple[Fates, Fates]],
    names: Sequence[Sequence[str]],
) -> Change:
    one = [pairs[at][0] for at in group]
    other = [pairs[at][1] for at in group]
    changes = [int(b.waited[row] - a.waited[row]) for a, b in zip(one, other, strict=True)]
    parts = sum(b.causes[row] - a.causes[row] for a, b in zip(one, other, strict=True))
    later = sum(changes) > 0
    return Change(
        job=names[group[0]][row],
        seed=None if len(group) == len(pairs) and len(pairs) > 1 else seeds[group[0]],
        tier=TIERS[int(one[0].tier[row])],
        gpus=float(one[0].milli[row]) / c.WHOLE,
        first_s=float(np.mean([a.waited[row] for a in one])),
        second_s=float(np.mean([b.waited[row] for b in other])),
        change=_over(changes),
        cause=c.CAUSES[int(np.argmax(parts if later else -np.asarray(parts)))],
    )
