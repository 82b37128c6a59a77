"""What a person fills in to load a cluster.  Only shapes are checked here; what files say is checked by the core."""

from typing import Any

from django import forms

from console.inventory.choices import Behaviour, UploadKind


class LoadForm(forms.Form):
    """Common to all kinds of files; ``kind`` tells which form was sent."""

    kind = UploadKind.SNAPSHOT
    roles: tuple[str, ...] = ("snapshot",)

    name = forms.CharField(max_length=100, label="Name of the source")
    behaviour = forms.ChoiceField(choices=Behaviour.choices, initial=Behaviour.FILE, label="What it becomes")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = "sl-input"

    def params(self) -> dict[str, Any]:
        """Everything but the name and the files."""
        return {key: value for key, value in self.cleaned_data.items() if key not in ("name", *self.roles)}

    def contents(self) -> dict[str, tuple[str, bytes]]:
        """Role -> file name and bytes, of the files that were given."""
        given = {role: self.cleaned_data.get(role) for role in self.roles}
        return {role: (file.name, file.read()) for role, file in given.items() if file is not None}


class SnapshotForm(LoadForm):
    snapshot = forms.FileField(label="Snapshot (JSON)", allow_empty_file=True)


class TablesForm(LoadForm):
    kind = UploadKind.TABLES
    roles = ("nodes", "pods")

    nodes = forms.FileField(label="nodes.csv", allow_empty_file=True)
    pods = forms.FileField(label="pods.csv", required=False, allow_empty_file=True)


class OpenbForm(LoadForm):
    kind = UploadKind.OPENB
    roles = ("nodes", "pods")

    nodes = forms.FileField(label="Node list (CSV)", allow_empty_file=True)
    pods = forms.FileField(label="Pod list (CSV)", allow_empty_file=True)
    load = forms.FloatField(
        min_value=0, max_value=1.5, initial=0.9, label="Load", help_text="share of all GPUs asked for"
    )
    lock = forms.FloatField(min_value=0, max_value=1, initial=0.4, label="Locked", help_text="share of placed pods")
    seed = forms.IntegerField(min_value=0, max_value=2**31, initial=0, label="Seed")


FORMS: dict[str, type[LoadForm]] = {form.kind: form for form in (SnapshotForm, TablesForm, OpenbForm)}


class ReasonForm(forms.Form):
    reason = forms.CharField(max_length=500, label="Reason")
