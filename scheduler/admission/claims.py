"""What a pending job may take from others under its tenant's quota: its own share back, and room by standing."""

from dataclasses import dataclass

import numpy as np

from scheduler.admission.jobs import Job
from scheduler.admission.misfit import faults_of, sizes_of
from scheduler.admission.promises import Lent, borrowed_units, lent_of, promised
from scheduler.admission.quota import CAP, Book, Refusal, charged_pods, holders, returned
from scheduler.admission.reasons import QUOTA, SPENT
from scheduler.admission.spending import spent_reason
from scheduler.cluster.snapshot import Bools, Snapshot
from scheduler.placement.prey import prey_of
from scheduler.placement.sparing import Relief
from scheduler.placement.victims import Claim, VictimRules, Victims, find_victims


@dataclass(frozen=True, slots=True)
class Claimed:
    """``refusal``: the quota that stands in the way whoever leaves; then nobody is named.  ``lent``: its own share."""

    victims: Victims
    refusal: Refusal | None = None
    lent: Lent | None = None


def claim_of(snapshot: Snapshot, job: Job, book: Book) -> Claim:
    """The job's pods, whose LP pods hold what is its tenant's share, and what has to come free under which cap.

    A job that uses no GPUs touches neither quota nor cap: it needs room alone.
    """
    below = book.ranks.below(snapshot, job.tenant, job.priority)
    if not job.gpu_milli:
        return Claim(job.pods, below=below)
    leaving = snapshot.pod_live & snapshot.pod_terminating
    now, book = book, returned(book, snapshot, leaving)
    models = [m for m in job.models if m in snapshot.models] or list(snapshot.models)
    taken = np.zeros(len(leaving), np.bool_)
    for model in models:
        for one in book.borrowers(job.tenant, model, job.gpu_milli):
            if one.tenant in snapshot.tenants:
                taken[[p for unit in borrowed_units(snapshot, one, model, leaving) for p in unit]] = True
    reliefs, awaited = [], np.zeros(len(leaving), np.bool_)
    for account in book.tree.line(job.tenant) if job.tenant is not None else ():
        if account.cap_milli is None:
            continue
        mine = charged_pods(snapshot, set(book.tree.below(account.name)))
        if now.total.get(account.name, 0) + job.gpu_milli > account.cap_milli:
            awaited |= mine & leaving  # whatever the model
        missing = book.total.get(account.name, 0) + job.gpu_milli - account.cap_milli
        if missing > 0:
            reliefs.append(Relief(mine & ~leaving, missing))
    return Claim(
        job.pods,
        reclaim=frozenset(np.flatnonzero(taken).tolist()),
        awaited=frozenset(np.flatnonzero(awaited).tolist()),
        awaited_on=_awaited_on(snapshot, job, now, leaving),
        reliefs=tuple(reliefs),
        forbidden=_closed(snapshot, job, book),
        below=below,
    )


def claimed(
    snapshot: Snapshot, job: Job, book: Book, *, now_s: int | None = None, rules: VictimRules | None = None
) -> Claimed:
    """Victims for the job, checked against its quota as it will be when they have left: the cap net of them.

    Nobody is named for a job that could start on no cluster like this one, such as a gang that lacks members.
    """
    later = returned(book, snapshot, snapshot.pod_live & snapshot.pod_terminating)
    refusal = standing_refusal(snapshot, job, later)
    if refusal is not None:
        detail = (
            f"{refusal.at} may use {refusal.limit_milli / 1000:g} GPUs ({refusal.limit}): no pod's end changes that."
        )
        return Claimed(Victims(False, reason=QUOTA, detail=detail), refusal)
    spent = book.spent(job.tenant, job.charged_at(snapshot), job.gpu_milli)
    if spent:
        return Claimed(Victims(False, reason=SPENT, detail=spent_reason(job.tenant or "", spent).sentence))
    rules = rules or VictimRules()
    instant = snapshot.now_s if now_s is None else now_s
    prey = prey_of(promised(snapshot, later), instant, rules.assumed_age_s, rules.costs)
    wrong = faults_of(snapshot, prey.rules, sizes_of(snapshot, prey.rules), job)
    if wrong:
        return Claimed(Victims(False, reason=wrong[0].word, detail=wrong[0].sentence))
    lent = lent_of(snapshot, job, later, instant)
    return Claimed(find_victims(snapshot, claim_of(snapshot, job, book), rules=rules, prey=prey), lent=lent)


def standing_refusal(snapshot: Snapshot, job: Job, book: Book) -> Refusal | None:
    """A quota that the end of LP pods does not free: one of every model, or a cap smaller than the job itself."""
    models = [m for m in job.models if m in snapshot.models] or list(snapshot.models)
    if not models or not job.gpu_milli:
        return None
    first = book.check(job.tenant, models[0], job.gpu_milli, lp=job.lp)
    if first is not None and first.limit == CAP and not first.possible:
        return first
    found = [book.beyond(job.tenant, model, job.gpu_milli, lp=job.lp) for model in models]
    return found[0] if all(found) else None


def _awaited_on(snapshot: Snapshot, job: Job, now: Book, leaving: Bools) -> dict[int, frozenset[int]]:
    """By model: who is leaving and still uses what the job needs of the quota of that model."""
    found = {}
    for m, name in enumerate(snapshot.models):
        refusal = now.beyond(job.tenant, name, job.gpu_milli, lp=job.lp)
        if refusal is not None:
            found[m] = frozenset(np.flatnonzero(holders(now, snapshot, refusal) & leaving).tolist())
    return found


def _closed(snapshot: Snapshot, job: Job, book: Book) -> frozenset[int]:
    """Nodes of models of which the tenant has no quota left."""
    full = [
        m
        for m, name in enumerate(snapshot.models)
        if book.beyond(job.tenant, name, job.gpu_milli, lp=job.lp) is not None
    ]
    return frozenset(np.flatnonzero(np.isin(snapshot.node_model, full)).tolist()) if full else frozenset()
