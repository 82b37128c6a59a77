"""A child process that is started, watched, started again when it dies, and ended with everything it has started."""

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from console.dispatch.parent import die_with_parent

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
STEADY_SECONDS = 60.0  # having lived for so long, the next death counts as the first


@dataclass
class Child:
    """``stop_seconds``: how long the child may take to finish what it is doing after SIGTERM."""

    name: str
    command: list[str]
    environment: dict[str, str]
    log: Path
    stop_seconds: float = 5.0
    process: "subprocess.Popen[bytes] | None" = None
    started_at: float = 0.0
    pause: float = field(default=FIRST_PAUSE)
    start_again_at: float | None = None

    def start(self) -> None:
        """Runs it in a session of its own: Ctrl-C reaches only the supervisor, which ends the children in order."""
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=partial(die_with_parent, os.getpid()),
            )
        self.started_at = time.monotonic()
        self.start_again_at = None

    def died(self) -> int | None:
        """Exit code of a child that has ended since we last looked; its group is ended with it."""
        if self.process is None or (code := self.process.poll()) is None:
            return None
        self._signal(signal.SIGKILL)
        self.process = None
        if time.monotonic() - self.started_at >= STEADY_SECONDS:
            self.pause = FIRST_PAUSE
        self.start_again_at = time.monotonic() + self.pause
        self.pause = min(LONGEST_PAUSE, self.pause * 2)
        return code

    def due(self) -> bool:
        return self.start_again_at is not None and time.monotonic() >= self.start_again_at

    def ask_to_stop(self) -> None:
        self.start_again_at = None
        self._signal(signal.SIGTERM, group=False)

    def stop(self, deadline: float) -> bool:
        """Waits until ``deadline`` (monotonic), then kills.  False if it had to be killed."""
        if self.process is None:
            return True
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
            by_itself = True
        except subprocess.TimeoutExpired:
            by_itself = False
        self._signal(signal.SIGKILL)
        self.process.wait()
        self.process = None
        return by_itself

    def _signal(self, number: signal.Signals, *, group: bool = True) -> None:
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            # The session's id is the child's pid, also after the child itself has gone.
            (os.killpg if group else os.kill)(self.process.pid, number)
