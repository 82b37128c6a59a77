"""What estimates are made from and held to: what spot work could have held, and what was told beside what came."""

from typing import ClassVar

from django.db import models

from console.spot.models.estimates import Estimate


class SupplySample(models.Model):
    """GPUs of one model in one cluster that high-priority work did not use, in the first reading of a quarter hour."""

    source = models.ForeignKey("inventory.Source", on_delete=models.CASCADE, related_name="+")
    cluster = models.CharField(max_length=253)
    gpu_model = models.CharField(max_length=253)
    at = models.DateTimeField()  # start of the quarter hour
    gpus = models.PositiveIntegerField()  # of the model there
    supply_gpus = models.PositiveIntegerField()  # free, lent, lendable, or held by spot work
    asleep_gpus = models.PositiveIntegerField()  # of these, of sleepers that nobody borrows from
    simulated = models.BooleanField(default=False)  # a demo's past, drawn and not seen

    class Meta:
        ordering: ClassVar = ["source", "cluster", "gpu_model", "at"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "cluster", "gpu_model", "at"], name="supply_once_a_slot")
        ]
        indexes: ClassVar = [models.Index(fields=["at"], name="supply_by_time")]

    def __str__(self) -> str:
        return f"{self.supply_gpus} of {self.gpus} {self.gpu_model} at {self.at:%Y-%m-%d %H:%M}"


class ScoredChance(models.Model):
    """A chance that was told for an ask, when its time is over; never changed."""

    estimate = models.ForeignKey(Estimate, on_delete=models.CASCADE, related_name="scores")
    horizon_s = models.PositiveIntegerField()
    asked_at = models.DateTimeField()
    said = models.FloatField(null=True)  # None: nothing was told
    raw = models.FloatField(null=True)  # as drawn, before what was learnt was put to use
    started = models.BooleanField(null=True)  # within the time; None: it does not count, for it was withdrawn before

    class Meta:
        ordering: ClassVar = ["asked_at", "id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["estimate", "horizon_s"], name="chance_scored_once")]
        indexes: ClassVar = [models.Index(fields=["horizon_s", "asked_at"], name="chance_by_time")]

    def __str__(self) -> str:
        return f"estimate {self.estimate_id} within {self.horizon_s} s: {self.started}"
