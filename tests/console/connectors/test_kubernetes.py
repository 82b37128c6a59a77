"""A Kubernetes cluster as a source: looked at through a feed, never acted on; credentials sealed and shown nowhere."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import yaml
from django.db import connection

from console.connectors import registry
from console.connectors.choices import Kind
from console.connectors.kubernetes import credentials, logins
from console.connectors.kubernetes.access import AccessError
from console.connectors.kubernetes.connector import KubernetesConnector, open_feed, options_of
from console.connectors.protocol import ConnectorError, Told
from scheduler.cluster.errors import InputError
from scheduler.kubernetes.options import PRESETS
from scheduler.plan.operations import Cordon
from tests.kubernetes import worlds
from tests.kubernetes.following import following, until
from tests.kubernetes.player.server import Player

SECRET = "very-secret-token"
CONFIG = {"cluster": "one", "way": logins.KUBECONFIG, "context": "c1", "options": {}}


@pytest.fixture
def kubeconfig() -> bytes:
    entry = {"server": "https://api.example.org:6443"}
    whole = {
        "clusters": [{"name": name, "cluster": entry} for name in ("c1", "c2")],
        "users": [{"name": "c1", "user": {"token": SECRET}}, {"name": "c2", "user": {"token": "of-another-cluster"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in ("c1", "c2")],
    }
    return yaml.safe_dump(whole).encode()


@pytest.fixture
def player() -> Iterator[Player]:
    with Player({"one": worlds.cluster(nodes=2, pods=5)}) as found:
        yield found


def test_elsewhere_it_says_who_reads() -> None:
    connector = registry.connect(Kind.KUBERNETES, dict(CONFIG))
    assert not connector.acts
    for ask in (connector.version, connector.observe, lambda: connector.read_pod("a/b")):
        with pytest.raises(ConnectorError, match=r"manage\.py watch"):
            ask()


def test_observes_and_does_not_act(player: Player) -> None:
    with following(player) as feed:
        connector = KubernetesConnector("one", feed)
        until(lambda: feed.health().ready and not feed.health().missing, "all kinds are read")
        told = connector.observe()
        assert isinstance(told, Told)
        assert (len(told.document.nodes), len(told.document.pods)) == (2, 5)
        pod, node = connector.read_pod("team/p3"), connector.read_node("n1")
        assert pod is not None
        assert node is not None
        assert (pod.node, node.gpus) == ("n1", 8)
        assert connector.read_pod("team/p9") is None
        before = set(player.clusters["one"].used)
        outcome = connector.execute(Cordon(cluster="one", node="n1"), "key")
        assert outcome.state == "failed"
        assert {verb for verb, _ in before | set(player.clusters["one"].used)} <= {"get", "list", "watch"}
        assert "only observes" in outcome.detail


def test_unread_objects_are_told_with_the_document(player: Player) -> None:
    store = player.clusters["one"].store
    player.apply(lambda: store.put(worlds.PODS, worlds.pod("broken") | {"spec": 7}))
    with following(player) as feed:
        until(lambda: feed.health().ready and not feed.health().missing, "all kinds are read")
        aside = KubernetesConnector("one", feed).observe().aside
    assert [(one.what, one.done, one.kind, one.name) for one in aside] == [("unreadable", "left out", "pods", "broken")]


@pytest.mark.django_db
def test_credentials_are_sealed_and_alone(kubeconfig: bytes, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    name = credentials.keep(logins.alone(kubeconfig, "c1"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM connectors_credential")
        rows = str(cursor.fetchall())
    assert SECRET not in rows
    assert b"of-another-cluster" not in credentials.fetch(name)
    feed = open_feed({**CONFIG, "credential": name})
    shown = [feed, feed.health(), feed._api, feed._api._access, logins.way_in({**CONFIG, "credential": name})]
    assert not [one for one in shown if SECRET in repr(one)]
    assert SECRET not in json.dumps(msgspec.to_builtins(feed.health()))
    assert SECRET not in caplog.text


@pytest.mark.django_db
def test_keys_are_replaced(settings: Any, kubeconfig: bytes) -> None:
    settings.CREDENTIALS_KEYS = ["old key of this installation"]
    name = credentials.keep(kubeconfig)
    settings.CREDENTIALS_KEYS = ["new key", "old key of this installation"]
    assert credentials.fetch(name) == kubeconfig
    assert credentials.reseal() == 1
    settings.CREDENTIALS_KEYS = ["new key"]
    assert credentials.fetch(name) == kubeconfig
    settings.CREDENTIALS_KEYS = ["a key of somebody else"]
    with pytest.raises(ConnectorError, match="sealed with a key") as caught:
        credentials.fetch(name)
    assert SECRET not in str(caught.value)
    settings.CREDENTIALS_KEYS = []
    with pytest.raises(credentials.NoKeyError, match="SLACKLINE_CREDENTIALS_KEYS"):
        credentials.keep(kubeconfig)


@pytest.mark.django_db
def test_feed_without_its_credentials(kubeconfig: bytes) -> None:
    name = credentials.keep(kubeconfig)
    credentials.forget(name)
    with pytest.raises(ConnectorError, match="gone"):
        open_feed({**CONFIG, "credential": name})


def test_account_of_a_pod_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ConnectorError, match="no account in a cluster"):
        open_feed({**CONFIG, "way": logins.IN_CLUSTER})


def test_installation_allows_what_it_names(settings: Any, kubeconfig: bytes) -> None:
    plain = kubeconfig.replace(b"https://", b"http://")
    with pytest.raises(AccessError, match="plain-http"):
        logins.login_of(plain, "c1")
    settings.KUBECONFIG_ALLOW = frozenset({"plain-http"})
    assert logins.login_of(plain, "c1").token == SECRET


def test_options_from_plain_fields() -> None:
    given = {"levels": "topograph", "tenant_labels": ["team"], "low_priority": {"classes": ["spot"], "below": 5}}
    options = options_of(given)
    assert options.levels == PRESETS["topograph"]
    assert (options.tenant_labels, options.low_priority.classes, options.low_priority.below) == (("team",), {"spot"}, 5)
    assert [level.label for level in options_of({"levels": [["asw", "net/leaf"]]}).levels] == ["net/leaf"]
    for wrong in ({"levels": "nothing"}, {"tenant_labels": 5}, {"low_priority": {"below": "x"}}):
        with pytest.raises(InputError):
            options_of(wrong)
