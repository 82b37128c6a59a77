"""What people say of on-call: a rota, who takes over, how they are reached, and a decision by phone."""

import re
from datetime import UTC
from typing import Any

from django import forms

from console.oncall.choices import RANGES, REASONS, URGENT, WEEKDAYS, ContactKind, Handover, Kind, Scope
from console.ui.forms import FieldForm

BETWEEN = re.compile(r"[\s,;]+")
LABELS = {
    "next_minutes": "Minutes until the next person",
    "singles": "People called one by one",
    "last_minutes": "Minutes from the whole rota to all approvers",
    "hold_minutes": "Minutes that “I am looking” lasts",
    "review_hours": "Hours that a review may stay open",
}


class RotaForm(FieldForm):
    """``placed``: the place is fixed already."""

    field_order = ("scope", "cluster", "people", "handover", "weekday", "at", "zone", *RANGES)
    scope = forms.ChoiceField(choices=Scope.choices, initial=Scope.FLEET, label="Place")
    cluster = forms.CharField(required=False, max_length=253)
    people = forms.CharField(max_length=2000, label="People, in their order")
    handover = forms.ChoiceField(choices=Handover.choices, initial=Handover.WEEKLY)
    weekday = forms.TypedChoiceField(choices=list(enumerate(WEEKDAYS)), coerce=int, initial=0, label="On")
    at = forms.TimeField(initial="09:00", label="At")
    zone = forms.CharField(max_length=64, initial="UTC", label="Time zone (IANA)")
    quiet_from = forms.TimeField(required=False, label="Quiet hours from")
    quiet_until = forms.TimeField(required=False, label="Quiet hours until")
    urgent = forms.MultipleChoiceField(
        required=False, choices=Kind.choices, initial=list(URGENT), label="Wakes somebody all the same"
    )
    reason = forms.CharField(max_length=2000, label="Reason, kept in the audit log")
    version = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput)

    def __init__(self, *args: Any, placed: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, (low, high, usual, _unit) in RANGES.items():
            self.fields[name] = forms.IntegerField(label=LABELS[name], min_value=low, max_value=high, initial=usual)
        self.order_fields(self.field_order)
        if placed:
            del self.fields["scope"], self.fields["cluster"]

    def asked(self) -> dict[str, Any]:
        """The arguments of ``make_rota``, or of ``change_rota`` where the place is fixed."""
        said = {name: value for name, value in self.cleaned_data.items() if name != "version"}
        return {**said, "people": [name for name in BETWEEN.split(said["people"]) if name]}


class CoverForm(forms.Form):
    """Who takes over, from when until when (UTC)."""

    who = forms.CharField(max_length=150, label="Who")
    begins_at = forms.DateTimeField(required=False, label="From (UTC; now, if empty)")
    ends_at = forms.DateTimeField(label="Until (UTC)")
    reason = forms.CharField(required=False, max_length=500, label="Why")

    def asked(self) -> dict[str, Any]:
        """The arguments of ``take_over``; what was typed is on the clock of UTC."""
        said = dict(self.cleaned_data)
        for name in ("begins_at", "ends_at"):
            at = said[name]
            said[name] = at if at is None else at.replace(tzinfo=at.tzinfo or UTC)
        return said


class ContactForm(forms.Form):
    kind = forms.ChoiceField(choices=ContactKind.choices)
    address = forms.CharField(max_length=2000, strip=True)


class DecisionForm(forms.Form):
    """A decision by phone: one of the prepared reasons, or one's own words, which count where there are any."""

    digest = forms.CharField(required=False, max_length=64)
    prepared = forms.ChoiceField(required=False, choices=[(one, one) for some in REASONS.values() for one in some])
    reason = forms.CharField(required=False, max_length=2000, strip=True)

    def said(self, action: str) -> str:
        """The reason of an action; "" where the prepared one is meant for another and there are no own words."""
        own, prepared = str(self.cleaned_data["reason"]), str(self.cleaned_data["prepared"])
        meant_for = next((act for act, words in REASONS.items() if prepared in words), "")
        return own or (prepared if action.startswith(meant_for) else "")
