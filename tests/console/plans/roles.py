"""Who may do what with plans and freezes."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from console.plans import services
from console.plans.models import Plan
from tests.builders.people import approver, operator
from tests.builders.worlds import world
from tests.console.plans.scene import approved, arrives, move, ran, requested, scene, started, three_nodes
from tests.console.role_matrix import APPROVERS, FLEET, OPERATORS, SIGNED_IN, Route

MOVES = (move("a", "n1", "n3", 0), move("b", "n2", "n3", 1))


def asked() -> Plan:
    """Asked for by an operator of another name, so that the matrix's approver may decide."""
    return requested(scene(three_nodes()).source, user=operator("asker"))


def proposed() -> Plan:
    return scene(three_nodes()).plan(*MOVES, user=operator("asker"))


def stale() -> Plan:
    one = scene(three_nodes())
    plan = one.plan(*MOVES, user=operator("asker"))
    one.happen(arrives("late", "n2", 1))
    services.sweep()
    return Plan.objects.get(pk=plan.pk)


def paused() -> Plan:
    return services.pause_plan(operator("asker"), started(proposed()).pk, "lunch")


def ended() -> Plan:
    return ran(started(proposed()))


def half_changed() -> Plan:
    """Paused; of its two chains one no longer holds."""
    made = world().nodes("n1", "n2", "n3", "n4").pod("a", "n1", 2).pod("z", "n2", 2, locked=True)
    one = scene(made.pod("b", "n3", 2).pod("y", "n4", 2, locked=True))
    plan = started(one.plan(move("a", "n1", "n2", 0), move("b", "n3", "n4", 1), user=operator("asker")))
    services.pause_plan(operator("asker"), plan.pk, "lunch")
    one.happen(arrives("late", "n4", 6))
    return Plan.objects.get(pk=plan.pk)


def frozen() -> dict[str, Any]:
    until = timezone.now() + timedelta(hours=1)
    return {"freeze_id": services.set_freeze(operator(), scope="fleet", reason="r", expires_at=until).pk}


def of(make: Callable[[], Plan], **more: Any) -> Callable[[], dict[str, Any]]:
    return lambda: {"plan_id": make().pk, **more}


def closed() -> dict[str, Any]:
    """Glass that an approver of another name broke."""
    plan = services.break_glass(approver("breaker"), proposed().pk, "it burns")
    return {"review_id": plan.overrides.get().pk}


