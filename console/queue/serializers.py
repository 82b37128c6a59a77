"""The API's rows: the same dataclasses that the pages show, field by field."""

from typing import Any

from rest_framework import serializers

from console.inventory.serializers import rows_of
from console.queue.selectors import InquiryRow, JobCard, JobStart, QueueRow, QueueTotals, RunningRow

JobCardSerializer = rows_of(JobCard)
InquirySerializer = rows_of(InquiryRow)
StartSerializer = rows_of(JobStart)
QueueRowSerializer = rows_of(QueueRow)
RunningRowSerializer = rows_of(RunningRow)
QueueTotalsSerializer = rows_of(QueueTotals)


class _PageSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    start = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)


class QueuePageSerializer(_PageSerializer):
    """Jobs that wait.  ``observed_at``: when the oldest of the readings that are explained was begun."""

    observed_at = serializers.DateTimeField(allow_null=True)
    results = QueueRowSerializer(many=True)


class RunningPageSerializer(_PageSerializer):
    """Gangs that run."""

    observed_at = serializers.DateTimeField(allow_null=True)
    results = RunningRowSerializer(many=True)


class TotalsSerializer(serializers.Serializer[Any]):
    """``seen``: of the jobs that are yours to see by name.  ``others``: of all others; null for who sees all."""

    observed_at = serializers.DateTimeField(allow_null=True)
    seen = QueueTotalsSerializer()
    others = QueueTotalsSerializer(allow_null=True)
