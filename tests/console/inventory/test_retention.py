"""What is kept and what is dropped."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.inventory import archive, services
from console.inventory.models import Blob, FleetLayout, Layout, Measurement, Observation
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
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "READINGS", 4)
    monkeypatch.setattr(retention, "SNAPSHOTS", 2)


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
