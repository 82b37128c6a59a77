"""A question that is asked again and again, when, for whom, and what came of it."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from console.routines.choices import Kind, Outcome


class Routine(models.Model):
    """Opens plans for its owner.  What it asks and when never changes: another question is another routine."""

    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()

    source = models.ForeignKey("inventory.Source", on_delete=models.PROTECT, related_name="+")
    cluster = models.CharField(max_length=253)
    models_in_scope = models.JSONField(default=list)  # GPU models; [] = all of the cluster
    params = models.JSONField(default=dict)
    goal = models.JSONField(null=True)  # None: as many empty nodes as possible
    seed = models.BigIntegerField(default=0)
    question = models.CharField(max_length=200)  # in words

    cron = models.CharField(max_length=100, blank=True, default="")
    zone = models.CharField(max_length=64, default="UTC")  # IANA
    skip_days = models.JSONField(default=list)  # ISO dates on the clock of the zone
    threshold = models.JSONField(default=dict)  # of a trigger: choices.ASKED_WITH
    waiting = models.JSONField(default=dict)  # of a trigger: what holds -> since when (ISO)
    next_at = models.DateTimeField(null=True)  # the next start; of a trigger the end of its hold-off

    since = models.DateTimeField(default=timezone.now)
    paused_at = models.DateTimeField(null=True)
    pause_reason = models.TextField(blank=True, default="")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="routine_kind_is_known"),
            models.CheckConstraint(condition=Q(kind=Kind.SCHEDULE) ^ Q(cron=""), name="routine_schedule_has_cron"),
        ]
        indexes: ClassVar = [models.Index(fields=["ended_at", "next_at"], name="routine_due")]

    def __str__(self) -> str:
        return f"{self.name}: {self.question}"

    @property
    def state(self) -> str:
        return "ended" if self.ended_at is not None else "paused" if self.paused_at is not None else "active"


class Opening(models.Model):
    """One time that a routine was due, and what became of it."""

    routine = models.ForeignKey(Routine, on_delete=models.PROTECT, related_name="openings")
    due_at = models.DateTimeField()
    at = models.DateTimeField(default=timezone.now)
    outcome = models.CharField(max_length=10, choices=Outcome.choices)
    plan = models.ForeignKey("plans.Plan", on_delete=models.PROTECT, null=True, related_name="+")
    words = models.TextField(blank=True, default="")

    class Meta:
        ordering: ClassVar = ["-due_at", "-id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(outcome__in=Outcome.values), name="opening_outcome_is_known"),
            models.UniqueConstraint(fields=["routine", "due_at"], name="opening_once"),
        ]

    def __str__(self) -> str:
        return f"{self.routine_id} at {self.due_at:%F %R}: {self.outcome}"
