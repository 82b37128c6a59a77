"""Storms: foreseen from the ends of windows, spread so that the store takes what is written and all are in time."""

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster.errors import ParamError
from scheduler.cluster.snapshot import Snapshot
from scheduler.placement.named import VictimRules
from scheduler.spot.storm import Course, Store, Storm, StormRules, foresee
from tests.builders.worlds import World, world

ON_NOTICE = {"slackline.io/checkpoint-on-notice": "true"}
NOW, GRACE_S, MIB = 1000, 60, 320_000  # written by one borrower of 8 GPUs of 80,000 MiB: half of it


def _sleeper(built: World, i: int, **borrower: Any) -> None:
    built.node(f"n{i:02}", gpu_memory_mib=80_000).pod(f"s{i:02}", f"n{i:02}", 8, standby=True)
    fields = {"tier": "LP", "started_s": 0, "checkpoint_s": 100, "labels": ON_NOTICE, **borrower}
    built.pod(f"b{i:02}", f"n{i:02}", 8, lent_by=f"jobs/s{i:02}", **fields)


def _pool(count: int, **borrower: Any) -> Snapshot:
    built = world(NOW)
    for i in range(count):
        _sleeper(built, i, **borrower)
    return built.snapshot()


def _ends(count: int, at_s: int, gap_s: int = 0) -> dict[str, int]:
    return {f"jobs/s{i:02}": at_s + gap_s * i for i in range(count)}


def _one(snapshot: Snapshot, ends: dict[str, int], per_group: int, **rules: Any) -> Storm:
    """The store takes ``per_group`` borrowers within the 40 s in which a group writes."""
    store = Store(write_mib_per_s=per_group * MIB // 40)
    (storm,) = foresee(snapshot, ends, store=store, rules=StormRules(**rules))
    return storm


def test_what_comes_at_once_is_called_in_groups_that_the_store_takes() -> None:
    storm = _one(_pool(10), _ends(10, 20_000), 3)
    assert (storm.pods, storm.gpu_milli, storm.leavers, storm.state_mib) == (10, 80_000, 10, 10 * MIB)
    assert storm.needed_mib_per_s == 10 * MIB / 60 and storm.holds and storm.at_s == 20_000
    assert [len(group.sleepers) for group in storm.after.groups] == [1, 3, 3, 3]
    calls = [group.at_s for group in storm.after.groups]
    assert [b - a for a, b in itertools.pairwise(calls)] == [GRACE_S] * 3
    assert storm.after.last_serving_s <= 20_000 and storm.after.unsaved_mib == 0
    assert storm.before.unsaved_mib > 0 and storm.before.killed > 9 > 2 > storm.after.killed
    assert storm.before.given_up_milli_s < storm.after.given_up_milli_s  # what it costs
    assert "10 sleepers" in storm.said and "4 groups" in storm.said


def test_the_timeline_ends_with_everybody_serving() -> None:
    storm = _one(_pool(6), _ends(6, 20_000), 3)
    for course in (storm.before, storm.after):
        first, last = course.steps[0], course.steps[-1]
        assert (first.serving_milli, first.lent_milli) == (0, 48_000)
        assert last.at_s == course.last_serving_s and last.lent_milli == 0 and last.serving_milli >= 47_000
        assert all(a.serving_milli <= b.serving_milli for a, b in zip(course.steps, course.steps[1:], strict=False))
        assert max(step.write_mib_per_s for step in course.steps) <= storm.store_mib_per_s
    assert storm.after.peak_mib_per_s <= storm.store_mib_per_s


def test_a_gang_leaves_in_one_group_and_is_called_by_its_first_window() -> None:
    built = world(NOW).gang("g", 4)
    for i in range(4):
        _sleeper(built, i, gang="g")
    ends = _ends(4, 20_000, 100)
    storm = _one(built.snapshot(), ends, 4)
    (group,) = storm.after.groups
    assert group.gangs == storm.gangs == 1 and len(group.leavers) == 4 and group.ends_s <= 20_000
    rest = world(NOW).gang("g", 2)
    for i in range(2):
        _sleeper(rest, i, **({"gang": "g"} if i == 0 else {}))
    rest.node("n9").pod("elsewhere", "n9", 8, tier="LP", started_s=0, gang="g")
    groups = _one(rest.snapshot(), _ends(2, 20_000), 9).after.groups
    assert "jobs/elsewhere" in {pod for group in groups for pod in group.leavers}


def test_who_is_protected_leaves_last_and_who_writes_nothing_needs_no_store() -> None:
    built = world(NOW)
    for i in range(4):
        _sleeper(built, i, **({"min_runtime_s": 90_000} if i == 0 else {"locked": True} if i == 1 else {}))
    groups = _one(built.snapshot(), _ends(4, 20_000), 1).after.groups
    assert [group.sleepers for group in groups[-2:]] == [("jobs/s01",), ("jobs/s00",)]
    silent = _one(_pool(6, labels={}), _ends(6, 20_000), 1)
    assert silent.state_mib == 0 and silent.silent_pods == 6 and len(silent.after.groups) == 1


def test_where_the_store_takes_too_little_in_time_the_sleepers_win_and_it_is_said() -> None:
    storm = _one(_pool(6), _ends(6, NOW + 200), 1)
    assert storm.holds and storm.after.last_serving_s <= NOW + 200
    assert storm.after.crowded and 0 < storm.after.unsaved_mib < storm.before.unsaved_mib
    assert "do not fit into the store" in storm.said


def test_who_cannot_be_in_time_is_told_by_how_much() -> None:
    short = _one(_pool(2, labels={}), _ends(2, NOW + 20), 1)
    assert not short.holds and "late whatever is done" in short.said
    assert [late.by_s > 0 for late in short.after.late] == [True, True]
    assert "to call it takes up to 68 s" in short.after.late[0].said
    assert {group.at_s for group in short.after.groups} == {NOW}


def test_ends_that_lie_apart_are_several_storms_and_a_few_are_none() -> None:
    snapshot = _pool(6)
    ends = {**_ends(3, 20_000), "jobs/s03": 30_000, "jobs/s04": 30_100, "jobs/s05": 50_000, "jobs/none": 20_000}
    found = foresee(snapshot, ends)
    assert [(storm.pods, storm.at_s) for storm in found] == [(3, 20_000), (2, 30_100)]
    assert foresee(snapshot, {"jobs/s00": NOW, "jobs/s01": NOW}) == ()
    assert [storm.pods for storm in foresee(snapshot, ends, rules=StormRules(least_pods=1))] == [3, 2, 1]
    with pytest.raises(ParamError, match="write_s"):
        StormRules(write_s=90)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000))
