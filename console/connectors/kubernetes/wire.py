"""The HTTP of one cluster: pages of lists, lines of watches, and what went wrong, told as inputs for a reflector.

Only GET is ever sent.  Bytes are read in pieces under a deadline of their own, so that an answer which trickles is
noticed as well as one that does not come; and they are counted, so that no answer fills the memory.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode

import msgspec
import urllib3
from kubernetes.client.exceptions import ApiException

from console.connectors.kubernetes.access import Access, AccessError
from console.connectors.kubernetes.steps import List, Lost, Refused, Watch
from scheduler.kubernetes.objects import Kind

PIECE = 1 << 16
LATEST_S = 7_258_118_400  # the year 2200
PLAIN_HTTP = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNKNOWN_PROTOCOL")
_TLS = re.compile(r"\[SSL:? ?(\w*)\] ([^()]*)")
_OBJECTS = re.compile(r"<[^<>]*>:?\s*|\b\w+\((?:host|proxy)=[^()]*\):?\s*")  # how libraries name what they hold
_LIST_KIND = re.compile(rb'^\s*\{\s*"kind"\s*:\s*"(\w+)"')
_EVENT_KIND = re.compile(rb'^\s*\{\s*"type"\s*:\s*"\w+"\s*,\s*"object"\s*:\s*\{\s*"kind"\s*:\s*"(\w+)"')


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds until an answer counts as lost, and bytes until it counts as endless."""

    connect_s: float = 10.0
    answer_s: float = 60.0  # until the first byte of a page
    page_s: float = 180.0  # until the last one
    silent_s: float = 90.0  # of a watch: bookmarks come about every minute
    page_bytes: int = 1 << 30
    line_bytes: int = 16 << 20


class Trouble(Exception):
    """An answer that is none; ``told`` is what the reflector hears of it."""

    def __init__(self, told: Refused | Lost) -> None:
        super().__init__(told.reason)
        self.told = told


