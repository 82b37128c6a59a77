"""Whoever is on call: always exactly one first, no gap at any change of a clock, and overrides win."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console.oncall.choices import Reach
from console.oncall.ladder import Pace, following
from console.oncall.turns import Cover, Person, Rotation, anchored, duty, quiet_until, shifts

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Havana")
# Both changes of summer time of all these zones lie within these days.
INSTANTS = st.datetimes(datetime(2027, 3, 1), datetime(2027, 11, 20)).map(lambda at: at.replace(tzinfo=UTC))
ADA, BEN, CEM = (Person(uid, name) for uid, name in enumerate(("Ada", "Ben", "Cem"), 1))
BERLIN = Rotation((ADA, BEN), time(2, 30), "Europe/Berlin", 1, date(2027, 3, 27))


@st.composite
def rotations(draw: st.DrawFn) -> Rotation:
    count = draw(st.integers(1, 4))
    away = draw(st.lists(st.sampled_from(["", "", "", "is not active"]), min_size=count, max_size=count))
    people = tuple(Person(uid, f"p{uid}", why) for uid, why in enumerate(away))
    covers = []
    for uid in range(draw(st.integers(0, 3))):
        begins = draw(INSTANTS)
        who = draw(st.sampled_from(people))
        covers.append(Cover(uid, who, begins, begins + timedelta(hours=draw(st.integers(1, 400)))))
    return Rotation(
        people,
        draw(st.times().map(lambda at: at.replace(second=0, microsecond=0))),
        draw(st.sampled_from(ZONES)),
        draw(st.sampled_from([1, 7])),
        date(2027, 1, 4) + timedelta(days=draw(st.integers(0, 6))),
        tuple(covers),
    )


@given(rotations(), INSTANTS)
def test_exactly_one_is_first_and_who_is_not_called_is_said(rotation: Rotation, at: datetime) -> None:
    found = duty(rotation, at)
    able = {one.uid for one in rotation.people if not one.away}
    assert {one.uid for one in found.line} == able and len(found.line) == len(able)
    assert {one.uid for one, _ in found.skipped} == {one.uid for one in rotation.people} - able
    assert found.until > at
    assert (found.first is None) == (not able)


@given(rotations(), INSTANTS)
def test_the_latest_override_wins(rotation: Rotation, at: datetime) -> None:
    holding = [one for one in rotation.covers if one.holds(at) and not one.who.away]
    found = duty(rotation, at)
    if holding:
        assert found.first == max(holding, key=lambda one: one.uid).who
    else:
        assert found.cover is None


@given(rotations(), INSTANTS, st.integers(1, 3))
def test_turns_follow_each_other_without_a_gap(rotation: Rotation, since: datetime, weeks: int) -> None:
    until = since + timedelta(weeks=weeks)
    found = shifts(rotation, since, until)
    assert found[0].begins_at == since and found[-1].ends_at == until
    for one, other in pairwise(found):
        assert one.begins_at < one.ends_at == other.begins_at
    for one in found:
        for at in (
            one.begins_at,
            one.begins_at + (one.ends_at - one.begins_at) / 2,
            one.ends_at - timedelta(minutes=1),
        ):
            if at >= one.begins_at:
                assert duty(rotation, at).first == one.who


@given(rotations(), INSTANTS)
@example(
    Rotation((ADA, BEN), time(2, 30), "Europe/Berlin", 1, date(2027, 3, 27)), datetime(2027, 3, 28, 0, 59, tzinfo=UTC)
)
@example(
    Rotation((ADA, BEN), time(2, 30), "Europe/Berlin", 1, date(2027, 3, 27)), datetime(2027, 10, 31, 1, tzinfo=UTC)
)
def test_every_period_hands_over_to_the_next(rotation: Rotation, at: datetime) -> None:
    """Of a rota without overrides: the day of the handover alone says whose turn it is, whatever the clock does."""
    bare = Rotation(tuple(Person(one.uid, one.name) for one in rotation.people), rotation.at, rotation.zone,
                    rotation.days, rotation.anchor)  # fmt: skip
    now = duty(bare, at)
    following_one = duty(bare, now.until)
    place = [one.uid for one in bare.people]
    assert now.first is not None and following_one.first is not None
    assert place.index(following_one.first.uid) == (place.index(now.first.uid) + 1) % len(place)
    local = now.until.astimezone(ZoneInfo(bare.zone))
    assert (
        local.time() == bare.at
        or local.utcoffset() != (local - timedelta(hours=3)).astimezone(UTC).astimezone(ZoneInfo(bare.zone)).utcoffset()
    )


@given(rotations(), INSTANTS, st.data())
def test_who_is_named_first_is_on_turn_after_a_change_of_the_list(
    rotation: Rotation, at: datetime, data: st.DataObject
) -> None:
    people = tuple(Person(one.uid, one.name) for one in rotation.people)
    first = data.draw(st.sampled_from(people))
    bare = Rotation(people, rotation.at, rotation.zone, rotation.days, rotation.anchor)
    moved = Rotation(people, rotation.at, rotation.zone, rotation.days, anchored(bare, at, first.uid))
    assert duty(moved, at).first == first
    assert moved.cron == bare.cron


def test_a_handover_in_an_hour_that_is_left_out_or_comes_twice() -> None:
    berlin = Rotation((ADA, BEN), time(2, 30), "Europe/Berlin", 1, date(2027, 3, 27))
    begins = [
        one.begins_at
        for one in shifts(berlin, datetime(2027, 3, 27, 1, 30, tzinfo=UTC), datetime(2027, 3, 30, tzinfo=UTC))
    ]
    assert [f"{at:%d %H:%M}" for at in begins] == ["27 01:30", "28 01:00", "29 00:30"]
    found = shifts(berlin, datetime(2027, 10, 30, 12, tzinfo=UTC), datetime(2027, 11, 1, 3, tzinfo=UTC))
    assert [f"{one.ends_at:%d %H:%M}" for one in found] == ["31 00:30", "01 01:30", "01 03:00"]


def test_the_one_who_is_taken_over_from_comes_last() -> None:
    at = datetime(2027, 3, 1, 12, tzinfo=UTC)
    cover = Cover(1, CEM, at, at + timedelta(hours=1))
    rotation = Rotation((ADA, BEN, CEM), time(9), "UTC", 7, date(2027, 3, 1), (cover,))
    assert duty(rotation, at - timedelta(seconds=1)).line == (ADA, BEN, CEM)
    assert duty(rotation, at).line == (CEM, BEN, ADA)
    assert duty(rotation, at, {CEM.uid: "asked for this plan"}).line == (ADA, BEN)
    assert duty(rotation, at, {CEM.uid: "asked for this plan"}).skipped == ((CEM, "asked for this plan"),)


@given(st.integers(0, 4), st.integers(1, 3), st.sets(st.integers(1, 3)))
def test_an_alert_widens_until_everybody_was_called(people: int, singles: int, first: set[int]) -> None:
    line = (ADA, BEN, CEM)[:people]
    called, reached, alone, kinds = set(first), None, 0, []
    while (call := following(Pace(5, singles, 7), line, (ADA, BEN, CEM), called, alone, reached)) is not None:
        if call.reach == Reach.PERSON:
            assert len(call.people) == 1 and call.people[0].uid not in called
            alone += 1
        called |= {one.uid for one in call.people}
        reached = call.reach
        kinds.append(call.reach)
        assert (call.wait is None) == (call.reach == Reach.APPROVERS)
    assert kinds[-1] == Reach.APPROVERS and kinds == sorted(kinds, key=list(Reach).index)
    assert kinds.count(Reach.PERSON) == min(singles, len([one for one in line if one.uid not in first]))
    assert kinds.count(Reach.ROTA) == (1 if line else 0) and called >= {1, 2, 3}


@pytest.mark.parametrize(
    ("at", "until"),
    [("21:59", None), ("22:00", "05:00"), ("23:59", "05:00"), ("04:59", "05:00"), ("05:00", None), ("12:00", None)],
)
def test_quiet_hours_over_midnight(at: str, until: str | None) -> None:
    """From 23:00 to 06:00 in Berlin, in winter."""
    hours, minutes = map(int, at.split(":"))
    found = quiet_until((time(23), time(6)), "Europe/Berlin", datetime(2027, 1, 5, hours, minutes, tzinfo=UTC))
    assert (None if found is None else f"{found:%H:%M}") == until
