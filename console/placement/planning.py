"""The only caller of the placement planner; only workers import it."""

import base64
from collections import Counter
from typing import Any

import numpy as np

from console.inventory.archive import GoneError
from console.inventory.cells import layout_of
from console.inventory.models import Observation
from console.inventory.services import newest
from console.placement import services
from console.placement.models import Question
from console.tenancy.planning import book_for, by_team
from console.tenancy.selectors import tenant_scope
from scheduler.admission.jobs import Job
from scheduler.admission.order import by_name, waiting_line
from scheduler.admission.quota import Book
from scheduler.cluster.build import restrict
from scheduler.cluster.errors import InputError, ParamError
from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.snapshot import Bools, Longs, Snapshot
from scheduler.performance.step_time import Model, Parallelism
from scheduler.placement.beside import Beside, Held, beside, with_seated
from scheduler.placement.ground import Ground, ground_of
from scheduler.placement.joint import Seated, place_jointly
from scheduler.placement.options import Option, entropy_level
from scheduler.placement.planner import Expecting, Group, Placement, Request, place
from scheduler.placement.planner import request_of as request_of_job
from scheduler.placement.told import largest_fit, option_json, outcome_json, predicted_json

NO_DATA = 255
RECEIVES = 2  # as in the maps of plans


def answer(question_id: int) -> None:
    """Works out where the job would go, on the newest reading; nothing is done about it."""
    question = services.begin(question_id)
    if question is None:
        return
    try:
        _answer(question)
    except GoneError:
        services.fail(question, "The newest reading is not kept any more; ask again.")
    except (ParamError, InputError) as error:
        services.fail(question, str(error))
    except Exception as error:
        services.fail(question, f"The planner failed: {type(error).__name__}: {error}")
        raise


def _answer(question: Question) -> None:
    found = newest(question.source)
    if found is None:
        services.fail(question, "The source has not been read yet.")
        return
    reading, whole = found
    if question.together:
        _answer_together(question, reading, whole)
        return
    snapshot = restrict(whole, question.cluster)
    ground = ground_of(snapshot)
    request = request_of(question.asked)
    placement = place(snapshot, request, ground=ground, expecting=_expecting(question.asked))
    drawing = None
    if placement.best is not None:
        taken = Counter(node for _, node in placement.assignment)
        each = np.array([taken.get(name, 0) for name in snapshot.node_name], np.int64)
        after = np.maximum(ground.occupancy.free_gpus - each * request.groups[0].gpus, 0)
        drawing = _drawing(ground, each > 0, after)
    services.keep(question, reading, _told(placement, request.groups[0].gpus), drawing)


def request_of(asked: dict[str, Any]) -> Request:
    """From the plain fields of a question."""
    group = Group(
        count=asked["pods"],
        gpus=asked["gpus"],
        cpu_milli=asked["cpu_milli"],
        memory_mib=asked["memory_mib"],
        models=(asked["model"],) if asked["model"] else (),
        slice_pods=asked["slice_pods"],
        slice_level=asked["slice_level"],
    )
    mixes = asked.get("mix_models", False)  # questions of before say nothing of it
    return Request(
        groups=(group,), required=asked["required"], preferred=asked["preferred"], tier=asked["tier"],
        may_mix_models=mixes,
    )  # fmt: skip


def _expecting(asked: dict[str, Any]) -> Expecting:
    if asked["billions"] is None:
        return Expecting()
    ways = Parallelism(tp=asked["tp"], pp=asked["pp"], ep=asked["ep"])
    return Expecting(model=Model(parameters=asked["billions"] * 1e9), parallelism=ways)


def _told(found: Placement, gpus: int) -> dict[str, Any]:
    refusal = found.refusal
    return {
        "ok": found.ok,
        "reason": found.reason or None,
        "detail": None if refusal is None else refusal.detail,
        "proven": None if refusal is None else refusal.proven,
        "largest_fit": largest_fit(found),
        "fits": [
            {"level": one.level, "pods": one.pods, "gpus": one.gpus, "domain": one.domain or None}
            for one in found.largest_fit
        ],
        "reasons": found.reasons,
        "best": None if found.best is None else _option(found.best, gpus),
        "alternatives": [_option(one, gpus) for one in found.alternatives],
    }


def _option(one: Option, gpus: int) -> dict[str, Any]:
    pods = Counter(node for _, node in one.assignment)
    return {
        **option_json(one),
        "entropy": round(one.entropy, 6),
        "node_count": len(pods),
        "nodes": [{"node": node, "pods": count, "gpus": count * gpus} for node, count in pods.items()],
    }


