"""What every change of a campaign leaves behind, and how it is held against others who change it at once."""

from typing import Any

from django.db.models import F

from console.audit import services as audit
from console.campaigns.models import Campaign, Group
from console.live.services import publish
from console.rest.errors import Conflict


def taken(row: Campaign) -> bool:
    """Moves the campaign's turn on; False where somebody else has since it was read."""
    return Campaign.objects.filter(pk=row.pk, turn=row.turn).update(turn=F("turn") + 1) == 1


def take(row: Campaign) -> None:
    if not taken(row):
        raise Conflict(f"Campaign {row.pk} changed while you looked at it. Read it again.")


def write_down(
    row: Campaign, actor: Any, action: str, reason: str = "", detail: dict[str, Any] | None = None, group: Any = None
) -> None:
    """``actor`` None stands for the console itself."""
    of_group = {"group": group.name} if isinstance(group, Group) else {}
    audit.record(
        actor=actor, action=action, target_kind="campaign", target_id=str(row.pk), reason=reason,
        detail={"name": row.name, **of_group, **(detail or {})},
    )  # fmt: skip
    publish("plans", action, campaign=row.pk)
