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
from scheduler.plan.operations import Recall
from tests.builders.worlds import world
from tests.console.connectors.worlds import HandClock, move, places
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


def _run_child(uid: str, key: str, step: str, *more: str) -> int:
    connection.close()
    environment = {**os.environ, "DATABASE_URL": _address(), "DJANGO_SETTINGS_MODULE": "console.settings"}
    words = [sys.executable, "-m", "tests.faults.simulated_child", uid, key, step, *more]
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


@pytest.mark.parametrize("step", STEPS)
def test_killed_while_a_sleeper_is_recalled(step: str) -> None:
    """Its borrowers are told once, and it wakes, whether or not the one who recalled it lives."""
    built = world().node("n1").pod("s", "n1", gpus=8, standby=True, uid="us")
    for name in ("a", "b"):
        built.pod(name, "n1", gpus=4, tier="LP", lent_by="jobs/s", uid=f"u{name}")
    clock = HandClock()
    uid = establish("sim", codec.parse(built.json()).document, seed=1, tide=QUIET, clock=timezone.now)
    _run_child(uid, "k", step, "recall")
    simulated._WORLDS.clear()
    clock.now = timezone.now()
    cluster, wake = SimulatedConnector(uid, clock), Recall(cluster="default", pod="jobs/s", uid="")
    first = cluster.execute(wake, "k")
    clock.forward(61)
    told = cluster.execute(wake, "k")
    assert (first.state, told.state) == ("running", "succeeded") and told.reclaim is not None
    assert [one.pod for one in told.reclaim.endings] == ["jobs/a", "jobs/b"]
    assert [(pod.name, pod.standby) for pod in cluster.observe().pods] == [("s", False)]
    notices = [row for row in JournalRow.objects.all() if row.cause == "k" and "terminating" in str(row.changes)]
    assert len(notices) == 1 and SimulatedOperation.objects.count() == 1


def test_what_one_process_remembers_follows_what_another_did() -> None:
    uid, cluster = _cluster()
    assert _copies(cluster) == ["n1"]
    _run_child(uid, "k", "committed")
    assert _copies(cluster) == ["n1", "n2"]
