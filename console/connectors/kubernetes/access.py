"""How a cluster is reached and who we are there: from a login or a pod's own account to GET requests."""

import os
import shutil
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import urllib3
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from kubernetes.client import ApiClient, Configuration
from kubernetes.config import ConfigException, kube_config
from kubernetes.config.exec_provider import ExecProvider
from kubernetes.config.incluster_config import SERVICE_CERT_FILENAME, SERVICE_TOKEN_FILENAME, InClusterConfigLoader
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import NewConnectionError

from console.connectors.kubernetes.addresses import refuse_address
from console.connectors.kubernetes.kubeconfig import MAX_BYTES, Entry, Login, read_kubeconfig
from console.connectors.kubernetes.refusals import ALLOWABLE, AccessError, SeveralContexts, sendable
from console.connectors.kubernetes.timely import TimelyResponse

__all__ = [
    "AGENT",
    "ALLOWABLE",
    "Access",
    "AccessError",
    "Login",
    "SeveralContexts",
    "guard",
    "in_cluster",
    "log_in",
    "read_kubeconfig",
    "refuse_address",
]

_InCluster: Any = InClusterConfigLoader  # the client's loaders carry no types
_Exec: Any = ExecProvider
_Node: Any = kube_config.ConfigNode
_FromFile: Any = kube_config.KubeConfigLoader
AGENT = "slackline (observes)"
RENEW_S = 10.0  # many threads may meet the same refusal
TOKEN_S = 60.0  # until the file of a token is read again
POOL = 64  # connections kept for use again; one for each kind and some
MEMORY = "/dev/shm"  # a directory in memory, where there is one


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
        """The answer, of which only the head is read.  ``timeout_s``: to connect, and between two pieces.

        Raises ``AccessError`` where the credentials of this moment cannot be sent: a token may be another by now.
        """
        client = self._client
        try:
            method, url, headers, _, _ = client.param_serialize(
                "GET", target, header_params={"Accept": "application/json"}, auth_settings=["BearerToken"]
            )
        except Exception as error:
            raise AccessError(f"the credentials could not be read again: {type(error).__name__}") from None
        headers = {name: sendable(f"header {name}", str(value)) for name, value in headers.items()}
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


class _Checked:
    """A connection that sends nothing before it knows where it has arrived: a name may lead anywhere."""

    sock: Any
    response_class: type[HTTPResponse] = TimelyResponse

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
        except ValueError:  # the text of a decoder's error holds the token
            raise AccessError("this process has no account in a cluster: its token is no text") from None
        sendable("the token of this pod's account", configuration.api_key["BearerToken"])
        context = _tls(Path(SERVICE_CERT_FILENAME).read_bytes(), b"", b"", False)
        return _named(configuration, context)

    access = Access(make, "")
    access.server = access._client.configuration.host
    return access


def _client_of(login: Login) -> ApiClient:
    configuration = _configuration()
    configuration.host = login.server
    if login.proxy:
        configuration.proxy = login.proxy
    read = {key: _read(path, key) for key, path in login.files.items() if key != "tokenFile"}
    certificate = login.certificate or read.get("client-certificate", b"")
    key, token = login.key or read.get("client-key", b""), login.token
    if login.plugin is not None:
        told = _plugged(login.plugin, login.server)
        token, certificate, key = told[0] or token, told[1] or certificate, told[2] or key
    if "tokenFile" in login.files:
        _read_token_again(configuration, login.files["tokenFile"])
    elif token:
        configuration.api_key["BearerToken"] = f"Bearer {sendable('the token', token)}"
    configuration.tls_server_name = login.server_name or None
    configuration.verify_ssl = not login.insecure
    authority = login.ca or read.get("certificate-authority", b"")
    return _named(configuration, _tls(authority, certificate, key, login.insecure))


def _read(path: str, what: str) -> bytes:
    """A file that the kubeconfig names, where the installation allows it."""
    try:
        file = Path(path)
        if not file.is_file() or file.stat().st_size > MAX_BYTES:
            raise AccessError(f"{what} of the kubeconfig names no file of at most {MAX_BYTES >> 20} MiB")
        return file.read_bytes()
    except (OSError, ValueError) as error:
        raise AccessError(f"{what} of the kubeconfig could not be read: {type(error).__name__}") from None


def _read_token_again(configuration: Configuration, path: str) -> None:
    """The token of a file, now and each minute.  What can no longer be read leaves the last one."""
    read_at = float("-inf")

    def renew(now: Configuration) -> None:
        nonlocal read_at
        if time.monotonic() - read_at < TOKEN_S:
            return
        read_at = time.monotonic()
        with suppress(AccessError):
            now.api_key["BearerToken"] = _bearer(path)

    configuration.api_key["BearerToken"] = _bearer(path)
    configuration.refresh_api_key_hook = renew  # type: ignore[assignment]


