"""What people type when they say when a workload sleeps."""

from datetime import time
from typing import Any

from django import forms

from console.standby.choices import DAYS
from console.standby.models import Window
from console.ui.forms import FieldForm

ONCE, WEEKLY = "once", "weekly"
KINDS = ((WEEKLY, "On days of the week"), (ONCE, "Once"))


class WhenForm(FieldForm):
    """``kind`` decides which fields there are."""

    shown_at = {"from_minute": "from_time", "until_minute": "until_time"}  # noqa: RUF012
    kind = forms.ChoiceField(choices=KINDS, initial=WEEKLY, widget=forms.HiddenInput)
    days = forms.TypedMultipleChoiceField(
        choices=list(enumerate(DAYS)), coerce=int, label="Days on which it begins", widget=forms.CheckboxSelectMultiple
    )
    from_time = forms.TimeField(label="Asleep from", help_text="UTC", widget=forms.TimeInput({"type": "time"}))
    until_time = forms.TimeField(
        label="Serving again at", help_text="UTC; the next day where it is not later",
        widget=forms.TimeInput({"type": "time"}),
    )  # fmt: skip
    first_day = forms.DateField(required=False, label="First day", widget=forms.DateInput({"type": "date"}))
    last_day = forms.DateField(required=False, label="Last day", help_text="none: until it is ended",
        widget=forms.DateInput({"type": "date"}))  # fmt: skip
    begins_at = forms.DateTimeField(label="Asleep from", help_text="UTC", widget=forms.DateTimeInput({"type": "datetime-local"}))  # fmt: skip # noqa: E501
    ends_at = forms.DateTimeField(label="Serving again at", help_text="UTC", widget=forms.DateTimeInput({"type": "datetime-local"}))  # fmt: skip # noqa: E501
    reason = forms.CharField(required=False, max_length=2000, label="Why", help_text="shown beside the window")

    def __init__(self, *args: Any, kind: str = WEEKLY, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["kind"].initial = kind
        drop = (
            ("begins_at", "ends_at") if kind != ONCE else ("days", "from_time", "until_time", "first_day", "last_day")
        )
        for name in drop:
            del self.fields[name]

    def when(self) -> dict[str, Any]:
        """The arguments that say when; of ``make_window`` and ``edit_window``."""
        said = self.cleaned_data
        if "begins_at" in self.fields:
            return {"begins_at": said["begins_at"], "ends_at": said["ends_at"]}
        minutes = {"from_minute": _minute(said["from_time"]), "until_minute": _minute(said["until_time"])}
        return {"days": said["days"], **minutes, "first_day": said["first_day"], "last_day": said["last_day"]}


class MakeForm(WhenForm):
    """``workloads``: (source, its name, cluster, namespace/workload, GPUs)."""

    workload = forms.ChoiceField(label="Workload")

    def __init__(self, *args: Any, workloads: list[tuple[int, str, str, str, float]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["workload"].choices = [  # type: ignore[attr-defined]
            (f"{source}|{cluster}|{key}", f"{key}, {gpus:g} GPUs in {cluster}")
            for source, _, cluster, key, gpus in workloads
        ]
        self.order_fields(["workload", *self.fields])

    def asked(self) -> dict[str, Any]:
        """The arguments of ``services.make_window`` but for the reason."""
        source, cluster, key = self.cleaned_data["workload"].split("|", 2)
        namespace, _, name = key.partition("/")
        where = {"source_id": int(source), "cluster": cluster, "namespace": namespace, "workload": name}
        return {**where, **self.when()}


class EditForm(WhenForm):
    version = forms.IntegerField(min_value=1, widget=forms.HiddenInput)


def initial_of(window: Window) -> dict[str, Any]:
    """The fields of a form that say what the window says now."""
    weekly = window.weekly
    said: dict[str, Any] = {"reason": window.reason, "version": window.version}
    if weekly is None:
        assert window.begins_at is not None and window.ends_at is not None
        texts = {name: f"{getattr(window, name):%Y-%m-%dT%H:%M}" for name in ("begins_at", "ends_at")}
        return {**said, "kind": ONCE, **texts}
    times = {"from_time": _time(weekly.from_minute), "until_time": _time(weekly.until_minute)}
    dates = {name: "" if day is None else day.isoformat() for name, day in (("first_day", weekly.first_day), ("last_day", weekly.last_day))}  # fmt: skip # noqa: E501
    return {**said, "kind": WEEKLY, "days": list(weekly.days), **times, **dates}


def _minute(at: time) -> int:
    return at.hour * 60 + at.minute


def _time(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"
