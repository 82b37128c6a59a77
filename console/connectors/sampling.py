"""Telemetry beside a feed: a thread of its own asks the endpoint, and readings take what it found last.

Whatever the endpoint does, a reading never waits for it.  Samples count for ``FRESH_S``; then all is unknown again.

Use and power differ at each round, and each difference is a reading that is built, drawn and stored.  So while nothing
else changes, samples stand for ``SETTLED_S``; a device that falls ill, or is well again, is told at once.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import structlog

from console.connectors.kubernetes.refusals import where
from console.connectors.prometheus import Config, Prometheus, endpoint_of, options_of
from console.connectors.protocol import ConnectorError
from scheduler.cluster.errors import InputError
from scheduler.cluster.records import Document
from scheduler.telemetry.merging import Laid, Merged, Telemetry, merge

log = structlog.get_logger(__name__)
EVERY_S, SETTLED_S, FRESH_S = 60.0, 230.0, 300.0
KEPT_REASONS = 200

Measure = Callable[[], Telemetry]
Ill = tuple[str, str, int | None, str]  # node, uuid, index, health


@dataclass(frozen=True, slots=True)
class _Found:
    telemetry: Telemetry
    at: datetime
    clock_s: float
    number: int
    ill: frozenset[Ill]


class Sampler:
    """``measure`` is asked every so often by the sampler's thread; everything else answers at once."""

    def __init__(
        self,
        measure: Measure,
        *,
        every_s: float = EVERY_S,
        fresh_s: float = FRESH_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._measure, self._every_s, self._fresh_s, self._clock = measure, every_s, fresh_s, clock
        self._found: _Found | None = None
        self._laid: _Found | None = None  # what readings get now
        self._beneath = ""
        self._error, self._asked = "", 0
        self._took_s: float | None = None
        self._merged: Merged | None = None
        self._kept: tuple[int, dict[str, Laid]] = (0, {})
        self._stopping = threading.Event()

    def start(self, name: str) -> None:
        threading.Thread(target=self._run, name=f"telemetry {name}", daemon=True).start()

    def stop(self) -> None:
        """A question under way may end by itself; nobody waits for it."""
        self._stopping.set()

    def ask(self) -> None:
        """One round of questions; trouble is kept as a reason, and the last samples stay."""
        began = self._clock()
        try:
            telemetry = self._measure()
        except (ConnectorError, InputError) as error:
            self._error = str(error)
        except Exception as error:
            # Its text is not logged, since that may quote a header.
            log.error("telemetry.unexpected", error=type(error).__name__, where=where(error))
            self._error = f"unexpected {type(error).__name__}"
        else:
            self._asked += 1
            self._found = _Found(telemetry, datetime.now(UTC), self._clock(), self._asked, _ill(telemetry))
            self._error = ""
        self._took_s = self._clock() - began

    def version(self, beneath: str) -> str:
        """Settles which samples ``laid_over`` lays over a document of the version ``beneath``, and tells them apart."""
        newest = self._fresh()
        if newest is None or beneath != self._beneath or not self._stands(newest):
            self._laid, self._beneath = newest, beneath
        return str(self._laid.number) if self._laid is not None else "-"

    def _stands(self, newest: _Found) -> bool:
        laid = self._laid
        return laid is not None and laid.ill == newest.ill and self._clock() - laid.clock_s <= SETTLED_S

    def laid_over(self, document: Document) -> Document:
        """The document with the samples that ``version`` has settled on, or as it is where nothing is fresh."""
        found = self._laid
        if found is None:
            self._merged = None
            return document
        if self._kept[0] != found.number:
            self._kept = (found.number, {})
        self._merged = merge(document, found.telemetry, self._kept[1])
        return self._merged.document

    def told(self) -> dict[str, Any]:
        """How it fares, for the source's page: plain values only."""
        found, merged = self._found, self._merged
        reasons = sorted(merged.reasons.items()) if merged is not None else []
        return {
            "state": self._state(),
            "error": self._error[:500],
            "at": found.at.isoformat() if found is not None else None,
            "took_s": self._took_s,
            "samples": found.telemetry.samples if found is not None else None,
            "nameless": found.telemetry.nameless if found is not None else None,
            "devices": merged.devices if merged is not None else None,
            "unplaced": merged.unplaced if merged is not None else None,
            "named": list(merged.named) if merged is not None else [],
            "reasons": [[node, index, why] for (node, index), why in reasons[:KEPT_REASONS]],
        }

    def _state(self) -> str:
        """waiting for the first samples, live, late (the last ones are shown, the endpoint fails) or unknown."""
        if self._fresh() is not None:
            return "late" if self._error else "live"
        return "unknown" if self._error or self._found is not None else "waiting"

    def _fresh(self) -> _Found | None:
        found = self._found
        return found if found is not None and self._clock() - found.clock_s <= self._fresh_s else None

    def _run(self) -> None:
        while not self._stopping.is_set():
            began = self._clock()
            self.ask()
            self._stopping.wait(max(self._every_s - (self._clock() - began), 1.0))


def _ill(telemetry: Telemetry) -> frozenset[Ill]:
    """Devices that are not well."""
    told = ((node, one, one.judgement) for node, devices in telemetry.nodes.items() for one in devices)
    return frozenset(
        (node, one.uuid, one.index, word.health) for node, one, word in told if word is not None and word.reason
    )


def open_sampler(config: Config) -> Sampler:
    """A sampler of a source's endpoint, not started yet.  The secret is opened at each round: it may be replaced."""

    def measure() -> Telemetry:
        wire = Prometheus(endpoint_of(config), options_of(config))
        try:
            return wire.measure()
        finally:
            wire.close()

    return Sampler(measure)
