"""Prices as JSON.  Money in whole US cents of one GPU-hour; null is no quote, never 0."""

from typing import Any, ClassVar

from rest_framework import serializers

from console.prices.choices import BOUNDS, State
from console.prices.models import Line, Price, Proposal, Terms


class PriceTermSerializer(serializers.Serializer[Any]):
    """One thing that moved a price."""

    name = serializers.CharField()
    label = serializers.CharField(required=False, default="", help_text="in words")  # type: ignore[assignment]
    value = serializers.FloatField(required=False, allow_null=True, default=None)
    unit = serializers.CharField(required=False, default="")
    was = serializers.FloatField(required=False, allow_null=True, default=None)
    effect_cents = serializers.IntegerField(required=False, allow_null=True, default=None)
    words = serializers.CharField(required=False, default="")


class PriceComingSerializer(serializers.Serializer[Any]):
    """Approved, told to everybody, and not in force yet."""

    cents = serializers.IntegerField(allow_null=True)
    at = serializers.DateTimeField()
    held = serializers.CharField(help_text="what holds it back now; empty: nothing")


class PriceQuoteSerializer(serializers.Serializer[Any]):
    gpu_model = serializers.CharField()
    cents = serializers.IntegerField(
        allow_null=True, help_text="of a GPU-hour; null: no quote, and why says the reason"
    )
    usd_per_gpu_hour = serializers.SerializerMethodField()
    why = serializers.CharField()
    terms = PriceTermSerializer(many=True)
    on_demand_cents = serializers.IntegerField(allow_null=True)
    floor_cents = serializers.IntegerField(allow_null=True)
    since = serializers.DateTimeField(allow_null=True)
    was_cents = serializers.IntegerField(allow_null=True)
    next_review_at = serializers.DateTimeField(allow_null=True)
    change_percent = serializers.IntegerField(help_text="the largest change within one period of review")
    review_hours = serializers.IntegerField()
    simulated = serializers.BooleanField(help_text="made up for a demo")
    coming = PriceComingSerializer(allow_null=True)

    def get_usd_per_gpu_hour(self, quote: Any) -> float | None:
        return None if quote.cents is None else quote.cents / 100


class PriceQuoteListSerializer(serializers.Serializer[Any]):
    results = PriceQuoteSerializer(many=True)


class PriceSerializer(serializers.ModelSerializer[Price]):
    """A price that counts, or counted, from a full hour on."""

    terms = PriceTermSerializer(many=True)

    class Meta:
        model = Price
        fields: ClassVar = [
            "gpu_model", "since", "cents", "was_cents", "on_demand_cents", "floor_cents", "why", "terms", "simulated",
        ]  # fmt: skip
        read_only_fields = fields


class PriceLineSerializer(serializers.ModelSerializer[Line]):
    """One GPU model of a proposal."""

    terms = PriceTermSerializer(many=True)
    changes = serializers.BooleanField(read_only=True)
    edited = serializers.BooleanField(read_only=True)

    class Meta:
        model = Line
        fields: ClassVar = [
            "gpu_model", "was_cents", "computed_cents", "cents", "on_demand_cents", "floor_cents", "change_percent",
            "why", "terms", "changes", "edited",
        ]  # fmt: skip
        read_only_fields = fields


class PriceProposalSerializer(serializers.ModelSerializer[Proposal]):
    """``version`` is what an edit names in If-Match, ``digest`` what an approval names."""

    state = serializers.ChoiceField(choices=State.choices)
    opened_by = serializers.CharField(source="opened_by.username", default=None, allow_null=True)
    proposer = serializers.CharField(source="proposer.username", default=None, allow_null=True)
    approver = serializers.CharField(source="approver.username", default=None, allow_null=True)
    lines = PriceLineSerializer(many=True)

    class Meta:
        model = Proposal
        fields: ClassVar = [
            "id", "state", "title", "automatic", "simulated", "opened_by", "opened_at", "proposer", "proposed_at",
            "approver", "approved_at", "said", "reason", "effective_at", "takes_at", "held", "expires_at", "ended_at",
            "version", "digest", "lines",
        ]  # fmt: skip
        read_only_fields = fields


class PreviewAnswerSerializer(serializers.Serializer[Any]):
    """The same week if demand answers a price so strongly: an elasticity of 60 % is 0.6 % fewer hours for 1 % more."""

    elasticity_percent = serializers.IntegerField()
    gpu_hours = serializers.FloatField()
    occupancy = serializers.FloatField(allow_null=True)
    evictions = serializers.IntegerField()
    lost_gpu_hours = serializers.FloatField(help_text="run again because no checkpoint held them")
    unserved_gpu_hours = serializers.FloatField(help_text="wanted, and not run by the end of the week")
    revenue_cents = serializers.IntegerField()
    rebate_cents = serializers.IntegerField(help_text="at most, to those who lend")


