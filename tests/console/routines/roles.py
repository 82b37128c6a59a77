from typing import Any

from console.routines import services
from console.routines.models import Routine
from tests.builders.people import operator
from tests.console.plans.scene import requested, scene
from tests.console.role_matrix import APPROVERS, FLEET, OPERATORS, Arguments, Route

WRONG = {"name": "n", "kind": "schedule", "plan": 1, "cron": "x", "zone": "UTC", "reason": "r"}


def _routine() -> Routine:
    """Of an operator of another name, so that of the matrix only an approver may change it."""
    plan = requested(scene().source)
    return services.make_routine(
        operator("asker"), name="nightly", kind="schedule", plan_id=plan.pk, reason="r", cron="0 2 * * *"
    )


def _one() -> Arguments:
    return {"routine_id": _routine().pk}


def _paused() -> Arguments:
    row = _routine()
    services.pause_routine(operator("asker"), row.pk, "holidays")
    return {"routine_id": row.pk}


def _acting(action: str) -> Any:
    return lambda: {**(_paused() if action == "resume" else _one()), "action": action}


REASON = {"reason": "r"}
ROUTES = (
    Route("routines:list", FLEET),
    Route("routines:new", OPERATORS),
    Route("routines:new", OPERATORS, method="post", body=WRONG, ok=400),
    Route("routines:detail", FLEET, make=_one),
    Route("routines:act", APPROVERS, method="post", make=_acting("pause"), body=REASON, ok=302),
    Route("routines:act", APPROVERS, method="post", make=_acting("resume"), ok=302),
    Route("routines:act", APPROVERS, method="post", make=_acting("end"), body=REASON, ok=302),
    Route("routines:act", APPROVERS, method="post", make=_acting("skip"), body={"days": "2026-12-24"}, ok=302),
    Route("api:routines", FLEET),
    Route("api:routines", OPERATORS, method="post", body={"name": "n"}, ok=400),
    Route("api:routine", FLEET, make=_one),
    Route("api:routine-openings", FLEET, make=_one),
    Route("api:routine-pause", APPROVERS, method="post", make=_one, body=REASON),
    Route("api:routine-resume", APPROVERS, method="post", make=_paused),
    Route("api:routine-end", APPROVERS, method="post", make=_one, body=REASON),
    Route("api:routine-skip-days", APPROVERS, method="put", make=_one, body={"days": ["2026-12-24"]}),
)
