"""Access, tested from an enumeration of what really exists."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from rest_framework.test import APIClient

from console.live import topics
from console.tenancy.choices import Role
from tests.builders.people import person
from tests.console.role_matrix import NOBODY, ROUTES, TOPICS, WHO, Route

_METHODS = ("get", "post", "put", "patch", "delete")


def _patterns(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            inner = f"{prefix}{entry.namespace}:" if entry.namespace else prefix
            yield from _patterns(entry, inner)
        else:
            yield f"{prefix}{entry.name}", entry


EXISTING = dict(_patterns(get_resolver()))


def _methods(pattern: URLPattern) -> set[str]:
    """Methods that a class-based view answers; a function says nothing of them, one entry of any method is asked."""
    view = getattr(pattern.callback, "view_class", None) or getattr(pattern.callback, "cls", None)
    if view is None:
        return set()
    named = [name.lower() for name in view.http_method_names]
    return {method for method in _METHODS if method in named and hasattr(view, method)}


def test_every_route_has_a_name() -> None:
    assert [name for name, _ in _patterns(get_resolver()) if name.endswith("None")] == []


def test_every_route_is_in_the_matrix() -> None:
    listed = {(route.name, route.method) for route in ROUTES}
    names = {name for name, _ in listed}
    missing = {name for name in EXISTING if name not in names}
    missing |= {
        f"{name} ({method})"
        for name, pattern in EXISTING.items()
        for method in _methods(pattern)
        if (name, method) not in listed
    }
    assert sorted(missing) == [], "add them to tests/console/<app>/roles.py"


def test_the_matrix_lists_nothing_that_is_gone() -> None:
    assert sorted({route.name for route in ROUTES} - set(EXISTING)) == []


# Rights are asked of a table in memory and everybody is tried on SQLite; another database has to read each page once.
TRIED = WHO if connection.vendor == "sqlite" else (Role.APPROVER.value,)


@pytest.mark.django_db
@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_answers(route: Route) -> None:
    """What the route is about is made once; each person finds it as it was made."""
    address = reverse(route.name, kwargs=dict(route.make())) + route.query
    wrong = {}
    for who in TRIED:
        with transaction.atomic():
            answer = _ask_api(route, address, who) if route.is_api else _ask_page(route, address, who)
            if answer.status_code != route.expected(who):
                wrong[who] = (answer.status_code, answer.headers.get("Location") or answer.content[:500])
            transaction.set_rollback(True)
    assert wrong == {}


def _ask_page(route: Route, address: str, who: str) -> Any:
    client = Client(raise_request_exception=False)
    if who != NOBODY:
        client.force_login(person(Role(who)))
    return (
        client.generic("GET", address) if route.method == "get" else getattr(client, route.method)(address, route.body)
    )


def _ask_api(route: Route, address: str, who: str) -> Any:
    client = APIClient(raise_request_exception=False)
    if who != NOBODY:
        client.force_authenticate(person(Role(who)))
    body = {} if route.method == "get" else {"data": route.body, "format": "json"}
    return getattr(client, route.method)(address, **body)


def test_every_topic_is_in_the_matrix() -> None:
    assert set(topics.prefixes()) == set(TOPICS), "add them to TOPICS in tests/console/<app>/roles.py"


@pytest.mark.django_db
@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("prefix", sorted(TOPICS))
def test_who_may_listen(prefix: str, role: Role) -> None:
    wanted = role.value in TOPICS[prefix]
    assert topics.may_listen(person(role), prefix) is wanted
    if wanted:
        assert not topics.may_listen(person(role), f"{prefix}:{'x' * 65}")
