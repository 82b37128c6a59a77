"""What somebody would get who asks now: worked out by a worker on the newest reading; nothing is asked for by it."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import structlog
from django.utils import timezone

from console.inventory.archive import GoneError
from console.inventory.services import newest
from console.prices.selectors import Quote, quotes
from console.spot import services
from console.spot.models import Estimate
from console.spot.planning import past as seen
from console.spot.planning.freeing import freeing_of
from console.spot.planning.seating import ask_of
from console.spot.services.starting import promises_of
from console.standby.services import promises
from scheduler.cluster.promised import respecting
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Snapshot
from scheduler.spot.asks import HOUR_S, Ask
from scheduler.spot.board import Board, board_of
from scheduler.spot.chance import HORIZONS_S, Job, Standing
from scheduler.spot.lives import survival
from scheduler.spot.outlook import ELSEWHERE, LATER, SMALLER, Instead, Market, Scene, Told, estimate
from scheduler.spot.planner import Limits, Used

log = structlog.get_logger(__name__)
ENDLESS_S = 30 * 86_400  # of spot work that no lease of ours holds: nobody says when it ends
CHUNK = 8  # GPUs; such work is counted in pieces of a node
TYPICAL_FIT = 0.5  # what comes free comes free by whole jobs, however scattered what is free now
GONE = "The newest reading is not kept any more. Ask for the estimate again."
UNREAD = "The source has not been read yet. Ask again when it has."
POOLED = "too few runs on {} were seen: runs on all GPU models are counted"
SIMULATED = "what spot work could hold of {} before today is simulated: this is a demo"


def answer(estimate_id: int) -> None:
    """Answers one question, unless somebody else does."""
    row = services.begin_estimate(estimate_id)
    if row is None:
        return
    try:
        _answer(row, timezone.now())
    except GoneError:
        services.fail_estimate(row, GONE)
    except Exception as error:
        log.exception("estimate.failed", estimate=row.pk)
        words = f"The estimate failed by a fault of the console ({type(error).__name__}). Its log says more."
        services.fail_estimate(row, words)


def _answer(row: Estimate, now: datetime) -> None:
    found = newest(row.source)
    if found is None:
        services.fail_estimate(row, UNREAD)
        return
    reading, snapshot = found
    ask = ask_of(row.asked)
    held = (*promises(row.source_id), *promises_of(row.source_id, row.cluster, reading))
    scene, assumed = scene_of(row, snapshot, held, now)
    told = estimate(replace(scene, freeing=freeing_of(row.source_id, row.cluster, snapshot, ask)), row.tenant, ask)
    services.keep_estimate(row, reading, document(told.told, told.instead, [*assumed, *told.assumes], scene.seed, now))


def scene_of(row: Estimate, snapshot: Snapshot, promises: Any, now: datetime) -> tuple[Scene, list[str]]:
    """The reading with every GPU model of the cluster, and what had to be assumed of them."""
    board = board_of(respecting(snapshot, promises), cluster=row.cluster, promises=promises)
    here = (snapshot.node_cluster == board.cluster) & (snapshot.node_model >= 0) & (snapshot.node_gpus > 0)
    models = [snapshot.models[m] for m in np.unique(snapshot.node_model[here]).tolist()]
    priced, used, assumed = quotes(models, now), seen.used_parts(), []
    markets = {}
    for model in models:
        markets[model], notes = market_of(row, board, model, priced[model], used, now)
        assumed += notes if model in row.asked["gpu_models"] else []
    scene = Scene(board, markets, Used.on(snapshot, board.cluster), Limits(), seen.curves(now), seed=row.pk)
    return scene, assumed


def market_of(
    row: Estimate, board: Board, model: str, quote: Quote, used: tuple[float, ...], now: datetime
) -> tuple[Market, list[str]]:
    past, simulated = seen.past_of(row.source_id, row.cluster, model, now)
    lives, pooled = seen.lived(model, now)
    jobs = seen.jobs_of(row.source_id, row.cluster, model, now)
    open_gpus = np.where(board.of_model(model), board.open_gpus(), 0)
    spot = _spot_gpus(board, model)
    others = max(0, spot - sum(job.gpus for job in jobs["running"]))
    pieces = [Job(CHUNK, CHUNK, ENDLESS_S)] * (others // CHUNK)
    pieces += [Job(others % CHUNK, 1, ENDLESS_S)] if others % CHUNK else []
    sizes = {job.gpus_per_pod for some in jobs.values() for job in some}
    whole = max(1, int(open_gpus.sum()))
    standing = Standing(
        supply=int(open_gpus.sum()) + max(spot, sum(job.gpus for job in jobs["running"])),
        running=(*jobs["running"], *pieces),
        ahead=jobs["ahead"],
        newcomers=jobs["newcomers"],
        looked_s=int(seen.LATELY.total_seconds()),
        used=used,
        fit={g: max(TYPICAL_FIT if g > 1 else 1.0, float((open_gpus // g * g).sum()) / whole) for g in sizes},
    )
    notes = [SIMULATED.format(model)] if simulated else []
    notes += [POOLED.format(model)] if pooled and lives else []
    return Market(past, standing, survival(lives), quote.cents, quote.on_demand_cents), notes


def _spot_gpus(board: Board, model: str) -> int:
    """That live spot work holds on nodes of the model."""
    snapshot = board.ground.snapshot
    live = np.flatnonzero(snapshot.pod_live & snapshot.pod_lp)
    live = live[board.of_model(model)[snapshot.pod_node[live]]]
    return int((snapshot.pod_gpus[live].astype(np.int64) * snapshot.pod_gpu_milli[live]).sum()) // WHOLE_GPU_MILLI


# ---- in plain values ------------------------------------------------------------------------------------------------
def document(
    told: Told, instead: tuple[Instead, ...], assumed: list[str], seed: int, now: datetime
) -> dict[str, Any]:  # fmt: skip
    """The answer as the page and the API read it; ``raw`` is what calibration learns from."""
    blocked = None
    if told.wait is not None:
        blocked = {"reason": told.wait.reason, "numbers": dict(told.wait.numbers), "words": told.wait.words}
    return {
        "model": told.model, "blocked": blocked,
        "chance": {str(h): _part(told.chance.get(h)) for h in HORIZONS_S},
        "raw": {str(h): _part(told.raw.get(h)) for h in HORIZONS_S},
        **_numbers(told),
        "on_demand_cents": told.on_demand_cents,
        "reclaims_low": told.outlay.reclaims_low, "reclaims_high": told.outlay.reclaims_high,
        "alternatives": [_alternative(one, now) for one in instead],
        "unknown": [_sentence(one) for one in told.unknown],
        "assumed": [_sentence(one) for one in (*told.unknown, *assumed)], "seed": seed,
    }  # fmt: skip


def _numbers(told: Told) -> dict[str, Any]:
    return {
        "run_p10_s": told.run_p10_s, "run_p50_s": told.run_p50_s, "cents": told.cents,
        "cost_low_cents": told.outlay.low_cents, "cost_high_cents": told.outlay.high_cents,
    }  # fmt: skip


def _alternative(one: Instead, now: datetime) -> dict[str, Any]:
    ask = one.told.ask
    what, change, note = _words(one, ask, now)
    return {"kind": one.what, "what": what, "change": change, "note": note, "wait_s": one.wait_s,
            "chance_3600": _part(one.chance_1h), **_numbers(one.told)}  # fmt: skip


def _words(one: Instead, ask: Ask, now: datetime) -> tuple[str, dict[str, Any], str]:
    size = f"{ask.gpus:,} {one.told.model or ask.models[0]}"
    if one.what == LATER:
        at = now + timedelta(seconds=one.wait_s)
        return f"Wait until {at:%H}:{at.minute // 15 * 15:02d} UTC", {}, f"in {one.wait_s // HOUR_S} h"
    if one.what == SMALLER:
        return f"{size}, half the gang", {"pods": ask.pods, "min_members": ask.min_members}, ""
    if one.what == ELSEWHERE:
        note = "speed not measured" if one.speed is None else f"measured {one.speed:.1f}x speed"
        return size, {"gpu_models": list(ask.models), "run_s": ask.run_s}, note
    return f"{size}, topology preferred", {"required": False}, ""


def _part(chance: float | None) -> float | None:
    return None if chance is None else round(chance, 4)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "."
