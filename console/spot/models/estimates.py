"""What somebody was told before asking: kept with the ask, so that it can be held to what came."""

from typing import ClassVar

from django.conf import settings
from django.db import models

from console.spot.choices import EstimateState
from console.spot.models.leases import Lease


class Estimate(models.Model):
    """A question with its answer, of one reading; ``lease`` is the ask that was made on it."""

    source = models.ForeignKey("inventory.Source", on_delete=models.CASCADE, related_name="+")
    cluster = models.CharField(max_length=253)
    tenant = models.CharField(max_length=253)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    asked = models.JSONField()  # the fields of a lease, as plain values (services.asking.ASKED)
    lease = models.OneToOneField(Lease, on_delete=models.CASCADE, null=True, related_name="estimate")
    state = models.CharField(max_length=8, choices=EstimateState.choices, default=EstimateState.ASKED)
    revision = models.BigIntegerField(null=True)
    observed_at = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    answer = models.JSONField(null=True)  # docs/spot.md, "Estimate"
    failure = models.TextField(blank=True, default="")

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [models.Index(fields=["asked_by", "-id"], name="estimate_by_person")]

    def __str__(self) -> str:
        return f"estimate {self.pk}: {self.state}"
