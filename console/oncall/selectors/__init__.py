"""What pages, messages and the sweep read of on-call."""

from console.oncall.selectors.alerts import (
    NEEDED,
    Line,
    alert_detail,
    alerts,
    alerts_of,
    alerts_of_campaign,
    calls_ahead,
    calls_to,
    history,
    open_alert_of,
    outbox,
    unreached,
)
from console.oncall.selectors.campaigns import nodes_held
from console.oncall.selectors.facts import Fact, facts_of, headline_of
from console.oncall.selectors.people import approvers, callable_people, contacts_of, may_be_on_call, person_of, ways_of
from console.oncall.selectors.rotas import (
    Now,
    duty_at,
    now_of,
    rota_detail,
    rota_for,
    rotas,
    rotation_of,
    schedule_of,
    view_of,
    words_now,
)
from console.oncall.selectors.subjects import never_of, waits_for_itself

__all__ = [
    "NEEDED",
    "Fact",
    "Line",
    "Now",
    "alert_detail",
    "alerts",
    "alerts_of",
    "alerts_of_campaign",
    "approvers",
    "callable_people",
    "calls_ahead",
    "calls_to",
    "contacts_of",
    "duty_at",
    "facts_of",
    "headline_of",
    "history",
    "may_be_on_call",
    "never_of",
    "nodes_held",
    "now_of",
    "open_alert_of",
    "outbox",
    "person_of",
    "rota_detail",
    "rota_for",
    "rotas",
    "rotation_of",
    "schedule_of",
    "unreached",
    "view_of",
    "waits_for_itself",
    "ways_of",
    "words_now",
]
