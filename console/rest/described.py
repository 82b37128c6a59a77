"""What the document of the API does not name is refused: nobody would read a mistyped filter or limit.

The schema that clients read is the one list of what there is, so no view has to say it again.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import UnreadablePostError
from django.utils.deprecation import MiddlewareMixin
from drf_spectacular.generators import SchemaGenerator

PREFIX = "/api/v1/"
_PLACE = re.compile(r"<(?:\w+:)?(\w+)>")
NAMED = 30  # of the names that there are; more help nobody
MOST = 20  # of the unknown ones that one answer lists


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one address: the names in its query, and the JSON schema of its body, if it takes one."""

    query: frozenset[str]
    body: dict[str, Any] | None


class UnnamedMiddleware(MiddlewareMixin):
    """Names in a query or JSON body that the document does not know become a 400 that lists them."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        if not request.path.startswith(PREFIX) or not (request.GET or request.content_type == "application/json"):
            return None
        if not request.user.is_authenticated and "Authorization" not in request.headers:
            return None  # who says nothing of themselves is told that first
        operation = _operations().get((_method(request), _template(request)))
        wrong = list(_unnamed(request, operation))[:MOST] if operation else []
        return JsonResponse({"type": "validation_error", "errors": wrong}, status=400) if wrong else None


def _unnamed(request: HttpRequest, operation: Operation) -> Iterator[dict[str, str]]:
    for name in request.GET:
        if name not in operation.query:
            yield _said(name, "parameter", operation.query)
    if operation.body is not None and request.content_type == "application/json":
        yield from _unknown(_body(request), operation.body, "")


def _body(request: HttpRequest) -> Any:
    """None where it cannot be read: the view says what is wrong with it."""
    try:
        return json.loads(request.body)
    except (ValueError, RecursionError, RequestDataTooBig, UnreadablePostError):
        return None


def _unknown(value: Any, schema: dict[str, Any], path: str) -> Iterator[dict[str, str]]:
    """Every key, at any depth, of an object whose fields the schema lists."""
    parts = list(_parts(schema))
    if isinstance(value, list):
        for items in (part["items"] for part in parts if "items" in part):
            for row, one in enumerate(value):
                yield from _unknown(one, items, f"{path}{row}.")
    if not isinstance(value, dict) or any(part.get("additionalProperties") for part in parts):
        return
    fields: dict[str, Any] = {name: field for part in parts for name, field in part.get("properties", {}).items()}
    for name, one in value.items():
        if name in fields:
            yield from _unknown(one, fields[name], f"{path}{name}.")
        elif fields:
            yield _said(f"{path}{name}", "field", fields)


def _parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema with all that it refers to or is put together from."""
    if "$ref" in schema:
        yield from _parts(_document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
        return
    yield schema
    for word in ("allOf", "oneOf", "anyOf"):
        for part in schema.get(word, ()):
            yield from _parts(part)


def _said(name: str, what: str, names: Any) -> dict[str, str]:
    known = sorted(names)
    there = f"there are: {', '.join(known[:NAMED])}" if known else "there is none"
    return {"code": "unknown", "detail": f"is no {what} here; {there}", "attr": name[:200]}


def _method(request: HttpRequest) -> str:
    return "get" if request.method == "HEAD" else (request.method or "").lower()


def _template(request: HttpRequest) -> str:
    route = request.resolver_match.route if request.resolver_match else ""
    return "/" + _PLACE.sub(r"{\1}", route)


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return document


@cache
def _operations() -> dict[tuple[str, str], Operation]:
    return {
        (method, path): Operation(
            frozenset(one["name"] for one in said.get("parameters", ()) if one["in"] == "query"),
            said.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema"),
        )
        for path, methods in _document()["paths"].items()
        for method, said in methods.items()
    }
