"""The only caller of admission's planner; only workers import it."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from console.inventory.services import snapshot_of
from console.queue import services
from console.queue.models import Inquiry
from console.queue.sightings import ClusterQueue, Explained, Name, Waiting
from console.tenancy.planning import book_for, by_team, records_for
from scheduler.admission.planner import Explained as Answer
from scheduler.admission.planner import Explanation, explain
from scheduler.admission.quota import Book
from scheduler.admission.reasons import SPENT, WAITING_FOR_VICTIMS, Reason
from scheduler.admission.tree import ALL, NO_QUOTA
from scheduler.advice.remedy import Remedy
from scheduler.advice.unblock import solved, unblock
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Snapshot
from scheduler.cluster.topology import ASW
from scheduler.placement.entropy import entropy, gpus_by_place
from scheduler.replay.forecast import forecast
from scheduler.replay.lasting import Ran
from scheduler.replay.newcomers import Arrived

MILLI = 1000
NAMED = 20  # nodes on which a job would start that are kept by name


def explain_newest(source_id: int) -> None:
    """Explains the newest reading of a source, unless that was done."""
    reading = services.next_reading(source_id)
    snapshot = snapshot_of(reading.revision) if reading is not None else None
    if reading is None or snapshot is None:
        return
    began = time.monotonic()
    snapshot = by_team(snapshot)
    answer = explain(snapshot, book=book_for(snapshot, reading.begun_at))
    clusters = tuple(_cluster(answer, place) for place in range(len(snapshot.clusters)))
    bound = bound_pods(snapshot, services.followed(source_id))
    found = Explained(reading.revision, clusters, bound, time.monotonic() - began)
    services.keep(source_id, reading, found)


def unblock_job(inquiry_id: int) -> None:
    """Works out what would make one job start, on the newest reading; nothing is done about it."""
    inquiry = services.begin_inquiry(inquiry_id)
    if inquiry is None:
        return
    try:
        _unblock(inquiry)
    except Exception as error:
        services.fail_inquiry(inquiry, _fault("search", error))
        raise


def _fault(what: str, error: Exception) -> str:
    """What whoever asked reads; the log alone names what is not theirs to see."""
    return f"The {what} failed by a fault of the console, not of the job ({type(error).__name__}). Its log says more."


def _unblock(inquiry: Inquiry) -> None:
    job = inquiry.job
    reading = services.newest_reading(job.source_id)
    snapshot = snapshot_of(reading.revision) if reading is not None else None
    if reading is None or snapshot is None:
        services.fail_inquiry(inquiry, "The newest reading is not kept any more; ask again.")
        return
    snapshot = by_team(snapshot)
    answer = explain(snapshot, book=book_for(snapshot, reading.begun_at))
    row = next((one for one in answer.rows if (one.cluster, one.key) == (job.cluster, job.key)), None)
    if row is None:
        services.fail_inquiry(inquiry, "It does not wait any more.")
        return
    remedies = unblock(answer, row)
    services.answer_inquiry(inquiry, reading, [_remedy(one) for one in remedies], solved(row, remedies))


def _remedy(remedy: Remedy) -> dict[str, Any]:
    return {
        "kind": remedy.kind,
        "outcome": remedy.outcome,
        "cost": remedy.cost,
        "unit": remedy.unit,
        "detail": remedy.detail,
        "numbers": dict(remedy.numbers),
    }


def _cluster(answer: Answer, place: int) -> ClusterQueue:
    snapshot, name = answer.snapshot, answer.snapshot.clusters[place].name
    waiting = tuple(waiting_of(answer, row) for row in answer.rows if row.job.cluster == place)
    live = snapshot.pod_live & (snapshot.pod_cluster == place)
    return ClusterQueue(name, waiting, list(running_jobs(snapshot, np.flatnonzero(live), answer.book)))


def waiting_of(answer: Answer, row: Explanation) -> Waiting:
    job, block = row.job, row.block
    return Waiting(
        cluster=row.cluster,
        key=row.key,
        gang=job.gang != UNKNOWN,
        tenant=job.tenant or "",
        pods=len(job.pods),
        running=len(job.running),
        gpu_milli=job.gpu_milli,
        cpu_milli=job.cpu_milli,
        priority=job.priority,
        lp=job.lp,
        models=job.models,
        position=row.position,
        reason=row.reason.word,
        block_milli=None if block is None else block.gpu_milli,
        told=_told(answer, row),
    )


def _told(answer: Answer, row: Explanation) -> dict[str, Any]:
    snapshot, job = answer.snapshot, row.job
    nodes = row.seats.nodes if row.seats is not None else ()
    return {
        "parts": [_part(snapshot, part.shape, len(part.pods)) for part in job.parts],
        "levels": list(job.levels),
        "preferred": sorted(_preferred(snapshot, job.gang, {part.shape[1] for part in job.parts})),
        "min_members": snapshot.gangs[job.gang].min_members if job.gang != UNKNOWN else None,
        "reason": _reason(row.reason),
        "others": [_reason(other) for other in row.others],
        "blocks": [[block.level, block.pods, block.gpu_milli] for block in row.largest],
        "seats": [snapshot.node_name[n] for n in nodes[:NAMED]],
        "seat_nodes": len(nodes),
        "class": row.called or "",
        "starts_in_s": _starts_in(answer, row),
        "quota": list(_quota(answer.book, row)),
    }


def _starts_in(answer: Answer, row: Explanation) -> int | None:
    """Seconds until it starts, where the core can say: at the latest, or at the earliest for a budget alone."""
    name = {WAITING_FOR_VICTIMS: "until_s", SPENT: "over_s"}.get(row.reason.word, "")
    until = row.reason.numbers.get(name) if row.reason.word == WAITING_FOR_VICTIMS or not row.others else None
    return max(0, until - answer.now_s) if isinstance(until, int) else None


def _quota(book: Book, row: Explanation) -> Iterator[dict[str, Any]]:
    """The job's tenant and who stands above it, for each model that it accepts and that is under quota there."""
    tenant, wanted = row.job.tenant, {ALL, *row.job.models}
    for account in book.tree.line(tenant) if tenant is not None else ():
        for name, model in sorted(book.tree.subtree):
            if name != account.name or (row.job.models and model not in wanted):
                continue
            quota = account.quotas.get(model, NO_QUOTA)
            yield {
                "account": account.name,
                "model": "" if model == ALL else model,
                "nominal": quota.nominal,
                "quota": book.tree.subtree[name, model],
                "borrowing_limit": quota.borrowing_limit,
                "lending_limit": quota.lending_limit,
                "hp": book.charged.get((account.name, model), 0),
                "lp": book.lp.get((account.name, model), 0),
                "available": book.available(account.name, model, lp=row.job.lp) if model != ALL else None,
            }


