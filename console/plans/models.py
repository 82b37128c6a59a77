"""A plan and all that hangs on it.  Rows hold what people read and what must never happen twice; the signed document
itself is kept byte for byte beside them."""

import uuid
from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from console.plans.choices import NOT_POSSIBLE, OBSERVED, REPORT, Kind, State, StepState, Verdict
from console.plans.followed import StartedJob  # noqa: F401 - so that it is found with the others
from console.plans.frozen import Freeze  # noqa: F401 - likewise
from console.plans.lifecycle import AWAITING, FINAL, RUNNING

SIGNED = (State.APPROVED, State.EXECUTING, State.PAUSED, State.HALTED, State.SUCCEEDED)


class Plan(models.Model):
    """One question asked of a planner, its answer, and what became of it."""

    kind = models.CharField(max_length=20, choices=Kind.choices)
    state = models.CharField(max_length=16, choices=State.choices, default=State.REQUESTED)
    reason = models.TextField(blank=True, default="")  # why it is in this state, in words for people
    title = models.CharField(max_length=200)

    source = models.ForeignKey("inventory.Source", on_delete=models.PROTECT, related_name="plans")
    base = models.ForeignKey("inventory.Observation", on_delete=models.PROTECT, null=True, related_name="+")
    base_revision = models.BigIntegerField(null=True)  # stays when the reading is let go
    base_digest = models.CharField(max_length=64, blank=True, default="")
    cluster = models.CharField(max_length=253)
    models_in_scope = models.JSONField(default=list)  # GPU models; [] = all of the cluster
    params = models.JSONField(default=dict)
    seed = models.BigIntegerField(default=0)

    proposer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="plans_proposed")
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="children")
    origin = models.CharField(max_length=200, blank=True, default="")  # how it came from its parent
    undoes = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="rollbacks")
    because = models.TextField(blank=True, default="")  # why it was asked for, in the words of who asked
    request_key = models.CharField(max_length=100, null=True)  # Idempotency-Key of the request

    digest = models.CharField(max_length=64, blank=True, default="")
    document = models.BinaryField(null=True)  # canonical JSON of the core plan: the bytes whose digest is signed
    headline = models.JSONField(default=dict)  # selectors.Headline
    notes = models.JSONField(default=list)
    impact = models.JSONField(default=list)  # rows per tenant
    curve = models.JSONField(default=list)  # [moves kept, net emptied], one point per chain
    pace = models.JSONField(default=dict)  # services.pacing.told: limits, their origin, what binds each run wave
    approvals_needed = models.PositiveSmallIntegerField(default=1)  # as the policy said when it was proposed
    report = models.BooleanField(default=False)  # its level is "observe": nobody can approve it; kept by the sweep
    left_to_people = models.TextField(blank=True, default="")  # why the policy did not start it, of a routine's plan
    waits_for = models.CharField(max_length=20, blank=True, default="")  # "window": paused, goes on by itself

    changes = models.JSONField(default=list)  # what no longer holds: move, object, field, was, now
    checked_revision = models.BigIntegerField(null=True)
    checked_at = models.DateTimeField(null=True)

    progress = models.JSONField(default=dict)
    stop_requested = models.BooleanField(default=False)
    worker = models.CharField(max_length=64, blank=True, default="")  # who holds the lease
    heartbeat_at = models.DateTimeField(null=True)
    looks_at = models.DateTimeField(null=True)  # it runs, needs no worker before then, and looks for checkpoints then
    attempts = models.PositiveIntegerField(default=0)  # how often a worker took the lease to compute

    approver = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="plans_approved"
    )
    approved_digest = models.CharField(max_length=64, blank=True, default="")
    requested_at = models.DateTimeField(default=timezone.now)
    planning_at = models.DateTimeField(null=True)
    proposed_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    approved_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    resumed_at = models.DateTimeField(null=True)  # failures after this one halt the run
    ended_at = models.DateTimeField(null=True)
    held_until = models.DateTimeField(null=True)  # the cluster keeps its nodes until then; None: it never did
    held_for = models.JSONField(default=dict)  # services.holding.purpose_of: whom room was made for
    hold_version = models.PositiveIntegerField(default=0)  # how often the hold was decided; 0: nothing is held
    hold_note = models.TextField(blank=True, default="")  # the last word about the hold, for people
    followed_until = models.DateTimeField(null=True)  # its emptied nodes are looked at in every reading until then
    followed_revision = models.BigIntegerField(null=True)  # of the last reading in which they were looked at
    followed_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=State.values), name="plan_state_is_known"),
            models.CheckConstraint(
                condition=Q(approver__isnull=True) | ~Q(approver=F("proposer")), name="plan_never_approved_by_proposer"
            ),
            models.CheckConstraint(
                condition=~Q(state__in=SIGNED)
                | Q(approver__isnull=False, approved_digest=F("digest"), approved_at__isnull=False) & ~Q(digest=""),
                name="plan_runs_only_as_signed",
            ),
            models.CheckConstraint(
                condition=~Q(state=State.PROPOSED) | Q(expires_at__isnull=False) & ~Q(digest=""),
                name="plan_proposed_has_digest_and_end",
            ),
            models.UniqueConstraint(fields=["proposer", "request_key"], name="plan_one_per_request_key"),
        ]
        indexes: ClassVar = [models.Index(fields=["state", "id"]), models.Index(fields=["kind", "-id"])]

    def __str__(self) -> str:
        return f"Plan {self.pk}: {self.title}"

    @property
    def is_final(self) -> bool:
        return self.state in FINAL

    @property
    def is_awaiting(self) -> bool:
        return self.state in AWAITING

    @property
    def is_running(self) -> bool:
        return self.state in RUNNING

    @property
    def rests_until(self) -> datetime | None:
        return self.looks_at if self.state == State.EXECUTING and not self.worker else None

    @property
    def automatic(self) -> bool:
        return any(decision.policy for decision in self.decisions.all())

    @property
    def topic(self) -> str:
        return f"plan:{self.pk}"

    @property
    def shown_state(self) -> str:
        """For people: a plan for a source that is only observed waits for nobody; a no is no "nothing to do"."""
        goal = self.headline.get("goal")
        if self.state == State.NOTHING_TO_DO and goal and goal["reached"] < goal["wanted"]:
            return NOT_POSSIBLE
        if self.state != State.PROPOSED:
            return self.state
        return OBSERVED if not self.source.acts else REPORT if self.report else self.state


