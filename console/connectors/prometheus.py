"""The wire to a Prometheus endpoint: instant queries by GET, one after the other, with limits on time and size."""

import base64
import ssl
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec
import urllib3

from console.connectors.kubernetes import credentials
from console.connectors.kubernetes.access import AGENT, ALLOWABLE, AccessError, guard, refuse_address
from console.connectors.kubernetes.refusals import sendable
from console.connectors.kubernetes.wire import of_tls
from console.connectors.protocol import ConnectorError
from scheduler.cluster.errors import InputError
from scheduler.telemetry.exporters import Options, Query, queries
from scheduler.telemetry.merging import Gathering, Telemetry
from scheduler.telemetry.vectors import Sample, parse_vector

NOBODY, BEARER, BASIC = "none", "bearer", "basic"
MEANS = (NOBODY, BEARER, BASIC)
PIECE = 1 << 16
Config = dict[str, Any]


class Trouble(ConnectorError):
    """No answer that can be read.  ``word`` is one of a few, for advice; the text says it to people."""

    def __init__(self, word: str, text: str) -> None:
        super().__init__(text)
        self.word = word


@dataclass(frozen=True, slots=True)
class Limits:
    """``answer_s`` and ``answer_bytes`` are of one answer as a whole, unpacked."""

    connect_s: float = 5.0
    silent_s: float = 15.0
    answer_s: float = 30.0
    answer_bytes: int = 192 << 20


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask and as whom.  ``url`` is what stands before /api/v1; the secret is a token or a password."""

    url: str
    means: str = NOBODY
    user: str = ""
    secret: str = field(default="", repr=False)
    ca: str = ""

    @property
    def headers(self) -> dict[str, str]:
        found = {"Accept": "application/json", "User-Agent": AGENT, "Accept-Encoding": "gzip"}
        if self.means == BEARER:
            found["Authorization"] = f"Bearer {self.secret}"
        elif self.means == BASIC:
            pair = base64.b64encode(f"{self.user}:{self.secret}".encode()).decode()
            found["Authorization"] = f"Basic {pair}"
        return found


class Prometheus:
    """One endpoint.  Used by one thread at a time."""

    def __init__(self, endpoint: Endpoint, options: Options, limits: Limits | None = None) -> None:
        self._endpoint, self._options, self._limits = endpoint, options, limits or Limits()
        self._pools = urllib3.PoolManager(ssl_context=_trust(endpoint.ca), maxsize=1)
        guard(self._pools)

    def measure(self) -> Telemetry:
        """All queries; raises ``ConnectorError`` where one of them brings nothing that can be read.

        Samples are as old as the endpoint's own clock says, so that a clock that differs from ours makes none unknown.
        """
        found = Gathering(self._options)
        for query in queries(self._options):
            found.add(self.samples(query))
        return found.telemetry()

    def close(self) -> None:
        self._pools.clear()

    def samples(self, query: Query) -> tuple[Sample, ...]:
        """The answer to one query.  Raises ``Trouble``."""
        status, body = self._ask(query.expression)
        if status in (401, 403):
            word = "unknown" if status == 401 else "forbidden"
            raise Trouble(word, f"query {query.name}: the endpoint refuses these credentials ({status})")
        if 300 <= status < 400:
            told = f"query {query.name}: the endpoint leads elsewhere ({status}), which is not followed"
            raise Trouble("elsewhere", told)
        try:
            return parse_vector(body, query.metric)
        except InputError as error:
            told = f" ({status})" if status != 200 else ""
            word = "refused" if error.path == "$.status" else "busy" if status >= 500 or status == 429 else "foreign"
            raise Trouble(word, f"query {query.name}{told}: {error}") from None

    def _ask(self, expression: str) -> tuple[int, bytes]:
        limits = self._limits
        deadline = time.monotonic() + limits.answer_s
        try:
            answer = self._pools.request(
                "GET",
                f"{self._endpoint.url}/api/v1/query",
                fields={"query": expression},
                headers=self._endpoint.headers,
                timeout=urllib3.Timeout(connect=limits.connect_s, read=limits.silent_s),
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _trouble(error) from None
        try:
            return answer.status, self._body(answer, deadline)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _trouble(error) from None
        finally:
            answer.close()  # what was not read to its end must not be used again

    def _body(self, answer: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
        pieces, size = [], 0
        while piece := answer.read1(PIECE, decode_content=True):
            pieces.append(piece)
            size += len(piece)
            if size > self._limits.answer_bytes:
                raise Trouble("large", f"an answer is larger than {self._limits.answer_bytes:,} bytes")
            if time.monotonic() > deadline:
                raise Trouble("slow", f"an answer took longer than {self._limits.answer_s:g} s")
        return b"".join(pieces)


def check_endpoint(url: str, means: str, user: str, ca: str, *, plain: bool) -> str:
    """The address as it is kept.  Raises ``InputError`` with the field; ``plain``: secrets may go over http."""
    parts = _split(url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise InputError("url", url[:100], "the address of a Prometheus, beginning with https:// or http://")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InputError("url", None, "more than an address: give user and secret in their own fields")
    try:
        refuse_address(parts.hostname)
        _trust(ca)
    except AccessError as error:
        raise InputError("ca" if "authority" in str(error) else "url", None, str(error)) from None
    if means not in MEANS:
        raise InputError("means", means[:40], f"one of {', '.join(MEANS)}")
    if means != NOBODY and parts.scheme == "http" and not plain:
        raise InputError("url", None, f"this is {ALLOWABLE['plain-http']}")
    if means == BASIC and (not user or ":" in user or not user.isprintable()):
        raise InputError("user", None, "a user name without a colon and control characters")
    return parts.geturl()


def check_secret(means: str, secret: str) -> str:
    """The token or password as it is kept.  Raises ``InputError``, which does not quote it.

    A password travels encoded, so that it may hold any letters; control characters are forbidden by RFC 7617.
    """
    try:
        if means == BASIC:
            found = secret.strip("\r\n")
            if not found.isprintable():
                raise AccessError("the password holds a control character")
            return found
        return sendable("the token", secret)
    except AccessError as error:
        raise InputError("secret", None, str(error)) from None


def _split(url: str) -> SplitResult:
    text = url.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        sound = parts.port != 0 and text.isascii() and text.isprintable() and " " not in text
    except ValueError:
        sound = False
    if not sound:
        raise InputError("url", None, "no address: check its port and brackets, and that it holds no white space")
    return parts


def options_of(config: Config) -> Options:
    """Raises ``InputError``."""
    try:
        matchers = msgspec.convert(config.get("matchers", ()), tuple[tuple[str, str], ...])
        labels = msgspec.convert(config.get("node_labels", ()), tuple[str, ...])
    except msgspec.ValidationError as error:
        raise InputError("telemetry", None, str(error)) from None
    return Options(node_labels=labels or Options().node_labels, matchers=matchers)


def endpoint_of(config: Config) -> Endpoint:
    """With its secret opened.  Raises ``ConnectorError``."""
    name = config.get("credential")
    try:
        secret = check_secret(config["means"], credentials.fetch(name).decode() if name else "")
    except (InputError, UnicodeDecodeError):
        raise ConnectorError("the token or password that is kept cannot be sent: give it again") from None
    return Endpoint(config["url"], config["means"], config.get("user", ""), secret, config.get("ca", ""))


def _trust(ca: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=ca or None)
    except (ssl.SSLError, ValueError, TypeError):  # the last one where it holds letters outside ASCII
        raise AccessError("the authority is no certificate in PEM form") from None


def _trouble(error: Exception) -> Trouble:
    """What went wrong, without addresses of objects in memory."""
    if isinstance(error, urllib3.exceptions.ReadTimeoutError):
        return Trouble("silent", "the endpoint is silent")
    if isinstance(error, urllib3.exceptions.SSLError | ssl.SSLError):
        told = of_tls(str(error))
        return Trouble(told.word, f"with the endpoint: {told.reason}")
    if isinstance(error, urllib3.exceptions.NameResolutionError):
        return Trouble("dns", "the endpoint cannot be reached: its name leads to no address")
    if isinstance(error, urllib3.exceptions.NewConnectionError) and "Connection refused" in str(error):
        return Trouble("closed", "the endpoint cannot be reached: nothing listens at that port")
    if isinstance(error, urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError):
        return Trouble("unreachable", "the endpoint cannot be reached")
    return Trouble("cut", f"the connection to the endpoint broke: {type(error).__name__}")
