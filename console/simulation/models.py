"""Studies, their runs and what came of each; traces that were uploaded or recorded."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from console.simulation.choices import OPEN_RUN, OPEN_STUDY, RunState, StudyState, TraceKind, TraceState


class Trace(models.Model):
    """Nodes and the jobs that arrive there, read once by a worker and never changed after."""

    kind = models.CharField(max_length=10, choices=TraceKind)
    name = models.CharField(max_length=100)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()
    origin = models.JSONField(help_text="names and sizes of files, or source, cluster and hours")
    state = models.CharField(max_length=8, choices=TraceState, default=TraceState.WAITING)
    sent_at = models.DateTimeField(help_text="when a worker was asked last")
    given = models.BinaryField(null=True, help_text="files until they are read: compressed msgpack")
    packed = models.BinaryField(null=True, help_text="as scheduler.replay.kept packs it")
    digest = models.CharField(max_length=64, blank=True)
    jobs = models.PositiveIntegerField(null=True)
    nodes = models.PositiveIntegerField(null=True)
    gpus = models.PositiveIntegerField(null=True)
    seconds = models.BigIntegerField(null=True, help_text="from its start to its end")
    notes = models.JSONField(default=list, help_text="what was assumed")
    refusal = models.JSONField(null=True, help_text="path, value, reason")

    class Meta:
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return self.name


class Study(models.Model):
    """One trace under several policies with several seeds each."""

    name = models.CharField(max_length=100)
    reason = models.CharField(max_length=500, blank=True)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()
    source = models.CharField(max_length=16, help_text="name of a drawn trace, or kept")
    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, null=True, related_name="studies")
    share = models.FloatField(default=1.0, help_text="of a drawn trace")
    days = models.PositiveIntegerField(null=True, help_text="after which it ends; null: with the trace")
    redraw = models.BooleanField(default=True, help_text="a drawn trace is drawn anew for each seed")
    fail_days = models.FloatField(default=0, help_text="mean days between failures of a node; 0: none fail")
    seeds = models.JSONField(help_text="numbers")
    policies = models.JSONField(help_text="name, base, changes")
    state = models.CharField(max_length=10, choices=StudyState, default=StudyState.QUEUED)
    told = models.JSONField(default=dict, help_text="of the trace: jobs, nodes, gpus, seconds, notes")
    summary = models.BinaryField(null=True, help_text="figures of its finished runs: compressed JSON")
    summed_at = models.DateTimeField(null=True)
    asked_at = models.DateTimeField(null=True, help_text="when a worker was asked last to sum it up")
    failure = models.TextField(blank=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.name

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STUDY


class Run(models.Model):
    """One policy with one seed.  ``claim`` names the worker that may write; whoever lost it stops."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="runs")
    policy = models.PositiveSmallIntegerField(help_text="place among the policies of the study")
    seed = models.BigIntegerField()
    state = models.CharField(max_length=10, choices=RunState, default=RunState.QUEUED)
    sent_at = models.DateTimeField(help_text="when a worker was asked last")
    claim = models.UUIDField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    begun_at = models.DateTimeField(null=True)
    beat_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    now_s = models.BigIntegerField(default=0, help_text="of the virtual clock")
    until_s = models.BigIntegerField(null=True)
    jobs = models.PositiveIntegerField(null=True)
    ended = models.PositiveIntegerField(default=0)
    started = models.PositiveIntegerField(default=0)
    waiting = models.PositiveIntegerField(default=0)
    cpu_seconds = models.FloatField(default=0, help_text="of all attempts that were kept")
    digest = models.CharField(max_length=64, blank=True, help_text="of what became of all jobs")
    trace_digest = models.CharField(max_length=64, blank=True)
    code = models.CharField(max_length=64, blank=True, help_text="digest of the core's sources")
    figures = models.JSONField(null=True, help_text="the five of the trade-off")
    failure = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["policy", "seed"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "policy", "seed"], name="simulation_run_once"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["state"], name="simulation_open_runs", condition=Q(state__in=OPEN_RUN)),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: policy {self.policy}, seed {self.seed}, {self.state}"


class Result(models.Model):
    """What a finished run left."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="result")
    report = models.BinaryField(help_text="the core's report: compressed JSON")
    fates = models.BinaryField(help_text="of every job, as scheduler.replay.fates packs them")

    def __str__(self) -> str:
        return f"result of {self.run_id}"


class Checkpoint(models.Model):
    """How far a run has come, so that another worker can take it up."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="checkpoint")
    code = models.CharField(max_length=64)
    packed = models.BinaryField()
    cpu_seconds = models.FloatField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"checkpoint of {self.run_id}"
