"""Rows about what came after a run."""

from typing import ClassVar

from django.db import models
from django.db.models import Q


class StartedJob(models.Model):
    """A gang or pod that started where a run had made room, and what would have become of it without the plan."""

    class Verdict(models.TextChoices):
        """The words of ``scheduler.plan.gain``."""

        WAITS = "waits", "would have had to wait"
        ELSEWHERE = "elsewhere", "would have fitted elsewhere"
        UNKNOWN = "unknown", "unknown"

    plan = models.ForeignKey("plans.Plan", on_delete=models.PROTECT, related_name="started_jobs")
    job = models.CharField(max_length=512)  # namespace/name of the gang, or of a pod without one
    gang = models.BooleanField()
    tenant = models.CharField(max_length=253, blank=True, default="")  # "" = unassigned
    pods = models.JSONField()  # namespace/name of each that ran in the first reading
    gpu_milli = models.BigIntegerField()  # of all of them
    nodes = models.JSONField()  # where they ran in the first reading
    waited = models.BooleanField(null=True)  # it waited already when the plan was proposed; None: nobody knows
    started_at = models.DateTimeField()
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    why = models.TextField(blank=True, default="")
    seen_at = models.DateTimeField()  # of the reading that the verdict is about
    checked_at = models.DateTimeField()  # of the last reading in which it would still have had to wait
    fits_at = models.DateTimeField(null=True)  # of the first reading in which it would have fitted
    is_open = models.BooleanField()  # it is asked again in later readings

    class Meta:
        ordering: ClassVar = ["plan", "started_at", "job"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["plan", "job"], name="started_once_per_plan"),
            models.CheckConstraint(
                condition=Q(verdict="waits") | Q(is_open=False, fits_at__isnull=True),
                name="only_who_waits_is_asked_again",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job} after plan {self.plan_id}"

    @property
    def sooner_s(self) -> float | None:
        """Seconds that it started sooner, at least; None where that is not known."""
        if self.verdict != self.Verdict.WAITS:
            return None
        return max(0.0, ((self.fits_at or self.checked_at) - self.started_at).total_seconds())
