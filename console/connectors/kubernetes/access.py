"""How a cluster is reached and who we are there: from a kubeconfig or a pod's own account to GET requests.

A kubeconfig can name programs to run and files to read on this machine.  Whoever may add a cluster must not thereby run
programs here, so that such entries are refused unless the installation allows them by name.
"""

import base64
import binascii
import ipaddress
import os
import ssl
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import urllib3
import yaml
from kubernetes.client import ApiClient, Configuration
from kubernetes.config import ConfigException
from kubernetes.config.incluster_config import SERVICE_CERT_FILENAME, SERVICE_TOKEN_FILENAME, InClusterConfigLoader
from kubernetes.config.kube_config import KubeConfigLoader
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import NewConnectionError

_InCluster: Any = InClusterConfigLoader  # the client's loaders carry no types
_FromFile: Any = KubeConfigLoader
AGENT = "slackline (observes)"
MAX_BYTES = 1 << 20
RENEW_S = 10.0  # many threads may meet the same refusal
POOL = 64  # connections kept for use again; one for each kind and some
ALLOWABLE = {
    "exec": "a plugin that runs a program on this machine",
    "auth-provider": "an authentication provider that may run a program or call another server",
    "files": "files on this machine",
    "insecure": "TLS without checking the certificate",
    "plain-http": "http, which shows the credentials to everybody on the way",
    "proxy": "a proxy of its own",
}


class AccessError(Exception):
    """Why a cluster cannot be reached like this; fit for a person, without secrets."""


class SeveralContexts(AccessError):
    """The kubeconfig has several contexts and none was chosen."""

    def __init__(self, names: list[str], current: str) -> None:
        super().__init__(f"choose one of the contexts {', '.join(names)}")
        self.names, self.current = names, current


@dataclass(frozen=True, slots=True)
class Login:
    """One context of a kubeconfig, complete and alone.  Its secrets are not part of its repr."""

    context: str
    server: str
    server_name: str = ""
    ca: bytes = field(default=b"", repr=False)
    token: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    insecure: bool = False
    rest: dict[str, Any] | None = field(default=None, repr=False)  # the whole, where the client must load it itself

    @property
    def means(self) -> str:
        """How the caller is known: a word for pages."""
        if self.rest is not None:
            return "plugin"
        return "token" if self.token else "certificate" if self.certificate else "nobody"


class Access:
    """GET requests to one API server.  Threads may share it."""

    def __init__(self, make: Callable[[], ApiClient], server: str) -> None:
        self._make = make
        self._client = make()
        self._made_at = time.monotonic()
        self.server = server

    def __repr__(self) -> str:
        return f"Access({self.server})"

    def get(self, target: str, timeout_s: tuple[float, float]) -> urllib3.BaseHTTPResponse:
        """The answer, of which only the head is read.  ``timeout_s``: to connect, and between two pieces."""
        headers = {"Accept": "application/json"}
        client = self._client
        method, url, headers, _, _ = client.param_serialize(
            "GET", target, header_params=headers, auth_settings=["BearerToken"]
        )
        answer: urllib3.BaseHTTPResponse = client.call_api(method, url, headers, _request_timeout=timeout_s).response
        return answer

    def renew(self) -> None:
        """Loads the credentials again.  What runs goes on with the old ones; so does all when there are no new ones."""
        if time.monotonic() - self._made_at < RENEW_S:
            return
        self._made_at = time.monotonic()
        with suppress(AccessError):
            self._client = self._make()

    def close(self) -> None:
        self._client.rest_client.close()


# --- a kubeconfig ---------------------------------------------------------------------------------------------------
def read_kubeconfig(data: bytes, context: str = "", allowed: frozenset[str] = frozenset()) -> Login:
    """The chosen context; ``allowed`` are words of ``ALLOWABLE``.  Raises ``AccessError``."""
    whole = _parsed(data)
    name = _chosen(whole, context)
    entry = _entry(whole, "contexts", name).get("context") or {}
    cluster = _entry(whole, "clusters", str(entry.get("cluster", ""))).get("cluster") or {}
    user = _entry(whole, "users", str(entry.get("user", ""))).get("user") or {}
    _refuse(cluster, user, allowed)
    own = {"exec", "auth-provider", "tokenFile", "client-certificate", "client-key"} & user.keys()
    own |= {"certificate-authority", "proxy-url"} & cluster.keys()
    return Login(
        context=name,
        server=_server(cluster, allowed),
        server_name=str(cluster.get("tls-server-name") or ""),
        ca=_decoded(cluster, "certificate-authority-data"),
        token=str(user.get("token") or ""),
        certificate=_decoded(user, "client-certificate-data"),
        key=_decoded(user, "client-key-data"),
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        rest=whole if own else None,
    )


