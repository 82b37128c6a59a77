"""The real stack for a benchmark: bundled server, web, workers and beat, on a data folder and ports of its own."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

from console.demo.redis_server import RedisServer, free_port

ROOT = Path(__file__).resolve().parent.parent
START_S = 240
PROCESSES = {
    "spawn_main": "web",
    "uvicorn": "web",
    "observe@": "observe",
    "plan@": "plan",
    "execute@": "execute",
    "beat": "beat",
}
SOURCE = "demo"  # the demo leaves a source of this name as it finds it


@dataclass(frozen=True)
class Stack:
    """A running console on a loaded world; ``loading`` is what the commands said that filled it."""

    url: str
    environment: dict[str, str]
    process: "subprocess.Popen[bytes]"
    loading: str

    def memory_mib(self) -> dict[str, int]:
        """Resident memory of each kind of process, largest of each, in MiB."""
        found: dict[str, int] = {}
        for pid in _descendants(self.process.pid):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
                pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            except OSError:
                continue
            kind = next((kind for name, kind in PROCESSES.items() if name in words), "other")
            found[kind] = max(found.get(kind, 0), pages * os.sysconf("SC_PAGE_SIZE") >> 20)
        return found

    def cookie(self, name: str = "operator") -> str:
        """The session cookie of somebody who has signed in."""
        jar = CookieJar()
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        form = opener.open(f"{self.url}/login/", timeout=60).read().decode()
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
        assert token is not None
        fields = urlencode({"csrfmiddlewaretoken": token[1], "username": name, "password": name})
        opener.open(f"{self.url}/login/", fields.encode(), timeout=60)
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)

    def process_of(self, module: str, *words: str) -> "subprocess.Popen[str]":
        """A module of the benchmarks in a process of its own, on this stack's database and server."""
        command = [sys.executable, "-m", module, *words]
        return subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )


@contextmanager
def running(data: Path, world: str, nodes: int | None, seed: int, web: int) -> Iterator[Stack]:
    """The console with ``world`` loaded as a simulated source in which nothing changes by itself; ``web`` processes."""
    data.mkdir(parents=True, exist_ok=True)
    server = RedisServer.plan(data, password="")
    redis = server.start()
    port = free_port()
    own = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "SLACKLINE_LIVE_PREFIX")}
    environment = own | {
        "SLACKLINE_DATA_DIR": str(data),
        "SLACKLINE_DEMO": "1",
        "REDIS_URL": server.url,
        "DJANGO_SETTINGS_MODULE": "console.settings",
        "LOG_LEVEL": "WARNING",
        "WEB_CONCURRENCY": str(web),
    }
    size = [] if nodes is None else ["--nodes", str(nodes)]
    said = _run(environment, "migrate", "--verbosity", "0")
    said += _run(environment, "load_world", "--name", SOURCE, "--world", world, "--seed", str(seed), "--quiet", *size)
    command = [sys.executable, "-m", "console.demo", "run", "--port", str(port)]
    with (data / "stack.log").open("wb") as log:
        demo = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait(demo, f"http://127.0.0.1:{port}", data / "stack.log")
        yield Stack(f"http://127.0.0.1:{port}", environment, demo, said.strip())
    finally:
        demo.send_signal(signal.SIGTERM)
        demo.wait(timeout=60)
        redis.terminate()
        redis.wait()


def _run(environment: dict[str, str], *words: str) -> str:
    command = [sys.executable, "manage.py", *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} failed:\n{done.stderr[-4000:]}")
    return done.stdout


def _wait(demo: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while True:
        if demo.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the console did not come up:\n{log.read_text(errors='replace')[-4000:]}")
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)


def _descendants(parent: int) -> list[int]:
    """Process ids below ``parent``, itself included."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                above = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(above, []).append(int(entry.name))
    found, waiting = [], [parent]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children.get(pid, [])
    return found
