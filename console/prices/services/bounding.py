"""Deciding what binds prices: who, why, and on top of which version."""

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction

from console.audit import services as audit
from console.live.services import publish
from console.prices import selectors
from console.prices.choices import BOUNDS
from console.prices.models import Terms
from console.prices.services.transition import TOPIC, VersionChangedError, VersionMissingError
from console.rest.errors import FieldError
from console.tenancy.services import require


def set_terms(
    user: Any, gpu_model: str, values: Mapping[str, int | None], *, reason: str, version: int | None
) -> Terms:
    """Decide all bounds of one model ("": of all) on top of ``version`` (0: nothing was ever said there).

    None says nothing: then what is said for all counts, else what is built in.
    """
    require(user, "prices.set_terms")
    model = gpu_model.strip()
    _refuse(model, values, reason)
    if version is None:
        raise VersionMissingError
    now = selectors.newest_terms(model)
    if (0 if now is None else now.version) != version:
        raise VersionChangedError("these bounds", 0 if now is None else now.version)
    said = {name: values.get(name) for name in BOUNDS}
    try:
        with transaction.atomic():
            if now is not None and Terms.objects.filter(pk=now.pk, newest=True).update(newest=False) != 1:
                raise VersionChangedError("these bounds", version + 1)
            row = Terms.objects.create(gpu_model=model, version=version + 1, by=user, reason=reason.strip(), **said)
            was = {} if now is None else {name: getattr(now, name) for name in BOUNDS}
            audit.record(
                actor=user, action="price_terms.set", target_kind="price_terms", target_id=model or "all models",
                reason=row.reason, detail={"version": row.version, "was": was, "now": said},
            )  # fmt: skip
            publish(TOPIC, "terms.changed", gpu_model=model, version=row.version)
    except IntegrityError as lost:
        raise VersionChangedError("these bounds", version + 1) from lost
    return row


def _refuse(model: str, values: Mapping[str, int | None], reason: str) -> None:
    if model and model not in selectors.models_known():
        raise FieldError("gpu_model", f"no GPU model {model!r} is known")
    for name, value in values.items():
        if name not in BOUNDS:
            raise FieldError("bounds", f"there is no bound {name!r}; known: {', '.join(BOUNDS)}")
        wrong = BOUNDS[name].wrong(value)
        if wrong:
            raise FieldError(name, wrong)
        if value is not None and BOUNDS[name].of_model and not model:
            raise FieldError(name, "is said for one GPU model, not for all")
    floor, top = values.get("floor_cents"), values.get("on_demand_cents")
    if floor is not None and top is not None and floor > top:
        raise FieldError("floor_cents", f"is above the on-demand price of {top} cents")
    if not reason.strip():
        raise FieldError("reason", "say why: it is kept in the history")
