"""Everything that writes: windows, recalls, who sleeps, and what of it is counted."""

from console.standby.services.promising import promises
from console.standby.services.recalling import note_recall, open_recalls, recall, recall_window
from console.standby.services.sampling import sample
from console.standby.services.seeding import ensure_windows
from console.standby.services.sleeping import begin_telling, note_awake, note_sleep, put_to_sleep, untold, wake_due
from console.standby.services.storms import STORE_MIB_PER_S, STORM_GAP_S, ends_of_windows, exits_of, keep_storms
from console.standby.services.windows import edit_window, end_window, make_window, preview_window

__all__ = [
    "STORE_MIB_PER_S",
    "STORM_GAP_S",
    "begin_telling",
    "edit_window",
    "end_window",
    "ends_of_windows",
    "ensure_windows",
    "exits_of",
    "keep_storms",
    "make_window",
    "note_awake",
    "note_recall",
    "note_sleep",
    "open_recalls",
    "preview_window",
    "promises",
    "put_to_sleep",
    "recall",
    "recall_window",
    "sample",
    "untold",
    "wake_due",
]
