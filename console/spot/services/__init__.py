"""Every write to leases: one transaction each, permission asked, audit recorded, event published."""

from console.spot.services.asking import ask_of
from console.spot.services.billing import bill_so_far, sum_of
from console.spot.services.calibration import keep_past
from console.spot.services.deciding import ask_for, edit_draft, give_back, make_lease, withdraw
from console.spot.services.ending import end_seats, never_came, note_trouble
from console.spot.services.estimating import ask_estimate, begin_estimate, fail_estimate, keep_estimate
from console.spot.services.forecasting import ensure_peaks, watch_demand
from console.spot.services.reclaiming import Order, Told, notice, settle, told_of
from console.spot.services.running import Recalled, Seen, review, runs_open, watch
from console.spot.services.seeding import ensure_leases
from console.spot.services.seeing import note_hand_overs, quote_for, recalls_of, seen_of
from console.spot.services.starting import (
    NAMESPACE,
    Given,
    Line,
    claim_launch,
    key_of,
    launched,
    lines_due,
    looked,
    note_wait,
    start,
    take_back,
    take_line,
)
from console.spot.services.supposing import ensure_past

__all__ = [
    "NAMESPACE",
    "Given",
    "Line",
    "Order",
    "Recalled",
    "Seen",
    "Told",
    "ask_estimate",
    "ask_for",
    "ask_of",
    "begin_estimate",
    "bill_so_far",
    "claim_launch",
    "edit_draft",
    "end_seats",
    "ensure_leases",
    "ensure_past",
    "ensure_peaks",
    "fail_estimate",
    "give_back",
    "keep_estimate",
    "keep_past",
    "key_of",
    "launched",
    "lines_due",
    "looked",
    "make_lease",
    "never_came",
    "note_hand_overs",
    "note_trouble",
    "note_wait",
    "notice",
    "quote_for",
    "recalls_of",
    "review",
    "runs_open",
    "seen_of",
    "settle",
    "start",
    "sum_of",
    "take_back",
    "take_line",
    "told_of",
    "watch",
    "watch_demand",
    "withdraw",
]
