"""Refusals look alike everywhere: the words survive, changes are listed, a busy database says when to return."""

import sqlite3
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import DataError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path, reverse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIClient
from rest_framework.views import APIView

from console import urls as console_urls
from console.rest.csv import cell
from console.rest.errors import Conflict
from tests.builders.people import operator, viewer

CHANGES = [{"object": "pod a/b", "field": "node", "was": "n1", "now": "n2"}]


def _fail(kind: str) -> None:
    if kind == "conflict":
        raise Conflict("Plan 7 is stale.", CHANGES)
    if kind == "denied":
        raise PermissionDenied("operator is an operator and may not approve a plan.")
    if kind == "nul":
        raise DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    raise OperationalError("database is locked") from error


def page(request: HttpRequest, kind: str) -> HttpResponse:
    _fail(kind)
    return HttpResponse()


class Api(APIView):
    def get(self, request: Request, kind: str) -> Response:
        _fail(kind)
        return Response()


handler403 = console_urls.handler403
urlpatterns = [*console_urls.urlpatterns, path("fail/<str:kind>/", page), path("api-fail/<str:kind>/", Api.as_view())]


@pytest.fixture
def client(settings: Any, db: None) -> Client:
    settings.ROOT_URLCONF = __name__
    client = Client(raise_request_exception=False)
    client.force_login(viewer())
    return client


def test_conflict_on_a_page(client: Client) -> None:
    answer = client.get("/fail/conflict/")
    assert answer.status_code == 409
    assert all(word in answer.content.decode() for word in ("Plan 7 is stale.", "pod a/b", "n1", "n2"))


def test_conflict_in_the_api(client: Client) -> None:
    answer = client.get("/api-fail/conflict/")
    assert answer.status_code == 409
    assert answer.json() == {
        "type": "client_error",
        "errors": [{"code": "conflict", "detail": "Plan 7 is stale.", "attr": None}],
        "changes": CHANGES,
    }


def test_the_words_of_a_denial_survive(client: Client) -> None:
    assert "may not approve a plan" in client.get("/fail/denied/").content.decode()
    answer = client.get("/api-fail/denied/")
    assert answer.status_code == 403
    assert answer.json()["errors"][0]["detail"] == "operator is an operator and may not approve a plan."


@pytest.mark.parametrize("address", ["/fail/busy/", "/api-fail/busy/"])
def test_a_busy_database_is_not_a_users_problem(client: Client, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "2"
    assert "locked" not in answer.content.decode()


@pytest.mark.parametrize(
    ("value", "text"), [("=1+1", "'=1+1"), ("-n1", "'-n1"), (-3, "-3"), (None, ""), ("a,b", "a,b"), (1.5, "1.5")]
)
def test_cells_run_nothing(value: object, text: str) -> None:
    assert cell(value) == text


@pytest.mark.parametrize("number", ["9" * 18, "9" * 40])
def test_a_number_that_is_no_rows_leads_nowhere(client: Client, number: str, settings: Any) -> None:
    settings.ROOT_URLCONF = "console.urls"
    assert client.get(f"/plans/{number}/").status_code == 404
    answer = client.get(f"/api/v1/plans/{number}/")
    assert answer.status_code == 404
    assert answer.json()["errors"][0]["code"] == "not_found"


def test_a_right_that_is_missing_is_named_by_the_api(db: None) -> None:
    api = APIClient()
    api.force_authenticate(viewer())
    answer = api.post(reverse("api:plan-approve", args=[1]), {"digest": "0" * 64, "reason": "yes"}, format="json")
    assert answer.status_code == 403
    assert (
        answer.json()["errors"][0]["detail"] == f"{viewer().username} is a viewer and may not approve or reject a plan."
    )


def test_a_nul_is_refused_wherever_it_was_sent(client: Client) -> None:
    """PostgreSQL takes none, neither to keep it nor to look for it."""
    api = APIClient()
    api.force_authenticate(viewer())
    pages = [
        reverse("inventory:idle-csv") + "?tenant=a%00",
        reverse("ui:palette") + "?q=%00",
        "/fail/a%00b/",
        "/fail/nul/",
    ]
    for address in pages:
        answer = client.get(address)
        assert (answer.status_code, "not understood" in answer.content.decode()) == (400, True), address
    for query, attr in (("?text=a%00", "text"), ("?te%00xt=a", "te\0xt")):
        answer = api.get(reverse("api:fleet-idle") + query)
        assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, attr)
    assert api.get("/api/v1/a%00b/").json()["errors"][0]["attr"] is None


def test_what_a_refusal_quotes_can_be_sent_back(client: Client) -> None:
    api = APIClient(raise_request_exception=False)
    api.force_authenticate(operator())
    body = '{"name": "a", "way": "\\ud800", "kubeconfig": "x"}'
    answer = api.post(reverse("api:cluster-test"), data=body, content_type="application/json")
    assert (answer.status_code, [one["attr"] for one in answer.json()["errors"]]) == (400, ["way"])