class Api:
    """The lists and watches of one cluster.  Threads may share it."""

    def __init__(self, access: Access, patience: Patience | None = None) -> None:
        self._access = access
        self.patience = patience or Patience()
        self.date_skews: list[float] = []  # of the last answers, seconds that the server's clock is ahead
        self._paths: dict[str, str] = {}
        self._running: set[urllib3.BaseHTTPResponse] = set()
        self._closed = False

    @property
    def server(self) -> str:
        return self._access.server

    def close(self) -> None:
        """Ends all answers that are being read, and asks nothing any more."""
        self._closed = True
        for answer in list(self._running):
            with suppress(OSError, RuntimeError, ValueError):  # it may end by itself at this very moment
                answer.shutdown()
        self._access.close()

    def renew(self) -> None:
        """After a 401: the token may have been changed on disk."""
        self._access.renew()

    def version(self) -> bytes:
        return self._whole("/version", {})

    def greet(self, seconds: float) -> None:
        """Whether anything answers in that time.  Raises ``Trouble``."""
        with self._asked("/version", {}, seconds, seconds):
            pass

    def page(self, kind: Kind, asked: List) -> bytes:
        """One page of a list.  Raises ``Trouble``."""
        query = {"limit": str(asked.limit)} if asked.limit else {}
        if asked.token:
            query["continue"] = asked.token
        data = self._newest(kind, query)
        _check_kind(_LIST_KIND, data, f"{kind.word}List")
        return data

    @contextmanager
    def watch(self, kind: Kind, asked: Watch) -> Iterator[Iterator[list[bytes]]]:
        """The stream of changes after a version: whole lines, as many as came together.  Raises ``Trouble``."""
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": asked.version,
            "timeoutSeconds": str(asked.timeout_s),
        }
        path = self._paths.get(kind.name) or path_of(kind, kind.versions[0])
        with self._asked(path, query, self.patience.silent_s) as answer:
            yield self._lines(answer, time.monotonic() + asked.timeout_s + self.patience.silent_s)

    def _newest(self, kind: Kind, query: dict[str, str]) -> bytes:
        """Asks for the first version of the kind that the server has."""
        known = self._paths.get(kind.name)
        if known is not None and "continue" in query:
            return self._whole(known, query)
        unknown = Trouble(Refused(404, "not known to the API"))
        for version in kind.versions:
            path = path_of(kind, version)
            try:
                data = self._whole(path, query)
            except Trouble as trouble:
                if not isinstance(trouble.told, Refused) or trouble.told.status != 404:
                    raise
                unknown = trouble
            else:
                self._paths[kind.name] = path
                return data
        raise unknown

    def _whole(self, path: str, query: dict[str, str]) -> bytes:
        with self._asked(path, query, self.patience.answer_s) as answer:
            deadline, pieces, size = time.monotonic() + self.patience.page_s, [], 0
            for piece in _pieces(answer):
                pieces.append(piece)
                size += len(piece)
                if size > self.patience.page_bytes:
                    raise Trouble(Lost("endless", f"an answer is larger than {self.patience.page_bytes} bytes"))
                if time.monotonic() > deadline:
                    raise Trouble(Lost("slow", f"a page took longer than {self.patience.page_s:g} s"))
            return b"".join(pieces)

    def _lines(self, answer: urllib3.BaseHTTPResponse, deadline: float) -> Iterator[list[bytes]]:
        rest, whole_at = b"", time.monotonic()
        for piece in _pieces(answer):
            now = time.monotonic()
            *lines, rest = (rest + piece).split(b"\n")
            if lines:
                whole_at = now
                yield [line for line in lines if line.strip()]
            elif now - whole_at > self.patience.silent_s:
                raise Trouble(Lost("slow", f"no whole event within {self.patience.silent_s:g} s"))
            if len(rest) > self.patience.line_bytes:
                raise Trouble(Lost("endless", f"an event is larger than {self.patience.line_bytes} bytes"))
            if now > deadline:
                return
        if rest.strip():
            raise Trouble(Lost("cut", "the stream ended in the middle of an event"))

    @contextmanager
    def _asked(
        self, path: str, query: dict[str, str], read_s: float, connect_s: float | None = None
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """The answer to one GET; what urllib3 says of trouble becomes ``Trouble``."""
        answer: urllib3.BaseHTTPResponse | None = None
        if self._closed:
            raise Trouble(Lost("closed", "this feed has been stopped"))
        try:
            target = f"{path}?{urlencode(query)}" if query else path
            answer = self._access.get(target, (connect_s or self.patience.connect_s, read_s))
            self._running.add(answer)
            self._compare_clocks(answer.headers.get("Date"))
            if answer.status != 200:
                raise Trouble(_refusal(answer))
            yield answer
        except AccessError as error:
            raise Trouble(Lost("credentials", str(error))) from None
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as error:
            raise Trouble(_lost(error)) from None
        finally:
            if answer is not None:
                self._running.discard(answer)
                answer.close()  # an answer that was not read to its end must not be used again
                answer.release_conn()

    def _compare_clocks(self, date: str | None) -> None:
        try:
            told = parsedate_to_datetime(date or "").timestamp()
        except (ValueError, OverflowError):
            return
        if not 0 <= told < LATEST_S:
            return  # no clock, but something that writes dates
        self.date_skews = [*self.date_skews[-14:], told + 0.5 - time.time()]  # a date is cut to whole seconds


def path_of(kind: Kind, version: str) -> str:
    return f"/apis/{kind.group}/{version}/{kind.plural}" if kind.group else f"/api/{version}/{kind.plural}"


def check_event(kind: Kind, line: bytes) -> bool:
    """False for an event about an object of another kind; an object that does not say its kind passes."""
    found = _EVENT_KIND.match(line[:300])
    return found is None or found[1] in (kind.word.encode(), b"Status")


def _check_kind(pattern: re.Pattern[bytes], data: bytes, expected: str) -> None:
    found = pattern.match(data[:300])
    if found is not None and found[1] not in (expected.encode(), b"List"):
        raise Trouble(Lost("wrong kind", f"asked for {expected}, got {found[1].decode()}"))


def _pieces(answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """What has come so far, without waiting for a piece to be full."""
    while piece := answer.read1(PIECE):
        yield piece


def _refusal(answer: urllib3.BaseHTTPResponse) -> Refused:
    """Status and reason; the message of a ``Status`` object, cut short, never a whole page of somebody's proxy."""
    text = b""
    with suppress(urllib3.exceptions.HTTPError, OSError):  # the status says enough where its words do not come
        text = answer.read(4_096, decode_content=True) or b""
    message: Any = re.search(rb'"message"\s*:\s*"((?:[^"\\]|\\.){0,400})', text)
    reason = _shown(_plain(message[1]) if message else str(answer.reason or ""))
    asked = (answer.headers.get("Retry-After") or "").strip()
    return Refused(answer.status, reason[:400], float(asked) if asked.isascii() and asked.isdigit() else None)


def _plain(text: bytes) -> str:
    """The inside of a JSON string as it is read; bytes that are no such thing stay as they are."""
    try:
        return msgspec.json.decode(b'"' + text + b'"', type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return text.decode("utf-8", "replace")


def _lost(error: Exception) -> Lost:
    """The word for an error of the connection, and its text without names of our classes."""
    cause: BaseException = error
    while isinstance(cause, urllib3.exceptions.MaxRetryError) and cause.reason is not None:
        cause = cause.reason
    text = _bare(str(cause.reason if isinstance(cause, ApiException) else cause))
    if isinstance(cause, urllib3.exceptions.SSLError | ApiException):
        return of_tls(text)
    word = "broken"
    if isinstance(cause, urllib3.exceptions.ReadTimeoutError):
        word = "silent"
    elif isinstance(cause, urllib3.exceptions.ProxyError):
        word, text = "proxy", f"the proxy does not lead there: {_bare(str(cause.original_error))}"
    elif isinstance(cause, urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError):
        word = "unreachable"
    elif isinstance(cause, urllib3.exceptions.IncompleteRead | urllib3.exceptions.ProtocolError):
        word = "cut"
    return Lost(word, text[:400] or "the connection broke")


def of_tls(text: str) -> Lost:
    """OpenSSL's own words, and what a server that speaks plain http looks like to it."""
    found = _TLS.search(text)
    if found is not None and found[1] in PLAIN_HTTP:
        return Lost("scheme", "the server does not speak TLS at that port; perhaps plain http")
    said = found[2].strip(" .,'\")") if found is not None else ""
    return Lost("tls", f"TLS failed: {said}" if said else "TLS failed")


def _bare(text: str) -> str:
    return _shown(_OBJECTS.sub("", text).strip())


def _shown(text: str) -> str:
    """What others wrote, with a mark where a database might not keep it."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
