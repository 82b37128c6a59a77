"""Scorecards and turns as JSON."""

from typing import Any, ClassVar

from rest_framework import serializers

from console.automation.choices import Standing
from console.automation.models import PoolTurn


class PoolAskedSerializer(serializers.Serializer[Any]):
    """Which pools: all, or those of a cluster or of a GPU model."""

    cluster = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)
    gpu_model = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)


class FiguresSerializer(serializers.Serializer[Any]):
    """Sums over the runs that count; null is not known, and what is not known never counts as good."""

    runs = serializers.IntegerField()
    by_policy = serializers.IntegerField(help_text="runs that were started automatically")
    whole = serializers.IntegerField(help_text="runs that people approved, whole, and all of it known")
    moves = serializers.IntegerField()
    as_predicted = serializers.IntegerField(help_text="ended well and in time")
    late = serializers.IntegerField()
    unknown = serializers.IntegerField(help_text="ended well, and nothing was expected or measured")
    failed = serializers.IntegerField()
    not_run = serializers.IntegerField()
    per_mille = serializers.IntegerField(allow_null=True, help_text="of moves with an expectation, as predicted")
    surprises = serializers.IntegerField(help_text="moves that were looked at and not sent")
    halts = serializers.IntegerField()
    refused = serializers.IntegerField(help_text="halts because the judge refused what was left")
    refused_before = serializers.IntegerField(help_text="approved plans that did not hold any more before they ran")
    aborts = serializers.IntegerField()
    expected_s = serializers.FloatField(allow_null=True, help_text="sum over moves of which both are known")
    took_s = serializers.FloatField(allow_null=True)
    expected_gpu_s = serializers.FloatField(allow_null=True)
    doubled_gpu_s = serializers.FloatField(allow_null=True)
    promised = serializers.IntegerField()
    kept = serializers.IntegerField()
    kept_per_cent = serializers.IntegerField(allow_null=True)
    promise_unknown = serializers.IntegerField(help_text="runs of which it is not known")
    followed = serializers.IntegerField(help_text="emptied nodes of which the day after is known")
    still_empty = serializers.IntegerField(help_text="of them, empty after a day")
    requests_asked = serializers.IntegerField(
        allow_null=True, help_text="of services of moved pods while these moved; null: no cluster counted them"
    )
    requests_lost = serializers.IntegerField(allow_null=True, help_text="of them, without an answer")
    requests_unknown = serializers.IntegerField(help_text="runs of which they are not known")


class CriterionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="the setting")
    have = serializers.IntegerField(allow_null=True)
    need = serializers.IntegerField()
    holds = serializers.BooleanField()
    words = serializers.CharField()


class TurnSerializer(serializers.ModelSerializer[PoolTurn]):
    """A pool has earned the level, lost it, or was given it back."""

    source = serializers.IntegerField(source="source_id", read_only=True)  # type: ignore[assignment]
    plan = serializers.IntegerField(source="plan_id", read_only=True, allow_null=True)
    by = serializers.CharField(source="by.username", read_only=True, default=None, allow_null=True)

    class Meta:
        model = PoolTurn
        fields: ClassVar = [
            "id", "source", "cluster", "gpu_model", "turn", "plan", "by", "reason", "figures", "happened_at", "at",
        ]  # fmt: skip
        read_only_fields = fields


class ScorecardSerializer(serializers.Serializer[Any]):
    """What the runs in one pool did, what is asked for the level "automatic", and how the pool stands."""

    source = serializers.IntegerField(source="pool.source_id")  # type: ignore[assignment]
    source_name = serializers.CharField(source="pool.source")
    cluster = serializers.CharField(source="pool.cluster")
    gpu_model = serializers.CharField(source="pool.gpu_model")
    level = serializers.CharField(source="level.words", help_text="what the policy allows there")
    level_origin = serializers.CharField(source="level.origin")
    allowed = serializers.BooleanField(help_text="the policy allows automatic there")
    standing = serializers.ChoiceField(choices=Standing.choices)
    automatic = serializers.BooleanField(help_text="allowed and earned")
    words = serializers.CharField()
    since = serializers.DateTimeField(help_text="runs count from then on")
    figures = FiguresSerializer()
    criteria = CriterionSerializer(many=True)
    newest = TurnSerializer(allow_null=True)


class GiveBackSerializer(serializers.Serializer[Any]):
    """``lost``: the newest loss, as it was read."""

    source = serializers.IntegerField(min_value=1, max_value=2**53 - 1)  # type: ignore[assignment]
    cluster = serializers.CharField(max_length=253)
    gpu_model = serializers.CharField(max_length=253)
    lost = serializers.IntegerField(min_value=1, max_value=2**53 - 1)
    reason = serializers.CharField(min_length=1, max_length=2000)
