"""Who may read and decide policies."""

from typing import Any

from console.policies import services
from console.policies.choices import Place
from tests.builders.people import approver
from tests.console.role_matrix import APPROVERS, FLEET, Route

FLEET_WIDE = {"scope": "fleet", "reason": "because"}


def decided() -> dict[str, Any]:
    services.set_value(approver("decider"), "moves_per_wave", Place(), 5, reason="because", version=0)
    return {"name": "moves_per_wave"}


ROUTES = (
    Route("policies:list", FLEET),
    Route("policies:edit", APPROVERS),
    Route("policies:edit", APPROVERS, "post", 200, body={"name": "moves_per_wave", "scope": "fleet", "value": 5}),
    Route("api:policies", FLEET),
    Route("api:policy-history", FLEET),
    Route("api:policy-effective", FLEET),
    Route("api:policy-setting", FLEET, make=decided),
    # Without If-Match the right is asked for, and then the version: 428 is the answer of those who may decide.
    Route("api:policy-setting", APPROVERS, "put", 428, decided, {**FLEET_WIDE, "value": 4}),
    Route("api:policy-setting", APPROVERS, "delete", 428, decided, query="?scope=fleet&reason=because"),
)
TOPICS = {"policies": FLEET}
