"""No pod is moved onto a node that a campaign drains next, as long as there is another way."""

import pytest

from console.campaigns import planning as previews
from console.campaigns import services
from console.campaigns.models import Group
from console.consolidation import planning
from console.plans.apart import apart_from
from console.plans.models import KeptNode, Plan
from tests.builders.people import operator
from tests.builders.worlds import World, world
from tests.console.campaigns.scene import DRIVER, OLD, looked, made, plan_of, two_switches
from tests.console.consolidation.test_held import computed
from tests.console.plans.scene import scene

pytestmark = pytest.mark.django_db


def crowded() -> World:
    """Both switches are old, and there is no third one; c is beside them all, and empty but for a lock."""
    made_of = world().node("c")
    for asw in ("s1", "s2"):
        made_of.asw(asw).nodes(f"{asw}-a", f"{asw}-b", labels={DRIVER: OLD})
    return made_of.pod("full", "c", 8, locked=True).pod("p1", "s1-a", 2).pod("p3", "s2-a", 1)


def planning_of(plan: Plan) -> Plan:
    planning.compute(plan.pk)
    return Plan.objects.get(pk=plan.pk)


def targets(plan: Plan) -> set[str]:
    return set(plan.steps.values_list("target_node", flat=True))


def test_pods_of_one_group_go_to_none_of_another_that_is_under_way_or_waits() -> None:
    one = scene(two_switches())
    row = made(one, at_once=2, most_out=4)
    services.begin_campaign(operator(), row.pk)
    assert looked(one, row, 2) == [("s1", "planning"), ("s2", "planning")]
    for position in (0, 1):
        plan = planning_of(plan_of(row, position))
        assert plan.state == "proposed" and targets(plan) <= {"t1", "t2"}
        assert any(note.startswith(f"apart: 2 nodes of campaign {row.pk}, under way") for note in plan.notes)
    others = computed(one)  # of a person, who empties whole nodes
    assert targets(others) <= {"t1", "t2"} and others.headline["emptied"] == 0


def test_what_is_drained_later_takes_pods_where_there_is_no_other_way_and_the_plan_says_so() -> None:
    one = scene(crowded())
    row = made(one, most_out=2)
    services.begin_campaign(operator(), row.pk)
    looked(one, row)
    plan = planning_of(plan_of(row, 0))
    assert targets(plan) <= {"s2-a", "s2-b"} and plan.headline["goal"]["reached"] == 2
    assert any(note.startswith("moved twice: 2 nodes drained later take pods") for note in plan.notes)


def test_nodes_of_a_group_under_way_take_nobody_even_if_nothing_moves_then_and_the_reason_says_so() -> None:
    one = scene(crowded())
    row = made(one, at_once=2, most_out=4)
    services.begin_campaign(operator(), row.pk)
    looked(one, row, 2)
    plan = planning_of(plan_of(row, 0))
    assert plan.shown_state == "not_possible"
    assert KeptNode.objects.get(plan=plan, node="s1-a").targets == {"gpus": 1, "empty": 1, "apart": 2}


def test_a_preview_is_what_the_plan_of_the_group_will_be() -> None:
    """There is room for the pod of s1 on s2 alone, which another campaign drains now."""
    one = scene(crowded())
    other = made(one, selects="nodes", wanted={"names": ["s2-a", "s2-b"]}, most_out=4)
    services.begin_campaign(operator(), other.pk)
    looked(one, other)
    row = made(one, selects="nodes", wanted={"names": ["s1-a", "s1-b"]}, most_out=4)
    previews.preview(row.pk)
    first = Group.objects.get(campaign=row, position=0)
    assert first.preview is not None and first.preview["ok"] is False
    services.begin_campaign(operator(), row.pk)
    looked(one, row)
    plan = planning_of(plan_of(row, 0))
    assert plan.shown_state == "not_possible"
    told = {why["reason"] for why in first.preview["why"]}
    assert told == {one["constraint"] for kept in KeptNode.objects.filter(plan=plan) for one in kept.blockers}


def test_a_preview_of_a_draft_keeps_off_the_groups_that_follow_as_its_plan_does() -> None:
    one = scene(two_switches().without("jobs/p3"))  # s2-a is empty, and best of all as long as nobody drains it
    row = made(one, most_out=4)
    question, others = services.question_of(row.pk, Group.objects.get(campaign=row, position=0).pk, ("s1-a", "s1-b"))
    assert (set(others.later), others.never) == ({"s2-a", "s2-b"}, {})
    assert not Plan.objects.filter(pk=question.pk).exists()
    previews.preview(row.pk)
    last = Group.objects.get(campaign=row, position=1)
    assert services.question_of(row.pk, last.pk, ("s2-a", "s2-b"))[1].later == {}
    services.begin_campaign(operator(), row.pk)
    looked(one, row)
    plan = planning_of(plan_of(row, 0))
    first = Group.objects.get(campaign=row, position=0)
    assert first.preview is not None and first.preview["moves"] == plan.steps.count()
    assert apart_from(plan).later.keys() == others.later.keys()
