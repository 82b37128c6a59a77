"""The book on the page, in the API and as CSV: the same rows under the same filter."""

import csv
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from rest_framework.test import APIClient

from console.audit.services import record
from tests.builders.people import approver, operator, viewer

pytestmark = pytest.mark.django_db
HOSTILE = "<script>window.__p=1</script>"


@pytest.fixture
def client_of_viewer() -> Client:
    client = Client()
    client.force_login(viewer())
    return client


def _write(count: int) -> None:
    for number in range(count):
        record(actor=operator(), action="plan.requested", target_kind="plan", target_id=number, reason=f"why {number}")
    record(actor=approver(), action="plan.approved", target_kind="plan", target_id=3, reason="agreed", digest="ab" * 32)


def _api(query: str = "") -> Any:
    client = APIClient()
    client.force_authenticate(viewer())
    return client.get(reverse("api:audit-entries") + query)


def _csv(client: Client, query: str = "") -> list[dict[str, str]]:
    answer = client.get(reverse("audit:csv") + query)
    return list(csv.DictReader(answer.getvalue().decode().splitlines()))


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 6),
        ("?actor=approver", 1),
        ("?action=plan.req", 5),
        ("?target_id=3", 2),
        ("?reason=WHY", 5),
        ("?digest=abab", 1),
    ],
)
def test_page_api_and_csv_agree(client_of_viewer: Client, query: str, count: int) -> None:
    _write(5)
    page = client_of_viewer.get(reverse("audit:list") + query)
    ids = [row["id"] for row in _api(query).json()["results"]]
    assert len(ids) == count
    assert [entry.pk for entry in page.context["rows"]] == ids
    assert [int(row["id"]) for row in _csv(client_of_viewer, query)] == ids


def test_pages_are_chained_to_the_end(client_of_viewer: Client) -> None:
    _write(120)
    seen, older = [], ""
    for size in (50, 50, 21):
        page = client_of_viewer.get(reverse("audit:list") + older)
        assert len(page.context["rows"]) == size
        seen += [entry.pk for entry in page.context["rows"]]
        older = page.context["next"]
    assert older == ""
    assert seen == sorted(set(seen), reverse=True)
    assert len(seen) == 121


def test_queries_do_not_grow_with_the_book(client_of_viewer: Client) -> None:
    counts = []
    for more in (1, 99):
        _write(more)
        with CaptureQueriesContext(connection) as queries:
            client_of_viewer.get(reverse("audit:list"))
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 8


def test_htmx_gets_the_table_alone(client_of_viewer: Client) -> None:
    _write(1)
    part = client_of_viewer.get(reverse("audit:list"), headers={"HX-Request": "true"}).content.decode()
    assert part.lstrip().startswith("<section")
    assert "<html" not in part


def test_a_filter_that_is_none_is_refused_and_named(client_of_viewer: Client) -> None:
    page = client_of_viewer.get(reverse("audit:list") + "?since=yesterday")
    assert page.status_code == 400
    assert "Since" in page.content.decode()
    assert _api("?since=yesterday").json()["errors"][0]["attr"] == "since"
    assert client_of_viewer.get(reverse("audit:csv") + "?since=yesterday").status_code == 400


def test_hostile_names_stay_text(client_of_viewer: Client) -> None:
    record(actor=operator(), action="node.cordoned", target_kind="node", target_id=HOSTILE, reason="=cmd|'/c calc'!A1")
    assert HOSTILE not in client_of_viewer.get(reverse("audit:list")).content.decode()
    (row,) = _csv(client_of_viewer)
    assert row["target_id"] == HOSTILE
    assert row["reason"].startswith("'=")


def test_a_narrow_screen_shows_two_filters_and_has_all_behind_a_button(client_of_viewer: Client) -> None:
    """The fields that do not show there still take part in the search."""
    page = client_of_viewer.get(reverse("audit:list") + "?reason=why").content.decode()
    bar, sheet = (
        page[page.index(start) :].split("</form>")[0] for start in ('<form class="sl-bar', 'id="more-filters"')
    )
    fields = re.findall(r'<label\s+class="(sl-field[^"]*)"', bar)
    assert (len(fields), sum("sl-only-wide" not in names for names in fields)) == (8, 2)
    assert re.findall(r'name="(\w+)"', bar) == re.findall(r'name="(\w+)"', sheet)
    assert 'value="why"' in bar
    assert 'value="why"' in sheet
