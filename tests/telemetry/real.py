"""A real Prometheus for the contract: one that is installed, scraping an exporter of ours on loopback."""

import os
import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.telemetry.exposition import exposition

BINARY = os.environ.get("PROMETHEUS") or shutil.which("prometheus")
PATIENCE_S = 60.0


@contextmanager
def running(folder: Path, port: int) -> Iterator[str]:
    """Its address, once it has scraped often enough for rates.

    A rate is over the whole window of five minutes, so that the counter runs up fast and then rests.
    """
    assert BINARY is not None
    with _exporting() as exporter:
        config = folder / "prometheus.yml"
        target = (
            f'scrape_configs: [{{job_name: dcgm, scrape_interval: 1s, static_configs: [{{targets: ["{exporter}"]}}]}}]'
        )
        config.write_text(target)
        where = f"127.0.0.1:{port}"
        line = [
            BINARY,
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={where}",
        ]
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait_for(f"http://{where}", process)
            yield f"http://{where}"
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def _exporting() -> Iterator[str]:
    scraped: list[float] = []

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            scraped.append(time.monotonic())
            body = exposition(min((scraped[-1] - scraped[0]) * 75e9, 150e9)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Tests print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    # A step of a subquery stands at a round half minute: until one has passed since the first scrape, it sees nothing.
    begun = "count_over_time(up[1m])>=3 and on() count_over_time(up[5m:30s])>=1"
    query = f"{url}/api/v1/query?{urlencode({'query': begun})}"
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"prometheus ended with {process.returncode}")
        try:
            with urllib.request.urlopen(query, timeout=5) as answer:
                if b'"value"' in answer.read():
                    return
        except OSError:
            pass
        time.sleep(0.3)
    raise RuntimeError("prometheus was not ready in time")