def _parsed(data: bytes) -> dict[str, Any]:
    if len(data) > MAX_BYTES:
        raise AccessError(f"a kubeconfig has at most {MAX_BYTES >> 20} MiB")
    try:
        whole = yaml.safe_load(data)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        raise AccessError("this is not YAML") from None  # the parser's text quotes the file
    if not isinstance(whole, dict) or not all(isinstance(whole.get(key), list) for key in ("clusters", "contexts")):
        raise AccessError("this is not a kubeconfig: it has no list of clusters and of contexts")
    return whole


def _chosen(whole: dict[str, Any], context: str) -> str:
    names = [str(entry["name"]) for entry in whole["contexts"] if isinstance(entry, dict) and "name" in entry]
    if not names:
        raise AccessError("the kubeconfig has no context")
    if context and context not in names:
        raise AccessError(f"the kubeconfig has no context {context}; it has {', '.join(names)}")
    if not context and len(names) > 1:
        raise SeveralContexts(names, str(whole.get("current-context") or ""))
    return context or names[0]


def _entry(whole: dict[str, Any], key: str, name: str) -> dict[str, Any]:
    entries = whole.get(key) or []
    found = [one for one in entries if isinstance(one, dict) and str(one.get("name")) == name] if name else []
    if len(found) != 1:
        raise AccessError(f"the kubeconfig has {'no' if not found else 'more than one'} {key[:-1]} {name!r}")
    return found[0]


def _refuse(cluster: dict[str, Any], user: dict[str, Any], allowed: frozenset[str]) -> None:
    files = {"tokenFile", "client-certificate", "client-key"} & user.keys()
    files |= {"certificate-authority"} & cluster.keys()
    asked = {
        "exec": "exec" in user,
        "auth-provider": "auth-provider" in user,
        "files": bool(files),
        "insecure": bool(cluster.get("insecure-skip-tls-verify")),
        "proxy": bool(cluster.get("proxy-url")),
    }
    for word, wanted in asked.items():
        if wanted and word not in allowed:
            named = f" ({', '.join(sorted(files))})" if word == "files" else ""
            raise AccessError(
                f"the kubeconfig asks for {ALLOWABLE[word]}{named}, which this installation does not allow; "
                f"SLACKLINE_KUBECONFIG_ALLOW={word} would"
            )
    if "username" in user or "password" in user:
        raise AccessError("the kubeconfig has a user name and a password, which no API server accepts any more")
    if any(key.startswith("as") for key in user):
        raise AccessError("the kubeconfig acts as somebody else (as, as-groups), which is not supported")


def _server(cluster: dict[str, Any], allowed: frozenset[str]) -> str:
    server = str(cluster.get("server") or "").rstrip("/")
    parts = urlsplit(server)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise AccessError("the server in the kubeconfig is not an https address")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise AccessError("the server in the kubeconfig is more than an address")
    if parts.scheme == "http" and "plain-http" not in allowed:
        raise AccessError(
            f"the server is reached by {ALLOWABLE['plain-http']}; SLACKLINE_KUBECONFIG_ALLOW=plain-http would allow it"
        )
    refuse_address(parts.hostname)
    return server


