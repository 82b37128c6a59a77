"""What standby hangs into the frame of every page: its topic, which carries no names."""

from typing import Any

from console.live import topics
from console.standby.choices import VIEW_OWN, VIEW_POOL


def register() -> None:
    topics.register("standby", _may_listen)


def _may_listen(user: Any, topic: str) -> bool:
    return bool(user.has_perm(VIEW_OWN) or user.has_perm(VIEW_POOL))
