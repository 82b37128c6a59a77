"""The waves as they are run follow the policy, and say which of its limits binds."""

from typing import Any

import pytest
from django.urls import reverse

from console.audit.models import Entry
from console.plans import selectors, services
from console.plans.models import Plan
from console.plans.selectors.rules import SETTING_OF
from console.policies.choices import Place, Scope
from console.policies.services import set_value
from scheduler.plan.pace import WORDS
from tests.builders.people import approver, operator
from tests.builders.worlds import World, world
from tests.console.plans.scene import Scene, approved, move, ran, scene, started

pytestmark = pytest.mark.django_db
HERE = Place(Scope.CLUSTER, "default")


def six() -> World:
    """Four nodes under two switches, each with one pod that can go to t; two of tenant t1 and two of t2."""
    made = world().asw("x").nodes("n0", "n1").asw("y").nodes("n2", "n3").asw(None).node("t", 8)
    made.pod("z", "t", 1, locked=True)
    for k in range(4):
        made.pod(f"p{k}", f"n{k}", 1, tenant="t1" if k < 2 else "t2")
    return made


def all_of(one: Scene) -> Plan:
    return one.plan(*(move(f"p{k}", f"n{k}", "t", k) for k in range(4)))


def decide(name: str, value: int, place: Place = HERE, version: int = 0) -> None:
    set_value(approver(), name, place, value, reason="carefully", version=version)


def waves(plan: Plan) -> list[int]:
    return list(plan.steps.order_by("index").values_list("run_wave", flat=True))


def test_each_limit_has_its_setting() -> None:
    assert set(SETTING_OF) == set(WORDS)


def test_built_in_the_first_wave_is_one_per_cent_and_nothing_else_binds() -> None:
    plan = all_of(scene(six()))
    assert waves(plan) == [0, 1, 1, 1]
    pace = selectors.pace_of(plan, selectors.waves(operator(), plan.pk))
    assert pace is not None
    assert [(row.number, row.moves, row.binds) for row in pace.rows] == [(1, 1, ["first wave"]), (2, 3, [])]
    assert [(row.label, row.words, row.origin) for row in pace.limits] == [
        ("First wave", "1 % of the moves", "built in")
    ]


@pytest.mark.parametrize(
    ("name", "place", "value", "expected", "bind"),
    [
        ("moves_per_wave", HERE, 2, [0, 1, 1, 2], "wave"),
        ("moves_per_node", HERE, 1, [0, 1, 2, 3], "per node: t"),
        ("moves_per_asw", HERE, 1, [0, 1, 1, 2], "per switch (asw): y"),
        ("moves_per_tenant", HERE, 1, [0, 1, 1, 2], "per tenant: t2"),
        ("moves_per_tenant", Place(Scope.TENANT, tenant="t2"), 1, [0, 1, 1, 2], "per tenant: t2"),
        ("moves_per_tenant", Place(Scope.TENANT, tenant="t1"), 1, [0, 1, 1, 1], None),
        ("moves_per_owner", HERE, 1, [0, 1, 1, 1], None),
    ],
)
def test_the_waves_keep_to_the_policy(
    name: str, place: Place, value: int, expected: list[int], bind: str | None
) -> None:
    one = scene(six())
    decide(name, value, place)
    plan = all_of(one)
    assert waves(plan) == expected
    pace = selectors.pace_of(plan, selectors.waves(operator(), plan.pk))
    assert pace is not None
    assert pace.rows[1].binds == ([bind] if bind else [])
    assert ran(started(plan)).state == "succeeded"


def test_a_policy_that_changes_before_the_start_counts_for_the_run() -> None:
    plan = all_of(scene(six()))
    approved(plan)
    decide("moves_per_node", 1)
    services.start_plan(operator(), plan.pk)
    assert waves(plan) == [0, 1, 2, 3]
    again = Plan.objects.get(pk=plan.pk)
    assert (again.digest, again.pace["limits"]["node"]) == (plan.digest, {"value": 1, "origin": "cluster default"})
    assert Entry.objects.get(action="plan.paced_again").detail["waves"] == 4


def test_a_start_under_the_same_policy_leaves_the_waves_alone() -> None:
    started(all_of(scene(six())))
    assert not Entry.objects.filter(action="plan.paced_again").exists()


def test_page_and_api_say_what_binds_and_where_it_comes_from(client: Any) -> None:
    one = scene(six())
    decide("moves_per_node", 1)
    plan = all_of(one)
    client.force_login(operator())
    part = client.get(reverse("plans:detail", args=[plan.pk]) + "?part=pace").content.decode()
    assert "per node: t" in part
    assert "1 move, <bdi" in part
    assert "cluster default" in part
    said = client.get(reverse("api:plan", args=[plan.pk])).json()["pace"]
    assert said["limits"]["node"] == {"value": 1, "origin": "cluster default"}
    assert said["binds"][1] == [{"limit": "node", "object": "t"}]
