"""Every closed set of words of a campaign: what it chooses, how it goes, and where it and its groups stand."""

from django.db.models import TextChoices


class Selects(TextChoices):
    LABEL = "label", "Nodes with a label"
    MODEL = "model", "Nodes of a GPU model"
    DOMAINS = "domains", "Nodes of switches or other domains"
    NODES = "nodes", "A list of nodes"
    UNFIT = "unfit", "Nodes that are not ready or degraded"


class Order(TextChoices):
    EMPTIEST = "emptiest", "Fewest GPUs in use first"
    NAME = "name", "By name"


class State(TextChoices):
    DRAFT = "draft", "Draft"
    ACTIVE = "active", "Active"
    PAUSED = "paused", "Paused"
    HALTED = "halted", "Halted"
    ENDING = "ending", "Ending"
    DONE = "done", "Done"
    ENDED = "ended", "Ended"


FINAL = (State.DONE, State.ENDED)
AT_WORK = (State.ACTIVE, State.PAUSED, State.HALTED, State.ENDING)  # what every turn looks at


class GroupState(TextChoices):
    WAITING = "waiting", "Waiting"
    ASKED = "planning", "Plan is computed"
    AGAIN = "again", "Is asked again"
    APPROVAL = "proposed", "Awaiting approval"
    DRAINING = "draining", "Draining"
    DRAINED = "drained", "Drained"
    WORK = "work", "Work going on"
    RETURNING = "returning", "Being given back"
    BACK = "back", "Back in service"
    FAILED = "failed", "Failed"
    SKIPPED = "skipped", "Skipped"


OVER = (GroupState.BACK, GroupState.FAILED, GroupState.SKIPPED)


class Refused(TextChoices):
    """What follows when people say no to a group's plan."""

    SKIP = "skip", "skip the group"
    AGAIN = "again", "ask again later"


NO_GROUPING, ZONE = "none", "zone"  # besides the levels of the network
GROUPINGS = {"asw": "By ASW", ZONE: "By zone", NO_GROUPING: "By number of nodes"}  # levels that are there are added
# Field -> lowest, highest, what is usual, label, unit.
RANGES = {
    "at_once": (1, 20, 1, "Groups at once", "groups"),
    "most_out": (1, 100_000, None, "Out of service at most", "nodes"),
    "most_out_per_cent": (1, 100, 10, "and at most", "% of the nodes of these GPU models"),
    "most_per_group": (1, 10_000, None, "Nodes in a group at most", "nodes; empty: cut where more may not be out"),
    "work_minutes": (1, 43_200, 60, "Work takes", "minutes a group"),
    "stop_after": (1, 100, 2, "Stop after", "failed groups"),
    "most_asks": (1, 20, 5, "Ask for a group's plan", "times"),
}
MOST_GROUPS = 2_000
MOST_NODES = 10_000
