"""A source gets another name: for people only, and everywhere at once."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.inventory import planning, selectors, services
from console.inventory.models import Measurement, Observation, Source
from console.inventory.selectors import Filters
from console.inventory.services import recording
from console.inventory.services.watching import signature
from console.tenancy.services import Denied
from tests.builders.fleets import kubernetes_source, observed
from tests.builders.people import operator, tenant, viewer
from tests.builders.worlds import world

pytestmark = pytest.mark.django_db


def _client(user: Any = None) -> Client:
    client = Client()
    client.force_login(user or operator())
    return client


def _renamed(source: Source, name: str) -> Source:
    made = services.rename_source(operator(), source, name)
    for row in Observation.objects.filter(source=source, measurement__isnull=True):
        planning.measure(row.pk)
    return made


def _layout() -> dict[str, Any]:
    digest = Observation.objects.first().fleet_layout_id  # type: ignore[union-attr]
    found: dict[str, Any] = json.loads(_client().get(reverse("inventory:map-layout", args=[digest])).content)
    return found


def test_pages_map_and_figures_show_the_new_name_at_once() -> None:
    observed(world().node("a1"), name="alpha")
    reading = observed(world().node("b1", gpus=8).pod("p", "b1", 2), name="beta")
    assert [group["source"] for group in _layout()["groups"]] == ["alpha", "beta"]
    _renamed(reading.source, "aaa")
    assert [group["source"] for group in _layout()["groups"]] == ["aaa", "alpha"]
    names = _client().get(reverse("inventory:map-names", args=[_layout()["layout"]])).content.decode()
    assert names.split("\n") == ["b1", "a1"]
    assert [row.name for row in selectors.node_rows(operator(), Filters(source="aaa")).rows] == ["b1"]
    assert selectors.node_rows(operator(), Filters(source="beta")).rows == ()
    assert "aaa" in _client().get("/").content.decode()


def test_what_was_read_keeps_its_instants_and_its_snapshot() -> None:
    reading = observed(world().node("b1").pod("p", "b1", 1), name="beta")
    before = Observation.objects.get()
    _renamed(reading.source, "gamma")
    again, old = Observation.objects.all()
    assert (again.digest, again.begun_at, again.observed_at) == (before.digest, before.begun_at, before.observed_at)
    assert (old.pk, again.changed) == (before.pk, 0)
    assert old.fleet_layout_id == before.fleet_layout_id != again.fleet_layout_id
    assert Measurement.objects.count() == 2
    services.observe(reading.source.pk)
    assert Observation.objects.count() == 2  # the same again is only confirmed


def test_a_reading_that_was_begun_under_the_old_name_is_recorded_under_the_new_one() -> None:
    source = observed(world().node("b1"), name="beta").source
    stale = Source.objects.get(pk=source.pk)
    _renamed(source, "gamma")
    last = Observation.objects.select_related("layout").first()
    assert last is not None
    last.source = stale
    recording._join_fleet(last)
    assert last.fleet_layout is not None and last.fleet_layout.members[0][0] == "gamma"


def test_it_is_written_down_and_feeds_go_on() -> None:
    source = kubernetes_source("k8s")
    before = signature(source)
    made = services.rename_source(operator(), source, "  prod east ")
    assert made.name == "prod east" and signature(Source.objects.get()) == before
    assert made.config["cluster"] == "k8s"  # what the cluster is called in readings stays
    entry = Entry.objects.get(action="source.renamed")
    assert entry.detail == {"from": "k8s", "to": "prod east", "source": source.pk}
    services.rename_source(operator(), made, "prod east")  # no change, no word
    assert Entry.objects.filter(action="source.renamed").count() == 1


def test_a_name_that_is_taken_or_none_is_refused() -> None:
    source, other = kubernetes_source("k8s"), observed(world().node("n1"), name="file").source
    for name in ("file", "", "x" * 101):
        with pytest.raises(services.ClusterError):
            services.rename_source(operator(), source, name)
    page = reverse("inventory:source-rename", args=[source.pk])
    body = _client().post(page, {"name": "file"}, follow=True).content.decode()
    assert "Not renamed: there is a source of that name already" in body
    assert "1 to 100 characters" in _client().post(page, {"name": ""}, follow=True).content.decode()
    api = APIClient()
    api.force_authenticate(operator())
    assert api.put(f"/api/v1/sources/{source.pk}/name/", {"name": "file"}, format="json").status_code == 400
    assert api.put(f"/api/v1/sources/{other.pk}/name/", {"name": "f2"}, format="json").json()["row"]["name"] == "f2"
    assert api.put("/api/v1/sources/999/name/", {"name": "f3"}, format="json").status_code == 404
    with pytest.raises(Denied):
        services.rename_source(viewer(), source, "mine")


def test_the_palette_finds_sources_and_clusters() -> None:
    source = observed(world().node("n1", cluster="east-7").node("n2", cluster="west-7"), name="depot").source

    def found(words: str, user: Any = None) -> list[tuple[str, str, str]]:
        hits = _client(user).get(reverse("ui:palette"), {"q": words}).json()["hits"]
        return [(hit["kind"], hit["label"], hit["url"]) for hit in hits if hit["kind"] in ("source", "cluster")]

    assert found("DEP") == [("source", "depot", reverse("inventory:source", args=[source.pk]))]
    assert found("t-7") == [
        ("cluster", "east-7", "/?source=depot&cluster=east-7"),
        ("cluster", "west-7", "/?source=depot&cluster=west-7"),
    ]
    assert _client().get(found("t-7")[0][2]).status_code == 200
    assert found("t-7", tenant("mine")) == [] == found("depot", tenant("mine"))
