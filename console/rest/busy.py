"""A database that is busy writing for others."""

import sqlite3

from django.db import OperationalError

RETRY_SECONDS = 2
WORDS = "Others are writing at this moment; nothing was changed. Try again in a moment."
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def is_busy(error: BaseException) -> bool:
    """Whether SQLite gave up waiting for the writers before us."""
    cause = error.__cause__
    if not isinstance(error, OperationalError) or not isinstance(cause, sqlite3.OperationalError):
        return False
    return (cause.sqlite_errorcode & 0xFF) in _BUSY  # the low byte is the kind, the rest says more
