"""Campaigns as JSON."""

from typing import Any

from rest_framework import serializers

from console.campaigns.choices import RANGES, GroupState, Order, Refused, Selects, State


class NodeSelectorSerializer(serializers.Serializer[Any]):
    """Of the kinds of selectors: label and value, model, or names of nodes or domains."""

    label = serializers.CharField(max_length=317, required=False)  # type: ignore[assignment]
    value = serializers.CharField(max_length=63, required=False)
    model = serializers.CharField(max_length=253, required=False)
    names = serializers.ListField(child=serializers.CharField(max_length=253), required=False, max_length=10_000)


def _whole(name: str) -> serializers.IntegerField:
    low, high, usual, label, unit = RANGES[name]
    may_be_none = name in ("most_out", "most_out_per_cent", "most_per_group")
    return serializers.IntegerField(
        min_value=low, max_value=high, default=usual, allow_null=may_be_none, help_text=f"{label}, {unit}"
    )


class AskCampaignSerializer(serializers.Serializer[Any]):
    """What a campaign is about; of a draft, name and reason may be left out."""

    name = serializers.CharField(max_length=100, default="", allow_blank=True)
    reason = serializers.CharField(max_length=2000, default="", allow_blank=True)
    source = serializers.IntegerField(min_value=1, max_value=2**53 - 1)  # type: ignore[assignment]
    cluster = serializers.CharField(max_length=253)
    selects = serializers.ChoiceField(choices=Selects.choices)
    wanted = NodeSelectorSerializer(default=dict)
    done_label = serializers.CharField(max_length=317, default="", allow_blank=True)
    done_value = serializers.CharField(max_length=63, default="", allow_blank=True)
    grouping = serializers.CharField(max_length=63, default="asw", help_text="asw or another level, zone, or none")
    protect = serializers.CharField(
        max_length=63, default="", allow_blank=True, help_text="level or zone: never two groups of one such domain"
    )
    order = serializers.ChoiceField(choices=Order.choices, default=Order.EMPTIEST)
    most_per_group = _whole("most_per_group")
    at_once = _whole("at_once")
    most_out = _whole("most_out")
    most_out_per_cent = _whole("most_out_per_cent")
    work_minutes = _whole("work_minutes")
    stop_after = _whole("stop_after")
    most_asks = _whole("most_asks")
    when_refused = serializers.ChoiceField(choices=Refused.choices, default=Refused.SKIP)

    def asked(self) -> dict[str, Any]:
        """The argument of ``services.draft`` and ``services.make_campaign``."""
        said = dict(self.validated_data)
        said["source_id"] = said.pop("source")
        return {**said, "wanted": dict(said["wanted"])}


class DraftedGroupSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    nodes = serializers.IntegerField()
    gpus = serializers.IntegerField()
    pods = serializers.IntegerField()


class CampaignDraftSerializer(serializers.Serializer[Any]):
    """What the campaign would be about, on the newest reading; nothing is stored."""

    nodes = serializers.IntegerField()
    gpus = serializers.IntegerField()
    done = serializers.IntegerField(help_text="nodes that are chosen and as they are to be already")
    limit = serializers.IntegerField(help_text="nodes out of service at most")
    groups = serializers.SerializerMethodField()

    def get_groups(self, draft: Any) -> list[dict[str, Any]]:
        return [{"name": one.name, "nodes": len(one.rows), "gpus": one.gpus, "pods": one.pods} for one in draft.groups]


