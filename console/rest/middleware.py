"""Refusals that any page can meet, drawn once."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from console.rest.busy import RETRY_SECONDS, is_busy
from console.rest.errors import Conflict

NO_ADDRESS = {
    "type": "client_error",
    "errors": [{"code": "not_found", "detail": "There is no such address.", "attr": None}],
}


class RefusalMiddleware(MiddlewareMixin):
    """Conflicts become a 409 that lists what changed, a busy database a 503 that says when to come back."""

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
        return None
