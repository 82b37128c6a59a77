"""What a person fills in to load a cluster.  Only shapes are checked here; what files say is checked by the core."""

from typing import Any

from django import forms

from console.inventory.choices import Behaviour, Levels, Means, UploadKind, Way
from console.ui.forms import FieldForm


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


class NameForm(forms.Form):
    name = forms.CharField(max_length=100, label="Name")


class ClusterForm(forms.Form):
    """A Kubernetes cluster.  What is pasted or chosen here is never drawn again, also where it was refused."""

    name = forms.CharField(
        max_length=100, label="Name", help_text="of the source and of its cluster; the source can be renamed"
    )
    way = forms.ChoiceField(choices=Way.choices, initial=Way.KUBECONFIG, label="How it is reached")
    pasted = forms.CharField(
        required=False, label="Kubeconfig", help_text="pasted here", widget=forms.Textarea, max_length=1 << 20
    )
    file = forms.FileField(required=False, label="Kubeconfig as a file", help_text="instead of pasting it")
    context = forms.CharField(required=False, max_length=253, widget=forms.HiddenInput)
    period_s = forms.IntegerField(label="Seconds between readings", min_value=2, max_value=3600, initial=10)
    levels = forms.ChoiceField(choices=Levels.choices, initial=Levels.AUTO, label="Network levels")
    custom_levels = forms.CharField(
        required=False,
        label="Levels of your own",
        help_text="level=node label, one a line, the widest first; the leaf switch is called asw",
        widget=forms.Textarea,
        max_length=4000,
    )
    tenant_labels = forms.CharField(
        required=False,
        max_length=1000,
        label="Tenant labels",
        help_text="looked up on pods, then on their namespace; apart by commas",
    )
    namespace_tenants = forms.BooleanField(
        required=False, initial=True, label="Where no label and no queue says it, the namespace is the tenant"
    )
    low_classes = forms.CharField(
        required=False, max_length=1000, label="LP by priority class", help_text="names, apart by commas"
    )
    low_below = forms.IntegerField(required=False, label="LP below priority", help_text="empty: by no number")
    low_labels = forms.CharField(
        required=False, max_length=1000, label="LP by label", help_text="key=value, apart by commas"
    )

    def __init__(self, *args: Any, known: bool = False, **kwargs: Any) -> None:
        """``known``: of a cluster that exists, whose name stays and whose credentials may stay."""
        super().__init__(*args, **kwargs)
        if known:
            del self.fields["name"]
            self.fields["pasted"].help_text = "pasted here; left empty, the credentials stay as they are"
        for name, field in self.fields.items():
            plain = name not in ("namespace_tenants", "context")
            field.widget.attrs.update({"class": "sl-input", "autocomplete": "off"} if plain else {})
        self.fields["pasted"].widget.attrs.update({"rows": 6, "spellcheck": "false"})
        self.fields["custom_levels"].widget.attrs.update({"rows": 3, "spellcheck": "false"})

    def clean(self) -> dict[str, Any]:
        said = super().clean() or self.cleaned_data
        for name in ("custom_levels", "low_labels"):
            if name in said and any(not all(pair) for pair in pairs(said[name])):
                self.add_error(name, "Each of them is a name, an equals sign and a value.")
        return said

    def asked(self, name: str = "") -> dict[str, Any]:
        """The fields of ``services.Asked``."""
        said = self.cleaned_data
        given = said["file"].read() if said.get("file") is not None else said["pasted"].encode()
        custom = said["levels"] == Levels.CUSTOM
        return {
            "name": name or said["name"],
            "way": said["way"],
            "kubeconfig": given if given.strip() else None,
            "context": said["context"],
            "period_s": said["period_s"],
            "levels": pairs(said["custom_levels"]) if custom else said["levels"],
            "tenant_labels": words(said["tenant_labels"]),
            "namespace_tenants": said["namespace_tenants"],
            "low_classes": words(said["low_classes"]),
            "low_below": said["low_below"],
            "low_labels": pairs(said["low_labels"]),
        }


class TelemetryForm(FieldForm):
    """A Prometheus endpoint of a cluster.  The secret is never drawn again, also where it was refused."""

    url = forms.CharField(max_length=500, label="Address", help_text="what stands before /api/v1/query")
    means = forms.ChoiceField(choices=Means.choices, initial=Means.NOBODY, label="As whom")
    user = forms.CharField(required=False, max_length=200, label="User", help_text="with a password only")
    secret = forms.CharField(
        required=False, max_length=20_000, label="Token or password", widget=forms.PasswordInput(render_value=False)
    )
    ca = forms.CharField(
        required=False, max_length=100_000, label="Authority", help_text="PEM; empty: the usual", widget=forms.Textarea
    )
    node_labels = forms.CharField(
        required=False, max_length=500, label="Labels with the node", help_text="the first that is there counts"
    )
    matchers = forms.CharField(
        required=False, max_length=1000, label="Only series with", help_text="label=value, apart by commas"
    )
    idle_below = forms.IntegerField(min_value=1, max_value=100, initial=5, label="Idle below, % of SMs")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs.update({"class": "sl-input", "autocomplete": "off"})
        self.fields["ca"].widget.attrs.update({"rows": 2, "spellcheck": "false"})

    def clean_matchers(self) -> str:
        text = str(self.cleaned_data["matchers"])
        if any(not all(pair) for pair in pairs(text)):
            raise forms.ValidationError("Each of them is a label, an equals sign and a value.")
        return text

    def asked(self) -> dict[str, Any]:
        """The fields of ``services.TelemetryAsked``."""
        said = self.cleaned_data
        lists = {"node_labels": words(said["node_labels"]), "matchers": pairs(said["matchers"])}
        return {**said, **lists}


def words(text: str) -> tuple[str, ...]:
    """What stands between commas or on lines of its own."""
    return tuple(word.strip() for word in text.replace("\n", ",").split(",") if word.strip())


def pairs(text: str) -> tuple[tuple[str, str], ...]:
    """``name=value``; a part that is missing is ""."""
    found = (word.partition("=") for word in words(text))
    return tuple((name.strip(), value.strip()) for name, _, value in found)


class ReleaseForm(FieldForm):
    """The window for which an owner is asked to let a locked workload be moved; instants are UTC."""

    begins_at = forms.DateTimeField(label="From (UTC)")
    ends_at = forms.DateTimeField(label="Until (UTC)")
    why = forms.CharField(label="Why", max_length=2000, help_text="the owner decides by it")


class AnswerForm(forms.Form):
    """Yes or no, and why."""

    yes = forms.TypedChoiceField(choices=[("yes", "Yes"), ("no", "No")], coerce=lambda word: word == "yes")
    reason = forms.CharField(label="Reason", max_length=2000)


class WithdrawForm(forms.Form):
    reason = forms.CharField(label="Reason", max_length=2000)
