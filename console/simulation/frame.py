"""What simulation hangs into the frame of every page."""

from typing import Any

from console.live import topics
from console.simulation.selectors.rights import VIEW
from console.ui.shell import Entry, register_entry


def register() -> None:
    register_entry(Entry("simulation", "Simulation", "simulation:list", "flask", order=26, permission=VIEW))
    for prefix in ("studies", "study"):
        topics.register(prefix, _may_listen)


def _may_listen(user: Any, topic: str) -> bool:
    """That something moved, and nothing of what came of it."""
    return bool(user.has_perm(VIEW))
