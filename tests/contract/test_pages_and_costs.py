"""Lists in pages: every row once, however it is cut.  And no answer costs more queries because the fleet is larger."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from rest_framework.test import APIClient

from console.inventory import archive, planning
from console.inventory.models import Comparison, Observation
from tests.builders.people import approver
from tests.contract.scenes import Filled, filled

pytestmark = pytest.mark.django_db
SMALL, LARGE = 3, 60
MINUTE = timedelta(minutes=1)
LISTS: dict[str, Callable[[Filled], dict[str, Any]]] = {
    "audit-entries": lambda one: {},
    "plans": lambda one: {},
    "plan-moves": lambda one: {"plan_id": one.plan.pk},
    "plan-kept": lambda one: {"plan_id": one.plan.pk},
    "nodes": lambda one: {},
    "pods": lambda one: {},
    "observations": lambda one: {},
}
SINGLE: dict[str, Callable[[Filled], dict[str, Any]]] = {
    "plan": lambda one: {"plan_id": one.plan.pk},
    "plan-document": lambda one: {"plan_id": one.plan.pk},
    "sources": lambda one: {},
    "freezes": lambda one: {},
    "tokens": lambda one: {},
    "me": lambda one: {},
    "fleet-headline": lambda one: {},
    "fleet-layout": lambda one: {},
    "fleet-pools": lambda one: {},
    "fleet-shapes": lambda one: {},
    "fleet-waterfall": lambda one: {},
    "fleet-fits": lambda one: {},
    "fleet-standby": lambda one: {},
    "fleet-since": lambda one: {},
}


def _client() -> APIClient:
    client = APIClient()
    client.force_authenticate(approver())
    return client


def _all_rows(client: APIClient, address: str, limit: int) -> list[Any]:
    rows: list[Any] = []
    following: str | None = f"{address}?limit={limit}"
    while following:
        body = client.get(following).json()
        assert len(body["results"]) <= limit
        rows += body["results"]
        following = body["next"]
    return rows


@pytest.mark.parametrize("name", sorted(LISTS))
def test_pages_hold_every_row_once(name: str) -> None:
    one = filled(LARGE, "sim")
    address, client = reverse(f"api:{name}", kwargs=LISTS[name](one)), _client()
    whole = _all_rows(client, address, 200)
    assert _all_rows(client, address, 7) == whole
    unlike = {repr(row) for row in whole}
    assert len(unlike) == len(whole) > 0


@pytest.mark.parametrize("name", sorted(LISTS))
def test_the_way_back_is_the_way_forth(name: str) -> None:
    one = filled(LARGE, "sim")
    address, client = reverse(f"api:{name}", kwargs=LISTS[name](one)), _client()
    first = client.get(f"{address}?limit=5").json()
    if first["next"] is None:
        assert len(first["results"]) <= 5
        return
    second = client.get(first["next"]).json()
    assert client.get(second["previous"]).json()["results"] == first["results"]


@pytest.mark.parametrize("name", sorted({**LISTS, **SINGLE}))
def test_queries_do_not_grow_with_the_fleet(name: str) -> None:
    """Each size in a transaction that is undone, so that the second is not the first and one more."""
    counts = [_queries(name, size) for size in (SMALL, LARGE)]
    assert counts[0] == counts[1] <= 20


def _queries(name: str, size: int) -> int:
    """Of the finished answer: what workers are asked for by the first one is there by the second."""
    with transaction.atomic():
        one = filled(size, f"sim-{size}")
        Observation.objects.update(begun_at=F("begun_at") - MINUTE)  # else how fast this test is decides what is known
        address, client = reverse(f"api:{name}", kwargs={**LISTS, **SINGLE}[name](one)), _client()
        client.get(address)
        for key in Comparison.objects.filter(ledger=None, failure="").values_list("pk", flat=True):
            planning.compare(key)
        archive.forget()
        with CaptureQueriesContext(connection) as asked:
            answer = client.get(address)
        assert answer.status_code == 200
        transaction.set_rollback(True)
    archive.forget()
    return len(asked)


def test_a_page_that_is_none_is_refused_by_name() -> None:
    filled(SMALL, "sim")
    answer = _client().get(reverse("api:nodes") + "?cursor=nowhere")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["attr"] == "cursor"
