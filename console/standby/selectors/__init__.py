"""Reading of windows, recalls, the pool and storms, viewer first."""

from console.standby.selectors.earnings import month_rebates
from console.standby.selectors.pool import pool_page
from console.standby.selectors.recalls import endings_of, recall_row, recalls_page
from console.standby.selectors.storms import storms_page
from console.standby.selectors.viewing import owns, reaches, recall_for, recalls, scope_of, window_for, windows
from console.standby.selectors.windows import window_row, windows_page, workloads_to_mark

__all__ = [
    "endings_of",
    "month_rebates",
    "owns",
    "pool_page",
    "reaches",
    "recall_for",
    "recall_row",
    "recalls",
    "recalls_page",
    "scope_of",
    "storms_page",
    "window_for",
    "window_row",
    "windows",
    "windows_page",
    "workloads_to_mark",
]
