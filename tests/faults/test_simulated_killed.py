"""kill -9 at every step of a move in the simulated cluster: nothing is lost, nothing is done twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from console.connectors import simulated
from console.connectors.models import JournalRow, SimulatedOperation
from console.connectors.simulated import SimulatedConnector, establish
from console.connectors.tide import QUIET
from scheduler.cluster import codec
from tests.builders.worlds import world
from tests.console.connectors.worlds import move, places
from tests.faults.simulated_child import STEPS

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]


def _address() -> str:
    """The test's own database, as another process finds it."""
    given = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{given['NAME']}"
    place = f"{given['HOST'] or ''}:{given['PORT']}" if given["PORT"] else given["HOST"] or ""
    return f"postgres://{given['USER']}:{given['PASSWORD']}@{place}/{given['NAME']}"


def _run_child(uid: str, key: str, step: str) -> int:
    connection.close()
    environment = {**os.environ, "DATABASE_URL": _address(), "DJANGO_SETTINGS_MODULE": "console.settings"}
    words = [sys.executable, "-m", "tests.faults.simulated_child", uid, key, step]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    return done.returncode


def _cluster() -> tuple[str, SimulatedConnector]:
    built = world().nodes("n1", "n2").pod("a", "n1", gpus=5, uid="u1")
    uid = establish("sim", codec.parse(built.json()).document, seed=1, tide=QUIET, clock=timezone.now)
    return uid, SimulatedConnector(uid)


def _copies(connector: SimulatedConnector) -> list[str | None]:
    return sorted(node or "" for node in places(connector).values())


@pytest.mark.parametrize("step", STEPS)
def test_killed_while_the_copy_starts(step: str) -> None:
    uid, cluster = _cluster()
    _run_child(uid, "k", step)
    written = SimulatedOperation.objects.count()
    assert (written, JournalRow.objects.count()) == ((1, 1) if step == "committed" else (0, 0))
    outcomes = [cluster.execute(move("jobs/a", "n1", "n2"), "k").state for _ in range(4)]
    assert outcomes[-1] == "succeeded" and set(outcomes) <= {"running", "succeeded"}
    assert _copies(cluster) == ["n2"] and SimulatedOperation.objects.count() == 1 and JournalRow.objects.count() == 2


@pytest.mark.parametrize("step", [step for step in STEPS if step != "operation noted"])
def test_killed_while_the_old_pod_ends(step: str) -> None:
    uid, cluster = _cluster()
    assert cluster.execute(move("jobs/a", "n1", "n2"), "k").state == "running"
    _run_child(uid, "k", step)
    simulated._WORLDS.clear()
    assert _copies(cluster) == (["n2"] if step == "committed" else ["n1", "n2"])
    assert [cluster.execute(move("jobs/a", "n1", "n2"), "k").state for _ in range(3)] == ["succeeded"] * 3
    assert _copies(cluster) == ["n2"] and JournalRow.objects.count() == 2


def test_what_one_process_remembers_follows_what_another_did() -> None:
    uid, cluster = _cluster()
    assert _copies(cluster) == ["n1"]
    _run_child(uid, "k", "committed")
    assert _copies(cluster) == ["n1", "n2"]
