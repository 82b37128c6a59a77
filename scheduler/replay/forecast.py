"""When waiting jobs will start, and how sure that is: the queue replayed under run times that are drawn each time anew.

The loop begins at the snapshot with who runs and who waits; each run draws how long everybody lasts (``lasting``).  Of
``SEEDS`` starts the ranks that stand for the quantiles 10, 50 and 90 % are told (rank = q times one more than there
are).  What is assumed is said (``ASSUMES``); what the loop cannot see of a job makes its start unknown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.admission.backfill import ends_of
from scheduler.admission.jobs import Job
from scheduler.admission.planner import Explained, Explanation
from scheduler.admission.reasons import MISCONFIGURED, NO_SUCH_MODEL, SPENT
from scheduler.cluster.feasibility import Eligibility, eligibility
from scheduler.cluster.records import TenantRecord
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Longs, Snapshot
from scheduler.replay.accounts import quota_rows
from scheduler.replay.lasting import (
    BY_AGE,
    OF_SIZE,
    OF_TENANT,
    STATED,
    UNKNOWN_END,
    Lasting,
    Lasts,
    Ran,
    lasting_of,
    law_of,
    resampled,
)
from scheduler.replay.newcomers import Arrived, joined, newcomers_of
from scheduler.replay.opening import Opening, open_queue, starts
from scheduler.replay.rules import Rules

SEEDS = 20
HORIZON_S = 14 * 86_400
RULES = Rules(name="queue", meaning="in the order of the queue, whoever fits starts; nobody is stopped", order="greedy")
ASSUMES = (
    "others arrive as often as in the last three days and stand behind those who wait",
    "nobody is stopped or moved, and no node fails",
    "the order of the queue stays as it is",
    "nodes that keep a job out, up to a tenth of the GPUs of its models, count as room for it",
)
KEPT_OUT = 0.1
# Why nothing is foretold: words for people
NEVER_STARTS, CONSTRAINED, STOPPED, MIXED, UNSEEN = (
    "it could start on no cluster like this one",
    "its placement constraints are not replayed",
    "nobody knows when its budget is free again",
    "its pods are of several shapes, which are not replayed",
    "nobody knows when most of what runs there ends",
)


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds from the snapshot's instant; None: later than the horizon in that part of the runs, or unknown.

    ``why`` "" where it was replayed.
    """

    p10_s: int | None
    p50_s: int | None
    p90_s: int | None
    started: int  # runs in which it started within the horizon
    runs: int
    why: str = ""

    @property
    def known(self) -> bool:
        return self.p50_s is not None


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """``starts`` by place in ``Explained.rows``; ``gpu_milli``: GPUs that run, by what is known of their ends."""

    starts: tuple[Start, ...]
    gpu_milli: Mapping[str, int]  # values of BASES
    horizon_s: int
    newcomers_a_day: float  # jobs that were let arrive


BASES = {STATED: "stated", OF_TENANT: "tenant", OF_SIZE: "size", BY_AGE: "age", UNKNOWN_END: "unknown"}


def forecast(
    found: Explained,
    past: Sequence[Ran],
    *,
    arrived: Sequence[Arrived] = (),
    ends: Mapping[str, int] | None = None,
    records: Sequence[TenantRecord] | None = None,
    seeds: int = SEEDS,
    horizon_s: int = HORIZON_S,
    rules: Rules = RULES,
) -> Forecast:
    """Of every row of ``explain``.  ``past``: jobs that ran, and run; each run of the loop draws them anew, any of them

    more than once, since what is known of run times is a sample (Efron, Annals of Statistics 7, 1979).  ``arrived``:
    jobs of late, as often as which others will arrive.  ``ends``: instants at which running pods or gangs end, as
    owners state them.  ``records``: quotas, where they are not the snapshot's.  Equal input gives the equal answer.
    """
    eligible = eligibility(found.snapshot)
    why = [_why(found.snapshot, eligible, row) for row in found.rows]
    arrivals = [_arrival(found, row) for row in found.rows]
    taking = [at for at in range(len(found.rows)) if why[at] != NEVER_STARTS and arrivals[at] is not None]
    jobs = [found.rows[at].job for at in taking]
    opening = open_queue(found.snapshot, jobs, [arrivals[at] or 0 for at in taking])
    lasts = _lasting(found, opening, jobs, ends or {})
    newcomers = newcomers_of(opening, arrived, lasts)
    known = list(found.snapshot.tenant_records if records is None else records)
    quota = quota_rows(known, opening.work.tenants, opening.world.pools) if known else None
    drawn = np.full((seeds, len(taking)), UNKNOWN, np.int64)
    for seed in range(seeds):
        there, every = joined(opening, newcomers, lasts, horizon_s, seed)
        drawn[seed] = starts(
            there, rules, lasting_of(resampled(past, seed), every).draw(seed), until_s=horizon_s, quota=quota, seed=seed
        )  # fmt: skip
    milli = _known_milli(found.snapshot, opening, lasting_of(law_of(past), lasts))
    blind = 2 * milli[BASES[UNKNOWN_END]] > sum(milli.values())
    told = {at: _start(drawn[:, place], why[at], blind=blind) for place, at in enumerate(taking)}
    rows = tuple(told.get(at, Start(None, None, None, 0, 0, why[at] or STOPPED)) for at in range(len(found.rows)))
    per_day = round(newcomers.per_s * 86_400, 1)
    return Forecast(rows, milli, horizon_s, per_day)


