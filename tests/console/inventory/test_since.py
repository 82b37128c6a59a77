"""What changed between two instants: figures that add up, unknown that is not 0, and the same in page, API and CSV."""

import csv
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from console.inventory import planning
from console.inventory.models import Blob, Comparison, Observation
from console.inventory.spans import stamp
from tests.builders.fleets import observed
from tests.builders.pages import squeezed
from tests.builders.people import tenant, viewer
from tests.builders.worlds import World, world

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    """Maps are remembered under revisions, which begin anew with every test."""
    yield
    cache.clear()


def made(row: Observation, at: datetime) -> Observation:
    """The reading as if it had been made then and confirmed a second later."""
    Observation.objects.filter(pk=row.pk).update(begun_at=at, observed_at=at + timedelta(seconds=1))
    return row


def hall(now_s: int, **of_b: Any) -> World:
    built = world(now_s).asw("asw-17").nodes("a1", "a2").asw("asw-18").nodes("b1", **of_b)
    return built.pod("own", "a1", 2, tenant="t1").pod("foreign", "a2", 4, tenant="hush")


def an_hour_apart(then: World, now: World, name: str = "file") -> datetime:
    """Two readings of a source, one of an hour ago; returns an instant at which the first one stands."""
    began = timezone.now() - HOUR
    made(observed(then, name), began - timedelta(minutes=1))
    made(observed(now, name), began + timedelta(minutes=30))
    return began


def compare() -> None:
    """What the workers would do."""
    for key in Comparison.objects.filter(ledger=None, failure="").values_list("pk", flat=True):
        planning.compare(key)


def ask(query: str = "", user: Any = None, route: str = "inventory:since") -> Any:
    client = Client()
    client.force_login(user or viewer())
    address = reverse(route) + query
    client.get(address)
    compare()
    return client.get(address)


def api(query: str = "", user: Any = None) -> Any:
    client = APIClient()
    client.force_authenticate(user or viewer())
    return client.get(reverse("api:fleet-since") + query)


def test_an_address_without_instants_gets_both() -> None:
    began = an_hour_apart(hall(1), hall(2, ready=False))
    client = Client()
    client.force_login(viewer())
    answer = client.get(reverse("inventory:since") + "?cluster=default")
    assert answer.status_code == 302
    query = answer.headers["Location"].partition("?")[2]
    assert query.startswith(f"from={stamp(began)[:13].replace(':', '%3A')}") and "to=now" in query
    assert "cluster=default" in query


def test_the_headline_says_how_many_why_and_where() -> None:
    then = world(1).asw("asw-17").nodes(*(f"a{n}" for n in range(31))).asw("asw-18").node("b")
    now = world(2).asw("asw-17").nodes(*(f"a{n}" for n in range(31)), ready=False).asw("asw-18").node("b")
    now.rows["nodes"][-1]["allocatable_gpus"] = 3
    began = an_hour_apart(then, now)
    answer = ask(f"?from={stamp(began)}&to=now")
    words = " ".join(squeezed(answer.content.decode()).split())
    found = answer.context["found"]
    assert [(row.words, row.gpus) for row in answer.context["headline"].parts] == [
        ("31 nodes not ready in asw-17", -248),
        ("5 GPUs without cause in asw-18", -5),
    ]
    assert answer.context["headline"].gpus == -253 and "−253 GPUs" in words and "whole ASW asw-17" in words
    assert answer.context["adds_up"] == "The rows add up: 3 now, 256 then: −253 GPUs."
    assert found.unexplained_gpus == 0 and found.then.schedulable == 256


def test_a_whole_pool_is_called_so() -> None:
    def pool(now_s: int, **fields: Any) -> World:
        return (
            world(now_s).asw("s1").node("x", gpu_model="A10", **fields).asw("s2").node("y", gpu_model="A10", **fields)
        )

    began = an_hour_apart(pool(1).node("z"), pool(2, cordoned=True).node("z"))
    found = ask(f"?from={stamp(began)}").context["found"]
    ((place,),) = [cause.places for cause in found.causes]
    assert (place.whole, place.asw, place.gpus, place.nodes_total, place.of_nodes) == ("pool", None, -16, 2, 2)


