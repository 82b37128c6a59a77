"""Tables and cards: page, API and CSV say the same; the same number of queries whatever the size of the cluster."""

import csv
import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from rest_framework.test import APIClient

from console.inventory import archive
from console.inventory.addresses import node_address, pod_address
from tests.builders.fleets import observed
from tests.builders.pages import squeezed
from tests.builders.people import operator, tenant, viewer
from tests.builders.worlds import World, world

pytestmark = pytest.mark.django_db
LONG = "n" * 252
HOSTILE = ("<img src=x onerror=window.__p=1>", "gpu-\u202eexe.7n", LONG + "a", LONG + "b")


@pytest.fixture
def client() -> Client:
    found = Client()
    found.force_login(viewer())
    return found


def _page(client: Client, name: str, query: str = "") -> Any:
    answer = client.get(reverse(f"inventory:{name}") + query)
    assert answer.status_code == 200
    return answer.context["page"]


def _api(name: str, query: str = "") -> Any:
    client = APIClient()
    client.force_authenticate(viewer())
    answer = client.get(reverse(f"api:{name}") + query)
    assert answer.status_code == 200, answer.json()
    return json.loads(answer.content, parse_constant=_refuse)


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _mixed(nodes: int = 5) -> World:
    built = world()
    for n in range(nodes):
        built.asw(f"s{n % 2}").node(f"n{n}", gpus=8 if n % 3 else 4, cordoned=n == 4)
        for p in range(n % 3):
            tier = "LP" if p else "HP"
            built.pod(f"p{n}-{p}", f"n{n}", gpus=p + 1, tenant=f"t{p}", tier=tier, locked=p == 1)
    return built.pod("waits", gpus=8)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?sort=-free",
        "?sort=gpus",
        "?asw=s1",
        "?health=cordoned",
        "?text=N3",
        "?tenant=t1",
        "?model=none",
        "?cluster=x",
    ],
)
def test_the_page_the_api_and_the_csv_list_the_same_nodes(client: Client, query: str) -> None:
    observed(_mixed())
    shown = [row.name for row in _page(client, "nodes", query).rows]
    answered = [row["name"] for row in _api("nodes", query)["results"]]
    text = client.get(reverse("inventory:nodes-csv") + query).getvalue().decode()
    assert shown == answered == [row["name"] for row in csv.DictReader(text.splitlines())]


@pytest.mark.parametrize(
    "query", ["", "?sort=-gpus", "?sort=node", "?asw=s0", "?tenant=t1", "?text=jobs/p2", "?sort=name"]
)
def test_the_page_the_api_and_the_csv_list_the_same_pods(client: Client, query: str) -> None:
    observed(_mixed())
    shown = [(row.name, row.node, row.gpus) for row in _page(client, "pods", query).rows]
    answered = [(row["name"], row["node"], row["gpus"]) for row in _api("pods", query)["results"]]
    text = client.get(reverse("inventory:pods-csv") + query).getvalue().decode()
    listed = [(row["name"], row["node"] or None, int(row["gpus"])) for row in csv.DictReader(text.splitlines())]
    assert shown == answered == listed and (shown or query)


def test_rows_in_the_html_are_the_rows_of_the_api(client: Client) -> None:
    observed(_mixed())
    html = squeezed(client.get(reverse("inventory:nodes")).content.decode())
    cells = [re.findall(r'<td class="sl-num[^"]*">([^<]*)</td>', row) for row in html.split("<tr>")[2:]]
    wanted = [[str(r[key]) for key in ("gpus", "free_gpus", "stranded_gpus", "pods")] for r in _api("nodes")["results"]]
    assert cells == wanted


def test_sorting_and_filtering(client: Client) -> None:
    observed(_mixed())
    free = [row.free_gpus for row in _page(client, "nodes", "?sort=-free").rows]
    assert free == sorted(free, reverse=True) and len(free) == 5
    assert [row.name for row in _page(client, "nodes", "?asw=s1").rows] == ["n1", "n3"]
    assert [row.name for row in _page(client, "nodes", "?asw=-").rows] == []


