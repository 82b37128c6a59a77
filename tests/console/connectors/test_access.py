"""Kubeconfigs: what is taken, what is refused and why, and that secrets stay where they are."""

import base64
import json
import logging
import os
import ssl
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from console.connectors.kubernetes.access import (
    ALLOWABLE,
    AccessError,
    Login,
    SeveralContexts,
    log_in,
    read_kubeconfig,
)
from console.connectors.kubernetes.kubeconfig import alone
from console.connectors.kubernetes.steps import List
from console.connectors.kubernetes.wire import Api, Patience, Trouble
from console.connectors.prometheus import check_endpoint
from scheduler.cluster.errors import InputError
from scheduler.kubernetes.objects import KINDS
from tests.kubernetes.authorities import Authority

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
        ({"certificate-authority-data": "é"}, None, r"clusters\[0\].cluster.certificate-authority-data .* not base64"),
        ({"server": "https://a:abc"}, None, r"clusters\[0\].cluster.server"),
        ({"server": "https://[::1"}, None, r"clusters\[0\].cluster.server"),
        ({"server": "https://a b"}, None, r"clusters\[0\].cluster.server"),
        ({"server": 5}, None, r"clusters\[0\].cluster.server of the kubeconfig is not text"),
        ({5: "x"}, None, r"clusters\[0\].cluster of the kubeconfig has a key that is not text"),
        ({}, {5: "secret"}, r"users\[0\].user of the kubeconfig has a key that is not text"),
        ({}, {"token": 5}, r"users\[0\].user.token of the kubeconfig is not text"),
        ({}, {"token": {"a": "secret"}}, r"users\[0\].user.token of the kubeconfig is not text"),
        ({}, {"token": "secret\nX-Other: secret"}, r"users\[0\].user.token .* no header can carry"),
        ({}, {"token": "secret\x00"}, "no header can carry"),
        ({}, {"token": "secrét"}, "no header can carry"),
        ({}, {"token": "secret\u2028token"}, "no header can carry"),
        ({}, {"token": " \n"}, "token of the kubeconfig is blank"),
        ({}, {"exec": "secret"}, r"users\[0\].user.exec of the kubeconfig is not a mapping"),
        ({"proxy-url": "http://a:abc"}, None, r"proxy-url is not the address of a proxy"),
        ({"proxy-url": "http://ann:secret@a"}, None, "a user name or a password"),
        ({"proxy-url": "http://169.254.169.254:80"}, None, "not the address of an API server"),
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
        (b"a: !!int ''", "not YAML"),
        (b"a: 2001-99-99", "not YAML"),
        (
            b"{clusters: [{name: a, cluster: b}], users: [], contexts: [{name: c, context: foo}]}",
            r"contexts\[0\].context",
        ),
        (
            b"{clusters: [{name: a, cluster: bar}], users: [], contexts: [{name: c, context: {cluster: a, user: u}}]}",
            r"clusters\[0\].cluster of the kubeconfig is not a mapping",
        ),
        (
            b"{clusters: [{name: a, cluster: {}}], users: [{name: u, user: foo}], "
            b"contexts: [{name: c, context: {cluster: a, user: u}}]}",
            r"users\[0\].user of the kubeconfig is not a mapping",
        ),
        (
            b"{clusters: [{name: a, cluster: {}}], users: foo, contexts: [{name: c, context: {cluster: a, user: u}}]}",
            "users of the kubeconfig is not a list",
        ),
        (rb'{clusters: [], users: [], contexts: [{name: "c\0", context: {}}]}', "control character"),
        (rb'{clusters: [], users: [], contexts: [{name: "c\ud800", context: {}}]}', "control character"),
        (b"{clusters: [], users: [], contexts: [{name: c, context: {cluster: 5}}]}", r"contexts\[0\].context.cluster"),
    ],
)
def test_not_a_kubeconfig(text: bytes, reason: str) -> None:
    with pytest.raises(AccessError, match=reason) as caught:
        read_kubeconfig(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a9fe:a9fe]",
        "[::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "[fd00:ec2::254]", "[FD00:0EC2::0254]", "[fd20:ce::254]",
        "100.100.100.200", "[::ffff:100.100.100.200]", "168.63.129.16", "[64:ff9b::a83f:8110]", "192.0.0.192",
        "2852039166", "0xa9fea9fe", "169.254.43518", "169.254.169.254.", "[fe80::1]", "0.0.0.0", "[::]", "224.0.0.1",
    ],
)  # fmt: skip
def test_where_clouds_keep_credentials_is_refused_for_servers_proxies_and_prometheus(host: str) -> None:
    with pytest.raises(AccessError, match="not the address of an API server"):
        read_kubeconfig(kubeconfig({"server": f"https://{host}:443"}))
    with pytest.raises(AccessError, match="not the address of an API server"):
        read_kubeconfig(kubeconfig({"proxy-url": f"http://{host}"}), allowed=EVERYTHING)
    with pytest.raises(InputError) as caught:
        check_endpoint(f"https://{host}", "none", "", "", plain=False)
    assert caught.value.path == "url"


