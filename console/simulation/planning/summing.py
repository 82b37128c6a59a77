"""A study's figures from its finished runs, by policy and seed: the order in which they were finished is not in it."""

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np

from console.simulation import services
from console.simulation.models import Run, Study
from console.simulation.planning.tracing import arrivals_for, told_of, until_of
from scheduler.replay.fates import compare_over_seeds, unpack_fates
from scheduler.replay.tradeoff import FIGURES, as_json, interval, interval_of, standings

LEFT_OUT = ("policy", "seed", "digest", "cut", "rules", "ways", "series")


def sum_up(study_id: int) -> None:
    """Does nothing where that was done."""
    study = services.study_to_sum(study_id)
    if study is None:
        return
    try:
        services.keep_summary(study, summary_of(study, services.finished_runs(study)))
    except Exception as error:
        services.fail_summary(study, f"Summing up failed: {type(error).__name__}: {error}")
        raise


def summary_of(study: Study, runs: Sequence[Run]) -> dict[str, Any]:
    """``runs`` with their results, by policy and seed."""
    names = [one["name"] for one in study.policies]
    reports = {run.pk: json.loads(zlib.decompress(bytes(run.result.report))) for run in runs}
    table = {one.policy: one for one in standings([(names[run.policy], run.figures or {}) for run in runs])}
    policies = []
    for place, name in enumerate(names):
        mine = [run for run in runs if run.policy == place]
        if not mine:
            continue
        told = [reports[run.pk] for run in mine]
        policies.append(
            {
                **as_json(table[name]),
                "name": name,
                "runs": len(mine),
                "digests": sorted({run.digest for run in mine}),
                "values": merged([{key: one[key] for key in one if key not in LEFT_OUT} for one in told]),
                "series": _series([one["series"] for one in told]),
            }
        )
    pairs, apart = _pairs(study, runs)
    summed = hashlib.sha256("".join(f"{names[r.policy]} {r.seed} {r.digest}\n" for r in runs).encode())
    return {
        "runs": len(runs), "policies": policies, "pairs": pairs, "apart": apart,
        "trace": _told(study, runs),
        "code": sorted({run.code for run in runs}), "digest": summed.hexdigest(),
    }  # fmt: skip


def _differences(ones: Sequence[Run], others: Sequence[Run]) -> dict[str, Any]:
    """Of the five figures, second less first, seed by seed: what a seed does to both alike is not in it."""
    found = {}
    for figure in FIGURES:
        both = [
            ((one.figures or {}).get(figure), (two.figures or {}).get(figure))
            for one, two in zip(ones, others, strict=True)
        ]
        found[figure] = asdict(interval(sorted(b - a for a, b in both if a is not None and b is not None)))
    return found


def _told(study: Study, runs: Sequence[Run]) -> dict[str, Any]:
    """The trace as the study's first finished seed has it, whoever began first."""
    found = arrivals_for(study, min(run.seed for run in runs))
    return told_of(found, until_of(study, found))


def merged(values: Sequence[Any], figure: str = "") -> Any:
    """One tree of the reports' shape, with an interval over runs for every number; lists become maps by name.

    ``figure``: the field that these are the values of.
    """
    known = [value for value in values if value is not None]
    if not known:
        return asdict(interval([]))
    first = known[0]
    if isinstance(first, Mapping):
        keys = list(dict.fromkeys(key for value in known for key in value))
        return {key: merged([value.get(key) for value in known], key) for key in keys}
    if isinstance(first, list):
        return merged([{_name(one, at): one for at, one in enumerate(value)} for value in known])
    if isinstance(first, str):
        return first
    return asdict(interval_of(figure, [float(value) for value in known]))


def _name(one: Any, at: int) -> str:
    """Rows of a report are told apart by their words: tier, cluster and model, size and level."""
    if not isinstance(one, Mapping):
        return str(at)
    words = [value for value in one.values() if isinstance(value, str)]
    size = [str(one["gpus"])] if "level" in one else []
    return " ".join([*size, *words]) or str(at)


def _series(lines: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, list[float]]:
    """Means over runs, instant by instant; runs of one study end at one instant, up to a last sample."""
    shortest = min(len(one["at_s"]) for one in lines)
    return {
        name: [round(float(value), 5) for value in np.mean([one[name][:shortest] for one in lines], axis=0)]
        for name in lines[0]
    }


def _pairs(study: Study, runs: Sequence[Run]) -> tuple[list[dict[str, Any]], list[str]]:
    """Every two policies, on the seeds that both have."""
    names = [one["name"] for one in study.policies]
    at = {(run.policy, run.seed): run for run in runs}
    fates = {key: unpack_fates(bytes(run.result.fates)) for key, run in at.items()}
    jobs = {seed: arrivals_for(study, seed).work.names for seed in sorted({run.seed for run in runs})}
    pairs, apart = [], []
    for one, other in combinations(range(len(names)), 2):
        seeds = [seed for seed in study.seeds if (one, seed) in at and (other, seed) in at]
        differ = [seed for seed in seeds if at[one, seed].trace_digest != at[other, seed].trace_digest]
        if differ:
            apart.append(f"{names[one]} and {names[other]} had different jobs with seed {differ[0]}.")
        elif seeds:
            kept = [(fates[one, seed], fates[other, seed]) for seed in seeds]
            found = compare_over_seeds((names[one], names[other]), seeds, kept, [jobs[seed] for seed in seeds])
            pairs.append(
                {**asdict(found), "figures": _differences([at[one, s] for s in seeds], [at[other, s] for s in seeds])}
            )
    return pairs, apart
