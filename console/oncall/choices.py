"""The closed words of on-call: when people hand over, what calls them, and what becomes of a call."""

from django.db.models import TextChoices


class Scope(TextChoices):
    FLEET = "fleet", "whole fleet"
    CLUSTER = "cluster", "one cluster"


class Handover(TextChoices):
    WEEKLY = "weekly", "every week"
    DAILY = "daily", "every day"


DAYS_OF = {Handover.DAILY: 1, Handover.WEEKLY: 7}
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Kind(TextChoices):
    """What needs a person."""

    APPROVAL = "approval", "Plan awaits approval"
    ROUTINE = "routine", "Plan of a routine awaits approval"
    SECOND = "second", "Plan awaits its second approval"
    HALTED = "halted", "Run halted on a surprise"
    REVIEW = "review", "Review of broken glass is open"
    CAMPAIGN = "campaign", "Campaign halted: groups have failed"
    GROUP = "group", "Empty group of a campaign awaits an approver"


URGENT = (Kind.APPROVAL, Kind.SECOND, Kind.HALTED)  # sent in quiet hours unless a rota says otherwise


class Reach(TextChoices):
    """Whom a call goes to, in the order in which an alert widens."""

    PERSON = "person", "one person"
    ROTA = "rota", "everybody in the rota"
    APPROVERS = "approvers", "all approvers"


class ContactKind(TextChoices):
    WEBHOOK = "webhook", "webhook"
    MAIL = "mail", "mail"


class MessageState(TextChoices):
    WAITING = "waiting", "waits"
    SENT = "sent", "delivered"
    FAILED = "failed", "not delivered"
    DROPPED = "dropped", "no longer needed"


class EventKind(TextChoices):
    OPENED = "opened", "opened"
    HELD = "held", "held until morning"
    SKIPPED = "skipped", "skipped"
    CALLED = "called", "called"
    FAILED = "failed", "not reached"
    NOBODY = "nobody", "nobody to call"
    ACKNOWLEDGED = "acknowledged", "acknowledged"
    LAPSED = "lapsed", "acknowledgement ran out"
    HANDED_ON = "handed_on", "handed on"
    RESOLVED = "resolved", "resolved"


# Field of a rota -> lowest, highest, what is usual, unit.
RANGES = {
    "next_minutes": (1, 240, 5, "minutes"),
    "singles": (1, 20, 2, "people"),
    "last_minutes": (1, 240, 5, "minutes"),
    "hold_minutes": (1, 240, 15, "minutes"),
    "review_hours": (1, 720, 12, "hours"),
}
# Prepared reasons by what they are for, so that nobody approves with the words of a rejection.
REASONS = {
    "approve": (
        "Read by phone: gain and moves look right, all checks hold.",
        "Agreed with the tenants that it touches.",
    ),
    "reject": (
        "Not now: too many tenants are touched.",
        "Not now: it can wait for working hours.",
    ),
}
