"""A lease with what was asked for, the history of its states, and its runs with the pods of each."""

from typing import ClassVar
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from console.spot.choices import Reason, SeatState, State
from console.spot.lifecycle import FINAL, IN_LINE


class Lease(models.Model):
    """Spot capacity that a tenant asks for, has, loses and has again until its hours have run.

    ``turn`` is moved by compare-and-set with every change of the state, and is what If-Match names.
    """

    uid = models.UUIDField(default=uuid4, unique=True)  # label of its pods
    source = models.ForeignKey("inventory.Source", on_delete=models.PROTECT, related_name="+")
    cluster = models.CharField(max_length=253)
    tenant = models.CharField(max_length=253)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    request_key = models.CharField(max_length=100, null=True)  # Idempotency-Key of the ask
    name = models.CharField(max_length=100, blank=True, default="")

    gpu_models = models.JSONField()  # in the order of preference
    gpus_per_pod = models.PositiveIntegerField()
    pods = models.PositiveIntegerField()
    min_members = models.PositiveIntegerField()  # pods without which it does not run; all of them: a gang
    cpu_milli = models.PositiveIntegerField()  # of each pod
    memory_mib = models.PositiveIntegerField()
    topology = models.CharField(max_length=63, blank=True, default="")  # a level, "" for anywhere
    required = models.BooleanField(default=False)  # False: the level is a preference
    run_s = models.PositiveIntegerField()
    checkpoint_interval_s = models.PositiveIntegerField(null=True)  # None: it writes no checkpoints
    hook_name = models.CharField(max_length=100, blank=True, default="")
    hook_s = models.PositiveIntegerField(null=True)  # what it says that its exit hook needs
    limit_cents = models.PositiveIntegerField(null=True)  # of a GPU-hour; None: pays every price
    guaranteed_s = models.PositiveIntegerField(default=0)

    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    reason = models.CharField(max_length=20, choices=Reason.choices, default=Reason.NOT_ASKED)
    numbers = models.JSONField(default=dict)  # of the reason
    turn = models.PositiveBigIntegerField(default=0)
    since = models.DateTimeField(default=timezone.now)  # in this state
    looked_at = models.DateTimeField(null=True)  # by the planner, while it waits
    made_at = models.DateTimeField(default=timezone.now)
    asked_at = models.DateTimeField(null=True)
    first_started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    kept_s = models.PositiveIntegerField(default=0)  # of run_s, done and in a checkpoint
    lost_gpu_s = models.PositiveBigIntegerField(default=0)  # run again because it was in none
    gpu_s = models.PositiveBigIntegerField(default=0)  # served by runs that ended; the next two likewise
    charge_cents = models.PositiveBigIntegerField(default=0)
    credit_cents = models.PositiveBigIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=State.values), name="lease_state_is_known"),
            models.UniqueConstraint(fields=["asked_by", "request_key"], name="lease_once_per_key"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["state"], name="lease_by_state"),
            models.Index(fields=["tenant", "-id"], name="lease_by_tenant"),
        ]

    def __str__(self) -> str:
        return f"{self.number}: {self.gpus} GPUs for {self.tenant}"

    @property
    def number(self) -> str:
        return f"L-{self.pk}"

    @property
    def gpus(self) -> int:
        return self.gpus_per_pod * self.pods

    @property
    def is_final(self) -> bool:
        return self.state in FINAL

    @property
    def in_line(self) -> bool:
        return self.state in IN_LINE

    @property
    def left_s(self) -> int:
        """Of its hours, what no checkpoint holds."""
        return max(0, self.run_s - self.kept_s)


class LeaseChange(models.Model):
    """Each state and each reason that a lease had, in order; rows are never changed."""

    lease = models.ForeignKey(Lease, on_delete=models.CASCADE, related_name="changes")
    at = models.DateTimeField(default=timezone.now)
    state = models.CharField(max_length=10, choices=State.choices)
    reason = models.CharField(max_length=20, choices=Reason.choices)
    numbers = models.JSONField(default=dict)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar = ["lease", "id"]

    def __str__(self) -> str:
        return f"{self.lease_id} {self.state} {self.reason}"


class Run(models.Model):
    """One time that a lease had its pods, from the launch to the last of them gone."""

    lease = models.ForeignKey(Lease, on_delete=models.CASCADE, related_name="runs")
    number = models.PositiveIntegerField()  # from 1
    gpu_model = models.CharField(max_length=253)
    gpus = models.PositiveIntegerField()
    requeued = models.BooleanField(default=False)  # it was first in line, and goes back there
    revision = models.BigIntegerField()  # of the reading on which the planner seated it
    cents = models.PositiveIntegerField()  # of a GPU-hour, as it was at the start
    launched_at = models.DateTimeField()
    running_at = models.DateTimeField(null=True)  # all that it needs are up
    ended_at = models.DateTimeField(null=True)
    from_s = models.PositiveIntegerField(default=0)  # of the lease's hours, done before
    guaranteed_until = models.DateTimeField(null=True)
    billed_at = models.DateTimeField(null=True)  # the next three are as of then, and settled when it has ended
    gpu_s = models.PositiveBigIntegerField(default=0)  # paid for
    charge_cents = models.PositiveIntegerField(default=0)
    credit_cents = models.PositiveIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["lease", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["lease", "number"], name="lease_run_once"),
            models.UniqueConstraint(
                fields=["lease"], condition=Q(ended_at__isnull=True), name="lease_one_run_at_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.number} of lease {self.lease_id}"


class Seat(models.Model):
    """A pod of a run, on the node for which it was launched."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="seats")
    pod = models.CharField(max_length=253)  # its name; the namespace is that of the lease's tenant
    namespace = models.CharField(max_length=253)
    uid = models.CharField(max_length=253, blank=True, default="")
    node = models.CharField(max_length=253)
    lent_by = models.CharField(max_length=520, blank=True, default="")  # namespace/name of the sleeper
    state = models.CharField(max_length=10, choices=SeatState.choices, default=SeatState.PLANNED)
    reclaim = models.ForeignKey("spot.Reclaim", on_delete=models.SET_NULL, null=True, related_name="seats")
    key = models.CharField(max_length=64, blank=True, default="")  # of the operation that ends it
    unready_at = models.DateTimeField(null=True)  # since then its node was not ready, as far as was seen
    ordered = models.BooleanField(default=False)  # its end is asked of the cluster by us, under ``key``
    noticed_at = models.DateTimeField(null=True)
    hook_ended_at = models.DateTimeField(null=True)
    checkpoint_at = models.DateTimeField(null=True)  # of the last one that is known to be written
    killed = models.BooleanField(null=True)  # None: not known, or not over
    gone_at = models.DateTimeField(null=True)
    trouble = models.TextField(blank=True, default="")  # what the cluster answered where it would not

    class Meta:
        ordering: ClassVar = ["run", "id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["run", "pod"], name="lease_seat_once")]
        indexes: ClassVar = [models.Index(fields=["node"], name="lease_seat_node")]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.pod} on {self.node}"

    @property
    def name(self) -> str:
        return f"{self.namespace}/{self.pod}"
