"""What people type: decisions, cuts, freezes."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, ClassVar

from django import forms
from django.utils import timezone

from console.plans.choices import FreezeScope
from console.ui.forms import FieldForm

UNASSIGNED = "unassigned"  # as tenants are shown that have no name


class ReasonForm(forms.Form):
    """A decision about the plan with this digest, and why."""

    digest = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)
    reason = forms.CharField(required=False, max_length=2000, strip=True)
    start = forms.BooleanField(required=False)
    hours = forms.IntegerField(required=False)  # of a hold; its service says how many there may be


class PartForm(forms.Form):
    """What to leave out of a proposal: tenants, and chains by their numbers (from 1), ticked or typed as 3, 7-9."""

    tenant = forms.MultipleChoiceField(required=False)
    chain = forms.MultipleChoiceField(required=False)
    chains = forms.CharField(required=False, max_length=2000, label="More chains")

    def __init__(self, *args: Any, tenants: Iterable[str], count: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.count = count
        self.fields["tenant"].choices = [(name or UNASSIGNED, name or UNASSIGNED) for name in tenants]  # type: ignore[attr-defined]
        self.fields["chain"].choices = [(str(number), str(number)) for number in range(1, count + 1)]  # type: ignore[attr-defined]

    def clean_chains(self) -> list[int]:
        return _numbers(self.cleaned_data["chains"], self.count)

    def left_out(self) -> dict[str, Any]:
        """The arguments of ``part_of``."""
        said = self.cleaned_data
        tenants = {"" if name == UNASSIGNED else name for name in said["tenant"]}
        return {"tenants": tenants, "chains": {int(one) - 1 for one in (*said["chain"], *said["chains"])}}


def _numbers(text: str, count: int) -> list[int]:
    """3, 7-9 as 3, 7, 8, 9."""
    found: list[int] = []
    for word in text.replace(",", " ").split():
        first, _, last = word.partition("-")
        if not (first.isascii() and first.isdigit() and (not last or (last.isascii() and last.isdigit()))):
            raise forms.ValidationError(f"{word[:40]} is no number of a chain: write 3, 7-9.")
        low, high = int(first), int(last or first)
        if not 1 <= low <= high <= count:
            raise forms.ValidationError(f"{word[:40]}: chains are numbered from 1 to {count}.")
        found += range(low, high + 1)
    return found


class BesideForm(forms.Form):
    """Which other plan to show beside one."""

    plan = forms.IntegerField(required=False, min_value=1, max_value=10**18 - 1)


class CutForm(forms.Form):
    moves = forms.IntegerField(min_value=1)


class FreezeForm(FieldForm):
    """Who may freeze what for how long; the widest scope is the default because it is the safe one."""

    shown_at: ClassVar = {"expires_at": "minutes"}
    scope = forms.ChoiceField(choices=FreezeScope.choices, initial=FreezeScope.FLEET)
    cluster = forms.CharField(required=False, max_length=253)
    gpu_model = forms.CharField(required=False, max_length=253, label="GPU model")
    reason = forms.CharField(max_length=2000)
    minutes = forms.IntegerField(min_value=1, max_value=7 * 24 * 60, initial=60, label="Minutes")

    def freeze(self) -> dict[str, Any]:
        """The arguments of ``set_freeze``."""
        said = dict(self.cleaned_data)
        said["expires_at"] = timezone.now() + timedelta(minutes=said.pop("minutes"))
        return said
