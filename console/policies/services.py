"""Deciding a setting for a place: who, why, and on top of which version."""

from typing import Any

from django.db import IntegrityError, transaction

from console.audit import services as audit
from console.inventory.selectors import filter_choices
from console.live.services import publish
from console.policies import selectors
from console.policies.choices import SETTINGS, Named, Place, Scope
from console.policies.models import Setting
from console.rest.errors import FieldError
from console.tenancy.services import require


class VersionMissingError(Exception):
    """Who changes a setting must say which version was read; HTTP 428."""

    def __init__(self) -> None:
        self.reason = "Send the version that you read in If-Match (0 where nothing was ever decided)."
        super().__init__(self.reason)


class VersionChangedError(Exception):
    """Somebody decided meanwhile; HTTP 412."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.reason = f"Somebody changed this meanwhile: it is at version {version}. Read it again, then decide."
        super().__init__(self.reason)


def place_of(scope: str, cluster: str = "", gpu_model: str = "", tenant: str = "") -> Place:
    """The place with those names that its scope uses; ``FieldError`` where one of them is missing."""
    if scope not in Scope.values:
        raise FieldError("scope", "choose the fleet, a cluster, a pool or a tenant")
    wanted = {
        Scope.FLEET: {},
        Scope.CLUSTER: {"cluster": cluster},
        Scope.POOL: {"cluster": cluster, "gpu_model": gpu_model},
        Scope.TENANT: {"tenant": tenant},
    }[Scope(scope)]
    for field, name in wanted.items():
        if not name.strip():
            raise FieldError(field, f"name the {field.replace('gpu_model', 'GPU model')}")
    return Place(Scope(scope), **{field: name.strip() for field, name in wanted.items()})


def set_value(user: Any, name: str, place: Place, value: int | None, *, reason: str, version: int | None) -> Setting:
    """Decide ``value`` for ``place`` on top of ``version`` (0: nothing was ever decided there).

    Raises ``Denied``, ``FieldError`` (400), ``VersionMissingError`` (428) or ``VersionChangedError`` (412).
    """
    require(user, "policies.set_policy")
    setting = named(name)
    wrong = setting.wrong(value)
    if wrong:
        raise FieldError("value", wrong)
    refuse_unknown(user, place)
    return _write(user, name, place, reason, version, value=value, cleared=False)


def clear_value(user: Any, name: str, place: Place, *, reason: str, version: int | None) -> Setting:
    """The place says nothing of this any more: what is decided elsewhere counts again."""
    require(user, "policies.set_policy")
    named(name)
    now = selectors.at_place(name, place)
    if now is None or now.cleared:
        raise FieldError("name", f"nothing is decided for {place.words}")
    return _write(user, name, place, reason, version, value=None, cleared=True)


def named(name: str) -> Named:
    if name not in SETTINGS:
        raise FieldError("name", f"there is no setting {name!r}; known: {', '.join(SETTINGS)}")
    return SETTINGS[name]


def preview(name: str, place: Place, value: int | None, *, clear: bool = False) -> list[str]:
    """What a decision would change, in sentences; nothing is written.  ``FieldError`` where the value is none."""
    setting = named(name)
    wrong = "" if clear else setting.wrong(value)
    if wrong:
        raise FieldError("value", wrong)
    pools, tenants = [place.gpu_model] * bool(place.gpu_model), [place.tenant] * bool(place.tenant)
    before = selectors.policy_for(place.cluster, pools, tenants)[name]
    after = _as_if(before, place, value, clear)
    lines = [f"{place.words[:1].upper()}{place.words[1:]}: {_moved(setting, before, after)}"]
    if not clear and (after.said is None or after.said.place != place):
        lines.append(
            f"{after.origin[:1].upper()}{after.origin[1:]} is more careful ({after.words}) and goes on counting."
        )
    if place.scope in (Scope.FLEET, Scope.CLUSTER):
        nearer = [row.place.words for row in selectors.decided().filter(name=name) if _inside(row.place, place)]
        if nearer:
            lines.append(f"Decided apart and merged with it ({setting.merge.label}): {', '.join(sorted(nearer)[:6])}.")
    return lines


def _moved(setting: Named, before: selectors.Resolved, after: selectors.Resolved) -> str:
    if before.value == after.value:
        return f"stays at {after.words}, from {after.origin}."
    return f"{before.words} (from {before.origin}) becomes {after.words} (from {after.origin})."


def _as_if(before: selectors.Resolved, place: Place, value: int | None, clear: bool) -> selectors.Resolved:
    every = [one for one in (before.said, *before.others) if one is not None and one.place != place]
    if not clear:
        every.append(selectors.Said(place, value, 0))
    return selectors.merged(before.setting, every, place)


def _inside(place: Place, wide: Place) -> bool:
    if place == wide or (wide.scope == Scope.CLUSTER and place.scope == Scope.FLEET):
        return False
    return wide.scope == Scope.FLEET or place.cluster == wide.cluster


def refuse_unknown(user: Any, place: Place) -> None:
    """A misspelt name would decide nothing while the page says that it does."""
    known = filter_choices(user)
    pairs = (("cluster", known.clusters), ("gpu_model", known.models), ("tenant", known.tenants))
    for field, names in pairs:
        name = getattr(place, field)
        if name and name not in names:
            raise FieldError(field, f"no {field.replace('_', ' ')} {name!r}; known: {', '.join(names[:20]) or 'none'}")


def _write(
    user: Any, name: str, place: Place, reason: str, version: int | None, *, value: int | None, cleared: bool
) -> Setting:
    """The next version, by compare-and-set on the one that was read."""
    if version is None:
        raise VersionMissingError
    if not reason.strip():
        raise FieldError("reason", "say why: it is kept in the history")
    now = selectors.at_place(name, place)
    if (0 if now is None else now.version) != version:
        raise VersionChangedError(0 if now is None else now.version)
    names = selectors.names_of(place)
    try:
        with transaction.atomic():
            if now is not None and Setting.objects.filter(pk=now.pk, newest=True).update(newest=False) != 1:
                raise VersionChangedError(version + 1)
            row = Setting.objects.create(
                name=name, version=version + 1, value=value, cleared=cleared, by=user, reason=reason.strip(), **names
            )
            _tell(user, row, now)
    except IntegrityError as lost:
        raise VersionChangedError(version + 1) from lost
    return row


def _tell(user: Any, row: Setting, before: Setting | None) -> None:
    was = None if before is None or before.cleared else before.value
    audit.record(
        actor=user,
        action="policy.cleared" if row.cleared else "policy.set",
        target_kind="policy",
        target_id=f"{row.name} of {row.place.words}"[:253],
        reason=row.reason,
        detail={"version": row.version, "was": was, "now": row.value, "decided_before": before is not None},
    )
    publish("policies", "policy.changed", name=row.name, version=row.version)