def test_page_api_and_csv_say_the_same() -> None:
    began = an_hour_apart(hall(1), hall(2, cordoned=True).pod("late", "a2", 3, tenant="t1"))
    query = f"?from={stamp(began)}&to=now"
    found = ask(query).context["found"]
    told = json.loads(api(query).content)
    lines = ask(query, route="inventory:since-csv").getvalue().decode().splitlines()
    rows = list(csv.DictReader(lines))
    assert [(row["node"], row["cause"], row["gpus"]) for row in rows] == [("b1", "cordoned", "-8")]
    assert told["now"]["schedulable"] - told["then"]["schedulable"] == sum(int(row["gpus"]) for row in rows) == -8
    assert [cause["gpus"] for cause in told["causes"]] == [cause.gpus for cause in found.causes]
    lines = ask(f"{query}&ledger=tenants", route="inventory:since-csv").getvalue().decode().splitlines()
    assert [(row["tenant"], row["change_milli"]) for row in csv.DictReader(lines)] == [("t1", "3000")]
    assert [(row["tenant"], row["came"], row["change_milli"]) for row in told["tenants"]] == [("t1", 1, 3000)]
    assert ask(query).context["demand_adds_up"] == "The rows add up: 9 now, 6 then: +3 GPUs."


def test_what_was_never_compared_is_pending_and_asked_for_once(django_capture_on_commit_callbacks: Any) -> None:
    began = an_hour_apart(hall(1), hall(2, ready=False))
    query = f"?from={stamp(began)}"
    first = api(query)
    assert (first.status_code, first.headers["Retry-After"], first.json()["pending"]) == (202, "1", True)
    assert first.json()["known"] == 0 and first.json()["of_sources"] == 1
    with django_capture_on_commit_callbacks() as asked:
        assert api(query).status_code == 202
    assert asked == [] and Comparison.objects.count() == 1
    Comparison.objects.update(asked_at=timezone.now() - timedelta(minutes=2))
    with django_capture_on_commit_callbacks() as asked:
        api(query)
    assert len(asked) == 1, "a worker that never answered is asked again"
    compare()
    assert api(query).status_code == 200


def test_looking_at_what_is_compared_writes_nothing() -> None:
    began = an_hour_apart(hall(1), hall(2, ready=False))
    address = reverse("inventory:since") + f"?from={stamp(began)}"
    ask(f"?from={stamp(began)}")
    client = Client()
    client.force_login(viewer())
    with CaptureQueriesContext(connection) as asked:
        client.get(address)
    assert [query["sql"] for query in asked if not query["sql"].startswith("SELECT")] == []


def test_each_source_takes_its_reading_nearest_before_the_instant() -> None:
    start = timezone.now().replace(microsecond=0) - HOUR
    rows = [made(observed(hall(n)), start + timedelta(minutes=minutes)) for n, minutes in enumerate((-20, -5, 5, 50))]
    page = ask(f"?from={stamp(start)}&to={stamp(start + timedelta(minutes=10))}").context
    (span,) = page["found"].sources
    assert (span.then_revision, span.now_revision) == (rows[1].revision, rows[2].revision)
    assert span.then_at == start - timedelta(minutes=5) + timedelta(seconds=1)
    seen = start + timedelta(minutes=5, seconds=1)  # as ``made`` dates it
    assert page["frozen"].endswith(f"{seen:%H:%M}"), "not the end that was asked for"


def test_a_reading_that_was_confirmed_beyond_the_instant_is_dated_by_the_instant() -> None:
    start = timezone.now().replace(microsecond=0) - HOUR
    row = observed(hall(1))
    Observation.objects.filter(pk=row.pk).update(begun_at=start - HOUR, observed_at=start + HOUR)
    (span,) = ask(f"?from={stamp(start)}").context["found"].sources
    assert (span.then_at, span.state) == (start, "known")


