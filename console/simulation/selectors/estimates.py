"""How much a study is, before it is asked for: jobs, and CPU seconds as a range that says where it comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.simulation.choices import CONSOLIDATES_EVERY_S, DRAWN, RunState
from console.simulation.models import Run, Trace
from console.simulation.selectors.rights import VIEW
from console.tenancy.services import require

DAY_S = 86_400
# CPU seconds, measured on one core of 2026: a job of a replay costs least on a small quiet cluster and most in a long
# queue; consolidation costs by node and plan.
JOB_LEAST_S, JOB_MOST_S = 0.00001, 0.0005
NODE_LEAST_S, NODE_MOST_S = 0.0005, 0.003
LOOKED_AT = 200  # newest runs that were finished here
ENOUGH = 10


@dataclass(frozen=True, slots=True)
class Estimate:
    """``measured``: the rates are of runs that were finished here."""

    jobs: int
    nodes: int
    runs: int
    least_s: float
    most_s: float
    plans: int
    measured: bool


def about_jobs(source: str, trace: Trace | None, share: float, days: int | None) -> int:
    """Of one run, about; of a kept trace exactly, unless it is cut short."""
    if trace is not None:
        return _part(trace.jobs or 0, trace.seconds or 0, days)
    drawn = DRAWN[source]
    return _part(round(drawn.jobs * share), drawn.days * DAY_S, days)


def _part(jobs: int, seconds: int, days: int | None) -> int:
    return jobs if days is None or not seconds else round(jobs * min(1.0, days * DAY_S / seconds))


def estimate_of(viewer: Any, said: Mapping[str, Any]) -> Estimate:
    """The same from plain fields: source, trace, share, days, policies, seeds (how many)."""
    require(viewer, VIEW)
    trace = Trace.objects.defer("packed", "given").filter(pk=said["trace"]).first() if said["trace"] else None
    usual = DRAWN[said["source"]].share if said["source"] in DRAWN else 1.0
    share = usual if said["share"] is None else said["share"]
    return estimate(said["source"], trace, share, said["days"], said["policies"], said["seeds"])


def estimate(
    source: str, trace: Trace | None, share: float, days: int | None, policies: Sequence[Mapping[str, Any]], seeds: int
) -> Estimate:
    """Runs of equal cost per job are taken as alike, which holds within a range only."""
    jobs = about_jobs(source, trace, share, days)
    drawn = DRAWN.get(source)
    nodes = (trace.nodes or 0) if trace is not None else 0
    length = (trace.seconds or 0) if trace is not None else 0
    if drawn is not None:
        nodes, length = round(drawn.nodes * share) if drawn.shares_nodes else drawn.nodes, drawn.days * DAY_S
    length = length if days is None else min(length, days * DAY_S)
    plans = sum(length // every for one in policies if (every := _every(one)))
    rates = sorted(_rates())
    tenth = len(rates) // 10  # a worker's first run loads the kernels: that is no rate of jobs
    low, high = (rates[tenth], rates[-1 - tenth]) if len(rates) >= ENOUGH else (JOB_LEAST_S, JOB_MOST_S)
    work = jobs * len(policies) * seeds
    planning = plans * seeds * nodes
    return Estimate(
        jobs, nodes, len(policies) * seeds,
        least_s=work * low + planning * NODE_LEAST_S,
        most_s=work * high + planning * NODE_MOST_S,
        plans=plans * seeds,
        measured=len(rates) >= ENOUGH,
    )  # fmt: skip


def _every(policy: Mapping[str, Any]) -> int:
    changed = policy.get("changes", {}).get("consolidate_every_s")
    return int(CONSOLIDATES_EVERY_S.get(policy["base"], 0) if changed is None else changed)


def _rates() -> list[float]:
    """CPU seconds per job of the newest runs here whose policies never consolidate."""
    rows = Run.objects.filter(state=RunState.DONE, jobs__gt=0).select_related("study").order_by("-finished_at")
    found = []
    for run in rows.only("jobs", "cpu_seconds", "policy", "study__policies")[:LOOKED_AT]:
        if not _every(run.study.policies[run.policy]):
            found.append(run.cpu_seconds / (run.jobs or 1))
    return found
