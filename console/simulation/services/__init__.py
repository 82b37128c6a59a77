"""Everything that writes: studies, the life of their runs, and traces of our own."""

from console.simulation.services.running import (
    beat,
    checkpoint_of,
    claim,
    fail_run,
    fail_summary,
    finished_runs,
    keep_result,
    keep_summary,
    move_on,
    stash,
    study_to_sum,
    sweep,
    tell_trace,
)
from console.simulation.services.seeding import ensure_study
from console.simulation.services.studying import cancel_study, delete_study, make_study, topic_of
from console.simulation.services.tracing import (
    accept_trace,
    delete_trace,
    files_of,
    readings_of,
    receive_files,
    record_trace,
    refuse_trace,
    trace_to_read,
)

__all__ = [
    "accept_trace",
    "beat",
    "cancel_study",
    "checkpoint_of",
    "claim",
    "delete_study",
    "delete_trace",
    "ensure_study",
    "fail_run",
    "fail_summary",
    "files_of",
    "finished_runs",
    "keep_result",
    "keep_summary",
    "make_study",
    "move_on",
    "readings_of",
    "receive_files",
    "record_trace",
    "refuse_trace",
    "stash",
    "study_to_sum",
    "sweep",
    "tell_trace",
    "topic_of",
    "trace_to_read",
]