@pytest.mark.parametrize(
    ("name", "rows", "usual", "wrong"),
    [
        ("nodes", "nodes", "name", "bogus"),
        ("pods", "pods", "namespace", "-colour"),
        ("idle", "fleet-idle", "idle, descending", "price"),
    ],
)
def test_an_order_that_is_none_is_said_and_never_taken_for_another(
    client: Client, name: str, rows: str, usual: str, wrong: str
) -> None:
    observed(_mixed())
    for headers in ({}, {"HX-Request": "true"}):
        page = client.get(reverse(f"inventory:{name}") + f"?sort={wrong}", headers=headers)
        words = f"“<bdi>{wrong}</bdi>” is no order of this table; it is shown by {usual}."
        assert words in squeezed(page.content.decode())
        assert f"sort={wrong}" in page.context["query"]  # so that a refresh goes on saying it
    refused = client.get(reverse(f"inventory:{name}-csv") + f"?sort={wrong}")
    assert refused.status_code == 400 and f"'{wrong}' is no order" in refused.content.decode()
    api = APIClient()
    api.force_authenticate(viewer())
    answer = api.get(reverse(f"api:{rows}") + f"?sort={wrong}")
    assert answer.status_code == 400 and answer.json()["errors"][0]["attr"] == "sort"
    assert "is no order" not in client.get(reverse(f"inventory:{name}") + "?sort=-cluster").content.decode()


def test_an_order_that_a_tenant_may_not_know_is_none() -> None:
    observed(_mixed())
    client = Client()
    client.force_login(tenant("t0"))
    page = squeezed(client.get(reverse("inventory:nodes") + "?sort=-pods").content.decode())
    assert "“<bdi>-pods</bdi>” is no order of this table; it is shown by name." in page
    assert client.get(reverse("inventory:nodes-csv") + "?sort=pods").status_code == 400


def test_a_narrow_screen_has_all_filters_behind_a_button(client: Client) -> None:
    observed(_mixed())
    page = client.get(reverse("inventory:nodes") + "?tenant=t1").content.decode()
    bar, sheet = (page[page.index(start) :].split("</form>")[0] for start in ('id="filters"', 'id="sheet"'))
    assert re.findall(r'name="(\w+)"', bar) == re.findall(r'name="(\w+)"', sheet)
    assert len(re.findall(r'class="sl-field[^"]*sl-only-wide"', bar)) == len(re.findall("sl-field__label", bar)) - 2


def test_pages_stand_still_while_the_cluster_changes(client: Client) -> None:
    observed(_mixed())
    first = _page(client, "nodes", "?limit=2")
    observed(world().nodes("a0", "a1", "a2"))
    second = _page(client, "nodes", f"?limit=2&cursor={first.next}")
    third = _page(client, "nodes", f"?limit=2&cursor={second.next}")
    names = [row.name for page in (first, second, third) for row in page.rows]
    assert names == ["n0", "n1", "n2", "n3", "n4"] and third.next is None and second.previous is not None
    assert _page(client, "nodes").total == 3


def test_links_of_the_api_lead_through_all_rows() -> None:
    observed(_mixed())
    client, found = APIClient(), []
    client.force_authenticate(viewer())
    address = reverse("api:pods") + "?limit=2&sort=-gpus"
    while address:
        body = client.get(address).json()
        found += [row["name"] for row in body["results"]]
        address = body["next"]
    assert sorted(found) == sorted(row["name"] for row in _api("pods")["results"]) and len(found) == body["total"]


@pytest.mark.parametrize("query", ["?cursor=x", "?cursor=1", "?cursor=999.0", "?cursor=1.-5"])
def test_cursors_of_others_are_refused(client: Client, query: str) -> None:
    observed(_mixed())
    assert client.get(reverse("inventory:nodes") + query).status_code == 404
    api = APIClient()
    api.force_authenticate(viewer())
    assert api.get(reverse("api:nodes") + query).status_code in (400, 404)


