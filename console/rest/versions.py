"""Editing on top of what was read: If-Match with a whole number, 428 without it, 412 where it is old."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import exceptions, status
from rest_framework.request import Request

IF_MATCH = OpenApiParameter(
    "If-Match", OpenApiTypes.STR, OpenApiParameter.HEADER, description="the version that was read; 0: nothing was"
)
REFUSALS: dict[int, Any] = {
    412: OpenApiResponse(OpenApiTypes.OBJECT, description="somebody decided meanwhile"),
    428: OpenApiResponse(OpenApiTypes.OBJECT, description="no version was sent"),
}
LONGEST = 18


class PreconditionFailed(exceptions.APIException):
    status_code = status.HTTP_412_PRECONDITION_FAILED
    default_code = "version_changed"


class PreconditionRequired(exceptions.APIException):
    status_code = status.HTTP_428_PRECONDITION_REQUIRED
    default_code = "version_required"


def version_sent(request: Request) -> int | None:
    """The version in If-Match, None without one."""
    said = request.headers.get("If-Match", "").strip().removeprefix("W/").strip('"')
    if not said:
        return None
    if not (said.isascii() and said.isdigit()) or len(said) > LONGEST:
        raise exceptions.ValidationError({"If-Match": "the version is a whole number, as in the ETag"})
    return int(said)


def etag(version: int) -> dict[str, str]:
    return {"ETag": f'"{version}"'}
