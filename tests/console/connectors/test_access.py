"""Kubeconfigs: what is taken, what is refused and why, and that secrets stay where they are."""

import base64
import logging
from typing import Any

import pytest
import yaml

from console.connectors.kubernetes.access import ALLOWABLE, AccessError, SeveralContexts, log_in, read_kubeconfig
from console.connectors.kubernetes.steps import List
from console.connectors.kubernetes.wire import Api, Patience, Trouble
from scheduler.kubernetes.objects import KINDS

TOKEN = "very-secret-token"
EVERYTHING = frozenset(ALLOWABLE)
HURRIED = Patience(connect_s=1.0, answer_s=1.0, page_s=2.0, silent_s=1.0)


def kubeconfig(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, contexts: int = 1) -> bytes:
    server = {"server": "https://api.example.org:6443"}
    names = [f"c{at}" for at in range(contexts)]
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c0",
        "clusters": [{"name": name, "cluster": server | (cluster or {})} for name in names],
        "users": [{"name": name, "user": {"token": TOKEN} if user is None else user} for name in names],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in names],
    }
    return yaml.safe_dump(whole).encode()


def test_token() -> None:
    login = read_kubeconfig(kubeconfig())
    assert (login.context, login.server, login.token, login.means) == (
        "c0",
        "https://api.example.org:6443",
        TOKEN,
        "token",
    )


def test_one_of_several_contexts_must_be_chosen() -> None:
    with pytest.raises(SeveralContexts, match="choose one of the contexts c0, c1") as caught:
        read_kubeconfig(kubeconfig(contexts=2))
    assert (caught.value.names, caught.value.current) == (["c0", "c1"], "c0")
    assert read_kubeconfig(kubeconfig(contexts=2), "c1").context == "c1"
    with pytest.raises(AccessError, match="no context c9; it has c0, c1"):
        read_kubeconfig(kubeconfig(contexts=2), "c9")


@pytest.mark.parametrize(
    ("word", "cluster", "user"),
    [
        ("exec", {}, {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "rm"}}),
        ("auth-provider", {}, {"auth-provider": {"name": "gcp"}}),
        ("files", {}, {"tokenFile": "/etc/passwd"}),
        ("files", {}, {"client-certificate": "/etc/cert", "client-key": "/etc/key"}),
        ("files", {"certificate-authority": "/etc/ca"}, {}),
        ("insecure", {"insecure-skip-tls-verify": True}, {}),
        ("proxy", {"proxy-url": "http://proxy.example.org"}, {}),
        ("plain-http", {"server": "http://api.example.org"}, {}),
    ],
)
def test_what_only_an_installation_may_allow(word: str, cluster: dict[str, Any], user: dict[str, Any]) -> None:
    text = kubeconfig(cluster, {"token": TOKEN} | user)
    with pytest.raises(AccessError, match=f"SLACKLINE_KUBECONFIG_ALLOW={word} would") as caught:
        read_kubeconfig(text)
    assert TOKEN not in str(caught.value)
    with pytest.raises(AccessError):
        read_kubeconfig(text, allowed=EVERYTHING - {word})
    assert read_kubeconfig(text, allowed=frozenset({word})).context == "c0"


@pytest.mark.parametrize(
    ("cluster", "user", "reason"),
    [
        ({}, {"username": "ann", "password": "secret"}, "user name and a password"),
        ({}, {"token": TOKEN, "as": "admin"}, "acts as somebody else"),
        ({"server": "file:///etc/passwd"}, None, "not an https address"),
        ({"server": ""}, None, "not an https address"),
        ({"server": "https://ann:secret@api.example.org"}, None, "more than an address"),
        ({"server": "https://169.254.169.254"}, None, "not the address of an API server"),
        ({"server": "https://[fe80::1]"}, None, "not the address of an API server"),
        ({"server": "https://[::ffff:169.254.169.254]"}, None, "not the address of an API server"),
        ({"certificate-authority-data": "%%%"}, None, "not base64"),
    ],
)
def test_refused_always(cluster: dict[str, Any], user: dict[str, Any] | None, reason: str) -> None:
    with pytest.raises(AccessError, match=reason) as caught:
        read_kubeconfig(kubeconfig(cluster, user), allowed=EVERYTHING)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"\x00\xff", "not YAML"),
        (b"token: [very-secret-token", "not YAML"),
        (b"just words", "not a kubeconfig"),
        (b"clusters: []\ncontexts: []\n", "no context"),
        (b"x" * (1 << 20) + b"x", "at most 1 MiB"),
        (kubeconfig().replace(b"cluster: c0", b"cluster: c7"), "no cluster 'c7'"),
    ],
)
def test_not_a_kubeconfig(text: bytes, reason: str) -> None:
    with pytest.raises(AccessError, match=reason) as caught:
        read_kubeconfig(text)
    assert "secret" not in str(caught.value)


def test_key_that_is_none() -> None:
    bad = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nsecret\n-----END CERTIFICATE-----").decode()
    login = read_kubeconfig(kubeconfig(user={"client-certificate-data": bad, "client-key-data": bad}))
    with pytest.raises(AccessError, match="cannot be used") as caught:
        log_in(login)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_secrets_are_in_no_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    cluster = {"server": "https://127.0.0.1:9", "certificate-authority-data": ""}
    login = read_kubeconfig(kubeconfig(cluster))
    api = Api(log_in(login), HURRIED)
    with pytest.raises(Trouble) as caught:
        api.page(KINDS["pods"], List(1))
    texts = [
        repr(login),
        str(login),
        repr(api),
        repr(api._access),
        str(caught.value),
        repr(caught.value.told),
        caplog.text,
    ]
    assert not [text for text in texts if TOKEN in text]
    assert caught.value.told.word == "unreachable"  # type: ignore[union-attr]
