"""Enqueue work by the NAME of its task, so that whoever asks need not import whoever works."""

from functools import partial
from typing import Any

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = structlog.get_logger(__name__)


def enqueue(task: str, **kwargs: Any) -> None:
    """Sends the task once the present transaction has committed; with none open, at once.

    A broker that is away is logged and not raised: the row that asks for the work is committed, and the sweep of its
    app sends the task again.
    """
    transaction.on_commit(partial(_send, task, kwargs), robust=True)


def _send(task: str, kwargs: dict[str, Any]) -> None:
    try:
        current_app.send_task(task, kwargs=kwargs)
    except (OperationalError, ConnectionError, TimeoutError) as error:
        log.error("task.not_sent", task=task, arguments=kwargs, error=str(error))
