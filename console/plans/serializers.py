"""Rows as JSON; the columns of the pages, under the same names."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.plans import selectors
from console.plans.choices import FreezeScope, State
from console.plans.followed import StartedJob
from console.plans.frozen import Freeze
from console.plans.models import Decision, KeptNode, NodeLock, Override, Plan, Step


class DecisionSerializer(serializers.ModelSerializer[Decision]):
    """Who said yes or no to which digest; a plan may need two yes of two people.

    ``policy`` is not empty where the policy said it, by the word of ``user``, who allowed it.
    """

    user = serializers.CharField(source="user.username", read_only=True)

    class Meta:
        model = Decision
        fields: ClassVar = ["user", "verdict", "policy", "digest", "reason", "at"]
        read_only_fields = fields


class GateSerializer(serializers.Serializer[Any]):
    """``changes_at`` is null where nothing changes within the next five weeks."""

    open = serializers.BooleanField()
    why = serializers.CharField(help_text="the window that closes it")
    words = serializers.CharField()
    changes_at = serializers.DateTimeField(allow_null=True)


class PlanSerializer(serializers.ModelSerializer[Plan]):
    """A plan without its moves."""

    source = serializers.CharField(source="source.name", read_only=True)  # type: ignore[assignment]
    acts = serializers.BooleanField(
        source="source.acts", read_only=True, help_text="false: the source is only observed, no plan runs on it"
    )
    proposer = serializers.CharField(source="proposer.username", read_only=True)
    approver = serializers.CharField(source="approver.username", read_only=True, default=None, allow_null=True)
    parent = serializers.IntegerField(source="parent_id", read_only=True, allow_null=True)  # type: ignore[assignment]

    undoes = serializers.IntegerField(
        source="undoes_id", read_only=True, allow_null=True, help_text="the plan whose moves this one takes back"
    )

    report = serializers.BooleanField(
        read_only=True, help_text="true: its level of automation is observe, so that nobody can approve it"
    )
    left_to_people = serializers.CharField(
        read_only=True, help_text="of a routine's plan: why it was not started automatically"
    )
    decisions = DecisionSerializer(many=True, read_only=True)
    approvals_needed = serializers.SerializerMethodField(
        help_text="while it waits for approvals: as the policy says now, and never fewer than when it was proposed"
    )
    rests_until = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="of a run that waits for checkpoints alone: when it looks again"
    )

    class Meta:
        model = Plan
        fields: ClassVar = [
            "id", "kind", "state", "reason", "title", "source", "acts", "cluster", "models_in_scope", "params", "seed",
            "proposer", "approver", "parent", "origin", "undoes", "because", "digest", "base_revision", "base_digest",
            "headline", "notes",
            "changes", "checked_revision", "checked_at", "progress", "requested_at", "proposed_at", "expires_at",
            "approved_at", "started_at", "ended_at", "approvals_needed", "decisions",
            "waits_for", "rests_until", "report", "left_to_people",
        ]  # fmt: skip
        read_only_fields = fields

    def get_approvals_needed(self, plan: Plan) -> int:
        return selectors.approvals_of(plan).needed if plan.state == State.PROPOSED else plan.approvals_needed


class PlanDetailSerializer(PlanSerializer):
    """A plan with its impact per tenant, its marginal curve, and the plans that take it back."""

    rollbacks = serializers.PrimaryKeyRelatedField(many=True, read_only=True)  # type: ignore[var-annotated]
    window = serializers.SerializerMethodField(help_text="whether its windows are open, and until when")

    class Meta(PlanSerializer.Meta):
        fields: ClassVar = [*PlanSerializer.Meta.fields, "impact", "curve", "pace", "rollbacks", "window"]
        read_only_fields = fields

    @extend_schema_field(GateSerializer)
    def get_window(self, plan: Plan) -> dict[str, Any]:
        return dict(GateSerializer(selectors.gate_of(plan)).data)


class FlightSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField(help_text="of the move, from 1")
    pod = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    target = serializers.CharField()
    mode = serializers.CharField()
    state = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)
    since = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    words = serializers.CharField(help_text="what becomes of it, or what became")


class ChainStateSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField(help_text="of the chain, from 1")
    node = serializers.CharField()
    done = serializers.IntegerField()
    in_flight = serializers.IntegerField()
    open = serializers.IntegerField(help_text="moves not begun, failed or not run")


class StoppingSerializer(serializers.Serializer[Any]):
    """What stopping the run now would mean."""

    waiting = serializers.IntegerField(help_text="moves that would not start")
    in_flight = FlightSerializer(many=True)
    whole = serializers.IntegerField(help_text="chains with all of their moves done or in flight")
    half = ChainStateSerializer(many=True, help_text="chains with some of them: their nodes are drained in part")
    untouched = serializers.IntegerField()
    returnable = serializers.IntegerField(help_text="moves that a rollback could take back")
    pause = serializers.ListField(child=serializers.CharField())
    abort = serializers.ListField(child=serializers.CharField())


class StopSerializer(serializers.Serializer[Any]):
    state = serializers.CharField(help_text="paused, halted or aborted")
    actor = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True)
    at = serializers.DateTimeField()
    waiting = serializers.IntegerField()
    in_flight = FlightSerializer(many=True)


class TenantRecordSerializer(serializers.Serializer[Any]):
    tenant = serializers.CharField(allow_blank=True)
    planned = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    not_run = serializers.IntegerField()
    gpu_milli = serializers.IntegerField(help_text="of moves that were done")
    doubled_gpu_s = serializers.FloatField()
    expected_gpu_s = serializers.FloatField(allow_null=True)


class RequestsSerializer(serializers.Serializer[Any]):
    """What the services of moved pods were asked while the moves of a kind took; null where nobody counted."""

    mode = serializers.CharField(help_text="copy or restart")
    moves = serializers.IntegerField(help_text="moves of the kind that were sent")
    asked = serializers.IntegerField(allow_null=True)
    lost = serializers.IntegerField(allow_null=True, help_text="of them, without an answer")
    expected = serializers.IntegerField(allow_null=True, help_text="to be lost; null: nothing is expected")


class RefillSerializer(serializers.Serializer[Any]):
    tenant = serializers.CharField(allow_blank=True)
    nodes = serializers.IntegerField()
    pods = serializers.IntegerField()
    own = serializers.BooleanField(help_text="pods that the plan itself had moved")
    names = serializers.ListField(child=serializers.CharField())


class EmptiedSerializer(serializers.Serializer[Any]):
    nodes = serializers.IntegerField()
    still = serializers.IntegerField()
    refilled = serializers.IntegerField()
    gone = serializers.IntegerField(help_text="no longer there, or cordoned")
    gpus_still = serializers.IntegerField()
    by = RefillSerializer(many=True)
    until = serializers.DateTimeField(help_text="they are looked at in every reading until then")
    seen_at = serializers.DateTimeField(allow_null=True)
    over = serializers.BooleanField()
    held_until = serializers.DateTimeField(allow_null=True, help_text="null: nothing keeps work away from them")
    curve = serializers.JSONField(help_text="[[seconds, share still empty], …]")
    half_life_s = serializers.FloatField(allow_null=True)
    half_life_seen = serializers.BooleanField(help_text="false: estimated from the rate so far")


class HeldSerializer(serializers.Serializer[Any]):
    """The nodes on which a run made room, and whether they are kept for what it was made for."""

    words = serializers.CharField(help_text="for whom")
    nodes = serializers.IntegerField()
    taken = serializers.IntegerField(help_text="nodes on which what they are held for has started")
    takers = serializers.ListField(child=serializers.CharField())
    until = serializers.DateTimeField(allow_null=True, help_text="null: the source never kept work away")
    active = serializers.BooleanField()
    note = serializers.CharField(allow_blank=True, help_text="who changed it, or how it ended")
    untold = serializers.IntegerField(help_text="nodes of which the cluster has not heard the last word")
    refused = serializers.ListField(child=serializers.CharField())


class StartedJobSerializer(serializers.Serializer[Any]):
    job = serializers.CharField(help_text="namespace/name of the gang, or of a pod without one")
    gang = serializers.BooleanField()
    tenant = serializers.CharField(allow_blank=True)
    pods = serializers.IntegerField()
    gpu_milli = serializers.IntegerField()
    nodes = serializers.ListField(child=serializers.CharField())
    waited = serializers.BooleanField(allow_null=True, help_text="it waited already when the plan was proposed")
    started_at = serializers.DateTimeField()
    verdict = serializers.ChoiceField(choices=StartedJob.Verdict.choices, help_text="without the plan")
    why = serializers.CharField(allow_blank=True)
    sooner_s = serializers.FloatField(allow_null=True)
    at_least = serializers.BooleanField(help_text="sooner_s is only a lower bound")
    gpu_hours = serializers.FloatField(allow_null=True)
    until = serializers.CharField(allow_blank=True)


class GainsSerializer(serializers.Serializer[Any]):
    """Jobs that started where the run had made room: counts by verdict, and GPU-hours started sooner."""

    waits = serializers.IntegerField()
    elsewhere = serializers.IntegerField()
    unknown = serializers.IntegerField()
    gpu_hours = serializers.FloatField()
    at_least = serializers.BooleanField(help_text="of some of them only a lower bound is known")
    jobs = StartedJobSerializer(many=True)
    hidden = serializers.IntegerField()


class RecordSerializer(serializers.Serializer[Any]):
    """What was expected of a run and what came; seconds are medians over moves that ended well."""

    moves = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    not_run = serializers.IntegerField()
    expected_s = serializers.FloatField(allow_null=True)
    took_s = serializers.FloatField(allow_null=True)
    expected_gpu_s = serializers.FloatField(allow_null=True, help_text="GPU time doubled, of moves that were sent")
    doubled_gpu_s = serializers.FloatField(allow_null=True)
    requests = RequestsSerializer(many=True)
    tenants = TenantRecordSerializer(many=True)
    emptied = EmptiedSerializer(allow_null=True)
    held = HeldSerializer(allow_null=True)
    gains = GainsSerializer(allow_null=True)
    stops = StopSerializer(many=True)


class MoveSerializer(serializers.ModelSerializer[Step]):
    took_s = serializers.FloatField(read_only=True, allow_null=True, help_text="seconds from sending to its end")

    class Meta:
        model = Step
        fields: ClassVar = [
            "index", "uid", "wave", "run_wave", "chain", "depth", "drains", "after", "pod", "pod_uid", "source_node",
            "target_node", "mode", "gpus", "gpu_milli", "tenant", "work_class", "tier", "lost_gpu_seconds", "state",
            "detail", "issued_at", "ended_at", "expected_s", "took_s", "checkpoint", "due_at", "checkpoint_at",
            "requests_served", "requests_lost",
        ]  # fmt: skip
        read_only_fields = fields


class KeptSerializer(serializers.ModelSerializer[KeptNode]):
    class Meta:
        model = KeptNode
        fields: ClassVar = ["position", "node", "reason", "blockers", "targets"]
        read_only_fields = fields


class DigestedSerializer(serializers.Serializer[Any]):
    """A decision: the digest here or in If-Match, and why."""

    digest = serializers.RegexField(r"^[0-9a-f]{64}$", required=False)
    reason = serializers.CharField(min_length=1, max_length=2000)


class ApprovalSerializer(DigestedSerializer):
    start = serializers.BooleanField(default=False)


class LeftSerializer(serializers.Serializer[Any]):
    chain = serializers.IntegerField(help_text="from 1")
    node = serializers.CharField()
    moves = serializers.IntegerField()
    tenants = serializers.ListField(child=serializers.CharField(allow_blank=True))
    why = serializers.ChoiceField(choices=["chosen", "tenant", "waits"])
    words = serializers.CharField()


class PartSerializer(serializers.Serializer[Any]):
    """What would remain of a proposal; ``digest`` is what is approved."""

    digest = serializers.CharField()
    ok = serializers.BooleanField(help_text="the judge says yes to what remains")
    fault = serializers.CharField(allow_blank=True)
    headline = serializers.JSONField()
    impact = serializers.JSONField()
    left = LeftSerializer(many=True)


class PartApprovalSerializer(ApprovalSerializer):
    part_digest = serializers.RegexField(r"^[0-9a-f]{64}$", help_text="of what remains, as previewed")
    tenants = serializers.ListField(child=serializers.CharField(allow_blank=True), required=False, default=list)
    chains = serializers.ListField(
        child=serializers.IntegerField(min_value=1), required=False, default=list, help_text="numbers from 1"
    )


class ReasonSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, allow_blank=True, max_length=2000, default="")


class NeedsReasonSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(min_length=1, max_length=2000)


class HoldSerializer(NeedsReasonSerializer):
    hours = serializers.IntegerField(min_value=1, max_value=168, help_text="from now")


class StartSerializer(serializers.Serializer[Any]):
    digest = serializers.RegexField(r"^[0-9a-f]{64}$", required=False)


class CutSerializer(serializers.Serializer[Any]):
    moves = serializers.IntegerField(min_value=1, max_value=2_147_483_647)


class LockSerializer(serializers.ModelSerializer[NodeLock]):
    source = serializers.CharField(source="plan.source.name", read_only=True)  # type: ignore[assignment]
    plan = serializers.IntegerField(source="plan_id", read_only=True)
    plan_state = serializers.CharField(source="plan.state", read_only=True)
    owner = serializers.CharField(source="owner.username", read_only=True)
    wanted_by = serializers.ListField(child=serializers.IntegerField(), read_only=True, help_text="waiting plans")

    class Meta:
        model = NodeLock
        fields: ClassVar = [
            "source", "cluster", "node", "plan", "plan_state", "owner", "since", "expires_at", "wanted_by",
        ]  # fmt: skip
        read_only_fields = fields


class ReviewSerializer(serializers.ModelSerializer[Override]):
    """Glass that somebody broke, and what somebody else found."""

    plan = serializers.IntegerField(source="plan_id", read_only=True)
    user = serializers.CharField(source="user.username", read_only=True)
    closed_by = serializers.CharField(source="closed_by.username", read_only=True, default=None, allow_null=True)

    class Meta:
        model = Override
        fields: ClassVar = [
            "id", "plan", "user", "digest", "reason", "since", "expires_at", "closed_by", "closed_at", "finding",
        ]  # fmt: skip
        read_only_fields = fields


class FindingSerializer(serializers.Serializer[Any]):
    finding = serializers.CharField(min_length=1, max_length=2000)


class FreezeSerializer(serializers.ModelSerializer[Freeze]):
    owner = serializers.CharField(source="owner.username", read_only=True)
    scope = serializers.ChoiceField(choices=FreezeScope.choices)
    cluster = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)
    gpu_model = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)
    reason = serializers.CharField(min_length=1, max_length=2000)

    class Meta:
        model = Freeze
        fields: ClassVar = [
            "id",
            "scope",
            "cluster",
            "gpu_model",
            "owner",
            "reason",
            "since",
            "expires_at",
            "lifted_at",
        ]
        read_only_fields: ClassVar = ["id", "owner", "since", "lifted_at"]
