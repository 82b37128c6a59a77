"""What keeps every plan of a scope still."""

from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from console.plans.choices import FreezeScope


class Freeze(models.Model):
    """Nothing acts inside this scope until it is lifted or runs out."""

    scope = models.CharField(max_length=10, choices=FreezeScope.choices)
    cluster = models.CharField(max_length=253, blank=True, default="")
    gpu_model = models.CharField(max_length=253, blank=True, default="")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    since = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    lifted_at = models.DateTimeField(null=True)
    lifted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    end_told = models.BooleanField(default=False)  # open pages have heard that it ran out

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(scope=FreezeScope.FLEET, cluster="", gpu_model="")
                | Q(scope=FreezeScope.CLUSTER, gpu_model="") & ~Q(cluster="")
                | Q(scope=FreezeScope.POOL) & ~Q(cluster="") & ~Q(gpu_model=""),
                name="freeze_scope_says_what",
            ),
            models.CheckConstraint(condition=Q(expires_at__gt=F("since")), name="freeze_ends_after_it_begins"),
        ]
        indexes: ClassVar = [models.Index(fields=["lifted_at", "expires_at"])]

    def __str__(self) -> str:
        return f"Frozen: {self.where}"

    @property
    def where(self) -> str:
        if self.scope == FreezeScope.FLEET:
            return "the whole fleet"
        return self.cluster if self.scope == FreezeScope.CLUSTER else f"{self.gpu_model} in {self.cluster}"

    def is_on(self, now: datetime) -> bool:
        return self.lifted_at is None and self.expires_at > now
