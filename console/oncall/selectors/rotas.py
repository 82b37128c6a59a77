"""Rotas, and who is on call where."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Prefetch, Q, QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone

from console.oncall.choices import DAYS_OF, WEEKDAYS, Handover, Scope
from console.oncall.models import Cover, Member, Rota
from console.oncall.selectors.people import person_of
from console.oncall.turns import Cover as TakenOver
from console.oncall.turns import Duty, Rotation, Shift, duty, shifts
from console.tenancy.services import require

AHEAD = {Handover.DAILY: timedelta(days=8), Handover.WEEKLY: timedelta(days=42)}
SHOWN_SHIFTS = 8


@dataclass(frozen=True, slots=True)
class Now:
    """Who is on call at a place now; ``rota`` None: no rota covers it, and nobody is called."""

    rota: Rota | None
    duty: Duty | None
    words: str
    skipped: list[str]
    until_words: str = ""

    @property
    def first(self) -> str:
        return self.duty.line[0].name if self.duty is not None and self.duty.line else ""


def _whole() -> QuerySet[Rota]:
    """With all that a rotation is made of; three queries, however many rotas there are."""
    covers = Cover.objects.filter(ended_at__isnull=True, ends_at__gt=timezone.now() - timedelta(days=1))
    members = Member.objects.select_related("user").order_by("position")
    return Rota.objects.select_related("by").prefetch_related(
        Prefetch("members", members), Prefetch("covers", covers.select_related("user", "by").order_by("begins_at"))
    )


def rotas(viewer: Any) -> QuerySet[Rota]:
    """Those in force, the widest place first."""
    require(viewer, "oncall.view_rota")
    return _whole().filter(ended_at__isnull=True).order_by("-scope", "cluster")


def rota_detail(viewer: Any, rota_id: int) -> Rota:
    """Raises ``Http404``."""
    require(viewer, "oncall.view_rota")
    return get_object_or_404(_whole(), pk=rota_id)


def rota_for(cluster: str) -> Rota | None:
    """The rota that counts for a cluster: its own, else that of the fleet."""
    place = Q(scope=Scope.FLEET) | Q(scope=Scope.CLUSTER, cluster=cluster)
    return _whole().filter(place, ended_at__isnull=True).order_by("scope").first()


def rotation_of(rota: Rota) -> Rotation:
    """As the pure part knows it."""
    covers = tuple(
        TakenOver(row.pk, person_of(row.user), row.begins_at, row.ends_at)
        for row in rota.covers.all()
        if row.ended_at is None
    )
    people = tuple(person_of(row.user) for row in sorted(rota.members.all(), key=lambda row: row.position))
    return Rotation(people, rota.at, rota.zone, DAYS_OF[Handover(rota.handover)], rota.anchor, covers)


def duty_at(rota: Rota, at: datetime, never: Mapping[int, str] | None = None) -> Duty:
    return duty(rotation_of(rota), at, never)


def schedule_of(rota: Rota, now: datetime) -> list[Shift]:
    """The turns ahead, the present one first."""
    found = shifts(rotation_of(rota), now, now + AHEAD[Handover(rota.handover)])
    # The last one is cut where we stop looking: it says nothing of its end.
    return (found[:-1] or found)[:SHOWN_SHIFTS]


def now_of(cluster: str, at: datetime | None = None) -> Now:
    """Who is on call for a cluster; "" asks for what counts where a cluster has no rota of its own."""
    now = at or timezone.now()
    rota = rota_for(cluster)
    return Now(None, None, "nobody: no rota covers this place", []) if rota is None else view_of(rota, now)


def view_of(rota: Rota, now: datetime) -> Now:
    rotation = rotation_of(rota)
    found = duty(rotation, now)
    skipped = [f"{person.name} {why}" for person, why in found.skipped]
    if found.first is None:
        return Now(rota, found, "nobody: none of the rota can be called", skipped)
    # The end of this person's turn, not the next instant at which anything at all may change.
    turn = shifts(rotation, now, now + AHEAD[Handover(rota.handover)])[0]
    until = _until(turn.ends_at, rota.zone, now)
    stands_in = ", who stands in" if found.cover is not None else ""
    return Now(rota, found, f"{found.first.name}{stands_in} until {until}", skipped, until)


def words_now(viewer: Any) -> list[tuple[str, Now]]:
    """(place, who) of every rota in force."""
    now = timezone.now()
    return [(row.place, view_of(row, now)) for row in rotas(viewer)]


def _until(at: datetime, zone: str, now: datetime) -> str:
    """Mon 09:00 UTC; with the rota's own clock beside it where that is another."""
    far = at - now > timedelta(days=6)
    said = f"{at:%a %F %R} UTC" if far else f"{at:%a %R} UTC"
    local = at.astimezone(ZoneInfo(zone))
    return said if local.utcoffset() == timedelta(0) else f"{said} ({local:%R} {zone})"


def handover_words(rota: Rota) -> str:
    day = f"on {WEEKDAYS[rota.weekday]}s" if rota.handover == Handover.WEEKLY else "every day"
    return f"{day} at {rota.at:%R}, {rota.zone}"


def names_of(people: Iterable[Member]) -> list[str]:
    return [row.user.get_username() for row in people]
