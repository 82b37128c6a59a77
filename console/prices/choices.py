"""Closed words of prices, and what binds them: which bounds can be decided, in which unit and range."""

from dataclasses import dataclass
from typing import Any

from django.db.models import TextChoices


class State(TextChoices):
    """Of a proposal."""

    COMPUTING = "computing", "Computing"
    DRAFT = "draft", "Draft"
    UNCHANGED = "unchanged", "Nothing to change"
    FAILED = "failed", "Failed"
    PROPOSED = "proposed", "Awaiting approval"
    APPROVED = "approved", "Announced"
    IN_FORCE = "in_force", "In force"
    REJECTED = "rejected", "Rejected"
    WITHDRAWN = "withdrawn", "Withdrawn"
    EXPIRED = "expired", "Expired"
    STALE = "stale", "Stale"


class Wanted(TextChoices):
    """What a worker is asked for."""

    REVIEW = "review", "new prices and their preview"
    PREVIEW = "preview", "the preview of prices that people named"


@dataclass(frozen=True, slots=True)
class Bound:
    """One number that binds prices: whole, from ``low`` to ``high``; None where nobody says and nothing is built in."""

    name: str
    label: str
    unit: str
    built_in: int | None
    low: int
    high: int
    meaning: str
    of_model: bool = False  # means something for one GPU model only

    def wrong(self, value: Any) -> str:
        """What speaks against a value, in words; "" if nothing does.  None: says nothing here."""
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            return f"must be a whole number from {self.low:,} to {self.high:,}"
        return ""


MOST_CENTS = 1_000_000
BOUNDS: dict[str, Bound] = {
    one.name: one
    for one in (
        Bound("on_demand_cents", "On demand", "US cents", None, 1, MOST_CENTS,
              "No price is above it; where nobody says, what the book of quotas or a published list says for HP.",
              of_model=True),
        Bound("floor_cents", "Floor", "US cents", None, 1, MOST_CENTS,
              "No price is below it; where nobody says, a share of the on-demand price.", of_model=True),
        Bound("floor_percent", "Floor, of on demand", "%", 10, 1, 100,
              "The floor of models that have none of their own."),
        Bound("change_percent", "Largest change", "%", 5, 1, 100,
              "Within one period of review a price moves by at most so much of itself, and always by a cent."),
        Bound("review_hours", "Review every", "hours", 24, 1, 720,
              "So often new prices are worked out, and so long the largest change counts back."),
        Bound("notice_hours", "Notice", "hours", 6, 0, 168,
              "So long before it takes effect a change is approved and told to everybody."),
        Bound("valid_hours", "Waits for approval", "hours", 12, 1, 168,
              "A proposal that nobody approved in this time expires."),
    )
}  # fmt: skip
SHARED = tuple(name for name, one in BOUNDS.items() if not one.of_model)

MOST_MODELS = 40  # of one proposal
LATEST_HOURS = 24  # after its stated time; a change that something held back for longer expires
HISTORY_DAYS = (30, 90, 180, 365)
