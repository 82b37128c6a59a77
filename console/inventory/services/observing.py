"""Reading sources: who reads, what is kept, in which order, and what happens when one cannot be read."""

import hashlib
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from console.connectors.kubernetes.refusals import where
from console.connectors.protocol import Aside, Connector, ConnectorError, Told
from console.connectors.registry import connect
from console.dispatch.services import enqueue
from console.inventory import archive
from console.inventory.cells import Cells
from console.inventory.choices import WATCHED, SourceState
from console.inventory.models import Counter, Observation, Source
from console.inventory.services.leases import expire
from console.inventory.services.recording import Overtaken, confirm, record
from console.inventory.services.unheld import keep_unheld
from scheduler.cluster.build import Builder
from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import Snapshot

log = structlog.get_logger(__name__)
LONGEST_WAIT_S = 300
CLAIM_PERIODS = 6  # after so long a reader counts as dead
SWEEP_EVERY_S = 60


@dataclass(frozen=True, slots=True)
class Encoded:
    """What the map needs of a snapshot, in its node order: ``columns`` [choices.STORED, n], ``gpu_states`` per GPU."""

    columns: Cells
    gpu_states: Cells


Encode = Callable[[Snapshot], Encoded]


def connector_of(source: Source) -> Connector:
    """The wire of a source.  Raises ``ConnectorError``."""
    return connect(source.kind, source.config)


def newest(source: Source) -> tuple[Observation, Snapshot] | None:
    """The newest reading of ``source`` and its snapshot; None before the first."""
    observation = Observation.objects.filter(source=source).first()
    return None if observation is None else (observation, archive.load(observation.digest))


def revision_of(source: Source) -> int:
    """Number of the newest reading of ``source``; 0 before the first."""
    newest_first = Observation.objects.filter(source=source).values_list("revision", flat=True)
    return newest_first.first() or 0


def observe_due() -> int:
    """Asks for a reading of every source that is due; returns how many.  Each asking moves the next one on."""
    now = timezone.now()
    asked = 0
    for source in Source.objects.filter(_free(now), next_due_at__lte=now).exclude(kind__in=WATCHED):
        due_again = now + timedelta(seconds=_wait_s(source))
        mine = Source.objects.filter(pk=source.pk, next_due_at=source.next_due_at).update(next_due_at=due_again)
        if mine:
            enqueue("inventory.observe", source_id=source.pk)
            asked += 1
    expire()
    _ask_for_sweep(now)
    return asked


def observe(
    source_id: int,
    encode: Encode | None = None,
    wire: Connector | None = None,
    builder: Builder | None = None,
    doubt: str = "",
) -> Observation | None:
    """Reads a source once and keeps what is new.  A watched source is read by whoever follows it, through its ``wire``.

    Returns its newest observation; None where another process is reading it at this moment, or where it could not be
    read (then the error stands on the source).  ``encode`` draws the map columns; without it the reading is complete
    but not on the map until the next one with it.  ``builder`` = the one of the last reading, where somebody follows.
    ``doubt``: what the source says at this moment and its wire does not believe.
    """
    source, claim = _claim(source_id, wire)
    if source is None:
        return None
    try:
        found = _read(source, claim, encode, wire, builder or Builder(), doubt)
    except Overtaken:
        log.warning("source.overtaken", source=source.name)
        return None
    except (ConnectorError, InputError) as error:
        note_failure(source, str(error), claim)
        return None
    except Exception as error:
        note_failure(source, _mistake(source, error), claim)
        raise
    finally:
        Source.objects.filter(pk=source_id, claim=claim).update(claim=None, claimed_until=None)
    return found


def _mistake(source: Source, error: Exception) -> str:
    """A sentence for people; the log has the class and the places under its number, the same for the same mistake.

    The text of the error is kept nowhere, since it may quote a header or an answer.
    """
    word, places = type(error).__name__, where(error)
    number = hashlib.sha256(f"{word} {places}".encode()).hexdigest()[:8]
    log.error("source.unexpected", source=source.name, number=number, error=word, where=places)
    return f"It could not be read because of a mistake of ours ({word}); the log says where, under {number}."


