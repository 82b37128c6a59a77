"""The simulated cluster: a connector like any other, with a clock, faults and a will of its own.

Its state is rows, shared by all processes: a base document, a journal of facts and a table of operations.  Every change
is one transaction that holds the cluster's row and moves its position by compare-and-set; a process killed at any
moment leaves whole rows or none.  Each process folds the journal into a ``World`` once and then reads new rows only.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import msgspec
from django.db import transaction
from django.utils import timezone
from msgspec.structs import replace

from console.connectors import changes as facts
from console.connectors import documents
from console.connectors.choices import Purpose
from console.connectors.holding import holds
from console.connectors.models import JournalRow, SimulatedCluster
from console.connectors.moves import carry_on
from console.connectors.protocol import ConnectorError, Outcome, the_cluster
from console.connectors.tide import DAY_S, Tide, live_through, overdue
from console.connectors.world import World, found
from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.plan.operations import Operation

Clock = Callable[[], datetime]
MAX_CATCH_UP_S = 60  # an unwatched night is not lived through second by second
JOURNAL_ROWS = 4000  # then the base is written anew

_WORLDS: dict[UUID, World] = {}
_LOCK = threading.RLock()


class SimulatedConnector:
    """One simulated cluster, by its uid."""

    acts = True
    holds = True
    launches = True
    recalls = True

    def __init__(self, uid: str, clock: Clock = timezone.now) -> None:
        self._uid, self._clock = UUID(uid), clock

    def version(self) -> str:
        """Lets the world live up to now; the token is that of its last journal row."""
        with self._held() as (row, world):
            _live(row, world, self._now_s(row))
            return f"{world.position}:{world.head}"

    def observe(self) -> Document:
        """Lets the world live up to now, then reports it.  Nothing happened since: the equal document, same instant."""
        with self._held() as (row, world):
            _live(row, world, self._now_s(row))
            return world.document(_instant(row, world.changed_s), world.changed_s)

    def read_pod(self, key: str, cluster: str | None = None) -> PodRecord | None:
        with _LOCK:
            world = _recall(_row(self._uid))
            return world.pods.get((the_cluster(cluster, world.clusters()), key))

    def read_node(self, name: str, cluster: str | None = None) -> NodeRecord | None:
        with _LOCK:
            world = _recall(_row(self._uid))
            return world.nodes.get((the_cluster(cluster, world.clusters()), name))

    def execute(self, operation: Operation, key: str, *, released: bool = False) -> Outcome:
        """The first call starts it, later calls with the key finish it or repeat its outcome."""
        with self._held() as (row, world):
            now_s = self._now_s(row)
            due = overdue(world, now_s)
            outcome, changes = carry_on(row, world, _tide(row), operation, key, now_s, released=released)
            if due or changes:
                world.apply(changes)
                _write(row, world, now_s, key, [*due, *changes])
            return outcome

    def _now_s(self, row: SimulatedCluster) -> int:
        """The world's clock; it keeps step with the wall clock and never goes back."""
        return max(row.clock_s, row.began_s + int((self._clock() - row.began_at).total_seconds()))

    @contextmanager
    def _held(self) -> Iterator[tuple[SimulatedCluster, World]]:
        """The row under lock and the world as of it; a change that is not committed is not remembered either."""
        with _LOCK:
            try:
                with transaction.atomic():
                    row = _row(self._uid, lock=True)
                    yield row, _recall(row)
            except BaseException:
                _WORLDS.pop(self._uid, None)
                raise


def establish(name: str, document: Document, *, seed: int, tide: Tide, clock: Clock = timezone.now) -> str:
    """A new simulated cluster that starts as ``document`` (checked by ``cluster.build`` before); returns its uid."""
    now = clock()
    document = _with_uids(document)
    largest = max((pod.started_s or 0 for pod in document.pods), default=0)
    began_s = document.now_s if document.now_s is not None else largest
    row = SimulatedCluster.objects.create(
        name=name,
        seed=seed,
        tide=msgspec.to_builtins(tide),
        base_id=documents.keep(msgspec.json.encode(document), Purpose.BASE),
        clock_s=began_s,
        began_s=began_s,
        began_at=now,
    )
    return str(row.uid)


def _with_uids(document: Document) -> Document:
    """A cluster knows its pods apart even where two have had one name; a file may not say."""
    pods = [pod if pod.uid else replace(pod, uid=f"u-{number:07x}") for number, pod in enumerate(document.pods)]
    return replace(document, pods=pods)


def abandon(uid: str) -> None:
    """Deletes a simulated cluster with its journal."""
    SimulatedCluster.objects.filter(uid=UUID(uid)).delete()
    _WORLDS.pop(UUID(uid), None)


