"""What people say of a routine: which question, when, and why."""

import re
from typing import Any

from django import forms

from console.routines.choices import ASKED_WITH, TRIGGER_LABELS, TRIGGER_RANGES, Kind
from console.ui.forms import FieldForm

BETWEEN = re.compile(r"[\s,]+")


class RoutineForm(FieldForm):
    """``plans`` are those whose question can be asked again."""

    name = forms.CharField(max_length=100, label="Name")
    kind = forms.ChoiceField(choices=Kind.choices, widget=forms.HiddenInput)
    plan = forms.TypedChoiceField(coerce=int, label="Question")
    cron = forms.CharField(max_length=100, label="Times", help_text="cron: minute, hour, day, month, day of the week")
    zone = forms.CharField(max_length=64, label="Time zone", initial="UTC", help_text="such as Europe/Berlin")
    skip_days = forms.CharField(
        required=False, max_length=6000, label="Days to skip", help_text="such as 2026-12-24, on the clock of the zone"
    )
    reason = forms.CharField(max_length=2000, label="Why", help_text="its plans carry it")

    def __init__(self, *args: Any, plans: list[Any], kind: str = Kind.SCHEDULE.value, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.trigger = ASKED_WITH.get(Kind(kind), ()) if kind in Kind.values else ()
        self.fields["kind"].initial = kind
        labels = [(plan.pk, f"Plan {plan.pk}: {plan.title}") for plan in plans]
        self.fields["plan"].choices = labels  # type: ignore[attr-defined]
        if kind == Kind.GANG_WAITS:
            self.fields["plan"].label = "In the cluster of"
        if kind != Kind.SCHEDULE:
            for name in ("cron", "zone", "skip_days"):
                del self.fields[name]
        for name in self.trigger:
            low, high, usual = TRIGGER_RANGES[name]
            before, unit = TRIGGER_LABELS[name]
            self.fields[name] = forms.IntegerField(
                label=f"{before.capitalize()} … {unit}", min_value=low, max_value=high, initial=usual
            )

    def asked(self) -> dict[str, Any]:
        """The arguments of ``services.make_routine``."""
        said = self.cleaned_data
        texts = ("name", "kind", "cron", "zone", "reason")
        plain: dict[str, Any] = {name: said[name] for name in texts if name in said}
        return {
            **plain,
            "plan_id": said["plan"],
            "skip_days": days_in(said.get("skip_days", "")),
            "threshold": {name: said[name] for name in self.trigger},
        }


def days_in(text: str) -> list[str]:
    return [day for day in BETWEEN.split(text) if day]
