"""What was observed, when, and what was measured in it.  Pods and nodes live in snapshots, not in rows."""

from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from console.inventory.choices import (
    ACTING,
    LENDING,
    RELEASE_AHEAD,
    RELEASE_ON,
    RELEASE_OVER,
    LockShare,
    ReleaseState,
    SourceKind,
    SourceState,
    UploadKind,
    UploadState,
)


class Source(models.Model):
    """Something that can be observed: a cluster manager, a file, a simulated cluster."""

    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=16, choices=SourceKind)
    config = models.JSONField(default=dict)
    period_s = models.PositiveIntegerField(default=10, help_text="seconds between two readings")
    version = models.CharField(max_length=100, blank=True, help_text="the connector's token of what was read last")
    state = models.CharField(max_length=16, choices=SourceState, default=SourceState.WAITING)
    last_error = models.TextField(blank=True)
    last_error_at = models.DateTimeField(null=True)
    last_observed_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0, help_text="in a row; each doubles the wait")
    next_due_at = models.DateTimeField(auto_now_add=True)
    claim = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def acts(self) -> bool:
        """Plans can be run on it."""
        return self.kind in ACTING

    @property
    def lends(self) -> bool:
        """Standby can be acted on, and leases can be started there; elsewhere both are only observed."""
        return self.kind in LENDING


class WatchProcess(models.Model):
    """A living process that follows clusters.  One that has not been seen for a while is dead."""

    name = models.CharField(max_length=150, primary_key=True, help_text="host, process id and a token")
    began_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Watch(models.Model):
    """Who follows a source, until when, and how it fares there.

    ``holder`` may write readings of the source while ``expires_at`` lies ahead; whoever comes later takes over.
    """

    source = models.OneToOneField(Source, on_delete=models.CASCADE, primary_key=True, related_name="watch")
    holder = models.CharField(max_length=150, blank=True)
    held_since = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    health = models.JSONField(null=True, help_text="connectors.kubernetes.health.Health, as last told")
    health_at = models.DateTimeField(null=True)
    telemetry = models.JSONField(null=True, help_text="connectors.sampling.Sampler.told, as last told; of health_at")

    def __str__(self) -> str:
        return f"{self.source_id} by {self.holder or 'nobody'}"


class Counter(models.Model):
    """The one row whose lock puts observations of all sources into one order."""

    name = models.CharField(max_length=16, primary_key=True)
    value = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.name} {self.value}"


class Blob(models.Model):
    """A packed snapshot under its digest."""

    digest = models.CharField(max_length=64, primary_key=True)
    content = models.BinaryField()
    stored_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.digest


class Layout(models.Model):
    """The places of one source's nodes on the map; changes only when nodes come, go or are relabelled."""

    digest = models.CharField(max_length=64, primary_key=True)
    groups = models.JSONField(help_text="cluster -> model -> ASW runs, in cell order")
    names = models.BinaryField(help_text="node names in cell order, one a line, compressed")
    nodes = models.PositiveIntegerField()

    def __str__(self) -> str:
        return self.digest


class FleetLayout(models.Model):
    """The layouts of all sources side by side, as one thing with a digest."""

    digest = models.CharField(max_length=64, primary_key=True)
    members = models.JSONField(help_text="[source name, layout digest], in the order of sources")

    def __str__(self) -> str:
        return self.digest


class Unheld(models.Model):
    """What readings could not hold, under the digest of all of it: most readings of a cluster share one list."""

    digest = models.CharField(max_length=64, primary_key=True)
    total = models.PositiveIntegerField()
    groups = models.JSONField(help_text="[what, done, kind, how many], most frequent first")
    rows = models.BinaryField(help_text="the first of them object by object, compressed JSON")
    kept = models.PositiveIntegerField(help_text="how many are among the rows")
    stored_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.total} not held ({self.digest[:12]})"


