"""Refusals that any page can meet, drawn once."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from console.rest.busy import RETRY_SECONDS, is_busy
from console.rest.errors import Conflict


class RefusalMiddleware(MiddlewareMixin):
    """Conflicts become a 409 that lists what changed, a busy database a 503 that says when to come back."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, Conflict):
            page = {"reason": exception.reason, "changes": exception.changes}
            return render(request, "409.html", page, status=409)
        if is_busy(exception):
            response = render(request, "503.html", {"retry_seconds": RETRY_SECONDS}, status=503)
            response["Retry-After"] = str(RETRY_SECONDS)
            return response
        return None
