"""Everything that reads.  ``viewer`` comes first; rows are frozen dataclasses, shared by pages and API."""

from console.inventory.selectors.clusters import (
    SourceCard,
    UnheldRow,
    cluster_for,
    reach_of,
    source_card,
    unheld_rows,
    watch_processes,
)
from console.inventory.selectors.idling import (
    IdleFilters,
    IdleRow,
    idle_csv,
    idle_orders,
    idle_rows,
    idle_since,
    idle_tenants,
    idle_total,
    sick_devices,
    telemetry_state,
    telemetry_states,
    watts_now,
)
from console.inventory.selectors.instants import instants, oldest_instant
from console.inventory.selectors.maps import (
    UnknownRevisionError,
    gpu_map,
    layout_json,
    layout_names,
    newest_map_revision,
    node_map,
)
from console.inventory.selectors.nodes import NodeRow, node_card, node_csv, node_orders, node_rows, why_words
from console.inventory.selectors.overview import fleet_age, fleet_headline, fleet_layout
from console.inventory.selectors.pods import PodRow, pod_card, pod_csv, pod_rows
from console.inventory.selectors.pools import pool_choices, pool_within, shape_totals, waterfall, what_fits
from console.inventory.selectors.series import standby_series, usage_of_day
from console.inventory.selectors.since import Since, changed_nodes, since, since_pairs, to_compare
from console.inventory.selectors.since_maps import change_layout, change_map, change_names, name_of_map
from console.inventory.selectors.sources import (
    observation_rows,
    simulated_sources,
    source_exists,
    source_for,
    source_states,
    upload_for,
)
from console.inventory.selectors.trend import schedulable_change
from console.inventory.selectors.viewing import FilterChoices, Filters, NotThereError, filter_choices
from console.inventory.selectors.workloads import workload_card

__all__ = [
    "FilterChoices",
    "Filters",
    "IdleFilters",
    "IdleRow",
    "NodeRow",
    "NotThereError",
    "PodRow",
    "Since",
    "SourceCard",
    "UnheldRow",
    "UnknownRevisionError",
    "change_layout",
    "change_map",
    "change_names",
    "changed_nodes",
    "cluster_for",
    "filter_choices",
    "fleet_age",
    "fleet_headline",
    "fleet_layout",
    "gpu_map",
    "idle_csv",
    "idle_orders",
    "idle_rows",
    "idle_since",
    "idle_tenants",
    "idle_total",
    "instants",
    "layout_json",
    "layout_names",
    "name_of_map",
    "newest_map_revision",
    "node_card",
    "node_csv",
    "node_map",
    "node_orders",
    "node_rows",
    "observation_rows",
    "oldest_instant",
    "pod_card",
    "pod_csv",
    "pod_rows",
    "pool_choices",
    "pool_within",
    "reach_of",
    "schedulable_change",
    "shape_totals",
    "sick_devices",
    "simulated_sources",
    "since",
    "since_pairs",
    "source_card",
    "source_exists",
    "source_for",
    "source_states",
    "standby_series",
    "telemetry_state",
    "telemetry_states",
    "to_compare",
    "unheld_rows",
    "upload_for",
    "usage_of_day",
    "watch_processes",
    "waterfall",
    "watts_now",
    "what_fits",
    "why_words",
    "workload_card",
]
