"""Shapes of the API of locks by owners and of their releases."""

from typing import Any

from rest_framework import serializers

from console.inventory.choices import LockShare


class OwnerLockSerializer(serializers.Serializer[Any]):
    """One owner's locks now, and GPU-hours of the window."""

    id = serializers.IntegerField(allow_null=True, help_text="null where a row sums up a tenant")
    source = serializers.CharField()  # type: ignore[assignment]
    cluster = serializers.CharField()
    tenant = serializers.CharField()
    namespace = serializers.CharField()
    workload = serializers.CharField()
    share = serializers.ChoiceField(choices=LockShare.choices, help_text="what the row sums up")
    pods = serializers.IntegerField(help_text="locked now")
    held_milli = serializers.IntegerField(help_text="GPU thousandths that they hold")
    kept_nodes = serializers.IntegerField(help_text="partly used nodes that only these locks keep")
    kept_gpus = serializers.IntegerField(help_text="GPUs of these nodes")
    stranded_gpus = serializers.IntegerField(help_text="free GPUs of these nodes")
    stranded_gpu_h = serializers.FloatField(help_text="within the window")
    since = serializers.DateTimeField(help_text="of the first reading with this lock")
    since_known = serializers.BooleanField(help_text="false: it was there in the first reading already")
    until = serializers.DateTimeField(allow_null=True, help_text="the last end that its pods name")
    open_ended = serializers.BooleanField(help_text="some of its pods name no end")
    lifted_at = serializers.DateTimeField(allow_null=True)
    locked_by = serializers.CharField()
    reason = serializers.CharField()
    release_state = serializers.CharField(help_text="of the newest question; empty where nobody asked")
    release_begins_at = serializers.DateTimeField(allow_null=True)
    release_ends_at = serializers.DateTimeField(allow_null=True)


class OwnerLockTotalSerializer(serializers.Serializer[Any]):
    pods = serializers.IntegerField()
    held_milli = serializers.IntegerField()
    kept_nodes = serializers.IntegerField()
    kept_gpus = serializers.IntegerField()
    stranded_gpus = serializers.IntegerField()
    stranded_gpu_h = serializers.FloatField()
    known_h = serializers.FloatField(help_text="of so many hours of the window something is known")
    window_h = serializers.FloatField()


class OwnerLockPageSerializer(serializers.Serializer[Any]):
    since = serializers.DateTimeField()
    sums = OwnerLockTotalSerializer(allow_null=True, help_text="null where nothing was ever measured")
    total = serializers.IntegerField()
    start = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = OwnerLockSerializer(many=True)


class ReleaseSerializer(serializers.Serializer[Any]):
    """A question to an owner, and the answer."""

    id = serializers.IntegerField()
    source = serializers.CharField(source="source.name")  # type: ignore[assignment]
    cluster = serializers.CharField()
    tenant = serializers.CharField()
    namespace = serializers.CharField()
    workload = serializers.CharField()
    begins_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    why = serializers.CharField()
    asked_by = serializers.CharField(source="asked_by.username")
    asked_at = serializers.DateTimeField()
    state = serializers.CharField(
        source="shown_state",
        help_text="asked, refused, withdrawn, taken_back, expired; of a yes: release_ahead, release_on, release_over",
    )
    answer = serializers.CharField()
    answered_by = serializers.CharField(source="answered_by.username", allow_null=True, default=None)
    answered_at = serializers.DateTimeField(allow_null=True)


class AskSerializer(serializers.Serializer[Any]):
    begins_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    why = serializers.CharField(max_length=2000)


class AnswerSerializer(serializers.Serializer[Any]):
    yes = serializers.BooleanField()
    reason = serializers.CharField(max_length=2000)


class WithdrawSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2000)