class Step(models.Model):
    """One move of a plan, as signed and as it went.  ``uid`` is the key under which the cluster is asked for it."""

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="steps")
    index = models.PositiveIntegerField()  # position in the signed document
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    wave = models.PositiveIntegerField()  # as planned, from 0
    run_wave = models.PositiveIntegerField()  # as run, from 0: the planned waves cut finer by the policy
    chain = models.PositiveIntegerField()
    depth = models.PositiveIntegerField()
    drains = models.CharField(max_length=253)
    after = models.JSONField(default=list)  # indices of steps that must have ended
    pod = models.CharField(max_length=512)  # namespace/name
    pod_uid = models.CharField(max_length=253, blank=True, default="")
    source_node = models.CharField(max_length=253)
    target_node = models.CharField(max_length=253)
    mode = models.CharField(max_length=10)
    gpus = models.PositiveIntegerField()
    gpu_milli = models.PositiveIntegerField()  # of each
    tenant = models.CharField(max_length=253, blank=True, default="")  # "" = unassigned
    owner = models.CharField(max_length=800, blank=True, default="")  # namespace/workload (scheduler.plan.pace)
    work_class = models.CharField(max_length=20, blank=True, default="")
    tier = models.CharField(max_length=2)
    lost_gpu_seconds = models.BigIntegerField(null=True)  # work since the last checkpoint, of restarts; None = unknown
    expected_s = models.FloatField(null=True)  # how long it was expected to take when proposed; None = nothing to go by
    checkpoint = models.JSONField(null=True)  # operations.AfterCheckpoint as signed; None = it waits for none
    due_at = models.DateTimeField(null=True)  # since when nothing but its checkpoint holds it up
    due_checkpoint_s = models.BigIntegerField(null=True)  # the last checkpoint then, on the cluster's own clock
    checkpoint_at = models.DateTimeField(null=True)  # when the next one was expected then
    requests_served = models.PositiveBigIntegerField(null=True)  # by the pod's service while it moved, as its
    requests_lost = models.PositiveBigIntegerField(null=True)  # cluster counted; None = it did not

    state = models.CharField(max_length=12, choices=StepState.choices, default=StepState.WAITING)
    detail = models.TextField(blank=True, default="")
    worker = models.CharField(max_length=64, blank=True, default="")
    issued_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["plan", "index"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["plan", "index"], name="step_one_per_index"),
            models.UniqueConstraint(fields=["plan", "pod"], name="step_no_pod_moves_twice"),
            models.CheckConstraint(condition=Q(state__in=StepState.values), name="step_state_is_known"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["plan", "chain", "index"]),
            models.Index(fields=["plan", "run_wave", "state"]),
            models.Index(fields=["plan", "tenant"]),
            models.Index(fields=["ended_at"]),  # what rests after a move
        ]

    def __str__(self) -> str:
        return f"{self.pod} {self.source_node} → {self.target_node}"

    @property
    def took_s(self) -> float | None:
        """Seconds from when it was sent to its end; None where it was not sent or has not ended."""
        return (self.ended_at - self.issued_at).total_seconds() if self.issued_at and self.ended_at else None


