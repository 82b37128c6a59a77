"""The whole console under its own supervisor, on a data folder, a port and a server of its own."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from console.demo.redis_server import RedisServer

ROOT = Path(__file__).resolve().parent.parent.parent
START_SECONDS = 180


@dataclass(frozen=True)
class Stack:
    """A running console; ``manage`` and ``meddle`` run in processes of their own on its database and server."""

    url: str
    environment: dict[str, str]
    process: "subprocess.Popen[bytes]"

    def manage(self, *words: str) -> str:
        return self._run("manage.py", *words)

    def meddle(self, *words: str) -> str:
        """What ``tests/browser/meddle.py`` can do to the simulated clusters; its last line."""
        return self._run("-m", "tests.browser.meddle", *words)

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout.strip().rpartition("\n")[2]

    def kill_web(self) -> None:
        """kill -9 of the web server; the supervisor starts it again."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and _is_web(entry, self.process.pid):
                os.kill(int(entry.name), signal.SIGKILL)
                return
        raise AssertionError("no web server runs")


def _is_web(entry: Path, parent: int) -> bool:
    try:
        command = (entry / "cmdline").read_bytes()
        return b"uvicorn" in command and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def running(data: Path, nodes: int) -> Iterator[Stack]:
    """A demo that starts with ``nodes`` lively nodes, until the end of the block."""
    server = RedisServer.plan(data, password="")
    redis = server.start()
    port = _free_port()
    own = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "SLACKLINE_LIVE_PREFIX")}
    environment = {
        **own,
        "SLACKLINE_DATA_DIR": str(data),
        "SLACKLINE_DEMO": "1",
        "REDIS_URL": server.url,
        "SLACKLINE_KUBECONFIG_ALLOW": "plain-http",  # the player of the tests speaks it
        "DJANGO_SETTINGS_MODULE": "console.settings",
    }
    command = [sys.executable, "-m", "console.demo", "run", "--port", str(port), "--nodes", str(nodes)]
    with (data / "demo.log").open("wb") as log:
        demo = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
    stack = Stack(f"http://127.0.0.1:{port}", environment, demo)
    try:
        _wait(stack, data / "demo.log")
        yield stack
    finally:
        demo.send_signal(signal.SIGTERM)
        demo.wait(timeout=60)
        redis.terminate()
        redis.wait()


def _wait(stack: Stack, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not answers(f"{stack.url}/healthz"):
        words = log.read_text(errors="replace")
        assert stack.process.poll() is None, f"the demo ended:\n{words}"
        assert time.monotonic() < deadline, f"the demo did not answer in {START_SECONDS} s:\n{words}"
        time.sleep(0.2)
