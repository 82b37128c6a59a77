"""Which exporters are understood, what their metrics mean, and the few questions that bring them all.

One table, from the exporters' own documents and sources:

- NVIDIA dcgm-exporter: etc/default-counters.csv, etc/dcp-metrics-included.csv and render_metrics.go (release 4.5.3).
- AMD device-metrics-exporter: docs/configuration/metricslist.md, gpuagent_gpu_metrics.go.
- Ascend npu-exporter: the metrics table of NPU-Exporter.en.md.
- Cambricon mlu-exporter: examples/metrics.yaml, with the prefix ``mlu`` of its own DaemonSet.
- Intel XPU Manager 1: doc/Prometheus_Exported_Metrics.csv.  Its ratios are of 0 to 1, whatever the help text says
  ("in %"): rest/prometheus_exporter/prometheus_exporter.py multiplies percents by 0.01 in every release that has these
  names, and rest/grafana-dashboard.json draws them as fractions.
- DCGM's reasons for clock events: the masks of dcgmlib/dcgm_fields.h, which are those of NVML.  Heat (0x20, 0x40) and
  the power brake (0x80) count.  Not the software's power cap (0x4), at which a device under load stands as it was told
  to, and not the hardware slowdown (0x8), which comes with any change of the power state, too.

Left out: temperatures, AMD's deferred ECC errors, and XPU Manager 2, which sends OpenTelemetry: names of nodes and
devices are then those of the collector.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from scheduler.cluster.errors import InputError

Signal = Literal[
    "sm",
    "busy",
    "memory_used",
    "memory_free",
    "memory_total",
    "memory",
    "watts",
    "xid",
    "uncorrectable",
    "remap",
    "well",
    "throttled",
]
GROUPS = ("use", "power", "health")
RATE_WINDOW, SHARE_STEP = "5m", "30s"
HELD_BACK = (0x20, 8)  # of the clock reasons: the lowest bit that counts, and 2 to the power of how many bits do
NANO = 1e-9
MOST_XIDS, MOST_WATTS, MOST_COUNT = 10_000, 20_000, 2**31 - 16  # above: the "blank" numbers that DCGM exports
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Metric:
    """One series name.  ``value * scale`` is in the unit of its signal; outside ``low`` to ``high`` it is unknown.

    Units: sm, busy, memory and throttled in percent; memory_… in any one unit per exporter; watts; xid a code;
    uncorrectable a count; remap and well 0 or 1.  ``rate``: a counter, of which the growth a second counts.
    ``bits``: a set of bits, of which the share of time counts in which one of HELD_BACK was set, from 0 to 1.
    """

    name: str
    signal: Signal
    group: str
    high: float
    scale: float = 1.0
    rate: bool = False
    bits: bool = False


@dataclass(frozen=True, slots=True)
class Exporter:
    """``whole``: labels that mark a series as one of a part of a device, unless they have one of these values."""

    name: str
    metrics: tuple[Metric, ...]
    whole: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


EXPORTERS = (
    Exporter(
        "NVIDIA DCGM",
        (
            Metric("DCGM_FI_PROF_SM_ACTIVE", "sm", "use", 100, scale=100),
            Metric("DCGM_FI_DEV_GPU_UTIL", "busy", "use", 100),
            Metric("DCGM_FI_DEV_FB_USED", "memory_used", "use", MOST_COUNT),
            Metric("DCGM_FI_DEV_FB_FREE", "memory_free", "use", MOST_COUNT),
            Metric("DCGM_FI_DEV_POWER_USAGE", "watts", "power", MOST_WATTS),
            Metric("DCGM_FI_DEV_XID_ERRORS", "xid", "health", MOST_XIDS),
            Metric("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "uncorrectable", "health", MOST_COUNT),
            Metric("DCGM_FI_DEV_ROW_REMAP_FAILURE", "remap", "health", 1),
            Metric("DCGM_FI_DEV_POWER_VIOLATION", "throttled", "health", 101, scale=100 * NANO, rate=True),
            Metric("DCGM_FI_DEV_THERMAL_VIOLATION", "throttled", "health", 101, scale=100 * NANO, rate=True),
            Metric("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "throttled", "health", 100, scale=100, bits=True),
            Metric("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "throttled", "health", 100, scale=100, bits=True),
        ),
        {"GPU_I_ID": ()},
    ),
    Exporter(
        "AMD device metrics",
        (
            Metric("gpu_gfx_activity", "busy", "use", 100),
            Metric("gpu_used_vram", "memory_used", "use", MOST_COUNT),
            Metric("gpu_total_vram", "memory_total", "use", MOST_COUNT),
            Metric("gpu_power_usage", "watts", "power", MOST_WATTS),
            Metric("gpu_package_power", "watts", "power", MOST_WATTS),
            Metric("gpu_health", "well", "health", 1),
            Metric("gpu_ecc_uncorrect_total", "uncorrectable", "health", MOST_COUNT),
            Metric("gpu_violation_ppt_residency_percentage", "throttled", "health", 100),
            Metric("gpu_violation_socket_thermal_residency_percentage", "throttled", "health", 100),
            Metric("gpu_violation_hbm_thermal_residency_percentage", "throttled", "health", 100),
        ),
        {"gpu_compute_partition_type": ("spx", "SPX")},
    ),
    Exporter(
        "Intel XPU Manager",
        (
            Metric("xpum_engine_ratio", "busy", "use", 100, scale=100),
            Metric("xpum_memory_ratio", "memory", "use", 100, scale=100),
            Metric("xpum_power_watts", "watts", "power", MOST_WATTS),
        ),
        {"sub_dev": (), "card": ()},
    ),
    Exporter(
        "Ascend NPU",
        (
            Metric("npu_chip_info_utilization", "busy", "use", 100),
            Metric("npu_chip_info_hbm_used_memory", "memory_used", "use", MOST_COUNT),
            Metric("npu_chip_info_hbm_total_memory", "memory_total", "use", MOST_COUNT),
            Metric("npu_chip_info_power", "watts", "power", MOST_WATTS),
            Metric("npu_chip_info_health_status", "well", "health", 1),
        ),
    ),
    Exporter(
        "Cambricon MLU",
        (
            Metric("mlu_utilization", "busy", "use", 100),
            Metric("mlu_memory_used", "memory_used", "use", 2.0**50),
            Metric("mlu_memory_total", "memory_total", "use", 2.0**50),
            Metric("mlu_power_usage", "watts", "power", MOST_WATTS),
            Metric("mlu_health", "well", "health", 1),
            Metric("mlu_dram_ecc_dbe_count", "uncorrectable", "health", MOST_COUNT),
        ),
        {"vf": ()},
    ),
)
METRICS = {metric.name: (exporter, metric) for exporter in EXPORTERS for metric in exporter.metrics}


@dataclass(frozen=True, slots=True)
class Options:
    """How series name nodes and devices, and which of the endpoint's series belong to the cluster.

    The first of each list that a series has counts; a node label may end in a port.  ``matchers``: label, value.
    """

    node_labels: tuple[str, ...] = ("node", "hostname", "Hostname", "instance")
    uuid_labels: tuple[str, ...] = ("UUID", "gpu_uuid", "uuid")
    index_labels: tuple[str, ...] = ("gpu", "gpu_id", "id", "mlu")
    matchers: tuple[tuple[str, str], ...] = ()
    max_age_s: float = 300.0

    def __post_init__(self) -> None:
        for name in ("node_labels", "uuid_labels", "index_labels"):
            for label in getattr(self, name):
                _check_label(f"telemetry.{name}", label)
        if not self.node_labels:
            raise InputError("telemetry.node_labels", None, "name the label that holds the node")
        for label, _ in self.matchers:
            _check_label("telemetry.matchers", label)


def _check_label(path: str, label: str) -> None:
    if not _LABEL.fullmatch(label):
        raise InputError(path, label, "no name of a Prometheus label")


@dataclass(frozen=True, slots=True)
class Query:
    """``metric``: the name of the answer's series where the expression drops it."""

    name: str
    expression: str
    metric: str = ""