def fresh(source_id: int, since: datetime, seconds: float = 30.0) -> tuple[Observation, Snapshot]:
    """A reading that was begun at ``since`` or later; waits for whoever reads now.  Raises ``ConnectorError``."""
    deadline = time.monotonic() + seconds
    while True:
        found = observe(source_id) or Observation.objects.filter(source=source_id).first()
        if found is not None and found.observed_at >= since:
            return found, archive.load(found.digest)
        source = Source.objects.get(pk=source_id)
        if source.state == SourceState.FAILING:
            raise ConnectorError(f"{source.name} could not be read: {source.last_error}")
        if time.monotonic() > deadline:
            raise ConnectorError(f"{source.name} gave no reading within {seconds:g} s")
        time.sleep(0.2)


def _free(now: datetime) -> Q:
    return Q(claimed_until__isnull=True) | Q(claimed_until__lt=now)


def _claim(source_id: int, wire: Connector | None) -> tuple[Source | None, uuid.UUID]:
    """The source and a token for its release; None where somebody else holds it, or has to read it."""
    now, token = timezone.now(), uuid.uuid4()
    source = Source.objects.filter(pk=source_id).first()
    if source is None or (wire is None and source.kind in WATCHED):
        return None, token
    until = now + timedelta(seconds=max(30, CLAIM_PERIODS * source.period_s))
    mine = Source.objects.filter(_free(now), pk=source_id).update(claim=token, claimed_until=until)
    return (source if mine else None), token


def _read(
    source: Source,
    claim: uuid.UUID,
    encode: Encode | None,
    wire: Connector | None,
    builder: Builder,
    doubt: str = "",
) -> Observation:
    begun_at = timezone.now()
    connector = wire or connector_of(source)
    version = connector.version()
    last = Observation.objects.filter(source=source).first()
    drawn = last is not None and (encode is None or last.columns is not None)
    if last is not None and drawn and version == source.version:
        return confirm(source, claim, last, begun_at, doubt=doubt)
    snapshot, aside = _seen(connector, builder)
    if last is not None and drawn and snapshot.digest == last.digest:
        return confirm(source, claim, last, begun_at, version, keep_unheld(aside), doubt)
    encoded = encode(snapshot) if encode is not None else None
    archive.store(snapshot, remember=wire is None)  # a process that follows clusters draws no pages
    columns, gpu_states = (encoded.columns, encoded.gpu_states) if encoded is not None else (None, None)
    observation = record(source, claim, snapshot, begun_at, version, columns, gpu_states, keep_unheld(aside), doubt)
    if encode is not None:
        enqueue("inventory.measure", observation_id=observation.pk)
    return observation


def _seen(connector: Connector, builder: Builder) -> tuple[Snapshot, tuple[Aside, ...] | None]:
    """The snapshot, and what it could not hold; None where the connector never says."""
    seen = connector.observe()
    if isinstance(seen, Told):
        return builder.build(seen.document), seen.aside
    return (seen if isinstance(seen, Snapshot) else builder.build(seen)), None


def note_failure(source: Source, text: str, claim: uuid.UUID | None = None) -> None:
    """The source could not be read; its error stands on it until a reading succeeds.

    With ``claim`` only while that is the claim on the source: another reader may have read it meanwhile.
    """
    now, text = timezone.now(), text.replace("\0", "\N{REPLACEMENT CHARACTER}")[:2000]
    failures = source.failures + 1
    if text != source.last_error:  # the same again is no news
        log.warning("source.failed", source=source.name, failures=failures, error=text)
    mine = Source.objects.filter(pk=source.pk) if claim is None else Source.objects.filter(pk=source.pk, claim=claim)
    mine.update(
        state=SourceState.FAILING,
        last_error=text,
        last_error_at=now,
        failures=failures,
        next_due_at=now + timedelta(seconds=_backoff_s(source.period_s, failures)),
    )


def _wait_s(source: Source) -> float:
    return _backoff_s(source.period_s, source.failures)


def _backoff_s(period_s: int, failures: int) -> float:
    """The period, doubled by each failure in a row, up to a limit that is never below the period itself."""
    return min(period_s * 2.0 ** min(failures, 16), max(LONGEST_WAIT_S, period_s))


def _ask_for_sweep(now: datetime) -> None:
    stamp = int(now.timestamp())
    with transaction.atomic():
        Counter.objects.get_or_create(name="swept")
        if Counter.objects.filter(name="swept", value__lte=stamp - SWEEP_EVERY_S).update(value=stamp):
            enqueue("inventory.sweep")