def _part(snapshot: Snapshot, shape: tuple[int, ...], pods: int) -> dict[str, Any]:
    _, spec, gpus, share, device_memory, cpu, memory, _ = shape
    return {
        "pods": pods,
        "gpus": gpus,
        "gpu_milli": share,
        "gpu_memory_mib": max(0, device_memory),
        "cpu_milli": cpu,
        "memory_mib": memory,
        "mig": [f"{count} x {profile}" for profile, count in snapshot.pod_specs[spec].mig],
    }


def _preferred(snapshot: Snapshot, gang: int, specs: Iterable[int]) -> set[str]:
    wishes = [snapshot.pod_specs[spec].topology for spec in specs]
    wishes += [snapshot.gangs[gang].topology] if gang != UNKNOWN else []
    return {wish.preferred for wish in wishes if wish is not None and wish.preferred is not None}


def _reason(reason: Reason) -> dict[str, Any]:
    return {"word": reason.word, "sentence": reason.sentence, "numbers": dict(reason.numbers)}


# --- when they start -----------------------------------------------------------------------------------------------
def foretell_queue(foretelling_id: int) -> None:
    """Works out when all jobs of a queue may start, on the reading that was asked about."""
    asked = services.begin_foretelling(foretelling_id)
    if asked is None:
        return
    snapshot = snapshot_of(asked.revision)
    if snapshot is None:
        services.fail_foretelling(asked, "The reading is not kept any more; ask again.")
        return
    try:
        snapshot = by_team(snapshot)
        answer = explain(snapshot, book=book_for(snapshot, asked.begun_at))
        past, arrived = services.past_of(asked.source_id, asked.begun_at)
        found = forecast(
            answer,
            [Ran(*row) for row in past],
            arrived=[Arrived(*row) for row in arrived],
            records=records_for(snapshot),
        )
    except Exception as error:
        services.fail_foretelling(asked, _fault("replay", error))
        raise
    rows = zip(answer.rows, found.starts, strict=True)
    starts = {
        services.place_of(row.cluster, row.key, row.job.gang != UNKNOWN): [
            one.p10_s, one.p50_s, one.p90_s, one.started, one.runs, one.why,
        ]
        for row, one in rows
    }  # fmt: skip
    basis = {**found.gpu_milli, "newcomers_a_day": found.newcomers_a_day, "horizon_s": found.horizon_s}
    services.answer_foretelling(asked, starts, basis)


