"""Which objects of one kind are known, and whether an event tells anything new about one of them.

Each object is judged by its uid and resourceVersion, so that an event may come twice, late, or after a gap that is
told again: the outcome is that of the events in their order.  A uid ends once; a name may come back with another one.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from console.connectors.kubernetes.steps import Changed, Drop, Item, Put

Order = int | None  # a resourceVersion as a number; None where it is not one, then the order of arrival counts
BURIED = 50_000
RECENT = 8_192
GRAINS = 5  # steps of the overlap that the trail remembers
LONGEST = 40  # digits of a version; etcd counts in 64 bits


def order_of(version: str) -> Order:
    """Versions of one resource type can be compared as numbers; anything else tells nothing about before and after."""
    number = version.isascii() and version.isdigit() and version[0] != "0" and len(version) <= LONGEST
    return int(version) if number else None


@dataclass(frozen=True, slots=True)
class Verdict:
    """``act`` is what to tell the reader; ``doubt`` says why the stream cannot be quite right."""

    act: Put | Drop | None = None
    doubt: str = ""


SAME = Verdict()


@dataclass(slots=True)
class Ledger:
    overlap_s: float
    _known: dict[Hashable, tuple[str, Order]] = field(default_factory=dict)
    _buried: dict[str, Order] = field(default_factory=dict)  # uid -> the version that ended it
    _recent: dict[int, None] = field(default_factory=dict)  # versions of events, to tell a repeat from a straggler
    _trail: deque[tuple[float, int]] = field(default_factory=deque)  # when a version was first reached
    _floor: int = 0  # version of the last whole list: what is not newer is in it
    _replayed: int = 0  # what was reached when the watch was last opened: up to here, old events are expected
    _heard_at: float = 0.0
    _told: int = 0  # the highest version that the open stream was opened at or has told
    high: int = 0
    latest: str = ""

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._known)

    def __contains__(self, key: object) -> bool:
        return key in self._known

    # --- lists: what they say holds -------------------------------------------------------------------------------
    def knows(self, item: Item) -> bool:
        """Just as it is in the list.  What has no version may always have changed."""
        now = (item.uid, order_of(item.version))
        return now[1] is not None and self._known.get(item.key) == now

    def take(self, item: Item) -> Put:
        self._known[item.key] = (item.uid, order_of(item.version))
        return Put(item.key, item.value)

    def sweep(self, missing: Iterable[Hashable]) -> list[Drop]:
        gone = list(missing)
        for key in gone:
            del self._known[key]
        return [Drop(key) for key in gone]

    def settle(self, version: str, now: float) -> None:
        """A list of ``version`` is complete and taken."""
        order = order_of(version)
        self.latest, self._floor = version, order or 0
        self.high, self._replayed = self._floor, 0
        self._buried.clear()
        self._recent.clear()
        self._trail.clear()
        if order is not None:
            self._trail.append((now, order))
        self._heard_at = now

    def forget_versions(self) -> None:
        """The API counts anew: no known version can be compared with what it says from now on."""
        self._known = {key: (uid, None) for key, (uid, _) in self._known.items()}
        self.high = self._floor = 0

    # --- watches --------------------------------------------------------------------------------------------------
    def resume(self) -> str:
        """The version to watch from: a little before the last one, so that what was late in a cut stream is told."""
        self._told = 0
        if not self._trail:
            return self.latest
        self._replayed = self.high
        limit = self._heard_at - self.overlap_s
        self._told = next((order for at, order in reversed(self._trail) if at <= limit), self._trail[0][1])
        return str(self._told)

    def went_back(self, version: str) -> int | None:
        """What the open stream had told before ``version``, if that was more: versions of a stream only rise.

        Of one resource type they are comparable numbers by Kubernetes' own word (KEP-5504, stable in 1.35).
        """
        order, before = order_of(version), self._told
        if order is None or order >= before:
            self._told = max(before, order or 0)
            return None
        return before

    def reach(self, version: str, now: float) -> None:
        """Everything up to ``version`` is told."""
        order = order_of(version)
        if order is None:
            self.latest = version or self.latest
            return
        if order <= self.high:
            return
        self.high, self.latest = order, version
        while len(self._trail) > 1 and self._trail[1][0] <= now - self.overlap_s:
            self._trail.popleft()
        if not self._trail or now - self._trail[-1][0] >= self.overlap_s / GRAINS:
            self._trail.append((now, order))
        self._heard_at = now

    def judge(self, event: Changed, now: float) -> Verdict:
        item, order = event.item, order_of(event.item.version)
        repeated = order in self._recent
        if order is not None:
            self._recent[order] = None
            if len(self._recent) > RECENT:
                del self._recent[next(iter(self._recent))]
        unread = event.what != "DELETED" and self.unread(item)
        verdict = self._ended(item, order) if event.what == "DELETED" else self._lives(item, order, repeated)
        self.reach(item.version, now)
        if not item.version:
            return Verdict(verdict.act, "an event has no resourceVersion")
        return Verdict(verdict.act, "an object cannot be read") if unread else verdict

    def _ended(self, item: Item, order: Order) -> Verdict:
        known = self._known.get(item.key)
        self._bury(item.uid, order)
        if known is None:
            return SAME
        uid, last = known
        if _one(uid, item.uid):
            del self._known[item.key]
            early = order is not None and last is not None and order < last
            return Verdict(Drop(item.key), "an object ended before its last change" if early else "")
        late = order is None or last is None or order <= last
        return SAME if late else Verdict(doubt="an object ended after another one took its name")

    def unread(self, item: Item) -> bool:
        """An object that could be read so far, or was not there, and now cannot be."""
        return not item.uid and self._known.get(item.key, ("new", None))[0] != ""

    def _lives(self, item: Item, order: Order, repeated: bool) -> Verdict:
        if item.uid in self._buried:
            end = self._buried[item.uid]
            after = order is not None and end is not None and order > end
            return Verdict(doubt="an object changed after its end") if after else SAME
        known = self._known.get(item.key)
        if known is None:
            if order is not None and order <= self._floor:
                return Verdict(doubt="an object appeared that an earlier list lacks")
            return self._put(item, order)
        uid, last = known
        if order is None or last is None or order > last:
            if not _one(uid, item.uid):
                self._bury(uid, last)
            return self._put(item, order)
        if order == last:
            return SAME if _one(uid, item.uid) else Verdict(doubt="two objects have one version")
        expected = repeated or order <= self._replayed
        return SAME if expected else Verdict(doubt="an event is older than what is known")

    def _put(self, item: Item, order: Order) -> Verdict:
        self._known[item.key] = (item.uid, order)
        return Verdict(Put(item.key, item.value))

    def _bury(self, uid: str, order: Order) -> None:
        if not uid:
            return  # an object without identity cannot be told from its successor
        self._buried[uid] = order
        if len(self._buried) > BURIED:
            del self._buried[next(iter(self._buried))]


def _one(uid: str, other: str) -> bool:
    """The same object, or at least not known to be another: what could not be read has no uid."""
    return uid == other or not uid or not other
