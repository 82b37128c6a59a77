"""What was explained of the queue: totals of each reading, and every job that was ever seen waiting."""

from typing import ClassVar

from django.conf import settings
from django.db import models

from console.inventory.models import Source
from console.queue.choices import InquiryState, JobState, Outcome, Reason, Sighted


class Turn(models.Model):
    """How far the queue of a source is explained.  ``claimed_at``: when a worker was last asked for more."""

    source = models.OneToOneField(Source, on_delete=models.CASCADE, primary_key=True, related_name="queue_turn")
    revision = models.BigIntegerField(default=0, help_text="of the newest reading that is explained; 0: none yet")
    begun_at = models.DateTimeField(null=True, help_text="when that reading was begun")
    explained_at = models.DateTimeField(null=True)
    seconds = models.FloatField(default=0, help_text="that explaining took")
    claimed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"queue of {self.source_id} at {self.revision}"


class Standing(models.Model):
    """The queue of one cluster at one reading, which is named by number, so that it may be dropped."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="queue_standings")
    cluster = models.CharField(max_length=253)
    revision = models.BigIntegerField()
    begun_at = models.DateTimeField(help_text="of the reading")
    jobs = models.PositiveIntegerField(help_text="that wait")
    gpu_milli = models.BigIntegerField(help_text="that they wait for")
    totals = models.JSONField(help_text="reason -> [jobs, GPU thousandths]")

    class Meta:
        ordering: ClassVar = ["source", "cluster", "-revision"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "cluster", "revision"], name="queue_standing_once")
        ]

    def __str__(self) -> str:
        return f"{self.jobs} wait in {self.cluster} at {self.revision}"


class Job(models.Model):
    """A gang, or a pod without one, that was seen waiting.  What it asks and why it waits is as last explained."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="queue_jobs")
    cluster = models.CharField(max_length=253)
    key = models.CharField(max_length=520, help_text="namespace/name of the gang, or of the pod")
    gang = models.BooleanField(help_text="no: one pod without a gang")
    tenant = models.CharField(max_length=253, blank=True, help_text="empty where nobody says whose it is")
    state = models.CharField(max_length=8, choices=JobState)
    first_at = models.DateTimeField(help_text="of the first reading that shows it")
    since = models.DateTimeField(help_text="of the first reading of its present wait")
    since_known = models.BooleanField(help_text="no: it waited in the first reading of the cluster already")
    left_at = models.DateTimeField(null=True, help_text="of the first reading without it")
    pods = models.PositiveIntegerField(help_text="that wait")
    running = models.PositiveIntegerField(default=0, help_text="members that are bound")
    gpu_milli = models.BigIntegerField(help_text="of all pods that wait")
    cpu_milli = models.BigIntegerField()
    priority = models.BigIntegerField()
    lp = models.BooleanField()
    models_text = models.TextField(blank=True, help_text="|accepted|GPU models|, empty for any")
    position = models.PositiveIntegerField(help_text="in the queue of its cluster, from 1")
    reason = models.CharField(max_length=24, choices=Reason)
    rank = models.PositiveSmallIntegerField(help_text="of the reason, in the order of precedence")
    block_milli = models.BigIntegerField(null=True, help_text="largest block now at the level that it asks for")
    told = models.JSONField(help_text="shapes, levels, sentence, numbers, others, blocks, seats, quota")

    class Meta:
        ordering: ClassVar = ["source", "cluster", "key"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "cluster", "key", "gang"], name="queue_job_once")
        ]
        indexes: ClassVar = [
            models.Index(fields=["state", "tenant"], name="queue_job_of_tenant"),
            models.Index(fields=["cluster", "key"], name="queue_job_by_name"),
        ]

    def __str__(self) -> str:
        return f"{self.cluster} {self.key}"


