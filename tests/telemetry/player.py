"""A small Prometheus for tests: it knows the expressions that Slackline asks, and can be slow, silent, wrong or rude.

It reads the same exposition text as the real one scrapes, so that both can be asked the same things.
"""

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

_LINE = re.compile(r"^(?P<name>[a-zA-Z_:][\w:]*)\{(?P<labels>[^}]*)\} (?P<value>\S+)$")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_GAUGES = re.compile(r'^max by \(__name__,(?P<by>[^)]+)\) \(\{__name__=~"(?P<names>[^"]+)"(?P<rest>[^}]*)\}\)$')
_COUNTS = re.compile(r'^count by \((?P<by>[^)]+)\) \(\{__name__=~"(?P<names>[^"]+)"(?P<rest>[^}]*)\}\)$')
_RATES = re.compile(r"^max by \((?P<by>[^)]+)\) \(rate\((?P<name>\w+)(?P<rest>\{[^}]*\})?\[5m\]\)\)$")
_SHARES = re.compile(
    r'^avg_over_time\(\(floor\(max by \((?P<by>[^)]+)\) \(\{__name__=~"(?P<names>[^"]+)"(?P<rest>[^}]*)\} < \d+\) '
    r"/ (?P<lowest>\d+)\) % (?P<span>\d+) > bool 0\)\[5m:30s\]\)$"
)
Row = tuple[str, dict[str, str], str]
Key = tuple[tuple[str, str], ...]


class Player:
    """``text`` is what is exported, ``rates`` the growth a second of counters; ``trouble`` names what goes wrong."""

    def __init__(self, text: str, rates: dict[str, float]) -> None:
        self.text, self.rates, self.trouble = text, rates, ""
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.methods: set[str] = set()
        self.release = threading.Event()
        self.url = ""

    def answer(self, expression: str) -> dict[str, Any]:
        gauges, rate = _GAUGES.match(expression), _RATES.match(expression)
        counts = _COUNTS.match(expression)
        if expression == "count(up)":
            return _told([({}, "1")])
        if counts:
            rows = [row for row in self._rows() if re.fullmatch(counts["names"], row[0])]
            return _counted(rows, counts["by"].split(","), counts["rest"])
        if gauges:
            rows = [row for row in self._rows() if re.fullmatch(gauges["names"], row[0])]
            return _vector(rows, ["__name__", *gauges["by"].split(",")], gauges["rest"])
        if shares := _SHARES.match(expression):
            lowest, span = int(shares["lowest"]), int(shares["span"])
            held = [
                (n, labels, str(int(int(value) // lowest % span > 0)))
                for n, labels, value in self._rows()
                if re.fullmatch(shares["names"], n) and int(value) < 1 << 31
            ]
            return _vector(held, shares["by"].split(","), shares["rest"])
        if rate:
            rows = [(n, labels, str(self.rates[n])) for n, labels, _ in self._rows() if n == rate["name"]]
            return _vector(rows, rate["by"].split(","), rate["rest"] or "")
        return {"status": "error", "errorType": "bad_data", "error": f"not known to the player: {expression}"}

    def _rows(self) -> list[Row]:
        found = (_LINE.match(line) for line in self.text.splitlines())
        return [(hit["name"], dict(_LABEL.findall(hit["labels"])), hit["value"]) for hit in found if hit]


def _vector(rows: list[Row], by: list[str], rest: str) -> dict[str, Any]:
    best: dict[Key, str] = {}
    for key, value in _keyed(rows, by, rest):
        best[key] = max(best.get(key, value), value, key=float)
    return _told([(dict(key), value) for key, value in best.items()])


def _counted(rows: list[Row], by: list[str], rest: str) -> dict[str, Any]:
    counts = Counter(key for key, _ in _keyed(rows, by, rest))
    return _told([(dict(key), str(count)) for key, count in counts.items()])


def _keyed(rows: list[Row], by: list[str], rest: str) -> Iterator[tuple[Key, str]]:
    wanted = dict(_LABEL.findall(rest))
    for name, labels, value in rows:
        all_labels = {**labels, "__name__": name, "instance": "exporter:9400"}
        if all(all_labels.get(label) == value for label, value in wanted.items()):
            yield tuple((label, all_labels[label]) for label in by if all_labels.get(label)), value


def _told(found: list[tuple[dict[str, str], str]]) -> dict[str, Any]:
    result = [{"metric": labels, "value": [time.time(), value]} for labels, value in found]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


@contextmanager
def playing(text: str, rates: dict[str, float] | None = None) -> Iterator[Player]:
    player = Player(text, rates or {})

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            player.methods.add(self.command)
            player.headers.append(dict(self.headers))
            parts = urlsplit(self.path)
            player.asked.append(parse_qs(parts.query).get("query", [""])[0])
            _respond(self, player, parts.path)

        def log_message(self, *args: Any) -> None:
            """Tests print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    player.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield player
    finally:
        player.release.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _respond(door: BaseHTTPRequestHandler, player: Player, path: str) -> None:
    status, body = 200, json.dumps(player.answer(player.asked[-1])).encode()
    if path != "/api/v1/query":
        status, body = 404, b"404 page not found\n"
    if player.trouble == "silent":
        player.release.wait(30)
        return
    if player.trouble.isdigit():
        status, body = int(player.trouble), b"<html>no</html>"
    if player.trouble == "endless":
        body = b" " * 4_000_000
    door.send_response(status)
    if 300 <= status < 400:
        door.send_header("Location", "http://127.0.0.1:1/elsewhere")
    door.send_header("Content-Length", str(len(body) + (10 if player.trouble == "cut" else 0)))
    door.end_headers()
    if player.trouble == "slow":
        for place in range(len(body)):
            door.wfile.write(body[place : place + 1])
            door.wfile.flush()
            if player.release.wait(0.05):
                return
    door.wfile.write(body)
