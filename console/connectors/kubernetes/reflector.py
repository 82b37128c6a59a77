"""One kind of one cluster, kept equal to what the API says: inputs in, instructions out; no wire, no clock, no thread.

A list is asked for page by page; when it is complete, what is new in it is told, and what it lacks is dropped.
Then changes are watched.  Whatever goes wrong ends in one of three ways: the same is asked again later, the watch is
opened again a little before the last version, or everything is listed anew.

What is not taken at its word.  A list that is older than what was seen, or that lacks half of what was there a moment
ago, or a kind that has disappeared: the state is held for a grace and asked for again; when the answer repeats, it is
believed, and asked for once more a little later.  That all objects of a needed kind are gone is believed only when
several lists say so over some minutes, unless those of the other needed kinds are gone as well.  An event that
contradicts what is known is decided by uid and version.  Then, and when the version of an event or bookmark goes back
within a stream, the kind is listed anew, at most once in a while.
Besides, everything is listed anew about once an hour, since an event that was never sent leaves no trace.
"""

import random
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from console.connectors.kubernetes.ledger import Ledger, order_of
from console.connectors.kubernetes.steps import (
    Changed,
    Doubt,
    Ended,
    Input,
    Instruction,
    Item,
    List,
    Lost,
    Marked,
    Opened,
    Paged,
    Phase,
    Refused,
    Unreadable,
    Wait,
    Watch,
    Wire,
    Woke,
)

AFRESH = List(0)
TRICKLE = Watch("", 0)  # drawn up when the wait is over


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and counts of a reflector's patience."""

    page: int = 500
    smallest_page: int = 50
    largest_page: int = 8_000
    watch_s: tuple[int, int] = (300, 600)
    overlap_s: float = 5.0
    grace_s: float = 30.0
    empty_s: float = 240.0  # until no objects at all of a needed kind are believed, and so many lists
    empty_lists: int = 4
    doubt_s: float = 60.0  # between two lists that only a doubt asks for; doubles
    longest_doubt_s: float = 900.0
    resync_s: float = 3_600.0
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    longest_asked_s: float = 600.0  # an API may ask for patience, not for silence
    absent_s: float = 600.0
    forbidden_s: float = 120.0
    lived_s: float = 5.0  # a stream that lasted so long was worth opening
    tries: int = 3  # before a watch that does not come up, or a list that expires, is begun anew


@dataclass(slots=True)
class Suspicion:
    what: Doubt
    since: float
    detail: str
    lists: int = 1  # that said so


@dataclass(slots=True)
class _Listing:
    before: int
    began: float
    version: str = ""
    again: bool = False  # to be asked for once more before long, because something in it is hard to believe
    seen: set[Hashable] = field(default_factory=set)
    changed: list[Item] = field(default_factory=list)  # told at the end, so that no reading is half old and half new


