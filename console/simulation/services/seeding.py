"""The demo's first study: small enough to be done within its first minute."""

from typing import Any

from console.simulation.models import Study
from console.simulation.services.studying import make_study

NAME = "Who waits under which order"


def ensure_study(user: Any) -> Study | None:
    """Asks for it once; None where there are studies already."""
    if Study.objects.exists():
        return None
    return make_study(
        user,
        name=NAME,
        reason="The demo's first study, on a small invented fleet.",
        source="asi",
        share=0.03,
        days=14,
        policies=[
            {"base": "ours"},
            {"base": "backfill"},
            {"base": "greedy"},
            {"base": "fifo"},
            {"name": "fair, packed", "base": "fair", "changes": {"packing": 10.0, "fragmentation": 0.0}},
        ],
        seeds=[1, 2, 3],
        fail_days=30,
    )