class RunningJob(models.Model):
    """A gang, or a GPU pod without one, that runs by the newest reading that was explained."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="running_jobs")
    cluster = models.CharField(max_length=253)
    key = models.CharField(max_length=520, help_text="namespace/name of the gang, or of the pod")
    gang = models.BooleanField(help_text="no: one pod without a gang")
    tenant = models.CharField(max_length=253, blank=True, help_text="empty where nobody, or nobody alone, has it")
    pods = models.PositiveIntegerField()
    min_members = models.PositiveIntegerField(null=True)
    gpu_milli = models.BigIntegerField()
    models_text = models.TextField(blank=True, help_text="|GPU models| of its nodes")
    nodes = models.PositiveIntegerField()
    asws = models.PositiveIntegerField(null=True, help_text="null: the cluster knows no access switches")
    unlabelled = models.PositiveIntegerField(null=True, help_text="nodes under no known switch")
    entropy = models.FloatField(null=True, help_text="of its GPUs over switches, in nats")
    lp = models.BooleanField()
    priority = models.BigIntegerField()
    priority_class = models.CharField(max_length=200, blank=True, help_text="of the book; empty for none")
    first_at = models.DateTimeField(help_text="of the first reading that shows it running")
    started_at = models.DateTimeField(null=True, help_text="null: nobody says when")

    class Meta:
        ordering: ClassVar = ["source", "cluster", "key"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "cluster", "key", "gang"], name="queue_running_once")
        ]
        indexes: ClassVar = [
            models.Index(fields=["-gpu_milli", "key"], name="queue_running_largest"),
            models.Index(fields=["tenant"], name="queue_running_of_tenant"),
        ]

    def __str__(self) -> str:
        return f"{self.cluster} {self.key} runs"


class EndedJob(models.Model):
    """How long a job ran that is there no more: what is foretold of others rests on it.  Nameless."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="+")
    tenant = models.CharField(max_length=253, blank=True)
    gpu_milli = models.BigIntegerField()
    started_at = models.DateTimeField()
    entered_s = models.PositiveBigIntegerField(help_text="its age when it was first seen")
    left_s = models.PositiveBigIntegerField(help_text="its age at the first reading without it")
    ended_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.gpu_milli} for {self.left_s} s"


class Foretelling(models.Model):
    """When the jobs of one queue may start, worked out once for a reading and kept for whoever asks next."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="+")
    revision = models.BigIntegerField(help_text="of the reading that it is of")
    begun_at = models.DateTimeField(help_text="when that reading was begun")
    asked_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True)
    state = models.CharField(max_length=8, choices=InquiryState, default=InquiryState.ASKED)
    starts = models.JSONField(
        default=dict, help_text="cluster, key, gang -> P10, P50, P90, runs with a start, runs, why"
    )
    basis = models.JSONField(
        default=dict, help_text="GPU milli that run, by what is known of their ends; newcomers a day"
    )
    failure = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["-revision"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["source", "revision"], name="queue_foretelling_once")]

    def __str__(self) -> str:
        return f"starts of {self.source_id} at {self.revision}"


class Sighting(models.Model):
    """Something that a reading showed of a job for the first time."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="sightings")
    at = models.DateTimeField(help_text="when the reading was begun")
    revision = models.BigIntegerField()
    kind = models.CharField(max_length=8, choices=Sighted)
    reason = models.CharField(max_length=24, choices=Reason, blank=True)
    running = models.PositiveIntegerField(default=0)
    pods = models.PositiveIntegerField(default=0, help_text="that wait")
    known = models.BooleanField(default=True, help_text="no: it was so in the first reading already")

    class Meta:
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return f"{self.job_id} {self.kind} at {self.revision}"


class Inquiry(models.Model):
    """Somebody asked what would unblock a job; the answer is of one reading and grows old with it."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="inquiries")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    state = models.CharField(max_length=8, choices=InquiryState, default=InquiryState.ASKED)
    revision = models.BigIntegerField(null=True, help_text="of the reading that the answer is of")
    begun_at = models.DateTimeField(null=True, help_text="when that reading was begun")
    done_at = models.DateTimeField(null=True)
    solved = models.CharField(max_length=8, choices=Outcome, blank=True, help_text="of all remedies together")
    remedies = models.JSONField(default=list, help_text="kind, outcome, cost, unit, detail, numbers")
    failure = models.TextField(blank=True, help_text="why there is no answer")

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["job"],
                condition=models.Q(state__in=[InquiryState.ASKED, InquiryState.WORKING]),
                name="queue_inquiry_one_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"{self.job_id} {self.state}"
