"""What placement hangs into the frame of every page."""

from typing import Any

from console.live import topics
from console.ui.shell import Entry, register_entry

OWN = "inventory.view_own"


def register() -> None:
    register_entry(Entry("placement", "Placement", "placement:ask", "map-pin", order=18, permission=OWN))
    topics.register("placement", _may_listen)


def _may_listen(user: Any, topic: str) -> bool:
    """That some answer has come, and nothing of what is in it."""
    return topic == "placement" and bool(user.has_perm(OWN))
