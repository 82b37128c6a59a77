"""What a GPU-hour of spot capacity costs and did cost, what binds that, and proposals of something else."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from console.prices.choices import State, Wanted


class Terms(models.Model):
    """One version of what binds the price of one GPU model ("" for all of which nothing of their own is said).

    A field that is null says nothing: what is said for all counts, else what is built in.  Rows are never changed but
    for ``newest``, so that history stays.
    """

    gpu_model = models.CharField(max_length=253, blank=True, default="")
    version = models.PositiveIntegerField()
    newest = models.BooleanField(default=True)
    on_demand_cents = models.PositiveIntegerField(null=True)
    floor_cents = models.PositiveIntegerField(null=True)
    floor_percent = models.PositiveIntegerField(null=True)
    change_percent = models.PositiveIntegerField(null=True)
    review_hours = models.PositiveIntegerField(null=True)
    notice_hours = models.PositiveIntegerField(null=True)
    valid_hours = models.PositiveIntegerField(null=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["-id"]
        verbose_name_plural = "terms"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["gpu_model", "version"], name="price_terms_one_per_version"),
            models.UniqueConstraint(fields=["gpu_model"], condition=Q(newest=True), name="price_terms_one_newest"),
        ]

    def __str__(self) -> str:
        return f"terms of {self.gpu_model or 'all models'}, version {self.version}"


class Proposal(models.Model):
    """Prices of one or several models at once, from their computation to the hour from which they count.

    ``document`` is the canonical JSON of what was shown; its sha256 is the digest that is approved.
    """

    state = models.CharField(max_length=10, choices=State, default=State.COMPUTING)
    wanted = models.CharField(max_length=8, choices=Wanted, default=Wanted.REVIEW)
    title = models.CharField(max_length=200)
    automatic = models.BooleanField(default=False, help_text="opened by the clock, not by a person")
    simulated = models.BooleanField(default=False)
    opened_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    proposer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    approver = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    editors = models.JSONField(default=list, help_text="numbers of all who named a price in it")
    request_key = models.CharField(max_length=100, null=True)
    version = models.PositiveIntegerField(default=1, help_text="grows with every answer and every edit")
    seed = models.BigIntegerField(default=0)
    opened_at = models.DateTimeField(default=timezone.now)
    claim = models.UUIDField(null=True, help_text="of the worker that may write")
    worker = models.CharField(max_length=100, blank=True)
    sent_at = models.DateTimeField(help_text="when a worker was asked last")
    heartbeat_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    computed_at = models.DateTimeField(null=True)
    preview = models.JSONField(null=True)
    document = models.BinaryField(null=True)
    digest = models.CharField(max_length=64, blank=True)
    said = models.TextField(blank=True, help_text="why, in the words of who sent it for approval")
    proposed_at = models.DateTimeField(null=True)
    effective_at = models.DateTimeField(null=True, help_text="as approved")
    takes_at = models.DateTimeField(null=True, help_text="the same, or later where something held it back")
    held = models.TextField(blank=True, help_text="what holds it back now")
    expires_at = models.DateTimeField(null=True)
    approved_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True, help_text="of the last change of state")

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["opened_by", "request_key"], name="price_proposal_once_per_key"),
            models.CheckConstraint(
                condition=~Q(state=State.IN_FORCE) | Q(effective_at__isnull=False), name="price_proposal_has_an_hour"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["state"], name="price_proposal_state")]

    def __str__(self) -> str:
        return f"price proposal {self.pk}"


class Line(models.Model):
    """One GPU model of a proposal.  ``base`` is the price in force when it was worked out."""

    proposal = models.ForeignKey(Proposal, on_delete=models.CASCADE, related_name="lines")
    gpu_model = models.CharField(max_length=253)
    base = models.ForeignKey("Price", on_delete=models.PROTECT, null=True, related_name="+")
    was_cents = models.PositiveIntegerField(null=True, help_text="null: no quote")
    computed_cents = models.PositiveIntegerField(null=True)
    cents = models.PositiveIntegerField(null=True)
    on_demand_cents = models.PositiveIntegerField(null=True)
    floor_cents = models.PositiveIntegerField(null=True)
    change_percent = models.PositiveIntegerField(default=0)
    why = models.TextField(blank=True)
    terms = models.JSONField(default=list)

    class Meta:
        ordering: ClassVar = ["gpu_model"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["proposal", "gpu_model"], name="price_line_once_per_model")
        ]
        indexes: ClassVar = [models.Index(fields=["gpu_model"], name="price_line_model")]

    def __str__(self) -> str:
        return f"{self.gpu_model} in {self.proposal_id}"

    @property
    def changes(self) -> bool:
        return self.cents != self.was_cents

    @property
    def edited(self) -> bool:
        return self.cents != self.computed_cents


class Price(models.Model):
    """What one GPU-hour of a model costs from ``since`` on, until the next row.  Never changed, never removed.

    ``since`` is a full hour of UTC, because use is counted by the hour: so every hour has one price.
    """

    gpu_model = models.CharField(max_length=253)
    since = models.DateTimeField()
    cents = models.PositiveIntegerField(null=True, help_text="null: no quote")
    was_cents = models.PositiveIntegerField(null=True)
    on_demand_cents = models.PositiveIntegerField(null=True)
    floor_cents = models.PositiveIntegerField(null=True)
    why = models.TextField(help_text="what moved it, in terms that can be looked at")
    terms = models.JSONField(default=list)
    proposal = models.ForeignKey(Proposal, on_delete=models.PROTECT, null=True, related_name="prices")
    simulated = models.BooleanField(default=False, help_text="made up for a demo, nobody ever paid it")
    said_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["-since", "gpu_model"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["gpu_model", "since"], name="price_one_per_hour"),
            models.CheckConstraint(condition=Q(cents__isnull=True) | Q(cents__gte=1), name="price_is_never_nothing"),
        ]
        indexes: ClassVar = [models.Index(fields=["gpu_model", "-since"], name="price_of_model")]

    def __str__(self) -> str:
        return f"{self.gpu_model} from {self.since:%Y-%m-%d %H:%M}"