def test_a_source_without_a_reading_then_is_unknown_and_in_no_sum() -> None:
    began = an_hour_apart(hall(1), hall(2, ready=False))
    observed(world().node("fresh"), "younger")
    silent = made(observed(world(7).node("s"), "silent"), began - timedelta(hours=5))
    assert silent.revision
    answer = ask(f"?from={stamp(began)}")
    found = answer.context["found"]
    assert {span.source: span.state for span in found.sources} == {
        "file": "known",
        "younger": "unknown",
        "silent": "unknown",
    }
    assert (found.known, found.of_sources, found.then.nodes, found.now.nodes) == (1, 3, 3, 3)
    words = " ".join(squeezed(answer.content.decode()).split())
    assert "Figures are of 1 of 3 sources." in words and "silent since" in words


def test_a_reading_without_its_snapshot_stands_for_nothing() -> None:
    began = an_hour_apart(hall(1), hall(2))
    Blob.objects.filter(pk=Observation.objects.order_by("revision")[0].digest).delete()
    (span,) = ask(f"?from={stamp(began)}").context["found"].sources
    assert (span.state, span.then_revision) == ("unknown", None)


def test_filters_leave_the_rows_of_their_place() -> None:
    def two(now_s: int, **fields: Any) -> World:
        built = world(now_s).node("n1", cluster="c1", **fields).node("n2", cluster="c2", gpu_model="A10", **fields)
        return built.pod("p", "n1", 1, cluster="c1").pod("q", "n2", 2, cluster="c2")

    began = an_hour_apart(two(1), two(2, cordoned=True).pod("r", "n2", 3, cluster="c2"))
    for query, nodes, demand in (
        ("", 2, 3000),
        ("&cluster=c2", 1, 3000),
        ("&model=A10", 1, 3000),
        ("&cluster=c1", 1, 0),
    ):
        answer = ask(f"?from={stamp(began)}{query}")
        found = answer.context["found"]
        assert (found.now.nodes, found.now.schedulable - found.then.schedulable) == (nodes, -8 * nodes)
        assert sum(row.change_milli for row in found.tenants) == demand
        assert found.unexplained_gpus == 0 and "leave" not in answer.context["demand_adds_up"]


@pytest.mark.parametrize("query", ["?from=yesterday", "?from=2026-01-02T00:00:00Z&to=2026-01-01", "?from=2999-01-01"])
def test_a_span_that_is_none_is_refused_with_the_reason(query: str) -> None:
    observed(hall(1))
    assert ask(query).status_code == 400 and ask(query, route="inventory:since-csv").status_code == 400
    answer = api(query)
    assert answer.status_code == 400 and answer.json()["errors"][0]["attr"] == "from"


def test_before_the_first_reading_it_says_so() -> None:
    assert "Nothing was observed yet." in ask("?from=2026-01-01").content.decode()


def test_a_live_page_takes_the_newest_comparison_that_is_there() -> None:
    began = an_hour_apart(hall(1), hall(2, ready=False))
    query = f"?from={stamp(began)}&to=now"
    assert ask(query).context["found"].pending is False
    newer = observed(hall(3))
    client = Client()
    client.force_login(viewer())
    found = client.get(reverse("inventory:since") + query).context["found"]
    assert found.pending is True, "the last comparison is half an hour old"
    compare()
    observed(hall(4, cordoned=True))
    found = client.get(reverse("inventory:since") + query).context["found"]
    assert (found.pending, found.sources[0].now_revision) == (False, newer.revision)


def test_nodes_that_are_gone_are_listed() -> None:
    began = an_hour_apart(hall(1).node("leaver"), hall(2))
    found = ask(f"?from={stamp(began)}").context["found"]
    assert [(node.name, node.gpus) for node in found.gone] == [("leaver", -8)] and found.gone_total == 1


