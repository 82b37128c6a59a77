"""The request form: the goal first, then only what that goal is asked with."""

import re
from typing import Any, ClassVar

from django import forms

from console.consolidation.choices import GOALS, RANGES, SEEDS, WHOLE_UNLESS_SAID
from console.ui.forms import FieldForm
from console.ui.ranges import Range

BETWEEN_NAMES = re.compile(r"[\s,]+")
GOAL_FIELDS = ("nodes", "name", "level", "slots", "whole")


def _field(name: str, allowed: Range) -> forms.IntegerField:
    return forms.IntegerField(
        label=allowed.label,
        help_text=allowed.words,
        min_value=allowed.low,
        max_value=allowed.high,
        initial=allowed.default,
        required=allowed.default is not None,
    )


def _label(scope: Any) -> str:
    """What cannot be run is said before it is computed, not after."""
    where = f"{scope.cluster}, {scope.nodes:,} nodes, {scope.source}"
    return where if scope.acts else f"{where} (only observed)"


class RequestForm(FieldForm):
    """``scopes`` are the rows of ``selectors.scopes``: what can be chosen is what is observed."""

    shown_at: ClassVar = {"cluster": "scope"}
    goal = forms.ChoiceField(
        widget=forms.HiddenInput, choices=[(key, one.label) for key, one in GOALS.items()], required=False
    )
    scope = forms.ChoiceField(label="Cluster")
    nodes = forms.CharField(max_length=300_000, widget=forms.Textarea(attrs={"rows": 4}))
    name = forms.CharField(max_length=512)
    level = forms.CharField(max_length=253, required=False)
    slots = forms.IntegerField(min_value=1, max_value=10_000, initial=1)
    whole = forms.BooleanField(
        label="All or nothing", required=False, help_text="moves nobody unless everything that is asked can be reached"
    )
    models = forms.MultipleChoiceField(label="GPU models", required=False, help_text="none chosen: all of the cluster")
    depth = _field("depth", RANGES["depth"])
    rounds = _field("rounds", RANGES["rounds"])
    partition = _field("partition", RANGES["partition"])
    exact_up_to = _field("exact_up_to", RANGES["exact_up_to"])
    repack_up_to = _field("repack_up_to", RANGES["repack_up_to"])
    max_moves = _field("max_moves", RANGES["max_moves"])
    seed = _field("seed", SEEDS)
    request_key = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)

    def __init__(self, *args: Any, scopes: list[Any], goal: str = "nodes", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.choice = GOALS.get(goal, GOALS["nodes"])
        kept = {"goal", "scope", "seed", "request_key", *self.choice.fields, *self.choice.searched}
        for name in [name for name in self.fields if name not in kept]:
            del self.fields[name]
        for name, label, words in self.choice.labels:
            self.fields[name].label, self.fields[name].help_text = label, words
        if "whole" in self.fields:
            self.fields["whole"].initial = goal in WHOLE_UNLESS_SAID
        self.fields["goal"].initial = goal
        labels = [(one.key, _label(one)) for one in scopes]
        self.fields["scope"].choices = labels  # type: ignore[attr-defined]
        if "models" in self.fields:
            models = sorted({model for one in scopes for model in one.models})
            self.fields["models"].choices = [(model, model) for model in models]  # type: ignore[attr-defined]

    def asked(self) -> dict[str, Any]:
        """The arguments of ``services.request``."""
        said = self.cleaned_data
        source_id, _, cluster = said["scope"].partition("|")
        return {
            "source_id": int(source_id),
            "cluster": cluster,
            "models": said.get("models", []),
            "params": {name: said[name] for name in self.choice.searched},
            "goal": self._goal(),
            "seed": said["seed"],
            "request_key": said["request_key"] or None,
        }

    def _goal(self) -> dict[str, Any]:
        said = self.cleaned_data
        given = {name: said[name] for name in GOAL_FIELDS if name in self.fields and said.get(name) not in (None, "")}
        if "nodes" in given:
            given["nodes"] = list(dict.fromkeys(name for name in BETWEEN_NAMES.split(given["nodes"]) if name))
        return {"kind": said["goal"] or "nodes", **given}
