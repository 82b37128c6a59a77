"""A campaign of two groups on a simulated cluster, from its preview to its end, and what may come between."""

from typing import Any

import pytest

from console.audit.models import Entry
from console.campaigns import execution, services
from console.campaigns import planning as previews
from console.campaigns.models import Campaign, Group
from console.connectors import simulated
from console.connectors.models import SimulatedOperation
from console.consolidation import planning
from console.plans import services as plans
from console.plans.models import Plan
from tests.builders.people import operator
from tests.builders.worlds import World, world
from tests.console.plans.scene import Scene, approved, node_set, observe, ran, scene

pytestmark = pytest.mark.django_db
DRIVER, OLD, NEW = "nvidia.com/cuda.driver-version.full", "550.54.15", "570.86.15"


def two_switches() -> World:
    """Two old nodes under each of two switches, and a third switch with room for all of their pods."""
    made = world()
    for asw in ("s1", "s2"):
        made.asw(asw).nodes(f"{asw}-a", f"{asw}-b", labels={DRIVER: OLD})
    made.asw("s3").nodes("t1", "t2", labels={DRIVER: NEW})
    return made.pod("p1", "s1-a", 2).pod("p2", "s1-b", 1).pod("p3", "s2-a", 1).pod("p4", "s2-b", 1)


ASKED: dict[str, Any] = {
    "name": "driver 570", "reason": "CVE", "cluster": "default", "selects": "label", "grouping": "asw", "order": "name",
    "wanted": {"label": DRIVER, "value": OLD}, "done_label": DRIVER, "done_value": NEW, "most_out": 2,
    "most_out_per_cent": None, "work_minutes": 30,
}  # fmt: skip


def made(one: Scene, user: Any = None, **said: Any) -> Campaign:
    return services.make_campaign(user or operator(), {**ASKED, "source_id": one.source.pk, **said})


def looked(one: Scene, row: Campaign, times: int = 1) -> list[tuple[str, str]]:
    """So many looks, each at a new reading; the groups as they stand then."""
    for _ in range(times):
        observe(one.source)
        execution.look_at(row.pk)
    observe(one.source)
    return states(row)


def states(row: Campaign) -> list[tuple[str, str]]:
    return list(Group.objects.filter(campaign=row).values_list("name", "state"))


def cordoned(one: Scene) -> set[str]:
    connector = simulated.SimulatedConnector(one.source.config["cluster"])
    return {node.name for node in connector.observe().nodes if node.cordoned}


def plan_of(row: Campaign, position: int) -> Plan:
    plan = Group.objects.get(campaign=row, position=position).plan
    assert plan is not None
    return plan


def drained(one: Scene, row: Campaign, position: int) -> None:
    """Its plan is computed, approved by somebody else, and runs."""
    plan = plan_of(row, position)
    planning.compute(plan.pk)
    looked(one, row)
    plan.refresh_from_db()
    assert plan.state == "proposed", plan.reason
    plans.start_plan(operator(), approved(plan).pk)
    looked(one, row)
    assert ran(plan).state == "succeeded"


def test_two_groups_go_from_preview_to_their_end() -> None:
    one = scene(two_switches())
    row = made(one)
    previews.preview(row.pk)
    group = Group.objects.get(campaign=row, position=0)
    assert (group.nodes, group.gpus, group.pods) == (2, 16, 2)
    assert group.preview == {"ok": True, "moves": 2, "nodes": 2, "gone": 0, "why": []}
    services.begin_campaign(operator(), row.pk)
    assert looked(one, row) == [("s1", "planning"), ("s2", "waiting")]
    assert "campaign" in plan_of(row, 0).because and "cordoned while it runs" in plan_of(row, 0).because
    assert plan_of(row, 0).proposer == operator() and not cordoned(one)
    drained(one, row, 0)
    assert cordoned(one) == {"s1-a", "s1-b"}  # while it ran
    assert looked(one, row, 2) == [("s1", "work"), ("s2", "waiting")]
    row.refresh_from_db()
    assert (row.out_now, row.may_be_out) == (2, 2)
    services.mark_done(operator(), row.pk, 0, "flashed")
    assert looked(one, row, 4) == [("s1", "back"), ("s2", "planning")]
    assert not cordoned(one)
    drained(one, row, 1)
    assert looked(one, row, 2) == [("s1", "back"), ("s2", "work")]
    # The driver's new version shows in a reading: nobody has to say so.
    one.happen(*(node_set(name, labels={DRIVER: NEW}) for name in ("s2-a", "s2-b")))
    assert looked(one, row, 4) == [("s1", "back"), ("s2", "back")]
    row.refresh_from_db()
    assert (row.state, cordoned(one)) == ("done", set())
    assert SimulatedOperation.objects.filter(operation__type="cordon", state="succeeded").count() == 8
    said = Entry.objects.filter(target_kind="campaign", target_id=str(row.pk)).values_list("action", flat=True)
    assert {"campaign.made", "campaign.begun", "campaign.work_done", "campaign.node_cordoned", "campaign.done"} <= set(
        said
    )