def _row(uid: UUID, lock: bool = False) -> SimulatedCluster:
    rows = SimulatedCluster.objects.select_for_update() if lock else SimulatedCluster.objects
    row = rows.filter(uid=uid).first()
    if row is None:
        raise ConnectorError("the simulated cluster no longer exists")
    return row


def _tide(row: SimulatedCluster) -> Tide:
    return msgspec.convert(row.tide, type=Tide)


def _instant(row: SimulatedCluster, second: int) -> str:
    return (row.began_at + timedelta(seconds=second - row.began_s)).astimezone(UTC).isoformat(timespec="seconds")


def _live(row: SimulatedCluster, world: World, now_s: int) -> None:
    """Lives through the seconds since the last look and writes what happened as one journal row."""
    tide, changes = _tide(row), []
    held = holds(row) if now_s > row.clock_s else {}
    for second in range(max(row.clock_s, now_s - MAX_CATCH_UP_S) + 1, now_s + 1):
        instant = row.began_at + timedelta(seconds=second - row.began_s)
        hour = (instant.timestamp() % DAY_S) / 3600
        changes += live_through(world, tide, row.seed, second, hour, held)
    if changes:
        _write(row, world, now_s, "tide", changes)
    elif now_s > row.clock_s:
        SimulatedCluster.objects.filter(pk=row.pk, position=row.position).update(clock_s=now_s)


def _write(row: SimulatedCluster, world: World, now_s: int, cause: str, changes: list[facts.Change]) -> None:
    """Journal row and position, together; ``world`` already holds the changes."""
    token, seq = uuid4(), row.position + 1
    JournalRow.objects.create(
        cluster=row, seq=seq, token=token, at_s=now_s, cause=cause[:80], changes=facts.pack(changes)
    )
    moved = SimulatedCluster.objects.filter(pk=row.pk, position=row.position).update(
        position=seq, head=token, clock_s=max(now_s, row.clock_s)
    )
    if moved != 1:
        raise ConnectorError("another process changed the simulated cluster at the same moment")
    row.position, row.head = seq, token
    world.settle(seq, token, now_s)
    if seq - row.base_position >= JOURNAL_ROWS:
        _rebase(row, world, now_s)


def _rebase(row: SimulatedCluster, world: World, now_s: int) -> None:
    """Writes the state as a new base.  The former base and its rows stay until the next time, for whoever reads now."""
    unread, former_position = row.former_base, row.base_position
    row.former_base_id = row.base_id
    row.base_id = documents.keep(msgspec.json.encode(world.document(_instant(row, now_s), now_s)), Purpose.BASE)
    row.base_position, row.base_agenda = world.position, msgspec.to_builtins(world.agenda)
    row.save(update_fields=["base", "former_base", "base_position", "base_agenda"])
    JournalRow.objects.filter(cluster=row, seq__lt=former_position).delete()
    if unread is not None:
        documents.drop_base(unread.digest)


def _recall(row: SimulatedCluster) -> World:
    """The world as of ``row``: the remembered one brought forward, or one folded from the base."""
    world = _WORLDS.get(row.uid)
    if world is None or world.position > row.position or world.position < row.base_position:
        world = _from_base(row)
    if world.position < row.position or world.head != row.head:
        world = _bring_forward(row, world)
    _WORLDS[row.uid] = world
    return world


def _from_base(row: SimulatedCluster) -> World:
    document = msgspec.json.decode(documents.fetch(row.base_id), type=Document)
    head = JournalRow.objects.filter(cluster=row, seq=row.base_position).values_list("token", flat=True).first()
    agenda = msgspec.convert(row.base_agenda, type=list[tuple[int, facts.Due]])
    began_s = document.now_s if row.base_position and document.now_s is not None else row.began_s
    return found(document, row.base_position, head or row.head, began_s, agenda)


def _bring_forward(row: SimulatedCluster, world: World) -> World:
    """Folds the rows after the world's position; the row at it must be the one that the world remembers."""
    rows = list(JournalRow.objects.filter(cluster=row, seq__gte=world.position).order_by("seq"))
    if rows and rows[0].seq == world.position:
        if rows[0].token != world.head:
            # What this process remembers was rolled back elsewhere; start again from what is written.
            return _bring_forward(row, _from_base(row))
        rows = rows[1:]
    elif world.position != row.base_position:
        return _bring_forward(row, _from_base(row))
    for journal in rows:
        if journal.seq > row.position:
            break
        world.apply(facts.unpack(journal.changes))
        world.settle(journal.seq, journal.token, journal.at_s)
    return world
