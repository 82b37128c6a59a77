"""What the OpenAPI schema promises, tried by schemathesis: invented calls by people of several roles, with tokens.

Drawn calls are made by everybody, on every database.  The many calls at the bounds of each field are made on
PostgreSQL, which refuses more than SQLite does, and by those who may do most: others are refused before a field is
looked at.
"""

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
import schemathesis
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, connection, transaction
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, settings
from schemathesis import checks
from schemathesis.generation.meta import TestPhase

from console.tenancy import services as tenancy
from tests.builders.people import approver, tenant, viewer
from tests.contract.scenes import filled

pytestmark = pytest.mark.django_db
Headers = dict[str, dict[str, str]]
PEOPLE = {"tenant": tenant, "viewer": viewer, "approver": approver}
CHECKS = (
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
)
EXAMPLES = 4
PHASES = (Phase.generate,) if connection.vendor == "sqlite" else (Phase.explicit, Phase.generate)
MAY_MOST = "approver"


def _schema() -> Any:
    made = schemathesis.openapi.from_dict(SchemaGenerator().get_schema(request=None, public=True))
    made.app = get_wsgi_application()
    return made


schema = _schema()


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """Requests stay inside the test's transaction instead of closing its connection, as with Django's own client."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture(autouse=True)
def _bodies_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client leaves the files of large bodies to the garbage collector, which then warns in some later test."""
    monkeypatch.setattr("werkzeug.test.TemporaryFile", lambda _mode: BytesIO())


@pytest.fixture(scope="module")
def _tokens(django_db_setup: None, django_db_blocker: Any) -> Iterator[Headers]:
    """Role -> headers of a person of that role, on a console that has a plan: made once, each test is a savepoint."""
    with django_db_blocker.unblock(), transaction.atomic():
        filled(3, "sim")
        tokens = {role: tenancy.issue_token(person(), 1)[1] for role, person in PEOPLE.items()}
        yield {role: {"Authorization": f"Token {said}", "Accept-Encoding": "identity"} for role, said in tokens.items()}
        transaction.set_rollback(True)


@pytest.fixture
def people(_tokens: Headers) -> Iterator[Headers]:
    yield _tokens
    cache.clear()


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=PHASES,
    suppress_health_check=list(HealthCheck),
)
def test_answers_are_as_promised(case: Any, people: Headers) -> None:
    """Those with fewer rights ask first: what they are refused changes nothing."""
    for role, headers in _callers(case, people).items():
        answer = case.call(headers=headers)
        assert answer.status_code < 500, f"{role}: a request never breaks the server"
        case.validate_response(answer, checks=CHECKS)
        if answer.status_code >= 400:
            _envelope(answer.json())


def _callers(case: Any, people: Headers) -> Headers:
    return people if case.meta.phase.name == TestPhase.FUZZING else {MAY_MOST: people[MAY_MOST]}


def _envelope(body: dict[str, Any]) -> None:
    """One shape for every refusal."""
    assert body["type"] in ("validation_error", "client_error")
    assert body["errors"]
    for error in body["errors"]:
        assert set(error) == {"code", "detail", "attr"}
        assert error["code"] and error["detail"]
