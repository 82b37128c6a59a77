"""Everything that writes."""

from console.queue.services.asking import answer_inquiry, ask_unblock, begin_inquiry, fail_inquiry
from console.queue.services.foretelling import (
    answer_foretelling,
    ask_start,
    begin_foretelling,
    fail_foretelling,
    place_of,
)
from console.queue.services.keeping import followed, keep
from console.queue.services.running import past_of
from console.queue.services.turns import explain_due, newest_reading, next_reading

__all__ = [
    "answer_foretelling",
    "answer_inquiry",
    "ask_start",
    "ask_unblock",
    "begin_foretelling",
    "begin_inquiry",
    "explain_due",
    "fail_foretelling",
    "fail_inquiry",
    "followed",
    "keep",
    "newest_reading",
    "next_reading",
    "past_of",
    "place_of",
]
