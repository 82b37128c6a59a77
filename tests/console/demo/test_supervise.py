"""The demo as its user meets it: it comes up, survives the death of a part, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 180.0
PARTS = {"uvicorn", "-server 127.0.0.1", "observe", "plan", "execute", "beat"}


class Process(NamedTuple):
    parent: int
    command: str
    environment: list[bytes]


def _processes() -> dict[int, Process]:
    """All that run now, those apart that have ended and only wait to be collected."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            environment = (entry / "environ").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if command:
            found[int(entry.name)] = Process(parent, command, environment)
    return dict(sorted(found.items()))


class Run:
    """One `python -m console.demo` on a data directory of its own."""

    def __init__(self, data: Path, port: int) -> None:
        self.data, self.port = data, port
        own = {name: value for name, value in os.environ.items() if name not in ("REDIS_URL", "DATABASE_URL")}
        self.environment = {**own, "SLACKLINE_DATA_DIR": str(data), "PYTHONUNBUFFERED": "1"}
        self.out = data / "out.txt"
        self.process: subprocess.Popen[bytes] | None = None
        self.family: dict[int, str] = {}

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "console.demo", *words]

    def start(self) -> None:
        with self.out.open("wb") as out:
            self.process = subprocess.Popen(
                self.command("run", "--port", str(self.port), "--nodes", "60"),
                cwd=ROOT,
                env=self.environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        _until(lambda: "is up after" in self.words() or self.process.poll() is not None, self.words)  # type: ignore[union-attr]
        assert "is up after" in self.words(), self.words()

    def words(self) -> str:
        return self.out.read_text(errors="replace")

    def once(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = self.command(*words)
        return subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False)

    def send(self, number: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def living(self) -> dict[int, str]:
        """pid -> command of every process that descends from a supervisor of ours or was given our data directory.

        Two ways of looking, as a server may write over its environment and an orphan has another parent.
        """
        now = _processes()
        own = self.process.pid if self.process is not None else 0
        mark = f"SLACKLINE_DATA_DIR={self.data}".encode()
        for pid, process in now.items():
            if process.parent in self.family or process.parent == own or mark in process.environment:
                self.family[pid] = process.command
        self.family.pop(own, None)
        return {pid: self.family[pid] for pid in self.family if pid in now and now[pid].command == self.family[pid]}

    def pid_of(self, part: str) -> int:
        """The first, which is the parent of the others of that part."""
        return min(pid for pid, command in self.living().items() if f" {part} " in command or part in command)


def _until(happened: Callable[[], bool], words: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, words()
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    demo = Run(tmp_path, _free_port())
    yield demo
    if demo.process is not None and demo.process.poll() is None:
        demo.process.kill()
        demo.process.wait()


def _parts(run: Run) -> set[str]:
    commands = list(run.living().values())
    return {part for part in PARTS if any(part in command for command in commands)}


def test_its_life(run: Run) -> None:
    """One start for all that can be seen on a running demo: starting costs more than the rest together."""
    run.start()
    _it_tells_where_and_who(run)
    _it_starts_a_dead_part_again(run)
    _a_second_one_on_the_same_data_is_refused(run)
    assert run.send(signal.SIGINT) == 0
    assert "All stopped." in run.words()
    assert run.living() == {}

    run.start()
    assert "kept as it is" in run.words()
    run.send(signal.SIGKILL)
    _until(lambda: run.living() == {}, run.living)

    assert run.once("reset").returncode == 0
    assert list(run.data.glob("*.sqlite3*")) == []


def _it_tells_where_and_who(run: Run) -> None:
    assert f"http://127.0.0.1:{run.port}/" in run.words()
    assert all(f"  {login} " in run.words() for login in ("operator", "approver", "tenant", "viewer"))
    with urllib.request.urlopen(f"http://127.0.0.1:{run.port}/login/", timeout=30) as page:
        assert b"Sign in" in page.read()
    _until(lambda: _parts(run) == PARTS, lambda: run.living())


def _it_starts_a_dead_part_again(run: Run) -> None:
    victim = run.pid_of("plan@")
    os.kill(victim, signal.SIGKILL)
    _until(lambda: "plan is started again" in run.words(), run.words)
    assert "plan ended (killed by SIGKILL)" in run.words()
    assert victim not in run.living()


def _a_second_one_on_the_same_data_is_refused(run: Run) -> None:
    second = run.once("run", "--port", str(_free_port()))
    assert second.returncode == 1
    assert "already runs on the data" in second.stderr
    assert "already runs on the data" in run.once("reset").stderr


def test_a_port_in_use_is_said_at_once(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", run.port))
        taken.listen()
        outcome = run.once("run", "--port", str(run.port))
    assert outcome.returncode == 1
    assert f"Port {run.port} of 127.0.0.1 cannot be used" in outcome.stderr
    assert "make demo PORT=" in outcome.stderr
    assert run.living() == {}


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--port", "99999", "PORT=99999 is no whole number from 1 to 65535"),
        ("--port", "0", "PORT=0 is no whole number from 1 to 65535"),
        ("--port", "http", "PORT=http is no whole number from 1 to 65535"),
        ("--nodes", "0", "NODES=0 is no whole number of 1 or more"),
    ],
)
def test_a_number_out_of_range_is_named_as_it_was_typed(run: Run, option: str, value: str, words: str) -> None:
    outcome = run.once("run", option, value)
    assert outcome.returncode == 2
    assert words in outcome.stderr and "Traceback" not in outcome.stderr
    assert run.living() == {}


def test_stopped_while_it_prepares(run: Run) -> None:
    with run.out.open("wb") as out:
        run.process = subprocess.Popen(
            run.command("run", "--port", str(run.port), "--nodes", "2000"),
            cwd=ROOT,
            env=run.environment,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    _until(lambda: any("prepare_demo" in command for command in run.living().values()), run.words)
    assert run.send(signal.SIGTERM) == 0
    assert run.living() == {}
    assert "is up after" not in run.words()


def test_a_step_that_fails_is_shown(run: Run) -> None:
    run.environment["DATABASE_URL"] = "postgres://nobody@127.0.0.1:1/nothing"
    outcome = run.once("run", "--port", str(run.port))
    assert outcome.returncode == 1
    assert "Preparing database, people and world failed" in outcome.stderr
    assert run.living() == {}
