"""Everything that writes."""

from console.queue.services.asking import answer_inquiry, ask_unblock, begin_inquiry, fail_inquiry
from console.queue.services.keeping import followed, keep
from console.queue.services.turns import explain_due, newest_reading, next_reading

__all__ = [
    "answer_inquiry",
    "ask_unblock",
    "begin_inquiry",
    "explain_due",
    "fail_inquiry",
    "followed",
    "keep",
    "newest_reading",
    "next_reading",
]
