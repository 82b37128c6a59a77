"""What a run tells of itself while it goes on.  Only this reads clocks; what comes of the run does not depend on it."""

import time
from threading import Event, Thread
from typing import Any

import numpy as np
import structlog
from django.db import DatabaseError, connection

from console.simulation import services
from console.simulation.models import Run
from scheduler.replay import columns as c
from scheduler.replay.kept import pack_replay
from scheduler.replay.loop import Reached, Replay

log = structlog.get_logger(__name__)
TOLD_EVERY_S = 1.0
PACKED_EVERY_S = 20.0
PACKING_SHARE = 20  # at most one part in so many of the time goes into packing
BEATEN_EVERY_S = 10.0


class Pace:
    """How far it is, every second; all of its state, more rarely."""

    def __init__(self, run: Run, code: str, replay: Replay, before_s: float) -> None:
        self.run, self.code, self.replay = run, code, replay
        self.lost = False  # the run is somebody else's now, or cancelled
        self._before_s, self._began_s = before_s, time.process_time()
        self._told_at = self._packed_at = time.monotonic()
        self._packing_s = 0.0

    def reached(self) -> dict[str, Any]:
        state = self.replay.state
        return {
            "now_s": int(state.clock[c.C_NOW]),
            "ended": int(np.count_nonzero(state.job[:, c.J_STATUS] == c.DONE)),
            "started": int(state.clock[c.C_STARTS]),
            "waiting": int(state.lane[:, c.L_COUNT].sum()),
            "cpu_seconds": round(self._before_s + time.process_time() - self._began_s, 3),
        }

    def tell(self, _reached: Reached) -> bool:
        """After every sample of the loop; False stops it."""
        now = time.monotonic()
        if now - self._told_at < TOLD_EVERY_S:
            return True
        self._told_at = now
        self.lost = not services.move_on(self.run, self.reached())
        if not self.lost and now - self._packed_at > max(PACKED_EVERY_S, PACKING_SHARE * self._packing_s):
            services.stash(self.run, pack_replay(self.replay), self.code, self.reached()["cpu_seconds"])
            self._packed_at = time.monotonic()
            self._packing_s = self._packed_at - now
        return not self.lost


class SignOfLife:
    """A thread that beats for the run: drawing a trace or a plan of many nodes says nothing for a while."""

    def __init__(self, run: Run) -> None:
        self._run, self._over = run, Event()
        self._thread = Thread(target=self._beat, daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        try:
            while not self._over.wait(BEATEN_EVERY_S):
                try:
                    if not services.beat(self._run):
                        return  # whoever works here finds out at its next step
                except DatabaseError as error:
                    log.warning("run.no_sign_of_life", run=self._run.pk, error=str(error))
        finally:
            connection.close()

    def close(self) -> None:
        self._over.set()
        self._thread.join()
