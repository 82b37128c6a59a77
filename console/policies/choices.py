"""The table of settings: what can be decided, in which unit and bounds, and which of several values counts."""

from dataclasses import dataclass
from typing import Any

from django.db.models import TextChoices


class Scope(TextChoices):
    """From the widest to the most specific."""

    FLEET = "fleet", "whole fleet"
    CLUSTER = "cluster", "one cluster"
    POOL = "pool", "one pool (a GPU model in a cluster)"
    TENANT = "tenant", "one tenant"


SCOPES = tuple(Scope)


class Merge(TextChoices):
    """Which of several values that apply to one plan counts."""

    LEAST = "least", "the lowest wins"
    MOST = "most", "the highest wins"
    NEAREST = "nearest", "the most specific wins"


class WindowKind(TextChoices):
    MAINTENANCE = "maintenance", "maintenance: plans run only inside it"
    BLACKOUT = "blackout", "blackout: nothing runs inside it"


@dataclass(frozen=True, slots=True)
class Place:
    """What a value is said for.  Names that a scope does not use are empty."""

    scope: Scope = Scope.FLEET
    cluster: str = ""
    gpu_model: str = ""
    tenant: str = ""

    @property
    def words(self) -> str:
        match self.scope:
            case Scope.FLEET:
                return "the whole fleet"
            case Scope.CLUSTER:
                return f"cluster {self.cluster}"
            case Scope.POOL:
                return f"pool {self.gpu_model} in {self.cluster}"
        return f"tenant {self.tenant}"


@dataclass(frozen=True, slots=True)
class Named:
    """One setting.  Its value is a whole number from ``low`` to ``high``, or None for no limit where ``optional``."""

    name: str
    label: str
    unit: str
    default: int | None
    low: int
    high: int
    merge: Merge
    meaning: str
    optional: bool = False
    group: str = "Pace"
    none: str = "no limit"  # what None means, in words
    words: tuple[str, ...] = ()  # of the values from 0 on, where they are levels and no amounts

    def wrong(self, value: Any) -> str:
        """What speaks against a value, in words; "" if nothing does."""
        if value is None:
            return "" if self.optional else f"{self.label} needs a value"
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            return f"must be a whole number from {self.low:,} to {self.high:,}"
        return ""

    def said(self, value: int | None) -> str:
        """The value in words, with its unit."""
        if value is None:
            return self.none
        if self.words:
            return self.words[value]
        unit = self.unit.removesuffix("s") if value == 1 and self.unit.isalpha() else self.unit
        return f"{value:,} {unit}"


