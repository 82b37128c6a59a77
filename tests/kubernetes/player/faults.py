"""What a player does wrong when told to: one queue of faults, each taken at the first occasion that fits it."""

import random
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Where = Literal["list", "open", "stream"]

# fault -> where it strikes.  A list fault spoils one answer, an open fault the answer to a watch, the others a stream.
FAULTS: dict[str, Where] = {
    "list 429": "list",
    "list 500": "list",
    "list 503 with a page of HTML": "list",
    "list 401": "list",
    "list 403": "list",
    "list 404": "list",
    "list closed without an answer": "list",
    "list cut in the middle": "list",
    "list slow": "list",
    "list silent": "list",
    "list empty": "list",
    "list without items": "list",
    "list with null items": "list",
    "list of another kind": "list",
    "list is not JSON": "list",
    "list goes back in time": "list",
    "list without version": "list",
    "list lacks two thirds": "list",
    "list with doubled objects": "list",
    "list with an unreadable object": "list",
    "list token expires": "list",
    "list pages never end": "list",
    "list pages disagree": "list",
    "watch 410": "open",
    "watch 410 in the stream": "open",
    "watch 429": "open",
    "watch 500": "open",
    "watch 401": "open",
    "watch 403": "open",
    "watch closed without an answer": "open",
    "watch ends at once": "open",
    "cut in the middle of a line": "stream",
    "cut between lines": "stream",
    "event twice": "stream",
    "events in another order": "stream",
    "old event again": "stream",
    "gap, then 410": "stream",
    "ERROR 500": "stream",
    "silence": "stream",
    "slow line": "stream",
    "version goes back": "stream",
    "event without version": "stream",
    "event of another kind": "stream",
    "event that cannot be read": "stream",
    "line is not JSON": "stream",
    "bookmark goes back": "stream",
    "bookmark too early": "stream",
    "clock jumps": "stream",
    "deleted while the watch was down": "stream",
    "same name, another uid, while the watch was down": "stream",
}


@dataclass(slots=True)
class Faults:
    """``queue`` holds faults to come.  ``injected`` counts those that have struck."""

    rng: random.Random = field(default_factory=lambda: random.Random(0))
    queue: deque[str] = field(default_factory=deque)
    injected: Counter[str] = field(default_factory=Counter)
    skew_s: float = 0.0
    share: float = 1.0  # chance that an occasion is used
    within: int = 12  # how far down the queue an occasion may look for a fault that fits

    def plan(self, names: Iterable[str]) -> None:
        self.queue.extend(names)

    def take(self, where: Where, path: str) -> str:
        """The next fault for this occasion, or ``""``."""
        if not self.queue or self.rng.random() > self.share:
            return ""
        for place, name in enumerate(self.queue):
            if place >= self.within:
                break
            if FAULTS[name] == where:
                del self.queue[place]
                self.injected[name] += 1
                return name
        return ""