def queries(options: Options) -> tuple[Query, ...]:
    """A handful for the whole cluster, however many nodes it has: one per group, per counter, and for sets of bits."""
    found = [Query(group, _highest(options, _any_of(group), options.matchers)) for group in GROUPS]
    for metric in (metric for _, metric in METRICS.values() if metric.rate):
        selector = f"{metric.name}{_braces(options.matchers)}[{RATE_WINDOW}]"
        found.append(Query(metric.name, f"max by ({_kept(options)}) (rate({selector}))", metric.name))
    found.append(_held_back(options))
    return tuple(found)


def counting(options: Options) -> Query:
    """How many series there are of each metric in the table: a few rows, whatever the size of the cluster."""
    return Query("metrics", f"count by (__name__) ({_selector('|'.join(METRICS), options.matchers)})")


def naming(options: Options) -> Query:
    """The sets of labels by which series of the table name nodes: one row a node."""
    selector = _selector("|".join(METRICS), options.matchers)
    return Query("nodes", f"count by ({','.join(options.node_labels)}) ({selector})")


def _highest(options: Options, names: str, matchers: tuple[tuple[str, str], ...]) -> str:
    return f"max by (__name__,{_kept(options)}) ({_selector(names, matchers)})"


def _selector(names: str, matchers: tuple[tuple[str, str], ...]) -> str:
    return "{" + ",".join([f'__name__=~"{names}"', *_quoted(matchers)]) + "}"


def _held_back(options: Options) -> Query:
    """The share of the window in which clocks were held back.  Numbers that mean "blank" are above all sets of bits."""
    names = [name for name, (_, metric) in METRICS.items() if metric.bits]
    lowest, span = HELD_BACK
    sets = f"max by ({_kept(options)}) ({_selector('|'.join(names), options.matchers)} < {MOST_COUNT})"
    held = f"floor({sets} / {lowest}) % {span} > bool 0"
    return Query("clock reasons", f"avg_over_time(({held})[{RATE_WINDOW}:{SHARE_STEP}])", names[0])


def _any_of(group: str) -> str:
    plain = (metric for _, metric in METRICS.values() if metric.group == group and not (metric.rate or metric.bits))
    return "|".join(metric.name for metric in plain)


def _kept(options: Options) -> str:
    """Other labels, such as the pod on the device, would only multiply the bytes of the answer."""
    parts = tuple(label for exporter in EXPORTERS for label in exporter.whole)
    return ",".join(dict.fromkeys((*options.node_labels, *options.uuid_labels, *options.index_labels, *parts)))


def _braces(matchers: tuple[tuple[str, str], ...]) -> str:
    return "{" + ",".join(_quoted(matchers)) + "}" if matchers else ""


def _quoted(matchers: tuple[tuple[str, str], ...]) -> list[str]:
    escaped = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    return [f'{label}="{value.translate(escaped)}"' for label, value in matchers]
