"""A worker's sign of life while it is deep in something long: compiling, reading, waiting for a reading."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.db import DatabaseError, connection
from django.utils import timezone

from console.plans.models import Plan

log = structlog.get_logger(__name__)
EVERY_S = 10.0


@contextmanager
def kept_alive(plan_id: int, worker: str) -> Iterator[None]:
    """Renews the lease from a thread of its own; it ends with the block, or with the process."""
    over = threading.Event()
    thread = threading.Thread(target=_renew, args=(plan_id, worker, over), daemon=True, name=f"lease of plan {plan_id}")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=EVERY_S)


def _renew(plan_id: int, worker: str, over: threading.Event) -> None:
    try:
        while not over.wait(EVERY_S):
            try:
                if Plan.objects.filter(pk=plan_id, worker=worker).update(heartbeat_at=timezone.now()) != 1:
                    return  # somebody else has the lease: whoever works here will find out at its next step
            except DatabaseError as error:
                log.warning("plan.lease_not_renewed", plan=plan_id, error=str(error))
    finally:
        connection.close()