REASON = {"reason": "because"}
_PAGES = tuple(
    Route(f"plans:{name}", FLEET, make=of(proposed))
    for name in ("detail", "beside", "json", "moves-csv", "kept", "kept-csv", "map", "map-layout")
)
_ACTIONS = (
    # Without a digest the right is asked for, and then the digest: 428 is the answer of those who may approve.
    Route("plans:act", APPROVERS, "post", 428, of(proposed, action="approve"), REASON),
    Route("plans:act", APPROVERS, "post", 428, of(proposed, action="reject"), REASON),
    Route("plans:act", APPROVERS, "post", 302, of(asked, action="cancel")),
    Route("plans:act", OPERATORS, "post", 302, of(asked, action="stop")),
    Route("plans:act", OPERATORS, "post", 302, of(lambda: approved(proposed()), action="start")),
    Route("plans:act", OPERATORS, "post", 302, of(lambda: started(proposed()), action="pause")),
    Route("plans:act", OPERATORS, "post", 302, of(paused, action="resume")),
    Route("plans:act", OPERATORS, "post", 302, of(paused, action="abort"), REASON),
    Route("plans:act", OPERATORS, "post", 302, of(stale, action="drop")),
    Route("plans:act", APPROVERS, "post", 302, of(proposed, action="break-glass"), REASON),
    Route("plans:reviews", FLEET),
    Route("plans:close-review", APPROVERS, "post", 302, closed, {"finding": "all well"}),
    Route("api:plan-reviews", FLEET),
    Route("api:plan-break-glass", APPROVERS, "post", 200, of(proposed), REASON),
    Route("api:review-close", APPROVERS, "post", 200, closed, {"finding": "all well"}),
    Route("plans:act", OPERATORS, "post", 302, of(half_changed, action="leave-out"), REASON),
    Route("plans:act", OPERATORS, "post", 302, of(ended, action="roll-back"), REASON),
    Route("plans:act", OPERATORS, "post", 302, of(ended, action="extend-hold"), {"hours": 5, **REASON}),
    Route("plans:act", OPERATORS, "post", 302, of(ended, action="release-hold"), REASON),
    Route("plans:part", FLEET, make=of(proposed)),
    Route("plans:part", APPROVERS, "post", 428, of(proposed), {"tenant": "t1", **REASON}),
    Route("plans:cut", OPERATORS, "post", 302, of(proposed), {"moves": 1}),
)
_API = (
    Route("api:plans", FLEET),
    Route("api:plan", FLEET, make=of(proposed)),
    Route("api:plan-document", FLEET, make=of(proposed)),
    Route("api:plan-moves", FLEET, make=of(proposed)),
    Route("api:plan-kept", FLEET, make=of(proposed)),
    Route("api:plan-part", FLEET, make=of(proposed), query="?chain=1"),
    Route("api:plan-approve-part", APPROVERS, "post", 428, of(proposed), {"part_digest": "0" * 64, **REASON}),
    Route("api:plan-record", FLEET, make=of(ended)),
    Route("api:plan-abort-preview", FLEET, make=of(lambda: started(proposed()))),
    Route("api:plan-approve", APPROVERS, "post", 428, of(proposed), REASON),
    Route("api:plan-reject", APPROVERS, "post", 428, of(proposed), REASON),
    Route("api:plan-cancel", APPROVERS, "post", 200, of(asked)),
    Route("api:plan-stop", OPERATORS, "post", 200, of(asked)),
    Route("api:plan-start", OPERATORS, "post", 200, of(lambda: approved(proposed()))),
    Route("api:plan-pause", OPERATORS, "post", 200, of(lambda: started(proposed()))),
    Route("api:plan-resume", OPERATORS, "post", 200, of(paused)),
    Route("api:plan-abort", OPERATORS, "post", 200, of(paused), REASON),
    Route("api:plan-drop", OPERATORS, "post", 201, of(stale)),
    Route("api:plan-leave-out", OPERATORS, "post", 200, of(half_changed), REASON),
    Route("api:plan-roll-back", OPERATORS, "post", 201, of(ended), REASON),
    Route("api:plan-extend-hold", OPERATORS, "post", 200, of(ended), {"hours": 5, **REASON}),
    Route("api:plan-release-hold", OPERATORS, "post", 200, of(ended), REASON),
    Route("api:plan-cut", OPERATORS, "post", 201, of(proposed), {"moves": 1}),
    Route("api:locks", FLEET),
    Route("api:plan-release-locks", APPROVERS, "post", 200, of(paused), REASON),
    Route("api:freezes", FLEET),
    Route(
        "api:freezes", OPERATORS, "post", 201, body={"scope": "fleet", "reason": "r", "expires_at": "2199-01-01T00:00Z"}
    ),
    Route("api:freeze-lift", OPERATORS, "post", 200, frozen, REASON),
)
ROUTES = (
    Route("plans:list", FLEET),
    *_PAGES,
    *_ACTIONS,
    Route("plans:locks", FLEET),
    Route("plans:release", APPROVERS, "post", 302, of(paused), REASON),
    Route("plans:freezes", FLEET),
    Route("plans:freezes", OPERATORS, "post", 302, body={"scope": "fleet", "reason": "r", "minutes": 5}),
    Route("plans:lift", OPERATORS, "post", 302, frozen, REASON),
    *_API,
)
TOPICS = {"plan": FLEET, "plans": FLEET, "freeze": SIGNED_IN}
