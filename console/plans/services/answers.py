"""From a core plan to rows: what people read must stay when the snapshots are long gone."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from console.plans.models import KeptNode, Plan, PlanMap, Step
from console.plans.services import aims, pricing, staying
from console.plans.services.staying import gpu_milli_of, tenant_of
from console.ui.figures import plural
from console.ui.tones import reason_of
from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, WORK_CLASSES, Ints, Snapshot
from scheduler.plan import plan as core
from scheduler.plan.operations import Migrate
from scheduler.plan.pace import owner_of
from scheduler.plan.statement import marginal

CUT = "cut: "  # how a planner's note begins that says where it was stopped
NO_DATA = 255
MARK_EMPTIED, MARK_RECEIVES, MARK_GIVES = 1, 2, 4
_BATCH = 500


def facts(answer: core.Plan, snapshot: Snapshot) -> dict[str, Any]:
    """The columns of a plan that its answer fills."""
    rows = moved_rows(answer, snapshot)
    return {
        "headline": headline(answer, snapshot, rows),
        "notes": list(answer.notes),
        "impact": impact(answer, snapshot, rows),
        "curve": [] if answer.kind == core.ROLLBACK else [[kept, net] for kept, net in marginal(answer)],
        "changes": [],
    }


def why_nothing(answer: core.Plan) -> str:
    """In words: that it was stopped too early to know, or else the reason of the most nodes that stay."""
    if answer.aim is not None:
        return aims.why_not(answer)
    cut = next((note for note in answer.notes if note.startswith(CUT)), None)
    if cut is not None:
        return f"Stopped before a move was found: {cut.removeprefix(CUT)}. Whether one is worth making is not known."
    if not answer.kept:
        return "No node in scope is partly used: there is nothing to empty."
    reasons = [kept.reason for kept in answer.kept]
    most = max(sorted(set(reasons)), key=reasons.count)
    return (
        f"No move is worth making: {plural(len(reasons), 'node')} stay{'s' if len(reasons) == 1 else ''}, "
        f"{reasons.count(most):,} of them first for: {reason_of(most).label.lower()}."
    )


def moved_rows(answer: core.Plan, snapshot: Snapshot) -> list[int]:
    """Row in the snapshot of each move's pod, in the order of the moves."""
    wanted = {move.pod for move in answer.moves}
    rows = {key: row for row in range(len(snapshot.pod_name)) if (key := snapshot.pod_key(row)) in wanted}
    return [rows[move.pod] for move in answer.moves]


def headline(answer: core.Plan, snapshot: Snapshot, rows: list[int]) -> dict[str, Any]:
    """Counts of the plan; GPU amounts in thousandths."""
    emptied = set(answer.emptied_nodes)
    gpus = [gpu_milli_of(snapshot, row) for row in rows]
    touched = {node for move in answer.moves for node in (move.source, move.target)}
    return {
        "slack_before": answer.before.slack_nodes,
        "slack_after": answer.after.slack_nodes,
        "empty_before": answer.before.empty_nodes,
        "empty_after": answer.after.empty_nodes,
        "net_emptied": answer.net_emptied,
        "emptied": len(emptied),
        "emptied_gpus": sum(
            int(snapshot.node_allocatable[row]) for row, name in enumerate(snapshot.node_name) if name in emptied
        ),
        "net_upper": answer.bound.net_upper,
        "gap": answer.bound.gap,
        "proven": answer.bound.proven,
        "moves": len(answer.moves),
        "restarts": sum(move.mode == "restart" for move in answer.moves),
        "chains": len({move.chain for move in answer.moves}),
        "depth": max((move.depth for move in answer.moves), default=0),
        "waves": max(answer.wave_of, default=-1) + 1,
        "moved_milli": sum(gpus),
        "peak_milli": _peak(answer, gpus),
        "nodes": len(snapshot.node_name),
        "touched": len(touched),
        "kept": len(answer.kept),
        "stays": sum(len(kept.blockers) for kept in answer.kept) if answer.kind == core.ROLLBACK else 0,
        "goal": aims.goal_row(answer),
        "short": staying.short(answer, snapshot),
        "unlock": staying.largest_unlock(answer, snapshot),
        "models": _models(snapshot, touched),
        "price": pricing.price(answer, snapshot) if answer.moves else None,
    }


