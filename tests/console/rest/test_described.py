"""A name that the document of the API does not know is refused wherever it stands, and says what there is."""

from typing import Any

import pytest
from django.test import Client

from tests.builders.people import operator, viewer

PLAN = {"source": 1, "cluster": "c00"}


@pytest.fixture
def client(db: None) -> Client:
    client = Client()
    client.force_login(operator())
    return client


def _errors(client: Client, body: dict[str, Any]) -> list[tuple[str, str]]:
    answer = client.post("/api/v1/plans/consolidation/", body, content_type="application/json")
    assert answer.status_code == 400
    return [(one["code"], one["attr"]) for one in answer.json()["errors"]]


def test_an_unknown_filter_is_no_silence(client: Client) -> None:
    answer = client.get("/api/v1/pods/", {"cluster": "c00", "state": "pending"})
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert (error["code"], error["attr"]) == ("unknown", "state")
    assert error["detail"].startswith("is no parameter here; there are: asw, cluster, cursor")
    assert client.get("/api/v1/pods/", {"cluster": "c00"}).status_code == 200


def test_a_view_without_parameters_says_so(client: Client) -> None:
    answer = client.get("/api/v1/me/", {"who": "else"})
    assert answer.json()["errors"] == [
        {"code": "unknown", "detail": "is no parameter here; there is none", "attr": "who"}
    ]


@pytest.mark.parametrize(
    ("body", "attr"),
    [
        ({**PLAN, "max_move": 5}, "max_move"),
        ({**PLAN, "goal": {"kind": "shape", "shape": "8G128C"}}, "goal.shape"),
        ({**PLAN, "csrfmiddlewaretoken": "x"}, "csrfmiddlewaretoken"),
    ],
)
def test_a_limit_with_a_mistake_in_its_name_is_not_left_out(client: Client, body: dict[str, Any], attr: str) -> None:
    assert _errors(client, body) == [("unknown", attr)]


def test_what_the_document_names_goes_on_to_the_view(client: Client) -> None:
    assert all(code != "unknown" for code, _ in _errors(client, {**PLAN, "max_moves": 5, "goal": {"kind": "nodes"}}))
    assert all(code != "unknown" for code, _ in _errors(client, {"source": [{"a": 1}]}))


def test_what_is_no_json_is_the_views_to_refuse(client: Client) -> None:
    answer = client.post("/api/v1/plans/consolidation/", "{", content_type="application/json")
    assert answer.status_code == 400
    assert "unknown" not in answer.content.decode()


def test_who_says_nothing_of_themselves_is_told_that_first(db: None) -> None:
    assert Client().get("/api/v1/pods/", {"state": "pending"}).status_code == 401
    signed_in = Client()
    signed_in.force_login(viewer())
    assert signed_in.head("/api/v1/pods/", {"state": "pending"}).status_code == 400


def test_a_form_of_too_many_fields_is_refused(client: Client) -> None:
    answer = client.post(
        "/api/v1/freezes/", "&".join(f"f{row}=1" for row in range(1100)), "application/x-www-form-urlencoded"
    )
    assert answer.status_code == 400
    assert "too many" in answer.content.decode().lower() or "exceeded" in answer.content.decode()
