"""Two old switches and room for their pods; a campaign over them, looked at and helped along."""

from typing import Any

from console.campaigns import execution, services
from console.campaigns.models import Campaign, Group
from console.connectors import simulated
from console.consolidation import planning
from console.plans import services as plans
from console.plans.models import Plan
from tests.builders.people import operator
from tests.builders.worlds import World, world
from tests.console.plans.scene import Scene, approved, observe, ran

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
