"""HP demand as it was seen hour by hour, what was forecast of it, and the spot quotas that follow."""

from typing import ClassVar

from django.db import models


class HourWatched(models.Model):
    """In which minutes of one hour of UTC all sources were read lately; an hour with few of them is not known."""

    began_at = models.DateTimeField(primary_key=True)
    minutes = models.BigIntegerField(default=0, help_text="one bit for each of its 60 minutes")
    simulated = models.BooleanField(default=False, help_text="a demo's past, drawn and not seen")

    class Meta:
        ordering: ClassVar = ["began_at"]

    def __str__(self) -> str:
        return f"{self.began_at:%F %H} h, {self.known_minutes} min"

    @property
    def known_minutes(self) -> int:
        return self.minutes.bit_count()


class HourPeak(models.Model):
    """HP GPUs of one tenant on one model over all sources; no row in a watched hour: it held none."""

    began_at = models.DateTimeField()
    tenant = models.CharField(max_length=253, blank=True, help_text="empty where nobody says whose it is")
    gpu_model = models.CharField(max_length=253)
    peak_milli = models.PositiveBigIntegerField(help_text="the most at once, GPU milli")
    closing_milli = models.PositiveBigIntegerField(help_text="when it was last looked at in that hour")

    class Meta:
        ordering: ClassVar = ["began_at", "gpu_model", "tenant"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["began_at", "tenant", "gpu_model"], name="hour_peak_once")
        ]

    def __str__(self) -> str:
        return f"{self.tenant} {self.gpu_model} {self.began_at:%F %H}"


class ForecastRun(models.Model):
    """Made from all hours before ``base_at``: the first hour ahead begins there."""

    base_at = models.DateTimeField(unique=True)
    made_at = models.DateTimeField()
    history_h = models.PositiveIntegerField()
    simulated_h = models.PositiveIntegerField(default=0, help_text="of these, a demo's drawn past")

    class Meta:
        ordering: ClassVar = ["-base_at"]

    def __str__(self) -> str:
        return f"forecast from {self.base_at:%F %H}"


class Forecast(models.Model):
    """By one forecaster, of one tenant on one model, or of a model's pool.  Lists: one number for each hour ahead."""

    run = models.ForeignKey(ForecastRun, on_delete=models.CASCADE, related_name="rows")
    forecaster = models.CharField(max_length=20)
    gpu_model = models.CharField(max_length=253)
    pool = models.BooleanField(help_text="the sum over all tenants")
    tenant = models.CharField(max_length=253, blank=True)
    why = models.CharField(max_length=200, blank=True, help_text="why nothing is known; then all lists are empty")
    mean_milli = models.JSONField(default=list)
    deviation_milli = models.JSONField(default=list)
    low_milli = models.JSONField(default=list, help_text="0.1 quantile")
    median_milli = models.JSONField(default=list)
    high_milli = models.JSONField(default=list, help_text="the quantile that is reserved")

    class Meta:
        ordering: ClassVar = ["gpu_model", "-pool", "tenant", "forecaster"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["run", "forecaster", "gpu_model", "pool", "tenant"], name="forecast_once_a_run"
            )
        ]

    def __str__(self) -> str:
        return f"{self.forecaster} of {self.tenant or 'all'} {self.gpu_model}"


class BacktestRun(models.Model):
    """How well each forecaster would have done over the last days; ``why`` where nothing could be judged."""

    made_at = models.DateTimeField()
    until_at = models.DateTimeField(help_text="the last hour that was judged ends here")
    document = models.JSONField(default=dict)
    why = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering: ClassVar = ["-made_at", "-id"]

    def __str__(self) -> str:
        return f"back-test to {self.until_at:%F %H}"


class SpotQuota(models.Model):
    """How many GPUs of one model spot work may hold from ``at`` on; rows are added, never changed."""

    at = models.DateTimeField()
    gpu_model = models.CharField(max_length=253)
    level = models.FloatField(help_text="share of hours in which HP demand is within the reserve")
    capacity_milli = models.PositiveBigIntegerField()
    reserved_milli = models.PositiveBigIntegerField(null=True)
    quota_milli = models.PositiveBigIntegerField(null=True)
    eta = models.FloatField()
    moved_by = models.FloatField(default=1.0, help_text="factor on eta before")
    evicted = models.PositiveIntegerField(help_text="runs of the window that others ended")
    ended = models.PositiveIntegerField(help_text="runs of the window that ended at all")
    oldest_wait_s = models.PositiveIntegerField(null=True, help_text="null where nobody waits")
    why = models.CharField(max_length=200, help_text="what moved eta")
    unknown = models.CharField(max_length=200, blank=True, help_text="why there is no quota")

    class Meta:
        ordering: ClassVar = ["-at", "gpu_model"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["gpu_model", "at"], name="spot_quota_once")]

    def __str__(self) -> str:
        return f"{self.gpu_model} from {self.at:%F %H:%M}"