class CampaignSerializer(serializers.Serializer[Any]):
    """A campaign with its limits and where it stands."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    reason = serializers.CharField()
    owner = serializers.CharField(source="owner.username")
    source = serializers.IntegerField(source="source_id")  # type: ignore[assignment]
    cluster = serializers.CharField()
    selects = serializers.ChoiceField(choices=Selects.choices)
    wanted = serializers.JSONField()
    chosen = serializers.CharField(help_text="the selector in words")
    done_label = serializers.CharField()
    done_value = serializers.CharField()
    grouping = serializers.CharField()
    protect = serializers.CharField()
    order = serializers.ChoiceField(choices=Order.choices)
    most_per_group = serializers.IntegerField(allow_null=True)
    at_once = serializers.IntegerField()
    most_out = serializers.IntegerField(allow_null=True)
    most_out_per_cent = serializers.IntegerField(allow_null=True)
    work_minutes = serializers.IntegerField()
    stop_after = serializers.IntegerField()
    most_asks = serializers.IntegerField()
    when_refused = serializers.ChoiceField(choices=Refused.choices)
    state = serializers.ChoiceField(choices=State.choices)
    state_reason = serializers.CharField()
    waits_for = serializers.CharField(help_text="why no further group begins, as last seen")
    out_now = serializers.IntegerField(
        allow_null=True, help_text="nodes of its GPU models that are out of service, whatever the reason"
    )
    may_be_out = serializers.IntegerField(allow_null=True)
    groups = serializers.IntegerField(source="groups_count")
    groups_back = serializers.IntegerField()
    groups_failed = serializers.IntegerField()
    since = serializers.DateTimeField()
    begun_at = serializers.DateTimeField(allow_null=True)
    looked_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class ForecastSerializer(serializers.Serializer[Any]):
    """Seconds from now; the end lies between low and high with 80 %, if groups go on as they went."""

    seconds = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    groups = serializers.IntegerField(help_text="on which it rests")
    mean = serializers.FloatField(help_text="seconds that a group took")
    late = serializers.BooleanField(help_text="a group under way has taken longer than that already")


class CampaignPageSerializer(CampaignSerializer):
    """One campaign, with what is said of all of its groups together."""

    gpu_hours = serializers.FloatField(help_text="out of service for the work alone")
    held = serializers.ListField(child=serializers.CharField(), help_text="nodes that the campaign has cordoned now")
    forecast = ForecastSerializer(allow_null=True, help_text="null until two groups are back")

    def to_representation(self, page: Any) -> dict[str, Any]:
        said = dict(CampaignSerializer(page.row).data)
        end = None if page.end is None else ForecastSerializer(page.end).data
        return {**said, "gpu_hours": page.gpu_hours, "held": [one[0] for one in page.held], "forecast": end}


class PreviewWhySerializer(serializers.Serializer[Any]):
    reason = serializers.CharField()
    pods = serializers.IntegerField()
    nodes = serializers.IntegerField()
    first = serializers.CharField()
    until = serializers.DateTimeField(allow_null=True, help_text="when the last of these locks ends")


class GroupPreviewSerializer(serializers.Serializer[Any]):
    """Whether the group alone could be drained, on the reading of ``previewed_revision``."""

    ok = serializers.BooleanField()
    moves = serializers.IntegerField(help_text="of pods, with those that make room for them")
    nodes = serializers.IntegerField(help_text="of them with pods")
    gone = serializers.IntegerField(help_text="that had left the cluster")
    why = PreviewWhySerializer(many=True)


class CampaignGroupSerializer(serializers.Serializer[Any]):
    """Nodes that are drained together; ``number`` counts from 1 in their order."""

    number = serializers.SerializerMethodField()
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=GroupState.choices)
    reason = serializers.CharField()
    plan = serializers.IntegerField(source="plan_id", allow_null=True)
    asks = serializers.IntegerField()
    again_at = serializers.DateTimeField(allow_null=True)
    nodes = serializers.IntegerField()
    gpus = serializers.IntegerField()
    pods = serializers.IntegerField(help_text="that stood there when the campaign was made")
    domains = serializers.JSONField()
    preview = GroupPreviewSerializer(allow_null=True)
    previewed_at = serializers.DateTimeField(allow_null=True)
    previewed_revision = serializers.IntegerField(allow_null=True)
    asked_at = serializers.DateTimeField(allow_null=True)
    draining_at = serializers.DateTimeField(allow_null=True)
    work_at = serializers.DateTimeField(allow_null=True)
    returning_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)

    def get_number(self, group: Any) -> int:
        return int(group.position) + 1


class MemberSerializer(serializers.Serializer[Any]):
    """A node of a campaign."""

    name = serializers.CharField()
    group = serializers.SerializerMethodField()
    gpus = serializers.IntegerField()
    gpu_model = serializers.CharField()
    left_out = serializers.CharField(help_text="why nothing is done with it")
    was_cordoned = serializers.BooleanField(help_text="by others, when its group began: it stays so")
    held_at = serializers.DateTimeField(allow_null=True, help_text="the campaign has it cordoned since")
    given_back_at = serializers.DateTimeField(allow_null=True)
    trouble = serializers.CharField()

    def get_group(self, member: Any) -> int:
        return int(member.group.position) + 1


class ActReasonSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2000, default="", allow_blank=True)
