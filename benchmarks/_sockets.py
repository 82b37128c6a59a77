"""Many viewers on loopback: each holds a WebSocket, follows every notice and keeps a map of its own up to date.

    python -m benchmarks._sockets URL COOKIE COUNT

A viewer does what the page's script does: one request at a time, always for the newest revision, from the revision that
it holds; a gap in the numbers means "fetch anew".  At the end every viewer's bytes are compared with a fresh full map.
Prints "ready" when all are subscribed; a line on its input ends it, and it prints one JSON line.
"""

import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import brotli  # type: ignore[import-untyped]
import httptools
import numpy as np
import websockets

HEADER = 16


@dataclass
class Sums:
    """Of all viewers together."""

    notices: int = 0
    gaps: int = 0
    pulls: int = 0
    deltas: int = 0
    bytes: int = 0
    waits_s: list[float] = field(default_factory=list)
    closed: int = 0


class Answer:
    """One HTTP response as the parser calls it in."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.body = b""
        self.done = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode().lower()] = value.decode()

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.done = True


class Viewer:
    """One tab: its socket, its kept-alive connection, its map."""

    def __init__(self, host: str, port: int, cookie: str, sums: Sums) -> None:
        self.host, self.port, self.cookie, self.sums = host, port, cookie, sums
        self.revision, self.wanted, self.seq = 0, 0, -1
        self.cells = np.zeros((0, 0), dtype=np.uint8)
        self.news = asyncio.Event()
        self.wire: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def follow(self, subscribed: asyncio.Semaphore) -> None:
        head = {"Cookie": self.cookie, "Origin": f"http://{self.host}:{self.port}"}
        address = f"ws://{self.host}:{self.port}/live/"
        async with websockets.connect(address, additional_headers=head, open_timeout=120, ping_interval=None) as socket:
            await socket.send(json.dumps({"subscribe": ["fleet"], "seen": {}}))
            async for text in socket:
                event = json.loads(text)
                if event["kind"] in ("subscribed", "resync"):
                    subscribed.release()
                    self.sums.gaps += event["kind"] == "resync"
                else:
                    self.sums.notices += 1
                    self.sums.gaps += event["seq"] != self.seq + 1
                self.seq = event["seq"]
                if event.get("revision", 0) > self.wanted:
                    self.wanted = event["revision"]
                    self.news.set()
        self.sums.closed += 1

    async def pull_news(self) -> None:
        while True:
            await self.news.wait()
            self.news.clear()
            await self.pull(str(self.wanted))

    async def pull(self, revision: str) -> None:
        query = f"?measure=free&from={self.revision}" if self.revision else "?measure=free"
        began = time.monotonic()
        body = await self.get(f"/fleet/map/nodes/{revision}{query}")
        self.sums.waits_s.append(time.monotonic() - began)
        self.sums.pulls += 1
        self.take(body)

    def take(self, body: bytes) -> None:
        self.revision = int.from_bytes(body[4:8], "little")
        nodes, delta, columns = int.from_bytes(body[8:12], "little"), body[12], body[13]
        if not delta:
            self.cells = np.frombuffer(body, np.uint8, offset=HEADER).reshape(columns, nodes).copy()
            return
        self.sums.deltas += 1
        count = int.from_bytes(body[16:20], "little")
        places = np.frombuffer(body, "<u4", count, HEADER + 4)
        fresh = np.frombuffer(body, np.uint8, offset=HEADER + 4 + 4 * count)
        self.cells[:, places] = fresh.reshape(columns, count)

    async def get(self, path: str) -> bytes:
        if self.wire is None:
            self.wire = await asyncio.open_connection(self.host, self.port)
        reader, writer = self.wire
        head = f"Host: {self.host}:{self.port}\r\nCookie: {self.cookie}\r\nAccept-Encoding: br\r\n"
        words = f"GET {path} HTTP/1.1\r\n{head}\r\n"
        writer.write(words.encode())
        answer = Answer()
        parser = httptools.HttpResponseParser(answer)
        while not answer.done:
            received = await reader.read(65536)
            if not received:
                self.wire = None
                return await self.get(path)  # kept alive no longer
            parser.feed_data(received)
        if parser.get_status_code() != 200:
            raise RuntimeError(f"{path}: {parser.get_status_code()}")
        self.sums.bytes += len(answer.body)
        packed = answer.headers.get("content-encoding") == "br"
        return brotli.decompress(answer.body) if packed else answer.body


async def main() -> None:
    url, cookie, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    place, sums = urlsplit(url), Sums()
    viewers = [Viewer(place.hostname or "", place.port or 80, cookie, sums) for _ in range(count)]
    subscribed, tasks = asyncio.Semaphore(0), []
    for start in range(0, count, 50):  # as people come, not all in one instant
        tasks += [asyncio.create_task(viewer.follow(subscribed)) for viewer in viewers[start : start + 50]]
        for _ in viewers[start : start + 50]:
            await subscribed.acquire()
    tasks += [asyncio.create_task(viewer.pull_news()) for viewer in viewers]
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)  # until there is nothing more to come
    print(json.dumps(await _settle(viewers, sums)), flush=True)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _settle(viewers: list[Viewer], sums: Sums) -> dict[str, Any]:
    """Waits until all hold the newest revision (or a minute), then compares each with a fresh full map."""
    judge = Viewer(viewers[0].host, viewers[0].port, viewers[0].cookie, Sums())
    await judge.pull("latest")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(viewer.revision < judge.revision for viewer in viewers):
        await asyncio.sleep(0.2)
    right = sum(np.array_equal(viewer.cells, judge.cells) for viewer in viewers)
    waits = sorted(sums.waits_s) or [0.0]
    return {
        "sockets": len(viewers),
        "right": right,
        "notices": sums.notices,
        "gaps": sums.gaps,
        "closed": sums.closed,
        "pulls": sums.pulls,
        "deltas": sums.deltas,
        "bytes": sums.bytes,
        "pull_p50_s": waits[len(waits) // 2],
        "pull_p95_s": waits[int(len(waits) * 0.95)],
    }


if __name__ == "__main__":
    asyncio.run(main())
