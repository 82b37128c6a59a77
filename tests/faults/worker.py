"""A worker process of its own that kills itself at a named step: ``python -m tests.faults.worker TASK PLAN STEP``.

It uses the database of the test that started it (SLACKLINE_TEST_DATABASE) and dies by SIGKILL: nothing is cleaned up.
"""

import os
import signal
import sys
from importlib import import_module

import django

from console.plans import milestones


def main(task: str, plan_id: int, step: str) -> None:
    def kill(milestone: milestones.Milestone) -> None:
        if milestone.value == step:
            os.kill(os.getpid(), signal.SIGKILL)

    milestones.watch(kill)
    if task == "plan":
        import_module("console.consolidation.planning").compute(plan_id)
    else:
        import_module("console.plans.execution").run(plan_id, wait=lambda _seconds: None)


if __name__ == "__main__":
    django.setup()
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
