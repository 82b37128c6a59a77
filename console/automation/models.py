"""What runs did in which pool, and what each pool has earned and lost by it."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from console.automation.choices import Turn


class PoolRun(models.Model):
    """One ended run, as far as it touched one pool.  Written once; None is not known and counts for nothing good."""

    plan = models.ForeignKey("plans.Plan", on_delete=models.PROTECT, related_name="pool_runs")
    source = models.ForeignKey("inventory.Source", on_delete=models.PROTECT, related_name="+")
    cluster = models.CharField(max_length=253)
    gpu_model = models.CharField(max_length=253, blank=True)  # "": nodes whose model nobody knows; earns nothing
    ended_at = models.DateTimeField()
    by_policy = models.BooleanField(default=False)  # started automatically
    whole = models.BooleanField(default=False)  # counts towards earning
    short_of = models.CharField(max_length=300, blank=True, default="")  # why it does not, in words

    moves = models.PositiveIntegerField()
    as_predicted = models.PositiveIntegerField()  # ended well and in time
    late = models.PositiveIntegerField()  # ended well, and not in time
    unknown = models.PositiveIntegerField()  # ended well, and nothing was expected or measured
    failed = models.PositiveIntegerField()
    not_run = models.PositiveIntegerField()
    surprises = models.PositiveIntegerField()  # moves that were not sent because something was not as signed
    halts = models.PositiveIntegerField()
    refused = models.PositiveIntegerField()  # halts because the judge refused what was left
    aborts = models.PositiveIntegerField()

    expected_s = models.FloatField(null=True)  # sum over moves that ended well with both known
    took_s = models.FloatField(null=True)
    expected_gpu_s = models.FloatField(null=True)  # GPU time doubled, of the same moves
    doubled_gpu_s = models.FloatField(null=True)
    requests_asked = models.PositiveBigIntegerField(null=True)  # of services of moved pods, while these moved
    requests_lost = models.PositiveBigIntegerField(null=True)  # None: of some move the cluster counted none
    promised = models.PositiveIntegerField(null=True)
    kept = models.PositiveIntegerField(null=True)  # of what was promised, seen so at the end of the run
    nodes = models.JSONField(default=list)  # that the plan promised to empty in this pool

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["plan", "gpu_model"], name="pool_run_one_per_pool")]
        indexes: ClassVar = [models.Index(fields=["source", "cluster", "ended_at"], name="automation_pool_run")]

    def __str__(self) -> str:
        return f"plan {self.plan_id} in {self.gpu_model} of {self.cluster}"


class PoolTurn(models.Model):
    """A pool has earned the level, lost it, or was given it back.  Rows are never changed; the newest one counts."""

    source = models.ForeignKey("inventory.Source", on_delete=models.PROTECT, related_name="+")
    cluster = models.CharField(max_length=253)
    gpu_model = models.CharField(max_length=253)
    turn = models.CharField(max_length=12, choices=Turn.choices)
    plan = models.ForeignKey("plans.Plan", on_delete=models.PROTECT, null=True, related_name="pool_turns")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    reason = models.TextField()
    faults = models.JSONField(default=list)  # of a loss: the codes of what went wrong, so that each counts once
    figures = models.JSONField(default=dict)  # when it was earned: what had been reached
    happened_at = models.DateTimeField(default=timezone.now)  # of a loss: when it went wrong
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(turn__in=Turn.values), name="pool_turn_is_known"),
            models.CheckConstraint(
                condition=~Q(turn=Turn.GIVEN_BACK) | Q(by__isnull=False) & ~Q(reason=""),
                name="pool_turn_given_back_by_somebody",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["source", "cluster", "gpu_model", "-id"], name="automation_turns")]

    def __str__(self) -> str:
        return f"{self.gpu_model} in {self.cluster}: {self.turn}"