class Observation(models.Model):
    """One reading of one source.  Revisions ascend over all sources and in commit order."""

    revision = models.BigIntegerField(primary_key=True)
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="observations")
    digest = models.CharField(max_length=64, db_index=True)
    taken_at = models.DateTimeField(help_text="as the source says")
    begun_at = models.DateTimeField(help_text="as our clock says, when it was first made; stays")
    observed_at = models.DateTimeField(help_text="as our clock says; moved on while the source reports the same")
    counts = models.JSONField(default=dict, help_text="nodes, pods, gpus, clusters, orphans")
    changed = models.PositiveIntegerField(null=True, help_text="cells that differ from the reading before")
    warnings = models.JSONField(default=list)
    unheld = models.ForeignKey(Unheld, on_delete=models.PROTECT, null=True, related_name="+")
    layout = models.ForeignKey(Layout, on_delete=models.PROTECT, null=True, related_name="+")
    fleet_layout = models.ForeignKey(FleetLayout, on_delete=models.PROTECT, null=True, related_name="+")
    fleet = models.JSONField(default=list, help_text="[source, revision] of all sources as this one found them")
    columns = models.BinaryField(null=True, help_text="one byte per stored column and cell, compressed")
    gpu_states = models.BinaryField(null=True, help_text="one byte per GPU in cell order, compressed")

    class Meta:
        ordering: ClassVar = ["-revision"]
        indexes: ClassVar = [
            models.Index(fields=["source", "-revision"], name="newest_of_source"),
            models.Index(fields=["source", "-begun_at"], name="reading_of_instant"),
        ]

    def __str__(self) -> str:
        return f"revision {self.revision} of {self.source_id}"


class Measurement(models.Model):
    """The fragmentation report of one observation."""

    observation = models.OneToOneField(Observation, on_delete=models.CASCADE, related_name="measurement")
    measured_at = models.DateTimeField(auto_now_add=True)
    seconds = models.FloatField(help_text="that measuring took")
    headline = models.JSONField(help_text="totals of the source")
    report = models.BinaryField(help_text="pools, shapes, causes, fits, without its rows per node; compressed JSON")

    def __str__(self) -> str:
        return f"measurement of {self.observation_id}"


class Comparison(models.Model):
    """What changed between two snapshots, worked out once by a worker; the same pair has the same answer for ever."""

    key = models.CharField(max_length=64, primary_key=True, help_text="digest of the two digests")
    then_digest = models.CharField(max_length=64)
    now_digest = models.CharField(max_length=64)
    asked_at = models.DateTimeField(help_text="when a worker was last asked; asked again where none answers")
    failure = models.TextField(blank=True, help_text="why there will be no answer")
    ledger = models.BinaryField(null=True, help_text="pools, causes and tenants: compressed JSON")
    columns = models.BinaryField(null=True, help_text="changes of each node in cell order, compressed")

    def __str__(self) -> str:
        return f"{self.then_digest[:12]} to {self.now_digest[:12]}"


