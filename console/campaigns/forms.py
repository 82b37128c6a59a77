"""What people say of a campaign: which nodes, how they are grouped, and how much may be out of service."""

import re
from typing import Any, ClassVar

from django import forms

from console.campaigns.choices import RANGES, Order, Refused, Selects
from console.ui.forms import FieldForm

BETWEEN = re.compile(r"[\s,]+")
OPTIONAL = ("most_out", "most_out_per_cent", "most_per_group")
ASKED_WITH = {
    Selects.LABEL: ("pair",),
    Selects.MODEL: ("model",),
    Selects.DOMAINS: ("names",),
    Selects.NODES: ("names",),
    Selects.UNFIT: (),
}


def _whole(name: str) -> forms.IntegerField:
    low, high, usual, label, unit = RANGES[name]
    return forms.IntegerField(
        label=label, help_text=unit, min_value=low, max_value=high, initial=usual, required=name not in OPTIONAL
    )


class CampaignForm(FieldForm):
    """``options`` are ``selectors.options_of`` the cluster; ``scope`` is its key."""

    shown_at: ClassVar = {"value": "pair", "label": "pair", "cluster": "scope", "done_label": "done_value"}
    selects = forms.ChoiceField(choices=Selects.choices, widget=forms.HiddenInput)
    scope = forms.CharField(max_length=300, widget=forms.HiddenInput)
    pair = forms.ChoiceField(label="Label", help_text="label = value, as nodes have it now")
    model = forms.ChoiceField(label="GPU model")
    names = forms.CharField(max_length=300_000, widget=forms.Textarea(attrs={"rows": 4}))
    done_label = forms.CharField(
        required=False, max_length=317, label="Label that shows that it is done", help_text="empty: somebody says so"
    )
    done_value = forms.CharField(
        required=False, max_length=63, label="Its new value",
        help_text="nodes that have it need nothing, and are given back; empty: somebody says when the work is done",
    )  # fmt: skip
    grouping = forms.ChoiceField(label="Groups")
    most_per_group = _whole("most_per_group")
    order = forms.ChoiceField(label="Order", choices=Order.choices)
    at_once = _whole("at_once")
    protect = forms.ChoiceField(label="Never two groups in one", required=False, help_text="however many at once")
    most_out = _whole("most_out")
    most_out_per_cent = _whole("most_out_per_cent")
    work_minutes = _whole("work_minutes")
    stop_after = _whole("stop_after")
    most_asks = _whole("most_asks")
    when_refused = forms.ChoiceField(label="Where people say no", choices=Refused.choices)
    name = forms.CharField(max_length=100, label="Name", help_text="its plans carry it")
    reason = forms.CharField(max_length=2000, label="Why", help_text="its plans carry it")

    def __init__(self, *args: Any, options: Any, selects: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = Selects(selects) if selects in Selects.values else Selects.LABEL
        for name in {"pair", "model", "names"} - set(ASKED_WITH[self.kind]):
            del self.fields[name]
        if self.kind == Selects.LABEL:
            del self.fields["done_label"]
        self.fields["selects"].initial = self.kind
        pairs = [
            (f"{label}={value}", f"{label} = {value} ({nodes:,} nodes)")
            for label, values in options.labels.items()
            for value, nodes in sorted(values.items())
        ]
        for name, choices in (
            ("pair", pairs), ("model", [(one, one) for one in options.models]), ("grouping", options.groupings),
            ("protect", [("", "nothing is protected"), *options.protects]),
        ):  # fmt: skip
            if name in self.fields:
                self.fields[name].choices = choices  # type: ignore[attr-defined]
        if self.kind == Selects.DOMAINS:
            self.fields["names"].label = "ASWs or other domains"
        elif self.kind == Selects.NODES:
            self.fields["names"].label = "Nodes"
        if "names" in self.fields:
            self.fields["names"].help_text = "one a line, or between spaces or commas"

    def asked(self) -> dict[str, Any]:
        """The argument of ``services.make_campaign``."""
        said = self.cleaned_data
        source_id, _, cluster = said["scope"].partition("|")
        label, _, value = said.get("pair", "").partition("=")
        wanted = {"label": label, "value": value} if label else {}
        if "model" in said:
            wanted = {"model": said["model"]}
        if "names" in said:
            wanted = {"names": list(dict.fromkeys(name for name in BETWEEN.split(said["names"]) if name))}
        done_label = label if self.kind == Selects.LABEL else said.get("done_label", "")
        return {
            **{name: said[name] for name in (*RANGES, "grouping", "order", "when_refused", "protect")},
            "name": said.get("name", ""),
            "reason": said.get("reason", ""),
            "source_id": int(source_id) if source_id.isdecimal() else 0,
            "cluster": cluster,
            "selects": said["selects"],
            "wanted": wanted,
            "done_label": done_label if said["done_value"] or self.kind != Selects.LABEL else "",
            "done_value": said["done_value"],
        }


class CountForm(CampaignForm):
    """The same while it is filled in: what is only said at the end may be missing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].required = self.fields["reason"].required = False