class Stop(models.Model):
    """A run was stopped: what it had in flight and what it had not begun at that moment."""

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="stops")
    state = models.CharField(max_length=16, choices=State.choices)  # what it became: paused, halted or aborted
    actor = models.CharField(max_length=150, blank=True, default="")
    reason = models.TextField(blank=True, default="")
    at = models.DateTimeField(default=timezone.now)
    waiting = models.PositiveIntegerField()
    in_flight = models.JSONField(default=list)  # indices of steps

    class Meta:
        ordering: ClassVar = ["plan", "id"]

    def __str__(self) -> str:
        return f"plan {self.plan_id} {self.state}"


class EmptiedNode(models.Model):
    """A node that a run has emptied, and what became of it while it was followed."""

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="emptied")
    node = models.CharField(max_length=253)
    gpus = models.PositiveIntegerField()
    emptied_at = models.DateTimeField()  # when its last pod had left
    refilled_at = models.DateTimeField(null=True)  # of the first reading in which it had work again
    refilled_by = models.JSONField(default=list)  # then: {"pod", "tenant", "workload", "gpu_milli"}
    gone_at = models.DateTimeField(null=True)  # of the first reading without it, or in which it was out of service

    class Meta:
        ordering: ClassVar = ["plan", "node"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["plan", "node"], name="emptied_one_per_node")]

    def __str__(self) -> str:
        return f"{self.node} by plan {self.plan_id}"


class RoomNode(models.Model):
    """A node on which a run made room for something, and what the cluster was told to keep it for."""

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="rooms")
    node = models.CharField(max_length=253)
    gpus = models.PositiveIntegerField()
    residents = models.JSONField(default=list)  # pods that stood there when the run ended, agents aside
    takers = models.JSONField(default=list)  # pods for which it is held and that run there
    told = models.PositiveIntegerField(default=0)  # the version of the hold that the cluster has heard
    refused = models.TextField(blank=True, default="")  # why the cluster does not hold it

    class Meta:
        ordering: ClassVar = ["plan", "node"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["plan", "node"], name="room_one_per_node")]

    def __str__(self) -> str:
        return f"{self.node} by plan {self.plan_id}"


class KeptNode(models.Model):
    """A node that the plan leaves as it is, and why."""

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="kept")
    position = models.PositiveIntegerField()
    node = models.CharField(max_length=253)
    reason = models.CharField(max_length=40)
    blockers = models.JSONField(default=list)
    targets = models.JSONField(default=dict)

    class Meta:
        ordering: ClassVar = ["plan", "position"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["plan", "position"], name="kept_one_per_position")]
        indexes: ClassVar = [models.Index(fields=["plan", "reason"])]

    def __str__(self) -> str:
        return f"{self.node}: {self.reason}"


class PlanMap(models.Model):
    """The nodes in scope before and after, one byte a node: the picture stays when the snapshots are long gone."""

    plan = models.OneToOneField(Plan, on_delete=models.PROTECT, related_name="map")
    layout = models.JSONField()  # groups in cell order: {"model", "asw", "count"}
    names = models.TextField()  # one per line, in cell order
    before = models.BinaryField()  # free GPUs in per cent of the node's GPUs; 255 no data
    after = models.BinaryField()
    marks = models.BinaryField()  # bit 0 emptied, bit 1 receives, bit 2 gives
    gpus = models.BinaryField()  # of the node, at most 254

    def __str__(self) -> str:
        return f"map of plan {self.plan_id}"


class Decision(models.Model):
    """Who said yes or no to which digest, and why.  One no ends the question; a yes does once enough people said it."""

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="decisions")
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    digest = models.CharField(max_length=64)
    reason = models.TextField()
    policy = models.TextField(blank=True, default="")  # "automatic, …" where the policy said it by the user's word
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(verdict__in=Verdict.values), name="decision_verdict_is_known"),
            models.UniqueConstraint(fields=["plan", "user", "verdict"], name="decision_nobody_says_it_twice"),
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.verdict} {self.plan_id}"


class Override(models.Model):
    """Somebody let a plan pass its soft checks for a short time; somebody else looks at it afterwards."""

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="overrides")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    digest = models.CharField(max_length=64)
    reason = models.TextField()
    since = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    closed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    closed_at = models.DateTimeField(null=True)
    finding = models.TextField(blank=True, default="")

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(closed_by__isnull=True) | ~Q(closed_by=F("user")), name="override_reviewed_by_another"
            ),
            models.CheckConstraint(condition=Q(expires_at__gt=F("since")), name="override_ends_after_it_begins"),
        ]
        indexes: ClassVar = [models.Index(fields=["closed_at"], name="plans_override_closed")]

    def __str__(self) -> str:
        return f"glass of plan {self.plan_id} by {self.user_id}"


class NodeLock(models.Model):
    """A node that a running plan touches: nobody else's plan may touch it until the lock goes or runs out."""

    source = models.ForeignKey("inventory.Source", on_delete=models.PROTECT, related_name="+")
    cluster = models.CharField(max_length=253)
    node = models.CharField(max_length=253)
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="locks")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    since = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "cluster", "node"], name="lock_one_per_node")
        ]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.node} by plan {self.plan_id}"