@dataclass(slots=True)
class Reflector:
    """``needed``: without this kind there is no snapshot.  ``expected``: objects that somebody saw before us."""

    rng: random.Random
    needed: bool
    limits: Limits = field(default_factory=Limits)
    expected: int = 0
    all_gone: Callable[[], bool] = lambda: False  # the other needed kinds are empty, too

    phase: Phase = Phase.STARTING
    ready: bool = False  # the state may be read: listed once, or known to be absent or forbidden
    absent: bool = False  # the API said last that it does not know the kind
    forbidden: bool = False  # ... that we may not ask; until a watch of it is open
    reason: str = ""  # why it waits, or what went wrong last
    lists: int = 0  # complete ones
    errors: Counter[str] = field(default_factory=Counter)
    suspicion: Suspicion | None = None
    believed: int = 0  # suspicions that were believed when they repeated
    fresh_at: float | None = None  # when the state was last known to be that of the API
    event_at: float | None = None
    heard_at: float | None = None  # events and bookmarks
    ledger: Ledger = field(init=False)
    _listing: _Listing | None = None
    _after: Wire = AFRESH
    _failures: int = 0  # of lists, in a row
    _broken: int = 0  # watches in a row that brought nothing
    _denied: int = 0  # answers in a row that we may not ask
    _expired: int = 0
    _page: int = 0
    _opened_at: float | None = None
    _doubted: bool = False
    _doubt_s: float = 0.0
    _listed_at: float | None = None
    _resync_at: float = 0.0

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.limits.overlap_s)
        self._page, self._doubt_s = self.limits.page, self.limits.doubt_s
        self.expected = max(self.expected, int(self.needed))  # no cluster is without nodes and pods

    def start(self) -> list[Instruction]:
        return [self._list()]

    def step(self, given: Input, now: float) -> list[Instruction]:
        """What follows from ``given`` at ``now`` (seconds of a clock that never goes back)."""
        match given:
            case Paged():
                return self._paged(given, now)
            case Opened():
                self._opened_at = self.fresh_at = now
                self.forbidden, self._denied = False, 0
                self.reason = self.reason if self._doubted else ""
                return []
            case Changed():
                return self._changed(given, now)
            case Marked(version):
                return self._marked(version, now)
            case Unreadable():
                self.errors["unreadable"] += 1
                return self._doubt("an event could not be read", now)
            case Refused():
                return self._refused(given, now)
            case Lost(word, reason):
                return self._lost(word, reason, now)
            case Ended():
                return self._reopen("the watch ended at once", now)
            case Woke():
                return [self._go_on(now)]

    # --- lists ----------------------------------------------------------------------------------------------------
    def _list(self) -> List:
        self.phase, self._listing, self._opened_at, self._after = Phase.LISTING, None, None, AFRESH
        return List(self._page)

    def _paged(self, page: Paged, now: float) -> list[Instruction]:
        if self._listing is None:
            trouble = self._begin(page, now)
            if trouble is not None:
                return [trouble]
        listing = self._listing
        assert listing is not None
        if page.version != listing.version:
            return self._lost("inconsistent", "pages of one list have different versions", now)
        told: list[Instruction] = []
        before = len(listing.seen)
        for item in page.items:
            listing.seen.add(item.key)
            listing.again = listing.again or self.ledger.unread(item)
            if self.ledger.knows(item):
                continue
            if self.ready:
                listing.changed.append(item)
            else:
                told.append(self.ledger.take(item))
        if not page.token:
            return told + self._finish(listing, now)
        if len(listing.seen) == before:
            return told + self._lost("endless", "a page of a list brings nothing and asks for more", now)
        self._failures, self._after = 0, List(0, page.token)
        return [*told, List(self._page, page.token)]

    def _begin(self, page: Paged, now: float) -> Wait | None:
        """Starts to take a list, or says why to wait and ask again."""
        order = order_of(page.version)
        if not page.version or page.version == "0":
            self.errors["no version"] += 1
            return self._wait(self._back_off(), "a list has no resourceVersion", AFRESH)
        if order is not None and order < self.ledger.high:
            if not self._believe(Doubt.WENT_BACK, f"from version {self.ledger.high} to {order}", now):
                return self._wait(self.limits.grace_s, Doubt.WENT_BACK.value, AFRESH)
            self.ledger.forget_versions()
        self._listing = _Listing(max(len(self.ledger), 0 if self.ready else self.expected), now, page.version)
        self._listing.again = order is not None and self.ledger.high == 0 and self.ready
        return None

    def _finish(self, listing: _Listing, now: float) -> list[Instruction]:
        missing = [key for key in self.ledger if key not in listing.seen]
        lost = max(len(missing), 0 if self.ready else self.expected - len(listing.seen))
        if lost and lost * 2 >= listing.before:
            detail = f"{lost} of {listing.before} are not in the list"
            doubt = Doubt.EMPTY if self.needed and not listing.seen and listing.before > 1 else Doubt.VANISHED
            if not self._believe(doubt, detail, now):
                self._listing = None
                return [self._wait(self.limits.grace_s, doubt.value, AFRESH)]
            listing.again = True
        told: list[Instruction] = [self.ledger.take(item) for item in listing.changed]
        self.ledger.settle(listing.version, now)
        gap = self._listed_at is not None and now - self._listed_at > 2 * self._doubt_s
        self._doubt_s = self.limits.doubt_s if gap else self._doubt_s
        self.ready, self.absent, self.suspicion, self.reason = True, False, None, ""
        self.lists, self.fresh_at, self._listed_at = self.lists + 1, listing.began, now
        self._failures = self._expired = 0
        self._page, self._doubted, self._listing = self.limits.page, listing.again, None
        self._resync_at = now + self.limits.resync_s * self.rng.uniform(0.8, 1.2)
        return [*told, *self.ledger.sweep(missing), self._watch(now)]

    def _believe(self, what: Doubt, detail: str, now: float) -> bool:
        """True when the same was said a grace ago.  Else it is remembered, and the state is held.

        That a cluster which was full is empty is believed after some minutes of the same answer.
        """
        last = self.suspicion
        if last is None or last.what != what:
            self.suspicion = Suspicion(what, now, detail)
            self.errors[what.name.lower().replace("_", " ")] += 1
            return False
        last.lists, last.detail = last.lists + 1, detail
        slow = what == Doubt.EMPTY and not self.all_gone()
        seconds, lists = (self.limits.empty_s, self.limits.empty_lists) if slow else (self.limits.grace_s, 2)
        if now - last.since < seconds * 0.9 or last.lists < lists:
            return False
        self.believed += 1
        self.suspicion = None
        return True

    # --- watches --------------------------------------------------------------------------------------------------
    def _watch(self, now: float) -> Watch:
        self.phase, self._opened_at = Phase.WATCHING, None
        longest = min(self.rng.uniform(*self.limits.watch_s), self._resync_at - now)
        if self._doubted and self._listed_at is not None:
            longest = min(longest, self._listed_at + self._doubt_s - now)
        return Watch(self.ledger.resume(), max(1, int(longest)))

    def _changed(self, event: Changed, now: float) -> list[Instruction]:
        self.fresh_at = self.event_at = self.heard_at = now
        self._broken = 0
        back = self._went_back(event.item.version)
        verdict = self.ledger.judge(event, now)
        told: list[Instruction] = [] if verdict.act is None else [verdict.act]
        if verdict.doubt:
            self.errors["out of order"] += 1
        if back or verdict.doubt:
            told += self._doubt(back or verdict.doubt, now)
        return told

    def _marked(self, version: str, now: float) -> list[Instruction]:
        self.fresh_at = self.heard_at = now
        self._broken = 0
        back = self._went_back(version)
        self.ledger.reach(version, now)
        return self._doubt(back, now) if back else self._list_if_due(now)

    def _went_back(self, version: str) -> str:
        """Why the stream is not that of one server any more: another one answers, or one that lost what it had told."""
        before = self.ledger.went_back(version)
        if before is None:
            return ""
        self.errors["watch went back"] += 1
        return f"the watch went back from version {before} to {version}"

    def _doubt(self, reason: str, now: float) -> list[Instruction]:
        """Lists anew, at once or when the last list is old enough."""
        first, self._doubted, self.reason = not self._doubted, True, reason
        return self._list_if_due(now) or ([self._watch(now)] if first else [])

    def _list_if_due(self, now: float) -> list[Instruction]:
        if self._doubted and self._listed_at is not None and now >= self._listed_at + self._doubt_s:
            self._doubt_s = min(self._doubt_s * 2, self.limits.longest_doubt_s)
            return [self._list()]
        return [self._list()] if now >= self._resync_at else []

    def _reopen(self, reason: str, now: float) -> list[Instruction]:
        """The stream is over.  One that brought nothing in no time counts as a failure."""
        opened = self._opened_at
        lived = opened is not None and now - opened >= self.limits.lived_s
        due = self._list_if_due(now)
        if due:
            return due
        if lived:
            self._broken = 0
            return [self._watch(now)]
        if opened is not None and self.heard_at is not None and self.heard_at >= opened:
            return [self._wait(self.rng.uniform(0.1, 0.5), reason, TRICKLE)]
        return [self._wait(self._break_off(), reason, self._retry())]

    # --- what goes wrong ------------------------------------------------------------------------------------------
    def _lost(self, word: str, reason: str, now: float) -> list[Instruction]:
        self.errors[word] += 1
        self.reason = reason
        if self.phase != Phase.LISTING:
            heard = self._opened_at is not None and self.heard_at is not None and self.heard_at >= self._opened_at
            if word == "silent" and not heard:
                self._doubted = True  # no event and no bookmark: perhaps there is nothing to tell, perhaps it is stuck
            return self._reopen(reason, now)
        if word in ("inconsistent", "endless"):
            return [self._wait(self._back_off(), reason, AFRESH)]
        if word == "slow":
            self._page = max(self._page // 2, self.limits.smallest_page)
        return [self._wait(self._back_off(), reason, self._page_again(0))]

    def _refused(self, refused: Refused, now: float) -> list[Instruction]:
        status = refused.status
        self.errors[str(status)] += 1
        self.reason = f"{status} {refused.reason}".strip()
        if status == 410:
            return [self._gone()]
        if status == 404:
            return self._unknown_kind(now)
        if status == 403:
            self.ready, self.forbidden = self.ready or not self.needed, True
            # A server that has just started forbids everything until it has read its roles.
            seconds = min(self.limits.first_wait_s * 2**self._denied, self.limits.forbidden_s)
            self._denied = min(self._denied + 1, 30)
            wait = self._wait(self.rng.uniform(0.8, 1.2) * seconds, self.reason, AFRESH)
            self.phase = Phase.FORBIDDEN
            return [wait]
        asked = min(max(refused.retry_after_s or 0.0, 0.0), self.limits.longest_asked_s)
        asked *= self.rng.uniform(1.0, 1.2)
        if self.phase == Phase.LISTING:
            return [self._wait(max(asked, self._back_off()), self.reason, self._page_again(status))]
        return [self._wait(max(asked, self._break_off()), self.reason, self._retry())]

    def _gone(self) -> Wait:
        """What was asked for is too old: begun anew, with larger pages where a list took too long for its tokens."""
        if self.phase == Phase.LISTING:
            self._expired += 1
            whole = self._expired > self.limits.tries
            self._page = 0 if whole or not self._page else min(self._page * 2, self.limits.largest_page)
            return self._wait(self._back_off(), self.reason, AFRESH)
        seconds = self._break_off() if self._broken else self.rng.uniform(0.0, 1.0)
        self._broken += 1
        return self._wait(seconds, self.reason, AFRESH)

    def _unknown_kind(self, now: float) -> list[Instruction]:
        if self.needed:
            return [self._wait(self._back_off(), self.reason, AFRESH)]
        if len(self.ledger) and not self._believe(Doubt.KIND_GONE, f"it had {len(self.ledger)} objects", now):
            return [self._wait(self.limits.grace_s, Doubt.KIND_GONE.value, AFRESH)]
        self.ready, self.absent, self.forbidden, self.fresh_at, self.suspicion = True, True, False, now, None
        drops = self.ledger.sweep(list(self.ledger))
        wait = self._wait(self.rng.uniform(0.8, 1.2) * self.limits.absent_s, "not known to the API", AFRESH)
        self.phase = Phase.ABSENT
        return [*drops, wait]

    def _page_again(self, status: int) -> Wire:
        """The same page, or the whole list when the API cannot make sense of what it gave us, or fails too often."""
        return AFRESH if status == 400 or self._failures % self.limits.tries == 0 else self._after

    def _retry(self) -> Wire:
        """The watch once more, or now and then a fresh list when it fails again and again."""
        return TRICKLE if self._broken % self.limits.tries else AFRESH

    def _back_off(self) -> float:
        self._failures += 1
        return self._pause(self._failures)

    def _break_off(self) -> float:
        self._broken += 1
        return self._pause(self._broken)

    def _pause(self, failures: int) -> float:
        """Doubles with each failure in a row; by chance shorter, so that many clients do not come back together."""
        longest = min(self.limits.first_wait_s * 2.0 ** min(failures - 1, 16), self.limits.longest_wait_s)
        return longest * self.rng.uniform(0.5, 1.0)

    def _wait(self, seconds: float, reason: str, after: Wire) -> Wait:
        if isinstance(after, List) and not after.token:
            self._listing = None
        self.phase, self._after, self.reason = Phase.WAITING, after, reason
        self._opened_at = None
        return Wait(seconds, reason)

    def _go_on(self, now: float) -> Wire:
        """What was to follow the wait: a list, the next page of one, or the watch."""
        if not isinstance(self._after, List):
            return self._watch(now)
        if not self._after.token:
            return self._list()
        self.phase = Phase.LISTING
        return List(self._page, self._after.token)
