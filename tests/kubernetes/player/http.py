"""As much of HTTP/1.1 as a list and a watch need."""

import asyncio
import json
import time
from dataclasses import dataclass
from email.utils import formatdate
from urllib.parse import parse_qsl, urlsplit

REASONS = {
    200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    410: "Gone", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
    504: "Gateway Timeout", 302: "Found",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]


@dataclass(slots=True)
class Exchange:
    """One connection, as the answers are written to it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    skew_s: float = 0.0

    async def request(self) -> Request | None:
        """The next request; None when the client has gone."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        length = int(headers.get("content-length", "0"))
        if length:
            await self.reader.readexactly(length)
        parts = urlsplit(target)
        return Request(method, parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)), headers)

    async def answer(
        self, status: int, body: bytes, kind: str = "application/json", headers: dict[str, str] | None = None
    ) -> None:
        self.writer.write(self._head(status, kind, {"Content-Length": str(len(body)), **(headers or {})}) + body)
        await self.writer.drain()

    async def begin(self, status: int = 200, kind: str = "application/json") -> None:
        """Starts an answer of unknown length."""
        self.writer.write(self._head(status, kind, {"Transfer-Encoding": "chunked"}))
        await self.writer.drain()

    async def chunk(self, data: bytes) -> None:
        self.writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self.writer.drain()

    async def end(self) -> None:
        await self.chunk(b"")

    def hang_up(self) -> None:
        self.writer.transport.abort()

    async def promise(self, length: int, part: bytes) -> None:
        """Announces ``length`` bytes, gives only ``part``."""
        self.writer.write(self._head(200, "application/json", {"Content-Length": str(length)}) + part)
        await self.writer.drain()

    def _head(self, status: int, kind: str, headers: dict[str, str]) -> bytes:
        date = formatdate(time.time() + self.skew_s, usegmt=True)
        lines = [f"HTTP/1.1 {status} {REASONS[status]}", f"Date: {date}", f"Content-Type: {kind}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


def status(code: int, reason: str, message: str, retry_after_s: int | None = None) -> bytes:
    """A ``Status`` object, as errors are told."""
    details = {} if retry_after_s is None else {"details": {"retryAfterSeconds": retry_after_s}}
    fields = {"status": "Failure", "message": message, "reason": reason, "code": code, **details}
    return json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, **fields}).encode()
