"""Rotas, who takes over when, how people are reached, and every alert with what was done about it."""

import uuid
from datetime import time
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone

from console.oncall.choices import ContactKind, EventKind, Handover, Kind, MessageState, Reach, Scope


class Rota(models.Model):
    """Who is on call for a place, and how an alert widens there.  Changes count at once; ``version`` counts them."""

    scope = models.CharField(max_length=10, choices=Scope.choices)
    cluster = models.CharField(max_length=253, blank=True, default="")
    handover = models.CharField(max_length=8, choices=Handover.choices)
    at = models.TimeField()  # on the clock of the zone
    zone = models.CharField(max_length=64, default="UTC")  # IANA
    anchor = models.DateField()  # the day of a handover at which the first of the list begins; its weekday, if weekly
    next_minutes = models.PositiveIntegerField()  # without an answer until the next person, and then everybody
    singles = models.PositiveIntegerField()  # people who are called one by one
    last_minutes = models.PositiveIntegerField()  # from everybody in the rota to all approvers
    hold_minutes = models.PositiveIntegerField()  # that an acknowledgement lasts
    review_hours = models.PositiveIntegerField()  # that a review of broken glass may stay open
    quiet_from = models.TimeField(null=True)
    quiet_until = models.TimeField(null=True)
    urgent = models.JSONField(default=list)  # kinds that are sent in quiet hours
    version = models.PositiveIntegerField(default=1)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    since = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["scope", "cluster", "id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(scope=Scope.FLEET, cluster="") | Q(scope=Scope.CLUSTER) & ~Q(cluster=""),
                name="rota_scope_says_what",
            ),
            models.CheckConstraint(
                condition=Q(quiet_from__isnull=True, quiet_until__isnull=True)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False),
                name="rota_quiet_hours_whole",
            ),
            models.UniqueConstraint(
                fields=["scope", "cluster"], condition=Q(ended_at__isnull=True), name="rota_one_per_place"
            ),
        ]

    def __str__(self) -> str:
        return f"rota of {self.place}"

    @property
    def place(self) -> str:
        return "the whole fleet" if self.scope == Scope.FLEET else f"cluster {self.cluster}"

    @property
    def weekday(self) -> int:
        """0 is Monday; counts for a weekly handover only."""
        return self.anchor.weekday()

    @property
    def quiet(self) -> tuple[time, time] | None:
        return None if self.quiet_from is None or self.quiet_until is None else (self.quiet_from, self.quiet_until)


class Member(models.Model):
    """One place in the order of a rota."""

    rota = models.ForeignKey(Rota, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveIntegerField()

    class Meta:
        ordering: ClassVar = ["rota", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["rota", "position"], name="member_one_per_position"),
            models.UniqueConstraint(fields=["rota", "user"], name="member_nobody_twice"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.rota_id}"


class Cover(models.Model):
    """Somebody takes over for a time."""

    rota = models.ForeignKey(Rota, on_delete=models.PROTECT, related_name="covers")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    begins_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField(blank=True, default="")
    made_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)  # taken back

    class Meta:
        ordering: ClassVar = ["begins_at", "id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(ends_at__gt=F("begins_at")), name="cover_ends_after_it_begins")
        ]
        indexes: ClassVar = [models.Index(fields=["rota", "ends_at"], name="oncall_cover_ends")]

    def __str__(self) -> str:
        return f"{self.user_id} from {self.begins_at:%F %R} to {self.ends_at:%F %R}"