def _models(snapshot: Snapshot, nodes: set[str]) -> list[str]:
    rows = [row for row, name in enumerate(snapshot.node_name) if name in nodes]
    return sorted({snapshot.models[snapshot.node_model[row]] for row in rows if snapshot.node_model[row] != UNKNOWN})


def _peak(answer: core.Plan, gpus: list[int]) -> int:
    """GPUs that second copies take in the fullest wave."""
    waves: dict[int, int] = {}
    for wave, milli in zip(answer.wave_of, gpus, strict=True):
        waves[wave] = waves.get(wave, 0) + milli
    return max(waves.values(), default=0)


def impact(answer: core.Plan, snapshot: Snapshot, rows: list[int]) -> list[dict[str, Any]]:
    """One row per tenant, most GPUs first; ``lost_gpu_seconds`` None where a checkpoint time is unknown."""
    tenants: dict[str, dict[str, Any]] = {}
    for move, row in zip(answer.moves, rows, strict=True):
        name = tenant_of(snapshot, row)
        entry = tenants.setdefault(
            name, {"tenant": name, "pods": 0, "gpu_milli": 0, "restarts": 0, "lost_gpu_seconds": 0}
        )
        entry["pods"] += 1
        entry["gpu_milli"] += gpu_milli_of(snapshot, row)
        entry["restarts"] += move.mode == "restart"
        lost = _lost(snapshot, row, move)
        entry["lost_gpu_seconds"] = (
            None if lost is None or entry["lost_gpu_seconds"] is None else entry["lost_gpu_seconds"] + lost
        )
    return sorted(tenants.values(), key=lambda entry: (-entry["gpu_milli"], entry["tenant"]))


def store_rows(plan: Plan, answer: core.Plan, snapshot: Snapshot, run_waves: Sequence[int]) -> None:
    """Steps, kept nodes and map of a plan that was just proposed, in the caller's transaction."""
    rows = moved_rows(answer, snapshot)
    Step.objects.bulk_create(
        [
            _step(plan, snapshot, index, move, row, answer.wave_of[index], run_waves[index])
            for index, (move, row) in enumerate(zip(answer.moves, rows, strict=True))
        ],
        batch_size=_BATCH,
    )
    KeptNode.objects.bulk_create(
        [
            KeptNode(
                plan=plan,
                position=position,
                node=kept.node,
                reason=kept.reason,
                blockers=[_blocker(blocker) for blocker in kept.blockers],
                targets=kept.targets or {},
            )
            for position, kept in enumerate(answer.kept)
        ],
        batch_size=_BATCH,
    )
    draw_map(plan, answer, snapshot, rows)


def _step(plan: Plan, snapshot: Snapshot, index: int, move: Migrate, row: int, wave: int, run_wave: int) -> Step:
    work_class = int(snapshot.pod_work_class[row])
    return Step(
        plan=plan,
        index=index,
        wave=wave,
        run_wave=run_wave,
        chain=move.chain,
        depth=move.depth,
        drains=move.drains,
        after=list(move.after),
        pod=move.pod,
        pod_uid=move.uid,
        source_node=move.source,
        target_node=move.target,
        mode=move.mode,
        gpus=int(snapshot.pod_gpus[row]),
        gpu_milli=int(snapshot.pod_gpu_milli[row]),
        tenant=tenant_of(snapshot, row),
        owner=owner_of(move.pod, snapshot.pod_specs[snapshot.pod_spec[row]]),
        work_class="" if work_class == UNKNOWN else WORK_CLASSES[work_class],
        tier="LP" if snapshot.pod_lp[row] else "HP",
        lost_gpu_seconds=_lost(snapshot, row, move),
        checkpoint=None if move.checkpoint is None else msgspec.to_builtins(move.checkpoint),
    )


