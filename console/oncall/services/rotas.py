"""Making and changing rotas, and taking over for a time."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from console.audit import services as audit
from console.inventory.selectors import filter_choices
from console.live.services import publish
from console.oncall import selectors
from console.oncall.choices import DAYS_OF, RANGES, URGENT, WEEKDAYS, Handover, Kind, Scope
from console.oncall.models import Cover, Member, Rota
from console.oncall.turns import Rotation, anchored
from console.policies.occurrences import wrong_zone
from console.rest.errors import Conflict, FieldError
from console.tenancy.services import require

MOST_PEOPLE = 30
LONGEST_COVER = timedelta(days=60)
Fields = Mapping[str, Any]


def make_rota(user: Any, *, scope: str, cluster: str = "", people: list[str], reason: str, **fields: Any) -> Rota:
    """A rota for the fleet or one cluster; the first of ``people`` (user names) is on call from now on.

    ``fields``: handover, weekday (0 = Monday), at, zone, the amounts of ``choices.RANGES``, quiet_from, quiet_until,
    urgent.  Raises ``Denied`` or ``FieldError``.
    """
    require(user, "oncall.set_rota")
    place = _place(user, scope, cluster)
    members = _people(people)
    said = _fields({"handover": Handover.WEEKLY, "at": time(9), "zone": "UTC", "urgent": list(URGENT), **fields})
    _say_why(reason)
    now = timezone.now()
    try:
        with transaction.atomic():
            said["anchor"] = _anchor(said, fields.get("weekday", 0), members, members[0].pk, now)
            row = Rota.objects.create(by=user, reason=reason.strip(), **place, **_stored(said))
            _seat(row, members)
            _tell(user, row, "rota.set", row.reason, _detail(row, members))
    except IntegrityError as lost:
        raise Conflict(f"There is a rota for {_words(place)} already: change that one.") from lost
    return selectors.rota_detail(user, row.pk)


def ensure_rota(user: Any, *, people: list[str], reason: str) -> bool:
    """A rota for the fleet where there never was any; whether it was made."""
    if Rota.objects.exists():
        return False
    make_rota(user, scope=Scope.FLEET.value, people=people, reason=reason)
    return True


def change_rota(
    user: Any, rota_id: int, *, version: int, reason: str, people: list[str] | None = None, **fields: Any
) -> Rota:
    """On top of ``version``; who is on call stays on call where the new list has that person.

    Raises ``Conflict`` where somebody changed it meanwhile.
    """
    require(user, "oncall.set_rota")
    row = selectors.rota_detail(user, rota_id)
    _say_why(reason)
    now = timezone.now()
    members = [one.user for one in row.members.all()] if people is None else _people(people)
    said = _fields({name: getattr(row, name) for name in _FIELDS} | fields)
    present = selectors.duty_at(row, now)
    first = present.first.uid if present.first is not None else members[0].pk
    said["anchor"] = _anchor(said, fields.get("weekday", row.weekday), members, first, now)
    with transaction.atomic():
        mine = Rota.objects.filter(pk=rota_id, version=version, ended_at__isnull=True)
        if not mine.update(version=F("version") + 1, by=user, reason=reason.strip(), since=now, **_stored(said)):
            raise Conflict(f"Rota {rota_id} changed while you looked at it. Read it again.")
        Member.objects.filter(rota_id=rota_id).delete()
        _seat(row, members)
        row.refresh_from_db()
        _tell(user, row, "rota.changed", reason.strip(), _detail(row, members))
    return selectors.rota_detail(user, rota_id)


def end_rota(user: Any, rota_id: int, reason: str = "") -> Rota:
    """From now on that of a wider place counts, or none; alerts that are open go on."""
    require(user, "oncall.set_rota")
    row = selectors.rota_detail(user, rota_id)
    with transaction.atomic():
        if not Rota.objects.filter(pk=rota_id, ended_at__isnull=True).update(ended_at=timezone.now()):
            raise Conflict(f"Rota {rota_id} has ended already.")
        _tell(user, row, "rota.ended", reason.strip())
    return selectors.rota_detail(user, rota_id)


def take_over(
    user: Any, rota_id: int, *, who: str, begins_at: datetime | None, ends_at: datetime, reason: str = ""
) -> Cover:
    """``who`` is on call from ``begins_at`` (None: now) until ``ends_at``, whoever's turn it is."""
    require(user, "oncall.answer")
    row = selectors.rota_detail(user, rota_id)
    if row.ended_at is not None:
        raise Conflict(f"Rota {rota_id} has ended.")
    now = timezone.now()
    begins = begins_at or now
    if ends_at <= max(begins, now):
        raise FieldError("ends_at", "it must end after it begins, and after now")
    if ends_at - begins > LONGEST_COVER:
        raise FieldError("ends_at", f"at most {LONGEST_COVER.days} days: change the rota instead")
    person = _people([who], "who")[0]
    with transaction.atomic():
        cover = Cover.objects.create(
            rota=row, user=person, begins_at=begins, ends_at=ends_at, by=user, reason=reason.strip()
        )
        detail = {"who": who, "from": begins.isoformat(), "until": ends_at.isoformat(), "cover": cover.pk}
        _tell(user, row, "rota.taken_over", reason.strip(), detail)
    return cover


