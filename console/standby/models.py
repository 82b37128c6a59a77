"""When workloads of tenants sleep, which pods do, who recalled them and how that went, and what the pool was like."""

import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from console.standby.choices import ASLEEP_NOW, LEAD_S, OPEN_RECALLS, Cause, RecallState, SleeperState
from console.standby.hours import Span, Weekly

NAME = 253


class Window(models.Model):
    """A tenant's word that a workload of its own sleeps at certain times.  ``days`` []: once, else on each of them."""

    source = models.ForeignKey("inventory.Source", on_delete=models.PROTECT, related_name="+")
    cluster = models.CharField(max_length=NAME)
    tenant = models.CharField(max_length=NAME)
    namespace = models.CharField(max_length=NAME)
    workload = models.CharField(max_length=NAME)
    days = models.JSONField(default=list)
    from_minute = models.PositiveSmallIntegerField(null=True)
    until_minute = models.PositiveSmallIntegerField(null=True)
    first_day = models.DateField(null=True)
    last_day = models.DateField(null=True)
    begins_at = models.DateTimeField(null=True, help_text="of a window that comes once")
    ends_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True, default="")
    expected = models.JSONField(default=dict, help_text="what it was expected to bring when it was last said")
    version = models.PositiveIntegerField(default=1)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    end_reason = models.TextField(blank=True, default="")

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(begins_at__isnull=False, ends_at__isnull=False, first_day__isnull=True)
                | Q(begins_at__isnull=True, ends_at__isnull=True, first_day__isnull=False, from_minute__isnull=False),
                name="window_is_once_or_weekly",
            )
        ]
        indexes: ClassVar = [models.Index(fields=["ended_at", "source"], name="window_open")]

    def __str__(self) -> str:
        return f"{self.key} sleeps {self.words}"

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.workload}"

    @property
    def weekly(self) -> Weekly | None:
        """None for one that comes once."""
        if self.first_day is None or self.from_minute is None or self.until_minute is None:
            return None
        return Weekly(tuple(self.days), self.from_minute, self.until_minute, self.first_day, self.last_day)

    @property
    def words(self) -> str:
        if self.weekly is not None:
            return self.weekly.words
        assert self.begins_at is not None and self.ends_at is not None
        same = self.begins_at.date() == self.ends_at.date()
        return f"once, {self.begins_at:%d %b %H:%M}–{self.ends_at:{'%H:%M' if same else '%d %b %H:%M'}}"

    def spans(self, low: datetime, high: datetime) -> Iterator[Span]:
        """In order, those that have a part between ``low`` and ``high``; none after its end was said."""
        if self.weekly is not None:
            found = self.weekly.spans(low, high)
        else:
            assert self.begins_at is not None and self.ends_at is not None
            once = Span(self.begins_at, self.ends_at)
            found = iter([once] if once.ends_at > low and once.begins_at < high else [])
        return (span for span in found if self.ended_at is None or span.begins_at < self.ended_at)

    def span_at(self, at: datetime) -> Span | None:
        return next((span for span in self.spans(at, at + timedelta(seconds=1)) if span.holds(at)), None)