def test_every_plan_calls_everybody_once_within_the_store_and_in_any_order_the_same(seed: int) -> None:
    dice = random.Random(seed)
    built, count = world(NOW), dice.randint(2, 9)
    gangs = [f"g{k}" for k in range(2)]
    for gang in gangs:
        built.gang(gang, dice.randint(1, 3))
    for i in range(count):
        fields: dict[str, Any] = {"gang": dice.choice(gangs)} if dice.random() < 0.4 else {}
        fields |= {"labels": {}} if dice.random() < 0.3 else {}
        fields |= {"min_runtime_s": 90_000} if dice.random() < 0.2 else {}
        _sleeper(built, i, **fields)
    ends = {f"jobs/s{i:02}": NOW + dice.choice([30, 200, 900, 4000]) + dice.randint(0, 200) for i in range(count)}
    store = Store(write_mib_per_s=dice.randint(1, 4) * MIB // 40)
    rules = StormRules(gap_s=3600, least_pods=1, victims=VictimRules())
    found = foresee(built.snapshot(), ends, store=store, rules=rules)
    shuffled = dict(dice.sample(sorted(ends.items()), len(ends)))
    assert foresee(built.snapshot(), shuffled, store=store, rules=rules) == found
    called = [pod for storm in found for group in storm.after.groups for pod in group.sleepers]
    assert sorted(called) == sorted(ends)
    for storm in found:
        _holds(storm, ends, store, rules)


def _holds(storm: Storm, ends: dict[str, int], store: Store, rules: StormRules) -> None:
    course: Course = storm.after
    for group in course.groups:  # in any grace time no more is written than the store takes while a group writes
        beside = sum(other.state_mib for other in course.groups if abs(other.at_s - group.at_s) < GRACE_S)
        assert course.crowded or not group.state_mib or beside <= store.write_mib_per_s * rules.write_s
    late = {one.pod for one in course.late}
    for group in course.groups:
        assert group.at_s >= NOW and (late or group.ends_s <= max(ends[pod] for pod in group.sleepers))
        for pod in group.sleepers:  # even if everybody has to be killed
            assert group.at_s + GRACE_S + 8 <= ends[pod] or pod in late or group.at_s == NOW or not group.leavers
    assert all(one.by_s > 0 for one in course.late) and late <= {one.pod for one in storm.before.late}
    assert late or course.last_serving_s <= storm.at_s
    assert course.unsaved_mib <= storm.before.unsaved_mib
