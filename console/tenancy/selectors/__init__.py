"""Everything that reads; the viewer comes first and decides what is seen."""

from console.tenancy.selectors.book import (
    Change,
    EditionRow,
    Page,
    book_at,
    book_now,
    changes_since,
    edition_of,
    edition_row,
    editions,
    seen_by,
)
from console.tenancy.selectors.budgets import Burn, Spent, burns, spent_budgets, stops
from console.tenancy.selectors.charges import Account, Bill, Line, Sum, bill, counting_now, history_of
from console.tenancy.selectors.people import TokenRow, members_of, permissions_of, tenant_scope, tokens_of
from console.tenancy.selectors.reach import Reach, may_edit, reach_of
from console.tenancy.selectors.records import Theirs, min_runtimes, priority_classes, tenant_records, theirs_of
from console.tenancy.selectors.standings import (
    OneTenant,
    TenantFilters,
    TenantRow,
    Tree,
    tenant_names,
    tenant_of,
    tenant_tree,
)
from console.tenancy.selectors.teams import first_whole, teams_now
from console.tenancy.selectors.use import Known, Stretch, feeds

__all__ = [
    "Account",
    "Bill",
    "Burn",
    "Change",
    "EditionRow",
    "Known",
    "Line",
    "OneTenant",
    "Page",
    "Reach",
    "Spent",
    "Stretch",
    "Sum",
    "TenantFilters",
    "TenantRow",
    "Theirs",
    "TokenRow",
    "Tree",
    "bill",
    "book_at",
    "book_now",
    "burns",
    "changes_since",
    "counting_now",
    "edition_of",
    "edition_row",
    "editions",
    "feeds",
    "first_whole",
    "history_of",
    "may_edit",
    "members_of",
    "min_runtimes",
    "permissions_of",
    "priority_classes",
    "reach_of",
    "seen_by",
    "spent_budgets",
    "stops",
    "teams_now",
    "tenant_names",
    "tenant_of",
    "tenant_records",
    "tenant_scope",
    "tenant_tree",
    "theirs_of",
    "tokens_of",
]
