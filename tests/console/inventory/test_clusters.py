"""Adding and changing clusters: what is refused and why, and that no secret ever comes out again."""

import json
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client, override_settings
from django.utils import timezone
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.connectors.kubernetes import credentials
from console.connectors.kubernetes.access import Login, log_in
from console.connectors.kubernetes.feed import ClusterFeed
from console.connectors.kubernetes.logins import way_in
from console.connectors.kubernetes.steps import Refused
from console.connectors.kubernetes.wire import Api
from console.connectors.models import Credential
from console.connectors.protocol import ConnectorError
from console.inventory import selectors, services
from console.inventory.choices import DONE, UNHELD, Levels
from console.inventory.models import Source, Watch
from console.inventory.services import leases
from console.inventory.templatetags.clusters import clock_words
from console.tenancy.services import Denied
from scheduler.kubernetes.objects import KINDS
from scheduler.kubernetes.options import AUTO, PRESETS
from scheduler.kubernetes.unheld import Done, What
from tests.builders.fleets import kubernetes_source
from tests.builders.pages import squeezed
from tests.builders.people import operator, viewer
from tests.kubernetes import worlds
from tests.kubernetes.player.on_port import kubeconfig
from tests.kubernetes.player.server import Player
from tests.kubernetes.worlds import path_of

pytestmark = pytest.mark.django_db
SECRET, OTHER_SECRET = "t0p-s3cret-t0ken", "an0ther-s3cret"
HTTPS = "https://127.0.0.1:9"
FORM = {"name": "k8s", "way": "kubeconfig", "period_s": "10", "levels": "auto", "namespace_tenants": "on"}


def _client(user: Any = None) -> Client:
    client = Client()
    client.force_login(user or operator())
    return client


def _post(given: bytes, path: str = "/sources/add", **fields: str) -> Any:
    return _client().post(path, {**FORM, "pasted": given.decode(), **fields}, headers={"HX-Request": "true"})


def _document(**user: Any) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(kubeconfig(HTTPS, SECRET))
    whole["users"][0]["user"] = user or whole["users"][0]["user"]
    return whole


