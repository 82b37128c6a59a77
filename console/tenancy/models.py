"""Users with one role each, their tenants, the book of quotas with all its editions, and what tenants used."""

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q
from django.utils import timezone

from console.tenancy.choices import WORDS, EditionKind, EntryKind, Role


class Tenant(models.Model):
    """A department or team that owns pods; a parent's members see the pods of its children.

    The book says who is whose parent; the row here is what people belong to.
    """

    name = models.CharField(max_length=253, unique=True)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="children")

    class Meta:
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name


class User(AbstractUser):
    """A person, or a program with a token."""

    role = models.CharField(max_length=16, choices=Role, default=Role.VIEWER)
    tenants = models.ManyToManyField(Tenant, blank=True, related_name="members")

    def refusal(self, permission: str) -> str:
        """Why this person may not do what ``permission`` names, in words fit for a page and for the API."""
        role = str(self.get_role_display()).lower()
        article = "an" if role[:1] in "aeio" else "a"
        return f"{self.get_username()} is {article} {role} and may not {WORDS.get(permission, permission)}."


class Book(models.Model):
    """The one book of a console: its row is what an edit holds, so that editions have one order.

    Who has what by it is worked out when the book or the use changes, not when somebody looks.
    """

    version = models.PositiveIntegerField(default=0, help_text="number of the newest edition, 0 where there is none")
    standings = models.JSONField(default=list, help_text="[kind, name, model, ...figures] each, in GPU milli")
    over_caps = models.JSONField(default=dict, help_text="tenant -> [held, cap] in GPU milli, of those above it")

    def __str__(self) -> str:
        return f"book at {self.version}"


class Edition(models.Model):
    """One edit of the book, all or nothing.  Rows are never changed."""

    number = models.PositiveIntegerField(primary_key=True)
    kind = models.CharField(max_length=8, choices=EditionKind, default=EditionKind.EDIT)
    back_to = models.PositiveIntegerField(null=True, help_text="the edition whose state was put back")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    reason = models.TextField()
    at = models.DateTimeField(default=timezone.now)
    changes = models.JSONField(help_text="[kind, name, field, was, now] each; was and now null where nothing is said")

    class Meta:
        ordering: ClassVar = ["-number"]

    def __str__(self) -> str:
        return f"edition {self.number}"


class Entry(models.Model):
    """What one edition says of one tenant, cohort, class or price.  Never changed but for ``newest``."""

    edition = models.ForeignKey(Edition, on_delete=models.PROTECT, related_name="entries")
    kind = models.CharField(max_length=8, choices=EntryKind)
    name = models.CharField(max_length=253)
    newest = models.BooleanField(default=True)
    removed = models.BooleanField(default=False)
    document = models.JSONField(default=dict)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["kind", "name", "edition"], name="entry_once_an_edition"),
            models.UniqueConstraint(fields=["kind", "name"], condition=Q(newest=True), name="entry_one_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} at {self.edition_id}"


class UsageFeed(models.Model):
    """What one source said last, and the hour that runs; rows of ``TenantHour`` come when it is over.

    ``source`` is the number of a source of the inventory and no foreign key: what was used stays when a source goes.
    """

    source = models.PositiveBigIntegerField(primary_key=True)
    name = models.CharField(max_length=253)
    at = models.DateTimeField(help_text="of the newest measured reading")
    period_s = models.PositiveIntegerField(default=60)
    rows = models.JSONField(default=list, help_text="[cluster, tenant or team, model, hp, lp, pending] each, GPU milli")
    spaces = models.JSONField(default=list, help_text="rows before teams are told apart, namespace after tenant")
    theirs = models.JSONField(default=list, help_text="quotas that the source brings, as plain tenant records")
    hour = models.DateTimeField(null=True, help_text="start of the hour that runs")
    covered_ms = models.PositiveIntegerField(default=0, help_text="of that hour")
    sums = models.JSONField(default=list, help_text="[cluster, tenant, model, hp, lp, borrowed, lent, pending] each")

    def __str__(self) -> str:
        return f"use of {self.name}"


class UsageSpan(models.Model):
    """How much of one hour (or day) of one source is known; what is missing is a gap."""

    source = models.PositiveBigIntegerField()
    began_at = models.DateTimeField()
    hours = models.PositiveSmallIntegerField(default=1)
    covered_ms = models.PositiveIntegerField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["source", "began_at"], name="usage_span_once")]
        indexes: ClassVar = [models.Index(fields=["began_at"], name="usage_span_began")]

    def __str__(self) -> str:
        return f"{self.source} {self.began_at:%F %H}"


class TenantHour(models.Model):
    """GPU time of one tenant on one model in one hour (or, later, one day) of UTC, summed as readings came in.

    Whole GPU-microseconds (GPU milli times milliseconds), so that sums are exact in whatever order they are taken.
    """

    source = models.PositiveBigIntegerField()
    began_at = models.DateTimeField()
    hours = models.PositiveSmallIntegerField(default=1)
    cluster = models.CharField(max_length=253)
    tenant = models.CharField(max_length=253, blank=True, help_text="empty where nobody says whose it is")
    gpu_model = models.CharField(max_length=253, blank=True, help_text="empty where a waiting pod takes several")
    hp_us = models.BigIntegerField(default=0)
    lp_us = models.BigIntegerField(default=0)
    borrowed_us = models.BigIntegerField(default=0, help_text="of hp_us, above the guarantee")
    lent_us = models.BigIntegerField(default=0, help_text="of the guarantee, used by others")
    pending_us = models.BigIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["source", "began_at", "cluster", "tenant", "gpu_model"], name="tenant_hour_once"
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "began_at"], name="tenant_hour_of_tenant"),
            models.Index(fields=["began_at"], name="tenant_hour_began"),
        ]

    def __str__(self) -> str:
        return f"{self.tenant} {self.gpu_model} {self.began_at:%F %H}"
