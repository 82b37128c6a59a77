"""What rooms above know of a week of spot capacity: who asked for what, at which limit, and what became of it.

Prices ask nobody upstairs; who keeps leases registers them here.  Where nobody does, use by the hour stands for asks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One lease on one GPU model in a period.  Seconds are those inside the period; a withdrawn one that never ran is
    not listed, so that words that cost nothing move no price."""

    gpu_model: str
    tenant: str
    key: str
    gpu_milli: int
    asked_at: datetime
    work_s: int  # that it wanted to run
    limit_cents: int | None
    guaranteed_s: int
    checkpoint_s: int | None
    waited_s: int
    ran_s: int
    reclaims: int  # by others, not by its own tenant or its own limit


type Source = Callable[[datetime, datetime], Sequence[Asked]]
_sources: dict[str, Source] = {}


def register(name: str, source: Source) -> None:
    if name in _sources:
        raise ValueError(f"leases of {name} are registered twice")
    _sources[name] = source


def asked_between(start: datetime, end: datetime) -> list[Asked]:
    return [one for source in _sources.values() for one in source(start, end)]
