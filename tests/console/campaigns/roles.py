from typing import Any

from console.campaigns.models import Campaign, Group
from console.inventory.models import Source
from tests.builders.people import operator
from tests.console.plans.scene import requested
from tests.console.role_matrix import APPROVERS, FLEET, OPERATORS, Arguments, Route


def _one(state: str = "active") -> Arguments:
    """Of an operator of another name, so that of the matrix only an approver may change it; rows alone, no cluster."""
    source, _ = Source.objects.get_or_create(name="sim", defaults={"kind": "simulated"})
    row = Campaign.objects.create(
        name="n", owner=operator("asker"), reason="r", source=source, cluster="c", selects="unfit", chosen="c",
        grouping="asw", order="name", at_once=1, most_out=1, work_minutes=1, stop_after=1, most_asks=1,
        when_refused="skip", state=state,
    )  # fmt: skip
    Group.objects.create(campaign=row, position=0, name="g", nodes=1, gpus=8, pods=0, used_gpu_milli=0)
    return {"campaign_id": row.pk}


def _draft() -> Arguments:
    return _one("draft")


def _paused() -> Arguments:
    return _one("paused")


def _group(state: str) -> Any:
    """Its first group is at this state; to be taken out, with a plan that has nothing to do."""

    def make() -> Arguments:
        found = _one()
        rows = Group.objects.filter(campaign=found["campaign_id"], position=0)
        rows.update(state=state)
        if state == "proposed":
            plan = requested(rows.get().campaign.source, user=operator("asker"))
            type(plan).objects.filter(pk=plan.pk).update(state="nothing_to_do")
            rows.update(plan=plan)
        return {**found, "number": 1}

    return make


def _acting(make: Any, action: str) -> Any:
    return lambda: {**make(), "action": action}


REASON = {"reason": "r"}
ROUTES = (
    Route("campaigns:list", FLEET),
    Route("campaigns:new", OPERATORS),
    Route("campaigns:new", OPERATORS, method="post", body={"selects": "label"}, ok=400),
    Route("campaigns:count", OPERATORS, method="post", body={"selects": "label"}),
    Route("campaigns:detail", FLEET, make=_one),
    Route("campaigns:act", APPROVERS, method="post", make=_acting(_draft, "begin"), ok=302),
    Route("campaigns:act", APPROVERS, method="post", make=_acting(_one, "end"), body=REASON, ok=302),
    Route("campaigns:act", OPERATORS, method="post", make=_acting(_one, "look"), ok=302),
    Route("campaigns:group", OPERATORS, method="post", make=_acting(_group("work"), "done"), ok=302),
    Route(
        "campaigns:group", APPROVERS, method="post", make=_acting(_group("proposed"), "take-out"), body=REASON, ok=302
    ),
    Route("api:campaigns", FLEET),
    Route("api:campaigns", OPERATORS, method="post", body={"name": "n"}, ok=400),
    Route("api:campaign-draft", OPERATORS, method="post", body={"name": "n"}, ok=400),
    Route("api:campaign", FLEET, make=_one),
    Route("api:campaign-groups", FLEET, make=_one),
    Route("api:campaign-nodes", FLEET, make=_one),
    Route("api:campaign-begin", APPROVERS, method="post", make=_draft),
    Route("api:campaign-pause", APPROVERS, method="post", make=_one, body=REASON),
    Route("api:campaign-resume", APPROVERS, method="post", make=_paused),
    Route("api:campaign-end", APPROVERS, method="post", make=_one, body=REASON),
    Route("api:campaign-look", OPERATORS, method="post", make=_one),
    Route("api:campaign-work-done", OPERATORS, method="post", make=_group("work")),
    Route("api:campaign-take-out", APPROVERS, method="post", make=_group("proposed"), body=REASON),
    Route("api:campaign-skip", APPROVERS, method="post", make=_group("waiting"), body=REASON),
    Route("api:campaign-again", APPROVERS, method="post", make=_group("failed")),
)
