"""The book of quotas, use and chargeback as JSON.  GPUs are whole in the book and thousandths (milli) in use."""

from typing import Any

from rest_framework import serializers

from console.tenancy.choices import EditionKind, EntryKind
from console.tenancy.selectors.standings import SHOWN

_COUNT: dict[str, Any] = {"allow_null": True, "required": False, "min_value": 0}


def _namespaces() -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(max_length=460), required=False,
        help_text="of a team: its department's pods in them are its own; a name, or cluster/name",
    )  # fmt: skip


class LimitsSerializer(serializers.Serializer[Any]):
    """null is not set: no guarantee for nominal, no limit for the others; 0 is 0."""

    nominal = serializers.IntegerField(**_COUNT)
    borrowing_limit = serializers.IntegerField(**_COUNT)
    lending_limit = serializers.IntegerField(**_COUNT)


class BudgetSerializer(serializers.Serializer[Any]):
    gpu_hours = serializers.IntegerField(**_COUNT)
    usd = serializers.IntegerField(**_COUNT)
    warn_percent = serializers.IntegerField(allow_null=True, required=False, min_value=1, max_value=100)


class BookEntrySerializer(serializers.Serializer[Any]):
    """What the book says of one thing; which fields there are goes by ``kind``."""

    kind = serializers.ChoiceField(choices=EntryKind.choices, default=EntryKind.TENANT)
    name = serializers.CharField(max_length=200)
    version = serializers.IntegerField(read_only=True, help_text="of this entry, for If-Match")
    removed = serializers.BooleanField(required=False, write_only=True, help_text="it shall not be there any more")
    parent = serializers.CharField(allow_null=True, allow_blank=True, required=False, max_length=200)  # type: ignore[assignment]  # as in the book
    namespaces = _namespaces()
    cohort = serializers.CharField(allow_null=True, allow_blank=True, required=False, max_length=200)
    weight = serializers.IntegerField(**_COUNT)
    cap_gpus = serializers.IntegerField(**_COUNT)
    guarantee_gpus = serializers.IntegerField(**_COUNT)
    min_runtime_s = serializers.IntegerField(**_COUNT, help_text="what runs on borrowed capacity is left alone so long")
    quotas = serializers.DictField(child=LimitsSerializer(), required=False, help_text="by GPU model")
    budgets = serializers.DictField(
        child=BudgetSerializer(), required=False, help_text="by period: month, quarter, rolling-30 (days)"
    )
    value = serializers.IntegerField(allow_null=True, required=False, help_text="of a class: higher goes first")
    tenants = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, help_text="who may use a class; empty: everybody"
    )
    hp_cents = serializers.IntegerField(**_COUNT, help_text="of a price: US cents of a GPU-hour")
    lp_cents = serializers.IntegerField(**_COUNT)


class BookSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    entries = BookEntrySerializer(many=True)


class EditSerializer(serializers.Serializer[Any]):
    """Either ``entries`` or ``table`` (the CSV twin).  Each entry replaces what the book says of it as a whole."""

    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2000)
    entries = BookEntrySerializer(many=True, required=False)
    table = serializers.CharField(required=False, allow_blank=True, max_length=4_000_000)
    whole = serializers.BooleanField(required=False, default=False, help_text="what is not named is removed")


class DocumentSerializer(serializers.Serializer[Any]):
    """One tenant as it shall be; what is left out is not set."""

    reason = serializers.CharField(min_length=1, max_length=2000)
    parent = serializers.CharField(allow_null=True, allow_blank=True, required=False, max_length=200)  # type: ignore[assignment]  # as in the book
    namespaces = _namespaces()
    cohort = serializers.CharField(allow_null=True, allow_blank=True, required=False, max_length=200)
    weight = serializers.IntegerField(**_COUNT)
    cap_gpus = serializers.IntegerField(**_COUNT)
    guarantee_gpus = serializers.IntegerField(**_COUNT)
    min_runtime_s = serializers.IntegerField(**_COUNT)
    quotas = serializers.DictField(child=LimitsSerializer(), required=False)
    budgets = serializers.DictField(child=BudgetSerializer(), required=False)


class PutBackSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(min_length=1, max_length=2000)


class ChangeSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    name = serializers.CharField()
    field = serializers.CharField(help_text="empty where the entry came or went")
    was = serializers.JSONField(allow_null=True)
    now = serializers.JSONField(allow_null=True)


class EditionSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(source="number")
    kind = serializers.ChoiceField(choices=EditionKind.choices)
    back_to = serializers.IntegerField(allow_null=True)
    by = serializers.CharField()
    reason = serializers.CharField(help_text="empty where it also changed what the caller may not see")
    at = serializers.DateTimeField()
    changes = ChangeSerializer(many=True)
    hidden = serializers.IntegerField(help_text="changes that the caller may not see")


class ConsequenceSerializer(serializers.Serializer[Any]):
    """GPU milli, by the newest use.  ``gpu_model`` empty: a cap over all models."""

    kind = serializers.CharField()
    name = serializers.CharField()
    gpu_model = serializers.CharField()
    hp = serializers.IntegerField()
    nominal_was = serializers.IntegerField(allow_null=True)
    nominal = serializers.IntegerField(allow_null=True)
    may_borrow_was = serializers.IntegerField(allow_null=True)
    may_borrow = serializers.IntegerField(allow_null=True)
    over_was = serializers.IntegerField()
    over = serializers.IntegerField()


class PreviewSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    changes = ChangeSerializer(many=True)
    consequences = ConsequenceSerializer(many=True, help_text="only what differs, who would be over first")
    hidden = serializers.IntegerField(help_text="consequences for tenants that the caller may not see")


