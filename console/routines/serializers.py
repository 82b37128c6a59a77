"""Routines as JSON."""

from typing import Any

from rest_framework import serializers

from console.routines import selectors
from console.routines.choices import TRIGGER_RANGES, Kind


class RunSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    local = serializers.CharField(help_text="on the clock of its zone")
    skipped = serializers.BooleanField()


class RoutineSerializer(serializers.Serializer[Any]):
    """A question that is asked again and again."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=Kind.choices)
    state = serializers.CharField(help_text="active, paused or ended")
    owner = serializers.CharField(source="owner.username")
    reason = serializers.CharField()
    source = serializers.IntegerField(source="source_id")  # type: ignore[assignment]
    cluster = serializers.CharField()
    models = serializers.JSONField(source="models_in_scope")
    params = serializers.JSONField()
    goal = serializers.JSONField(allow_null=True)
    seed = serializers.IntegerField()
    question = serializers.CharField()
    when = serializers.SerializerMethodField()
    cron = serializers.CharField()
    zone = serializers.CharField()
    skip_days = serializers.JSONField()
    threshold = serializers.JSONField(help_text="of a trigger")
    waiting = serializers.JSONField(help_text="of a trigger: what holds, and since when")
    next_at = serializers.DateTimeField(allow_null=True, help_text="of a trigger: not before")
    next_runs = serializers.SerializerMethodField()
    since = serializers.DateTimeField()
    paused_at = serializers.DateTimeField(allow_null=True)
    pause_reason = serializers.CharField()
    ended_at = serializers.DateTimeField(allow_null=True)
    last_plan = serializers.IntegerField(allow_null=True)

    def get_when(self, row: Any) -> str:
        return selectors.when_words(row)

    def get_next_runs(self, row: Any) -> list[dict[str, Any]]:
        return list(RunSerializer(selectors.next_runs(row), many=True).data)


class OpeningSerializer(serializers.Serializer[Any]):
    """One time that a routine was due."""

    due_at = serializers.DateTimeField()
    at = serializers.DateTimeField()
    outcome = serializers.CharField()
    plan = serializers.IntegerField(source="plan_id", allow_null=True)
    words = serializers.CharField()


class ThresholdSerializer(serializers.Serializer[Any]):
    least_nodes = serializers.IntegerField(
        required=False, min_value=TRIGGER_RANGES["least_nodes"][0], max_value=TRIGGER_RANGES["least_nodes"][1]
    )
    below_per_cent = serializers.IntegerField(required=False, min_value=1, max_value=100)
    minutes = serializers.IntegerField(
        required=False, min_value=TRIGGER_RANGES["minutes"][0], max_value=TRIGGER_RANGES["minutes"][1]
    )
    hold_off_minutes = serializers.IntegerField(
        required=False, min_value=TRIGGER_RANGES["hold_off_minutes"][0], max_value=TRIGGER_RANGES["hold_off_minutes"][1]
    )


class MakeSerializer(serializers.Serializer[Any]):
    """``plan``: whose question is asked again and again."""

    name = serializers.CharField(max_length=100)
    kind = serializers.ChoiceField(choices=Kind.choices, default=Kind.SCHEDULE)
    plan = serializers.IntegerField(min_value=1, max_value=2**53 - 1)
    reason = serializers.CharField(max_length=2000)
    cron = serializers.CharField(max_length=100, default="", allow_blank=True)
    zone = serializers.CharField(max_length=64, default="UTC")
    skip_days = serializers.ListField(child=serializers.CharField(max_length=20), default=list, max_length=366)
    threshold = ThresholdSerializer(required=False, help_text="of a trigger; what is not said is as usual")

    def asked(self) -> dict[str, Any]:
        said = {name: value for name, value in self.validated_data.items() if name != "plan"}
        return {**said, "plan_id": self.validated_data["plan"], "threshold": dict(said.get("threshold") or {})}


class StoppingSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2000, default="", allow_blank=True)


class SkipSerializer(StoppingSerializer):
    days = serializers.ListField(child=serializers.CharField(max_length=20), max_length=366)
