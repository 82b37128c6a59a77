"""When plans may run: by the clock of a place, through changes to and from summer time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse

from console.policies import windowing, windows
from console.policies.choices import Place, Scope
from console.policies.occurrences import spans, wrong_cron, wrong_zone
from console.rest.errors import Conflict, FieldError
from tests.builders.people import approver, operator

pytestmark = pytest.mark.django_db
HERE = Place(Scope.CLUSTER, "default")
POOL = Place(Scope.POOL, "default", "H100")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        # Berlin, 02:30 for 2 hours.  28 March: 01:30 UTC; 29 March: 02:30 is left out, 03:00 = 01:00 UTC; then 00:30.
        ("2026-03-28T00:00", ["2026-03-28 01:30-03:30", "2026-03-29 01:00-03:00", "2026-03-30 00:30-02:30"]),
        # 25 October: 02:30 comes twice and counts once, at the first; from the 26th on at 01:30 UTC.
        ("2026-10-24T00:00", ["2026-10-24 00:30-02:30", "2026-10-25 00:30-02:30", "2026-10-26 01:30-03:30"]),
    ],
)
def test_starts_follow_the_clock_of_the_zone(since: str, expected: list[str]) -> None:
    found = spans("30 2 * * *", "Europe/Berlin", 120, (), at(since), at(since) + timedelta(days=3))
    assert [f"{one.begins_at:%Y-%m-%d %H:%M}-{one.ends_at:%H:%M}" for one in found] == expected


def test_a_day_to_skip_is_one_of_the_zone() -> None:
    # 23:00 in New York on 1 December is already 2 December in UTC.
    found = spans("0 23 * * *", "America/New_York", 60, ("2026-12-01",), at("2026-12-01T12:00"), at("2026-12-04T00:00"))
    assert [one.begins_at for one in found] == [at("2026-12-03T04:00")]


def test_a_span_that_has_begun_is_found() -> None:
    found = spans("0 22 * * 5", "UTC", 48 * 60, (), at("2026-11-29T10:00"), at("2026-11-29T11:00"))
    assert [one.begins_at for one in found] == [at("2026-11-27T22:00")]


@pytest.mark.parametrize(
    ("cron", "word"),
    [("0 22 * * 1-5", ""), ("0 * * * *", ""), ("*/30 * * * *", "24 times"), ("61 * * * *", "not a cron line"),
     ("0 0 31 2 *", "cron line"), ("0 22 * *", "five fields"), ("0 0 0 22 * *", "five fields"), ("", "five fields")],
)  # fmt: skip
def test_a_cron_line_is_judged_in_words(cron: str, word: str) -> None:
    said = wrong_cron(cron, "UTC", at("2026-11-30T00:00"))
    assert word in said
    assert bool(said) == bool(word)


@pytest.mark.parametrize(
    ("zone", "good"), [("UTC", True), ("Asia/Kolkata", True), ("Mars/Base", False), ("../x", False)]
)
def test_a_zone_is_one_of_iana(zone: str, good: bool) -> None:
    assert (wrong_zone(zone) == "") == good


def window(place: Place, kind: str, cron: str, minutes: int) -> None:
    names = {"scope": place.scope, "cluster": place.cluster, "gpu_model": place.gpu_model, "tenant": place.tenant}
    windows.Window.objects.create(kind=kind, cron=cron, minutes=minutes, owner=approver(), reason="r", **names)


def gate(now: str, pools: tuple[str, ...] = ("H100",)) -> tuple[bool, str | None]:
    found = windows.gate_for("default", pools, ("t1",), at(now))
    return found.open, None if found.changes_at is None else f"{found.changes_at:%Y-%m-%d %H:%M}"


def test_without_a_window_it_is_always_open() -> None:
    window(Place(Scope.CLUSTER, "elsewhere"), "blackout", "0 * * * *", 60)
    window(Place(Scope.TENANT, tenant="t2"), "blackout", "0 * * * *", 60)
    assert windows.gate_for("default", ("H100",), ("t1",)) == windows.ALWAYS


@pytest.mark.parametrize(
    ("said", "now", "expected"),
    [
        ([(HERE, "maintenance", "0 22 * * *", 120)], "2026-11-30T21:59", (False, "2026-11-30 22:00")),
        ([(HERE, "maintenance", "0 22 * * *", 120)], "2026-11-30T22:00", (True, "2026-12-01 00:00")),
        ([(HERE, "maintenance", "0 22 * * *", 120)], "2026-12-01T00:00", (False, "2026-12-01 22:00")),
        # two windows of one place: either will do; they meet, so it stays open
        ([(HERE, "maintenance", "0 22 * * *", 60), (HERE, "maintenance", "0 23 * * *", 60)], "2026-11-30T22:30",
         (True, "2026-12-01 00:00")),
        # two places: both must be open
        ([(HERE, "maintenance", "0 22 * * *", 120), (POOL, "maintenance", "0 23 * * *", 120)], "2026-11-30T22:30",
         (False, "2026-11-30 23:00")),
        ([(HERE, "maintenance", "0 22 * * *", 120), (POOL, "maintenance", "0 23 * * *", 120)], "2026-11-30T23:30",
         (True, "2026-12-01 00:00")),
        # a blackout wins
        ([(HERE, "maintenance", "0 22 * * *", 120), (POOL, "blackout", "30 22 * * *", 30)], "2026-11-30T22:40",
         (False, "2026-11-30 23:00")),
        ([(HERE, "blackout", "0 22 * * *", 120)], "2026-11-30T10:00", (True, "2026-11-30 22:00")),
        ([(HERE, "blackout", "0 * * * *", 60)], "2026-11-30T10:00", (False, None)),
    ],
)  # fmt: skip
def test_open_or_closed_and_when_that_changes(
    said: list[tuple[Place, str, str, int]], now: str, expected: tuple[bool, str | None]
) -> None:
    for place, kind, cron, minutes in said:
        window(place, kind, cron, minutes)
    assert gate(now) == expected


def test_the_days_ahead_are_drawn_to_scale() -> None:
    window(HERE, "maintenance", "0 0 * * 2", 24 * 60)  # Tuesdays
    found = windows.gate_for("default", (), (), at("2026-11-30T00:00"), draw=True)  # a Monday
    assert [(part.left, part.width) for part in found.parts] == [(14.286, 14.286)]
    assert found.parts[0].words == "open Tue 00:00 to Wed 00:00 UTC"


def test_it_costs_one_query(django_assert_num_queries: Any) -> None:
    for k in range(5):
        window(Place(Scope.POOL, "default", f"m{k}"), "maintenance", "0 22 * * *", 60)
    with django_assert_num_queries(1):
        windows.gate_for("default", [f"m{k}" for k in range(5)], [f"t{k}" for k in range(2000)], draw=True)


GOOD: dict[str, Any] = {"kind": "blackout", "cron": "0 8 * * 1-5", "minutes": 600, "zone": "UTC", "reason": "day"}


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"kind": "x"}, "kind"), ({"cron": "x"}, "cron"), ({"minutes": 0}, "minutes"), ({"zone": "x"}, "zone"),
     ({"reason": " "}, "reason"), ({"skip_days": ["24.12."]}, "skip_days")],
)  # fmt: skip
def test_what_is_wrong_is_named(wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(FieldError) as error:
        windowing.add_window(approver(), Place(), **{**GOOD, **wrong})
    assert error.value.field == field


def test_days_to_skip_are_kept_as_they_are_compared() -> None:
    row = windowing.add_window(approver(), Place(), **{**GOOD, "skip_days": ["20261224", "2026-12-24"]})
    assert row.skip_days == ["2026-12-24"]


def test_an_ended_window_no_longer_counts_and_stays_readable(client: Any) -> None:
    row = windowing.add_window(approver(), Place(), **{**GOOD, "cron": "0 * * * *", "minutes": 60})
    assert not windows.gate_for("default", (), ()).open
    windowing.end_window(approver(), row.pk)
    assert windows.gate_for("default", (), ()).open
    with pytest.raises(Conflict):
        windowing.end_window(approver(), row.pk)
    client.force_login(operator())
    assert "0 * * * *" in client.get(reverse("policies:windows")).content.decode()
