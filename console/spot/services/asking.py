"""What may be asked for, held to ranges and to the cluster as last read."""

from typing import Any

from console.rest.errors import FieldError
from console.spot.choices import ASKED, MOST_GPUS, MOST_MODELS, RANGES
from console.spot.models import Lease
from console.spot.selectors.places import Place, own_tenants, place_of

OPTIONAL = ("checkpoint_interval_s", "hook_s", "limit_cents")
LONGEST_NAME = 100


def where(user: Any, source_id: int, cluster: str, tenant: str) -> tuple[Place, str]:
    """The cluster and the tenant that is meant.  Raises ``FieldError``."""
    place = place_of(source_id, cluster)
    if place is None:
        raise FieldError("cluster", f"no source shows a cluster of the name {cluster}")
    mine = own_tenants(user)
    if tenant not in mine and (tenant or len(mine) != 1):
        words = f"must be one of yours: {', '.join(mine)}" if mine else "you belong to no tenant that could ask"
        raise FieldError("tenant", words)
    return place, tenant or mine[0]


def checked(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    """All fields of an ask, with what is usual for those that are not said.  Raises ``FieldError`` for the first."""
    said: dict[str, Any] = {name: asked.get(name, found.default) for name, found in RANGES.items()}
    for name, value in said.items():
        if value is None and name in OPTIONAL:
            continue
        if fault := RANGES[name].fault(value):
            raise FieldError(name, fault)
    said["gpu_models"] = _models(place, asked.get("gpu_models") or [])
    gpus = said["gpus_per_pod"] * said["pods"]
    if gpus > MOST_GPUS:
        raise FieldError("pods", f"{gpus:,} GPUs in one lease, at most {MOST_GPUS:,}")
    least = asked.get("min_members")
    said["min_members"] = said["pods"] if least is None else least
    if isinstance(said["min_members"], bool) or not isinstance(said["min_members"], int):
        raise FieldError("min_members", "must be a whole number")
    if not 1 <= said["min_members"] <= said["pods"]:
        raise FieldError("min_members", f"must be 1 to the {said['pods']:,} pods")
    return {**said, **_topology(place, asked), "hook_name": _hook(asked, said["hook_s"])}


def _models(place: Place, models: list[str]) -> list[str]:
    if not models:
        raise FieldError("gpu_models", "name at least one GPU model")
    if len(models) > MOST_MODELS or len(set(models)) < len(models):
        raise FieldError("gpu_models", f"at most {MOST_MODELS} GPU models, each once")
    unknown = [one for one in models if one not in place.models]
    if unknown:
        raise FieldError("gpu_models", f"{place.cluster} has no {', '.join(unknown)}, only {', '.join(place.models)}")
    return list(models)


def _topology(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    level, required = asked.get("topology") or "", bool(asked.get("required", False))
    if level and level not in place.levels:
        known = f"has the levels {', '.join(place.levels)}" if place.levels else "tells nothing of its network"
        raise FieldError("topology", f"{place.cluster} {known}")
    if required and not level:
        raise FieldError("required", "says nothing without a level of the network")
    return {"topology": level, "required": required}


def _hook(asked: dict[str, Any], hook_s: int | None) -> str:
    name = str(asked.get("hook_name") or "").strip()
    if len(name) > LONGEST_NAME:
        raise FieldError("hook_name", f"at most {LONGEST_NAME} characters")
    if hook_s is not None and not name:
        raise FieldError("hook_name", "name the hook that needs so long")
    return name


def ask_of(row: Lease) -> dict[str, Any]:
    """The fields of an ask, as ``checked`` gives them."""
    return {name: getattr(row, name) for name in ASKED}