def test_a_tenant_reads_of_its_own_pods_and_nodes_only() -> None:
    then = hall(1)
    now = hall(2, ready=False).pod("secret", "b1", 1, tenant="hush").pod("mine", "a1", 1, tenant="t1")
    for row in now.rows["nodes"]:
        row["cordoned"] = row["name"] == "a1"
    began = an_hour_apart(then, now)
    query = f"?from={stamp(began)}"
    answer = ask(query, tenant("t1"))
    found, text = answer.context["found"], answer.content.decode()
    assert [(cause.cause, cause.gpus) for cause in found.causes] == [("cordoned", -8)]
    assert [row.tenant for row in found.tenants] == ["t1"] and found.pools == () and found.sources == ()
    assert (found.then.asked_milli, found.now.asked_milli) == (2000, 3000)
    place = found.causes[0].places[0]
    assert (place.of_nodes, place.whole, [node.name for node in place.nodes]) == (None, "", ["a1"])
    for body in (text, api(query, tenant("t1")).content.decode()):
        assert [secret for secret in ("hush", "secret", ">b1<", '"b1"', ">a2<", '"a2"') if secret in body] == []
    lines = ask(query, tenant("t1"), "inventory:since-csv").getvalue().decode()
    assert "a1" in lines and "b1" not in lines


def _queries(count: int) -> int:
    def sized(now_s: int, **fields: Any) -> World:
        built = world(now_s)
        for n in range(count):
            built.asw(f"s{n}").node(f"n{n}", **fields).pod(f"p{now_s}-{n}", f"n{n}", 1, tenant=f"t{n}")
        return built

    began = an_hour_apart(sized(1), sized(2, cordoned=True), f"of-{count}")
    query = f"?from={stamp(began)}&source=of-{count}"
    ask(query)
    client = Client()
    client.force_login(viewer())
    with CaptureQueriesContext(connection) as asked:
        assert client.get(reverse("inventory:since") + query).status_code == 200
    return len(asked)


def test_queries_do_not_grow_with_the_fleet() -> None:
    assert _queries(2) == _queries(40) <= 25


def test_the_first_page_says_what_an_hour_took_where_all_sources_are_known() -> None:
    def button() -> str:
        words = ask(route="overview:fleet").content.decode()
        return " ".join(squeezed(words).split("since 1 h")[1].split("</a>")[0].split())

    an_hour_apart(hall(1), hall(2, ready=False))
    assert button() == ": −8"
    observed(hall(3), "younger")
    assert button() == "", "one source was not known an hour ago"


def test_the_map_has_a_byte_of_change_and_one_of_health_for_each_node() -> None:
    began = an_hour_apart(hall(1).node("leaver"), hall(2, ready=False).node("comer", 4))
    pairs = ask(f"?from={stamp(began)}").context["map"]
    client = Client()
    client.force_login(viewer())
    names = client.get(reverse("inventory:since-names", args=[pairs])).content.decode().split("\n")
    content = client.get(reverse("inventory:since-map", args=[pairs])).content
    layout = client.get(reverse("inventory:since-layout", args=[pairs])).json()
    assert content[:4] == b"SLM1" and layout["nodes"] == len(names) == 4
    change, health = content[16:20], content[20:24]
    assert dict(zip(names, ((byte - 128, code) for byte, code in zip(change, health, strict=True)), strict=True)) == {
        "a1": (0, 0),
        "a2": (0, 0),
        "b1": (-8, 2),
        "comer": (4, 0),
    }
    free = client.get(reverse("inventory:since-map", args=[pairs]) + "?measure=free").content[16:20]
    assert [byte - 128 for byte in free] == [0, 0, -8, 4]


@pytest.mark.parametrize("pairs", ["1", "x-y", "999-1000", "1-2..3-4"])
def test_a_map_of_readings_that_are_not_kept_is_refused_in_words(pairs: str) -> None:
    an_hour_apart(hall(1), hall(2))
    client = Client()
    client.force_login(viewer())
    answer = client.get(reverse("inventory:since-map", args=[pairs]))
    assert answer.status_code == 404 and answer.headers["Content-Type"].startswith("text/plain")
