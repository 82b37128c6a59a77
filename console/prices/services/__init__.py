"""Everything that writes prices: bounds, proposals, their approval, and what the clock does."""

from console.prices.services.bounding import set_terms
from console.prices.services.computing import (
    Asked,
    Line,
    Work,
    begin_computing,
    fail_computing,
    open_review,
    still_wanted,
    write_answer,
)
from console.prices.services.deciding import (
    approve_proposal,
    edit_prices,
    reject_proposal,
    send_for_approval,
    withdraw_proposal,
)
from console.prices.services.effect import turn
from console.prices.services.seeding import ensure_prices
from console.prices.services.transition import DigestMissingError, VersionChangedError, VersionMissingError

__all__ = [
    "Asked",
    "DigestMissingError",
    "Line",
    "VersionChangedError",
    "VersionMissingError",
    "Work",
    "approve_proposal",
    "begin_computing",
    "edit_prices",
    "ensure_prices",
    "fail_computing",
    "open_review",
    "reject_proposal",
    "send_for_approval",
    "set_terms",
    "still_wanted",
    "turn",
    "withdraw_proposal",
    "write_answer",
]
