"""Starts the demo, keeps it running and ends all of it, whatever the way in which it is told to."""

import fcntl
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from console.demo.children import Child
from console.demo.redis_server import ServerError
from console.demo.world import HOST, Demo
from console.dispatch.parent import die_with_parent
from console.tenancy.choices import DEMO_LOGINS

LOOK_SECONDS = 0.1
READY_SECONDS = 120.0


class DemoError(RuntimeError):
    """The demo cannot start; the text says why and what to do."""


def say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def sole_user(data: Path) -> Iterator[None]:
    """Holds the data directory; raises ``DemoError`` while another demo holds it."""
    data.mkdir(parents=True, exist_ok=True)
    with (data / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoError(
                f"A demo already runs on the data in {data}. Stop it first (Ctrl-C in its window)."
            ) from None
        yield


def need_free_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise DemoError(
                f"Port {port} of {HOST} cannot be used ({error.strerror}). Choose another: make demo PORT=8001"
            ) from None


class Supervisor:
    """One run of the demo.  ``run`` returns the exit code."""

    def __init__(self, demo: Demo) -> None:
        self.demo = demo
        self.children: list[Child] = []
        self.stopping = threading.Event()
        self.began_at = time.monotonic()

    def run(self) -> int:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        need_free_port(self.demo.port)
        self.demo.log("web").parent.mkdir(parents=True, exist_ok=True)
        self.children = self.demo.children()
        try:
            self._start_all()
            if not self.stopping.is_set():
                self._announce()
            self._watch()
        finally:
            self._stop_all()
        return 0

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if not self.stopping.is_set():
            self.stopping.set()
            say(f"\n{signal.Signals(number).name}: stopping")

    def _start_all(self) -> None:
        waiting = list(self.children)
        if self.demo.server is not None:
            redis = waiting.pop(0)
            redis.start()
            self.demo.server.wait(redis.process)
        for what, command in self.demo.preparations():
            if not self.stopping.is_set():
                self._prepare(what, command)
        for child in waiting:
            if not self.stopping.is_set():
                child.start()
        self._wait_until_ready()

    def _prepare(self, what: str, command: list[str]) -> None:
        """Runs one step to its end; it can be interrupted like everything else."""
        step = Child(what, command, self.demo.environment(), self.demo.log("prepare"))
        began = time.monotonic()
        step.log.write_bytes(b"")
        step.start()
        assert step.process is not None
        while step.process.poll() is None:
            if self.stopping.wait(LOOK_SECONDS):
                step.ask_to_stop()
                step.stop(time.monotonic() + step.stop_seconds)
                return
        if step.process.returncode:
            raise DemoError(f"Preparing {what} failed:\n{step.log.read_text(errors='replace')[-4000:]}")
        said = step.log.read_text(errors="replace").strip().replace("\n", "; ")
        say(f"  {what}: {time.monotonic() - began:.1f} s{f' ({said[-200:]})' if said else ''}")

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not self.stopping.is_set():
            self._tend()
            if _answers(self.demo.url + "healthz"):
                return
            if time.monotonic() > deadline:
                raise DemoError(f"The web server did not answer in {READY_SECONDS:.0f} s; see {self.demo.log('web')}")
            self.stopping.wait(LOOK_SECONDS)

    def _announce(self) -> None:
        say(f"\nSlackline is up after {time.monotonic() - self.began_at:.0f} s:  {self.demo.url}\n")
        say("  name and password   role")
        for login, role in DEMO_LOGINS.items():
            say(f"  {login:<18}  {role.label}")
        say(f"\nData and logs: {self.demo.data}   Ctrl-C stops everything; the next `make demo` keeps the data.")

    def _watch(self) -> None:
        while not self.stopping.wait(LOOK_SECONDS):
            self._tend()

    def _tend(self) -> None:
        for child in self.children:
            code = child.died()
            if code is not None and child.start_again_at is not None:
                pause = child.start_again_at - time.monotonic()
                say(f"{child.name} ended ({_ending(code)}); starting it again in {pause:.0f} s. Log: {child.log}")
            if child.due():
                child.start()
                say(f"{child.name} is started again")

    def _stop_all(self) -> None:
        """Everybody but the server at once, so that the last words of the others still reach it; then the server."""
        server = [child for child in self.children if child.name == "redis"]
        for group in ([child for child in self.children if child not in server], server):
            for child in reversed(group):
                child.ask_to_stop()
            deadline = time.monotonic() + max((child.stop_seconds for child in group), default=0)
            for child in reversed(group):
                if not child.stop(deadline):
                    say(f"{child.name} did not stop in {child.stop_seconds:.0f} s and was killed; its work is redone")
        if self.children:
            say("All stopped.")


def _ending(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"code {code}"


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def run(demo: Demo) -> int:
    """Runs the demo until told to stop."""
    if os.environ.get("SLACKLINE_DIE_WITH_PARENT"):
        # `make demo`: if make itself is killed, nobody could stop us by a key any more.
        die_with_parent(death_signal=signal.SIGTERM)
    try:
        with sole_user(demo.data):
            return Supervisor(demo).run()
    except (DemoError, ServerError) as error:
        print(f"\n{error}", file=sys.stderr, flush=True)
        return 1


def reset(data: Path) -> int:
    """Deletes the demo's data, so that the next start begins anew."""
    if os.environ.get("DATABASE_URL"):
        print("DATABASE_URL is set: drop and create that database yourself.", file=sys.stderr)
        return 1
    try:
        with sole_user(data):
            for file in [*data.glob("slackline.sqlite3*"), *data.glob("beat-schedule*"), *data.glob("log/*.log")]:
                file.unlink()
    except DemoError as error:
        print(error, file=sys.stderr)
        return 1
    say(f"The demo's data in {data} is gone; `make demo` starts anew.")
    return 0
