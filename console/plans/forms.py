"""What people type: decisions, cuts, freezes."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone

from console.plans.choices import FreezeScope


class ReasonForm(forms.Form):
    """A decision about the plan with this digest, and why."""

    digest = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)
    reason = forms.CharField(required=False, max_length=2000, strip=True)
    start = forms.BooleanField(required=False)


class CutForm(forms.Form):
    moves = forms.IntegerField(min_value=1)


class FreezeForm(forms.Form):
    """Who may freeze what for how long; the widest scope is the default because it is the safe one."""

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