class Sleeper(models.Model):
    """One pod in one span of a window.  ``told``: the cluster knows until when it sleeps."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    window = models.ForeignKey(Window, on_delete=models.PROTECT, related_name="sleepers")
    pod = models.CharField(max_length=2 * NAME + 1)
    pod_uid = models.CharField(max_length=NAME, blank=True)
    node = models.CharField(max_length=NAME)
    gpu_model = models.CharField(max_length=NAME, blank=True)
    gpu_milli = models.PositiveIntegerField()
    memory_mib = models.PositiveBigIntegerField(help_text="host memory that it keeps")
    device_mib = models.PositiveBigIntegerField(null=True, help_text="device memory that it keeps; null: not known")
    addresses = models.PositiveSmallIntegerField(default=1)
    begins_at = models.DateTimeField(help_text="of its span")
    until_at = models.DateTimeField()
    wake_at = models.DateTimeField(null=True, help_text="earlier than for itself alone: ahead of a storm")
    state = models.CharField(max_length=8, choices=SleeperState.choices, default=SleeperState.ASKED)
    detail = models.TextField(blank=True, default="")
    told = models.BooleanField(default=False)
    turn = models.PositiveIntegerField(default=0, help_text="how often it was told anew")
    slept_at = models.DateTimeField(null=True)
    over_at = models.DateTimeField(null=True)
    counted_at = models.DateTimeField(null=True)
    lent_milli = models.PositiveIntegerField(null=True, help_text="as last seen; null: not seen yet")
    asleep_s = models.PositiveBigIntegerField(default=0)
    lent_milli_s = models.PositiveBigIntegerField(default=0, help_text="GPU time that was lent")
    rebate_cents = models.IntegerField(null=True)
    cost_cents = models.IntegerField(null=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["window", "begins_at", "pod", "pod_uid"], name="sleeper_once"),
            models.CheckConstraint(condition=Q(state__in=SleeperState.values), name="sleeper_state_is_known"),
        ]
        indexes: ClassVar = [models.Index(fields=["state", "until_at"], name="sleeper_due")]

    def __str__(self) -> str:
        return f"{self.pod} {self.state}"

    @property
    def key(self) -> str:
        """Of the operation by which the cluster is told."""
        return f"sleep:{self.uid}:{self.turn}"

    @property
    def due_at(self) -> datetime:
        """When its recall begins, so that it serves when its span ends."""
        ahead = self.until_at - timedelta(seconds=LEAD_S)
        return ahead if self.wake_at is None else min(self.wake_at, ahead)


class Recall(models.Model):
    """One waking of one pod, from the asking to its first answer."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    source = models.ForeignKey("inventory.Source", on_delete=models.PROTECT, related_name="+")
    cluster = models.CharField(max_length=NAME)
    pod = models.CharField(max_length=2 * NAME + 1)
    pod_uid = models.CharField(max_length=NAME, blank=True)
    node = models.CharField(max_length=NAME)
    tenant = models.CharField(max_length=NAME, blank=True)
    gpu_model = models.CharField(max_length=NAME, blank=True)
    gpu_milli = models.PositiveIntegerField()
    sleeper = models.ForeignKey(Sleeper, on_delete=models.PROTECT, null=True, related_name="recalls")
    cause = models.CharField(max_length=8, choices=Cause.choices)
    reason = models.TextField(blank=True, default="")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    asked_at = models.DateTimeField(default=timezone.now)
    wanted_at = models.DateTimeField(null=True, help_text="it is to serve then; null: as soon as it can")
    state = models.CharField(max_length=8, choices=RecallState.choices, default=RecallState.ASKED)
    detail = models.TextField(blank=True, default="")
    noticed_at = models.DateTimeField(null=True)
    last_gone_at = models.DateTimeField(null=True)
    serving_at = models.DateTimeField(null=True)
    killed = models.PositiveIntegerField(default=0)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=RecallState.values), name="recall_state_is_known"),
            models.UniqueConstraint(
                fields=["source", "cluster", "pod"],
                condition=Q(state__in=[state.value for state in OPEN_RECALLS]),
                name="recall_one_at_a_time",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["state", "asked_at"], name="recall_open")]

    def __str__(self) -> str:
        return f"{self.pod} recalled: {self.state}"

    @property
    def took_s(self) -> float | None:
        """From notice to serving."""
        if self.noticed_at is None or self.serving_at is None:
            return None
        return (self.serving_at - self.noticed_at).total_seconds()


class Ending(models.Model):
    """A borrower that a recall told to end."""

    recall = models.ForeignKey(Recall, on_delete=models.CASCADE, related_name="endings")
    pod = models.CharField(max_length=2 * NAME + 1)
    pod_uid = models.CharField(max_length=NAME, blank=True)
    lease = models.CharField(max_length=64, blank=True, db_index=True, help_text="uid; empty where it has none")
    gpu_milli = models.PositiveIntegerField()
    noticed_at = models.DateTimeField()
    hook_ended_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    killed = models.BooleanField(default=False)
    checkpoint_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["recall", "pod"], name="ending_once")]

    def __str__(self) -> str:
        return f"{self.pod} of recall {self.recall_id}"


class PoolSample(models.Model):
    """What slept in one pool for some minutes, as last seen in them.  ``ruled``: of it under windows."""

    source = models.ForeignKey("inventory.Source", on_delete=models.CASCADE, related_name="+")
    cluster = models.CharField(max_length=NAME)
    gpu_model = models.CharField(max_length=NAME, blank=True)
    at = models.DateTimeField()
    asleep_milli = models.PositiveBigIntegerField()
    ruled_milli = models.PositiveBigIntegerField()
    lent_milli = models.PositiveBigIntegerField()
    pods = models.PositiveIntegerField()
    memory_mib = models.PositiveBigIntegerField()
    device_mib = models.PositiveBigIntegerField(null=True, help_text="null: of some pods it is not known")
    cents_per_hour = models.IntegerField(null=True, help_text="what the sleep costs its owners")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "cluster", "gpu_model", "at"], name="pool_sample_once")
        ]
        indexes: ClassVar = [models.Index(fields=["at"], name="pool_sample_at")]

    def __str__(self) -> str:
        return f"{self.gpu_model} at {self.at:%F %R}"


class Storm(models.Model):
    """Many pods that come back at about the same time, and how their recalls are drawn apart."""

    source = models.ForeignKey("inventory.Source", on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(help_text="all are back by then")
    foreseen_at = models.DateTimeField()
    document = models.JSONField()

    class Meta:
        ordering: ClassVar = ["at"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["source", "at"], name="storm_once")]

    def __str__(self) -> str:
        return f"storm at {self.at:%F %R}"


ASLEEP = [state.value for state in ASLEEP_NOW]
