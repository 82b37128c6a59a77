"""Rotas, who is on call, and alerts as JSON."""

from typing import Any, ClassVar

from rest_framework import serializers

from console.oncall import selectors
from console.oncall.choices import RANGES, WEEKDAYS, Handover, Kind, MessageState, Scope
from console.oncall.models import Alert, Cover, Rota


class CoverSerializer(serializers.ModelSerializer[Cover]):
    """Somebody takes over for a time."""

    who = serializers.CharField(source="user.username", read_only=True)
    by = serializers.CharField(source="by.username", read_only=True)

    class Meta:
        model = Cover
        fields: ClassVar = ["id", "who", "begins_at", "ends_at", "by", "reason", "ended_at"]
        read_only_fields = fields


class RotaSerializer(serializers.ModelSerializer[Rota]):
    """Who is on call for a place, in their order; ``version`` is what a change must name."""

    people = serializers.SerializerMethodField()
    weekday = serializers.IntegerField(read_only=True, help_text="0 is Monday")
    overrides = CoverSerializer(source="covers", many=True, read_only=True)
    by = serializers.CharField(source="by.username", read_only=True)

    class Meta:
        model = Rota
        fields: ClassVar = [
            "id", "scope", "cluster", "people", "handover", "weekday", "at", "zone", *RANGES, "quiet_from",
            "quiet_until", "urgent", "overrides", "version", "by", "reason", "since", "ended_at",
        ]  # fmt: skip
        read_only_fields = fields

    def get_people(self, row: Rota) -> list[str]:
        return [one.user.get_username() for one in row.members.all()]


class _TermsSerializer(serializers.Serializer[Any]):
    people = serializers.ListField(child=serializers.CharField(max_length=150), max_length=30)
    handover = serializers.ChoiceField(choices=Handover.choices, required=False)
    weekday = serializers.IntegerField(required=False, min_value=0, max_value=len(WEEKDAYS) - 1)
    at = serializers.TimeField(required=False)
    zone = serializers.CharField(required=False, max_length=64)
    next_minutes = serializers.IntegerField(required=False, min_value=1, max_value=240)
    singles = serializers.IntegerField(required=False, min_value=1, max_value=20)
    last_minutes = serializers.IntegerField(required=False, min_value=1, max_value=240)
    hold_minutes = serializers.IntegerField(required=False, min_value=1, max_value=240)
    review_hours = serializers.IntegerField(required=False, min_value=1, max_value=720)
    quiet_from = serializers.TimeField(required=False, allow_null=True)
    quiet_until = serializers.TimeField(required=False, allow_null=True)
    urgent = serializers.ListField(child=serializers.ChoiceField(choices=Kind.choices), required=False, max_length=9)
    reason = serializers.CharField(min_length=1, max_length=2000)


class MakeRotaSerializer(_TermsSerializer):
    scope = serializers.ChoiceField(choices=Scope.choices, default=Scope.FLEET)
    cluster = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)


class ChangeRotaSerializer(_TermsSerializer):
    """What is left out stays as it is."""

    people = serializers.ListField(child=serializers.CharField(max_length=150), max_length=30, required=False)
    version = serializers.IntegerField(min_value=1, help_text="the version that was read")


class TakeOverSerializer(serializers.Serializer[Any]):
    who = serializers.CharField(max_length=150)
    begins_at = serializers.DateTimeField(required=False, allow_null=True, default=None, help_text="left out: now")
    ends_at = serializers.DateTimeField()
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=500)


class EndRotaSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2000)


class AskNowSerializer(serializers.Serializer[Any]):
    cluster = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)


class ShiftSerializer(serializers.Serializer[Any]):
    who = serializers.CharField(source="who.name", allow_null=True, default=None)
    begins_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()


class NowSerializer(serializers.Serializer[Any]):
    """``on_call`` is null where nobody can be called, and ``rota`` where no rota covers the place."""

    rota = serializers.IntegerField(source="rota.pk", allow_null=True, default=None)
    place = serializers.CharField(source="rota.place", allow_null=True, default=None)
    on_call = serializers.SerializerMethodField()
    line = serializers.SerializerMethodField(help_text="whom a call goes to, in this order")
    skipped = serializers.ListField(child=serializers.CharField())
    words = serializers.CharField()
    shifts = serializers.SerializerMethodField()

    def get_on_call(self, row: selectors.Now) -> str | None:
        return row.first or None

    def get_line(self, row: selectors.Now) -> list[str]:
        return [one.name for one in row.duty.line] if row.duty is not None else []

    def get_shifts(self, row: selectors.Now) -> list[dict[str, Any]]:
        found = [] if row.rota is None else selectors.schedule_of(row.rota, self.context["now"])
        return [dict(one) for one in ShiftSerializer(found, many=True).data]


class LineSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    words = serializers.CharField()
    state = serializers.CharField(help_text=f"of the message that it is about: {', '.join(MessageState.values)}; or ''")
    bad = serializers.BooleanField()


class AlertSerializer(serializers.ModelSerializer[Alert]):
    """Something needs a person; ``due_at`` is when the next one is called."""

    plan = serializers.IntegerField(source="plan_id", read_only=True, allow_null=True)
    campaign = serializers.IntegerField(source="campaign_id", read_only=True, allow_null=True)
    group = serializers.SerializerMethodField(help_text="of the campaign, from 1")
    rota = serializers.IntegerField(source="rota_id", read_only=True)
    review = serializers.IntegerField(source="review_id", read_only=True, allow_null=True)
    state = serializers.CharField(read_only=True, help_text="calling, quiet, acknowledged, unanswered or resolved")
    acknowledged_by = serializers.CharField(source="acknowledged_by.username", default=None, read_only=True)

    class Meta:
        model = Alert
        fields: ClassVar = [
            "id", "kind", "plan", "campaign", "group", "review", "rota", "state", "opened_at", "due_at", "reached",
            "calls", "acknowledged_by", "acknowledged_until", "held_until", "resolved_at", "outcome",
        ]  # fmt: skip
        read_only_fields = fields

    def get_group(self, row: Alert) -> int | None:
        return None if row.group is None else row.group.position + 1


class AlertWithHistorySerializer(AlertSerializer):
    history = serializers.SerializerMethodField()

    class Meta(AlertSerializer.Meta):
        fields: ClassVar = [*AlertSerializer.Meta.fields, "history"]
        read_only_fields = fields

    def get_history(self, row: Alert) -> list[dict[str, Any]]:
        return [dict(one) for one in LineSerializer(selectors.history(self.context["viewer"], row), many=True).data]
