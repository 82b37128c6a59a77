"""An endpoint of a cluster: kept, changed, forgotten; its secret never comes out again."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.connectors import prometheus
from console.connectors.models import Credential
from console.inventory import selectors, services
from console.inventory.choices import Means
from console.inventory.models import Source, Watch
from console.inventory.services import TelemetryAsked
from console.tenancy.services import Denied
from tests.builders.fleets import kubernetes_source, observed
from tests.builders.people import operator, tenant, viewer
from tests.builders.worlds import world
from tests.telemetry.exposition import exposition
from tests.telemetry.player import playing

pytestmark = pytest.mark.django_db
URL, SECRET = "https://prometheus.example:9090", "t3lem3try-s3cret"
ASKED = TelemetryAsked(URL, "bearer", secret=SECRET, matchers=(("cluster", "c04"),))


@pytest.fixture
def source() -> Source:
    return kubernetes_source()


def changed(source: Source, **words: Any) -> Source:
    said = {"url": URL, "means": "bearer", "matchers": (("cluster", "c04"),), **words}
    return services.set_telemetry(operator(), source, TelemetryAsked(**said))


def test_words_of_the_form_are_those_of_the_connector() -> None:
    assert tuple(Means.values) == prometheus.MEANS


def test_the_secret_is_sealed_and_shown_nowhere(source: Source) -> None:
    made = services.set_telemetry(operator(), source, ASKED)
    assert prometheus.endpoint_of(made.config["telemetry"]).secret == SECRET
    assert SECRET not in str(list(Credential.objects.values()))
    assert SECRET not in str(list(Entry.objects.values()))
    assert SECRET not in str(made.config) + repr(ASKED)
    client = Client()
    client.force_login(operator())
    for name in ("inventory:source", "inventory:telemetry"):
        assert SECRET not in client.get(reverse(name, args=[made.pk])).content.decode()


def test_an_authority_that_is_none_is_named(source: Source) -> None:
    for text in ("no PEM", "\u00e9\u2603", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----"):
        with pytest.raises(services.ClusterError, match="no certificate in PEM form") as caught:
            changed(source, ca=text)
        assert caught.value.field == "ca"


def test_a_secret_stays_with_its_address_and_goes_with_it(source: Source) -> None:
    first = services.set_telemetry(operator(), source, ASKED).config["telemetry"]["credential"]
    assert changed(source, idle_below=9).config["telemetry"]["credential"] == first
    with pytest.raises(services.ClusterError, match="given anew"):
        changed(source, url="https://elsewhere.example")
    moved = changed(source, url="https://elsewhere.example", secret="another")
    assert not Credential.objects.filter(pk=first).exists()
    services.drop_telemetry(operator(), moved)
    assert Credential.objects.count() == 1  # the kubeconfig
    assert selectors.telemetry_state(Source.objects.get(pk=source.pk)) is None


def test_removing_the_source_forgets_both_secrets(source: Source) -> None:
    services.set_telemetry(operator(), source, ASKED)
    services.remove_source(operator(), Source.objects.get(pk=source.pk), "old")
    assert Credential.objects.count() == 0


def test_other_settings_of_the_cluster_leave_it_alone(source: Source) -> None:
    made = services.set_telemetry(operator(), source, ASKED)
    services.change_cluster(operator(), made, services.Asked("k8s", "kubeconfig", period_s=30))
    assert Source.objects.get(pk=made.pk).config["telemetry"]["url"] == URL


WRONG = [
    ({"url": "http://prometheus.example"}, "url"),
    ({"url": "http://169.254.169.254", "means": "none"}, "url"),
    ({"ca": "no certificate"}, "ca"),
    ({"node_labels": ("a) or b",)}, "node_labels"),
    ({"matchers": (("a b", "c"),)}, "matchers"),
    ({"idle_below": 0}, "idle_below"),
]


@pytest.mark.parametrize(("words", "field"), WRONG)
def test_what_is_wrong_is_named_and_nothing_is_kept(source: Source, words: dict[str, Any], field: str) -> None:
    with pytest.raises(services.ClusterError) as caught:
        changed(source, **{"secret": SECRET, **words})
    assert caught.value.field == field
    assert Credential.objects.count() == 1


def test_only_those_who_may_load_clusters(source: Source) -> None:
    with pytest.raises(Denied):
        services.set_telemetry(viewer(), source, ASKED)


def test_the_form_and_the_api_keep_the_same(source: Source) -> None:
    client = Client()
    client.force_login(operator())
    page = reverse("inventory:telemetry", args=[source.pk])
    said = {"url": URL, "means": "bearer", "secret": SECRET, "matchers": "cluster=c04", "idle_below": "7"}
    assert client.post(page, {**said, "means": "magic"}).status_code == 400
    assert client.post(page, {**said, "url": "ftp://x"}).status_code == 400
    assert client.post(page, said).status_code == 302
    by_form = dict(Source.objects.get(pk=source.pk).config["telemetry"])
    api = APIClient()
    api.force_authenticate(operator())
    where = f"/api/v1/clusters/{source.pk}/telemetry/"
    answer = api.put(where, {**said, "matchers": ["cluster=c04"]}, format="json")
    assert answer.status_code == 200
    assert SECRET not in answer.content.decode()
    by_api = dict(Source.objects.get(pk=source.pk).config["telemetry"])
    assert {**by_form, "credential": ""} == {**by_api, "credential": ""}
    assert api.get(where).json()["matchers"] == ["cluster=c04"]


def test_a_dry_test_keeps_nothing_and_is_written_down(source: Source) -> None:
    observed(world().node("a").node("c"), name="another")
    client = Client()
    client.force_login(operator())
    page = reverse("inventory:telemetry-test", args=[source.pk])
    with playing(exposition()) as player:
        said = {"url": player.url, "means": "none", "idle_below": "5"}
        answer = client.post(page, said, headers={"HX-Request": "true"})
        body = answer.content.decode()
        assert answer.status_code == 200 and "The endpoint measures this cluster" in body
        assert "are not\n        read yet" in body and "DCGM_FI_PROF_SM_ACTIVE" in body
        assert "<form" not in body and "<form" in client.post(page, said).content.decode()
        api = APIClient()
        api.force_authenticate(operator())
        where = f"/api/v1/clusters/{source.pk}/telemetry/test/"
        told = api.post(where, said, format="json").json()
        assert (told["ok"], told["named"], told["matched"]) == (True, 3, None)
        assert api.post(where).status_code == 400  # none is kept
        services.set_telemetry(operator(), source, TelemetryAsked(player.url))
        assert api.post(where).json()["ok"] is True
    assert Entry.objects.filter(action="source.telemetry_tested").count() == 4
    assert api.post(where).json()["word"] == "closed"


def test_nodes_of_the_newest_reading_are_looked_for() -> None:
    source = observed(world().node("a").node("d")).source
    source.config = {**source.config, "telemetry": None}
    with playing(exposition()) as player:
        found = services.try_telemetry(operator(), source, TelemetryAsked(player.url))
    assert (found.matched, found.of_nodes, found.strangers, found.silent) == (1, 2, ("b", "c"), ("d",))


def test_a_dry_test_sends_the_kept_secret_to_its_own_address_only(source: Source, settings: Any) -> None:
    settings.KUBECONFIG_ALLOW = ("plain-http",)
    with playing(exposition()) as player:
        kept = TelemetryAsked(player.url, "bearer", secret=SECRET)
        made = services.set_telemetry(operator(), source, kept)
        services.try_telemetry(operator(), made, TelemetryAsked(player.url, "bearer"))
        assert player.headers[-1]["Authorization"] == f"Bearer {SECRET}"
        asked = len(player.asked)
        with pytest.raises(services.ClusterError, match="given anew"):
            services.try_telemetry(operator(), made, TelemetryAsked(player.url + "/x", "bearer"))
        services.try_telemetry(operator(), made, TelemetryAsked(player.url + "/x", "bearer", secret="new"))
        assert len(player.asked) == asked + 1 and player.headers[-1]["Authorization"] == "Bearer new"
    with pytest.raises(Denied):
        services.try_telemetry(viewer(), made)


TOLD = {
    "state": "late",
    "error": "the endpoint is silent",
    "at": datetime(2026, 11, 29, tzinfo=UTC).isoformat(),
    "took_s": 1.0,
    "samples": 12,
    "nameless": 0,
    "devices": 2,
    "unplaced": 1,
    "named": ["node gone"],
    "reasons": [["n1", 1, "XID 79"]],
}


def test_the_page_of_the_source_says_why_nothing_is_known(source: Source) -> None:
    made = services.set_telemetry(operator(), source, ASKED)
    now = timezone.now()
    watch, _ = Watch.objects.update_or_create(
        source=made,
        defaults={"holder": "w", "expires_at": now + timedelta(minutes=1), "health_at": now, "telemetry": TOLD},
    )
    client = Client()
    client.force_login(operator())
    body = client.get(reverse("inventory:source", args=[made.pk])).content.decode()
    assert "the endpoint is silent" in body
    assert "node gone" in body
    assert "The last samples are shown" in body
    assert "the endpoint is silent" in client.get(reverse("inventory:idle")).content.decode()
    watch.expires_at = now
    watch.save()
    assert "What devices do is unknown" in client.get(reverse("inventory:source", args=[made.pk])).content.decode()


def test_unhealthy_devices_have_sign_and_holder_and_tenants_see_their_own() -> None:
    sick = [{"index": 0, "health": "degraded"}, {"index": 1, "health": "failed", "uuid": "GPU-1"}]
    built = world().node("n1", devices=sick).pod("a", "n1", 1, tenant="theirs", devices=[1])
    source = observed(built).source
    Watch.objects.create(source=source, telemetry=TOLD)
    rows, total = selectors.sick_devices(operator())
    assert [(row.index, row.health, row.reason) for row in rows] == [(1, "failed", "XID 79"), (0, "degraded", "")]
    assert ([holder.key for holder in rows[0].holders], total) == (["jobs/a"], 2)
    assert selectors.sick_devices(tenant("mine")) == ((), 0)
    client = Client()
    client.force_login(operator())
    body = client.get(reverse("inventory:idle")).content.decode()
    assert "XID 79" in body and "GPU-1" in body


def test_power_is_a_sum_of_what_is_told() -> None:
    observed(world().node("n1", power_watts=700).node("n2"))
    found = selectors.watts_now(operator())
    assert found is not None
    assert (found.watts, found.nodes, found.of_nodes) == (700, 1, 2)
    assert selectors.watts_now(tenant("mine")) is None