class PreviewFiguresSerializer(serializers.Serializer[Any]):
    """Of the replayed week; null: not known."""

    cents = serializers.IntegerField(allow_null=True, required=False)
    gpu_hours = serializers.FloatField(allow_null=True, required=False)
    occupancy = serializers.FloatField(allow_null=True, required=False, help_text="share of what could be lent, 0 to 1")
    evictions = serializers.FloatField(allow_null=True, required=False)
    revenue_cents = serializers.IntegerField(allow_null=True, required=False)
    revenue_low_cents = serializers.IntegerField(
        allow_null=True, required=False, help_text="whatever demand makes of the price, within what is assumed"
    )
    revenue_high_cents = serializers.IntegerField(allow_null=True, required=False)
    tenants = serializers.IntegerField(allow_null=True, required=False)
    tenants_out = serializers.ListField(child=serializers.CharField(), required=False, allow_null=True)
    asks_out = serializers.IntegerField(required=False, help_text="asks with a limit below the price")
    answers = PreviewAnswerSerializer(many=True, required=False, help_text="by elasticity, the lowest first")


class PreviewPairSerializer(serializers.Serializer[Any]):
    now = PreviewFiguresSerializer()
    then = PreviewFiguresSerializer()


class PreviewModelSerializer(PreviewPairSerializer):
    gpu_model = serializers.CharField()
    others = PreviewFiguresSerializer(many=True, required=False, help_text="other prices, the lowest first")


class PricePreviewSerializer(serializers.Serializer[Any]):
    """The last week replayed under the prices of now and under those that are proposed."""

    begins_at = serializers.CharField(source="from", allow_null=True, default=None)
    ends_at = serializers.CharField(source="to", allow_null=True, default=None)
    assumptions = serializers.ListField(child=serializers.CharField())
    seed = serializers.IntegerField(default=0)
    models = PreviewModelSerializer(many=True)
    whole = PreviewPairSerializer()


class PriceProposalDetailSerializer(PriceProposalSerializer):
    preview = PricePreviewSerializer(allow_null=True)

    class Meta(PriceProposalSerializer.Meta):
        fields: ClassVar = [*PriceProposalSerializer.Meta.fields, "preview"]
        read_only_fields = fields


class AskPricesSerializer(serializers.Serializer[Any]):
    gpu_models = serializers.ListField(
        child=serializers.CharField(max_length=253), required=False, default=list, max_length=40, help_text="empty: all"
    )
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2000)


class EditedPriceSerializer(serializers.Serializer[Any]):
    gpu_model = serializers.CharField(max_length=253)
    cents = serializers.IntegerField(allow_null=True, help_text="null: no quote")


class EditPricesSerializer(serializers.Serializer[Any]):
    prices = EditedPriceSerializer(many=True)
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2000)


class SendPricesSerializer(serializers.Serializer[Any]):
    effective_at = serializers.DateTimeField(
        required=False, allow_null=True, default=None, help_text="a full hour of UTC; null: the usual one"
    )
    reason = serializers.CharField(max_length=2000)


class PriceDecisionSerializer(serializers.Serializer[Any]):
    digest = serializers.CharField(required=False, allow_blank=True, default="", max_length=64)
    reason = serializers.CharField(max_length=2000)


class PriceReasonSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2000)


class PriceBoundSerializer(serializers.Serializer[Any]):
    name = serializers.ChoiceField(choices=list(BOUNDS))
    value = serializers.IntegerField(allow_null=True)
    unit = serializers.CharField()
    origin = serializers.CharField(help_text="who says so")


class PriceTermsSerializer(serializers.ModelSerializer[Terms]):
    """What is said for one model ("": for all); null says nothing.  Its version is the ETag."""

    by = serializers.CharField(source="by.username", read_only=True)

    class Meta:
        model = Terms
        fields: ClassVar = ["gpu_model", "version", *BOUNDS, "by", "reason", "at"]
        read_only_fields = fields


class DecideTermsSerializer(serializers.Serializer[Any]):
    gpu_model = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)
    reason = serializers.CharField(max_length=2000)

    def get_fields(self) -> dict[str, Any]:
        """One for each bound; what is left out says nothing."""
        bounds = {
            name: serializers.IntegerField(
                required=False, allow_null=True, default=None, min_value=one.low, max_value=one.high,
                help_text=f"{one.unit}. {one.meaning}",
            )
            for name, one in BOUNDS.items()
        }  # fmt: skip
        return {**super().get_fields(), **bounds}


class PriceModelAskedSerializer(serializers.Serializer[Any]):
    gpu_model = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)
