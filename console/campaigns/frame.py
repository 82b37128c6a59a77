"""What campaigns hang into the floors below."""

from console.campaigns.draining import drained_by_others
from console.plans import apart


def register() -> None:
    apart.register("campaigns", drained_by_others)
