"""Everything that reads; the viewer comes first and decides what is seen."""

from console.spot.selectors.bills import MonthBill, month_bills, this_month
from console.spot.selectors.capacity import Board, Held, board, held, model_of_interest, quotes_now
from console.spot.selectors.detail import Detail, changes_of, detail
from console.spot.selectors.places import Place, own_tenants, place_of, places
from console.spot.selectors.reclaims import HEAD, ReclaimFilters, Summary, lines, reclaims, summary, tenants_of
from console.spot.selectors.rows import SHOWN, LeaseRow, NoticeRow, filtered, notices, others_sum, rows_of
from console.spot.selectors.telling import Told, told_of
from console.spot.selectors.viewing import (
    ASK,
    OWN,
    POOL,
    estimate_for,
    estimates,
    lease_for,
    leases,
    require_seeing,
)
from console.spot.selectors.wording import cause_words, hours, usd

__all__ = [
    "ASK",
    "HEAD",
    "OWN",
    "POOL",
    "SHOWN",
    "Board",
    "Detail",
    "Held",
    "LeaseRow",
    "MonthBill",
    "NoticeRow",
    "Place",
    "ReclaimFilters",
    "Summary",
    "Told",
    "board",
    "cause_words",
    "changes_of",
    "detail",
    "estimate_for",
    "estimates",
    "filtered",
    "held",
    "hours",
    "lease_for",
    "leases",
    "lines",
    "model_of_interest",
    "month_bills",
    "notices",
    "others_sum",
    "own_tenants",
    "place_of",
    "places",
    "quotes_now",
    "reclaims",
    "require_seeing",
    "rows_of",
    "summary",
    "tenants_of",
    "this_month",
    "told_of",
    "usd",
]
