"""What the page of a job shows, part by part."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from console.inventory.selectors.pods import PodRow
from console.queue.choices import InquiryState, JobState, Reason


@dataclass(frozen=True, slots=True)
class JobReason:
    """``numbers``: what the sentence says, as (name, value)."""

    reason: str
    label: str
    sentence: str
    numbers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class JobPart:
    """Equal pods of a job that wait."""

    pods: int
    gpus: int
    gpu_milli: int
    gpu_memory_mib: int
    cpu_milli: int
    memory_mib: int
    mig: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobBlock:
    """The most pods like its largest ones that find room in one place of the level now, and their GPUs."""

    level: str
    pods: int
    gpu_milli: int


@dataclass(frozen=True, slots=True)
class JobQuota:
    """One account above the job, GPUs in thousandths.  None: not set, or without a bound.

    ``quota``: its nominal quota and what those below it lend.
    """

    account: str
    model: str
    nominal: int | None
    quota: int
    borrowing_limit: int | None
    lending_limit: int | None
    hp: int
    lp: int
    available: int | None


@dataclass(frozen=True, slots=True)
class JobSighting:
    at: datetime
    kind: str
    label: str
    reason: str
    reason_label: str
    pods: int
    running: int
    known: bool


@dataclass(frozen=True, slots=True)
class JobMember:
    pod: PodRow
    asw: str | None


@dataclass(frozen=True, slots=True)
class RemedyRow:
    """``cost`` None: unknown, or there is none to state; in ``unit``."""

    kind: str
    label: str
    outcome: str
    outcome_label: str
    cost: float | None
    unit: str
    sentence: str


@dataclass(frozen=True, slots=True)
class InquiryRow:
    """A question what would unblock the job; ``solved``, ``revision`` and ``begun_at`` once it is answered."""

    state: str
    label: str
    asked_at: datetime
    done_at: datetime | None
    revision: int | None
    begun_at: datetime | None
    solved: str
    failure: str
    remedies: tuple[RemedyRow, ...]

    @property
    def open(self) -> bool:
        return self.state in (InquiryState.ASKED, InquiryState.WORKING)


@dataclass(frozen=True, slots=True)
class JobStart:
    """When it may start, by the queue replayed on one reading.  Instants None: later than the horizon, or unknown.

    ``why`` it was not replayed.  GPUs that run, in thousandths, by what is known of their ends.
    """

    state: str
    asked_at: datetime
    revision: int
    begun_at: datetime
    earliest_at: datetime | None  # P10
    middle_at: datetime | None  # P50
    latest_at: datetime | None  # P90
    started: int  # runs in which it started within the horizon
    runs: int
    why: str
    failure: str
    horizon_days: int
    newcomers_a_day: float
    like_it_milli: int  # ends drawn from what was seen
    unknown_milli: int

    @property
    def open(self) -> bool:
        return self.state in (InquiryState.ASKED, InquiryState.WORKING)


@dataclass(frozen=True, slots=True)
class AheadRow:
    """Jobs before one in the queue of its cluster: of a name that may be read, or all others in one row ("")."""

    key: str
    source: str
    cluster: str
    priority_class: str
    tier: str
    jobs: int
    gpu_milli: int
    reason_label: str


@dataclass(frozen=True, slots=True)
class JobCard:
    """``state`` "" where it was never seen waiting: then only its members are known.

    ``seats`` are nodes on which it would start, of ``seat_nodes``.  ``starts_by`` None: nobody can say.
    ``explained_at`` is when the source last said what is explained; members are of the newest reading.
    """

    id: int | None
    source: str
    cluster: str
    key: str
    gang: bool
    tenant: str
    state: str
    pods: int
    running: int
    gpu_milli: int
    models: tuple[str, ...]
    priority: int
    priority_class: str
    tier: str
    position: int | None
    min_members: int | None
    levels: tuple[str, ...]
    preferred: tuple[str, ...]
    parts: tuple[JobPart, ...]
    first_at: datetime | None
    since: datetime | None
    since_known: bool
    left_at: datetime | None
    primary: JobReason | None
    others: tuple[JobReason, ...]
    blocks: tuple[JobBlock, ...]
    seats: tuple[str, ...]
    seat_nodes: int
    starts_by: datetime | None
    quota: tuple[JobQuota, ...]
    sightings: tuple[JobSighting, ...]
    sightings_total: int
    inquiry: InquiryRow | None
    start: JobStart | None
    ahead: tuple[AheadRow, ...]
    members: tuple[JobMember, ...]
    members_total: int
    explained_at: datetime | None
    observed_at: datetime | None
    period_s: int | None

    @property
    def waits(self) -> bool:
        return self.state == JobState.PENDING

    @property
    def moves_may_help(self) -> bool:
        """Other reasons stay, whatever moves."""
        return self.primary is not None and self.primary.reason in (Reason.FRAGMENTATION, Reason.TOPOLOGY)

    @property
    def waited_s(self) -> float | None:
        return (timezone.now() - self.since).total_seconds() if self.since is not None else None
