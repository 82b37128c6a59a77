"""Following clusters: one process holds leases on some of them and gives each a feed and a thread of its own.

A cluster that is slow, silent or gone holds up its own thread and nothing else.  A process that dies loses nothing:
what was read is in rows, the rest is read again by whoever takes over its leases.
"""

import hashlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import structlog
from django.db import close_old_connections, connection
from django.utils import timezone

from console.connectors.kubernetes.connector import KubernetesConnector, open_feed
from console.connectors.kubernetes.feed import ClusterFeed, Terms
from console.connectors.kubernetes.health import Health
from console.connectors.kubernetes.refusals import where
from console.connectors.protocol import ConnectorError
from console.connectors.sampling import Sampler, open_sampler
from console.inventory.models import Source, Watch
from console.inventory.services import leases
from console.inventory.services.observing import Encode, note_failure, observe
from console.live.services import publish
from scheduler.cluster.build import Builder
from scheduler.cluster.errors import InputError

log = structlog.get_logger(__name__)
LOOK_S = 0.5  # until the first lists are complete
NOTICE_S = 1.0  # until a doubt or a loss is noticed
HEALTH_EVERY_S = 15.0
REST = 3.0  # a reading that takes long is followed by a rest of so many times its length
END_S = 6.0  # for all that end together
MOST = 50  # clusters of one process, each with some thirty threads
LOOKING = ("starting", "listing")
BROKEN = ("waiting", "forbidden")
LOST_S, LOST_PERIODS = 15.0, 2  # without proof for so long, a feed that waits has lost its cluster
BROKEN_S = 3.0  # when it has waited, or tried in vain, for so long


class Watcher:
    """One process that follows clusters.  ``run`` ends after ``stop``, which may be called from a signal handler."""

    def __init__(self, encode: Encode, *, most: int = MOST, name: str = "") -> None:
        self.name = name or f"{socket.gethostname()[:60]}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._encode, self._most = encode, most
        self._stopping = threading.Event()
        self._followed: dict[int, _Follower] = {}

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        log.info("watch.began", name=self.name)
        try:
            while not self._stopping.is_set():
                self._beat()
                self._stopping.wait(leases.RENEW_EVERY_S)
        finally:
            self._end(set(self._followed))
            leases.leave(self.name)
            log.info("watch.ended", name=self.name)

    def _beat(self) -> None:
        """A database that is away ends nothing: followers ask for their lease before they write."""
        try:
            close_old_connections()
            leases.greet(self.name)
            held = leases.renew(self.name, self._followed)
            self._end(set(self._followed) - held)
            self._end(self._changed())
            self._share()
        except Exception:
            log.exception("watch.beat_failed", name=self.name)

    def _share(self) -> None:
        """Takes what is free up to a fair share, or gives one back where others have too few."""
        share = min(leases.fair_share(), self._most)
        if len(self._followed) > share:
            self._end({max(self._followed)})
        for source_id in leases.take(self.name, share - len(self._followed)):
            source = Source.objects.filter(pk=source_id).first()
            if source is None:
                continue  # it is gone since, and its lease with it
            self._followed[source_id] = _Follower(self.name, source, self._encode)
            self._followed[source_id].start()

    def _changed(self) -> set[int]:
        """Followed sources whose settings are others now, or that are gone."""
        rows = Source.objects.in_bulk(self._followed)
        for pk in rows.keys() & self._followed.keys():
            self._followed[pk].name = rows[pk].name
        same = {pk for pk, row in rows.items() if signature(row) == self._followed[pk].signature}
        return set(self._followed) - same

    def _end(self, source_ids: set[int]) -> None:
        ending = [self._followed.pop(pk) for pk in source_ids]
        for one in ending:
            one.ask_to_stop()
        until = time.monotonic() + END_S
        for one in ending:
            one.join(max(until - time.monotonic(), 0.0))
            leases.release(self.name, one.source_id)


