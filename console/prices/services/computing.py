"""From a question to a draft: open a proposal, compute it under a lease, keep what was found."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from console.dispatch.services import enqueue
from console.prices import selectors
from console.prices.choices import MOST_MODELS, State, Wanted
from console.prices.models import Line as Row
from console.prices.models import Proposal
from console.prices.selectors.proposals import usual_hour
from console.prices.services.transition import change, read, tell
from console.prices.spans import allowed
from console.rest.errors import Conflict, FieldError
from console.tenancy.services import require
from console.ui.figures import plural

LEASE = timedelta(seconds=120)  # a worker that says nothing for so long is lost
MAX_ATTEMPTS = 3
LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """One GPU model of what a worker is asked for.  ``cents_asked``: as a person named it, None in a review.

    ``low_cents`` to ``high_cents``: what it may cost; both None where there can be no price, and ``missing`` says why.
    """

    gpu_model: str
    cents_now: int | None
    cents_asked: int | None
    floor_cents: int | None
    on_demand_cents: int | None
    change_percent: int
    since: datetime | None
    low_cents: int | None
    high_cents: int | None
    missing: str


@dataclass(frozen=True, slots=True)
class Work:
    proposal_id: int
    claim: UUID
    wanted: str
    now_at: datetime
    seed: int
    models: tuple[Asked, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """What was found for one model; ``cents`` None: no quote, and ``reason`` says why.

    ``terms``: what moved it, most weight first: name, label, value, unit, was, effect_cents, words.
    """

    gpu_model: str
    cents: int | None
    reason: str
    terms: list[dict[str, Any]] = field(default_factory=list)


def open_review(user: Any, models: Iterable[str] = (), *, reason: str = "", request_key: str | None = None) -> Proposal:
    """Ask for new prices of these models, or of all.  The same ``request_key`` of one person gives the same proposal.

    Raises ``Denied`` or ``FieldError``; ``Conflict`` where a key is used for something else.
    """
    require(user, "prices.propose_price")
    known = selectors.models_known()
    wanted = sorted({model.strip() for model in models if model.strip()}) or known
    strange = [model for model in wanted if model not in known]
    if strange:
        raise FieldError("gpu_models", f"no GPU model {strange[0]!r}; known: {', '.join(known[:20]) or 'none'}")
    if not wanted:
        raise FieldError("gpu_models", "no GPU model is known yet: nothing can be priced")
    if len(wanted) > MOST_MODELS:
        raise FieldError("gpu_models", f"at most {MOST_MODELS} at once")
    try:
        return _open(wanted, user, reason=reason.strip(), request_key=request_key)
    except IntegrityError:
        if request_key is None:
            raise
        return _same_request(user, request_key, wanted)


def open_by_clock(models: Sequence[str], now: datetime) -> Proposal:
    """The review that is due."""
    return _open(sorted(models)[:MOST_MODELS], None, reason="", request_key=None, now=now)


@transaction.atomic
def _open(
    models: list[str], user: Any, *, reason: str, request_key: str | None, now: datetime | None = None
) -> Proposal:
    at = now or timezone.now()
    title = f"Prices of {', '.join(models)}"
    row = Proposal.objects.create(
        title=title if len(title) <= LONGEST_TITLE else f"Prices of {plural(len(models), 'GPU model')}",
        automatic=user is None, opened_by=user, request_key=request_key, opened_at=at, sent_at=at, said=reason,
        seed=int(at.timestamp()) // 3600,
    )  # fmt: skip
    Row.objects.bulk_create(Row(proposal=row, gpu_model=model) for model in models)
    tell(row, "proposal.computing", actor=user, reason=reason, detail={"models": models})
    enqueue("prices.review", proposal_id=row.pk)
    return row


def _same_request(user: Any, request_key: str, models: list[str]) -> Proposal:
    row = Proposal.objects.filter(opened_by=user, request_key=request_key).first()
    if row is None:
        raise Conflict("The request could not be stored. Read the page again.")
    if sorted(row.lines.values_list("gpu_model", flat=True)) != models:
        raise Conflict(f"This idempotency key was used for proposal {row.pk} with other models. Use a new key.")
    return read(row.pk)


def begin_computing(proposal_id: int, worker: str) -> Work | None:
    """Take the lease; None if another worker has it, or nothing is wanted any more."""
    now, claim = timezone.now(), uuid4()
    rows = Proposal.objects.filter(pk=proposal_id, state=State.COMPUTING)
    free = rows.filter(claim__isnull=True) | rows.filter(heartbeat_at__lt=now - LEASE)
    taken = free.update(claim=claim, worker=worker[:100], heartbeat_at=now, attempts=F("attempts") + 1)
    if taken != 1:
        return None
    row = read(proposal_id)
    work = Work(row.pk, claim, row.wanted, now, row.seed, _asked(row, now))
    if row.attempts > MAX_ATTEMPTS:
        fail_computing(work, f"The worker was lost {MAX_ATTEMPTS} times. Its log says more.")
        return None
    return work


def still_wanted(work: Work) -> bool:
    """The sign of life of a worker; False where it should stop."""
    rows = Proposal.objects.filter(pk=work.proposal_id, state=State.COMPUTING, claim=work.claim)
    return rows.update(heartbeat_at=timezone.now()) == 1


def _asked(row: Proposal, now: datetime) -> tuple[Asked, ...]:
    lines = {line.gpu_model: line for line in row.lines.all()}
    bounds, prices = selectors.bounds_of(lines), selectors.prices_in_force(lines, now)
    hour = usual_hour(bounds.values(), now)
    before = selectors.before_change(bounds, hour)
    found = []
    for model, line in lines.items():
        one, price = bounds[model], prices.get(model)
        span = allowed(before.get(model, ()), one.floor_cents, one.on_demand_cents, one.change_percent)
        found.append(
            Asked(
                gpu_model=model,
                cents_now=None if price is None else price.cents,
                cents_asked=line.cents if row.wanted == Wanted.PREVIEW else None,
                floor_cents=one.floor_cents,
                on_demand_cents=one.on_demand_cents,
                change_percent=one.change_percent,
                since=None if price is None else price.since,
                low_cents=None if span is None else span[0],
                high_cents=None if span is None else span[1],
                missing=one.missing,
            )
        )
    return tuple(found)


def write_answer(work: Work, lines: Sequence[Line], preview: dict[str, Any] | None) -> Proposal:
    """The draft, if this worker may still write.  Raises ``Conflict`` where it may not.

    An answer outside of what is allowed is no answer: the proposal fails and says so.
    """
    now = timezone.now()
    wrong = _wrong(work, lines)
    if wrong:
        return fail_computing(work, wrong)
    by_model = {line.gpu_model: line for line in lines}
    with transaction.atomic():
        review = work.wanted == Wanted.REVIEW
        same = review and all(by_model[one.gpu_model].cents == one.cents_now for one in work.models)
        row = change(
            work.proposal_id,
            State.UNCHANGED if same else State.DRAFT,
            actor=None,
            reason="Every price stays as it is." if same else "",
            sources=[State.COMPUTING],
            narrow={"claim": work.claim},
            detail={one.gpu_model: by_model[one.gpu_model].cents for one in work.models},
            version=F("version") + 1, computed_at=now, preview=preview, claim=None, worker="", attempts=0,
            ended_at=now if same else None,
            expires_at=None if same else now + timedelta(hours=_draft_hours(work)),
        )  # fmt: skip
        _write_lines(work, by_model)
        keep_document(row)
    return read(row.pk)


def _draft_hours(work: Work) -> int:
    """A draft is worth something until the next review."""
    return min(one.review_hours for one in selectors.bounds_of(one.gpu_model for one in work.models).values())


def _wrong(work: Work, lines: Sequence[Line]) -> str:
    asked = {one.gpu_model: one for one in work.models}
    if sorted(asked) != sorted(line.gpu_model for line in lines):
        return "The answer is not about the models that were asked for."
    for line in lines:
        one = asked[line.gpu_model]
        if line.cents is None:
            continue
        if one.low_cents is None or one.high_cents is None:
            return f"{line.gpu_model} got a price of {line.cents} cents without bounds: {one.missing}"
        if not one.low_cents <= line.cents <= one.high_cents and line.cents != one.cents_now:
            return (
                f"{line.gpu_model} got {line.cents} cents; allowed are {one.low_cents} to {one.high_cents}. "
                "Nothing was proposed."
            )
    return ""


def _write_lines(work: Work, by_model: dict[str, Line]) -> None:
    models = [one.gpu_model for one in work.models]
    bounds, prices = selectors.bounds_of(models), selectors.prices_in_force(models, work.now_at)
    for row in Row.objects.filter(proposal_id=work.proposal_id):
        line, price = by_model[row.gpu_model], prices.get(row.gpu_model)
        row.base, row.was_cents = price, None if price is None else price.cents
        row.on_demand_cents = bounds[row.gpu_model].on_demand_cents
        row.floor_cents = bounds[row.gpu_model].floor_cents
        row.change_percent = bounds[row.gpu_model].change_percent
        if work.wanted == Wanted.REVIEW:
            row.computed_cents = row.cents = line.cents
            row.why, row.terms = line.reason, line.terms
        row.save()


def keep_document(row: Proposal) -> None:
    """Exactly what is shown, as bytes, and its digest."""
    document, digest = selectors.document_of(row)
    Proposal.objects.filter(pk=row.pk).update(document=document, digest=digest)


def fail_computing(work: Work, reason: str) -> Proposal:
    """The computation ends without an answer; prices that people named stay a draft, without its preview."""
    kept = work.wanted == Wanted.PREVIEW
    now = timezone.now()
    ends: dict[str, Any] = {"ended_at": now}
    if kept:
        ends = {"expires_at": now + timedelta(hours=_draft_hours(work)), "version": F("version") + 1, "attempts": 0}
    with transaction.atomic():
        row = change(
            work.proposal_id, State.DRAFT if kept else State.FAILED, actor=None, reason=reason,
            sources=[State.COMPUTING], narrow={"claim": work.claim}, claim=None, worker="", **ends,
        )  # fmt: skip
        keep_document(row)
    return row


def send_lost_again(now: datetime) -> int:
    """Computations whose worker or message was lost."""
    quiet = now - LEASE
    rows = Proposal.objects.filter(state=State.COMPUTING, sent_at__lt=quiet)
    lost = rows.filter(claim__isnull=True) | rows.filter(heartbeat_at__lt=quiet)
    for pk, wanted in list(lost.values_list("pk", "wanted")):
        if Proposal.objects.filter(pk=pk, sent_at__lt=quiet).update(sent_at=now):
            enqueue(f"prices.{wanted}", proposal_id=pk)
    return lost.count()
