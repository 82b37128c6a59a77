"""When a waiting job may start, from stated ends alone; a replay of the queue says more.

Two instants bound it where they are known: *earliest*, if nobody before it takes the room, and *latest*, if everybody
before it takes theirs first and keeps it.  None: it depends on ends that nobody has stated.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.admission.backfill import ends_of, reserve
from scheduler.admission.diagnosis import ground_of
from scheduler.admission.planner import Explained, Explanation
from scheduler.admission.reasons import FITS_NOW, MISCONFIGURED, NO_SUCH_MODEL, NOT_EVALUATED, QUOTA, SPENT
from scheduler.cluster.feasibility import eligibility
from scheduler.placement.seating import Seats

AHEAD = 50  # jobs before it that are given room first; with more, the latest start is not worked out
NEVER = (MISCONFIGURED, NO_SUCH_MODEL, QUOTA, SPENT, NOT_EVALUATED)  # no end of others' pods decides


@dataclass(frozen=True, slots=True)
class Estimate:
    """Instants on the snapshot's clock; ``basis`` says in words what they rest on."""

    earliest_s: int | None
    latest_s: int | None
    ahead: int  # jobs before it that would take room on the way
    basis: str


def estimate(found: Explained, row: Explanation, ends: Mapping[str, int]) -> Estimate:
    """``ends``: running pod or gang -> instant at which it ends, by ``namespace/name``."""
    if row.reason.word == FITS_NOW:
        return Estimate(found.now_s, found.now_s, 0, "It would start now.")
    if row.reason.word in NEVER:
        return Estimate(None, None, 0, "It starts after no end of others' pods: its reason comes first.")
    before = [one for one in found.rows if one.cluster == row.cluster and one.position < row.position]
    waiting = [one for one in before if one.reason.word not in NEVER]
    jobs = [one.job for one in waiting[:AHEAD]] + [row.job]
    ground = ground_of(found.snapshot, eligibility(found.snapshot), jobs, found.book, found.now_s, 1)
    known = ends_of(found.snapshot, ends)
    earliest = reserve(ground, row.job, known).start_s
    if len(waiting) > AHEAD:
        return Estimate(
            earliest, None, len(waiting), f"Stated ends; {len(waiting)} jobs before it are too many to place."
        )
    taken: list[Seats] = []
    for one in waiting:
        seats = one.seats or reserve(ground, one.job, known, taken=taken).seats
        taken += [seats] if seats is not None else []
    latest = reserve(ground, row.job, known, taken=taken).start_s
    basis = "Stated ends of running pods" + (f", behind {len(waiting)} jobs." if waiting else ".")
    return Estimate(earliest, latest, len(waiting), basis)
