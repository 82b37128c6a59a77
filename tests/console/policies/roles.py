"""Who may read and decide policies."""

from typing import Any

from console.policies import services, windowing
from console.policies.choices import Place
from tests.builders.people import approver
from tests.console.role_matrix import APPROVERS, FLEET, Route

FLEET_WIDE = {"scope": "fleet", "reason": "because"}


def decided() -> dict[str, Any]:
    services.set_value(approver("decider"), "moves_per_wave", Place(), 5, reason="because", version=0)
    return {"name": "moves_per_wave"}


def nightly() -> dict[str, Any]:
    row = windowing.add_window(approver("decider"), Place(), **WINDOW)
    return {"window_id": row.pk}


WINDOW: dict[str, Any] = {"kind": "maintenance", "cron": "0 1 * * *", "minutes": 60, "zone": "UTC", "reason": "nightly"}
ROUTES = (
    Route("policies:list", FLEET),
    Route("policies:edit", APPROVERS),
    Route("policies:edit", APPROVERS, "post", 200, body={"name": "moves_per_wave", "scope": "fleet", "value": 5}),
    Route("policies:windows", FLEET),
    Route("policies:windows", APPROVERS, "post", 302, body={"scope": "fleet", **WINDOW}),
    Route("policies:end-window", APPROVERS, "post", 302, nightly),
    Route("api:windows", FLEET),
    Route("api:windows", APPROVERS, "post", 201, body={"scope": "fleet", **WINDOW}),
    Route("api:window-end", APPROVERS, "post", 200, nightly),
    Route("api:policies", FLEET),
    Route("api:policy-history", FLEET),
    Route("api:policy-effective", FLEET),
    Route("api:policy-setting", FLEET, make=decided),
    # Without If-Match the right is asked for, and then the version: 428 is the answer of those who may decide.
    Route("api:policy-setting", APPROVERS, "put", 428, decided, {**FLEET_WIDE, "value": 4}),
    Route("api:policy-setting", APPROVERS, "delete", 428, decided, query="?scope=fleet&reason=because"),
)
TOPICS = {"policies": FLEET}
