"""Who may ask for a plan."""

from typing import Any

from tests.console.plans.roles import of, proposed
from tests.console.plans.scene import CLUSTER, scene
from tests.console.role_matrix import OPERATORS, Route


def nowhere() -> dict[str, Any]:
    scene()
    return {}


ROUTES = (
    Route("consolidation:new", OPERATORS),
    Route("consolidation:new", OPERATORS, "post", 400, nowhere),
    Route("consolidation:again", OPERATORS, "post", 302, of(proposed)),
    Route("api:plan-request", OPERATORS, "post", 400, nowhere, {"source": 1, "cluster": f"no {CLUSTER}"}),
    Route("api:plan-again", OPERATORS, "post", 201, of(proposed)),
)
