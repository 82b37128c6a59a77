"""What pages say in figures, on worlds where it is easy to be wrong."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from console.connectors import documents
from console.connectors.choices import Kind
from console.inventory import archive, selectors
from console.inventory.choices import SourceKind
from console.inventory.models import Observation, Source, UsageSlot
from console.inventory.services.measuring import SLOT_S, slot_of
from scheduler.fragmentation.report import report
from tests.builders.fleets import observed, read, simulated_source
from tests.builders.people import tenant, viewer
from tests.builders.worlds import World, world

pytestmark = pytest.mark.django_db


def _tile(label: str, filters: selectors.Filters | None = None) -> Any:
    return next(tile for tile in selectors.fleet_headline(viewer(), filters) if tile.label.startswith(label))


def _node(name: str) -> selectors.NodeRow:
    return next(row for row in selectors.node_rows(viewer(), selectors.Filters()).rows if row.name == name)


def test_one_nodes_excess_does_not_eat_anothers_free_gpus() -> None:
    """Case C15."""
    built = world().asw("asw-1").node("n1", allocatable_gpus=6).nodes("n2", "n3")
    observed(built.pod("p0", "n1", 8).pod("p1", "n2", 6).pod("p2", "n3", 8).pod("w2", gpus=2).pod("w6", gpus=6))
    assert _tile("Free").value == 2
    assert (_node("n1").free_gpus, _node("n1").over_committed_milli, _node("n2").free_gpus) == (0, 2000, 2)
    for tile in selectors.fleet_headline(viewer()):
        assert tile.value is None or tile.value >= 0


@pytest.mark.parametrize(
    ("gpus", "allocates", "pods", "excess", "withheld"),
    [
        (8, 7, (8,), 1000, 1),
        (8, 6, (4, 3), 1000, 2),
        (8, 7, (7,), 0, 0),
        (8, None, (8, 1), 1000, 0),
        (8, 7, (8, 1), 2000, 0),
    ],
)
def test_gpus_that_a_plugin_withholds_under_pods_are_told_from_excess(
    gpus: int, allocates: int | None, pods: tuple[int, ...], excess: int, withheld: int
) -> None:
    """What ``kubectl describe node`` shows, too: so much of capacity, allocatable and requested."""
    built = world().node("n1", gpus, **({} if allocates is None else {"allocatable_gpus": allocates}))
    for at, asked in enumerate(pods):
        built = built.pod(f"p{at}", "n1", asked, cpu_milli=1000)
    observed(built)
    row = _node("n1")
    assert (row.gpus, row.allocatable_gpus, row.own_gpu_milli) == (gpus, allocates or gpus, 1000 * sum(pods))
    assert (row.over_committed_milli, row.withheld_gpus, row.free_gpus) == (
        excess,
        withheld,
        max((allocates or gpus) - sum(pods), 0),
    )
    said = [word for word in report(built.snapshot()).warnings if "over-committed" in word]
    assert any("pods keep what they hold" in word for word in said) == bool(withheld)


def test_counted_resources_stand_on_the_page_of_their_node() -> None:
    """What tenants' viewers see leaves out what others ask for."""
    built = world().node("n1", resources={"ephemeral-storage": 10 << 10, "example.org/nic": 4})
    asked = {"ephemeral-storage": 3 << 10, "hugepages-2Mi": 512}
    observed(built.pod("p", "n1", 1, resources=asked).pod("q", "n1", 1, resources={"example.org/nic": 1}))
    card = selectors.node_card(viewer(), "default", "n1")
    told = [(one.name, one.used, one.amount, one.unit) for one in card.resources]
    assert told == [
        ("ephemeral-storage", 3 << 10, 10 << 10, "MiB"),
        ("example.org/nic", 1, 4, ""),
        ("hugepages-2Mi", 512, 0, "MiB"),
    ]
    theirs = selectors.node_card(tenant("t1"), "default", "n1").resources
    assert [(one.used, one.amount) for one in theirs] == [(None, 10 << 10), (None, 4)]


def test_a_labelled_node_without_devices_is_degraded_not_empty() -> None:
    """Case C44."""
    built = world().node("n1", allocatable_gpus=0).node("n2", gpus=0).node("n3").pod("r", "n1", 4)
    observed(built)
    assert (_node("n1").health, _node("n1").state, _node("n1").free_gpus) == ("degraded", "none", 0)
    assert (_node("n2").health, _node("n2").state) == ("no_gpus", "none")
    assert _tile("Free").value == 8 and _tile("Slack").value == 0


def test_finished_and_orphaned_pods_use_nothing() -> None:
    """Case C45."""
    built = world().node("n1").pod("done", "n1", 8, phase="Succeeded").pod("bad", "n1", 4, phase="Failed")
    observation = observed(built.pod("orphan", "gone-7", 8).pod("live", "n1", 2).pod("w", gpus=6))
    assert (_node("n1").free_gpus, _tile("Allocated").value) == (6, 25.0)
    assert any("orphan" in word and "gone-7" in word for word in observation.warnings)
    assert observation.counts["orphans"] == 1
    rows = {row.name: row for row in selectors.pod_rows(viewer(), selectors.Filters()).rows}
    assert (rows["orphan"].node, rows["orphan"].node_known, rows["live"].node_known) == ("gone-7", False, True)
    assert [row.name for row in selectors.node_rows(viewer(), selectors.Filters()).rows] == ["n1"]


