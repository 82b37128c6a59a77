"""Refusals that any page can meet, drawn once."""

from django.core.exceptions import BadRequest
from django.db import DataError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from console.rest.busy import RETRY_SECONDS, is_busy
from console.rest.errors import Conflict

NO_ADDRESS = {
    "type": "client_error",
    "errors": [{"code": "not_found", "detail": "There is no such address.", "attr": None}],
}


NUL = "\0"


class RefusalMiddleware(MiddlewareMixin):
    """Conflicts become a 409 that lists what changed, a busy database a 503 that says when to come back.

    What was sent with a NUL becomes a 400: no text here has one, and not every database takes it in a question.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        wrong = [name for name, given in request.GET.lists() if NUL in "".join((name, *given))]
        if not wrong and NUL not in request.path:
            return None
        if not request.path.startswith("/api/"):
            raise BadRequest("the address holds a NUL")
        rows = [{"code": "invalid", "detail": "holds a NUL, as no text here does", "attr": name} for name in wrong]
        path = {"code": "invalid", "detail": "The address holds a NUL, as no text here does.", "attr": None}
        return JsonResponse({"type": "validation_error", "errors": rows or [path]}, status=400)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """An address of the API that leads nowhere is refused as the API refuses, not with a page."""
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if response.status_code == 404 and is_page and request.path.startswith("/api/"):
            return JsonResponse(NO_ADDRESS, status=404)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, Conflict):
            page = {"reason": exception.reason, "changes": exception.changes}
            return render(request, "409.html", page, status=409)
        if is_busy(exception):
            response = render(request, "503.html", {"retry_seconds": RETRY_SECONDS}, status=503)
            response["Retry-After"] = str(RETRY_SECONDS)
            return response
        if isinstance(exception, DataError) and "NUL" in str(exception):  # of a form, as PostgreSQL says it
            return render(request, "400.html", status=400)
        return None
