"""The question: a shape, how near its pods are to stand, and what is to be predicted."""

from typing import Any, ClassVar

from django import forms

from console.placement.choices import BILLIONS, RANGES, TOGETHER, Tier
from console.placement.selectors import Scope
from console.ui.forms import FieldForm
from console.ui.ranges import Range

MILLI = 1000
MIXED = "mixed"
GIB = 1024


def _field(name: str) -> forms.IntegerField:
    allowed: Range = RANGES[name]
    return forms.IntegerField(label=allowed.label, help_text=allowed.words, min_value=allowed.low,
                              max_value=allowed.high, initial=allowed.default)  # fmt: skip


class AskForm(FieldForm):
    """``scopes`` are the rows of ``selectors.scopes``.  CPU in cores and memory in GiB, as people say them."""

    shown_at: ClassVar = {"cluster": "scope", "cpu_milli": "cpu_cores", "memory_mib": "memory_gib"}
    scope = forms.ChoiceField(label="Cluster")
    pods = _field("pods")
    gpus = _field("gpus")
    cpu_cores = forms.IntegerField(label="CPU cores of each pod", min_value=0, max_value=1_000_000, initial=0)
    memory_gib = forms.IntegerField(label="Memory of each pod, GiB", min_value=0, max_value=10_000_000, initial=0)
    model = forms.ChoiceField(label="GPU model", required=False)
    mix_models = forms.ChoiceField(
        label="GPU models of its pods", required=False, choices=[("", "one for all"), (MIXED, "may be mixed")]
    )
    tier = forms.ChoiceField(label="Class", choices=Tier.choices, initial=Tier.HP)
    required = forms.ChoiceField(label="Required in one", required=False)
    preferred = forms.ChoiceField(label="Preferred in one", required=False)
    slice_pods = _field("slice_pods")
    slice_level = forms.ChoiceField(label="Each slice in one", required=False)
    billions = forms.FloatField(
        label="Parameters, billions", required=False, min_value=BILLIONS[0], max_value=BILLIONS[1],
        help_text="empty: no step time",
    )  # fmt: skip
    tp = _field("tp")
    pp = _field("pp")
    ep = _field("ep")

    def __init__(self, *args: Any, scopes: list[Scope], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        models = models_of(scopes)
        levels = list(dict.fromkeys(level for one in scopes for level in one.levels))
        self._choose("scope", clusters_of(scopes))
        self._choose("model", [("", "any"), *((model, model) for model in models)])
        for name, nothing in (("required", "nothing"), ("preferred", "nothing"), ("slice_level", "–")):
            self._choose(name, [("", nothing), *((level, level) for level in levels)])

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        self.fields[name].choices = choices  # type: ignore[attr-defined]

    def asked(self) -> dict[str, Any]:
        """The arguments of ``services.ask``."""
        said = dict(self.cleaned_data)
        source_id, _, cluster = said.pop("scope").partition("|")
        said["mix_models"] = said["mix_models"] == MIXED
        said["cpu_milli"], said["memory_mib"] = said.pop("cpu_cores") * MILLI, said.pop("memory_gib") * GIB
        return {"source_id": int(source_id), "cluster": cluster, "asked": said}


class TogetherForm(FieldForm):
    """Several waiting jobs at once; ids differ from those of the form beside it."""

    shown_at: ClassVar = {"cluster": "scope"}
    scope = forms.ChoiceField(label="Cluster")
    first = forms.IntegerField(label=TOGETHER.label, help_text=TOGETHER.words, min_value=TOGETHER.low,
                               max_value=TOGETHER.high, initial=TOGETHER.default)  # fmt: skip
    model = forms.ChoiceField(label="That accept the GPU model", required=False)
    tenant = forms.ChoiceField(label="Of the tenant", required=False)

    def __init__(self, *args: Any, scopes: list[Scope], **kwargs: Any) -> None:
        super().__init__(*args, **{"auto_id": "id_together_%s", **kwargs})
        tenants = sorted({tenant for one in scopes for tenant in one.tenants})
        self._choose("scope", clusters_of(scopes))
        self._choose("model", [("", "any"), *((model, model) for model in models_of(scopes))])
        self._choose("tenant", [("", "any"), *((tenant, tenant) for tenant in tenants)])

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        self.fields[name].choices = choices  # type: ignore[attr-defined]

    def asked(self) -> dict[str, Any]:
        """The arguments of ``services.ask_together``."""
        said = dict(self.cleaned_data)
        source_id, _, cluster = said.pop("scope").partition("|")
        return {"source_id": int(source_id), "cluster": cluster, "asked": said}


def models_of(scopes: list[Scope]) -> list[str]:
    return sorted({model for one in scopes for model in one.models})


def clusters_of(scopes: list[Scope]) -> list[tuple[str, str]]:
    return [(one.key, f"{one.cluster}, {one.nodes:,} nodes, {one.source}") for one in scopes]


def initial_of(asked: dict[str, Any], scope: str) -> dict[str, Any]:
    """The form with an earlier question in it."""
    mixes = MIXED if asked.get("mix_models") else ""
    return {
        **asked,
        "scope": scope,
        "mix_models": mixes,
        "cpu_cores": asked["cpu_milli"] // MILLI,
        "memory_gib": asked["memory_mib"] // GIB,
    }
