"""The request form."""

from typing import Any

from django import forms

from console.consolidation.choices import RANGES, SEEDS, Range


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


class RequestForm(forms.Form):
    """``scopes`` are the rows of ``selectors.scopes``: what can be chosen is what is observed."""

    scope = forms.ChoiceField(label="Cluster")
    models = forms.MultipleChoiceField(label="GPU models", required=False, help_text="none chosen: all of the cluster")
    depth = _field("depth", RANGES["depth"])
    rounds = _field("rounds", RANGES["rounds"])
    partition = _field("partition", RANGES["partition"])
    exact_up_to = _field("exact_up_to", RANGES["exact_up_to"])
    max_moves = _field("max_moves", RANGES["max_moves"])
    seed = _field("seed", SEEDS)
    request_key = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)

    def __init__(self, *args: Any, scopes: list[Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        labels = [(one.key, _label(one)) for one in scopes]
        models = sorted({model for one in scopes for model in one.models})
        self.fields["scope"].choices = labels  # type: ignore[attr-defined]
        self.fields["models"].choices = [(model, model) for model in models]  # type: ignore[attr-defined]

    def asked(self) -> dict[str, Any]:
        """The arguments of ``services.request``."""
        said = self.cleaned_data
        source_id, _, cluster = said["scope"].partition("|")
        return {
            "source_id": int(source_id),
            "cluster": cluster,
            "models": said["models"],
            "params": {name: said[name] for name in RANGES},
            "seed": said["seed"],
            "request_key": said["request_key"] or None,
        }

    def refuse(self, field: str, reason: str) -> None:
        self.add_error("scope" if field == "cluster" else field, reason)