@pytest.mark.parametrize("host", ["10.0.0.1", "127.0.0.1", "[::1]", "[fd00::1]", "100.64.0.1", "api.example.org"])
def test_addresses_of_networks_are_not(host: str) -> None:
    assert read_kubeconfig(kubeconfig({"server": f"https://{host}"})).server == f"https://{host}"


def test_white_space_around_a_token_is_no_part_of_it() -> None:
    assert read_kubeconfig(kubeconfig(user={"token": f"{TOKEN}\n"})).token == TOKEN


def _pem(text: bytes) -> str:
    return base64.b64encode(text).decode()


def test_which_of_authority_certificate_and_key_is_wrong() -> None:
    authority = Authority()
    certificate, key = authority.issue("observer")
    _, foreign = authority.issue("another")
    locked = load_pem_private_key(key, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")
    )
    bad = b"-----BEGIN CERTIFICATE-----\nsecret\n-----END CERTIFICATE-----"
    cases = [
        (bad, certificate, key, "the authority .* no certificate in PEM form"),
        (b"", bad, key, "the certificate .* no certificate in PEM form"),
        (b"", certificate, b"", "the certificate .* there is no key for it"),
        (b"", b"", key, "the key .* there is no certificate for it"),
        (b"", certificate, bad, "the key .* no private key in PEM form"),
        (b"", certificate, foreign, "the key .* another certificate"),
        (b"", certificate, locked, "the key .* a passphrase locks it"),
    ]
    for ca, pair, private, reason in cases:
        user = {"client-certificate-data": _pem(pair), "client-key-data": _pem(private)}
        with pytest.raises(AccessError, match=reason) as caught:
            log_in(read_kubeconfig(kubeconfig({"certificate-authority-data": _pem(ca)}, user)))
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None


ALONE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"proxy-url": "http://proxy.example.org"}, {}),
    ({"certificate-authority": "/etc/ca"}, {}),
    ({}, {"tokenFile": "/etc/token"}),
    ({}, {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "who"}}),
]


@pytest.mark.parametrize(("cluster", "user"), ALONE)
def test_of_other_contexts_nothing_is_kept(cluster: dict[str, Any], user: dict[str, Any]) -> None:
    text = kubeconfig(cluster, {"token": TOKEN} | user, contexts=2)
    whole = yaml.safe_load(text)
    whole["users"][1]["user"] = {"token": "of-another-user"}
    data = yaml.safe_dump(whole).encode()
    login = read_kubeconfig(data, "c0", EVERYTHING)
    assert "of-another-user" not in str({name: getattr(login, name) for name in login.__slots__})
    assert b"of-another-user" not in alone(data, "c0")
    assert read_kubeconfig(alone(data, "c0"), "c0", EVERYTHING) == login


def test_keys_stand_in_no_file_whatever_is_allowed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    authority = Authority()
    certificate, key = authority.issue("observer")
    authority_file, key_file = tmp_path / "ca", tmp_path / "key"
    authority_file.write_bytes(authority.pem)
    key_file.write_bytes(key)
    made: list[str] = []
    for name in ("mkstemp", "mkdtemp"):
        monkeypatch.setattr(tempfile, name, lambda *_, **__: made.append(str(_)))
    given = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    status = {"token": TOKEN, "clientCertificateData": certificate.decode(), "clientKeyData": key.decode()}
    program = tmp_path / "who"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps({**given, 'status': status})}\nEND\n")
    program.chmod(0o700)
    pair = {"client-certificate-data": _pem(certificate)}
    for cluster, user in (
        ({"proxy-url": "http://127.0.0.1:9"}, {**pair, "client-key-data": _pem(key)}),
        ({"certificate-authority": str(authority_file)}, {**pair, "client-key": str(key_file)}),
        ({}, {"exec": {"apiVersion": given["apiVersion"], "command": str(program)}}),
    ):
        access = log_in(read_kubeconfig(kubeconfig(cluster, user), allowed=EVERYTHING))
        configuration = access._client.configuration
        assert (configuration.cert_file, configuration.key_file, configuration.ssl_ca_cert) == (None, None, None)
        assert access._client.rest_client.pool_manager.connection_pool_kw["ssl_context"].get_ca_certs() is not None
    assert access._client.configuration.api_key["BearerToken"] == f"Bearer {TOKEN}"
    assert not made


def test_where_there_is_no_file_in_memory_it_is_private_and_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = Authority().issue("observer")
    seen: list[tuple[int, int]] = []
    folders: list[Path] = []
    load = ssl.SSLContext.load_cert_chain

    def look(context: ssl.SSLContext, file: Path, **words: Any) -> None:
        seen.append((file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777))
        folders.append(file.parent)
        load(context, file, **words)

    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", look)
    log_in(Login("test", "https://127.0.0.1:9", certificate=certificate, key=key))
    assert seen == [(0o600, 0o700)]
    assert not folders[0].exists()


def test_a_plugin_that_fails_is_not_quoted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    program = tmp_path / "who"
    program.write_text(f"#!/bin/sh\necho {TOKEN}; echo {TOKEN} >&2; exit 3\n")
    program.chmod(0o700)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program)}}
    with pytest.raises(AccessError, match="gave no credentials: ConfigException") as caught:
        log_in(read_kubeconfig(kubeconfig(user=user), allowed=EVERYTHING))
    assert TOKEN not in str(caught.value) + caplog.text


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
