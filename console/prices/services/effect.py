"""What the clock does: reviews that are due, proposals that lapse, and prices that take effect at their hour.

Each step is a compare-and-set on a row, so that a worker that dies leaves nothing half done and a second one finds
nothing to do twice.
"""

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from console.audit import services as audit
from console.live.services import publish
from console.prices import selectors
from console.prices.choices import LATEST_HOURS, State
from console.prices.lifecycle import LAPSES
from console.prices.models import Line, Price, Proposal
from console.prices.services.computing import open_by_clock, send_lost_again
from console.prices.services.transition import TOPIC, change, read, tell
from console.prices.spans import HOUR, next_hour
from console.rest.errors import Conflict


def turn(now: datetime | None = None) -> int:
    """One look at everything; the number of rows that it changed."""
    at = now or timezone.now()
    done = _lapse(at) + _mark_stale(at)
    for pk in (
        Proposal.objects.filter(state=State.APPROVED, takes_at__lte=at)
        .order_by("takes_at", "pk")
        .values_list("pk", flat=True)
    ):
        done += _take_effect(pk, at)
    return done + send_lost_again(at) + _open_due(at)


def _lapse(now: datetime) -> int:
    """Drafts that a newer review replaces, and proposals that nobody approved in time."""
    rows = Proposal.objects.filter(state__in=LAPSES, expires_at__lte=now)
    return sum(_end(row.pk, State.EXPIRED, _lapsed(row), state=row.state) for row in rows.defer("document", "preview"))


def _lapsed(row: Proposal) -> str:
    if row.state == State.DRAFT:
        return "Nobody sent it for approval before the next review."
    return "Nobody approved it in time for its hour and the notice before it."


def _mark_stale(now: datetime) -> int:
    """Those that were worked out on top of a price that is not in force any more."""
    done = 0
    states = (State.DRAFT, State.PROPOSED, State.APPROVED)
    for row in Proposal.objects.filter(state__in=states).prefetch_related("lines").defer("document", "preview"):
        moved = selectors.moved_on(list(row.lines.all()), now)
        if moved:
            done += _end(row.pk, State.STALE, " ".join(moved), state=row.state)
    return done


def _end(proposal_id: int, target: State, reason: str, *, state: str) -> int:
    """0 where somebody came first."""
    try:
        change(proposal_id, target, actor=None, reason=reason, sources=[State(state)], ended_at=timezone.now(), held="")
    except Conflict:
        return 0
    return 1


def _take_effect(proposal_id: int, now: datetime) -> int:
    """In force, or held back with the reason, or put off to the next hour, or given up."""
    row = read(proposal_id)
    lines = list(row.lines.all())
    if row.takes_at is None or row.effective_at is None:
        return 0
    frozen = selectors.freeze_over([line.gpu_model for line in lines if line.changes], now)
    if now > row.effective_at + timedelta(hours=LATEST_HOURS):
        why = f"It was held back for more than {LATEST_HOURS} hours. {frozen}".strip()
        return _end(row.pk, State.EXPIRED, why, state=State.APPROVED)
    if frozen:
        return _hold(row, frozen)
    if now >= row.takes_at + HOUR:
        return _put_off(row, now)
    wrong = selectors.out_of_bounds(lines, row.takes_at)
    if wrong:
        return _end(row.pk, State.STALE, " ".join(wrong), state=State.APPROVED)
    return _put_in_force(row, lines, row.takes_at, now)


def _hold(row: Proposal, frozen: str) -> int:
    """Told once."""
    with transaction.atomic():
        rows = Proposal.objects.filter(pk=row.pk, state=State.APPROVED).exclude(held=frozen)
        if rows.update(held=frozen) != 1:
            return 0
        tell(row, "proposal.held", actor=None, reason=frozen)
    return 1


def _put_off(row: Proposal, now: datetime) -> int:
    """Its hour is over: prices never change backwards, so it is the next full hour."""
    hour = next_hour(now)
    with transaction.atomic():
        rows = Proposal.objects.filter(pk=row.pk, state=State.APPROVED, takes_at=row.takes_at)
        if rows.update(takes_at=hour, held="") != 1:
            return 0
        why = f"Its hour passed while it could not take effect: from {hour:%d %b %H:%M} UTC on."
        tell(row, "proposal.put_off", actor=None, reason=why, detail={"takes_at": hour.isoformat()})
    return 1


def _put_in_force(row: Proposal, lines: list[Line], hour: datetime, now: datetime) -> int:
    """Every price and the state in one transaction; a row of the same hour says that it was done."""
    try:
        with transaction.atomic():
            change(
                row.pk, State.IN_FORCE, actor=None, sources=[State.APPROVED], narrow={"takes_at": hour},
                ended_at=now, held="", reason=f"In force since {hour:%d %b %H:%M} UTC.",
            )  # fmt: skip
            for line in lines:
                if line.changes:
                    price = Price.objects.create(
                        gpu_model=line.gpu_model, since=hour, cents=line.cents, was_cents=line.was_cents,
                        on_demand_cents=line.on_demand_cents, floor_cents=line.floor_cents,
                        why=selectors.why_of(row, line), terms=line.terms, proposal=row, simulated=row.simulated,
                    )  # fmt: skip
                    _tell_price(row, price)
    except Conflict:
        return 0
    except IntegrityError:  # another proposal set the same model at the same hour
        return _end(row.pk, State.STALE, "Another price took effect at the same hour.", state=State.APPROVED)
    return 1


def _tell_price(row: Proposal, price: Price) -> None:
    audit.record(
        actor=None, action="price.in_force", target_kind="price", target_id=price.gpu_model[:253], reason=price.why,
        digest=row.digest,
        detail={"cents": price.cents, "was": price.was_cents, "since": price.since.isoformat(), "proposal": row.pk},
    )  # fmt: skip
    publish(TOPIC, "price.in_force", gpu_model=price.gpu_model, cents=price.cents)


def _open_due(now: datetime) -> int:
    """One proposal for all models whose review is due and of which none is open."""
    models = selectors.models_known()
    bounds = selectors.bounds_of(models)
    reviews, busy = selectors.next_reviews(bounds), selectors.open_models()
    priced = set(selectors.prices_in_force(models, now))
    due = [
        model
        for model in models
        if model not in busy
        and ((at := reviews[model]) is None or at <= now)
        and (model in priced or not bounds[model].missing)  # nothing can come of the others until somebody says more
    ]
    if not due:
        return 0
    with transaction.atomic():
        # Two clocks at once: the second waits here, and finds the first one's proposal.
        list(Proposal.objects.select_for_update().order_by("-pk").only("pk")[:1])
        due = [model for model in due if model not in selectors.open_models()]
        if due:
            open_by_clock(due, now)
    return 1 if due else 0
