"""Each time that GPUs were taken back from a lease."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from console.spot.choices import Cause, Checkpoint
from console.spot.models.leases import Lease, Run


class Reclaim(models.Model):
    """From the notice to the hand-over.  ``whole``: the run ends by it; else it goes on with the pods that are left."""

    lease = models.ForeignKey(Lease, on_delete=models.CASCADE, related_name="reclaims")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="reclaims")
    whole = models.BooleanField(default=True)
    cause = models.CharField(max_length=14, choices=Cause.choices)
    claimant = models.CharField(max_length=520, blank=True, default="")  # the one pod or recall it is promised to
    own = models.BooleanField(default=False)  # by the lease's own tenant: it earns no credit
    detail = models.JSONField(default=dict)  # numbers of the cause
    gpus = models.PositiveIntegerField()
    noticed_at = models.DateTimeField()
    kill_at = models.DateTimeField()
    hook_due_s = models.PositiveIntegerField(null=True)  # after the notice; None: it has no hook
    hook_ended_at = models.DateTimeField(null=True)
    checkpoint = models.CharField(max_length=8, choices=Checkpoint.choices, default=Checkpoint.UNKNOWN)
    killed = models.BooleanField(null=True)  # None: not known, or not over
    ended_at = models.DateTimeField(null=True)  # the last pod is gone
    handed_over_at = models.DateTimeField(null=True)  # the claimant serves again
    predicted_loss_gpu_s = models.PositiveBigIntegerField(null=True)
    realised_loss_gpu_s = models.PositiveBigIntegerField(null=True)
    ran_s = models.PositiveIntegerField(default=0)  # of the run, up to the notice
    credit_cents = models.PositiveIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["-noticed_at", "-id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(cause__in=Cause.values), name="reclaim_cause_is_known"),
            models.UniqueConstraint(
                fields=["run"], condition=Q(ended_at__isnull=True, whole=True), name="reclaim_one_whole_at_a_time"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["-noticed_at"], name="reclaim_by_notice"),
            models.Index(fields=["ended_at"], name="reclaim_open"),
        ]

    def __str__(self) -> str:
        return f"lease {self.lease_id} by {self.cause}"
