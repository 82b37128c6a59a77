"""A rota, a plan that waits, and a clock that the tests set."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from console.oncall import services
from console.oncall.models import Alert, Message, Rota
from console.plans.models import Plan
from tests.builders.people import approver, operator
from tests.console.plans.scene import Scene, move, scene, three_nodes

MOVES = (move("a", "n1", "n3", 0), move("b", "n2", "n3", 1))
PEOPLE = ("ada", "ben", "cem")


def people(*names: str) -> list[Any]:
    """Approvers with an address each."""
    found = [approver(name) for name in names]
    for one in found:
        one.email = f"{one.username}@example.org"
        one.save(update_fields=["email"])
    return found


def rota(*names: str, **fields: Any) -> Rota:
    """Ada is on call, then Ben, then Cem, unless said otherwise."""
    chosen = names or PEOPLE
    people(*chosen)
    return services.make_rota(approver(), scope=fields.pop("scope", "fleet"), people=list(chosen), reason="r", **fields)


def waiting(one: Scene | None = None, **fields: Any) -> Plan:
    """A plan of an operator that has waited for longer than what is decided at once."""
    plan = (one or scene(three_nodes())).plan(*MOVES, user=fields.pop("user", None) or operator("asker"), **fields)
    at = timezone.now() - timedelta(minutes=1)
    Plan.objects.filter(pk=plan.pk).update(proposed_at=at)
    return Plan.objects.get(pk=plan.pk)


def swept(minutes: float = 0, start: datetime | None = None) -> datetime:
    """One sweep, and the delivery of all that it sent; ``minutes`` after ``start`` (now, if there is none)."""
    at = (start or timezone.now()) + timedelta(minutes=minutes)
    services.sweep(at)
    delivered(at)
    return at


def delivered(at: datetime) -> None:
    for pk in Message.objects.filter(state="waiting", next_at__lte=at).order_by("pk").values_list("pk", flat=True):
        services.deliver(pk, at)


def calls(plan: Plan) -> list[tuple[int, str, str]]:
    """(call, whom, how it stands) of every message, in their order."""
    rows = Message.objects.filter(alert__plan=plan).select_related("user").order_by("pk")
    return [(one.call, one.user.username, one.state) for one in rows]


def alert(plan: Plan) -> Alert:
    return Alert.objects.select_related("acknowledged_by").filter(plan=plan).latest("pk")


def lines(plan: Plan) -> list[str]:
    return [event.words for event in alert(plan).events.all()]
