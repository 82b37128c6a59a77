"""What plans that await an approval, or run, would free for an ask: its seats on the cluster as each would leave it."""

from collections.abc import Sequence

from console.plans.choices import State
from console.plans.models import Plan
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.plan.outcome import moved
from scheduler.plan.plan import from_json
from scheduler.plan.resolve import resolve
from scheduler.spot.asks import Ask
from scheduler.spot.board import asking, board_of
from scheduler.spot.planner import Freeing
from scheduler.spot.refusing import outlay_of

LOOKED_AT = 4  # plans, the newest first
AHEAD = (State.PROPOSED, State.APPROVED, State.EXECUTING, State.PAUSED)


def freeing_of(source_id: int, cluster: str, snapshot: Snapshot, ask: Ask) -> list[Freeing]:
    """By plan and GPU model of the ask, GPUs on which it would find room; ``snapshot`` as others must see it."""
    plans = Plan.objects.filter(
        source_id=source_id, cluster=cluster, state__in=AHEAD, report=False, document__isnull=False
    ).order_by("-pk")  # fmt: skip
    found = []
    for row in plans[:LOOKED_AT]:
        after = _after(bytes(row.document or b""), snapshot)
        if after is not None:
            found += [Freeing(f"#{row.pk}", model, _level(ask), gpus) for model, gpus in _room(after, cluster, ask)]
    return found


def _after(document: bytes, snapshot: Snapshot) -> Snapshot | None:
    """None where the cluster has changed so that the plan names what is not there."""
    rows = resolve(from_json(document), snapshot)
    if not rows.pod or UNKNOWN in rows.pod or UNKNOWN in rows.target or rows.snapshot is not snapshot:
        return None
    return moved(snapshot, dict(zip(rows.pod, rows.target, strict=True)))


def _room(after: Snapshot, cluster: str, ask: Ask) -> Sequence[tuple[str, int]]:
    board = board_of(after, cluster=cluster)
    room, part = asking(board, ask)
    rows = [outlay_of(board, room, part, ask, model) for model in ask.models]
    return [(one.model, (one.block if ask.required else one.pods) * ask.gpus_per_pod) for one in rows]


def _level(ask: Ask) -> str:
    return ask.topology if ask.required else ""
