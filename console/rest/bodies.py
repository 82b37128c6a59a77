"""What a request says in its body, read by a shape; what does not fit is refused with 400 by field."""

from typing import Any

from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer


def said(shape: type[BaseSerializer[Any]], request: Request) -> dict[str, Any]:
    """The fields of the body.  Raises DRF's ``ValidationError``, as the others do."""
    return dict(checked(shape, request.data).validated_data)


def checked[Shape: BaseSerializer[Any]](shape: type[Shape], given: Any) -> Shape:
    """The shape itself, for one that makes more of its fields than a mapping; ``given`` may be a query, too."""
    found = shape(data=given)
    found.is_valid(raise_exception=True)
    return found
