"""One cluster, followed: a thread for each kind carries out what its reflector says and keeps one reader up to date.

A cluster that is slow, silent or wrong holds up nobody but its own feed.
"""

import functools
import random
import statistics
import threading
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import structlog

from console.connectors.kubernetes.health import Health, KindHealth, is_known, of_kind
from console.connectors.kubernetes.pulse import Beat, Pulse
from console.connectors.kubernetes.reflector import Limits, Reflector
from console.connectors.kubernetes.refusals import where
from console.connectors.kubernetes.steps import (
    Changed,
    Doubt,
    Drop,
    Ended,
    Input,
    Instruction,
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
from console.connectors.kubernetes.wire import Api, Trouble, check_event
from console.connectors.protocol import ConnectorError
from scheduler.cluster.errors import InputError
from scheduler.cluster.strict import without_nul
from scheduler.kubernetes.objects import KINDS, Bad, Event, Kind, Thing, decode_event, decode_list
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.reader import BUDGETS, Reader, Reading

log = structlog.get_logger(__name__)
STACK = 512 << 10
CLOCKS_AGREE_S = 2.0
STALE_KEYS = ("tls", "credentials")  # files of authorities, certificates and tokens may hold others by now


@dataclass(frozen=True, slots=True)
class Terms:
    """``stale_s``: without a word about a kind for so long it is unknown; of a needed one, there is no reading.

    ``patience_s``: how long the first reading waits for kinds that it can do without.
    """

    stale_s: float = 300.0
    patience_s: float = 60.0


class _Follower:
    """One kind: its reflector, and what it does at this moment."""

    def __init__(self, kind: Kind, reflector: Reflector) -> None:
        self.kind, self.reflector = kind, reflector
        self.bad: set[Any] = set()
        self.opened = 0  # watches


class ClusterFeed:
    """``start`` it, ask ``version`` and ``document`` as often as you like, ``stop`` it at the end.

    ``expected``: how many objects of a kind were there when somebody last looked, so that an empty answer to the first
    list is not believed at once.
    """

    def __init__(
        self,
        cluster: str,
        api: Api,
        *,
        options: Options | None = None,
        limits: Limits | None = None,
        terms: Terms | None = None,
        expected: Mapping[str, int] | None = None,
        kinds: Iterable[Kind] | None = None,
        reader: Reader | None = None,
        beat: Beat | None = None,
    ) -> None:
        self.cluster = cluster
        self._api = api
        self._terms = terms or Terms()
        self._reader = reader or Reader(options)
        self._lock = threading.Lock()  # guards the reader and all reflectors
        self._stop = threading.Event()
        self._changes = 0
        self._token = uuid.uuid4().hex[:12]
        self._server_version = ""
        self._began = time.monotonic()
        self._threads: list[threading.Thread] = []
        seen = expected or {}
        self._followers = [
            _Follower(kind, Reflector(random.Random(), kind.needed, limits or Limits(), seen.get(kind.name, 0)))
            for kind in (KINDS.values() if kinds is None else kinds)
        ]
        self._pulse = Pulse(api, beat)
        for follower in self._followers:
            follower.reflector.all_gone = functools.partial(self._gone_beside, follower)

    def start(self) -> None:
        size = threading.stack_size(STACK)
        try:
            for follower in self._followers:
                name = f"{self.cluster} {follower.kind.name}"
                thread = threading.Thread(target=self._follow, args=(follower,), name=name, daemon=True)
                self._threads.append(thread)
            name = f"{self.cluster} pulse"
            self._threads.append(threading.Thread(target=self._pulse.run, args=(self._stop,), name=name, daemon=True))
            for thread in self._threads:
                thread.start()
        finally:
            threading.stack_size(size)

    def stop(self, seconds: float = 5.0) -> None:
        """Ends all threads, and waits for them at most ``seconds`` together."""
        self._stop.set()
        self._api.close()
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(until - time.monotonic(), 0.0))

    # --- what others ask ------------------------------------------------------------------------------------------
    def version(self) -> str:
        """Differs whenever ``document`` would read other objects."""
        unknown = ":unknown" if BUDGETS in self._missing() else ""
        return f"{self._token}:{self._changes}{unknown}"

    def document(self) -> Reading:
        """The cluster now.  Raises ``ConnectorError`` while it is not known, or no longer."""
        now = time.monotonic()
        with self._lock:
            for follower in self._followers:
                self._check(follower, now)
            at = time.time() + (self._skew_s() or 0.0)
            taken_at = datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            self._reader.lack(self._missing())
            return self._reader.document(self.cluster, taken_at, int(at))

    def health(self) -> Health:
        now = time.monotonic()
        with self._lock:
            kinds = tuple(self._health(follower, now) for follower in self._followers)
        return Health(
            cluster=self.cluster,
            server=self._api.server,
            server_version=self._server_version,
            skew_s=self._skew_s(),
            ready=all(kind.ready for kind in kinds if kind.needed),
            missing=self._missing(),
            kinds=kinds,
        )

    def _missing(self) -> tuple[str, ...]:
        """Kinds of which nothing is known, or nothing any more."""
        now, stale_s = time.monotonic(), self._terms.stale_s
        return tuple(one.kind.name for one in self._followers if not is_known(one.reflector, now, stale_s))

    def lost(self) -> str:
        """Why the API is lost; "" while it answers.  Asks nobody, waits for nobody."""
        return self._pulse.lost()

    def suspicion(self) -> str:
        """What is not taken at its word at this moment, kind by kind."""
        told = ((one.kind.name, one.reflector.suspicion) for one in self._followers)
        return "; ".join(f"{name}: {doubt.what.value}, {doubt.detail}" for name, doubt in told if doubt is not None)

    def _gone_beside(self, follower: _Follower) -> bool:
        """All other needed kinds are empty, or said to be."""
        others = [one.reflector for one in self._followers if one.kind.needed and one is not follower]
        doubts = (one.suspicion.what if one.suspicion is not None else None for one in others)
        empty = [doubt == Doubt.EMPTY or not len(one.ledger) for one, doubt in zip(others, doubts, strict=True)]
        return bool(empty) and all(empty)

    def _health(self, follower: _Follower, now: float) -> KindHealth:
        return of_kind(follower.kind.name, follower.reflector, len(follower.bad), follower.opened, now)

    def _check(self, follower: _Follower, now: float) -> None:
        name, reflector = follower.kind.name, follower.reflector
        patient = follower.kind.needed or now - self._began < self._terms.patience_s
        if not reflector.ready and patient:
            why = reflector.reason or f"{len(reflector.ledger):,} so far"
            raise ConnectorError(f"{name} not read yet ({reflector.phase.value}: {why})")
        fresh_at = reflector.fresh_at
        if follower.kind.needed and (fresh_at is None or now - fresh_at > self._terms.stale_s):
            age = f"{now - fresh_at:.0f} s" if fresh_at is not None else "ever"
            raise ConnectorError(f"no word about {name} for {age} ({reflector.phase.value}: {reflector.reason})")

    def _skew_s(self) -> float | None:
        """The middle of the last answers, so that one wrong date changes nothing; small differences are none."""
        skews = self._api.date_skews
        if not skews:
            return None
        middle = statistics.median(skews)
        return 0.0 if abs(middle) < CLOCKS_AGREE_S else round(middle, 1)

    # --- one thread -----------------------------------------------------------------------------------------------
    def _follow(self, follower: _Follower) -> None:
        todo = follower.reflector.start()
        while not self._stop.is_set():
            try:
                wire = self._apply(follower, todo)
                todo = self._perform(follower, wire)
            except Exception as error:
                # One kind of one cluster must not end in silence because of a mistake of ours: it says so and goes on.
                # Its text is not logged, since that may quote a header.
                word, name = type(error).__name__, follower.kind.name
                log.error("kubernetes.unexpected", cluster=self.cluster, kind=name, error=word, where=where(error))
                told = Lost("unexpected", f"{word} while following {name}")
                todo = self._step(follower, told)

    def _perform(self, follower: _Follower, wire: Wire) -> list[Instruction]:
        match wire:
            case Wait(seconds, _):
                self._stop.wait(seconds)
                return self._step(follower, Woke())
            case List():
                return self._list(follower, wire)
            case Watch():
                return self._watch(follower, wire)

    def _list(self, follower: _Follower, wire: List) -> list[Instruction]:
        if follower.kind.needed and not self._server_version:
            self._ask_version()
        try:
            page = decode_list(follower.kind.name, self._api.page(follower.kind, wire))
        except Trouble as trouble:
            return self._troubled(follower, trouble)
        except InputError as error:
            return self._step(follower, Lost("malformed", f"a list cannot be read: {error.reason}"))
        items = [item_of(thing) for thing in page.items]
        items += [item_of(bad) for bad in page.bad if bad.name]
        return self._step(follower, Paged(tuple(items), page.resource_version, page.continue_token))

    def _watch(self, follower: _Follower, wire: Watch) -> list[Instruction]:
        try:
            with self._api.watch(follower.kind, wire) as stream:
                self._step(follower, Opened())
                follower.opened += 1
                for lines in stream:
                    inputs = [input_of(follower.kind, line) for line in lines]
                    todo = self._take(follower, inputs)
                    if todo:
                        return todo
                    if self._stop.is_set():
                        break
        except Trouble as trouble:
            return self._troubled(follower, trouble)
        return self._step(follower, Ended())

    def _take(self, follower: _Follower, inputs: list[Input]) -> list[Instruction]:
        """Events that came together; what is asked of the wire, if anything, ends the stream."""
        with self._lock:
            for given in inputs:
                told = follower.reflector.step(given, time.monotonic())
                wire = self._tell(follower, told)
                if wire is not None:
                    return [wire]
        return []

    def _troubled(self, follower: _Follower, trouble: Trouble) -> list[Instruction]:
        told = trouble.told
        if told.status == 401 if isinstance(told, Refused) else told.word in STALE_KEYS:
            self._api.renew()
        return self._step(follower, trouble.told)

    def _step(self, follower: _Follower, given: Input) -> list[Instruction]:
        with self._lock:
            return follower.reflector.step(given, time.monotonic())

    def _apply(self, follower: _Follower, todo: list[Instruction]) -> Wire:
        with self._lock:
            wire = self._tell(follower, todo)
        assert wire is not None, "a reflector always says how to go on"
        return wire

    def _tell(self, follower: _Follower, told: list[Instruction]) -> Wire | None:
        """Brings the reader up to date; returns what is asked of the wire."""
        wire: Wire | None = None
        for instruction in told:
            match instruction:
                case Put(key, value):
                    self._put(follower, key, value)
                case Drop(key):
                    follower.bad.discard(key)
                    self._reader.drop(follower.kind.name, key)  # type: ignore[arg-type]
                    self._changes += 1
                case _:
                    wire = instruction
        return wire

    def _put(self, follower: _Follower, key: Any, value: Thing | Bad) -> None:
        self._changes += 1
        if isinstance(value, Bad):
            follower.bad.add(key)
            self._reader.put_bad(value)
        else:
            follower.bad.discard(key)
            self._reader.put(follower.kind.name, value)

    def _ask_version(self) -> None:
        """Asked once; a server that does not tell is followed all the same."""
        try:
            self._server_version = str(msgspec.json.decode(without_nul(self._api.version()))["gitVersion"])
        except (Trouble, msgspec.DecodeError, KeyError, TypeError):
            self._server_version = ""


def item_of(found: Thing | Bad) -> Item:
    if isinstance(found, Bad):
        return Item((found.namespace, found.name), "", "", found)
    return Item(found.key, found.metadata.uid, found.metadata.resource_version, found)


def input_of(kind: Kind, line: bytes) -> Input:
    """What one line of a watch says."""
    if not check_event(kind, line):
        return Unreadable()
    try:
        event = decode_event(kind.name, line)
    except InputError as error:
        return Lost("malformed", f"a line of a watch cannot be read: {error.reason}")
    return _input_of(event)


def _input_of(event: Event) -> Input:
    if event.type == "BOOKMARK":
        return Marked(event.resource_version)
    if event.type == "ERROR":
        status = event.status
        assert status is not None
        return Refused(status.code or 500, status.message or status.reason, float(status.retry_after_s) or None)
    if event.bad is not None:
        bad = event.bad
        item = Item((bad.namespace, bad.name), "", event.resource_version, bad)
        return Changed(event.type, item) if bad.name else Unreadable()
    assert event.object is not None
    return Changed(event.type, item_of(event.object))