def test_htmx_gets_the_table_alone(client: Client) -> None:
    observed(_mixed())
    part = client.get(reverse("inventory:nodes"), headers={"HX-Request": "true"}).content.decode()
    assert part.lstrip().startswith("<section") and "<html" not in part and "n3" in part


@pytest.mark.parametrize(
    "name", ["nodes", "pods", "nodes-csv", "pods-csv", "sources", "node", "pod", "map-nodes", "map-layout"]
)
def test_a_page_asks_the_database_as_often_for_large_clusters(client: Client, name: str) -> None:
    counts = []
    for size in (4, 60):
        observation = observed(_mixed(size))
        args = {
            "node": ["default", "n2"],
            "pod": ["default", "jobs/p2-0"],
            "map-nodes": [observation.revision],
            "map-layout": [observation.fleet_layout_id],
        }.get(name, [])
        archive.forget()
        with CaptureQueriesContext(
            connection,
        ) as asked:
            answer = client.get(reverse(f"inventory:{name}", args=args))
            assert answer.status_code == 200
            body = answer.getvalue() if answer.streaming else answer.content
        assert body
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 16


def test_hostile_names_are_shown_literally_and_reach_their_page(client: Client) -> None:
    """Case C49."""
    built = world()
    for place, name in enumerate(HOSTILE):
        built.asw('"><svg onload=window.__p=1>' if not place else "asw-1").node(name, labels={"note": "{{7*7}}"})
    built.pod("p", HOSTILE[0], tenant="</script><script>window.__p=1</script>")
    observed(built)
    for address in (reverse("inventory:nodes"), reverse("inventory:pods"), node_address("default", HOSTILE[0])):
        html = client.get(address).content.decode()
        assert "<img src=x" not in html and "<svg onload" not in html and "</script><script>window" not in html
        assert "&lt;img src=x onerror=window.__p=1&gt;" in html
    table = client.get(reverse("inventory:nodes")).content.decode()
    assert "\u202e" not in re.sub(r'(value|href|title)="[^"]*"', "", table) and "U+202E" in table
    assert {row["name"] for row in _api("nodes")["results"]} == set(HOSTILE)
    for name in HOSTILE:
        page = client.get(node_address("default", name))
        assert page.status_code == 200 and page.context["row"].name == name
    assert "{{7*7}}" in client.get(node_address("default", HOSTILE[0])).content.decode()
    layout = observed(built).fleet_layout_id
    names = client.get(reverse("inventory:map-names", args=[layout])).content.decode().split("\n")
    assert set(names) == set(HOSTILE)


@pytest.mark.parametrize("name", ["a/b", "..", "a b", "ä", "x?y#z", "%2e"])
def test_names_that_a_path_would_not_survive(client: Client, name: str) -> None:
    observed(world().node(name, cluster="c/1").pod(name, name, cluster="c/1"))
    assert client.get(node_address("c/1", name)).context["row"].name == name
    assert client.get(pod_address("c/1", f"jobs/{name}")).context["row"].name == name


def test_clusters_of_one_name_in_two_sources_are_told_apart(client: Client) -> None:
    observed(world().node("n1", gpus=8), "west")
    observed(world().node("n1", gpus=4), "east")
    assert [row.gpus for row in _page(client, "nodes").rows] == [4, 8]
    assert client.get(node_address("default", "n1", "west")).context["row"].gpus == 8


def test_before_the_first_reading_pages_say_what_is_not_there(client: Client) -> None:
    for name in ("nodes", "pods", "sources"):
        html = client.get(reverse(f"inventory:{name}")).content.decode()
        assert "Nothing was observed yet" in html or "No source yet" in html


def test_a_removed_source_takes_its_readings_along_and_leaves_its_reason(client: Client) -> None:
    observation = observed(world().node("n1"))
    client.force_login(operator())
    address = reverse("inventory:source-remove", args=[observation.source_id])
    assert client.post(address, {"reason": ""}).status_code == 302
    assert _page(client, "nodes").total == 1
    client.post(address, {"reason": "wrong file"})
    assert _page(client, "nodes").total == 0
