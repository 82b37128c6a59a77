"""How a feed is: kind by kind, in values that pages and the API show as they are."""

from dataclasses import dataclass

from console.connectors.kubernetes.reflector import Reflector
from console.connectors.kubernetes.steps import Phase


@dataclass(frozen=True, slots=True)
class KindHealth:
    """One kind.  Ages in seconds, None where there was nothing yet.

    ``lag_s``: since when nothing proves that the state is that of the API; a bookmark, an event, a list prove it.
    """

    kind: str
    needed: bool
    phase: Phase
    ready: bool
    objects: int
    bad: int
    event_age_s: float | None
    lag_s: float | None
    lists: int
    relists: int
    reopenings: int  # of the watch; each lasts some minutes even where all is well
    errors: dict[str, int]
    reason: str
    suspicion: str  # why the state is held, "" when it is not
    believed: int


@dataclass(frozen=True, slots=True)
class Health:
    """One cluster.  ``skew_s``: how far its clock is ahead of ours; None before the first answer."""

    cluster: str
    server: str
    server_version: str
    skew_s: float | None
    ready: bool
    missing: tuple[str, ...]  # kinds of which nothing is known, or no longer: no right, or no answer
    kinds: tuple[KindHealth, ...]


def of_kind(kind: str, reflector: Reflector, bad: int, opened: int, now: float) -> KindHealth:
    """``now`` on the clock of the reflector's steps."""
    doubt = reflector.suspicion
    return KindHealth(
        kind=kind,
        needed=reflector.needed,
        phase=reflector.phase,
        ready=reflector.ready,
        objects=len(reflector.ledger),
        bad=bad,
        event_age_s=_age(reflector.event_at, now),
        lag_s=_age(reflector.fresh_at, now),
        lists=reflector.lists,
        relists=max(reflector.lists - 1, 0),
        reopenings=max(opened - 1, 0),
        errors=dict(sorted(reflector.errors.items())),
        reason=reflector.reason,
        suspicion=f"{doubt.what.value}: {doubt.detail}" if doubt is not None else "",
        believed=reflector.believed,
    )


def is_known(reflector: Reflector, now: float, stale_s: float) -> bool:
    """What is held is what the API said a short while ago.  A kind that is absent is asked for again but rarely."""
    if not reflector.ready or reflector.forbidden or reflector.fresh_at is None:
        return False
    rare_s = 2 * reflector.limits.absent_s if reflector.absent else 0.0
    return now - reflector.fresh_at <= stale_s + rare_s


def _age(at: float | None, now: float) -> float | None:
    return None if at is None else max(now - at, 0.0)
