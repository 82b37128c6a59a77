"""Closed words of the queue.  Reasons are those of the core, which web processes do not load; a test compares them."""

from django.db.models import TextChoices


class Reason(TextChoices):
    """Why a job waits, in the order of precedence."""

    MISCONFIGURED = "misconfigured", "Misconfigured"
    NO_SUCH_MODEL = "no_such_model", "No such GPU model"
    QUOTA = "quota", "Quota"
    SPENT = "budget", "Budget spent"
    CONSTRAINT = "constraint", "Placement constraint"
    TOPOLOGY = "topology", "Topology"
    FRAGMENTATION = "fragmentation", "Fragmentation"
    CAPACITY = "capacity", "Not enough free GPUs"
    QUEUED = "queued", "Behind others in the queue"
    WAITING_FOR_VICTIMS = "waiting_for_victims", "Waiting for pods to leave"
    NOT_EVALUATED = "not_evaluated", "Not evaluated yet"
    BUDGET_RAN_OUT = "budget_ran_out", "Search budget ran out"
    FITS_NOW = "fits_now", "Would start now"


RANK = {word: place for place, word in enumerate(Reason.values)}


class JobState(TextChoices):
    """As of the newest reading that was explained."""

    PENDING = "pending", "Pending"
    RUNNING = "running", "Running"
    GONE = "gone", "Gone"


class Sighted(TextChoices):
    """What a reading showed of a job that the one before did not."""

    WAITS = "waits", "Seen waiting"
    REASON = "reason", "Another reason"
    MEMBERS = "members", "Members changed"
    STARTED = "started", "All members are bound"
    GONE = "gone", "No longer there"


class InquiryState(TextChoices):
    """What became of a question what would unblock a job."""

    ASKED = "asked", "Asked"
    WORKING = "working", "Being worked out"
    DONE = "done", "Answered"
    FAILED = "failed", "Failed"


class RemedyKind(TextChoices):
    """What may make a job start; a test compares them with the core's."""

    QUOTA = "quota", "More quota"
    SPENT = "budget", "A larger budget"
    VICTIMS = "victims", "Pods that would have to leave"
    MOVES = "consolidation", "Moves that make room"
    SHAPE = "smaller_shape", "A smaller shape"
    MODEL = "model", "Another GPU model"
    WAIT = "wait", "Waiting"


class Outcome(TextChoices):
    """Of one remedy, and of all of them together."""

    FOUND = "found", "would start it"
    BUDGET = "budget", "not known: the search ended"
    UNKNOWN = "unknown", "depends on what nobody states"
    NONE = "none", "would not start it"
