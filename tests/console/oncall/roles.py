"""Who may see who is on call, set it, and answer."""

from collections.abc import Callable
from datetime import timedelta

from django.utils import timezone

from console.oncall import services
from tests.builders.people import approver
from tests.console.oncall.scene import alert, rota, swept, waiting
from tests.console.role_matrix import APPROVERS, FLEET, Arguments, Route

LATER = (timezone.now() + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
TYPED = {"who": "ada", "ends_at": LATER.removesuffix("Z")}
ROTA = {"people": ["approver"], "reason": "r"}
MAIL = {"kind": "mail", "address": "approver@example.org"}
WRONG = {"people": "nobody-of-that-name", "reason": "r"}


def _rota() -> Arguments:
    return {"rota_id": rota("ada", "ben").pk}


def _cover() -> Arguments:
    row = rota("ada", "ben")
    later = timezone.now() + timedelta(days=1)
    return {"cover_id": services.take_over(approver("ada"), row.pk, who="ben", begins_at=None, ends_at=later).pk}


def _alert() -> Arguments:
    rota("ada", "ben")
    plan = waiting()
    swept()
    return {"alert_id": alert(plan).pk}


def _plan(action: str = "") -> Callable[[], Arguments]:
    def make() -> Arguments:
        rota("ada", "ben")
        plan = waiting()
        swept()
        return {"plan_id": plan.pk, **({"action": action} if action else {})}

    return make


ROUTES = (
    Route("oncall:now", FLEET),
    Route("oncall:new", APPROVERS),
    Route("oncall:new", APPROVERS, "post", 400, body=WRONG),
    Route("oncall:rota", APPROVERS, make=_rota),
    Route("oncall:rota", APPROVERS, "post", 400, _rota, WRONG),
    Route("oncall:end-rota", APPROVERS, "post", 302, _rota),
    Route("oncall:take-over", APPROVERS, "post", 302, _rota, TYPED),
    Route("oncall:end-cover", APPROVERS, "post", 302, _cover),
    Route(
        "oncall:contact",
        APPROVERS,
        "post",
        302,
        lambda: {"action": "set"},
        {"kind": "mail", "address": "a@example.org"},
    ),
    Route("oncall:outbox", APPROVERS),
    Route("oncall:alert", APPROVERS, "post", 302, lambda: {**_alert(), "action": "acknowledge"}),
    Route("oncall:decide", FLEET, make=_plan()),
    # Without a digest the right is asked for, and then the digest: 428 is the answer of those who may approve.
    Route("oncall:answer", APPROVERS, "post", 428, _plan("approve"), {"reason": "r"}),
    Route("oncall:answer", APPROVERS, "post", 302, _plan("acknowledge")),
    Route("api:oncall-now", FLEET, make=lambda: {}),
    Route("api:rotas", FLEET),
    Route("api:rotas", APPROVERS, "post", 201, body=ROTA),
    Route("api:rota", FLEET, make=_rota),
    Route("api:rota", APPROVERS, "patch", 200, _rota, {"version": 1, "reason": "r", "people": ["ben", "ada"]}),
    Route("api:rota-end", APPROVERS, "post", 200, _rota),
    Route("api:rota-take-over", APPROVERS, "post", 201, _rota, {"who": "ada", "ends_at": LATER}),
    Route("api:rota-override-end", APPROVERS, "post", 200, _cover),
    Route("api:alerts", FLEET),
    Route("api:alert", FLEET, make=_alert),
    Route("api:alert-acknowledge", APPROVERS, "post", 200, _alert),
    Route("api:alert-hand-on", APPROVERS, "post", 200, _alert),
)
TOPICS = {"oncall": FLEET}
