"""What all jobs of a snapshot are judged on, and what is said of one kind of job."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from scheduler.admission.jobs import Job
from scheduler.admission.misfit import Sizes, sizes_of
from scheduler.admission.quota import Book, returned
from scheduler.admission.reasons import Reason
from scheduler.cluster.feasibility import Eligibility
from scheduler.cluster.snapshot import Snapshot
from scheduler.placement.company import terms_of
from scheduler.placement.prey import without
from scheduler.placement.room import Room, room_of


@dataclass(slots=True, eq=False)
class Ground:
    """What all jobs are judged on.  ``left`` counts the searches that may still be made."""

    snapshot: Snapshot
    rules: Eligibility
    sizes: Sizes
    book: Book
    later_book: Book  # when the pods that are leaving have left
    now_s: int
    now: Room
    later: Room  # when the pods that are leaving have left
    leaving: bool
    left: int
    asking: tuple[int, ...]  # one pod of each shape of each job
    kinds: dict[tuple[object, ...], "Verdict"] = field(default_factory=dict)
    empty: Room | None = None  # where nobody stands; worked out for the first who asks


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one kind of job, alone.

    ``fits``: it finds seats now; ``waits``: it finds them when others have left; ``misfit``: nothing would ever do.
    """

    reasons: tuple[Reason, ...]
    fits: bool
    waits: bool
    blocks: tuple[tuple[str, int], ...]
    misfit: bool


def ground_of(
    snapshot: Snapshot, rules: Eligibility, jobs: Sequence[Job], book: Book, now_s: int, budget: int
) -> Ground:
    asking = tuple(part.pods[0] for job in jobs for part in job.parts)
    terms = terms_of(snapshot, asking)
    now = room_of(snapshot, rules, terms)
    ending = snapshot.pod_live & snapshot.pod_terminating
    leaving = bool(ending.any())
    later = room_of(without(snapshot, ending), rules, terms) if leaving else now
    later_book = returned(book, snapshot, ending) if leaving else book
    sizes = sizes_of(snapshot, rules)
    return Ground(snapshot, rules, sizes, book, later_book, now_s, now, later, leaving, budget, asking)
