"""What the queue hangs into the frame of every page."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest

from console.live import topics
from console.queue.addresses import job_address
from console.queue.selectors import QueueFilters, queue_rows
from console.ui.shell import Entry, Hit, register_entry, register_hits

OWN = "inventory.view_own"
LEAST = 2  # letters before names are searched


def register() -> None:
    register_entry(Entry("queue", "Queue", "queue:list", "stack-2", order=13, permission=OWN))
    register_hits("queue", _hits)
    topics.register("queue", _may_listen)


def _may_listen(user: Any, topic: str) -> bool:
    """That there is a newer explanation, and nothing of what is in it."""
    return topic == "queue" and bool(user.has_perm(OWN))


def _hits(request: HttpRequest, words: str, limit: int) -> Iterator[Hit]:
    """Waiting jobs whose name holds the words, of those that the person may see."""
    if len(words) < LEAST or not request.user.has_perm(OWN):
        return
    for row in queue_rows(request.user, QueueFilters(text=words), size=limit).rows:
        where = job_address(row.cluster, row.key, row.source)
        yield Hit("waiting job", row.key, where, "stack-2", f"{row.cluster}, {row.reason_label}")
