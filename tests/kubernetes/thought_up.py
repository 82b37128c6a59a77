"""An API that Hypothesis thinks up: its truth, what it tells, and the reflector that listens."""

import random
from dataclasses import dataclass, field

from console.connectors.kubernetes.reflector import Limits, Reflector
from console.connectors.kubernetes.steps import (
    Change,
    Changed,
    Drop,
    Ended,
    Input,
    Item,
    List,
    Lost,
    Marked,
    Opened,
    Paged,
    Put,
    Refused,
    Unreadable,
    Wait,
    Watch,
    Wire,
    Woke,
)

# No fresh list by the hour: what is right must not be so by that alone.  Only an incomplete list that looks like a
# complete one needs it.
LIMITS = Limits(page=3, smallest_page=1, largest_page=50, resync_s=1e12)
HOURLY = Limits(page=3, smallest_page=1, largest_page=50)
INCOMPLETE = ("empty", "partial")
NAMES = [f"p{at}" for at in range(6)]
TURN_S = 0.05
ACTIONS = (
    "create", "modify", "delete", "recreate", "deliver", "deliver twice", "overtake", "replay", "lie about version",
    "unversioned", "unreadable", "nonsense", "bookmark", "bookmark back", "bookmark ahead", "cut", "end", "silent",
    "gone", "429", "500", "401", "403", "404", "page", "empty", "partial", "back", "no version", "endless", "expired",
    "disagree", "wait",
)  # fmt: skip


