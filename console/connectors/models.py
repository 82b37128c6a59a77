"""Rows that wires keep: documents given to us, and the durable state of simulated clusters."""

import uuid
from typing import ClassVar

from django.db import models

from console.connectors.choices import OperationState, Purpose


class StoredDocument(models.Model):
    """A file as somebody gave it to us, compressed; found by the sha256 of its bytes."""

    digest = models.CharField(max_length=64, primary_key=True)
    purpose = models.CharField(max_length=8, choices=Purpose)
    content = models.BinaryField()
    size = models.PositiveBigIntegerField(help_text="bytes before compression")
    stored_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.digest


class Credential(models.Model):
    """What opens a cluster, encrypted.  Rows that use it keep its name alone, so that no list of them tells it."""

    name = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    sealed = models.TextField()
    kept_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return str(self.name)


class SimulatedCluster(models.Model):
    """A world that lives on: a base document and the journal of what has changed since.

    State at ``position`` = base + journal rows (base_position, position].  ``head`` is the token of the last row, so
    that a process can tell whether the state it remembers is still part of this history.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=253)
    seed = models.BigIntegerField()
    tide = models.JSONField(default=dict, help_text="rates by which the world changes; see connectors.tide.Tide")
    base = models.ForeignKey(StoredDocument, on_delete=models.PROTECT)
    former_base = models.ForeignKey(StoredDocument, null=True, on_delete=models.PROTECT, related_name="+")
    base_position = models.PositiveBigIntegerField(default=0)
    base_agenda = models.JSONField(default=list, help_text="changes that were due later when the base was written")
    position = models.PositiveBigIntegerField(default=0)
    head = models.UUIDField(default=uuid.uuid4)
    clock_s = models.BigIntegerField(help_text="seconds on the world's own clock up to which it has been lived")
    began_s = models.BigIntegerField(help_text="the world's clock at began_at")
    began_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class JournalRow(models.Model):
    """What happened at one instant of a simulated cluster, as facts; never changed."""

    cluster = models.ForeignKey(SimulatedCluster, on_delete=models.CASCADE, related_name="journal")
    seq = models.PositiveBigIntegerField()
    token = models.UUIDField(default=uuid.uuid4)
    at_s = models.BigIntegerField()
    cause = models.CharField(max_length=80, help_text="tide, or the key of the operation")
    changes = models.JSONField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["cluster", "seq"], name="journal_row_once")]

    def __str__(self) -> str:
        return f"{self.cluster_id} #{self.seq}"


class SimulatedOperation(models.Model):
    """One operation asked of a simulated cluster; its key makes it happen once."""

    cluster = models.ForeignKey(SimulatedCluster, on_delete=models.CASCADE, related_name="operations")
    key = models.CharField(max_length=200)
    operation = models.JSONField()
    state = models.CharField(max_length=16, choices=OperationState, default=OperationState.RUNNING)
    detail = models.TextField(blank=True)
    copy = models.JSONField(null=True, help_text="[cluster, namespace/name] of the copy that is starting up")
    course = models.JSONField(null=True, help_text="of a recall or an eviction: connectors.leaving.Course")
    ready_s = models.BigIntegerField(help_text="the world's clock when the copy is up, or is known to have failed")
    asked_s = models.BigIntegerField()
    ended_s = models.BigIntegerField(null=True)
    service = models.CharField(max_length=800, null=True, help_text='of the moved pod; "": none, null: nobody looked')
    served = models.PositiveBigIntegerField(null=True, help_text="requests while it moved; null: nobody counted")
    lost = models.PositiveBigIntegerField(null=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["cluster", "key"], name="simulated_operation_once")]
        indexes: ClassVar = [models.Index(fields=["cluster", "service"], name="simulated_operation_service")]

    def __str__(self) -> str:
        return self.key
