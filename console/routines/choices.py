"""What a routine waits for, and what became of each time that it was due."""

from django.db.models import TextChoices


class Kind(TextChoices):
    SCHEDULE = "schedule", "At set times"
    LOW_USE = "low_use", "When nodes are little used"
    GANG_WAITS = "gang_waits", "When a gang waits for a topology"


class Outcome(TextChoices):
    OPENED = "opened", "Plan opened"
    HELD = "held", "Held: its last plan is not over"
    MISSED = "missed", "Missed"
    REFUSED = "refused", "Refused"


LATEST_S = 600  # a start that is later than this has been missed: nobody expects its plan any more
TRIGGER_LABELS = {
    "least_nodes": ("At least", "nodes"),
    "below_per_cent": ("below", "% of their GPUs in use"),
    "minutes": ("for", "minutes"),
    "hold_off_minutes": ("then not again for", "minutes"),
}
# Field -> lowest, highest, what is usual.
TRIGGER_RANGES = {
    "least_nodes": (1, 10_000, 2),
    "below_per_cent": (1, 100, 50),
    "minutes": (1, 10_080, 60),
    "hold_off_minutes": (5, 10_080, 240),
}
ASKED_WITH = {
    Kind.SCHEDULE: (),
    Kind.LOW_USE: ("least_nodes", "below_per_cent", "minutes", "hold_off_minutes"),
    Kind.GANG_WAITS: ("minutes", "hold_off_minutes"),
}
