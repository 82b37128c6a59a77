"""Refusals that any page can meet, drawn once."""

import sqlite3

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from console.rest.errors import Conflict

RETRY_SECONDS = 2
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def is_busy(error: BaseException) -> bool:
    """Whether SQLite gave up waiting for the writers before us."""
    cause = error.__cause__
    return isinstance(cause, sqlite3.OperationalError) and (cause.sqlite_errorcode & 0xFF) in _BUSY


class RefusalMiddleware(MiddlewareMixin):
    """Conflicts become a 409 that lists what changed, a busy database a 503 that says when to come back."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, Conflict):
            page = {"reason": exception.reason, "changes": exception.changes}
            return render(request, "409.html", page, status=409)
        if isinstance(exception, OperationalError) and is_busy(exception):
            response = render(request, "503.html", {"retry_seconds": RETRY_SECONDS}, status=503)
            response["Retry-After"] = str(RETRY_SECONDS)
            return response
        return None
