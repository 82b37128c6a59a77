"""The first page."""

from typing import Any

from console.overview.charts import HEALTH_LEGEND, HEAT_TOP, ramp
from console.overview.filters import read_view


def context_of(request: Any, board: Any) -> dict[str, Any]:
    return {
        "section": "fleet",
        "view": read_view(request.GET),
        "board": board,
        "heat_top": HEAT_TOP,
        "health_legend": HEALTH_LEGEND,
        "ramp": ramp(),
        "plan_url": "",
        "map": {"map": "/fleet/map/nodes/0", "layout": "/fleet/map/layout/DIGEST", "names": "/fleet/map/names/DIGEST", "node": "/node/CLUSTER/NODE", "card": "/card/CLUSTER/NODE"},
    }
