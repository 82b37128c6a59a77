"""The only caller of the placement planner; only workers import it."""

import base64
from collections import Counter
from typing import Any

import numpy as np

from console.inventory.archive import GoneError
from console.inventory.cells import layout_of
from console.inventory.services import newest
from console.placement import services
from console.placement.models import Question
from scheduler.cluster.build import restrict
from scheduler.cluster.errors import InputError, ParamError
from scheduler.cluster.snapshot import Snapshot
from scheduler.performance.step_time import Model, Parallelism
from scheduler.placement.ground import Ground, ground_of
from scheduler.placement.options import Option
from scheduler.placement.planner import Expecting, Group, Placement, Request, place
from scheduler.placement.told import largest_fit, option_json

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
    snapshot = restrict(whole, question.cluster)
    ground = ground_of(snapshot)
    request = request_of(question.asked)
    placement = place(snapshot, request, ground=ground, expecting=_expecting(question.asked))
    drawing = None if placement.best is None else _drawing(ground, placement.best, request.groups[0].gpus)
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


def _drawing(ground: Ground, best: Option, gpus: int) -> dict[str, Any]:
    """The nodes of the cluster in the order of the map: free now, free with the job, and which of them it takes."""
    snapshot = ground.snapshot
    cells = layout_of(snapshot)
    pods = Counter(node for _, node in best.assignment)
    taken = np.array([pods.get(name, 0) for name in snapshot.node_name], np.int64)
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
        "after": _packed(_per_cent(snapshot, np.maximum(free - taken * gpus, 0))[cells.order]),
        "marks": _packed(np.where(taken > 0, RECEIVES, 0)[cells.order]),
        "gpus": _packed(np.minimum(snapshot.node_gpus, NO_DATA - 1)[cells.order]),
    }


def _per_cent(snapshot: Snapshot, free: "np.ndarray[Any, np.dtype[np.int64]]") -> "np.ndarray[Any, Any]":
    unknown = (snapshot.node_gpus == 0) | ~snapshot.node_usable
    return np.where(unknown, NO_DATA, np.minimum(free * 100 // np.maximum(snapshot.node_gpus, 1), 100))


def _packed(column: "np.ndarray[Any, Any]") -> str:
    return base64.b64encode(column.astype(np.uint8).tobytes()).decode()
