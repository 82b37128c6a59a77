"""An ask as people say it: hours, minutes, USD, cores and GiB; what the service wants is made of it."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms

from console.spot.choices import RANGES
from console.spot.selectors.places import Place
from console.ui.forms import FieldForm

HOUR_S, MINUTE_S, CENTS, MILLI, GIB = 3600, 60, 100, 1000, 1024
PREFERENCES = ("model", "model_2", "model_3")
ANYWHERE = ""
USUAL_CORES, USUAL_GIB = 8, 64  # of each GPU


def _count(name: str, **said: Any) -> forms.IntegerField:
    found = RANGES[name]
    return forms.IntegerField(label=found.label, min_value=found.low, max_value=found.high, **said)


class AskForm(FieldForm):
    """``places`` are those of ``selectors.places``, ``tenants`` the viewer's own."""

    shown_at: ClassVar = {
        "cluster": "place", "gpu_models": "model", "required": "topology", "run_s": "hours",
        "guaranteed_s": "guarantee", "checkpoint_interval_s": "checkpoint", "limit_cents": "limit",
        "cpu_milli": "cpu_cores", "memory_mib": "memory_gib",
    }  # fmt: skip
    place = forms.ChoiceField(label="Cluster")
    tenant = forms.ChoiceField(label="For", required=False)
    model = forms.ChoiceField(label="GPU model, first choice")
    model_2 = forms.ChoiceField(label="GPU model, second choice", required=False)
    model_3 = forms.ChoiceField(label="GPU model, third choice", required=False)
    topology = forms.ChoiceField(label="Topology", required=False)
    gpus_per_pod = _count("gpus_per_pod", initial=8)
    pods = _count("pods", initial=1)
    hours = forms.FloatField(label="Hours", min_value=RANGES["run_s"].low / HOUR_S, max_value=720, initial=12)
    min_members = forms.IntegerField(label="Least pods", required=False, min_value=1, max_value=RANGES["pods"].high)
    checkpoint = forms.IntegerField(label="Checkpoint, min", required=False, min_value=1, max_value=1440, initial=15)
    guarantee = forms.IntegerField(label="Guarantee, min", required=False, min_value=0, max_value=360, initial=0)
    limit = forms.DecimalField(
        label="Limit, USD/GPU-h", required=False, min_value=0, max_value=10_000, decimal_places=2
    )
    hook_name = forms.CharField(label="Exit hook", required=False, max_length=100)
    hook_s = forms.IntegerField(label="Hook needs, s", required=False, min_value=1, max_value=60)
    cpu_cores = forms.IntegerField(label="CPU cores of each pod", required=False, min_value=0, max_value=100_000)
    memory_gib = forms.IntegerField(label="Memory of each pod, GiB", required=False, min_value=0, max_value=100_000)
    name = forms.CharField(label="Name", required=False, max_length=100)
    request_key = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)
    estimate = forms.IntegerField(required=False, min_value=1, max_value=2**53 - 1, widget=forms.HiddenInput)

    def __init__(self, *args: Any, places: Sequence[Place], tenants: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        models = sorted({model for one in places for model in one.models})
        levels = list(dict.fromkeys(level for one in places for level in one.levels))
        self._choose("place", [(one.key, place_words(one, places)) for one in places])
        self._choose("tenant", [(name, name) for name in tenants])
        self._choose("model", [(model, model) for model in models])
        for name in PREFERENCES[1:]:
            self._choose(name, [("", "no other"), *((model, f"then {model}") for model in models)])
        wishes = [
            (f"{level}|{how}", f"One {_level(level)}, {how}") for level in levels for how in ("required", "preferred")
        ]
        self._choose("topology", [(ANYWHERE, "Anywhere"), *wishes])

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        self.fields[name].choices = choices  # type: ignore[attr-defined]

    def asked(self) -> dict[str, Any]:
        """The arguments of ``services.ask_estimate``."""
        said = self.cleaned_data
        source_id, _, cluster = said["place"].partition("|")
        level, _, how = (said["topology"] or "").partition("|")
        gpus = said["gpus_per_pod"]
        cores, gib = said["cpu_cores"], said["memory_gib"]
        asked = {
            "gpu_models": list(dict.fromkeys(said[name] for name in PREFERENCES if said[name])),
            "gpus_per_pod": gpus, "pods": said["pods"], "min_members": said["min_members"],
            "run_s": round(said["hours"] * HOUR_S), "topology": level, "required": how == "required",
            "checkpoint_interval_s": _times(said["checkpoint"], MINUTE_S), "hook_name": said["hook_name"],
            "guaranteed_s": (said["guarantee"] or 0) * MINUTE_S, "hook_s": said["hook_s"],
            "limit_cents": None if said["limit"] is None else round(said["limit"] * CENTS),
            "cpu_milli": (USUAL_CORES * gpus if cores is None else cores) * MILLI,
            "memory_mib": (USUAL_GIB * gpus if gib is None else gib) * GIB,
        }  # fmt: skip
        return {"source_id": int(source_id), "cluster": cluster, "tenant": said["tenant"] or "", "asked": asked}

    def made(self) -> dict[str, Any]:
        """The arguments of ``services.make_lease`` beyond those."""
        said = self.cleaned_data
        return {"name": said["name"], "estimate_id": said["estimate"], "request_key": said["request_key"] or None}


def form_values(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What the fields of the form are to say for these fields of an ask; only those that are in it."""
    said: dict[str, Any] = {}
    for place, name in enumerate(PREFERENCES):
        if "gpu_models" in asked:
            said[name] = asked["gpu_models"][place] if place < len(asked["gpu_models"]) else ""
    for name in ("gpus_per_pod", "pods", "hook_name", "hook_s"):
        if name in asked:
            said[name] = asked[name]
    if "min_members" in asked:
        said["min_members"] = "" if asked["min_members"] == asked.get("pods") else asked["min_members"]
    if "topology" in asked or "required" in asked:
        level = asked.get("topology", "")
        said["topology"] = f"{level}|{'required' if asked.get('required') else 'preferred'}" if level else ""
    divided = (("hours", "run_s", HOUR_S), ("checkpoint", "checkpoint_interval_s", MINUTE_S),
               ("guarantee", "guaranteed_s", MINUTE_S), ("limit", "limit_cents", CENTS),
               ("cpu_cores", "cpu_milli", MILLI), ("memory_gib", "memory_mib", GIB))  # fmt: skip
    for field, name, size in divided:
        if name in asked:
            value = asked[name]
            said[field] = "" if value is None else _plain(value / size)
    return said


def use_query(asked: Mapping[str, Any], change: Mapping[str, Any], place: str, tenant: str) -> str:
    """The address of the form with an alternative in it."""
    values = form_values({**asked, **change})
    return urlencode({"place": place, "tenant": tenant, **{k: v for k, v in values.items() if v not in ("", None)}})


def place_words(place: Place, places: Sequence[Place]) -> str:
    """The cluster, with its source where two have one of that name."""
    alike = sum(one.cluster == place.cluster for one in places) > 1
    words = f"{place.cluster} ({place.source})" if alike else place.cluster
    return words if place.lends else f"{words}, only observed"


def _level(level: str) -> str:
    return level.upper() if level == "asw" else level


def _times(value: int | None, size: int) -> int | None:
    return None if value is None else value * size


def _plain(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
