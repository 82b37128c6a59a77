"""What every table of the API does alike: filters and order are read, a bad one is refused, pages are linked."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.views import APIView

from console.inventory.filters import read_table
from console.inventory.selectors.paging import BadCursorError, Page
from console.rest.permissions import NeedsPermission
from console.ui.orders import no_order_words

OWN = "inventory.view_own"


def text(name: str, words: str = "", choices: tuple[str, ...] | None = None) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.STR, description=words, enum=choices)


def sort(words: tuple[str, ...]) -> OpenApiParameter:
    return text("sort", "a leading - turns it round", (*words, *(f"-{word}" for word in words)))


PAGING = [
    text("cursor", "as given in next and previous"),
    OpenApiParameter("limit", OpenApiTypes.INT, description="rows of a page, 1 to 200"),
]


class OwnView(APIView):
    """For everybody who sees at least what is their own; the selectors narrow it."""

    permission = OWN
    permission_classes = (NeedsPermission,)


def page_of(
    request: Request, filters: Any, read: Callable[..., Page[Any]], orders: tuple[str, ...], usual: str
) -> Page[Any]:
    """The page that is asked for; raises ``ValidationError`` for an order or a cursor that there is not."""
    view = read_table(request.query_params, filters, orders, usual)
    if view.no_order:
        raise ValidationError({"sort": [no_order_words(view.no_order, orders)]})
    try:
        return read(request.user, view.filters, sort=view.sort, cursor=view.cursor, size=view.size)
    except BadCursorError as error:
        raise ValidationError({"cursor": [str(error)]}) from error


def envelope(request: Request, page: Page[Any]) -> dict[str, Any]:
    return {
        "next": _link(request, page.next),
        "previous": _link(request, page.previous),
        "total": page.total,
        "start": page.start,
        "results": page.rows,
    }


def _link(request: Request, cursor: str | None) -> str | None:
    if cursor is None:
        return None
    query = request.query_params.copy()
    query["cursor"] = cursor
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
