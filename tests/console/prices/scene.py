"""Prices, proposals and their people for tests.  Needs the database."""

from datetime import UTC, datetime, timedelta
from typing import Any

from console.prices import services
from console.prices.models import Price, Proposal
from console.prices.services.computing import Line
from tests.builders.people import approver, operator

H100, A100 = "H100-SXM5-80GB", "A100-SXM4-80GB"  # on demand 688 and 460 cents, as published; floors 69 and 46
NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
LONG_AGO = datetime(2026, 9, 1, 6, tzinfo=UTC)
FIGURES: dict[str, Any] = {
    "cents": 200, "gpu_hours": 900.0, "occupancy": 0.9, "evictions": 3, "revenue_cents": 180_000, "tenants": 4,
    "tenants_out": [],
}  # fmt: skip
PREVIEW: dict[str, Any] = {
    "from": "2026-11-23T00:00:00Z", "to": "2026-11-30T00:00:00Z", "assumptions": ["Drawn for a test."], "seed": 1,
    "models": [{"gpu_model": H100, "now": FIGURES, "then": FIGURES | {"tenants_out": ["team-secret"]}}],
    "whole": {"now": FIGURES, "then": FIGURES},
}  # fmt: skip
TERMS = [{"name": "queue", "label": "queue", "value": 12.0, "unit": "GPUs", "was": 8.0, "effect_cents": 6,
          "words": "queue up 50 %"}]  # fmt: skip


def price(model: str = H100, cents: int | None = 200, since: datetime = LONG_AGO, **said: Any) -> Price:
    return Price.objects.create(gpu_model=model, cents=cents, since=since, why=said.pop("why", "as ever"), **said)


def computed(*cents: tuple[str, int | None], row: Proposal | None = None, preview: Any = PREVIEW) -> Proposal:
    """A draft as a worker leaves it, of these models and cents."""
    if row is None:
        row = services.open_review(operator(), [model for model, _ in cents])
    work = services.begin_computing(row.pk, "w")
    assert work is not None
    lines = [Line(model, value, f"queue moved {model}.", TERMS) for model, value in cents]
    return services.write_answer(work, lines, preview)


def proposed(*cents: tuple[str, int | None], hours: int | None = None) -> Proposal:
    """Sent by the operator for the usual hour, or for so many full hours from now."""
    draft = computed(*(cents or ((H100, 206),)))
    at = None if hours is None else now_hour() + timedelta(hours=hours)
    return services.send_for_approval(
        operator(), draft.pk, effective_at=at, reason="as worked out", version=draft.version
    )


def approved(*cents: tuple[str, int | None], hours: int | None = None) -> Proposal:
    row = proposed(*cents, hours=hours)
    return services.approve_proposal(approver(), row.pk, row.digest, "agreed")


def now_hour() -> datetime:
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
