"""What a trace may be called: a named trace that is drawn, or files that are told apart by their columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scheduler.cluster.codec import read
from scheduler.cluster.errors import InputError
from scheduler.replay.asi import asi_trace
from scheduler.replay.recorded import recorded_trace
from scheduler.replay.released import released_trace
from scheduler.replay.standby import PEAK, put_to_sleep, services_of
from scheduler.replay.trace import Trace, openb_trace, spot_trace
from scheduler.worlds.asi_release import read_pods as read_released_pods
from scheduler.worlds.asi_release import read_servers
from scheduler.worlds.openb import read_nodes, read_pods
from scheduler.worlds.rows import header_of
from scheduler.worlds.spot_trace import read_spot_jobs, read_spot_nodes, twin_jobs, twin_nodes

SPOT_TWIN, ASI = "spot-twin", "asi"
DRAWN = (SPOT_TWIN, ASI)
ASI_NODES, ASI_DAYS = 2000, 60


def drawn_trace(name: str, *, seed: int, share: float) -> Trace:
    """A named trace; ``share`` of its jobs, of asi of its nodes.  Raises InputError for an unknown name."""
    if name == ASI and 0 < share <= 1:
        return with_standby(asi_trace(nodes=max(1, round(share * ASI_NODES)), days=ASI_DAYS, seed=seed), PEAK)
    if name not in DRAWN:
        raise InputError("TRACE", name, f"no such folder, file or drawn trace; there are {', '.join(DRAWN)}")
    return spot_trace(name, twin_nodes(), twin_jobs(seed, share=share))


def with_standby(trace: Trace, peak: float) -> Trace:
    """The trace with services that sleep around midnight: ``peak`` of all GPUs.  Raises InputError for a bad share.

    A trace that names its own windows keeps them, and no others are drawn.
    """
    if not 0 <= peak <= 1:
        raise InputError("standby", peak, "must be 0 to 1")
    if not peak or len(trace.work.windows):
        return trace
    asked = trace.work.asked.copy()
    gpus = int(trace.world.gpus.sum())
    sleepers = put_to_sleep(asked, trace.work.names, services_of(asked), gpus=gpus, until_s=trace.until_s, peak=peak)
    note = f"{sleepers} HP jobs of a day or more sleep around midnight, at most {peak:.1%} of all GPUs: drawn"
    return replace(trace, work=replace(trace.work, asked=asked), notes=(*trace.notes, note))


def trace_of(name: str, files: Mapping[str, bytes]) -> Trace:
    """Files by name: the spot trace's two lists, OpenB's two lists, or recorded snapshots as JSON.

    The study's public release: its hourly tables of servers and pods.
    Raises InputError for anything else, and for the first bad row with file, line and field.
    """
    tables = {file: header_of(text, file) for file, text in files.items() if file.endswith(".csv")}
    jobs = _with(tables, "job_name"), _with(tables, "node_name")
    pods = _with(tables, "num_gpu"), _with(tables, "sn")
    released = _with(tables, "state_public"), _with(tables, "asw_id")
    if all(jobs):
        return spot_trace(name, read_spot_nodes(files[jobs[1]], jobs[1]), read_spot_jobs(files[jobs[0]], jobs[0]))
    if all(pods):
        return openb_trace(name, read_nodes(files[pods[1]], pods[1]), read_pods(files[pods[0]], pods[0]))
    if all(released):
        servers = read_servers(files[released[1]], released[1])
        return released_trace(name, servers, read_released_pods(files[released[0]], released[0]))
    snapshots = sorted(file for file in files if file.endswith(".json"))
    if snapshots:
        return recorded_trace(name, [read(files[file]) for file in snapshots])
    raise InputError(
        "TRACE",
        name,
        "expected job_info_df.csv with node_info_df.csv, OpenB's node and pod list, asi_opensource_pod_hourly with"
        " asi_opensource_server_hourly, or snapshots (*.json)",
    )


def _with(tables: Mapping[str, Sequence[str]], column: str) -> str:
    found = sorted(file for file, columns in tables.items() if column in columns)
    if len(found) > 1:
        raise InputError("TRACE", ", ".join(found), f"several files have the column {column}: give one")
    return found[0] if found else ""
