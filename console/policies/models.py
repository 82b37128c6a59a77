"""What was decided for which place: every version of it, the newest marked; and when plans may run there."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from console.policies.choices import Place, Scope, WindowKind

NAMES_OF_SCOPE = (
    Q(scope=Scope.FLEET, cluster="", gpu_model="", tenant="")
    | Q(scope=Scope.CLUSTER, gpu_model="", tenant="") & ~Q(cluster="")
    | Q(scope=Scope.POOL, tenant="") & ~Q(cluster="") & ~Q(gpu_model="")
    | Q(scope=Scope.TENANT, cluster="", gpu_model="") & ~Q(tenant="")
)


class Setting(models.Model):
    """One version of one setting at one place.  Rows are never changed but for ``newest``, so that history stays."""

    scope = models.CharField(max_length=10, choices=Scope.choices)
    cluster = models.CharField(max_length=253, blank=True, default="")
    gpu_model = models.CharField(max_length=253, blank=True, default="")
    tenant = models.CharField(max_length=253, blank=True, default="")
    name = models.CharField(max_length=40)
    version = models.PositiveIntegerField()  # from 1, of this setting at this place
    newest = models.BooleanField(default=True)
    cleared = models.BooleanField(default=False)  # from here on the place says nothing
    value = models.BigIntegerField(null=True)  # None: no limit
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=NAMES_OF_SCOPE, name="setting_scope_says_what"),
            models.UniqueConstraint(
                fields=["scope", "cluster", "gpu_model", "tenant", "name", "version"], name="setting_one_per_version"
            ),
            models.UniqueConstraint(
                fields=["scope", "cluster", "gpu_model", "tenant", "name"],
                condition=Q(newest=True),
                name="setting_one_newest",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.place.words}, version {self.version}"

    @property
    def place(self) -> Place:
        return Place(Scope(self.scope), self.cluster, self.gpu_model, self.tenant)


class Window(models.Model):
    """A recurring time inside which alone plans may run (maintenance), or in which nothing runs (blackout)."""

    kind = models.CharField(max_length=12, choices=WindowKind.choices)
    scope = models.CharField(max_length=10, choices=Scope.choices)
    cluster = models.CharField(max_length=253, blank=True, default="")
    gpu_model = models.CharField(max_length=253, blank=True, default="")
    tenant = models.CharField(max_length=253, blank=True, default="")
    cron = models.CharField(max_length=100)
    minutes = models.PositiveIntegerField()
    zone = models.CharField(max_length=64, default="UTC")  # IANA
    skip_days = models.JSONField(default=list)  # ISO dates on the clock of the zone
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    since = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=NAMES_OF_SCOPE, name="window_scope_says_what"),
            models.CheckConstraint(condition=Q(kind__in=WindowKind.values), name="window_kind_is_known"),
        ]
        indexes: ClassVar = [models.Index(fields=["ended_at"], name="policies_window_ended")]

    def __str__(self) -> str:
        return f"{self.kind} window of {self.place.words}"

    @property
    def place(self) -> Place:
        return Place(Scope(self.scope), self.cluster, self.gpu_model, self.tenant)
