"""Announce that something has changed.  Events are hints, rows are truth: a lost one costs a refresh."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import redis
import structlog
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import transaction
from django.utils import timezone

log = structlog.get_logger(__name__)
_TRIES = 2
_connection: redis.Redis | None = None


def publish(topic: str, kind: str, *, revision: int = 0, **fields: Any) -> None:
    """Sends {topic, kind, seq, revision, at, ...fields} to all listeners once the present transaction has committed.

    ``seq`` counts the events of one topic without gaps as long as the server lives and jumps forward when it starts
    anew, so that a listener who finds a gap knows that it must fetch.  A server that is away is logged and not raised.
    """
    transaction.on_commit(partial(_send, topic, kind, revision, fields), robust=True)


def group_of(topic: str) -> str:
    """Name of the topic's channel group (letters, digits, dots and dashes only)."""
    return topic.replace(":", ".")


def last_seq(topic: str) -> int:
    """Number of the topic's newest event."""
    return last_seqs([topic])[topic]


def last_seqs(names: Sequence[str]) -> dict[str, int]:
    """The same for several topics in one exchange.  Raises ``redis.RedisError`` when the server is away."""
    pipe = _server().pipeline(transaction=False)
    for topic in names:
        pipe.set(_counter(topic), _first_seq(), nx=True)
        pipe.get(_counter(topic))
    answers = pipe.execute()
    return {topic: int(answers[2 * row + 1]) for row, topic in enumerate(names)}


def news_since(topic: str, since_s: float) -> bool:
    """Whether anything was said of the topic at or after that second of the clock."""
    said = _server().get(_last(topic))
    return said is not None and float(said) >= since_s


def _send(topic: str, kind: str, revision: int, fields: dict[str, Any]) -> None:
    event = {"topic": topic, "kind": kind, "revision": revision, "at": timezone.now().isoformat(), **fields}
    try:
        event["seq"] = _next_seq(topic)
        _deliver(topic, event)
    except (redis.RedisError, OSError) as error:
        log.warning("live.not_sent", topic=topic, kind=kind, error=str(error))


def _deliver(topic: str, event: dict[str, Any]) -> None:
    layer = get_channel_layer()
    for attempt in range(_TRIES):
        try:
            async_to_sync(layer.group_send)(group_of(topic), {"type": "live.event", "event": event})
            return
        except (redis.RedisError, OSError):
            # After a restart of the server the first send still meets the old connection.
            if attempt + 1 == _TRIES:
                raise


def _next_seq(topic: str) -> int:
    pipe = _server().pipeline(transaction=True)
    pipe.set(_counter(topic), _first_seq(), nx=True)
    pipe.incr(_counter(topic))
    pipe.set(_last(topic), time.time())
    return int(pipe.execute()[1])


def _first_seq() -> int:
    """Milliseconds of the clock: more than any number that a counter before the restart can have reached."""
    return time.time_ns() // 1_000_000


def _counter(topic: str) -> str:
    return f"{settings.LIVE_PREFIX}:seq:{topic}"


def _last(topic: str) -> str:
    return f"{settings.LIVE_PREFIX}:at:{topic}"


def _server() -> redis.Redis:
    global _connection
    if _connection is None:
        _connection = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2)
    return _connection


def forget_connection() -> None:
    """Closes this process's connection; the next use opens another.  A forked child needs one of its own."""
    global _connection
    if _connection is not None:
        _connection.close()
    _connection = None
