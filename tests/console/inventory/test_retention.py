"""What is kept and what is dropped."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.inventory import archive, services
from console.inventory.models import Blob, Comparison, FleetLayout, Layout, Measurement, Observation
from console.inventory.services import retention
from tests.builders.fleets import observed
from tests.builders.worlds import world

pytestmark = pytest.mark.django_db


def _readings(count: int) -> list[Observation]:
    """Readings of one source, each with a snapshot of its own, and all old enough to be dropped."""
    found = [observed(world(now_s=1000 + n).node("n1")) for n in range(count)]
    Blob.objects.update(stored_at=timezone.now() - timedelta(hours=1))
    archive.forget()
    return found


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """No readings by the clock, unless a test is about them."""
    monkeypatch.setattr(retention, "READINGS", 4)
    monkeypatch.setattr(retention, "SNAPSHOTS", 2)
    settings.KEPT_READINGS = ()


def test_the_last_readings_and_snapshots_stay() -> None:
    found = _readings(6)
    dropped = services.sweep()
    assert (dropped["observations"], dropped["blobs"]) == (2, 4)
    assert set(Observation.objects.values_list("revision", flat=True)) == {row.revision for row in found[2:]}
    assert set(Blob.objects.values_list("digest", flat=True)) == {row.digest for row in found[4:]}
    assert Measurement.objects.count() == 4 and services.sweep()["blobs"] == 0


def test_a_reading_that_something_refers_to_stays_with_its_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _readings(6)
    monkeypatch.setattr(retention, "_held_elsewhere", lambda: {found[0].revision})
    services.sweep()
    assert Observation.objects.filter(pk=found[0].pk).exists()
    assert archive.load(found[0].digest).now_s == 1000
    assert not Observation.objects.filter(pk=found[1].pk).exists()


def test_readings_of_plans_are_found_by_their_foreign_keys() -> None:
    relations = [
        relation.related_model._meta.label
        for relation in Observation._meta.get_fields(include_hidden=True)
        if relation.one_to_many and relation.auto_created
    ]
    assert "plans.Plan" in relations


def test_young_snapshots_stay_although_no_row_names_them_yet() -> None:
    found = _readings(1)
    snapshot = world(now_s=5).node("n9").snapshot()
    archive.store(snapshot)
    services.sweep()
    assert Blob.objects.filter(digest__in=[snapshot.digest, found[0].digest]).count() == 2


def test_layouts_go_with_their_last_reading() -> None:
    observed(world().node("old"))
    for n in range(5):
        observed(world(now_s=n).node("new"))
    assert Layout.objects.count() == FleetLayout.objects.count() == 2
    services.sweep()
    assert Layout.objects.count() == FleetLayout.objects.count() == 1


def test_each_source_keeps_its_own() -> None:
    quiet = observed(world().node("q"), "quiet")
    _readings(8)
    services.sweep()
    assert Observation.objects.filter(pk=quiet.pk).exists() and Blob.objects.filter(pk=quiet.digest).exists()


def test_sweeping_is_asked_for_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("console.inventory.services.observing.enqueue", lambda task, **_: asked.append(task))
    for _ in range(3):
        services.observe_due()
    assert asked == ["inventory.sweep"]


NOON = datetime(2026, 11, 29, 12, 0, 30, tzinfo=UTC)


@pytest.fixture
def _clock(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOON)
    settings.KEPT_READINGS = ((600, 3600), (3600, 6 * 3600))


def _at(rows: list[Observation], *minutes_ago: float) -> None:
    """The first readings were made so long ago, each confirmed a second later."""
    for row, minutes in zip(rows, minutes_ago, strict=False):
        begun = NOON - timedelta(minutes=minutes)
        Observation.objects.filter(pk=row.pk).update(begun_at=begun, observed_at=begun + timedelta(seconds=1))


def _left(rows: list[Observation]) -> list[int]:
    """Places of those that are kept whole: with their row and with their snapshot."""
    services.sweep()
    blobs = set(Blob.objects.values_list("digest", flat=True))
    kept = set(Observation.objects.values_list("revision", flat=True))
    return [n for n, row in enumerate(rows) if row.revision in kept and row.digest in blobs]


@pytest.mark.usefixtures("_clock")
def test_of_each_slot_its_last_reading_stays() -> None:
    found = _readings(9)
    # 11:25, 11:29, then 11:33 alone in its slot, then 11:55 and 11:59, then the four that stay anyway
    _at(found, 35.5, 31.5, 27.5, 5.5, 1.5, 0.4, 0.3, 0.2, 0.1)
    assert _left(found) == [1, 2, 4, 7, 8]
    assert _left(found) == [1, 2, 4, 7, 8]


@pytest.mark.usefixtures("_clock")
def test_after_an_hour_one_an_hour_is_left_and_in_the_end_none() -> None:
    found = _readings(8)
    # 03:59 is past its time; of 07:10 and 07:50 the later stays; 10:20 is the only one of its hour
    _at(found, 481, 290, 250, 100, 0.4, 0.3, 0.2, 0.1)
    assert _left(found) == [2, 3, 6, 7]


@pytest.mark.usefixtures("_clock")
def test_a_reading_that_was_confirmed_until_lately_is_as_young_as_that() -> None:
    found = _readings(6)
    _at(found, 3000, 0.5, 0.4, 0.3, 0.2, 0.1)
    Observation.objects.filter(pk=found[0].pk).update(observed_at=NOON - timedelta(minutes=55))
    assert _left(found) == [0, 4, 5]


@pytest.mark.usefixtures("_clock")
def test_the_slots_of_one_source_are_not_those_of_another() -> None:
    quiet = observed(world().node("q"), "quiet")
    found = [quiet, *_readings(5)]
    _at(found, 25, 26, 0.4, 0.3, 0.2, 0.1)
    assert _left(found) == [0, 1, 4, 5]


@pytest.mark.usefixtures("_clock")
def test_what_others_hold_stays_beside_the_readings_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _readings(7)
    _at(found, 35.5, 31.5, 27.5, 0.4, 0.3, 0.2, 0.1)
    monkeypatch.setattr(retention, "_held_elsewhere", lambda: {found[0].revision})
    assert _left(found) == [0, 1, 2, 5, 6]


def test_comparisons_are_forgotten_after_an_hour() -> None:
    now = timezone.now()
    for key, age in (("old", 3700), ("new", 60)):
        Comparison.objects.create(key=key, asked_at=now - timedelta(seconds=age))
    services.sweep()
    assert [row.key for row in Comparison.objects.all()] == ["new"]


@pytest.mark.usefixtures("_clock")
def test_nothing_is_kept_by_the_clock_where_that_is_turned_off(settings: Any) -> None:
    settings.KEPT_READINGS = ((600, 0), (3600, 0))
    found = _readings(6)
    _at(found, 5.5, 1.5, 0.4, 0.3, 0.2, 0.1)
    assert _left(found) == [4, 5]
