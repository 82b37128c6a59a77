"""Tokens that no header can carry: refused where they come in; in no log, answer or row, whatever happens."""

import json
import logging
import re
from pathlib import Path
from typing import Any, cast

import pytest
from django.db import connection
from django.test import Client
from kubernetes.client import ApiClient
from rest_framework.test import APIClient

from console.connectors.kubernetes import access, credentials
from console.connectors.kubernetes.access import Login, log_in
from console.connectors.kubernetes.feed import ClusterFeed
from console.connectors.kubernetes.probe import probe
from console.connectors.kubernetes.wire import Api
from console.connectors.models import Credential
from console.connectors.prometheus import endpoint_of
from console.connectors.protocol import ConnectorError
from console.connectors.sampling import Sampler
from console.inventory import services
from console.inventory.models import Source
from console.inventory.services import TelemetryAsked
from scheduler.kubernetes.objects import KINDS
from tests.builders.fleets import kubernetes_source
from tests.builders.people import operator
from tests.kubernetes import worlds
from tests.kubernetes.following import QUICK, access_of, until
from tests.kubernetes.player.on_port import kubeconfig
from tests.kubernetes.player.server import Player

pytestmark = pytest.mark.django_db
SECRET = "t0p-s3cret-t0ken"
HTTPS = "https://127.0.0.1:9"
FORM = {"name": "k8s", "way": "kubeconfig", "period_s": "10", "levels": "auto", "namespace_tenants": "on"}
BAD = (f"{SECRET}\nX: y", f"{SECRET}é", f"{SECRET}\x00", f"{SECRET}\u2603")


def _rows() -> str:
    """All rows of all tables."""
    with connection.cursor() as cursor:
        text = ""
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            text += str(cursor.fetchall())
    return text


def _client() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(operator())
    return client


