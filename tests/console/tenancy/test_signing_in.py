"""Passwords, lock-out, sessions and tokens."""

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.tenancy import services
from console.tenancy.choices import PERMISSIONS, Role
from console.tenancy.selectors import tokens_of
from tests.builders.people import operator, tenant, viewer

pytestmark = pytest.mark.django_db
PASSWORD = "a password of 1 person"
ME = "/api/v1/me/"


def _sign_in(client: Client, password: str, name: str = "viewer") -> int:
    return client.post(reverse("tenancy:login"), {"username": name, "password": password}).status_code


def test_a_page_sends_a_visitor_to_sign_in_and_back() -> None:
    viewer()
    client = Client()
    answer = client.get("/audit/?actor=x")
    assert answer.headers["Location"] == "/login/?next=/audit/%3Factor%3Dx"
    back = client.post(answer.headers["Location"], {"username": "viewer", "password": PASSWORD})
    assert back.headers["Location"] == "/audit/?actor=x"


def test_no_sending_on_to_other_hosts() -> None:
    viewer()
    answer = Client().post("/login/?next=https://example.org/", {"username": "viewer", "password": PASSWORD})
    assert answer.headers["Location"] == "/"


def test_signing_out_needs_a_form_and_ends_the_session() -> None:
    client = Client()
    client.force_login(viewer())
    assert client.get(reverse("tenancy:logout")).status_code == 405
    client.post(reverse("tenancy:logout"))
    assert client.get("/audit/").status_code == 302


def test_guessing_is_locked_out_for_that_name_alone() -> None:
    viewer()
    operator()
    client = Client()
    codes = [_sign_in(client, "a guess") for _ in range(9)]
    assert codes[0] == 200
    assert codes[-1] == 429
    assert _sign_in(client, PASSWORD) == 429
    assert _sign_in(client, PASSWORD, "operator") == 302


def test_the_demo_shows_its_logins_and_earnest_does_not(settings: object) -> None:
    settings.DEMO = True  # type: ignore[attr-defined]
    assert b"approver" in Client().get("/login/").content
    settings.DEMO = False  # type: ignore[attr-defined]
    assert b"approver" not in Client().get("/login/").content


def test_a_token_signs_in_until_it_is_revoked() -> None:
    user = tenant("dept-01")
    key, secret = services.issue_token(user, days=1)
    client = APIClient(headers={"Authorization": f"Token {secret}"})
    assert client.get(ME).json() == {
        "username": "tenant_user",
        "role": "tenant_user",
        "permissions": sorted(PERMISSIONS[Role.TENANT_USER]),
        "tenants": ["dept-01"],
    }
    assert services.revoke_token(user, key)
    assert client.get(ME).status_code == 401
    assert [entry.action for entry in Entry.objects.order_by("pk")] == ["token.issued", "token.revoked"]
    assert secret not in str(list(Entry.objects.values()))


def test_nobody_revokes_the_token_of_another() -> None:
    key, _ = services.issue_token(operator(), days=1)
    assert not services.revoke_token(viewer(), key)
    client = APIClient()
    client.force_authenticate(viewer())
    assert client.delete(reverse("api:token", args=[key])).status_code == 404
    assert [row.key for row in tokens_of(operator())] == [key]


def test_the_page_shows_a_new_token_once() -> None:
    client = Client()
    client.force_login(viewer())
    first = client.post(reverse("tenancy:tokens"), {"days": 7}).content.decode()
    (row,) = tokens_of(viewer())
    secret = first.partition('id="new-token">')[2].partition("<")[0]
    assert secret.startswith(row.key)
    assert secret not in client.get(reverse("tenancy:tokens")).content.decode()
    assert client.post(reverse("tenancy:revoke-token", args=[row.key])).status_code == 302
    assert tokens_of(viewer()) == []


@pytest.mark.parametrize("days", [0, 366, "", "soon"])
def test_a_validity_out_of_bounds_is_refused(days: object) -> None:
    client = APIClient()
    client.force_authenticate(viewer())
    answer = client.post(reverse("api:tokens"), {"days": days}, format="json")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["attr"] == "days"


def test_tokens_per_person_are_limited() -> None:
    user = viewer()
    for _ in range(services.TOKENS_PER_USER):
        services.issue_token(user, days=1)
    client = APIClient()
    client.force_authenticate(user)
    answer = client.post(reverse("api:tokens"), {"days": 1}, format="json")
    assert answer.status_code == 409
    assert "Revoke one first" in answer.json()["errors"][0]["detail"]
