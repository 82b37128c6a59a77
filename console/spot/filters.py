"""The filters of the reclaim log."""

from collections.abc import Sequence

from console.spot.choices import Cause
from console.spot.selectors.reclaims import OUTCOMES, ReclaimFilters
from console.ui.filters import Choice, Filter, one_of


def reclaim_filters(said: ReclaimFilters, tenants: Sequence[str]) -> list[Filter]:
    """By tenant only for those who see more than one's own."""
    causes = [Choice(value, label) for value, label in Cause.choices]
    outcomes = [Choice(value, label) for value, label in OUTCOMES.items()]
    found = [
        Filter("cause", "Cause", said.cause, "All", causes, always=True),
        Filter("outcome", "End", said.outcome, "All", outcomes),
        Filter("lease", "Lease", said.lease, "L-…"),
        Filter("since", "From", said.since, kind="date"),
        Filter("until", "To", said.until, kind="date"),
    ]
    return [one_of("tenant", "Tenant", said.tenant, tenants, always=True), *found] if tenants else found