@dataclass
class Api:
    """Its truth, what it has told, and the reflector that listens.  Time is made up."""

    needed: bool
    seed: int
    now: float = 0.0
    version: int = 100
    born: int = 0
    truth: dict[str, tuple[str, int]] = field(default_factory=dict)
    history: list[tuple[Change, Item]] = field(default_factory=list)
    horizon: int = 100
    state: dict[object, object] = field(default_factory=dict)
    limits: Limits = LIMITS
    wire: Wire = field(default_factory=lambda: List(0))
    position: int = 0  # of the stream
    open: bool = False
    listing: tuple[int, list[Item]] | None = None

    def __post_init__(self) -> None:
        self.reflector = Reflector(random.Random(self.seed), self.needed, self.limits)
        self._carry_out(self.reflector.start())

    # --- the truth ------------------------------------------------------------------------------------------------
    def change(self, action: str, name: str) -> None:
        if action in ("delete", "recreate") and name in self.truth:
            uid, _ = self.truth.pop(name)
            self._tell("DELETED", name, uid)
        if action in ("create", "recreate") and name not in self.truth:
            self.born += 1
            self._tell("ADDED", name, f"u{self.born}")
            self.truth[name] = (f"u{self.born}", self.version)
        elif action == "modify" and name in self.truth:
            uid, _ = self.truth[name]
            self._tell("MODIFIED", name, uid)
            self.truth[name] = (uid, self.version)

    def _tell(self, what: Change, name: str, uid: str) -> None:
        self.version += 1
        self.history.append((what, Item(name, uid, str(self.version), (uid, self.version))))

    def objects(self) -> list[Item]:
        return [Item(name, uid, str(version), (uid, version)) for name, (uid, version) in sorted(self.truth.items())]

    def pending(self) -> list[tuple[Change, Item]]:
        return [told for told in self.history if int(told[1].version) > self.position]

    # --- what the reflector asks and hears ------------------------------------------------------------------------
    def hear(self, given: Input) -> None:
        self.now += TURN_S
        self._carry_out(self.reflector.step(given, self.now))

    def _carry_out(self, told: list[object]) -> None:
        for instruction in told:
            match instruction:
                case Put(key, value):
                    self.state[key] = value
                case Drop(key):
                    del self.state[key]
                case List() | Watch() | Wait():
                    self.wire, self.open = instruction, False

    def watched(self) -> bool:
        """Opens the stream if one is asked for; an honest server refuses what it no longer keeps, or never had."""
        if not isinstance(self.wire, Watch):
            return False
        if not self.open:
            self.position = int(self.wire.version)
            if self.position < self.horizon:
                self.hear(Refused(410, "too old resource version"))
                return False
            if self.position > self.version:
                self.hear(Refused(504, "Too large resource version", 1.0))
                return False
            self.open = True
            self.hear(Opened())
        return self.open

    def deliver(self, times: int = 1, at: int = 0) -> None:
        pending = self.pending()
        if len(pending) <= at:
            return
        chosen = [pending[at], *pending[:at]] if at else [pending[0]]
        self.position = int(pending[at][1].version)
        for what, item in chosen:
            for _ in range(times):
                if self.open:
                    self.hear(Changed(what, item))

    def page(self, spoilt: str = "") -> None:
        assert isinstance(self.wire, List)
        token = self.wire.token
        if not token or self.listing is None:
            self.listing = (self.version, self.objects())
        version, objects = self.listing
        start = int(token or 0)
        limit = self.wire.limit or len(objects) or 1
        items, end = objects[start : start + limit], start + limit
        following = str(end) if end < len(objects) else ""
        match spoilt:
            case "empty":
                items, following = [], ""
            case "partial":
                items, following = items[: len(items) // 3], ""
            case "back":
                version = max(version - 50, 1)
            case "no version":
                self.hear(Paged(tuple(items), "", following))
                return
            case "endless":
                following = "0"
            case "disagree" if following or token:
                version += 1 + start  # no two pages agree on it
        self.hear(Paged(tuple(items), str(version), following))

    # --- one turn -------------------------------------------------------------------------------------------------
    def act(self, action: str, draw: int) -> None:
        if action in ("create", "modify", "delete", "recreate"):
            self.change(action, NAMES[draw % len(NAMES)])
        elif isinstance(self.wire, Wait):
            if action == "wait":
                self.now += self.wire.seconds
                self.hear(Woke())
        elif action in ("429", "500", "401", "403", "404"):
            self.hear(Refused(int(action), "trouble", float(draw % 3)))
        elif action == "cut":
            self.hear(Lost("cut", "cut"))
        elif isinstance(self.wire, List):
            self._act_on_list(action)
        elif action == "gone":
            self.horizon = self.version
            self.hear(Refused(410, "too old resource version"))
        elif self.watched():
            self._act_on_watch(action, draw)

    def _act_on_list(self, action: str) -> None:
        if action == "expired":
            self.hear(Refused(410, "The provided continue parameter is too old"))
        elif action in ("page", "empty", "partial", "back", "no version", "endless", "disagree"):
            self.page(action)

    def _act_on_watch(self, action: str, draw: int) -> None:
        pending, reached = self.pending(), max(self.position, 101)
        if action in ("deliver", "deliver twice", "overtake"):
            self.deliver(1 + (action == "deliver twice"), int(action == "overtake"))
        elif action == "replay" and self.history:
            self.hear(Changed(*self.history[draw % len(self.history)]))
        elif action in ("lie about version", "unversioned", "unreadable") and pending:
            what, item = pending[0]
            self.position = int(item.version)
            lies = {
                "lie about version": item._replace(version=str(max(int(item.version) - 20, 1))),
                "unversioned": item._replace(version=""),
                "unreadable": item._replace(uid="", value="unreadable"),
            }
            self.hear(Changed(what, lies[action]))
        elif action == "nonsense":
            self.hear(Unreadable())
        elif action == "bookmark" and not pending:
            self.hear(Marked(str(self.version)))
        elif action == "bookmark back":
            self.hear(Marked(str(reached - 1)))
        elif action == "bookmark ahead":
            self.hear(Marked(str(self.version + 3)))
        elif action == "end":
            self.hear(Ended())
        elif action == "silent":
            self.now += 90
            self.hear(Lost("silent", "no bytes"))

    def be_honest(self) -> None:
        """From now on all is as it should be.  Enough time passes for every doubt to be looked into."""
        self.change("recreate", NAMES[0])
        for _ in range(400):
            if isinstance(self.wire, Wait):
                self.now += self.wire.seconds
                self.hear(Woke())
            elif isinstance(self.wire, List):
                self.page()
            elif self.watched():
                self._be_watched()

    def _be_watched(self) -> None:
        while self.open and self.pending():
            self.deliver()
        if self.open:
            self.now += 60
            self.hear(Marked(str(self.version)))
        if self.open and isinstance(self.wire, Watch):
            self.now += self.wire.timeout_s
            self.hear(Ended())