@pytest.mark.parametrize(
    "built",
    [world(), world().node("c1", gpus=0).pod("cpu", "c1", 0, gpu_milli=0), world().node("z", gpus=0, cpu_milli=0)],
    ids=["empty", "no GPUs", "nothing at all"],
)
def test_clusters_without_gpus_have_figures_that_are_json(built: World) -> None:
    """Case C40."""
    observed(built)
    client = APIClient()
    client.force_authenticate(viewer())
    names = ["nodes", "pods", "fleet-headline", "fleet-layout", "fleet-pools", "fleet-shapes", "sources"]
    for name in [*names, "fleet-standby", "observations"]:
        answer = client.get(reverse(f"api:{name}"))
        assert answer.status_code == 200
        json.loads(answer.content, parse_constant=_refuse)
    assert _tile("Allocated").value is None
    for name in ("fleet-waterfall", "fleet-fits"):
        assert client.get(reverse(f"api:{name}")).status_code == 404


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def test_the_waterfall_adds_up_to_all_gpus() -> None:
    built = world().asw("s1").nodes("n1", "n2", "n3").node("n4", ready=False)
    observed(built.pod("a", "n1", 5).pod("b", "n2", 8, tier="LP").pod("c", "n3", 1, gpu_milli=300))
    fall = selectors.waterfall(viewer())
    assert fall is not None
    for shape in fall.shapes:
        one = selectors.waterfall(viewer(), "", shape)
        assert one is not None
        assert sum(row.gpus_milli for row in one.rows) + one.usable_milli == one.total_milli == 32_000
        assert [row.start_milli for row in one.rows] == sorted(row.start_milli for row in one.rows)


def test_pools_of_one_model_in_two_sources_are_one_choice() -> None:
    observed(world().node("n1", cluster="west"), "a")
    observed(world().nodes("n2", "n3", cluster="east"), "b")
    choices = selectors.pool_choices(viewer())
    assert [(choice.nodes, choice.gpus) for choice in choices] == [(3, 24), (2, 16), (1, 8)]
    fits = selectors.what_fits(viewer(), choices[0].key)
    assert fits is not None
    assert {row.gpus: row.counts[0] for row in fits.rows if row.gpus in (8, 16)} == {8: 3, 16: None}
    assert selectors.what_fits(viewer(), "no such pool") is None


def test_filters_leave_a_part_of_the_fleet_in_the_headline() -> None:
    built = world().asw("s1").node("n1").asw("s2").nodes("n2", "n3").pod("a", "n1", 3)
    observed(built)
    assert _tile("GPUs", selectors.Filters(asw="s2")).value == 16
    assert _tile("Free", selectors.Filters(asw="s1")).value == 5
    assert _tile("Usable", selectors.Filters(asw="s1")).value is None


@pytest.mark.parametrize(
    ("day", "hours", "at_two"),
    [
        (date(2026, 10, 25), 25, [("02:00", "+02:00"), ("02:00", "+01:00")]),
        (date(2026, 3, 29), 23, []),
        (date(2026, 10, 26), 24, [("02:00", "+01:00")]),
    ],
)
def test_days_of_23_24_and_25_hours(day: date, hours: int, at_two: list[tuple[str, str]]) -> None:
    """Case C26: 8 GPUs are busy all the time."""
    source = simulated_source(world().node("n1"))
    slot = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=3)
    rows = [
        UsageSlot(
            source=source, began_at=slot + timedelta(seconds=SLOT_S * n), covered_s=SLOT_S, allocated_gpu_s=8 * SLOT_S
        )
        for n in range(30 * 3600 // SLOT_S)
    ]
    UsageSlot.objects.bulk_create(rows)
    found = selectors.usage_of_day(viewer(), "Europe/Berlin", day)
    assert [bucket.allocated_gpus for bucket in found] == [8.0] * hours
    assert sum(bucket.allocated_gpus or 0 for bucket in found) == 8 * hours
    assert [(bucket.label, bucket.offset) for bucket in found if bucket.label == "02:00"] == at_two


@pytest.mark.parametrize(("silent_s", "covered_s"), [(5, 300), (200, 100)])
def test_what_was_only_confirmed_counts_and_what_nobody_saw_does_not(silent_s: int, covered_s: int) -> None:
    first = observed(world().node("n1").pod("a", "n1", 4))
    begun = first.begun_at - timedelta(seconds=300)
    Observation.objects.update(begun_at=begun, observed_at=first.begun_at - timedelta(seconds=silent_s))
    document = documents.keep(world().node("n1").pod("a", "n1", 2).json())
    Source.objects.update(config={"document": document}, period_s=2)
    later = read(Source.objects.get())
    assert later.pk != first.pk
    wanted = covered_s + (later.begun_at - first.begun_at).total_seconds() * (silent_s == 5)
    rows = UsageSlot.objects.all()
    assert sum(row.covered_s for row in rows) == pytest.approx(wanted)
    assert sum(row.allocated_gpu_s for row in rows) == pytest.approx(4 * wanted)


def test_hours_of_which_nothing_is_known_are_unknown_not_zero() -> None:
    now = datetime(2026, 11, 1, 12, 30, tzinfo=UTC)
    source = simulated_source(world().node("n1"))
    UsageSlot.objects.create(source=source, began_at=slot_of(now), covered_s=60, asleep_gpu_s=240)
    found = selectors.standby_series(viewer(), 3, now=now)
    assert [bucket.asleep_gpus for bucket in found] == [None, None, 4.0]
    assert [bucket.label for bucket in found] == ["10:00", "11:00", "12:00"]


def test_every_kind_of_connector_has_its_words() -> None:
    assert Kind.values == SourceKind.values and Kind.labels == SourceKind.labels


def test_the_archive_gives_back_what_was_stored() -> None:
    observation = observed(world().node("n1").pod("a", "n1"))
    archive.forget()
    assert archive.load(observation.digest).digest == observation.digest
    with pytest.raises(archive.GoneError):
        archive.load("0" * 64)
