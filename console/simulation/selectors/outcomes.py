"""What a study showed: figures with their intervals, fronts, and two policies set against each other."""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from console.inventory.selectors import NotThereError
from console.simulation.choices import UPWARD, RunState
from console.simulation.models import Run, Study
from console.simulation.selectors.rights import VIEW
from console.tenancy.services import require

type Interval = dict[str, Any]  # mean, low, high, runs


@dataclass(frozen=True, slots=True)
class Outcomes:
    """``policies`` in the order of the study, those alone of which a run was finished."""

    runs: int
    trace: dict[str, Any]
    policies: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    code: list[str]
    digest: str
    apart: list[str]  # why some pairs are not compared


@dataclass(frozen=True, slots=True)
class Front:
    """Two figures of the policies; on the front is who is not beaten on both."""

    x: str
    y: str
    on: list[str]


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two policies; ``turned`` has been done where they were asked for the other way round."""

    first: str
    second: str
    found: dict[str, Any] | None


def outcomes_of(viewer: Any, study_id: int) -> Outcomes | None:
    """None where nothing is summed up yet.  Raises ``NotThereError``."""
    require(viewer, VIEW)
    row = Study.objects.filter(pk=study_id).values_list("summary", flat=True)[:1]
    found = list(row)
    if not found:
        raise NotThereError("no such study")
    if found[0] is None:
        return None
    return Outcomes(**json.loads(zlib.decompress(bytes(found[0]))))


def report_of(viewer: Any, study: Study) -> dict[str, Any]:
    """All that is kept of a study, but for what became of each single job."""
    require(viewer, VIEW)
    runs = Run.objects.filter(study=study, state=RunState.DONE).select_related("result")
    found = outcomes_of(viewer, study.pk)
    return {
        "study": {
            "id": study.pk, "name": study.name, "reason": study.reason, "source": study.source, "share": study.share,
            "days": study.days, "redraw": study.redraw, "fail_days": study.fail_days, "seeds": study.seeds,
            "policies": study.policies, "state": study.state, "trace": study.told,
        },
        "summary": None if found is None else {
            "digest": found.digest, "policies": found.policies, "comparisons": found.pairs, "apart": found.apart,
        },
        "runs": [
            {
                "policy": study.policies[run.policy]["name"], "seed": run.seed, "digest": run.digest,
                "trace_digest": run.trace_digest, "code": run.code, "figures": run.figures,
                "report": json.loads(zlib.decompress(bytes(run.result.report))),
            }
            for run in runs
        ],
    }  # fmt: skip


def front_of(policies: Sequence[dict[str, Any]], x: str, y: str) -> Front:
    """Of those that have both figures; equal ones stand together."""
    points = {
        one["name"]: (_upward(one, x), _upward(one, y))
        for one in policies
        if one["figures"][x]["mean"] is not None and one["figures"][y]["mean"] is not None
    }
    on = [name for name, mine in points.items() if not any(_beats(other, mine) for other in points.values())]
    return Front(x, y, on)


def _upward(policy: dict[str, Any], figure: str) -> float:
    mean = float(policy["figures"][figure]["mean"])
    return mean if figure in UPWARD else -mean


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] >= other[0] and one[1] >= other[1]


def pair_of(found: Outcomes, first: str, second: str) -> PairRow:
    """Second less first, whichever of the two was worked out."""
    for pair in found.pairs:
        if (pair["first"], pair["second"]) == (first, second):
            return PairRow(first, second, pair)
        if (pair["first"], pair["second"]) == (second, first):
            return PairRow(first, second, _turned(pair))
    return PairRow(first, second, None)


def _turned(pair: dict[str, Any]) -> dict[str, Any]:
    """The same differences with the other sign."""
    return {
        **pair,
        "first": pair["second"], "second": pair["first"], "sooner": pair["later"], "later": pair["sooner"],
        "only_first": pair["only_second"], "only_second": pair["only_first"],
        "figures": {name: _less(one) for name, one in pair["figures"].items()},
        "hours": {tier: {cause: _less(one) for cause, one in parts.items()} for tier, parts in pair["hours"].items()},
        "gained": [_change(one) for one in pair["lost"]],
        "lost": [_change(one) for one in pair["gained"]],
    }  # fmt: skip


def _change(one: dict[str, Any]) -> dict[str, Any]:
    return {**one, "first_s": one["second_s"], "second_s": one["first_s"], "change": _less(one["change"])}


def _less(one: Interval) -> Interval:
    def minus(value: float | None) -> float | None:
        return None if value is None else 0.0 - value

    return {"mean": minus(one["mean"]), "low": minus(one["high"]), "high": minus(one["low"]), "runs": one["runs"]}