class Contact(models.Model):
    """A way to reach a person.  An address that is itself a secret is sealed; ``shown`` is what pages say of it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=8, choices=ContactKind.choices)
    shown = models.CharField(max_length=253)
    sealed = models.CharField(max_length=64, blank=True, default="")  # name of the credential; "" of mail
    since = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["user", "id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(kind=ContactKind.MAIL, sealed="") | Q(kind=ContactKind.WEBHOOK) & ~Q(sealed=""),
                name="contact_secret_is_sealed",
            ),
            models.UniqueConstraint(fields=["user", "kind"], name="contact_one_of_a_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.user_id}"


class Alert(models.Model):
    """Something needs a person.  ``key`` names it, so that of two workers one opens it."""

    key = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    plan = models.ForeignKey("plans.Plan", on_delete=models.PROTECT, null=True, related_name="alerts")
    campaign = models.ForeignKey("campaigns.Campaign", on_delete=models.PROTECT, null=True, related_name="+")
    group = models.ForeignKey("campaigns.Group", on_delete=models.PROTECT, null=True, related_name="+")
    review = models.ForeignKey("plans.Override", on_delete=models.PROTECT, null=True, related_name="+")
    rota = models.ForeignKey(Rota, on_delete=models.PROTECT, related_name="+")
    opened_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(null=True)  # the next call; None: everybody has been called, or it is over
    reached = models.CharField(max_length=10, choices=Reach.choices, blank=True, default="")  # the widest call yet
    calls = models.PositiveIntegerField(default=0)
    acknowledged_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    acknowledged_until = models.DateTimeField(null=True)
    held_until = models.DateTimeField(null=True)  # quiet hours keep the next call back
    resolved_at = models.DateTimeField(null=True)
    outcome = models.TextField(blank=True, default="")

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="alert_kind_is_known"),
            models.CheckConstraint(
                condition=Q(plan__isnull=False, campaign__isnull=True) | Q(plan__isnull=True, campaign__isnull=False),
                name="alert_is_about_one_thing",
            ),
            models.CheckConstraint(
                condition=Q(resolved_at__isnull=True) | Q(due_at__isnull=True), name="alert_calls_nobody_when_resolved"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["resolved_at", "due_at"], name="oncall_alert_due")]

    def __str__(self) -> str:
        return f"alert {self.key}"

    @property
    def about(self) -> str:
        """Within a sentence."""
        return f"plan {self.plan_id}" if self.plan_id is not None else f"campaign {self.campaign_id}"

    @property
    def path(self) -> str:
        """Of the page where one decides."""
        if self.plan_id is not None:
            return reverse("oncall:decide", args=[self.plan_id])
        return reverse("campaigns:detail", args=[self.campaign_id])

    @property
    def target(self) -> tuple[str, int]:
        """As the audit log names it."""
        return ("plan", self.plan_id) if self.plan_id is not None else ("campaign", self.campaign_id or 0)

    @property
    def state(self) -> str:
        if self.resolved_at is not None:
            return "resolved"
        if self.acknowledged_by_id is not None:
            return "acknowledged"
        return "quiet" if self.held_until is not None else "calling" if self.due_at is not None else "unanswered"


class Message(models.Model):
    """One message to one person in one call of an alert; at most one, whatever happens."""

    alert = models.ForeignKey(Alert, on_delete=models.PROTECT, related_name="messages")
    call = models.PositiveIntegerField()  # from 1
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)  # by it a receiver tells a repeated one
    subject = models.CharField(max_length=250)
    body = models.TextField()
    at = models.DateTimeField(default=timezone.now)
    state = models.CharField(max_length=8, choices=MessageState.choices, default=MessageState.WAITING)
    next_at = models.DateTimeField(default=timezone.now)  # when it is tried (again); while it is tried, the lease's end
    attempts = models.PositiveIntegerField(default=0)
    how = models.CharField(max_length=8, choices=ContactKind.choices, blank=True, default="")  # the last way tried
    address = models.CharField(max_length=253, blank=True, default="")  # as pages may say it
    error = models.TextField(blank=True, default="")  # of the last try that failed
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=MessageState.values), name="message_state_is_known"),
            models.UniqueConstraint(fields=["alert", "call", "user"], name="message_one_per_person_and_call"),
        ]
        indexes: ClassVar = [models.Index(fields=["state", "next_at"], name="oncall_message_due")]

    def __str__(self) -> str:
        return f"message {self.pk} to {self.user_id}"


class Event(models.Model):
    """What happened to an alert, line by line; never changed."""

    alert = models.ForeignKey(Alert, on_delete=models.PROTECT, related_name="events")
    at = models.DateTimeField(default=timezone.now)
    kind = models.CharField(max_length=14, choices=EventKind.choices)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    message = models.ForeignKey(Message, on_delete=models.PROTECT, null=True, related_name="+")
    words = models.TextField()

    class Meta:
        ordering: ClassVar = ["alert", "id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(kind__in=EventKind.values), name="alert_event_kind_is_known")
        ]

    def __str__(self) -> str:
        return f"{self.alert_id}: {self.words}"
