"""Run as a process of its own: drives one operation of a simulated cluster and dies at a named step.

Arguments: uid of the cluster, key of the operation, step, and "recall" where it is one (else a move).  Steps are the
names of ``STEPS``.
"""

import os
import signal
import sys
from importlib import import_module
from typing import Any

import django

STEPS = (
    "held",  # the cluster's row is locked, nothing is written
    "operation noted",  # the operation's row is written, the transaction open
    "journal written",  # the journal's row is written, the position not moved
    "position moved",  # all is written, the transaction open
    "committed",  # the step is done, nobody was told
)


def _die(*_args: Any, **_kwargs: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _arm(simulated: Any, step: str) -> None:
    if step == "held":
        simulated.carry_on = _die
    elif step == "operation noted":
        simulated._write = _die
    elif step == "journal written":
        create = simulated.JournalRow.objects.create
        simulated.JournalRow.objects.create = lambda **row: (create(**row), _die())
    elif step == "position moved":
        write = simulated._write
        simulated._write = lambda *given: (write(*given), _die())


def main() -> None:
    django.setup()
    # Models exist only after the set-up.
    simulated = import_module("console.connectors.simulated")
    worlds = import_module("tests.console.connectors.worlds")
    uid, key, step = sys.argv[1:4]
    _arm(simulated, step)
    operations = import_module("scheduler.plan.operations")
    wake = operations.Recall(cluster="default", pod="jobs/s", uid="")
    operation = wake if sys.argv[4:] == ["recall"] else worlds.move("jobs/a", "n1", "n2")
    simulated.SimulatedConnector(uid).execute(operation, key)
    _die()


if __name__ == "__main__":
    main()
