"""Everything that writes."""

from console.queue.services.keeping import followed, keep
from console.queue.services.turns import explain_due, next_reading

__all__ = ["explain_due", "followed", "keep", "next_reading"]
