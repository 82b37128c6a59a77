"""What the process answers to those who watch it: is it fit, and its numbers."""

import redis
from celery import current_app
from django.conf import settings
from django.db import DatabaseError, connection
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

TIMEOUT_SECONDS = 2


def checks() -> dict[str, str]:
    """Part -> "ok" or what is wrong with it, in words fit for a log and not for a stranger's eyes."""
    return {"database": _database(), "redis": _redis()}


def metrics() -> bytes:
    """Prometheus text: this process, the parts it needs, and how much work waits in each queue."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    up = Gauge("slackline_part_up", "1 if the part answers", ["part"], registry=registry)
    for part, state in checks().items():
        up.labels(part).set(state == "ok")
    waiting = Gauge("slackline_queue_length", "Tasks that wait in a queue", ["queue"], registry=registry)
    for queue, length in _queue_lengths().items():
        waiting.labels(queue).set(length)
    return generate_latest(registry)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return str(error)
    return "ok"


def _client() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS
    )


def _redis() -> str:
    try:
        with _client() as client:
            client.ping()
    except redis.RedisError as error:
        return str(error)
    return "ok"


def _queue_lengths() -> dict[str, int]:
    """Queues of the present set-up; none while Redis is away, which ``slackline_part_up`` says."""
    queues = sorted({route["queue"] for route in current_app.conf.task_routes.values()})
    try:
        with _client() as client:
            return {queue: int(client.llen(queue)) for queue in queues}
    except redis.RedisError:
        return {}
