"""No ping-pong: what a plan moved is left alone by the next ones for as long as the policy says."""

from datetime import timedelta

import pytest
from django.utils import timezone

from console.consolidation import planning
from console.plans import selectors, services
from console.plans.models import KeptNode, Plan, Step
from console.policies.choices import Place, Scope
from console.policies.services import set_value
from tests.builders.people import approver, operator
from tests.builders.worlds import world
from tests.console.plans.scene import Scene, approved, ends, move, ran, requested, scene, started

pytestmark = pytest.mark.django_db(transaction=True)


def moved() -> Scene:
    """A plan has brought a to n2, whose other pod has ended since: a alone holds n2 and would fit on n3."""
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 2).pod("b", "n2", 5).pod("c", "n3", 5, locked=True)
    one = scene(made)
    assert ran(started(one.plan(move("a", "n1", "n2")))).state == "succeeded"
    one.happen(ends("b"))
    return one


def computed(one: Scene) -> Plan:
    plan = requested(one.source)
    planning.compute(plan.pk)
    return Plan.objects.get(pk=plan.pk)


def hours(value: int, place: Place = Place(), version: int = 0) -> None:  # noqa: B008
    set_value(approver("decider"), "cooldown_hours", place, value, reason="r", version=version)


def test_a_workload_rests_after_a_move_and_its_node_says_so() -> None:
    one = moved()
    plan = computed(one)
    assert plan.state == "nothing_to_do"
    assert ("n2", "resting") in KeptNode.objects.filter(plan=plan).values_list("node", "reason")
    Step.objects.filter(owner="jobs/a").update(ended_at=timezone.now() - timedelta(minutes=61))
    assert [step.pod for step in computed(one).steps.all()] == ["jobs/a"]


@pytest.mark.parametrize(
    ("decided", "rest"),
    [([], True), ([(Place(), 0)], False), ([(Place(), 0), (Place(Scope.TENANT, tenant="t1"), 5)], True),
     ([(Place(), 0), (Place(Scope.POOL, "default", "H100-SXM5-80GB"), 5)], True)],
)  # fmt: skip
def test_the_longest_of_all_places_counts(decided: list[tuple[Place, int]], rest: bool) -> None:
    one = moved()
    for place, value in decided:
        hours(value, place)
    assert set(selectors.resting(requested(one.source))) == ({"jobs/a"} if rest else set())


def test_a_move_in_the_meantime_is_found_before_the_approval_and_before_the_start() -> None:
    one = moved()
    plan = one.plan(move("a", "n2", "n3"))
    with pytest.raises(services.Conflict, match="1 workload of it rests after a move, first jobs/a, by plan"):
        approved(plan)
    Step.objects.filter(owner="jobs/a", state="succeeded").update(ended_at=timezone.now() - timedelta(hours=2))
    approved(plan)
    Step.objects.filter(owner="jobs/a", state="succeeded").update(ended_at=timezone.now())
    with pytest.raises(services.Conflict, match="rests after a move"):
        services.start_plan(operator(), plan.pk)
    services.break_glass(approver("breaker"), plan.pk, "the node burns")
    assert services.start_plan(operator(), plan.pk).state == "executing"


def test_taking_moves_back_is_no_ping_pong() -> None:
    made = world().nodes("n1", "n2").pod("a", "n1", 2).pod("b", "n2", 5, locked=True)
    one = scene(made)
    plan = ran(started(one.plan(move("a", "n1", "n2"))))
    back = services.roll_back(operator(), plan.pk, "not wanted")
    assert approved(back).state == "approved"


def test_who_names_the_nodes_does_not_wait() -> None:
    one = moved()
    drain = requested(one.source, params={"goal": {"kind": "drain", "nodes": ["n2"]}})
    assert selectors.resting(drain) == {}