class StandingSerializer(serializers.Serializer[Any]):
    """GPU milli of the tenant with its teams; null: not set, or nothing can be said."""

    nominal = serializers.IntegerField(allow_null=True)
    borrowing_limit = serializers.IntegerField(allow_null=True)
    lending_limit = serializers.IntegerField(allow_null=True)
    hp = serializers.IntegerField()
    lp = serializers.IntegerField()
    pending = serializers.IntegerField()
    borrowed = serializers.IntegerField()
    lent = serializers.IntegerField()
    over = serializers.IntegerField(help_text="beyond what may be borrowed, or beyond the quota where nobody lends")
    may_borrow = serializers.IntegerField(
        allow_null=True, help_text="in all; null, too, for those who do not see the fleet: others leave it idle"
    )
    borrows = serializers.BooleanField(allow_null=True, help_text="whether it may borrow more than it does")


class ModelStandingSerializer(serializers.Serializer[Any]):
    gpu_model = serializers.CharField(allow_blank=True, help_text="empty: pods that wait for any of several")
    standing = StandingSerializer()


class TenantRowSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    name = serializers.CharField()
    depth = serializers.IntegerField()
    version = serializers.IntegerField(help_text="0: the book says nothing of it")
    in_book = serializers.BooleanField()
    over = serializers.BooleanField()
    cap_milli = serializers.IntegerField(source="cap", allow_null=True)
    whole = StandingSerializer()
    models = ModelStandingSerializer(many=True)
    theirs = serializers.ListField(child=serializers.CharField(), help_text="sources that bring a quota of their own")


class TreeAskedSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(required=False, allow_blank=True, max_length=300)
    model = serializers.CharField(required=False, allow_blank=True, max_length=300)
    cohort = serializers.CharField(required=False, allow_blank=True, max_length=300)
    show = serializers.ChoiceField(choices=SHOWN, required=False)


class TreeSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    observed_at = serializers.DateTimeField(source="at", allow_null=True)
    others = serializers.IntegerField(help_text="tenants whose names the caller may not see")
    models = serializers.ListField(child=serializers.CharField())
    results = TenantRowSerializer(source="rows", many=True)


class BurnSerializer(serializers.Serializer[Any]):
    period = serializers.CharField(source="period.name")
    begins_at = serializers.DateTimeField(source="period.start")
    ends_at = serializers.DateTimeField(source="period.end")
    unit = serializers.ChoiceField(choices=["gpu_hours", "usd"])
    limit = serializers.IntegerField()
    used = serializers.FloatField(help_text="what is known of it")
    warn_percent = serializers.IntegerField()
    state = serializers.ChoiceField(choices=["ok", "warning", "stopped"])
    forecast = serializers.FloatField(allow_null=True, help_text="straight line to the end of the period")
    exhausted_at = serializers.DateTimeField(allow_null=True)
    partly = serializers.BooleanField(help_text="some hours have no price")
    since = serializers.DateTimeField(allow_null=True, help_text="of a team that is told apart only from then on")


class TenantSerializer(TenantRowSerializer):
    entry = BookEntrySerializer(allow_null=True)
    since = serializers.DateTimeField(
        allow_null=True, help_text="from when on a team's namespaces are counted as its own; unknown before"
    )
    budgets = BurnSerializer(many=True)


class ChargeAskedSerializer(serializers.Serializer[Any]):
    period = serializers.CharField(
        required=False, max_length=30, help_text="month, last-month, quarter, rolling-7 (days); default month"
    )
    tenant = serializers.CharField(required=False, max_length=300, help_text="that one and its teams")

    def get_fields(self) -> dict[str, Any]:
        """``from`` is a word of Python and no name of a field there."""
        days = {name: serializers.CharField(required=False, max_length=10) for name in ("from", "to")}
        return {**super().get_fields(), **days}


class LineSerializer(serializers.Serializer[Any]):
    tenant = serializers.CharField(allow_blank=True, help_text="or team; empty: nobody's")
    department = serializers.CharField(allow_blank=True, help_text="above it, where the caller may read its name")
    cluster = serializers.CharField()
    gpu_model = serializers.CharField(allow_blank=True)
    tier = serializers.ChoiceField(choices=["hp", "lp"])
    milli_hours = serializers.IntegerField(help_text="thousandths of a GPU-hour")
    cents_per_gpu_hour = serializers.IntegerField(
        allow_null=True, help_text="the mean of its hours where it changed meanwhile, as quotes for LP may"
    )
    price_from = serializers.CharField()
    cents = serializers.IntegerField(allow_null=True, help_text="null: no price, which is not 0")


class SumSerializer(serializers.Serializer[Any]):
    milli_hours = serializers.IntegerField()
    unpriced_milli_hours = serializers.IntegerField(help_text="of those hours; they are in no sum of money")
    cents = serializers.IntegerField(allow_null=True)


class KnownSerializer(serializers.Serializer[Any]):
    source = serializers.CharField()  # type: ignore[assignment]  # as everywhere
    covered_s = serializers.FloatField()
    gap_s = serializers.FloatField()


class BillSerializer(serializers.Serializer[Any]):
    begins_at = serializers.DateTimeField(source="period.start")
    ends_at = serializers.DateTimeField(source="period.end")
    counted_until = serializers.DateTimeField(source="as_of", allow_null=True)
    whole = SumSerializer()
    lines = LineSerializer(many=True)
    known = KnownSerializer(many=True, help_text="how much of the period is known, by source")
    teams_since = serializers.DictField(
        child=serializers.DateTimeField(), help_text="teams that are told apart only from an instant of the period on"
    )