class _Follower:
    """One source: its feed, and the thread that records what the feed shows."""

    def __init__(self, holder: str, source: Source, encode: Encode) -> None:
        self.source_id, self.signature = source.pk, signature(source)
        self._holder, self._encode = holder, encode
        self.name, self._config, self._period_s = source.name, dict(source.config), source.period_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch {source.name}", daemon=True)
        self._told_at = self._opened_at = float("-inf")
        self._sampler: Sampler | None = None
        self._builder = Builder()
        self._told = self._why = ""
        self._broken_at = float("inf")

    def start(self) -> None:
        self._thread.start()

    def ask_to_stop(self) -> None:
        self._stopping.set()

    def join(self, seconds: float) -> None:
        """A reading under way may end; one that hangs dies with the process, and its lease has gone already."""
        self._thread.join(seconds)

    # --- the thread -----------------------------------------------------------------------------------------------
    def _run(self) -> None:
        feed: ClusterFeed | None = None
        try:
            while not self._stopping.is_set():
                began = time.monotonic()
                feed, looking = self._turn(feed)
                took = time.monotonic() - began
                self._rest(feed, LOOK_S if looking else max(self._period_s - took, REST * took))
        finally:
            if feed is not None:
                feed.stop()
            if self._sampler is not None:
                self._sampler.stop()
            connection.close()

    def _rest(self, feed: ClusterFeed | None, seconds: float) -> None:
        """Until the next look, which comes at once when a doubt begins or ends, or the cluster is lost or found."""
        until, before = time.monotonic() + seconds, _worries(feed)
        while (left := until - time.monotonic()) > 0 and not self._stopping.wait(min(left, NOTICE_S)):
            if _worries(feed) != before:
                return

    def _turn(self, feed: ClusterFeed | None) -> tuple[ClusterFeed | None, bool]:
        """One look: the feed, and whether to look again soon.  No mistake ends the thread in silence."""
        try:
            close_old_connections()
            if not leases.holds(self._holder, self.source_id):
                return feed, False
            feed = feed or self._open()
            return feed, feed is not None and self._read(feed)
        except Exception as error:
            # Its text is not logged, since that may quote a header.
            log.error("watch.unexpected", source=self.name, error=type(error).__name__, where=where(error))
            return feed, False

    def _open(self) -> ClusterFeed | None:
        try:
            feed = open_feed(self._config, expected_of(self.source_id))
        except (ConnectorError, InputError) as error:
            self._fail(str(error))
            return None
        feed.start()
        if self._config.get("telemetry"):
            self._sampler = open_sampler(self._config["telemetry"])
            self._sampler.start(self.name)
        self._opened_at = time.monotonic()
        return feed

    def _fail(self, text: str) -> None:
        source = Source.objects.filter(pk=self.source_id).first()
        if source is not None:
            note_failure(source, text)
            self._announce("failed", 0)

    def _read(self, feed: ClusterFeed) -> bool:
        """Records a reading, unless the first lists are still coming.  True: look again soon."""
        health = feed.health()
        looking = self._is_looking(health)
        lost = (feed.lost() if health.ready else "") or self._lost_word(health)
        doubt = feed.suspicion()
        found = None
        if lost:
            self._fail(lost)
        elif not looking:
            wire = KubernetesConnector(self._config["cluster"], feed, self._sampler)
            found = observe(self.source_id, self._encode, wire, self._builder, doubt)
        word = "looking" if looking else "failing" if found is None else "suspicious" if doubt else "live"
        self._tell(feed, word)
        if found is not None:
            self._announce("reading", found.pk)
        return looking

    def _lost_word(self, health: Health) -> str:
        """Why what the feed holds is no longer the cluster: a needed kind waits, and nothing has proved it for a while.

        A moment's wait proves nothing, since a quiet cluster is proved once a minute only.  And a feed that tries again
        looks well for a moment: it is believed when the API has answered.
        """
        limit = max(LOST_S, LOST_PERIODS * self._period_s)
        known = [kind for kind in health.kinds if kind.needed and kind.ready and not kind.suspicion]
        late = [kind for kind in known if (kind.lag_s or 0.0) > limit]
        if not late:
            self._broken_at, self._why = float("inf"), ""
            return ""
        broken = next((kind for kind in late if kind.phase in BROKEN), None)
        if broken is not None:
            self._why = f"{broken.kind}: {broken.reason}"
            self._broken_at = min(self._broken_at, time.monotonic())
        return self._why if time.monotonic() - self._broken_at >= BROKEN_S else ""

    def _is_looking(self, health: Health) -> bool:
        """The first lists are coming, and none that is needed has failed; for the others only so long as feeds wait."""
        coming = [kind for kind in health.kinds if not kind.ready]
        needed = [kind for kind in coming if kind.needed]
        patient = time.monotonic() - self._opened_at < Terms().patience_s
        return all(kind.phase in LOOKING for kind in needed) and bool(needed or (coming and patient))

    def _tell(self, feed: ClusterFeed, word: str) -> None:
        """Publishes the health every so often, and at once when the state changes."""
        now = time.monotonic()
        if word == self._told and now - self._told_at < HEALTH_EVERY_S:
            return
        self._told, self._told_at = word, now
        rows = Watch.objects.filter(source=self.source_id, holder=self._holder)
        telemetry = self._sampler.told() if self._sampler is not None else None
        rows.update(health=asdict(feed.health()), health_at=timezone.now(), telemetry=telemetry)
        self._announce("health", 0)

    def _announce(self, kind: str, revision: int) -> None:
        publish(f"source:{self.source_id}", f"source.{kind}", revision=revision)
        if kind != "reading":
            publish("source", f"source.{kind}", source=self.name)


def _worries(feed: ClusterFeed | None) -> tuple[bool, bool]:
    return (False, False) if feed is None else (bool(feed.lost()), bool(feed.suspicion()))


def signature(source: Source) -> str:
    """Differs whenever a feed must be begun anew.  Another name is no reason."""
    said = [source.config, source.period_s]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def expected_of(source_id: int) -> Mapping[str, int]:
    """How many objects of each kind were there when somebody last looked."""
    health: Any = Watch.objects.filter(source=source_id).values_list("health", flat=True).first()
    kinds = health["kinds"] if health else []
    return {kind["kind"]: kind["objects"] for kind in kinds if kind["ready"]}
