"""Every closed set of words that the rows of plans use, with the way each is shown."""

from django.db.models import TextChoices


class State(TextChoices):
    REQUESTED = "requested", "Requested"
    PLANNING = "planning", "Computing"
    PROPOSED = "proposed", "Awaiting approval"
    NOTHING_TO_DO = "nothing_to_do", "Nothing to do"
    APPROVED = "approved", "Approved"
    EXECUTING = "executing", "Running"
    PAUSED = "paused", "Paused"
    HALTED = "halted", "Halted"
    SUCCEEDED = "succeeded", "Done"
    REJECTED = "rejected", "Rejected"
    STALE = "stale", "Stale"
    EXPIRED = "expired", "Expired"
    CANCELLED = "cancelled", "Cancelled"
    ABORTED = "aborted", "Aborted"
    FAILED = "failed", "Failed"


NOT_POSSIBLE = "not_possible"  # what NOTHING_TO_DO is called where the goal is not reached
OBSERVED = "observed"  # what PROPOSED is called where the source cannot act
REPORT = "report"  # what PROPOSED is called where the level of automation lets nobody approve it


class Kind(TextChoices):
    CONSOLIDATION = "consolidation", "Consolidation"
    ROLLBACK = "rollback", "Rollback"


class StepState(TextChoices):
    WAITING = "waiting", "waiting"
    ISSUED = "issued", "in flight"
    SUCCEEDED = "succeeded", "done"
    FAILED = "failed", "failed"
    DROPPED = "dropped", "not run"


class Verdict(TextChoices):
    APPROVED = "approved", "approved"
    REJECTED = "rejected", "rejected"


class FreezeScope(TextChoices):
    FLEET = "fleet", "whole fleet"
    CLUSTER = "cluster", "one cluster"
    POOL = "pool", "one pool (a GPU model in a cluster)"