def end_cover(user: Any, cover_id: int) -> Cover:
    """The rota's own turn counts again."""
    require(user, "oncall.answer")
    with transaction.atomic():
        rows = Cover.objects.filter(pk=cover_id, ended_at__isnull=True, ends_at__gt=timezone.now())
        if not rows.update(ended_at=timezone.now()):
            raise Conflict(f"Override {cover_id} is over already.")
        cover = Cover.objects.select_related("rota", "user").get(pk=cover_id)
        _tell(user, cover.rota, "rota.given_back", "", {"who": cover.user.get_username(), "cover": cover_id})
    return cover


# --- what may be said ------------------------------------------------------------------------------------------------
_FIELDS = ("handover", "at", "zone", *RANGES, "quiet_from", "quiet_until", "urgent")


def _place(user: Any, scope: str, cluster: str) -> dict[str, str]:
    if scope not in Scope.values:
        raise FieldError("scope", "choose the fleet or one cluster")
    if scope == Scope.FLEET:
        return {"scope": scope, "cluster": ""}
    known = filter_choices(user).clusters
    if cluster not in known:
        raise FieldError("cluster", f"no cluster {cluster!r}; known: {', '.join(known[:20]) or 'none'}")
    return {"scope": scope, "cluster": cluster}


def _words(place: dict[str, str]) -> str:
    return f"cluster {place['cluster']}" if place["cluster"] else "the whole fleet"


def _people(wanted: list[str], field: str = "people") -> list[Any]:
    """The accounts of these names, in their order."""
    known = {one.get_username(): one for one in selectors.may_be_on_call()}
    chosen = list(dict.fromkeys(name.strip() for name in wanted if name.strip()))
    if not 1 <= len(chosen) <= MOST_PEOPLE:
        raise FieldError(field, f"name from 1 to {MOST_PEOPLE} approvers")
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise FieldError(field, f"no active approver {unknown[0][:100]!r}; known: {', '.join(list(known)[:20])}")
    return [known[name] for name in chosen]


def _say_why(reason: str) -> None:
    if not reason.strip():
        raise FieldError("reason", "say why: it is kept in the audit log")


def _fields(said: Fields) -> dict[str, Any]:
    """What a rota says beside its place and people, checked."""
    if said["handover"] not in Handover.values:
        raise FieldError("handover", "every day or every week")
    if wrong := wrong_zone(said["zone"]):
        raise FieldError("zone", wrong)
    found = {name: _amount(said, name) for name in RANGES}
    for name in ("at", "quiet_from", "quiet_until"):
        if (clock := said.get(name)) is not None and (clock.second or clock.microsecond):
            raise FieldError(name, "hours and minutes alone, such as 09:30")
    quiet = (said.get("quiet_from"), said.get("quiet_until"))
    if (quiet[0] is None) != (quiet[1] is None) or (quiet[0] is not None and quiet[0] == quiet[1]):
        raise FieldError("quiet_until", "say both ends of the quiet hours, which differ, or neither")
    unknown = [word for word in said["urgent"] if word not in Kind.values]
    if unknown:
        raise FieldError("urgent", f"one of {', '.join(Kind.values)}")
    times = {"at": said["at"], "quiet_from": quiet[0], "quiet_until": quiet[1]}
    urgent = [word for word in Kind.values if word in said["urgent"]]
    return {"handover": said["handover"], "zone": said["zone"], "urgent": urgent, **times, **found}


def _amount(said: Fields, name: str) -> int:
    low, high, usual, unit = RANGES[name]
    value = said.get(name)
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise FieldError(name, f"a whole number from {low:,} to {high:,} {unit}")
    return value


def _stored(said: dict[str, Any]) -> dict[str, Any]:
    return {name: said[name] for name in (*_FIELDS, "anchor")}


def _anchor(said: dict[str, Any], weekday: int, members: list[Any], first: int, now: datetime) -> date:
    """The day from which the order is counted, so that the person ``first`` is the one whose turn it is now."""
    if weekday not in range(len(WEEKDAYS)):
        raise FieldError("weekday", "0 is Monday, 6 is Sunday")
    day = now.astimezone(UTC).date()
    day -= timedelta(days=(day.weekday() - weekday) % 7)
    people = tuple(selectors.person_of(one) for one in members)
    days = DAYS_OF[Handover(said["handover"])]
    return anchored(Rotation(people, said["at"], said["zone"], days, day), now, first)


def _seat(row: Rota, members: list[Any]) -> None:
    Member.objects.bulk_create([Member(rota=row, user=one, position=place) for place, one in enumerate(members)])


def _detail(row: Rota, members: list[Any]) -> dict[str, Any]:
    steps = f"{row.singles} people every {row.next_minutes} min, all approvers {row.last_minutes} min after the rota"
    return {
        "people": ", ".join(one.get_username() for one in members),
        "handover": f"{row.handover} at {row.at:%R} {row.zone}",
        "escalation": steps,
        "version": row.version,
    }


def _tell(user: Any, row: Rota, action: str, reason: str, detail: dict[str, Any] | None = None) -> None:
    audit.record(
        actor=user, action=action, target_kind="rota", target_id=row.pk, reason=reason,
        detail={"place": row.place, **(detail or {})},
    )  # fmt: skip
    publish("oncall", action, rota=row.pk)
