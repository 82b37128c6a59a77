"""Every write to plans, freezes and locks.  One transaction each, permission asked, audit recorded, event published."""

from console.plans.services.approval import ByPolicy, approve_plan, reject_plan
from console.plans.services.checking import document_of, newest_of, with_releases
from console.plans.services.cutting import cut_plan, drop_stale_moves
from console.plans.services.dropping import leave_out_changed
from console.plans.services.freezes import lift_freeze, set_freeze
from console.plans.services.glass import break_glass, close_review
from console.plans.services.holding import extend_hold, release_hold
from console.plans.services.levels import leave_to_people
from console.plans.services.locks import release_locks
from console.plans.services.parting import Part, approve_part, part_of
from console.plans.services.pricing import rates_of, with_waits, worth_asked
from console.plans.services.proposals import (
    begin_planning,
    cancel_plan,
    fail_plan,
    open_plan,
    propose,
    report_progress,
    stop_planning,
)
from console.plans.services.rolling_back import roll_back
from console.plans.services.running import abort_plan, pause_plan, resume_plan, start_plan
from console.plans.services.sweeping import sweep
from console.plans.services.transition import Conflict, DigestMissingError

__all__ = [
    "ByPolicy",
    "Conflict",
    "DigestMissingError",
    "Part",
    "abort_plan",
    "approve_part",
    "approve_plan",
    "begin_planning",
    "break_glass",
    "cancel_plan",
    "close_review",
    "cut_plan",
    "document_of",
    "drop_stale_moves",
    "extend_hold",
    "fail_plan",
    "leave_out_changed",
    "leave_to_people",
    "lift_freeze",
    "newest_of",
    "open_plan",
    "part_of",
    "pause_plan",
    "propose",
    "rates_of",
    "reject_plan",
    "release_hold",
    "release_locks",
    "report_progress",
    "resume_plan",
    "roll_back",
    "set_freeze",
    "start_plan",
    "stop_planning",
    "sweep",
    "with_releases",
    "with_waits",
    "worth_asked",
]