REFUSED = {
    "runs a program": (_document(exec={"command": "/bin/sh"}), "a plugin that runs a program"),
    "reads a file": (_document(tokenFile="/etc/passwd"), "files on this machine"),
    "acts as another": (_document(token=SECRET, **{"as": "admin"}), "acts as somebody else"),
    "has a password": (_document(username="a", password=SECRET), "a user name and a password"),
    "has no context": ({**_document(), "contexts": []}, "no context"),
    "is no kubeconfig": ({"hello": SECRET}, "not a kubeconfig"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_kubeconfig_says_why_and_leaves_nothing(case: str) -> None:
    whole, why = REFUSED[case]
    answer = _post(json.dumps(whole).encode())
    page = answer.content.decode()
    assert answer.status_code == 400 and why in page
    assert SECRET not in page
    assert not Source.objects.exists() and not Credential.objects.exists() and not Entry.objects.exists()


@pytest.mark.parametrize("server", ["http://127.0.0.1:9", "https://169.254.169.254", "ftp://somewhere"])
def test_a_refused_address(server: str) -> None:
    answer = _post(kubeconfig(server, SECRET))
    assert answer.status_code == 400 and SECRET not in answer.content.decode()
    assert not Source.objects.exists()


def test_not_yaml_is_refused_without_quoting_it() -> None:
    answer = _post(f"token: [{SECRET}".encode())
    assert answer.status_code == 400 and "not YAML" in answer.content.decode()
    assert SECRET not in answer.content.decode()


def test_several_contexts_are_offered_and_only_the_chosen_one_is_kept() -> None:
    given = json.loads(kubeconfig(HTTPS, SECRET, "green", "blue"))
    given["users"].append({"name": "them", "user": {"token": OTHER_SECRET}})
    given["contexts"][1]["context"]["user"] = "them"
    data = json.dumps(given).encode()
    page = _post(data).content.decode()
    assert 'value="green"' in page and 'value="blue"' in page and not Source.objects.exists()
    answer = _post(data, context="green")
    source = Source.objects.get()
    assert answer.headers["HX-Redirect"] == f"/sources/{source.pk}/"
    kept = credentials.fetch(source.config["credential"]).decode()
    assert SECRET in kept and OTHER_SECRET not in kept and "blue" not in kept


def test_no_secret_in_pages_answers_rows_or_the_audit_log(caplog: pytest.LogCaptureFixture) -> None:
    source = kubernetes_source(token=SECRET)
    services.change_cluster(operator(), source, services.Asked("k8s", "kubeconfig", kubeconfig(HTTPS, OTHER_SECRET)))
    pages = ["/sources/", f"/sources/{source.pk}/", f"/sources/{source.pk}/change", "/audit/"]
    pages += ["/api/v1/clusters/", f"/api/v1/clusters/{source.pk}/", "/api/v1/sources/", "/api/v1/audit/entries/"]
    said = [_client().get(page) for page in pages]
    assert [answer.status_code for answer in said] == [200] * len(pages)
    text = "".join(answer.content.decode() for answer in said) + caplog.text
    text += json.dumps([*Entry.objects.values_list("action", "detail"), *Source.objects.values_list("config")])
    text += "".join(Credential.objects.values_list("sealed", flat=True))
    assert "kubernetes" in text.lower()
    for secret in (SECRET, OTHER_SECRET, source.config["credential"]):
        assert secret not in text.replace(json.dumps(Source.objects.get().config), "")


def test_the_page_of_a_refused_form_is_drawn_without_the_kubeconfig() -> None:
    answer = _client().post("/sources/add", {**FORM, "name": "", "pasted": kubeconfig(HTTPS, SECRET).decode()})
    assert answer.status_code == 400 and "Name" in answer.content.decode()
    assert SECRET not in answer.content.decode()


def test_new_credentials_replace_the_old_ones() -> None:
    source = kubernetes_source(token=SECRET)
    before = source.config["credential"]
    answer = _post(kubeconfig(HTTPS, OTHER_SECRET), f"/sources/{source.pk}/change", period_s="30")
    assert answer.headers["HX-Redirect"] == f"/sources/{source.pk}/"
    source.refresh_from_db()
    assert source.period_s == 30 and source.config["generation"] == 2
    assert OTHER_SECRET in credentials.fetch(source.config["credential"]).decode()
    assert not Credential.objects.filter(pk=before).exists()
    assert Entry.objects.get(action="source.changed").detail["credentials"] == "replaced"


def test_settings_change_without_the_credentials() -> None:
    source = kubernetes_source(token=SECRET)
    _client().post(f"/sources/{source.pk}/change", {**FORM, "levels": "custom", "custom_levels": "asw=net/leaf"})
    changed = Source.objects.get()
    assert changed.config["credential"] == source.config["credential"]
    assert changed.config["options"]["levels"] == [["asw", "net/leaf"]]
    assert way_in(changed.config).server == HTTPS


def test_removing_forgets_the_credentials() -> None:
    source = kubernetes_source()
    _client().post(f"/sources/{source.pk}/remove", {"reason": "gone"})
    assert not Source.objects.exists() and not Credential.objects.exists()


def test_wrong_fields_are_named() -> None:
    for fields, words in (
        ({"period_s": "1"}, "Seconds between readings"),
        ({"levels": "custom", "custom_levels": "asw"}, "an equals sign"),
        ({"levels": "custom", "custom_levels": "asw=a\nasw=b"}, "must be named, and once"),
        ({"name": "x" * 101}, "Name"),
        ({"low_labels": "=x"}, "an equals sign"),
    ):
        answer = _post(kubeconfig(HTTPS, SECRET), **fields)
        assert answer.status_code == 400 and words in answer.content.decode(), fields
    assert not Source.objects.exists()


def test_a_name_is_given_once() -> None:
    kubernetes_source("twice")
    answer = _post(kubeconfig(HTTPS, SECRET), name="twice")
    assert answer.status_code == 400 and "of that name already" in answer.content.decode()


def test_without_a_key_nothing_is_kept() -> None:
    with override_settings(CREDENTIALS_KEYS=[]):
        answer = _post(kubeconfig(HTTPS, SECRET))
    assert answer.status_code == 400 and "SLACKLINE_CREDENTIALS_KEYS" in answer.content.decode()


def test_keys_are_rotated_and_a_lost_key_is_told() -> None:
    with override_settings(CREDENTIALS_KEYS=["old"]):
        source = kubernetes_source(token=SECRET)
    with override_settings(CREDENTIALS_KEYS=["new"]), pytest.raises(ConnectorError, match="sealed with a key"):
        way_in(source.config)
    with override_settings(CREDENTIALS_KEYS=["new", "old"]):
        assert way_in(source.config).server == HTTPS
        call_command("reseal_credentials")
    with override_settings(CREDENTIALS_KEYS=["new"]):
        assert way_in(source.config).server == HTTPS


def test_what_a_lost_key_sealed_keeps_nothing_else_from_a_new_one() -> None:
    with override_settings(CREDENTIALS_KEYS=["lost"]):
        credentials.keep(b"nobody opens it")
    with override_settings(CREDENTIALS_KEYS=["old"]):
        kept = credentials.keep(b"two")
    with override_settings(CREDENTIALS_KEYS=["lost too"]):
        credentials.keep(b"nor this")
    with override_settings(CREDENTIALS_KEYS=["new", "old"]), pytest.raises(CommandError, match="2 of the credentials"):
        call_command("reseal_credentials")
    with override_settings(CREDENTIALS_KEYS=["new"]):
        assert credentials.fetch(kept) == b"two"


def test_only_those_who_may_load_may_add() -> None:
    with pytest.raises(Denied):
        services.add_cluster(viewer(), services.Asked("x", "kubeconfig", kubeconfig(HTTPS, SECRET)))
    with pytest.raises(Denied):
        services.try_cluster(viewer(), services.Asked("x", "kubeconfig", kubeconfig(HTTPS, SECRET)))


def test_nobody_follows_it_so_how_it_stands_is_unknown() -> None:
    source = kubernetes_source()
    Source.objects.filter(pk=source.pk).update(state="live")
    row = selectors.source_states(viewer())[0]
    assert (row.state, row.unknown_since) == ("unknown", source.created_at)
    page = _client(viewer()).get(f"/sources/{source.pk}/").content.decode()
    assert "Nobody follows this cluster" in page and "No watch process lives" in page
    assert "Nobody follows it" in _client(viewer()).get("/sources/").content.decode()


@pytest.mark.parametrize(
    ("skew_s", "words"),
    [(None, "not told"), (0.0, "agrees with ours"), (-7200.0, "2 h behind"), (90.0, "1 min ahead")],
)
def test_how_far_a_clock_is_off(skew_s: float | None, words: str) -> None:
    assert clock_words(skew_s) == words


def test_the_page_says_which_kinds_are_unknown_and_why() -> None:
    source = kubernetes_source()
    budgets = "poddisruptionbudgets.policy"
    feed = ClusterFeed("k8s", Api(log_in(Login("test", HTTPS))), kinds=[KINDS["nodes"], KINDS["pods"], KINDS[budgets]])
    for follower in feed._followers:
        follower.reflector.step(Refused(403, "you may not <list> them"), 0.0)
    Watch.objects.create(source=source, health=asdict(feed.health()), health_at=timezone.now())
    page = squeezed(_client(viewer()).get(f"/sources/{source.pk}/").content.decode())
    assert page.count("you may not &lt;list&gt; them") == 3
    assert "Unknown, since nobody may read them" in page and "While budgets are unknown no pod moves" in page


def test_a_lease_that_ran_out_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    source = kubernetes_source()
    past = timezone.now() - timedelta(seconds=1)
    Watch.objects.create(source=source, holder="gone", held_since=past, expires_at=past)
    told: list[str] = []
    monkeypatch.setattr("console.inventory.services.leases.publish", lambda topic, kind, **_: told.append(topic))
    for _ in range(2):
        services.observe_due()
    assert told == [f"source:{source.pk}", "source"]
    assert selectors.source_states(viewer())[0].unknown_since == past


def test_two_processes_never_hold_one_source() -> None:
    source = kubernetes_source()
    leases.greet("first")
    assert leases.take("first", 5) == [source.pk]
    assert leases.take("second", 5) == [] and not leases.holds("second", source.pk)
    Watch.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert not leases.holds("first", source.pk)
    assert leases.take("second", 5) == [source.pk]
    assert leases.renew("first", [source.pk]) == set() and leases.holds("second", source.pk)


def test_the_clock_leaves_watched_sources_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    source = kubernetes_source()
    asked: list[str] = []
    monkeypatch.setattr("console.inventory.services.observing.enqueue", lambda task, **_: asked.append(task))
    services.observe_due()
    assert "inventory.observe" not in asked
    assert services.observe(source.pk) is None
    assert Source.objects.get().state == "waiting" and Source.objects.get().last_error == ""


def test_a_dry_test_tells_kind_by_kind_what_is_missing(settings: Any) -> None:
    settings.KUBECONFIG_ALLOW = frozenset({"plain-http"})
    cluster = worlds.cluster(nodes=1, pods=1, token=SECRET)
    cluster.forbidden.add(path_of("poddisruptionbudgets.policy"))
    with Player({"one": cluster}) as player:
        good = _post(kubeconfig(player.url(), SECRET), "/sources/add/test").content.decode()
        wrong = _post(kubeconfig(player.url(), OTHER_SECRET), "/sources/add/test").content.decode()
        used = {verb for verb, _ in cluster.used}
    assert "What is needed can be read" in good and "v1.37.0-player" in good
    assert "403 on list" in good and "resources: [&quot;poddisruptionbudgets&quot;]" in good
    assert "cannot be asked" in wrong and "401" in wrong
    assert used <= {"get", "list", "watch"}
    assert not Source.objects.exists() and not Credential.objects.exists()
    assert SECRET not in good and OTHER_SECRET not in wrong


def test_a_dry_test_of_a_server_that_is_not_there() -> None:
    page = _post(kubeconfig(HTTPS, SECRET), "/sources/add/test").content.decode()
    assert "cannot be asked" in page and "refused" in page and "firewall" in page


def test_the_api_adds_tests_changes_and_removes() -> None:
    client = APIClient()
    client.force_authenticate(operator())
    given = {"name": "k8s", "kubeconfig": kubeconfig(HTTPS, SECRET, "green", "blue").decode(), "context": ""}
    several = client.post("/api/v1/clusters/", given, format="json")
    assert several.status_code == 400 and "green, blue" in several.content.decode()
    made = client.post("/api/v1/clusters/", {**given, "context": "blue", "low_below": 100}, format="json")
    assert made.status_code == 201 and made.json()["reach"]["low_below"] == 100
    where = f"/api/v1/clusters/{made.json()['row']['id']}/"
    assert client.post(f"{where}test/").json()["ok"] is False
    changed = client.patch(where, {"low_labels": ["tier=spot"]}, format="json").json()["reach"]
    assert (changed["low_labels"], changed["low_below"], changed["context"]) == (["tier=spot"], 100, "blue")
    assert client.delete(where).status_code == 400
    assert client.delete(f"{where}?reason=gone").status_code == 204
    actions = list(Entry.objects.order_by("pk").values_list("action", flat=True))
    assert actions == ["source.added", "source.tested", "source.changed", "source.removed"]


def test_words_of_the_forms_are_those_of_the_reader() -> None:
    assert set(Levels.values) - {"custom"} == {AUTO, *PRESETS}
    assert set(What.__args__) <= set(UNHELD)  # type: ignore[attr-defined]
    assert set(Done.__args__) <= set(DONE)  # type: ignore[attr-defined]
