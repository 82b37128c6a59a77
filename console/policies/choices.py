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
            return "no limit"
        unit = self.unit.removesuffix("s") if value == 1 else self.unit
        return f"{value:,} {unit}"


_MANY = 1_000_000
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
        Named("two_approvers_above_moves", "Two approvers above", "moves", 500, 0, _MANY, Merge.LEAST,
              "A plan with more moves needs two approvals, by two people who did not ask for it.",
              optional=True, group="Approval"),
        Named("two_approvers_above_gpus", "Two approvers above", "GPUs moved", 1000, 0, _MANY, Merge.LEAST,
              "A plan that moves more GPUs needs two approvals, by two people who did not ask for it.",
              optional=True, group="Approval"),
        Named("valid_minutes", "Valid for", "minutes", 30, 5, 720, Merge.NEAREST,
              "So long a proposal waits for its approval, and an approval for its start.", group="Approval"),
    )
}  # fmt: skip
