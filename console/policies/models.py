"""What was decided for which place: every version of it, the newest marked."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from console.policies.choices import Place, Scope

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
