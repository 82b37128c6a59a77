"""The closed words of standby, and its bounds."""

from django.db.models import TextChoices

VIEW_OWN, VIEW_POOL = "standby.view_own", "standby.view_pool"
SET, RECALL = "standby.set_window", "standby.recall"

GRACE_S = 60  # a borrower is killed so long after its notice
LEAD_S = 75  # a recall begins so long before a window ends: the grace, the longest start, and the look itself
LEAST_MINUTES, MOST_MINUTES = 15, 24 * 60
LONGEST_ONCE_DAYS = 14
MOST_WINDOWS = 200  # open ones of one tenant
SAMPLE_S = 600  # one row of the pool's past for so long
KEPT_DAYS = 35
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


class SleeperState(TextChoices):
    ASKED = "asked", "Asked to sleep"
    ASLEEP = "asleep", "Asleep"
    WAKING = "waking", "Waking"
    OVER = "over", "Awake again"
    REFUSED = "refused", "Refused"


class RecallState(TextChoices):
    ASKED = "asked", "Asked"
    RUNNING = "running", "Running"
    SERVING = "serving", "Serving"
    FAILED = "failed", "Failed"
    MOOT = "moot", "Was awake already"


class Cause(TextChoices):
    PERSON = "person", "recalled by a person"
    WINDOW = "window", "its window ends"
    AHEAD = "ahead", "ahead of a storm"


ASLEEP_NOW = (SleeperState.ASKED, SleeperState.ASLEEP, SleeperState.WAKING)
OPEN_RECALLS = (RecallState.ASKED, RecallState.RUNNING)
