"""What prices read of leases: seconds inside the period, and no words that cost nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console.inventory.models import Source
from console.prices import record
from console.prices.record import Asked
from console.spot.choices import Cause, Reason, State
from console.spot.models import Lease, LeaseChange, Reclaim, Run
from console.spot.selectors.asked import asked_between
from tests.builders.people import tenant

pytestmark = pytest.mark.django_db
START = datetime(2026, 11, 2, tzinfo=UTC)
END = START + timedelta(days=7)
HOUR = timedelta(hours=1)


@pytest.fixture
def source() -> Source:
    return Source.objects.create(name="s", kind="file")


def lease(source: Source, asked_at: datetime | None, state: str = "waiting", **said: Any) -> Lease:
    fields: dict[str, Any] = {
        "cluster": "c", "tenant": "t1", "asked_by": tenant("t1"), "gpu_models": ["H100", "A100"],
        "gpus_per_pod": 2, "pods": 4, "min_members": 4, "cpu_milli": 0, "memory_mib": 0, "run_s": 36_000,
        "checkpoint_interval_s": 600, "limit_cents": 300, "guaranteed_s": 60,
    }  # fmt: skip
    return Lease.objects.create(source=source, asked_at=asked_at, state=state, **fields | said)


def ran(row: Lease, number: int, begun: datetime, ended: datetime | None, model: str = "H100") -> Run:
    return Run.objects.create(
        lease=row, number=number, gpu_model=model, gpus=8, revision=1, cents=100, launched_at=begun,
        running_at=begun, ended_at=ended,
    )  # fmt: skip


def changed(row: Lease, at: datetime, state: State) -> None:
    LeaseChange.objects.create(lease=row, at=at, state=state, reason=Reason.NOT_EVALUATED)


def test_a_lease_that_waited_ran_was_reclaimed_and_runs_again(source: Source) -> None:
    row = lease(source, START - 5 * HOUR, State.RUNNING)
    for hours, state in ((-5, State.WAITING), (-2, State.RUNNING), (3, State.RECLAIMING), (4, State.REQUEUED),
                         (6, State.STARTING), (7, State.RUNNING)):  # fmt: skip
        changed(row, START + hours * HOUR, state)
    first = ran(row, 1, START - 2 * HOUR, START + 4 * HOUR)
    ran(row, 2, START + 7 * HOUR, None, "A100")
    for own in (False, True):
        Reclaim.objects.create(
            lease=row, run=first, cause=Cause.RECALL, own=own, gpus=8, noticed_at=START + 3 * HOUR,
            kill_at=START + 3 * HOUR, ended_at=START + 4 * HOUR,
        )  # fmt: skip
    assert asked_between(START, END) == [
        Asked(
            gpu_model="A100", tenant="t1", key=row.number, gpu_milli=8000, asked_at=row.asked_at,  # type: ignore[arg-type]
            work_s=36_000 - 2 * 3600, limit_cents=300, guaranteed_s=60, checkpoint_s=600, waited_s=2 * 3600,
            ran_s=(4 + 161) * 3600, reclaims=1,
        )
    ]  # fmt: skip


def test_who_counts(source: Source) -> None:
    waits = lease(source, END - HOUR)
    changed(waits, END - HOUR, State.WAITING)
    lease(source, None, State.DRAFT)
    lease(source, START + HOUR, State.WITHDRAWN, ended_at=START + 2 * HOUR)
    lease(source, END + HOUR)
    lease(source, START - 9 * HOUR, State.ENDED, ended_at=START - HOUR)
    (one,) = asked_between(START, END)
    assert (one.key, one.gpu_model, one.waited_s, one.ran_s, one.work_s) == (waits.number, "H100", 3600, 0, 36_000)


def test_prices_are_told_of_leases() -> None:
    assert record._sources["leases"] is asked_between