def _start(drawn: Longs, why: str, *, blind: bool) -> Start:
    """None where the rank falls among runs in which it did not start in time.

    ``blind``: of most that runs the end is unknown; that it never starts then says nothing.
    """
    if why:
        return Start(None, None, None, 0, 0, why)
    inside = np.sort(drawn[drawn != UNKNOWN]).tolist()
    ranks = (max(1, round(q * (len(drawn) + 1))) for q in (0.1, 0.5, 0.9))
    p10, p50, p90 = (inside[rank - 1] if rank <= len(inside) else None for rank in ranks)
    if p50 is None and blind:
        return Start(None, None, None, 0, 0, UNSEEN)
    return Start(p10, p50, p90, len(inside), len(drawn))


def _why(snapshot: Snapshot, eligible: Eligibility, row: Explanation) -> str:
    job = row.job
    if {row.reason.word, *(other.word for other in row.others)} & {MISCONFIGURED, NO_SUCH_MODEL}:
        return NEVER_STARTS
    if len(job.parts) > 1:
        return MIXED
    pod, spec = job.parts[0].pods[0], snapshot.pod_specs[job.parts[0].shape[1]]
    unseen = spec.mig or spec.host_ports or spec.affinity or spec.anti_affinity or spec.resources
    levels = set(job.levels) - {"asw", "host"}
    if unseen or levels or snapshot.pod_lender[pod] != UNKNOWN or _kept_out(snapshot, eligible, job, pod):
        return CONSTRAINED
    return ""


def _kept_out(snapshot: Snapshot, eligible: Eligibility, job: Job, pod: int) -> bool:
    """By more than its GPU model (selector, taint, zone or node), of more than ``KEPT_OUT`` of the models' GPUs."""
    models = [snapshot.models.index(name) for name in job.models if name in snapshot.models]
    wide = snapshot.node_usable & (snapshot.node_cluster == job.cluster) & (snapshot.node_gpus > 0)
    wide &= np.isin(snapshot.node_model, models) if models else True
    gpus = np.where(wide, snapshot.node_gpus, 0)
    return bool(gpus[~eligible.eligible(pod)].sum() > KEPT_OUT * gpus.sum())


def _arrival(found: Explained, row: Explanation) -> int | None:
    """0, or when the tenant's budget is free again; None: nobody knows."""
    reason = next((one for one in (row.reason, *row.others) if one.word == SPENT), None)
    if reason is None:
        return 0
    free = reason.numbers.get("over_s")
    return max(0, free - found.now_s) if isinstance(free, int) else None


def _lasting(found: Explained, opening: Opening, jobs: Sequence[Job], ends: Mapping[str, int]) -> list[Lasts]:
    """Of every job of the opening."""
    stated = ends_of(found.snapshot, ends)
    waiting = dict(zip(opening.waits, jobs, strict=True))
    return [_lasts(found, opening, j, waiting.get(j), stated) for j in range(len(opening.runs))]


def _lasts(found: Explained, opening: Opening, j: int, waits: Job | None, stated: Longs) -> Lasts:
    """Of a gang the first start and the first end count: it goes on as a whole."""
    snapshot = found.snapshot
    if waits is not None:
        return Lasts(waits.tenant or "", waits.gpu_milli, 0)
    pods = list(opening.runs[j])
    tenant, gang = int(snapshot.pod_tenant[pods[0]]), int(snapshot.pod_gang[pods[0]])
    members = np.array(pods) if gang == UNKNOWN else np.flatnonzero(snapshot.pod_live & (snapshot.pod_gang == gang))
    begun = snapshot.pod_started_s[members]
    known_ends = stated[pods][stated[pods] != ABSENT]
    milli = int((snapshot.pod_gpus[members].astype(np.int64) * snapshot.pod_gpu_milli[members]).sum())
    return Lasts(
        tenant=snapshot.tenants[tenant] if tenant != UNKNOWN else "",
        gpu_milli=milli,
        age_s=None if (begun == ABSENT).any() else max(0, found.now_s - int(begun.min())),
        ends_in_s=int(known_ends.max()) - found.now_s if len(known_ends) == len(pods) else None,
        group=gang,
    )


def _known_milli(snapshot: Snapshot, opening: Opening, lasting: Lasting) -> dict[str, int]:
    told = dict.fromkeys(BASES.values(), 0)
    for j, pods in enumerate(opening.runs):
        rows = list(pods)
        milli = int((snapshot.pod_gpus[rows].astype(np.int64) * snapshot.pod_gpu_milli[rows]).sum()) if rows else 0
        told[BASES[int(lasting.basis[j])]] += milli
    return told
