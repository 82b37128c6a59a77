"""Reading sources: once each, in one order, whatever happens to one of them."""

from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any, cast

import pytest
from django.utils import timezone

from console.connectors.protocol import ConnectorError, Told
from console.inventory import archive, planning, services
from console.inventory.models import Blob, Measurement, Observation, OwnerLock, Source, Watch
from console.inventory.services import leases, observing, recording
from scheduler.cluster.codec import parse
from tests.builders.fleets import file_source, kubernetes_source, observed, read, simulated_source
from tests.builders.people import operator
from tests.builders.worlds import World, world
from tests.scheduler.kubernetes.things import node, pod
from tests.scheduler.kubernetes.things import read as read_objects

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Tasks that were asked for and notices that were published, in order."""
    found: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(observing, "enqueue", lambda task, **fields: found.append((task, fields)))
    monkeypatch.setattr(
        recording,
        "tell_of_reading",
        lambda kind, revision, **fields: found.append((kind, {"revision": revision, **fields})),
    )
    return found


def test_a_reading_is_kept_with_its_snapshot_and_announced(sent: list[Any]) -> None:
    observation = observed(world().asw("s1").node("n1").node("n2").pod("a", "n1", gpus=3))
    assert observation.counts["gpus"] == 16 and observation.changed == 2
    assert archive.load(observation.digest).pod_name == ("a",)
    kinds = [kind for kind, _ in sent]
    assert kinds == ["snapshot.taken", "inventory.measure"]
    assert sent[0][1]["revision"] == observation.revision and sent[0][1]["changed"] == 2
    assert Measurement.objects.get().headline["free"] == 13


def test_the_same_again_changes_nothing_but_its_age(sent: list[Any]) -> None:
    source = file_source(world().node("n1"))
    first = read(source)
    again = read(source)
    assert (again.revision, Observation.objects.count(), Blob.objects.count()) == (first.revision, 1, 1)
    assert again.observed_at > first.observed_at
    assert [kind for kind, _ in sent] == ["snapshot.taken", "inventory.measure", "snapshot.confirmed"]


def test_equal_snapshots_of_two_sources_are_stored_once() -> None:
    first, second = observed(world().node("n1"), "one"), observed(world().node("n1"), "two")
    assert first.digest == second.digest and Blob.objects.count() == 1
    assert second.revision == first.revision + 1
    assert [number for _, number in second.fleet] == [first.revision, second.revision]


def test_a_second_import_replaces_the_first_and_inherits_nothing() -> None:
    """Case C12: the uid decides whether a pod is still the same one."""
    nodes = world().asw("asw-1").nodes("n1", "n2")
    s1 = nodes.pod("a", "n1", 8, uid="u1", started_s=100, checkpoint_s=500).pod("b", "n2", 4, uid="u3", started_s=100)
    read(file_source(s1))
    s2 = world().asw("asw-1").nodes("n1", "n2").pod("a", "n2", 4, uid="u2", started_s=900)
    source = file_source(s2)
    observation = read(source)
    snapshot = archive.load(observation.digest)
    held = archive.occupancy_of(snapshot)
    assert held.free_gpus.tolist() == [8, 4] and int(snapshot.pod_live.sum()) == 1
    assert snapshot.pod_uid == ("u2",) and snapshot.pod_started_s.tolist() == [900]
    assert snapshot.pod_checkpoint_s.tolist() == [archive.ABSENT]
    services.load_snapshot_file(operator(), "file", s2.json())
    assert read(Source.objects.get()).revision == observation.revision


def test_an_error_stays_with_its_source(sent: list[Any]) -> None:
    broken = Source.objects.create(name="broken", kind="file", config={"document": "none"}, period_s=10)
    good = file_source(world().node("n1"), "good")
    assert planning.observe(broken.pk) is None
    read(good)
    broken.refresh_from_db()
    assert broken.state == "failing" and "no longer stored" in broken.last_error and broken.last_error_at
    assert Source.objects.get(name="good").state == "live"


def test_failing_sources_are_asked_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    source = file_source(world().node("n1"))
    Source.objects.filter(pk=source.pk).update(period_s=10)
    monkeypatch.setattr(observing, "connector_of", _unreachable)
    waits = []
    for _ in range(8):
        planning.observe(source.pk)
        source.refresh_from_db()
        assert source.last_error_at is not None
        waits.append(round((source.next_due_at - source.last_error_at).total_seconds()))
    assert waits == [20, 40, 80, 160, 300, 300, 300, 300]
    monkeypatch.undo()
    read(source)
    source.refresh_from_db()
    assert (source.failures, source.last_error, source.state) == (0, "", "live")


def _unreachable(source: Source) -> Any:
    raise ConnectorError("no route to host")


class Slow:
    """A wire of somebody who follows a source, and what happens while it is read."""

    acts = False

    def __init__(self, told: World, meanwhile: Callable[[], Any] = lambda: None, error: Any = None) -> None:
        self._told, self._meanwhile, self._error = told, meanwhile, error

    def version(self) -> str:
        return str(id(self))

    def observe(self) -> Any:
        self._meanwhile()
        if self._error is not None:
            raise self._error
        return parse(self._told.json()).document


ENDS = {"a reading": None, "the same": None, "an error": ConnectorError("lost"), "a mistake": ZeroDivisionError()}


@pytest.mark.parametrize("ends", ENDS)
def test_a_reader_that_was_overtaken_writes_nothing(ends: str, sent: list[Any]) -> None:
    """It stood still while its lease ran out: what it read is older than what the other one has written."""
    source = kubernetes_source()
    leases.greet("first")
    assert leases.take("first", 1) == [source.pk]
    old, new = world(1).node("n1"), world(2).nodes("n1", "n2")
    if ends == "the same":
        services.observe(source.pk, wire=cast(Any, Slow(old)))

    def meanwhile() -> None:
        Watch.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        assert leases.take("second", 1) == [source.pk]
        assert services.observe(source.pk, wire=cast(Any, Slow(new))) is not None
        sent.clear()

    wire = cast(Any, Slow(old, meanwhile, ENDS[ends]))
    with nullcontext() if ends != "a mistake" else pytest.raises(ZeroDivisionError):
        assert services.observe(source.pk, wire=wire) is None
    source.refresh_from_db()
    newest = Observation.objects.filter(source=source).first()
    assert newest is not None and newest.counts["nodes"] == 2
    assert (source.state, source.last_error, source.last_observed_at) == ("live", "", newest.observed_at)
    assert sent == []


def test_text_that_no_database_need_keep_loses_no_reading() -> None:
    """A NUL in an annotation, which anybody who may make pods can write; and in what a server says of itself."""
    marks = {"slackline.io/tenant": "a\0", "slackline.io/locked": "yes", "slackline.io/lock-reason": "\0"}
    rows = [node("n1"), pod("p", "n1", gpus=2, annotations=marks)]
    source, wire = kubernetes_source(), Slow(world())
    wire.observe = lambda: Told(read_objects(*rows).document, ())  # type: ignore[method-assign]
    observation = services.observe(source.pk, planning.encode, wire=cast(Any, wire))
    assert observation is not None
    planning.measure(observation.pk)
    assert OwnerLock.objects.get().tenant == "a\N{REPLACEMENT CHARACTER}"
    observing.note_failure(source, "the server said \0")
    source.refresh_from_db()
    assert source.last_error == "the server said \N{REPLACEMENT CHARACTER}"


def test_a_source_that_goes_while_it_is_read_leaves_nothing() -> None:
    source = kubernetes_source()
    wire = Slow(world(1).node("n1"), lambda: Source.objects.filter(pk=source.pk).delete())
    assert services.observe(source.pk, wire=cast(Any, wire)) is None
    assert not Source.objects.exists() and not Observation.objects.exists()


def test_two_never_read_one_source_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    source = simulated_source(world().node("n1"))
    inner: list[Any] = []
    connect = observing.connector_of

    def meanwhile(asked: Source) -> Any:
        inner.append(services.observe(source.pk))
        return connect(asked)

    monkeypatch.setattr(observing, "connector_of", meanwhile)
    assert services.observe(source.pk) is not None
    assert inner == [None] and Observation.objects.count() == 1


def test_the_claim_of_a_dead_reader_ends() -> None:
    source = simulated_source(world().node("n1"))
    long_ago = timezone.now() - timedelta(seconds=1)
    Source.objects.filter(pk=source.pk).update(claim="0" * 32, claimed_until=long_ago)
    assert services.observe(source.pk) is not None


def test_what_is_due_is_asked_for_once(sent: list[Any]) -> None:
    due, later = simulated_source(world().node("n1"), "due"), simulated_source(world().node("n1"), "later")
    Source.objects.filter(pk=later.pk).update(next_due_at=timezone.now() + timedelta(minutes=1))
    assert [services.observe_due(), services.observe_due()] == [1, 0]
    assert ("inventory.observe", {"source_id": due.pk}) in sent


def test_a_reading_without_columns_is_drawn_by_the_next_one() -> None:
    source = simulated_source(world().node("n1"))
    bare = services.observe(source.pk)
    assert bare is not None and bare.columns is None
    drawn = read(source)
    assert drawn.revision > bare.revision and drawn.digest == bare.digest and drawn.columns is not None


def test_fresh_waits_for_a_reading_that_began_later() -> None:
    source = simulated_source(world().node("n1"))
    since = timezone.now()
    observation, snapshot = services.fresh(source.pk, since)
    assert observation.observed_at >= since and snapshot.node_name == ("n1",)
    Source.objects.filter(pk=source.pk).update(config={"cluster": "0" * 32})
    with pytest.raises(ConnectorError, match="no longer exists"):
        services.fresh(source.pk, timezone.now())


def test_only_the_newest_reading_is_measured() -> None:
    source = simulated_source(world().node("n1"))
    old = planning.observe(source.pk)
    Source.objects.filter(pk=source.pk).update(version="changed")
    Observation.objects.update(digest="0" * 64)
    new = planning.observe(source.pk)
    assert old is not None and new is not None
    planning.measure(old.pk)
    assert not Measurement.objects.exists()
    planning.measure(new.pk)
    planning.measure(new.pk)
    assert Measurement.objects.get().observation == new
