"""Whether an API answers at all, asked every few seconds: a quiet cluster and one that hangs look alike to a watch."""

import threading
import time
from dataclasses import dataclass

from console.connectors.kubernetes.steps import Lost
from console.connectors.kubernetes.wire import Api, Trouble


@dataclass(frozen=True, slots=True)
class Beat:
    """Seconds.  ``lost_s`` without an answer, of which at least one question failed, and the API is lost."""

    every_s: float = 3.0
    answer_s: float = 4.0
    lost_s: float = 12.0


class Pulse:
    """One thread of a feed.  Any answer counts, also a refusal."""

    def __init__(self, api: Api, beat: Beat | None = None) -> None:
        self._api, self._beat = api, beat or Beat()
        self._answered_at = time.monotonic()
        self._asked_at: float | None = None  # the question that is under way
        self._reason = ""

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(self._beat.every_s):
            self.ask()

    def ask(self) -> None:
        self._asked_at = time.monotonic()
        try:
            self._api.greet(self._beat.answer_s)
        except Trouble as trouble:
            if isinstance(trouble.told, Lost):
                self._reason = trouble.told.reason
                return
        finally:
            self._asked_at = None
        self._answered_at, self._reason = time.monotonic(), ""

    def _trouble(self) -> str:
        """What the last question met.  One that goes on for twice its time has failed, whatever holds it up."""
        asked_at = self._asked_at
        hanging_s = 0.0 if asked_at is None else time.monotonic() - asked_at
        return self._reason or ("a question hangs" if hanging_s > 2 * self._beat.answer_s else "")

    def lost(self) -> str:
        """Why the API is lost; "" while it answers, or may have missed one question."""
        silent_s, trouble = time.monotonic() - self._answered_at, self._trouble()
        if not trouble or silent_s < self._beat.lost_s:
            return ""
        return f"the API server does not answer since {silent_s:.0f} s: {trouble}"