_MANY = 1_000_000
OBSERVE, RECOMMEND, APPROVE, AUTOMATIC = range(4)
LEVELS = ("observe", "recommend", "approve", "automatic")
AUTOMATION = (
    Named("automatic_moves", "Automatic up to", "moves", 50, 1, _MANY, Merge.LEAST,
          "Plans with more moves are left to people, whatever the level.", group="Automation"),
    Named("automatic_days", "Record counts back", "days", 30, 1, 365, Merge.LEAST,
          "Runs that ended longer ago are not counted for what a pool has earned.", group="Automation"),
    Named("automatic_plans", "To earn: plans", "plans", 10, 1, 1_000, Merge.MOST,
          "So many plans that people approved must have run whole, everything in them known and as promised.",
          group="Automation"),
    Named("automatic_as_predicted", "To earn: as predicted", "of 1,000 moves", 980, 0, 1_000, Merge.MOST,
          "Of all moves with an expectation so many must have ended well and in time.", group="Automation"),
    Named("automatic_emptied", "To earn: promise kept", "% of what was promised", 95, 1, 100, Merge.MOST,
          "So much of what plans promised must have been so when their runs ended; one run with less loses the level.",
          group="Automation"),
    Named("automatic_clean_days", "To earn: without a failed check", "days", 14, 0, 365, Merge.MOST,
          "So long ago must the last failed check, failed move, halt, abort or broken promise be.", group="Automation"),
)  # fmt: skip
PRICES = (
    Named("least_worth", "Least worth", "times its cost", 1, 0, 1_000, Merge.NEAREST,
          "Nodes that gain fewer GPU-hours than this many times what emptying them costs are left alone.",
          group="Price"),
    Named("gain_hours", "A whole node counts for", "hours", 4, 1, 720, Merge.NEAREST,
          "So long an emptied node is expected to be worth more as a whole than in pieces.", group="Price"),
    Named("start_seconds", "Start", "seconds", 60, 0, 86_400, Merge.NEAREST,
          "From a pod's place on a node to its work, without what is fetched.", group="Price"),
    Named("image_mib", "Image", "MiB", 20_480, 0, _MANY, Merge.NEAREST,
          "Pulled by a node that has not run the pod before.", group="Price"),
    Named("state_per_cent", "State", "% of device memory", 50, 0, 100, Merge.NEAREST,
          "Of the device memory that a pod holds, so much is read back from the store.", group="Price"),
    Named("network_mib_per_second", "Network into a node", "MiB a second", 2_000, 1, _MANY, Merge.NEAREST,
          "How fast images come.", group="Price"),
    Named("store_mib_per_second", "Store to a pod", "MiB a second", 1_000, 1, _MANY, Merge.NEAREST,
          "How fast checkpoints and weights are read back.", group="Price"),
    Named("rebuild_seconds", "Cold caches", "seconds", 300, 0, 86_400, Merge.NEAREST,
          "Work that a service loses until its caches (such as keys and values of prompts) are warm again.",
          group="Price"),
    Named("checkpoint_age_seconds", "Assumed checkpoint age", "seconds", 1_800, 0, 30 * 86_400, Merge.NEAREST,
          "Work since the last checkpoint of jobs that do not tell: silence must not pay.", group="Price"),
    Named("failure_per_mille", "Moves that fail", "of 1,000 moves", 10, 0, 1_000, Merge.NEAREST,
          "Of high priority; half as many count for low priority.", group="Price"),
    Named("recovery_seconds", "Recovery", "seconds", 900, 0, 86_400, Merge.NEAREST,
          "So long a pod does not work after a move that failed.", group="Price"),
    Named("usd_cents_per_gpu_hour", "GPU-hour", "US cents", None, 1, _MANY, Merge.NEAREST,
          "What an hour of one GPU costs; money is not stated where nobody says.", optional=True, group="Price",
          none="not said"),
)  # fmt: skip
CHECKPOINTS = (
    Named("checkpoint_wait_minutes", "Wait for a checkpoint", "minutes", 0, 0, 1_440, Merge.NEAREST,
          "A pod that is stopped to move, and whose job tells of its checkpoints, waits at most so long for the next "
          "one; 0: moves do not wait.", group="Price"),
    Named("checkpoint_lag_seconds", "From a checkpoint to the stop", "seconds", 15, 0, 3_600, Merge.NEAREST,
          "Work that is lost all the same when a move goes right after a checkpoint.", group="Price"),
    Named("checkpoint_missed", "No checkpoint in time", "choice", 0, 0, 1, Merge.NEAREST,
          "Leave the move out with its chain, or move anyway and lose the work since the last checkpoint.",
          group="Price", words=("leave it out", "move anyway")),
)  # fmt: skip
SETTINGS: dict[str, Named] = {
    one.name: one
    for one in (
        Named("first_wave_per_cent", "First wave", "% of the moves", 1, 1, 10, Merge.LEAST,
              "A run begins with at most so many of its moves; the rest waits until they have ended well."),
        Named("moves_per_wave", "Wave", "moves", None, 1, _MANY, Merge.LEAST,
              "At most so many moves run between two looks at the cluster.", optional=True),
        Named("moves_per_node", "Per node", "moves", None, 1, _MANY, Merge.LEAST,
              "At most so many moves of one wave leave or reach the same node.", optional=True),
        Named("moves_per_asw", "Per switch (ASW)", "moves", None, 1, _MANY, Merge.LEAST,
              "At most so many moves of one wave touch nodes under the same access switch.", optional=True),
        Named("moves_per_owner", "Per workload", "moves", None, 1, _MANY, Merge.LEAST,
              "At most so many pods of one workload move in the same wave.", optional=True),
        Named("moves_per_tenant", "Per tenant", "moves", None, 1, _MANY, Merge.LEAST,
              "At most so many pods of one tenant move in the same wave; said for one tenant, it holds for that alone.",
              optional=True),
        Named("store_gib_per_wave", "Store", "GiB", None, 1, _MANY, Merge.LEAST,
              "Moves of one wave read at most so much state back from the store.", optional=True),
        Named("switch_gib_per_wave", "Into one switch (ASW)", "GiB", None, 1, _MANY, Merge.LEAST,
              "Moves of one wave bring at most so much state and so many images under one access switch.",
              optional=True),
        Named("cooldown_hours", "Rest after a move", "hours", 1, 0, 720, Merge.MOST,
              "A workload that a plan moved is left alone for so long, so that plans do not move it to and fro."),
        Named("two_approvers_above_moves", "Two approvers above", "moves", 500, 0, _MANY, Merge.LEAST,
              "A plan with more moves needs two approvals, by two people who did not ask for it.",
              optional=True, group="Approval"),
        Named("two_approvers_above_gpus", "Two approvers above", "GPUs moved", 1000, 0, _MANY, Merge.LEAST,
              "A plan that moves more GPUs needs two approvals, by two people who did not ask for it.",
              optional=True, group="Approval"),
        Named("autonomy", "Automation", "level", 2, OBSERVE, AUTOMATIC, Merge.LEAST,
              "observe: plans are reports; recommend: an approved plan is started by an act of its own; approve: an "
              "approval may start it; automatic: plans of routines are started by this policy, where every pool that "
              "they touch has earned it.", group="Approval", words=LEVELS),
        Named("valid_minutes", "Valid for", "minutes", 30, 5, 720, Merge.NEAREST,
              "So long a proposal waits for its approval, and an approval for its start.", group="Approval"),
        Named("hold_hours", "Hold", "hours", 24, 0, 168, Merge.NEAREST,
              "So long the nodes on which a plan made room are kept for what it was made for, where the cluster can; "
              "0: not at all.", group="After the plan"),
        *AUTOMATION,
        *PRICES,
        *CHECKPOINTS,
    )
}  # fmt: skip
