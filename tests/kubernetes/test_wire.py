"""The wire alone: TLS, tokens, redirects, and words for what goes wrong."""

import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from console.connectors.kubernetes import access
from console.connectors.kubernetes.access import Login, log_in
from console.connectors.kubernetes.feed import ClusterFeed
from console.connectors.kubernetes.probe import probe
from console.connectors.kubernetes.pulse import Beat, Pulse
from console.connectors.kubernetes.steps import List, Lost, Refused
from console.connectors.kubernetes.wire import Api, Trouble
from scheduler.kubernetes.objects import KINDS, decode_list
from tests.kubernetes import worlds
from tests.kubernetes.authorities import Authority
from tests.kubernetes.following import CALM, QUICK, Shelf, access_of, agreed, api_of, following, until
from tests.kubernetes.player.server import Player

PODS = KINDS["pods"]


@pytest.mark.parametrize("modern", [True, False])
def test_tls_with_certificates_of_both_sides(modern: bool, tmp_path: Path) -> None:
    """Also with an authority that does not say what its key is for: it is the operator who names it."""
    authority = Authority(modern=modern)
    certificate, key = authority.issue("observer")
    with Player({"one": worlds.cluster()}, _server_side(authority, tmp_path)) as player:
        server = player.url()
        known = Api(log_in(Login("test", server, ca=authority.pem, certificate=certificate, key=key)), CALM)
        assert len(decode_list("pods", known.page(PODS, List(500))).items) == 20
        for stranger in (Login("test", server, ca=authority.pem), Login("test", server, ca=Authority().pem)):
            with pytest.raises(Trouble) as caught:
                Api(log_in(stranger), CALM).page(PODS, List(1))
            assert caught.value.told.word in ("tls", "cut")  # type: ignore[union-attr]
    assert not [file for file in tmp_path.iterdir() if file.read_bytes().count(key)]


def _server_side(authority: Authority, folder: Path, asks: ssl.VerifyMode = ssl.CERT_REQUIRED) -> ssl.SSLContext:
    certificate, key = authority.issue("server", "127.0.0.1")
    pair, trusted = folder / "server.pem", folder / "authority.pem"
    pair.write_bytes(certificate + key)
    trusted.write_bytes(authority.pem)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(trusted))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_mode = asks
    context.load_cert_chain(pair)
    return context


def test_token_is_asked_for() -> None:
    with Player({"one": worlds.cluster(token="secret")}) as player:
        with pytest.raises(Trouble) as caught:
            api_of(player, patience=CALM).page(PODS, List(1))
        assert caught.value.told == Refused(401, "Unauthorized")
        assert api_of(player, token="secret", patience=CALM).page(PODS, List(1))


def test_token_that_expires_and_is_given_again() -> None:
    cluster = worlds.cluster(token="secret")
    with Player({"one": cluster}) as player, following(player, kinds=("nodes", "pods")) as feed:
        until(lambda: feed.health().ready, "the first lists")
        player.apply(lambda: setattr(cluster, "token", "another"))
        player.hang_up()
        until(lambda: all(kind.errors.get("401") for kind in feed.health().kinds), "refused")
        assert "401" in feed.health().kinds[0].reason
        player.apply(lambda: setattr(cluster, "token", "secret"))
        player.apply(lambda: cluster.store.put(worlds.PODS, worlds.pod("late", on="n0")))
        until(lambda: agreed(feed, player), "let in again")


def test_authority_that_is_replaced_in_its_file_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster's authority ends as tokens do; who has followed it for years knows only the old one."""
    monkeypatch.setattr(access, "RENEW_S", 0.0)
    authority, trusted, cluster = Authority(), tmp_path / "ca.crt", worlds.cluster()
    trusted.write_bytes(Authority().pem)
    with Player({"one": cluster}, _server_side(authority, tmp_path, ssl.CERT_NONE)) as player:
        api = Api(log_in(Login("test", player.url(), files={"certificate-authority": str(trusted)})), CALM)
        feed = ClusterFeed("one", api, limits=QUICK, kinds=[KINDS["nodes"], PODS], reader=Shelf())
        feed.start()
        until(lambda: all(kind.errors.get("tls") for kind in feed.health().kinds), "refused by us")
        trusted.write_bytes(authority.pem)
        until(lambda: agreed(feed, player), "trusted again")
        feed.stop()
        assert agreed(feed, player)