@pytest.mark.parametrize("token", BAD)
def test_a_token_that_no_header_can_carry(token: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    api = APIClient(raise_request_exception=False)
    api.force_authenticate(operator())
    given = kubeconfig(HTTPS, token).decode()
    answers: list[Any] = [_client().post(f"/sources/add{path}", {**FORM, "pasted": given}) for path in ("", "/test")]
    for path in ("", "test/"):
        said = {"name": "k8s", "kubeconfig": given, "context": ""}
        answers.append(api.post(f"/api/v1/clusters/{path}", said, format="json"))
    pages = [answer.content.decode() for answer in answers]
    assert [answer.status_code for answer in answers] == [400] * 4
    assert all("no header can carry" in page for page in pages)
    assert not Source.objects.exists() and not Credential.objects.exists()
    assert SECRET not in "".join(pages) + caplog.text + _rows()


def test_a_token_with_a_line_break_at_its_end_is_sent_without(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    settings.KUBECONFIG_ALLOW = frozenset({"plain-http"})
    with Player({"one": worlds.cluster(nodes=1, pods=1, token=SECRET)}) as player:
        given = kubeconfig(player.url(), f"{SECRET}\n").decode()
        page = _client().post("/sources/add/test", {**FORM, "pasted": given}).content.decode()
    assert "What is needed can be read" in page
    assert SECRET not in page + caplog.text + _rows()


def test_a_token_that_goes_bad_while_it_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(access, "TOKEN_S", 0.0)
    file = tmp_path / "token"
    file.write_text(f"{SECRET}\n")
    with Player({"one": worlds.cluster(nodes=1, pods=1, token=SECRET)}) as player:
        way = log_in(Login("test", player.url(), files={"tokenFile": str(file)}))
        assert probe(way, [KINDS["pods"]]).ok
        way = log_in(Login("test", player.url(), files={"tokenFile": str(file)}))
        file.write_text(BAD[0])
        assert probe(way, [KINDS["pods"]]).ok, "the last token that could be read holds"
        with pytest.raises(access.AccessError, match="no header can carry"):
            log_in(Login("test", player.url(), files={"tokenFile": str(file)}))
    assert SECRET not in caplog.text


def test_errors_that_quote_a_header_are_not_logged(monkeypatch: pytest.MonkeyPatch, capfd: Any, caplog: Any) -> None:
    """Whatever goes wrong in the client, its text stays where it is: the log has its class and where it was."""
    caplog.set_level(logging.DEBUG)

    def fails(*_: Any, **__: Any) -> Any:
        raise ValueError(f"Invalid header value b'Bearer {SECRET}\\n'")

    monkeypatch.setattr(ApiClient, "call_api", fails)
    with Player({"one": worlds.cluster(nodes=1, pods=1)}) as player:
        found = probe(access_of(player))
        feed = ClusterFeed("one", Api(access_of(player)), limits=QUICK, kinds=[KINDS["pods"], KINDS["nodes"]])
        feed.start()
        until(lambda: all(kind.errors.get("unexpected") for kind in feed.health().kinds), "the mistake is counted")
        feed.stop()
    sampler = Sampler(fails)
    sampler.ask()
    assert not found.ok and "ValueError" in found.reason
    written = capfd.readouterr()
    told = caplog.text + written.out + written.err + repr(found) + repr(feed.health()) + repr(sampler.told())
    assert "kubernetes.unexpected" in told and "telemetry.unexpected" in told
    assert SECRET not in told


def test_source_says_a_mistake_in_a_sentence_and_its_number_in_the_log(capfd: Any, caplog: Any) -> None:
    """The same mistake has the same number; the text of the error is kept nowhere."""
    caplog.set_level(logging.DEBUG)
    source = kubernetes_source()

    class Wire:
        acts = False

        def version(self) -> str:
            raise ValueError(f"Invalid header value b'Bearer {SECRET}\n'")

    for _ in range(2):
        with pytest.raises(ValueError, match="Invalid header"):
            services.observe(source.pk, wire=cast(Any, Wire()))
    source.refresh_from_db()
    found = re.fullmatch(
        r"It could not be read because of a mistake of ours \(ValueError\); the log says where, under ([0-9a-f]{8})\.",
        source.last_error,
    )
    assert found is not None and source.failures == 2
    written = capfd.readouterr()
    told = caplog.text + written.out + written.err
    assert told.count("source.unexpected") == 2 and found[1] in told and "test_secrets.py" in told
    assert SECRET not in told


@pytest.mark.parametrize("secret", BAD)
def test_a_telemetry_token_that_no_header_can_carry(secret: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    source = kubernetes_source()
    asked = TelemetryAsked("https://127.0.0.1:9", "bearer", secret=secret)
    for act in (services.set_telemetry, services.try_telemetry):
        with pytest.raises(services.ClusterError, match="no header can carry") as caught:
            act(operator(), source, asked)
        assert caught.value.field == "secret" and SECRET not in str(caught.value)
    assert Credential.objects.count() == 1
    assert SECRET not in caplog.text + json.dumps(Source.objects.get().config)


def test_passwords_may_hold_any_letters_and_no_control_characters() -> None:
    source = kubernetes_source()
    made = services.set_telemetry(operator(), source, TelemetryAsked(HTTPS, "basic", "ann", "pässwörd\n"))
    assert endpoint_of(made.config["telemetry"]).secret == "pässwörd"
    with pytest.raises(services.ClusterError, match="control character"):
        services.set_telemetry(operator(), source, TelemetryAsked(HTTPS, "basic", "ann", "a\x00b"))


def test_a_kept_secret_that_cannot_be_sent_is_asked_for_again() -> None:
    """It may have been kept before such secrets were refused."""
    config = {"url": HTTPS, "means": "bearer", "credential": credentials.keep(BAD[0].encode())}
    with pytest.raises(ConnectorError, match="give it again") as caught:
        endpoint_of(config)
    assert SECRET not in str(caught.value)