def refuse_address(host: str) -> None:
    """Link-local addresses are where clouds keep the credentials of machines; no API server lives there."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return
    mapped = getattr(address, "ipv4_mapped", None) or address
    if mapped.is_link_local or mapped.is_unspecified or mapped.is_multicast:
        raise AccessError(f"{host} is not the address of an API server")


class _Checked:
    """A connection that sends nothing before it knows where it has arrived: a name may lead anywhere."""

    sock: Any

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        try:
            refuse_address(str(self.sock.getpeername()[0]))
        except AccessError as error:
            self.sock.close()
            raise NewConnectionError(self, str(error)) from None  # type: ignore[arg-type]


class _Plain(_Checked, HTTPConnection):
    pass


class _Encrypted(_Checked, HTTPSConnection):
    pass


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _EncryptedPool(HTTPSConnectionPool):
    ConnectionCls = _Encrypted


def guard(pools: urllib3.PoolManager) -> None:
    """No connection of these pools sends anything to an address where credentials of machines are kept."""
    pools.pool_classes_by_scheme = {"http": _PlainPool, "https": _EncryptedPool}


def _decoded(entry: dict[str, Any], key: str) -> bytes:
    try:
        return base64.b64decode(str(entry.get(key) or ""), validate=True)
    except binascii.Error:
        raise AccessError(f"{key} in the kubeconfig is not base64") from None


# --- from a login to a client ---------------------------------------------------------------------------------------
def log_in(login: Login) -> Access:
    """Raises ``AccessError`` where certificates or keys cannot be used."""
    return Access(lambda: _client_of(login), login.server)


def in_cluster() -> Access:
    """With the account of the pod that this runs in.  Its token is read again each minute, as it is replaced."""

    def make() -> ApiClient:
        configuration = _configuration()
        loader = _InCluster(SERVICE_TOKEN_FILENAME, SERVICE_CERT_FILENAME)
        try:
            loader.load_and_set(configuration)
        except (ConfigException, OSError) as error:
            raise AccessError(f"this process has no account in a cluster: {error}") from None
        context = _tls(Path(SERVICE_CERT_FILENAME).read_bytes(), b"", b"", False)
        return _named(configuration, context)

    access = Access(make, "")
    access.server = access._client.configuration.host
    return access


def _client_of(login: Login) -> ApiClient:
    configuration = _configuration()
    configuration.host = login.server
    if login.rest is not None:
        try:
            _FromFile(login.rest, active_context=login.context).load_and_set(configuration)
        except Exception as error:
            raise AccessError(f"the kubeconfig could not be loaded: {type(error).__name__}") from None
        return _named(configuration, None)
    if login.token:
        configuration.api_key["BearerToken"] = f"Bearer {login.token}"
    configuration.tls_server_name = login.server_name or None
    configuration.verify_ssl = not login.insecure
    return _named(configuration, _tls(login.ca, login.certificate, login.key, login.insecure))


def _configuration() -> Configuration:
    """No redirect is followed: it could lead the token elsewhere.  Whether to ask again is the reflector's business."""
    configuration = Configuration()
    configuration.retries = urllib3.Retry(
        total=None, connect=0, read=0, redirect=0, status=0, other=0, raise_on_redirect=False, raise_on_status=False
    )
    configuration.connection_pool_maxsize = POOL
    return configuration


def _named(configuration: Configuration, context: ssl.SSLContext | None) -> ApiClient:
    client = ApiClient(configuration)
    client.user_agent = AGENT
    pools = client.rest_client.pool_manager
    guard(pools)
    if context is not None:
        pools.connection_pool_kw["ssl_context"] = context
    return client


def _tls(ca: bytes, certificate: bytes, key: bytes, insecure: bool) -> ssl.SSLContext:
    """The client would need certificate and key as files; here they pass through memory, or a file of one instant."""
    try:
        context = ssl.create_default_context(cadata=ca.decode("ascii") if ca else None)
        if ca:
            # The authority is named by the operator, so that it need not prove what it is by extensions as well;
            # authorities of older clusters lack them.
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if insecure:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if certificate:
            _load_pair(context, certificate, key)
    except (ssl.SSLError, ValueError) as error:
        words = getattr(error, "reason", None) or type(error).__name__
        raise AccessError(f"certificate, key or authority of the kubeconfig cannot be used: {words}") from None
    return context


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    pair = certificate.rstrip() + b"\n" + key
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("pair", os.MFD_CLOEXEC)
        try:
            os.write(handle, pair)
            context.load_cert_chain(f"/proc/self/fd/{handle}")
        finally:
            os.close(handle)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pair")
        file.touch(mode=0o600)
        file.write_bytes(pair)
        context.load_cert_chain(file)
