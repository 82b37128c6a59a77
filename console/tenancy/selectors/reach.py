"""Which entries of the book somebody may edit: judged by names and rows of people alone, before the book is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from console.tenancy.choices import EntryKind
from console.tenancy.entries import Given, Key
from console.tenancy.models import Tenant, TenantHour, UsageFeed
from console.tenancy.selectors.people import teams_of, tenant_scope

TENANT = EntryKind.TENANT.value


@dataclass(frozen=True, slots=True)
class Reach:
    """``teams`` may be edited; ``seen`` are these and the departments above, which may be sent as they are shown.

    A department's admin alone has one: whoever sets the whole book is bound by nothing here.
    """

    teams: frozenset[str]
    seen: frozenset[str]

    def shown(self, given: Sequence[Given]) -> set[Key]:
        """Departments of one's own among them: these must be what the person reads of them."""
        return {one.key for one in given if one.kind == TENANT and one.name in self.seen - self.teams}

    def holds(self, given: Sequence[Given]) -> bool:
        """Whether all of these may be edited: existing or not, what is another's is refused alike.

        A new team needs a parent of one's own, and a name that nothing is known of: else whoever names a stranger's
        namespace would be shown what runs there.
        """
        parents = self.seen | {one.name for one in given if not one.removed}
        shown = self.shown(given)
        edits = [one for one in given if one.key not in shown]
        if any(one.kind != TENANT for one in edits):
            return False
        if any(not one.removed and one.document.get("parent") not in parents for one in edits):
            return False
        new = [one for one in edits if one.name not in self.teams]
        return not any(one.removed for one in new) and not known({one.name for one in new})


def reach_of(viewer: Any) -> Reach:
    return Reach(teams_of(viewer), tenant_scope(viewer) or frozenset())


def may_edit(viewer: Any, tenant: str, parent: str = "") -> bool:
    """Whether a form may be opened: of anything for operators; for a department's admin of its teams, or of a name
    under a ``parent`` of its own, whether or not somebody else has that name."""
    if viewer.has_perm("tenancy.set_quotas"):
        return True
    if not viewer.has_perm("tenancy.divide_quotas"):
        return False
    reach = reach_of(viewer)
    return tenant in reach.teams or (parent in reach.seen and tenant not in reach.seen)


def known(names: set[str]) -> bool:
    """Whether any of these is a tenant already: of the book (now or once), of people, or of what clusters report."""
    if not names:
        return False
    if Tenant.objects.filter(name__in=names).exists() or TenantHour.objects.filter(tenant__in=names).exists():
        return True
    return any(
        not names.isdisjoint(
            {row[1] for row in [*feed.rows, *feed.spaces, *feed.sums]} | {one["name"] for one in feed.theirs}
        )
        for feed in UsageFeed.objects.all()
    )
