"""Keeping what was explained, and what each reading shows of a job for the first time."""

from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from console.inventory.models import Observation
from console.live.services import publish
from console.queue.choices import RANK, JobState, Sighted
from console.queue.models import Job, Sighting, Standing, Turn
from console.queue.services.running import keep_running
from console.queue.sightings import ClusterQueue, Explained, Name, Waiting

TOPIC = "queue"
GONE_DAYS = 8
MOST_SIGHTINGS = 300  # of one job; a reason that comes and goes would fill the table
BATCH = 200
_ASKED = ("tenant", "pods", "running", "gpu_milli", "cpu_milli", "priority", "lp", "position", "reason", "block_milli")
_WRITTEN = (*_ASKED, "models_text", "rank", "told", "state", "since", "since_known", "left_at")


def followed(source_id: int) -> list[Name]:
    """Jobs that were seen waiting and are still there as far as is known."""
    rows = Job.objects.filter(source=source_id).exclude(state=JobState.GONE)
    return list(rows.values_list("cluster", "key", "gang"))


@transaction.atomic
def keep(source_id: int, reading: Observation, found: Explained) -> bool:
    """Writes down what a reading shows, once and never after a newer one; False where it was."""
    turn, _ = Turn.objects.get_or_create(source_id=source_id)
    turn = Turn.objects.select_for_update().get(pk=turn.pk)
    if turn.revision >= reading.revision:
        return False
    first = turn.revision == 0
    turn.revision, turn.begun_at = reading.revision, reading.begun_at
    turn.explained_at, turn.seconds = timezone.now(), found.seconds
    turn.save()
    _stand(source_id, reading, found.clusters)
    keep_running(source_id, reading, found.clusters)
    _Sight(source_id, reading, first).see(found)
    _drop_old(source_id)
    publish(TOPIC, "queue.explained", revision=reading.revision)
    return True


def _stand(source_id: int, reading: Observation, clusters: Iterable[ClusterQueue]) -> None:
    Standing.objects.bulk_create(
        Standing(
            source_id=source_id,
            cluster=one.cluster,
            revision=reading.revision,
            begun_at=reading.begun_at,
            jobs=len(one.waiting),
            gpu_milli=sum(job.gpu_milli for job in one.waiting),
            totals=totals_of(one.waiting),
        )
        for one in clusters
    )


def totals_of(jobs: Iterable[Waiting]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for job in jobs:
        total = found.setdefault(job.reason, [0, 0])
        total[0] += 1
        total[1] += job.gpu_milli
    return {word: found[word] for word in RANK if word in found}


def _drop_old(source_id: int) -> None:
    """Standings go with their readings, jobs some days after they were last seen."""
    kept = Observation.objects.filter(source=source_id).values("revision")
    Standing.objects.filter(source=source_id).exclude(revision__in=kept).delete()
    Job.objects.filter(source=source_id, left_at__lt=timezone.now() - timedelta(days=GONE_DAYS)).delete()


def _thin_out(jobs: set[int]) -> None:
    """Of these jobs only the newest sightings stay."""
    counted = Sighting.objects.filter(job__in=jobs).order_by("job").values("job").annotate(rows=Count("pk"))
    for one in counted.filter(rows__gt=MOST_SIGHTINGS):
        oldest = Sighting.objects.filter(job=one["job"]).values_list("pk", flat=True)[MOST_SIGHTINGS]
        Sighting.objects.filter(job=one["job"], pk__lte=oldest).delete()


class _Sight:
    """One reading laid beside the rows that there are."""

    def __init__(self, source_id: int, reading: Observation, first: bool) -> None:
        self.source_id, self.at, self.revision, self.known = source_id, reading.begun_at, reading.revision, not first
        self.made: list[Job] = []
        self.changed: list[Job] = []
        self.sightings: list[Sighting] = []

    def see(self, found: Explained) -> None:
        rows = {(job.cluster, job.key, job.gang): job for job in Job.objects.filter(source=self.source_id)}
        waiting = {job.name: job for one in found.clusters for job in one.waiting}
        for name, job in waiting.items():
            self._waits(rows.get(name), job)
        for name in rows.keys() - waiting.keys():
            if rows[name].state != JobState.GONE:
                self._no_longer(rows[name], found.bound.get(name, 0))
        Job.objects.bulk_create(self.made, batch_size=BATCH)
        Job.objects.bulk_update(self.changed, _WRITTEN, batch_size=BATCH)
        Sighting.objects.bulk_create(self.sightings, batch_size=BATCH)
        if self.sightings:
            _thin_out({one.job_id for one in self.sightings})

    def _waits(self, row: Job | None, job: Waiting) -> None:
        if row is None:
            row = Job(source_id=self.source_id, cluster=job.cluster, key=job.key, gang=job.gang, first_at=self.at)
            self._begins(row, job, known=self.known)
            self.made.append(row)
        elif row.state != JobState.PENDING:
            self._begins(row, job, known=True)
            self.changed.append(row)
        elif _differs(row, job):
            self._goes_on(row, job)
            self.changed.append(row)

    def _begins(self, row: Job, job: Waiting, *, known: bool) -> None:
        _take_over(row, job)
        row.state, row.since, row.since_known, row.left_at = JobState.PENDING, self.at, known, None
        self._say(row, Sighted.WAITS, known=known)

    def _goes_on(self, row: Job, job: Waiting) -> None:
        reason, members = row.reason, (row.pods, row.running)
        _take_over(row, job)
        if (row.pods, row.running) != members:
            self._say(row, Sighted.MEMBERS)
        if row.reason != reason:
            self._say(row, Sighted.REASON)

    def _no_longer(self, row: Job, bound: int) -> None:
        """It has started, runs on, or is gone; nothing of it waits."""
        if bound and row.state == JobState.RUNNING and row.running == bound:
            return
        if bound:
            kind = Sighted.STARTED if row.state == JobState.PENDING else Sighted.MEMBERS
            row.state, row.pods, row.running = JobState.RUNNING, 0, bound
        else:
            kind, row.state, row.left_at = Sighted.GONE, JobState.GONE, self.at
            row.pods, row.running = 0, 0
        self._say(row, kind)
        self.changed.append(row)

    def _say(self, row: Job, kind: Sighted, *, known: bool = True) -> None:
        waits = row.state == JobState.PENDING
        self.sightings.append(
            Sighting(
                job=row,
                at=self.at,
                revision=self.revision,
                kind=kind,
                reason=row.reason if waits else "",
                running=row.running,
                pods=row.pods,
                known=known,
            )
        )


def _take_over(row: Job, job: Waiting) -> None:
    for name in (*_ASKED, "models_text", "told"):
        setattr(row, name, getattr(job, name))
    row.rank = RANK[job.reason]


def _differs(row: Job, job: Waiting) -> bool:
    return any(getattr(row, name) != getattr(job, name) for name in (*_ASKED, "models_text", "told"))
