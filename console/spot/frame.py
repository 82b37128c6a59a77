"""What spot capacity hangs into the frame of every page, and who hears which of its topics."""

from typing import Any

from console.live import topics
from console.spot.selectors.viewing import OWN, POOL, may_hear_lease


def register() -> None:
    topics.register("leases", _may_listen)
    topics.register("lease", may_hear_lease)
    topics.register("spot", _may_listen)


def _may_listen(user: Any, topic: str) -> bool:
    """That some lease or forecast has changed, and nothing of whose it is."""
    return topic in ("leases", "spot") and (user.has_perm(OWN) or user.has_perm(POOL))