def _bearer(path: str) -> str:
    try:
        return f"Bearer {sendable('the token in the file tokenFile', _read(path, 'tokenFile').decode())}"
    except UnicodeDecodeError:
        raise AccessError("the token in the file tokenFile is no text") from None


def _plugged(plugin: Entry, server: str) -> tuple[str, bytes, bytes]:
    """Token, certificate and key from a plugin.  What it wrote may hold them, so that errors do not quote it."""
    try:
        if "exec" in plugin:
            cluster = _Node("cluster", {"server": server})
            status = _Exec(_Node("exec", plugin["exec"]), "", cluster).run()
            pair = [str(status.get(name) or "").encode() for name in ("clientCertificateData", "clientKeyData")]
            return str(status.get("token") or ""), pair[0], pair[1]
        return _provided(plugin, server), b"", b""
    except Exception as error:
        raise AccessError(f"the plugin of the kubeconfig gave no credentials: {type(error).__name__}") from None


def _provided(plugin: Entry, server: str) -> str:
    """The client insists on files for authorities of providers: they stand in a directory of this instant only."""
    parts = {"clusters": ("cluster", {"server": server}), "users": ("user", plugin)}
    whole: Entry = {section: [{"name": "one", key: entry}] for section, (key, entry) in parts.items()}
    whole |= {"current-context": "one", "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}]}
    configuration = Configuration()
    with _private() as folder:
        try:
            _FromFile(whole, temp_file_path=str(folder)).load_and_set(configuration)
        finally:
            files = kube_config._temp_files  # the client would hand them out again by their content
            for content in [content for content, name in files.items() if name.startswith(f"{folder}/")]:
                del files[content]
    return str(configuration.api_key.get("authorization", "")).removeprefix("Bearer ")


def _configuration() -> Configuration:
    """No redirect is followed: it could lead the token elsewhere.  Whether to ask again is the reflector's business."""
    configuration = Configuration()
    configuration.retries = urllib3.Retry(
        total=None, connect=0, read=0, redirect=0, status=0, other=0, raise_on_redirect=False, raise_on_status=False
    )
    configuration.connection_pool_maxsize = POOL
    return configuration


def _named(configuration: Configuration, context: ssl.SSLContext) -> ApiClient:
    client = ApiClient(configuration)
    client.user_agent = AGENT
    pools = client.rest_client.pool_manager
    guard(pools)
    pools.connection_pool_kw["ssl_context"] = context
    return client


# --- certificates ---------------------------------------------------------------------------------------------------
def _tls(ca: bytes, certificate: bytes, key: bytes, insecure: bool) -> ssl.SSLContext:
    """The client would need certificate and key as files; here they pass through memory, or a file of one instant."""
    try:
        context = ssl.create_default_context(cadata=ca.decode("ascii") if ca else None)
    except (ssl.SSLError, ValueError):
        raise _unusable("authority (certificate-authority-data)", "it is no certificate in PEM form") from None
    if ca:
        # The authority is named by the operator, so that it need not prove what it is by extensions as well;
        # authorities of older clusters lack them.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if insecure:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if key and not certificate:
        raise _unusable("key (client-key-data)", "there is no certificate for it")
    if certificate:
        try:
            _load_pair(context, certificate, key)
        except (ssl.SSLError, ValueError):
            raise _blamed(certificate, key) from None
    return context


def _unusable(what: str, why: str) -> AccessError:
    return AccessError(f"the {what} of the kubeconfig cannot be used: {why}")


def _blamed(certificate: bytes, key: bytes) -> AccessError:
    """Which of the two it is."""
    try:
        x509.load_pem_x509_certificates(certificate)
    except ValueError:
        return _unusable("certificate (client-certificate-data)", "it is no certificate in PEM form")
    if not key:
        return _unusable("certificate (client-certificate-data)", "there is no key for it (client-key-data)")
    try:
        load_pem_private_key(key, None)
    except TypeError:
        return _unusable("key (client-key-data)", "a passphrase locks it")
    except Exception:
        return _unusable("key (client-key-data)", "it is no private key in PEM form")
    return _unusable("key (client-key-data)", "it belongs to another certificate, or is too weak")


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """An empty passphrase, since OpenSSL would ask the terminal for one."""
    pair = certificate.rstrip() + b"\n" + key
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("pair", os.MFD_CLOEXEC)
        try:
            os.write(handle, pair)
            context.load_cert_chain(f"/proc/self/fd/{handle}", password="")
        finally:
            os.close(handle)
        return
    with _private() as folder:
        file = folder / "pair"
        file.touch(mode=0o600)
        file.write_bytes(pair)
        context.load_cert_chain(file, password="")


@contextmanager
def _private() -> Iterator[Path]:
    """A directory that nobody else may enter, in memory where there is one, gone at the end."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
