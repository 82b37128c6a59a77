"""How refusals look to API clients: one envelope, the reason in words, and for conflicts the list of what changed."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from drf_standardized_errors.formatter import ExceptionFormatter
from drf_standardized_errors.handler import ExceptionHandler
from rest_framework import exceptions, status

from console.rest.busy import RETRY_SECONDS, WORDS, is_busy


class Conflict(Exception):
    """The state is not what the request takes for granted.  ``changes``: JSON-ready rows, one per difference."""

    def __init__(self, reason: str, changes: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.changes = tuple(changes)


class FieldError(ValueError):
    """One field of what somebody asked is wrong.  Raised by services; the API answers 400, forms ``refuse`` it.

    ``field`` is named as the caller sent it; ``reason`` is a clause, in small letters and without a full stop.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field, self.reason = field, reason

    @property
    def sentence(self) -> str:
        """The reason alone, for a message above a page."""
        return f"{self.reason[:1].upper()}{self.reason[1:]}."

    @property
    def detail(self) -> dict[str, Any]:
        """As the body that was sent is built: field -> reasons."""
        return {self.field: [self.reason]}


class ConflictResponse(exceptions.APIException):
    status_code = status.HTTP_409_CONFLICT
    default_code = "conflict"
    default_detail = "The state has changed."


class BusyResponse(exceptions.APIException):
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_code = "busy"
    default_detail = WORDS
    wait = RETRY_SECONDS


class Handler(ExceptionHandler):
    """Keeps the words of a refusal, which Django's own exceptions would lose on the way."""

    def convert_known_exceptions(self, exc: Exception) -> Exception:
        if isinstance(exc, Conflict):
            return ConflictResponse(exc.reason)
        if isinstance(exc, FieldError):
            return exceptions.ValidationError(exc.detail)
        if is_busy(exc):
            return BusyResponse()
        if isinstance(exc, SuspiciousOperation):  # such as a form of more fields than anything here has
            return exceptions.ParseError(str(exc) or None)
        if isinstance(exc, PermissionDenied) and str(exc):
            return exceptions.PermissionDenied(str(exc))
        return super().convert_known_exceptions(exc)


class Formatter(ExceptionFormatter):
    def run(self) -> Any:
        body = super().run()
        for one in body["errors"]:  # they may quote what was sent, and half a pair of surrogates cannot be sent back
            one.update({key: text.encode("utf-8", "replace").decode() for key, text in one.items() if text is not None})
        if isinstance(self.original_exc, Conflict):
            body["changes"] = list(self.original_exc.changes)
        return body
