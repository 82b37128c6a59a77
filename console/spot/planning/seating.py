"""Who of the line starts now, on the newest reading; nothing is launched here."""

from datetime import datetime

import structlog
from django.utils import timezone

from console.inventory.archive import GoneError
from console.prices.selectors import quotes
from console.spot import services
from console.spot.choices import Reason, State
from console.spot.models import Lease
from console.spot.selectors.forecasting import quota_of
from console.standby.services import promises
from scheduler.cluster.promised import respecting
from scheduler.cluster.snapshot import Snapshot
from scheduler.spot.asks import Ask
from scheduler.spot.planner import Limits, Waiting, plan_starts
from scheduler.spot.seats import Seating

log = structlog.get_logger(__name__)


def look(now: datetime | None = None) -> int:
    """One look at every line; how many leases were given places."""
    return sum(look_at(source_id, cluster, now or timezone.now()) for source_id, cluster in services.lines_due())


def look_at(source_id: int, cluster: str, now: datetime) -> int:
    try:
        line = services.take_line(source_id, cluster, now)
        return 0 if line is None else _seat(line)
    except GoneError:
        return 0  # a newer reading has taken its place
    except Exception:
        # One line that cannot be looked at must not keep the others from it.
        log.exception("lease.line_failed", source=source_id, cluster=cluster)
        return 0


def _seat(line: services.Line) -> int:
    rows = {str(row.uid): row for row in line.leases}
    models = sorted({model for row in line.leases for model in row.gpu_models})
    priced = {model: quote.cents for model, quote in quotes(models, line.at).items()}
    held = (*promises(line.source.pk), *line.promises)
    turn = plan_starts(
        respecting(line.snapshot, held),
        [waiting_of(row, line) for row in line.leases],
        Limits(spot_gpus={model: quota_of(None, model, line.at) for model in models}),
        cluster=line.cluster,
        promises=held,
        kept=_frozen_nodes(line.snapshot, line.frozen),
        prices=priced,
    )
    started = 0
    for one in turn.decisions:
        row = rows[one.uid]
        if one.seating is not None:
            started += _start(row, one.seating, line, priced[one.seating.model])
        elif one.wait is not None:
            numbers = {**one.wait.numbers, "words": one.wait.words}
            services.note_wait(row, Reason(one.wait.reason), numbers, line)
    services.looked(line)
    return started


def _start(row: Lease, seating: Seating, line: services.Line, cents: int | None) -> int:
    assert cents is not None  # nobody is seated on a model that has no quote
    places = [services.Given(one.node, one.lent_by) for one in seating.pods]
    return services.start(row, seating.model, places, reading=line.reading, cents=cents, at=line.at) is not None


def waiting_of(row: Lease, line: services.Line) -> Waiting:
    """Instants on the reading's own clock."""
    requeued = row.state == State.REQUEUED
    since = row.since if requeued else row.asked_at or row.made_at
    return Waiting(
        uid=str(row.uid), tenant=row.tenant, ask=ask_of(services.ask_of(row), row.left_s),
        since_s=line.snapshot.now_s - int((line.at - since).total_seconds()), requeued=requeued,
    )  # fmt: skip


def ask_of(asked: dict[str, object], run_s: int | None = None) -> Ask:
    """From the plain fields of an ask."""
    said = {name: value for name, value in asked.items() if name not in ("gpu_models", "hook_name")}
    least = 600
    return Ask(models=tuple(asked["gpu_models"]), **{**said, "run_s": max(least, run_s or asked["run_s"])})  # type: ignore[arg-type,call-overload]


def _frozen_nodes(snapshot: Snapshot, models: tuple[str, ...]) -> list[str]:
    """Nodes of models on which a freeze lies."""
    if not models:
        return []
    frozen = {index for index, name in enumerate(snapshot.models) if name in models}
    return [snapshot.node_name[n] for n, model in enumerate(snapshot.node_model.tolist()) if model in frozen]