def _blocker(blocker: core.Blocker) -> dict[str, Any]:
    return {"pod": blocker.pod, "constraint": blocker.constraint, "missing": blocker.missing, "unit": blocker.unit}


def _lost(snapshot: Snapshot, row: int, move: Migrate) -> int | None:
    """GPU-seconds of work that a restart throws away: since the checkpoint that it goes by.  A copy loses none.

    None: unknown.
    """
    if move.mode != "restart":
        return 0
    since = int(snapshot.pod_checkpoint_s[row])
    if since == ABSENT:
        return None
    age = max(0, snapshot.now_s - since) if move.checkpoint is None else move.checkpoint.lost_after_s
    return age * gpu_milli_of(snapshot, row) // WHOLE_GPU_MILLI


def draw_map(plan: Plan, answer: core.Plan, snapshot: Snapshot, rows: list[int]) -> None:
    """The nodes in scope, ordered by model, ASW (unlabelled last) and name."""
    targets = {name: row for row, name in enumerate(snapshot.node_name)}
    after = snapshot.pod_node.copy()
    for move, row in zip(answer.moves, rows, strict=True):
        after[row] = targets[move.target]
    order, layout = _cells(snapshot, set(plan.models_in_scope))
    PlanMap.objects.create(
        plan=plan,
        layout=layout,
        names="\n".join(snapshot.node_name[row] for row in order),
        before=_free_per_cent(snapshot)[order].tobytes(),
        after=_free_per_cent(dataclasses.replace(snapshot, pod_node=after))[order].tobytes(),
        marks=_marks(answer, targets)[order].tobytes(),
        gpus=np.minimum(snapshot.node_gpus, NO_DATA - 1).astype(np.uint8)[order].tobytes(),
    )


def _cells(snapshot: Snapshot, models: set[str]) -> tuple[Ints, list[dict[str, Any]]]:
    keyed = []
    at_asw = snapshot.node_at_level[snapshot.levels.index("asw")] if "asw" in snapshot.levels else None
    for row, name in enumerate(snapshot.node_name):
        model = snapshot.models[snapshot.node_model[row]] if snapshot.node_model[row] != UNKNOWN else ""
        if models and model not in models:
            continue
        domain = int(at_asw[row]) if at_asw is not None else UNKNOWN
        asw = None if domain == UNKNOWN else snapshot.domain_name[domain]
        keyed.append(((model, asw is None, asw or "", name), row))
    keyed.sort()
    layout: list[dict[str, Any]] = []
    for (model, unlabelled, asw, _name), _row in keyed:
        label = None if unlabelled else asw
        if not layout or (layout[-1]["model"], layout[-1]["asw"]) != (model, label):
            layout.append({"model": model, "asw": label, "count": 0})
        layout[-1]["count"] += 1
    return np.array([row for _key, row in keyed], dtype=np.int32), layout


def _free_per_cent(snapshot: Snapshot) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """[n] free whole GPUs in per cent of the node's GPUs; nodes of which nothing can be said have no data."""
    gpus = np.maximum(snapshot.node_gpus, 1)
    free = np.asarray(occupancy(snapshot).free_gpus) * 100 // gpus
    unknown = (snapshot.node_gpus == 0) | ~snapshot.node_usable
    return np.where(unknown, NO_DATA, np.minimum(free, 100)).astype(np.uint8)


def _marks(answer: core.Plan, rows: dict[str, int]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    marks = np.zeros(len(rows), dtype=np.uint8)
    for name in answer.emptied_nodes:
        marks[rows[name]] |= MARK_EMPTIED
    for move in answer.moves:
        marks[rows[move.target]] |= MARK_RECEIVES
        marks[rows[move.source]] |= MARK_GIVES
    return marks
