"""What people type about prices."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar

from django import forms

from console.prices.choices import BOUNDS, MOST_CENTS
from console.ui.forms import FieldForm


class DecisionForm(FieldForm):
    """A yes or no, or taking it back."""

    digest = forms.CharField(required=False, max_length=64)
    reason = forms.CharField(required=False, max_length=2000, label="Reason")


class SendForm(FieldForm):
    """To whom approves: from which hour on, and why."""

    effective_at = forms.DateTimeField(
        label="Takes effect, UTC", input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"], required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": 3600}, format="%Y-%m-%dT%H:%M"),
    )  # fmt: skip
    reason = forms.CharField(max_length=2000, required=False, label="Why, shown to the approver and kept")
    version = forms.IntegerField(min_value=1, required=False)

    def hour(self) -> datetime | None:
        said: datetime | None = self.cleaned_data["effective_at"]
        return None if said is None else said.replace(tzinfo=UTC)


class PricesForm(FieldForm):
    """One field of USD for each line of a draft; empty says no quote where there was none, else it is wrong."""

    version = forms.IntegerField(min_value=1, required=False)
    reason = forms.CharField(max_length=2000, required=False)

    def __init__(self, *args: Any, lines: Any = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lines = list(lines)
        for at, _ in enumerate(self.lines):
            self.fields[f"price_{at}"] = forms.DecimalField(
                min_value=Decimal("0.01"), max_value=Decimal(MOST_CENTS) / 100, decimal_places=2, required=False
            )

    def cents(self) -> dict[str, int | None]:
        found: dict[str, int | None] = {}
        for at, line in enumerate(self.lines):
            said = self.cleaned_data.get(f"price_{at}")
            found[line.gpu_model] = None if said is None else int(said * 100)
        return found

    def clean(self) -> dict[str, Any]:
        for at, line in enumerate(self.lines):
            name = f"price_{at}"
            if name not in self.errors and self.cleaned_data.get(name) is None and line.cents is not None:
                self.add_error(name, "name a price")
        return self.cleaned_data


class TermsForm(FieldForm):
    """The bounds of one model, or of all; empty says nothing."""

    shown_at: ClassVar = {}
    gpu_model = forms.CharField(required=False, max_length=253, label="GPU model, empty: all")
    version = forms.IntegerField(min_value=0, required=False, widget=forms.HiddenInput)
    reason = forms.CharField(required=False, max_length=2000, label="Reason, kept in the history")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, bound in BOUNDS.items():
            self.fields[name] = forms.IntegerField(
                required=False, min_value=bound.low, max_value=bound.high, label=f"{bound.label}, {bound.unit}",
                help_text=bound.meaning,
            )  # fmt: skip

    def values(self) -> dict[str, int | None]:
        return {name: self.cleaned_data.get(name) for name in BOUNDS}
