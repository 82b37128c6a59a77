"""Leases, estimates and reclaims as JSON.  Money in USD, null where there is no quote or nobody knows."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.spot.choices import ASKED, Cause, Checkpoint, EstimateState, Reason, State
from console.spot.selectors import LeaseRow, cause_words, told_of

CENTS, HOUR_S = 100, 3600


class Shape(serializers.Serializer[Any]):
    """Only for shape: nothing is written through it."""


class AskedSerializer(Shape):
    """What is asked for; amounts of each pod."""

    gpu_models = serializers.ListField(
        child=serializers.CharField(max_length=253), min_length=1, max_length=8, help_text="in order of preference"
    )
    gpus_per_pod = serializers.IntegerField(min_value=1, max_value=64, default=8)
    pods = serializers.IntegerField(min_value=1, max_value=4096, default=1)
    min_members = serializers.IntegerField(
        min_value=1, required=False, allow_null=True, help_text="pods without which it does not run; all, if not said"
    )
    cpu_milli = serializers.IntegerField(min_value=0, max_value=1 << 30, default=0)
    memory_mib = serializers.IntegerField(min_value=0, max_value=1 << 30, default=0)
    topology = serializers.CharField(default="", allow_blank=True, max_length=63, help_text="a level; empty: anywhere")
    required = serializers.BooleanField(  # type: ignore[assignment]  # DRF calls its own flag the same
        default=False, help_text="the level binds; else it is a wish"
    )
    run_s = serializers.IntegerField(min_value=600, max_value=30 * 86_400, default=12 * HOUR_S)
    checkpoint_interval_s = serializers.IntegerField(min_value=60, max_value=86_400, default=None, allow_null=True)
    hook_name = serializers.CharField(default="", allow_blank=True, max_length=100)
    hook_s = serializers.IntegerField(min_value=1, max_value=60, default=None, allow_null=True)
    limit_cents = serializers.IntegerField(min_value=1, max_value=1_000_000, default=None, allow_null=True)
    guaranteed_s = serializers.IntegerField(min_value=0, max_value=6 * HOUR_S, default=0)


class _PlacedSerializer(AskedSerializer):
    source = serializers.IntegerField(min_value=1, max_value=2**53 - 1)  # type: ignore[assignment]
    cluster = serializers.CharField(min_length=1, max_length=253)
    tenant = serializers.CharField(
        default="", allow_blank=True, max_length=253, help_text="one of yours; may be left out where you have one"
    )

    def asked(self) -> dict[str, Any]:
        """The arguments of ``services.ask_estimate``."""
        said = dict(self.validated_data)
        placed = {"source_id": said["source"], "cluster": said["cluster"], "tenant": said["tenant"]}
        return {**placed, "asked": {name: said[name] for name in ASKED if name in said}}


class LeaseEstimateRequestSerializer(_PlacedSerializer):
    """A question that commits to nothing."""


class LeaseRequestSerializer(_PlacedSerializer):
    """``estimate``: the estimate that was looked at, so that it can be held to what comes."""

    name = serializers.CharField(default="", allow_blank=True, max_length=100)
    draft = serializers.BooleanField(default=False)
    estimate = serializers.IntegerField(min_value=1, max_value=2**53 - 1, required=False, allow_null=True)

    def made(self) -> dict[str, Any]:
        said = self.validated_data
        return {**self.asked(), "name": said["name"], "draft": said["draft"], "estimate_id": said.get("estimate")}


class LeaseEditSerializer(Shape):
    """What is to be changed of a draft; what is not said stays."""

    name = serializers.CharField(required=False, allow_blank=True, max_length=100)

    def get_fields(self) -> dict[str, Any]:
        fields = {**super().get_fields(), **AskedSerializer().get_fields()}
        for field in fields.values():
            field.required, field.default = False, serializers.empty
        return fields


class LeaseAskSerializer(Shape):
    estimate = serializers.IntegerField(min_value=1, max_value=2**53 - 1, required=False, allow_null=True)


class LeaseNoticeSerializer(Shape):
    """A reclaim that is under way."""

    cause = serializers.ChoiceField(choices=Cause.choices)
    words = serializers.CharField()
    gpus = serializers.IntegerField()
    whole = serializers.BooleanField(help_text="the run ends by it; else it goes on with the pods that are left")
    noticed_at = serializers.DateTimeField()
    kill_at = serializers.DateTimeField()
    hook_at = serializers.DateTimeField(allow_null=True, help_text="when its hook should end")
    hook_ended_at = serializers.DateTimeField(allow_null=True)
    checkpoint = serializers.ChoiceField(choices=Checkpoint.choices)


class LeaseSerializer(Shape):
    """One state and one reason with its numbers."""

    id = serializers.IntegerField(source="lease.pk")
    number = serializers.CharField(source="lease.number")
    uid = serializers.UUIDField(source="lease.uid", help_text="label slackline.io/lease of its pods")
    version = serializers.IntegerField(source="lease.turn", help_text="for If-Match")
    name = serializers.CharField(source="lease.name")
    tenant = serializers.CharField(source="lease.tenant")
    source = serializers.IntegerField(source="lease.source_id")  # type: ignore[assignment]
    cluster = serializers.CharField(source="lease.cluster")
    asked_by = serializers.CharField(source="lease.asked_by.username")
    asked = AskedSerializer(source="lease")
    state = serializers.ChoiceField(source="lease.state", choices=State.choices)
    reason = serializers.ChoiceField(source="lease.reason", choices=Reason.choices)
    numbers = serializers.JSONField(source="lease.numbers", help_text="of the reason")
    words = serializers.CharField(source="why")
    since = serializers.DateTimeField()
    asked_at = serializers.DateTimeField(source="lease.asked_at", allow_null=True)
    first_started_at = serializers.DateTimeField(source="lease.first_started_at", allow_null=True)
    ended_at = serializers.DateTimeField(source="lease.ended_at", allow_null=True)
    gpu_model = serializers.CharField(source="model", help_text="on which it runs, or which it would like first")
    held_gpus = serializers.IntegerField()
    kept_s = serializers.IntegerField(source="lease.kept_s", help_text="of its run time, done and in a checkpoint")
    lost_gpu_s = serializers.IntegerField(source="lease.lost_gpu_s")
    usd_per_gpu_hour = serializers.SerializerMethodField()
    charge_usd = serializers.SerializerMethodField()
    credit_usd = serializers.SerializerMethodField()
    gpu_hours = serializers.SerializerMethodField()
    billed_at = serializers.DateTimeField(allow_null=True, help_text="of what still runs; null: nothing does")
    notice = LeaseNoticeSerializer(allow_null=True)
    actions = serializers.ListField(child=serializers.CharField(), help_text="what you may do with it now")

    def get_usd_per_gpu_hour(self, row: LeaseRow) -> float | None:
        return None if row.cents is None else row.cents / CENTS

    def get_charge_usd(self, row: LeaseRow) -> float:
        return row.charge_cents / CENTS

    def get_credit_usd(self, row: LeaseRow) -> float:
        return row.credit_cents / CENTS

    def get_gpu_hours(self, row: LeaseRow) -> float:
        return round(row.gpu_s / HOUR_S, 4)


class LeaseChangeSerializer(Shape):
    at = serializers.DateTimeField()
    state = serializers.ChoiceField(choices=State.choices)
    reason = serializers.ChoiceField(choices=Reason.choices)
    words = serializers.CharField()
    numbers = serializers.JSONField()
    by = serializers.CharField(help_text="empty: the console itself")


class ReclaimSerializer(Shape):
    """From the notice to the hand-over; null where it is not over, or nobody knows."""

    id = serializers.IntegerField(source="pk")
    lease = serializers.IntegerField(source="lease_id")
    tenant = serializers.CharField(source="lease.tenant")
    gpu_model = serializers.CharField(source="run.gpu_model")
    gpus = serializers.IntegerField()
    whole = serializers.BooleanField()
    cause = serializers.ChoiceField(choices=Cause.choices)
    words = serializers.SerializerMethodField()
    noticed_at = serializers.DateTimeField()
    kill_at = serializers.DateTimeField()
    hook_ended_at = serializers.DateTimeField(allow_null=True)
    checkpoint = serializers.ChoiceField(choices=Checkpoint.choices)
    killed = serializers.BooleanField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    handed_over_at = serializers.DateTimeField(allow_null=True)
    predicted_loss_gpu_s = serializers.IntegerField(allow_null=True)
    realised_loss_gpu_s = serializers.IntegerField(allow_null=True)
    credit_usd = serializers.SerializerMethodField()

    def get_words(self, row: Any) -> str:
        return cause_words(row)

    def get_credit_usd(self, row: Any) -> float:
        return row.credit_cents / CENTS  # type: ignore[no-any-return]


class LeaseChanceSerializer(Shape):
    within_s = serializers.IntegerField()
    chance = serializers.FloatField(allow_null=True)


class LeaseAlternativeSerializer(Shape):
    """What differs in one thing; ``change`` are the fields of the ask that would."""

    what = serializers.CharField()
    note = serializers.CharField(default="")
    change = serializers.JSONField(default=dict)
    chance_3600 = serializers.FloatField(allow_null=True, default=None)
    run_p50_s = serializers.IntegerField(allow_null=True, default=None)
    usd_per_gpu_hour = serializers.SerializerMethodField()
    cost_low_usd = serializers.SerializerMethodField()
    cost_high_usd = serializers.SerializerMethodField()

    def get_usd_per_gpu_hour(self, one: Any) -> float | None:
        return _usd(one.get("cents"))

    def get_cost_low_usd(self, one: Any) -> float | None:
        return _usd(one.get("cost_low_cents"))

    def get_cost_high_usd(self, one: Any) -> float | None:
        return _usd(one.get("cost_high_cents"))


class LeaseBlockedSerializer(Shape):
    reason = serializers.CharField()
    numbers = serializers.JSONField(default=dict)
    words = serializers.CharField()


class LeaseForetoldSerializer(Shape):
    chances = LeaseChanceSerializer(many=True)
    run_p10_s = serializers.IntegerField(allow_null=True)
    run_p50_s = serializers.IntegerField(allow_null=True)
    gpu_model = serializers.CharField(allow_null=True)
    usd_per_gpu_hour = serializers.FloatField(allow_null=True)
    on_demand_usd_per_gpu_hour = serializers.FloatField(allow_null=True)
    cost_low_usd = serializers.FloatField(allow_null=True)
    cost_high_usd = serializers.FloatField(allow_null=True)
    reclaims_low = serializers.IntegerField(allow_null=True)
    reclaims_high = serializers.IntegerField(allow_null=True)
    blocked = LeaseBlockedSerializer(allow_null=True, help_text="null: it would start now")
    alternatives = LeaseAlternativeSerializer(many=True)
    assumed = serializers.ListField(child=serializers.CharField())
    seed = serializers.IntegerField(allow_null=True)


class LeaseEstimateSerializer(Shape):
    """What an ask would get, on one reading."""

    id = serializers.IntegerField(source="pk")
    source = serializers.IntegerField(source="source_id")  # type: ignore[assignment]
    cluster = serializers.CharField()
    tenant = serializers.CharField()
    asked = AskedSerializer()
    lease = serializers.IntegerField(source="lease_id", allow_null=True, help_text="the ask that was made on it")
    state = serializers.ChoiceField(choices=EstimateState.choices)
    asked_at = serializers.DateTimeField()
    done_at = serializers.DateTimeField(allow_null=True)
    revision = serializers.IntegerField(allow_null=True)
    observed_at = serializers.DateTimeField(allow_null=True)
    title = serializers.SerializerMethodField()
    failure = serializers.CharField()
    answer = serializers.SerializerMethodField()

    def get_title(self, row: Any) -> str:
        return told_of(row).title

    @extend_schema_field(LeaseForetoldSerializer(allow_null=True))
    def get_answer(self, row: Any) -> dict[str, Any] | None:
        return None if row.answer is None else dict(LeaseForetoldSerializer(foretold(row.answer)).data)


class SpotMonthSerializer(Shape):
    """``due_usd`` is the charge less the credit; the rebate is what standby earned, null where nobody knows."""

    month = serializers.CharField()
    tenant = serializers.CharField()
    gpu_hours = serializers.SerializerMethodField()
    charge_usd = serializers.SerializerMethodField()
    runs_on_usd = serializers.SerializerMethodField()
    credit_usd = serializers.SerializerMethodField()
    due_usd = serializers.SerializerMethodField()
    rebate_usd = serializers.SerializerMethodField()

    def get_gpu_hours(self, row: Any) -> float:
        return float(round(row.gpu_s / HOUR_S, 4))

    def get_charge_usd(self, row: Any) -> float:
        return row.charge_cents / CENTS  # type: ignore[no-any-return]

    def get_runs_on_usd(self, row: Any) -> float:
        return row.runs_on_cents / CENTS  # type: ignore[no-any-return]

    def get_credit_usd(self, row: Any) -> float:
        return row.credit_cents / CENTS  # type: ignore[no-any-return]

    def get_due_usd(self, row: Any) -> float:
        return row.due_cents / CENTS  # type: ignore[no-any-return]

    def get_rebate_usd(self, row: Any) -> float | None:
        return _usd(row.rebate_cents)


class SpotModelSerializer(Shape):
    gpu_model = serializers.CharField()
    gpus = serializers.IntegerField()


class SpotOthersSerializer(Shape):
    """All others together, without names."""

    running_gpus = serializers.IntegerField()
    waiting_gpus = serializers.IntegerField()


class SpotReclaimsSerializer(Shape):
    days = serializers.IntegerField()
    leases = serializers.IntegerField()
    reclaims = serializers.IntegerField()
    killed = serializers.IntegerField()
    median_notice_to_end_s = serializers.FloatField(source="median_s", allow_null=True)
    lost_gpu_s = serializers.IntegerField()
    gpu_s = serializers.IntegerField(help_text="paid for by runs that ended")


class SpotOverviewSerializer(Shape):
    """Leases of your tenants, or of all for those who see the pool."""

    at = serializers.DateTimeField()
    running_gpus = serializers.IntegerField(source="held.gpus")
    by_model = serializers.SerializerMethodField()
    borrowed_gpus = serializers.IntegerField(source="held.lent_gpus", help_text="of those that run, from sleepers")
    waiting = serializers.IntegerField(source="held.waiting")
    waiting_gpus = serializers.IntegerField(source="held.waiting_gpus")
    waiting_since = serializers.DateTimeField(source="held.waiting_since", allow_null=True)
    month = SpotMonthSerializer(source="bill")
    reclaims = SpotReclaimsSerializer(source="month")
    others = SpotOthersSerializer(allow_null=True, help_text="null for those who see everybody")

    @extend_schema_field(SpotModelSerializer(many=True))
    def get_by_model(self, board: Any) -> list[dict[str, Any]]:
        return [{"gpu_model": model, "gpus": gpus} for model, gpus in board.held.by_model]


def foretold(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer with money in USD and its chances in a row."""
    chance = answer.get("chance", {})
    return {
        **{name: answer.get(name) for name in ("run_p10_s", "run_p50_s", "reclaims_low", "reclaims_high", "seed")},
        "gpu_model": answer.get("model"),
        "chances": [{"within_s": int(s), "chance": value} for s, value in chance.items()],
        "usd_per_gpu_hour": _usd(answer.get("cents")),
        "on_demand_usd_per_gpu_hour": _usd(answer.get("on_demand_cents")),
        "cost_low_usd": _usd(answer.get("cost_low_cents")), "cost_high_usd": _usd(answer.get("cost_high_cents")),
        "blocked": answer.get("blocked"), "alternatives": answer.get("alternatives", []),
        "assumed": answer.get("assumed", []),
    }  # fmt: skip


def _usd(cents: float | None) -> float | None:
    return None if cents is None else cents / CENTS
