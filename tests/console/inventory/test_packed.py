"""Reports are kept compressed, and rows from before are carried over, there and back."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from console.inventory.models import Measurement
from console.inventory.packed import pack_json, unpack_json
from console.inventory.selectors.measured import newest_measurements
from tests.builders.fleets import observed
from tests.builders.worlds import world

REPORT = {"pools": [{"model": "H100", "free": 3, "words": "ä" * 100}] * 40}


@pytest.mark.django_db
def test_a_report_is_kept_small_and_read_whole() -> None:
    observed(world().node("n1").pod("a", "n1", 1))
    [row] = Measurement.objects.all()
    whole = unpack_json(row.report)
    assert whole["totals"] and newest_measurements()[0].pools == whole["pools"]
    assert len(row.report) < len(str(whole)) / 2


def test_packing_loses_nothing() -> None:
    assert unpack_json(pack_json(REPORT)) == REPORT
    assert unpack_json(memoryview(pack_json([None, 1.5]))) == [None, 1.5]


@pytest.fixture
def back_then(transactional_db: Any) -> Iterator[Any]:
    """The tables as they were; afterwards as they are."""
    yield _migrate("0004_idling")
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())  # of all rooms: those above went back with it


def test_rows_from_before_are_carried_over_and_back(back_then: Any) -> None:
    source = back_then.get_model("inventory", "Source").objects.create(name="old", kind="file")
    now = timezone.now()
    instants = {"taken_at": now, "begun_at": now, "observed_at": now}
    readings = back_then.get_model("inventory", "Observation").objects
    rows = back_then.get_model("inventory", "Measurement").objects
    for revision, report in ((1, REPORT), (2, {})):
        reading = readings.create(revision=revision, source=source, digest="d", **instants)
        rows.create(observation=reading, seconds=1.0, headline={"free": revision}, report=report)
    _migrate("0006_packed_reports_in_place")
    carried = Measurement.objects.order_by("observation_id")
    assert [unpack_json(row.report) for row in carried] == [REPORT, {}]
    assert [row.headline["free"] for row in carried] == [1, 2]
    again = _migrate("0004_idling").get_model("inventory", "Measurement").objects.order_by("observation_id")
    assert [row.report for row in again] == [REPORT, {}]


def _migrate(name: str) -> Any:
    executor = MigrationExecutor(connection)
    executor.migrate([("inventory", name)])
    return MigrationExecutor(connection).loader.project_state([("inventory", name)]).apps