def _answer_together(question: Question, reading: Observation, whole: Snapshot) -> None:
    names = tenant_scope(question.asked_by)
    named = by_team(whole)
    line = _line(named, book_for(named, reading.begun_at), question, names)
    jobs = line[: question.asked["first"]]
    snapshot = restrict(whole, question.cluster)
    ground = ground_of(snapshot)
    requests = [request_of_job(snapshot, job.key) for _, job in jobs]
    if not requests:
        services.keep(question, reading, {"ok": True, "waiting": 0, "level": entropy_level(ground), "jobs": []}, None)
        return
    found = place_jointly(snapshot, requests)
    rows = beside(ground, requests, found)
    after = with_seated(snapshot, found.found.jobs)
    taken = {node for job in found.found.jobs for _, node in job.assignment}
    marks = np.array([name in taken for name in snapshot.node_name], np.bool_)
    told = {
        "ok": all(job.assignment for job in found.found.jobs),
        "waiting": len(line),
        "level": entropy_level(ground),
        "together": outcome_json(found.found),
        "largest_first": outcome_json(found.greedy),
        "most_gpus": found.most_gpus,
        "proven": found.proven,
        "jobs": [
            _job_row(place, job, one, ours, greedy)
            for (place, job), one, ours, greedy in zip(jobs, rows, found.found.jobs, found.greedy.jobs, strict=True)
        ],
    }
    services.keep(question, reading, told, _drawing(ground, marks, occupancy(after).free_gpus.astype(np.int64)))


def _line(whole: Snapshot, book: Book, question: Question, names: frozenset[str] | None) -> list[tuple[int, Job]]:
    """Place in the queue of the cluster, from 1, and job: those that are asked about and that the asker may see."""
    cluster = [one.name for one in whole.clusters].index(question.cluster)
    queue = [job for job in waiting_line(whole, book=book) if job.cluster == cluster]
    known = {job.pods: place for place, job in enumerate(queue, 1)}
    model, tenant = question.asked["model"], question.asked["tenant"]
    return [
        (known[job.pods], job)
        for job in by_name(whole, queue)
        if (names is None or job.tenant in names)
        and (not model or (not job.contrary and model in (job.models or (model,))))
        and (not tenant or job.tenant == tenant)
    ]


def _job_row(place: int, job: Job, one: Beside, ours: Seated, greedy: Seated) -> dict[str, Any]:
    return {
        "job": job.key,
        "tenant": job.tenant or "",
        "position": place,
        "pods": len(job.pods),
        "gpus": ours.gpus,
        "difference": one.difference,
        "joint": _held(one.joint, ours),
        "greedy": _held(one.greedy, greedy),
    }


def _held(where: Held | None, seated: Seated) -> dict[str, Any] | None:
    if where is None:
        return None
    return {
        "entropy": None if seated.entropy is None else round(seated.entropy, 6),
        "predicted": None if seated.predicted is None else predicted_json(seated.predicted),
        "gpu_models": list(where.models),
        "domains": [{"domain": name, "gpus": gpus} for name, gpus in where.domains],
        "node_count": len(where.nodes),
        "nodes": [{"node": node, "pods": pods, "gpus": gpus} for node, pods, gpus in where.nodes],
    }


def _drawing(ground: Ground, taken: Bools, after: Longs) -> dict[str, Any]:
    """The nodes of the cluster in the order of the map: free now, free afterwards, and which of them are taken."""
    snapshot = ground.snapshot
    cells = layout_of(snapshot)
    free = ground.occupancy.free_gpus.astype(np.int64)
    return {
        "groups": [
            {"model": model["model"] or "", "asw": switch["asw"], "count": switch["count"]}
            for cluster in cells.groups
            for model in cluster["models"]
            for switch in model["asws"]
        ],
        "names": cells.names.decode().split("\n"),
        "before": _packed(_per_cent(snapshot, free)[cells.order]),
        "after": _packed(_per_cent(snapshot, after)[cells.order]),
        "marks": _packed(np.where(taken, RECEIVES, 0)[cells.order]),
        "gpus": _packed(np.minimum(snapshot.node_gpus, NO_DATA - 1)[cells.order]),
    }


def _per_cent(snapshot: Snapshot, free: "np.ndarray[Any, np.dtype[np.int64]]") -> "np.ndarray[Any, Any]":
    unknown = (snapshot.node_gpus == 0) | ~snapshot.node_usable
    return np.where(unknown, NO_DATA, np.minimum(free * 100 // np.maximum(snapshot.node_gpus, 1), 100))


def _packed(column: "np.ndarray[Any, Any]") -> str:
    return base64.b64encode(column.astype(np.uint8).tobytes()).decode()