def test_account_of_a_pod_whose_token_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, cluster = Authority(), worlds.cluster(token="first")
    token, trusted = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("first")
    trusted.write_bytes(authority.pem)
    monkeypatch.setattr(access, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(access, "SERVICE_CERT_FILENAME", str(trusted))
    monkeypatch.setattr(access, "RENEW_S", 0.0)
    with Player({"one": cluster}, _server_side(authority, tmp_path, ssl.CERT_NONE)) as player:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", f"{player.port}/c/one")
        api = Api(access.in_cluster(), CALM)
        assert api.page(PODS, List(1))
        cluster.token = "second"
        token.write_text("second")
        with pytest.raises(Trouble, match="Unauthorized"):
            api.page(PODS, List(1))
        api.renew()
        assert api.page(PODS, List(1))
        token.unlink()
        api.renew()  # nothing new to be had: it goes on with what it has
        assert api.page(PODS, List(1))


def test_redirects_are_not_followed() -> None:
    """A redirect could lead the token to somebody else."""
    heads: list[bytes] = []
    answer = b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with Player({"one": worlds.cluster()}) as player:
        target = player.url().encode() + b"/api/v1/pods"
        with _speaking(answer % target, heads) as port, pytest.raises(Trouble) as caught:
            Api(log_in(Login("test", f"http://127.0.0.1:{port}", token="secret")), CALM).page(PODS, List(1))
        assert not player.clusters["one"].used
    assert isinstance(caught.value.told, Refused)
    assert caught.value.told.status == 302
    assert b"secret" in heads[0]


def test_nothing_is_sent_to_where_no_api_server_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address is looked at once more when the connection stands: the name may have led somewhere else."""
    with Player({"one": worlds.cluster()}) as player:
        api, asked = api_of(player, token="secret", patience=CALM), []

        def refuse(address: str) -> None:
            asked.append(address)
            raise access.AccessError(f"{address} is not the address of an API server")

        monkeypatch.setattr(access, "refuse_address", refuse)
        with pytest.raises(Trouble, match=r"127\.0\.0\.1 is not the address of an API server") as caught:
            api.page(PODS, List(1))
        assert (caught.value.told.word, asked) == ("unreachable", ["127.0.0.1"])  # type: ignore[union-attr]
        assert not player.clusters["one"].used


@pytest.mark.parametrize(
    ("said", "word"),
    [
        (b"", "cut"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "cut"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "cut"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n{"kind":"BananaList"    }', "wrong kind"),
    ],
)
def test_words_for_answers_that_are_none(said: bytes, word: str) -> None:
    with _speaking(said, []) as port, pytest.raises(Trouble) as caught:
        Api(log_in(Login("test", f"http://127.0.0.1:{port}")), CALM).page(PODS, List(1))
    assert isinstance(caught.value.told, Lost)
    assert caught.value.told.word == word


@pytest.mark.parametrize(
    "date",
    [
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Wed, 31 Dec 1969 23:59:59 GMT",
        "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Mon, 01 Jan 2024 00:00:00 +99999999999999999999",
        "soon",
    ],
)
def test_what_is_no_date_tells_nothing_of_a_clock(date: str) -> None:
    with _speaking(f"HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Length: 2\r\n\r\n{{}}".encode(), []) as port:
        api = Api(log_in(Login("test", f"http://127.0.0.1:{port}")), CALM)
        assert api.version() == b"{}"
    assert api.date_skews == []


def test_a_pulse_tells_silence_from_refusal() -> None:
    beat = Beat(every_s=0.01, answer_s=0.2, lost_s=0.3)
    with Player({"one": worlds.cluster(token="secret")}) as player:
        refused = Pulse(api_of(player, token="another"), replace(beat, answer_s=20.0))
        refused.ask()
        time.sleep(beat.lost_s)
        assert refused.lost() == ""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        hanging = Pulse(Api(log_in(Login("test", f"http://127.0.0.1:{listening.getsockname()[1]}"))), beat)
        assert hanging.lost() == ""
        stop = threading.Event()
        thread = threading.Thread(target=hanging.run, args=(stop,))
        thread.start()
        until(lambda: bool(hanging.lost()), "silence is told")
        stop.set()
        thread.join()
    assert "does not answer since" in hanging.lost()
    assert Beat().lost_s + 2.0 < 15.0  # what docs/operations.md promises


def test_a_server_that_speaks_plain_http_is_told_by_its_scheme() -> None:
    with _speaking(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", []) as port:
        found = probe(log_in(Login("test", f"https://127.0.0.1:{port}")))
    assert found.reason == "scheme: the server does not speak TLS at that port; perhaps plain http"
    assert "check the scheme" in found.advice and "authority" not in found.advice


def test_words_for_a_certificate_of_somebody_else(tmp_path: Path) -> None:
    with Player({"one": worlds.cluster()}, _server_side(Authority(), tmp_path, ssl.CERT_NONE)) as player:
        found = probe(log_in(Login("test", player.url(), ca=Authority().pem)))
    assert re.fullmatch(r"tls: TLS failed: certificate verify failed: [\w -]+", found.reason)
    assert "authority" in found.advice


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_reasons_name_no_classes_of_ours(scheme: str) -> None:
    reason = probe(log_in(Login("test", f"{scheme}://127.0.0.1:9"))).reason
    assert "refused" in reason
    assert not re.search(r"_Plain|_Encrypted|Pool|\w\(|Error", reason), reason


def test_probe_says_what_may_not_be_read() -> None:
    cluster = worlds.cluster()
    cluster.forbidden.add(worlds.PODS)
    with Player({"one": cluster}) as player:
        found = probe(access_of(player))
    states = {one.kind: one.state for one in found.kinds}
    assert not found.ok
    assert (states["nodes"], states["pods"], states["workloads.kueue.x-k8s.io"]) == ("readable", "forbidden", "absent")
    assert found.server_version == "v1.37.0-player"


@contextmanager
def _speaking(said: bytes, heads: list[bytes]) -> Iterator[int]:
    """A server on loopback that says always the same."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    heads.append(connection.recv(65_536))
                    connection.sendall(said)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
