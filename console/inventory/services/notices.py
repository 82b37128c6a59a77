"""What is said of a reading as it happens, to those who see the fleet and to those who see their own part."""

from typing import Any

from console.live.services import publish

FLEET, READINGS = "fleet", "readings"


def tell_of_reading(kind: str, revision: int, **fields: Any) -> None:
    """``fields`` are of all tenants and go to the topic ``fleet`` alone; ``readings`` only says that there is news."""
    publish(FLEET, kind, revision=revision, **fields)
    publish(READINGS, kind, revision=revision)
