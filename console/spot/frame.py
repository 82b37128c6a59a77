"""What spot capacity hangs into the frame of every page, and who hears which of its topics."""

from typing import Any

from console.live import topics
from console.prices import record
from console.prices.selectors import quote_of
from console.spot.selectors.asked import asked_between
from console.spot.selectors.viewing import OWN, POOL, may_hear_lease
from console.standby import floors
from console.ui.shell import Entry, register_entry


def register() -> None:
    register_entry(
        Entry("capacity", "My capacity", "spot:capacity", "moon-stars", order=11, permission=OWN, short="Capacity")
    )
    register_entry(Entry("spot", "Spot", "spot:overview", "bolt", order=16, permission=POOL))
    floors.register(_floor_cents)
    record.register("leases", asked_between)
    topics.register("leases", _may_listen)
    topics.register("lease", may_hear_lease)
    topics.register("spot", _may_listen)


def _may_listen(user: Any, topic: str) -> bool:
    """That some lease or forecast has changed, and nothing of whose it is."""
    return topic in ("leases", "spot") and (user.has_perm(OWN) or user.has_perm(POOL))


def _floor_cents(gpu_model: str) -> int | None:
    """By which rebates of standby are worth something; the standby room may not ask the room of prices itself."""
    return quote_of(gpu_model).floor_cents
