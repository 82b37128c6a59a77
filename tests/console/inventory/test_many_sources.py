"""Tables over several sources: their order, and what a page asks the database for, however many sources there are."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console.inventory import archive, selectors
from console.inventory.selectors import Filters, measured
from console.inventory.selectors.pods import SORTS
from tests.builders.fleets import observed
from tests.builders.people import operator
from tests.builders.worlds import world

pytestmark = pytest.mark.django_db
PAGES = ("/", "/sources/", "/fleet/nodes/", "/fleet/pods/", "/fleet/idle/", "/palette/?q=n-", "/consolidation/new/")
VALUES: dict[str, Any] = {
    "name": lambda row: row.name,
    "namespace": lambda row: (row.namespace, row.name),
    "cluster": lambda row: (row.source, row.cluster),
    "node": lambda row: row.node or "",
    "tenant": lambda row: row.tenant or "",
    "gpus": lambda row: row.gpus,
    "priority": lambda row: row.priority,
    "cpu": lambda row: row.cpu_milli,
    "memory": lambda row: row.memory_mib,
}


def _sources(count: int) -> None:
    """Each with two clusters whose pods have namespaces in common."""
    for at in range(count):
        built = world(now_s=1000 + at)
        for cluster in ("a", "b"):
            built.node(f"n-{cluster}", cluster=cluster, gpus=8)
            for pod in range(3):
                node = f"n-{cluster}" if pod else None
                tenant = f"t{(at + pod) % 2}" if pod != 1 else None
                built.pod(
                    f"p{(7 * pod + at) % 5}-{cluster}", node, pod % 2 + 1, cluster=cluster, tenant=tenant,
                    namespace=f"s{(pod + at) % 2}", priority=pod * at,
                )  # fmt: skip
        observed(built, name=f"source {at}")


@pytest.mark.parametrize("sort", [*SORTS, *(f"-{key}" for key in SORTS)])
def test_pods_of_several_sources_stand_in_one_order(sort: str) -> None:
    _sources(3)
    whole = selectors.pod_rows(operator(), Filters(), sort=sort, size=200).rows
    values = [VALUES[sort.removeprefix("-")](row) for row in whole]
    assert len(whole) == 18
    assert values == sorted(values, reverse=sort.startswith("-"))
    first = selectors.pod_rows(operator(), Filters(), sort=sort, size=5)
    second = selectors.pod_rows(operator(), Filters(), sort=sort, size=5, cursor=first.next or "")
    assert (*first.rows, *second.rows) == whole[:10]


def _queries(path: str) -> int:
    client = Client()
    client.force_login(operator())
    assert client.get(path).status_code == 200
    archive.forget()
    measured._reports.forget()
    with CaptureQueriesContext(connection) as seen:
        client.get(path)
    return len(seen)


def test_a_page_asks_no_more_for_more_sources_even_when_nothing_is_remembered() -> None:
    _sources(2)
    few = [_queries(path) for path in PAGES]
    for at in range(2, 7):
        observed(world(now_s=2000 + at).node("n", gpus=4).pod("p", "n", 1), name=f"source {at}")
    assert [_queries(path) for path in PAGES] == few
