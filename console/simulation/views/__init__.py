"""Pages of studies."""

from console.simulation.views.studies import cancel, delete, estimate, figures_csv, new, report, studies, study
from console.simulation.views.traces import delete_trace, record, traces, upload
from console.simulation.views.tradeoff import trade_off

__all__ = [
    "cancel",
    "delete",
    "delete_trace",
    "estimate",
    "figures_csv",
    "new",
    "record",
    "report",
    "studies",
    "study",
    "traces",
    "trade_off",
    "upload",
]