class UsageSlot(models.Model):
    """GPU-seconds of one source within one slot of UTC, summed as readings come in."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="usage")
    began_at = models.DateTimeField(help_text="start of the slot, a multiple of its length in UTC")
    covered_s = models.FloatField(default=0, help_text="seconds of the slot of which something is known")
    allocated_gpu_s = models.FloatField(default=0)
    asleep_gpu_s = models.FloatField(default=0)
    lent_gpu_s = models.FloatField(default=0)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["source", "began_at"], name="usage_slot_once")]

    def __str__(self) -> str:
        return f"{self.source_id} {self.began_at:%F %T}"


class IdleSlot(models.Model):
    """GPU-seconds that one workload held within one hour of UTC, and in how many of them its devices did nothing.

    allocated >= observed >= idle: observed is what a device is known to be held for while its use is known.  ``rest``
    sums up workloads that found no row of their own.
    """

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="idling")
    began_at = models.DateTimeField(help_text="start of the hour")
    cluster = models.CharField(max_length=253)
    tenant = models.CharField(max_length=253, blank=True, help_text="empty where nobody says whose it is")
    namespace = models.CharField(max_length=253, blank=True)
    workload = models.CharField(max_length=300, blank=True, help_text="empty for pods that nothing made")
    rest = models.BooleanField(default=False)
    allocated_gpu_s = models.FloatField(default=0)
    observed_gpu_s = models.FloatField(default=0)
    idle_gpu_s = models.FloatField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["source", "began_at", "cluster", "tenant", "namespace", "workload", "rest"],
                name="idle_slot_once",
            )
        ]
        indexes: ClassVar = [models.Index(fields=["began_at", "tenant"], name="idle_of_tenant")]

    def __str__(self) -> str:
        return f"{self.source_id} {self.began_at:%F %H} {self.namespace}/{self.workload}"


class OwnerLock(models.Model):
    """What the owner of a workload keeps locked, as of the newest measured reading of its source.

    A row whose ``share`` is no workload sums up nodes that several workloads lock together, or workloads that found no
    row of their own.
    """

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="owner_locks")
    cluster = models.CharField(max_length=253)
    tenant = models.CharField(max_length=253, blank=True, help_text="empty where nobody says whose it is")
    namespace = models.CharField(max_length=253, blank=True)
    workload = models.CharField(max_length=300, blank=True, help_text="empty for pods that nothing made")
    share = models.CharField(max_length=10, choices=LockShare)
    pods = models.PositiveIntegerField(default=0)
    held_milli = models.BigIntegerField(default=0, help_text="GPU thousandths that its locked pods hold")
    kept_nodes = models.PositiveIntegerField(default=0, help_text="partly used nodes that only these locks keep")
    kept_gpus = models.PositiveIntegerField(default=0, help_text="GPUs of these nodes")
    stranded_gpus = models.PositiveIntegerField(default=0, help_text="of them free")
    locked_by = models.JSONField(default=list)
    reasons = models.JSONField(default=list)
    since = models.DateTimeField(help_text="of the first reading in which it was locked")
    since_known = models.BooleanField(help_text="no: it was so in the first reading already")
    until = models.DateTimeField(null=True, help_text="the last end that its pods name")
    open_ended = models.BooleanField(default=False, help_text="some of its pods name no end")
    ended_at = models.DateTimeField(null=True, help_text="of the first reading without such a lock")
    revision = models.BigIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["source", "cluster", "tenant", "namespace", "workload", "share"], name="owner_lock_once"
            )
        ]
        indexes: ClassVar = [models.Index(fields=["tenant"], name="owner_lock_of_tenant")]

    def __str__(self) -> str:
        return f"{self.cluster} {self.namespace}/{self.workload} of {self.tenant}"


class LockSlot(models.Model):
    """GPU-seconds that locks kept free GPUs apart within one hour of UTC, and that locked pods held."""

    lock = models.ForeignKey(OwnerLock, on_delete=models.CASCADE, related_name="slots")
    began_at = models.DateTimeField(help_text="start of the hour")
    stranded_gpu_s = models.FloatField(default=0)
    held_gpu_s = models.FloatField(default=0)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["lock", "began_at"], name="lock_slot_once")]
        indexes: ClassVar = [models.Index(fields=["began_at"], name="lock_slot_of_hour")]

    def __str__(self) -> str:
        return f"{self.lock_id} {self.began_at:%F %H}"


class LockRelease(models.Model):
    """Somebody asks the tenant of a locked workload to let it be moved from ... until ...; and the answer."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="releases")
    cluster = models.CharField(max_length=253)
    tenant = models.CharField(max_length=253)
    namespace = models.CharField(max_length=253)
    workload = models.CharField(max_length=300, blank=True)
    begins_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    why = models.TextField()
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(default=timezone.now)
    state = models.CharField(max_length=10, choices=ReleaseState, default=ReleaseState.ASKED)
    answer = models.TextField(blank=True, help_text="in the words of who answered, withdrew or took back")
    answered_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    answered_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(ends_at__gt=F("begins_at")), name="release_ends_after_it_begins"),
            models.UniqueConstraint(
                fields=["source", "cluster", "tenant", "namespace", "workload"],
                condition=Q(state=ReleaseState.ASKED),
                name="release_asked_once",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["state", "ends_at"], name="release_open")]

    def __str__(self) -> str:
        return f"release of {self.key} until {self.ends_at:%F %R}"

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.workload}"

    def state_at(self, now: datetime) -> str:
        """For people: a yes counts only within its window."""
        if self.state == ReleaseState.ASKED and self.ends_at <= now:
            return ReleaseState.EXPIRED.value
        if self.state != ReleaseState.GRANTED:
            return self.state
        return RELEASE_AHEAD if now < self.begins_at else RELEASE_ON if now < self.ends_at else RELEASE_OVER

    @property
    def shown_state(self) -> str:
        return self.state_at(timezone.now())


class Upload(models.Model):
    """Files that somebody gave us and what became of them.  Of a refused one only the refusal stays."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=16, choices=UploadKind)
    name = models.CharField(max_length=100)
    files = models.JSONField(default=dict, help_text="role -> [file name, digest]")
    params = models.JSONField(default=dict)
    state = models.CharField(max_length=16, choices=UploadState, default=UploadState.WAITING)
    refusal = models.JSONField(null=True, help_text="path, value, reason")
    report = models.JSONField(null=True, help_text="counts, warnings, unknown fields")
    source = models.ForeignKey(Source, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name} ({self.state})"
