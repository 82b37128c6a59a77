"""The public release of the OSDI '26 study's fleet in its own schema: servers and pods, hour by hour.

Tables (alibaba/clusterdata, cluster-trace-gpu-v2026/docs/schema.md): ``asi_opensource_server_hourly`` has a row for
each server and hour, ``asi_opensource_pod_hourly`` one for each pod that was seen on a server in an hour.  Time is a
relative ``day`` and an ``hour`` of the day.  What is read is named below; other columns may be missing.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from scheduler.cluster.records import NodeRecord
from scheduler.worlds.rows import Row, read_rows, require_columns

SERVER_COLUMNS = (
    *("server_id", "cluster_id", "asw_id", "gpu_spec_public", "gpu_count", "cpu_capacity_cores"),
    *("day", "hour"),
)
POD_COLUMNS = (
    *("pod_id", "cluster_id", "state_public", "gpu_spec_public", "priority_class", "job_type_public"),
    *("gpu_request", "cpu_request_cores", "day", "hour"),
)
STANDBY, RUNNING = "Standby", "Running"
STATES = (STANDBY, RUNNING, "Pending", "Succeeded", "Failed", "Unknown")
PRIORITIES = ("HP", "LP", "Other")
ONLINE = "online_inference"
HOUR_S = 3600
MEMORY_MIB = 1 << 30  # the release says nothing of memory: there is always enough
MOST_GPUS = 62


@dataclass(slots=True)
class ReleasedPod:
    """One pod over all its hours, which count from the start of the trace."""

    name: str
    cluster: str
    model: str
    tier: str  # of PRIORITIES
    job_type: str
    gpus: int  # devices, each of ``gpu_milli``
    gpu_milli: int
    cpu_milli: int
    seen: set[int] = field(default_factory=set)  # hours in which it was seen at all
    ran: set[int] = field(default_factory=set)  # of those: running or asleep
    asleep: set[int] = field(default_factory=set)


def read_servers(text: bytes, file: str) -> list[NodeRecord]:
    """Each server as its last hour shows it.  Raises InputError naming file, line, field and reason."""
    require_columns(text, file, SERVER_COLUMNS)
    latest: dict[str, tuple[int, NodeRecord]] = {}
    for row in read_rows(text, file):
        hour, name = hour_of(row), row.text("server_id")
        gpus = _amount(row, "gpu_count")
        if gpus != int(gpus) or gpus > MOST_GPUS:
            raise row.fault("gpu_count", f"expected a whole number of at most {MOST_GPUS}")
        node = NodeRecord(
            name=name,
            cluster=row.text("cluster_id"),
            gpu_model=row.text("gpu_spec_public"),
            gpus=int(gpus),
            cpu_milli=round(_amount(row, "cpu_capacity_cores") * 1000),
            memory_mib=MEMORY_MIB,
            asw=row.cells.get("asw_id"),
        )
        if name in latest and latest[name][1].cluster != node.cluster:
            raise row.fault("cluster_id", f"server {name} was in {latest[name][1].cluster}")
        if name not in latest or hour >= latest[name][0]:
            latest[name] = hour, node
    return [node for _, node in latest.values()]


def read_pods(text: bytes, file: str) -> list[ReleasedPod]:
    """Pods by the first row in which they stand.  Raises InputError naming file, line, field and reason."""
    require_columns(text, file, POD_COLUMNS)
    pods: dict[str, ReleasedPod] = {}
    for row in read_rows(text, file):
        hour, name, state = hour_of(row), row.text("pod_id"), _word(row, "state_public", STATES)
        pod = pods.get(name)
        if pod is None:
            pod = pods[name] = _pod(row, name)
        if hour in pod.seen:
            raise row.fault("hour", f"pod {name} stands twice in this hour")
        pod.seen.add(hour)
        if state in (STANDBY, RUNNING):
            pod.ran.add(hour)
        if state == STANDBY:
            pod.asleep.add(hour)
    return list(pods.values())


def _pod(row: Row, name: str) -> ReleasedPod:
    asked = _amount(row, "gpu_request")
    gpus = math.ceil(asked - 1e-9)
    if gpus > MOST_GPUS:
        raise row.fault("gpu_request", f"must be at most {MOST_GPUS}")
    return ReleasedPod(
        name=name,
        cluster=row.text("cluster_id"),
        model=row.text("gpu_spec_public"),
        tier=_word(row, "priority_class", PRIORITIES),
        job_type=row.text("job_type_public"),
        gpus=gpus,
        gpu_milli=max(1, round(asked * 1000 / gpus)) if gpus else 0,
        cpu_milli=round(_amount(row, "cpu_request_cores") * 1000),
    )


def hour_of(row: Row) -> int:
    """Hours from the start of the trace."""
    hour = row.whole("hour")
    if hour > 23:
        raise row.fault("hour", "must be 0 to 23")
    return row.whole("day") * 24 + hour


def _word(row: Row, name: str, words: tuple[str, ...]) -> str:
    word = row.text(name)
    if word not in words:
        raise row.fault(name, f"expected one of {', '.join(words)}")
    return word


def _amount(row: Row, name: str) -> float:
    try:
        found = float(row.text(name))
    except ValueError:
        raise row.fault(name, "expected a number") from None
    if not 0 <= found < 1e12:
        raise row.fault(name, "expected a number of 0 or more")
    return found


def spans(hours: Iterable[int]) -> list[tuple[int, int]]:
    """Hours in a row as (from, until), in seconds."""
    found: list[tuple[int, int]] = []
    for hour in sorted(hours):
        if found and found[-1][1] == hour * HOUR_S:
            found[-1] = (found[-1][0], (hour + 1) * HOUR_S)
        else:
            found.append((hour * HOUR_S, (hour + 1) * HOUR_S))
    return found
