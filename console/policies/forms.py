"""What people type when they decide a setting."""

from typing import Any

from django import forms

from console.policies.choices import SETTINGS, Scope, WindowKind
from console.ui.forms import FieldForm


class PlaceForm(FieldForm):
    """Which place a page is about; names that a scope does not use are left aside."""

    scope = forms.ChoiceField(choices=Scope.choices, initial=Scope.FLEET)
    cluster = forms.CharField(required=False, max_length=253)
    gpu_model = forms.CharField(required=False, max_length=253, label="GPU model")
    tenant = forms.CharField(required=False, max_length=253)


class SettingForm(PlaceForm):
    """A value for one setting at one place, on top of the version that was read."""

    name = forms.ChoiceField(choices=[(one.name, f"{one.label} ({one.unit})") for one in SETTINGS.values()])
    value = forms.IntegerField(required=False, label="Value")
    reason = forms.CharField(max_length=2000, label="Reason, kept in the history", required=False)
    version = forms.IntegerField(min_value=0, required=False, widget=forms.HiddenInput)
    of = forms.CharField(required=False, widget=forms.HiddenInput)  # the setting and place whose version that is

    def place(self) -> dict[str, str]:
        """The arguments of ``services.place_of``."""
        return {field: self.cleaned_data.get(field) or "" for field in PlaceForm.base_fields}


def asked_place(given: Any) -> dict[str, str]:
    """The place in an address, as the arguments of ``services.place_of``; the fleet where none is named."""
    said = {field: str(given.get(field, "")) for field in PlaceForm.base_fields}
    return {**said, "scope": said["scope"] or Scope.FLEET.value}


class WindowForm(PlaceForm):
    """A recurring time for a place."""

    kind = forms.ChoiceField(choices=WindowKind.choices, initial=WindowKind.MAINTENANCE)
    cron = forms.CharField(max_length=100, label="Starts (cron: minute hour day month weekday)")
    minutes = forms.IntegerField(min_value=1, label="For (minutes)")
    zone = forms.CharField(max_length=64, initial="UTC", label="Time zone (IANA)")
    skip_days = forms.CharField(required=False, max_length=5000, label="Days on which it does not take place")
    reason = forms.CharField(max_length=2000, label="Reason, shown where it closes")

    def asked(self) -> dict[str, Any]:
        """The arguments of ``windowing.add_window`` beside the place."""
        said = {name: self.cleaned_data[name] for name in ("kind", "cron", "minutes", "zone", "reason")}
        return {**said, "skip_days": self.cleaned_data["skip_days"].replace(",", " ").split()}

    def place(self) -> dict[str, str]:
        return {field: self.cleaned_data.get(field) or "" for field in PlaceForm.base_fields}