# --- what runs -----------------------------------------------------------------------------------------------------
def running_jobs(snapshot: Snapshot, live: Any, book: Book) -> Iterator[dict[str, Any]]:
    """One row for each gang with live members, and for each live GPU pod without one; ``live``: rows of pods."""
    alone = live[(snapshot.pod_gang[live] == UNKNOWN) & (snapshot.pod_gpus[live] > 0) & ~snapshot.pod_agent[live]]
    for pod in alone.tolist():
        yield _running(snapshot, UNKNOWN, np.array([pod]), book)
    members = live[snapshot.pod_gang[live] != UNKNOWN]
    order = members[np.argsort(snapshot.pod_gang[members], kind="stable")]
    gangs, starts = np.unique(snapshot.pod_gang[order], return_index=True)
    for gang, rows in zip(gangs.tolist(), np.split(order, starts[1:]) if len(order) else [], strict=True):
        yield _running(snapshot, gang, rows, book)


def _running(snapshot: Snapshot, gang: int, rows: Any, book: Book) -> dict[str, Any]:
    """GPUs in thousandths, entropy in nats."""
    record = snapshot.gangs[gang] if gang != UNKNOWN else None
    milli = snapshot.pod_gpus[rows].astype(np.int64) * snapshot.pod_gpu_milli[rows]
    nodes = snapshot.pod_node[rows]
    tenants = {int(t) for t in snapshot.pod_tenant[rows]}
    models = {int(m) for m in snapshot.node_model[nodes]} - {UNKNOWN}
    started = [int(s) for s in snapshot.pod_started_s[rows] if s != ABSENT]
    tenant = snapshot.tenants[tenants.pop()] if len(tenants) == 1 and UNKNOWN not in tenants else ""
    priority = int(snapshot.pod_priority[rows].max())
    ranked = book.ranks.of(tenant or None, priority) if book.classes else None
    return {
        "key": f"{record.namespace}/{record.name}" if record is not None else snapshot.pod_key(int(rows[0])),
        "gang": record is not None,
        "tenant": tenant,
        "priority_class": ranked.name if ranked is not None else "",
        "pods": len(rows),
        "min_members": record.min_members if record is not None else None,
        "gpu_milli": int(milli.sum()),
        "models_text": "".join(f"|{name}" for name in sorted(snapshot.models[m] for m in models)) + "|" * bool(models),
        "nodes": len(set(nodes.tolist())),
        "lp": bool(snapshot.pod_lp[rows].all()),
        "priority": priority,
        "ran_s": snapshot.now_s - min(started) if started else None,
        **_spread(snapshot, nodes, milli),
    }


def _spread(snapshot: Snapshot, nodes: Any, milli: Any) -> dict[str, Any]:
    """Over access switches; None where the cluster knows none."""
    if ASW not in snapshot.levels:
        return {"asws": None, "unlabelled": None, "entropy": None}
    at = snapshot.node_at_level[snapshot.levels.index(ASW)]
    if len(nodes) == 1:
        labelled = int(at[nodes[0]] != UNKNOWN)
        return {"asws": labelled, "unlabelled": 1 - labelled, "entropy": 0.0}
    held: Counter[int] = Counter()
    for node, amount in zip(nodes.tolist(), milli.tolist(), strict=True):
        held[node] += amount
    known = set(at[nodes].tolist()) - {UNKNOWN}
    return {
        "asws": len(known),
        "unlabelled": int((at[list(held)] == UNKNOWN).sum()),
        "entropy": round(entropy(gpus_by_place(at, dict(held))), 4),
    }


def bound_pods(snapshot: Snapshot, names: Iterable[Name]) -> dict[Name, int]:
    """Live pods of the jobs of these names; those without any are missing."""
    wanted = set(names)
    clusters = [cluster.name for cluster in snapshot.clusters]
    found: Counter[Name] = Counter()
    singles = {key.partition("/")[2] for _, key, gang in wanted if not gang}
    for p in np.flatnonzero(snapshot.pod_live & (snapshot.pod_gang == UNKNOWN)).tolist() if singles else []:
        if snapshot.pod_name[p] in singles:
            found[clusters[snapshot.pod_cluster[p]], snapshot.pod_key(p), False] += 1
    live = snapshot.pod_live & (snapshot.pod_gang != UNKNOWN)
    gangs, counts = np.unique(snapshot.pod_gang[live], return_counts=True)
    for gang, count in zip(gangs.tolist(), counts.tolist(), strict=True):
        record = snapshot.gangs[gang]
        found[record.cluster, f"{record.namespace}/{record.name}", True] = count
    return {name: found[name] for name in wanted & found.keys()}
