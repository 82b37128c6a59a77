"""What a trace may be called: a named trace that is drawn, or files that are told apart by their columns."""

from collections.abc import Mapping, Sequence

from scheduler.cluster.codec import read
from scheduler.cluster.errors import InputError
from scheduler.replay.asi import asi_trace
from scheduler.replay.recorded import recorded_trace
from scheduler.replay.trace import Trace, openb_trace, spot_trace
from scheduler.worlds.openb import read_nodes, read_pods
from scheduler.worlds.rows import header_of
from scheduler.worlds.spot_trace import read_spot_jobs, read_spot_nodes, twin_jobs, twin_nodes

SPOT_TWIN, ASI = "spot-twin", "asi"
DRAWN = (SPOT_TWIN, ASI)
ASI_NODES, ASI_DAYS = 2000, 60


def drawn_trace(name: str, *, seed: int, share: float) -> Trace:
    """A named trace; ``share`` of its jobs, of asi of its nodes.  Raises InputError for an unknown name."""
    if name == ASI and 0 < share <= 1:
        return asi_trace(nodes=max(1, round(share * ASI_NODES)), days=ASI_DAYS, seed=seed)
    if name not in DRAWN:
        raise InputError("TRACE", name, f"no such folder, file or drawn trace; there are {', '.join(DRAWN)}")
    return spot_trace(name, twin_nodes(), twin_jobs(seed, share=share))


def trace_of(name: str, files: Mapping[str, bytes]) -> Trace:
    """Files by name: the spot trace's two lists, OpenB's two lists, or recorded snapshots as JSON.

    Raises InputError for anything else, and for the first bad row with file, line and field.
    """
    tables = {file: header_of(text, file) for file, text in files.items() if file.endswith(".csv")}
    jobs = _with(tables, "job_name"), _with(tables, "node_name")
    pods = _with(tables, "num_gpu"), _with(tables, "sn")
    if all(jobs):
        return spot_trace(name, read_spot_nodes(files[jobs[1]], jobs[1]), read_spot_jobs(files[jobs[0]], jobs[0]))
    if all(pods):
        return openb_trace(name, read_nodes(files[pods[1]], pods[1]), read_pods(files[pods[0]], pods[0]))
    snapshots = sorted(file for file in files if file.endswith(".json"))
    if snapshots:
        return recorded_trace(name, [read(files[file]) for file in snapshots])
    raise InputError(
        "TRACE",
        name,
        "expected job_info_df.csv with node_info_df.csv, OpenB's node and pod list, or snapshots (*.json)",
    )


def _with(tables: Mapping[str, Sequence[str]], column: str) -> str:
    found = sorted(file for file, columns in tables.items() if column in columns)
    if len(found) > 1:
        raise InputError("TRACE", ", ".join(found), f"several files have the column {column}: give one")
    return found[0] if found else ""
