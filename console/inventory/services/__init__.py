"""Everything that writes: readings, files, measurements, and what is kept of them."""

from console.connectors.protocol import ConnectorError as ReadError
from console.inventory.services.clusters import (
    Asked,
    ClusterError,
    add_cluster,
    change_cluster,
    cluster_role,
    reseal_credentials,
    try_cluster,
    try_source,
)
from console.inventory.services.comparing import ask_for_comparisons, snapshots_to_compare, store_comparison
from console.inventory.services.loading import (
    MAX_BYTES,
    accept_upload,
    establish_world,
    load_snapshot_file,
    receive_files,
    refuse_upload,
)
from console.inventory.services.measuring import has_newer, snapshot_of, store_measurement
from console.inventory.services.observing import Encoded, connector_of, fresh, newest, observe, observe_due, revision_of
from console.inventory.services.releasing import (
    answer_release,
    any_released,
    ask_release,
    is_released,
    released,
    take_back_release,
    unlocked,
    withdraw_release,
)
from console.inventory.services.retention import sweep
from console.inventory.services.sources import remove_source, rename_source, retry_source
from console.inventory.services.telemetry import TelemetryAsked, drop_telemetry, set_telemetry, try_telemetry
from console.inventory.services.using import theirs_of, usage_rows
from console.inventory.services.watching import MOST as MOST_WATCHED
from console.inventory.services.watching import Watcher
from scheduler.cluster.errors import InputError

__all__ = [
    "MAX_BYTES",
    "MOST_WATCHED",
    "Asked",
    "ClusterError",
    "Encoded",
    "InputError",
    "ReadError",
    "TelemetryAsked",
    "Watcher",
    "accept_upload",
    "add_cluster",
    "answer_release",
    "any_released",
    "ask_for_comparisons",
    "ask_release",
    "change_cluster",
    "cluster_role",
    "connector_of",
    "drop_telemetry",
    "establish_world",
    "fresh",
    "has_newer",
    "is_released",
    "load_snapshot_file",
    "newest",
    "observe",
    "observe_due",
    "receive_files",
    "refuse_upload",
    "released",
    "remove_source",
    "rename_source",
    "reseal_credentials",
    "retry_source",
    "revision_of",
    "set_telemetry",
    "snapshot_of",
    "snapshots_to_compare",
    "store_comparison",
    "store_measurement",
    "sweep",
    "take_back_release",
    "theirs_of",
    "try_cluster",
    "try_source",
    "try_telemetry",
    "unlocked",
    "usage_rows",
    "withdraw_release",
]
