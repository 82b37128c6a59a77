"""What needs the heavy rooms of the core: measuring, comparing, drawing map columns, reading tables, making worlds.

Only workers and commands import this module.
"""

import time
from typing import Any

import numpy as np
from django.utils import timezone

from console.inventory import ledgers, services
from console.inventory.cells import layout_of
from console.inventory.choices import CAUSES, STORED, UploadKind
from console.inventory.models import Observation, Source, Upload
from console.inventory.services import Encoded
from console.inventory.services.loading import files_of
from scheduler.cluster.errors import InputError
from scheduler.cluster.records import WHOLE_GPU_MILLI, Document
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.fragmentation.devices import gpu_states
from scheduler.fragmentation.difference import difference
from scheduler.fragmentation.measures import WHY, node_measures
from scheduler.fragmentation.report import Report, as_detail, report
from scheduler.worlds.drivers import with_drivers
from scheduler.worlds.generate import generate
from scheduler.worlds.openb import read_openb
from scheduler.worlds.tables import read_node_table, read_tables
from scheduler.worlds.waiting import with_waiting

MOST_BYTE = 254  # 255 says no data


def observe(source_id: int) -> Observation | None:
    """Reads a source and draws it on the map."""
    return services.observe(source_id, encode)


def read_first(source: Source) -> Observation:
    """The first reading, measured; waits where a worker has begun it.  Raises ``services.ReadError``."""
    began = timezone.now()
    found = observe(source.pk) or services.fresh(source.pk, began)[0]
    measure(found.pk)
    return found


def encode(snapshot: Snapshot) -> Encoded:
    """The stored columns in the order of ``choices.STORED``, and one byte per GPU."""
    found = node_measures(snapshot)
    why = np.array([CAUSES.index(word) for word in WHY], dtype=np.uint8)[found.why]
    columns = {
        "free": found.free,
        "stranded": found.stranded,
        "cpu_bound": found.cpu_bound,
        "standby": found.standby,
        "lp": found.lp,
        "health": found.health,
        "stranded_gpus": np.minimum(found.stranded_gpus, MOST_BYTE).astype(np.uint8),
        "cause": why,
    }
    return Encoded(np.stack([columns[name] for name in STORED]), gpu_states(snapshot).states)


def measure(observation_id: int) -> None:
    """Reports on one reading, unless a newer one of its source waits."""
    if services.has_newer(observation_id):
        return
    snapshot = services.snapshot_of(observation_id)
    if snapshot is None:
        return
    began = time.monotonic()
    found = report(snapshot)
    seconds = time.monotonic() - began
    use = services.usage_rows(snapshot), services.theirs_of(snapshot)
    services.store_measurement(observation_id, headline(snapshot, found), as_detail(found), seconds, use)


def headline(snapshot: Snapshot, found: Report) -> dict[str, Any]:
    """The totals of a report with what only the snapshot knows: who sleeps, what is lent, who waits.  Whole GPUs."""
    asks = snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli
    live = snapshot.pod_live
    totals = as_detail(found)["totals"]
    return {
        **totals,
        "allocated_gpus": totals["allocated_hp"] + totals["allocated_lp"] + totals["standby"],
        "asleep_gpus": int(asks[live & snapshot.pod_standby].sum()) / WHOLE_GPU_MILLI,
        "lent_gpus": int(asks[live & (snapshot.pod_lender != UNKNOWN)].sum()) / WHOLE_GPU_MILLI,
        "nodes": len(snapshot.node_name),
        "schedulable": int(snapshot.node_allocatable[snapshot.node_usable].sum()),
        "usable_nodes": int((snapshot.node_usable & (snapshot.node_allocatable > 0)).sum()),
        "models": len(snapshot.models),
        "pending_pods": int((snapshot.pod_node == UNKNOWN).sum()),
        "unlabelled_nodes": int((snapshot.node_domain == UNKNOWN).sum()),
        "stranded": int(found.measures.stranded_gpus.sum()),
        "slack_nodes": sum(pool.slack_nodes for pool in found.pools),
        "empty_nodes": sum(pool.empty_nodes for pool in found.pools),
    }


def compare(key: str) -> None:
    """Sets two snapshots against each other, unless that was done."""
    pair = services.snapshots_to_compare(key)
    if pair is None:
        return
    then, now = pair
    found = difference(then, now)
    order = layout_of(now).order
    columns = np.stack([ledgers.change_bytes(column[order]) for column in (found.schedulable, found.free)])
    services.store_comparison(key, ledgers.as_json(found, (tenants_on(then), tenants_on(now))), columns)


def tenants_on(snapshot: Snapshot) -> dict[tuple[str, str], set[str]]:
    """Whose live pods stand on each node, by (cluster, node): only these may read the node's name."""
    found: dict[tuple[str, str], set[str]] = {}
    named = np.flatnonzero(snapshot.pod_live & (snapshot.pod_tenant != UNKNOWN))
    pairs = {(int(n), int(t)) for n, t in zip(snapshot.pod_node[named], snapshot.pod_tenant[named], strict=True)}
    for node, tenant in pairs:
        at = snapshot.clusters[snapshot.node_cluster[node]].name, snapshot.node_name[node]
        found.setdefault(at, set()).add(snapshot.tenants[tenant])
    return found


def read_upload(upload_id: int) -> None:
    """Turns the tables of an upload into a source, or refuses them with file, line and reason."""
    files = files_of(upload_id)
    if files is None:
        return
    upload, contents = files
    try:
        document, warnings = _read_files(upload, contents)
        services.accept_upload(upload_id, document, warnings)
    except InputError as error:
        services.refuse_upload(upload_id, error)


def _read_files(upload: Upload, contents: dict[str, bytes]) -> tuple[Document, list[str]]:
    names = {role: name for role, (name, _) in upload.files.items()}
    if upload.kind == UploadKind.OPENB:
        document = read_openb(
            contents["nodes"],
            contents["pods"],
            load=float(upload.params["load"]),
            seed=int(upload.params["seed"]),
            lock=float(upload.params["lock"]),
            nodes_file=names["nodes"],
            pods_file=names["pods"],
        )
        return document, []
    taken_at = upload.created_at.isoformat()
    if "pods" not in contents:
        table = read_node_table(contents["nodes"], names["nodes"])
        return Document(taken_at=taken_at, nodes=table.records, pods=[]), list(table.warnings)
    document, warnings = read_tables(
        contents["nodes"], contents["pods"], taken_at=taken_at, nodes_file=names["nodes"], pods_file=names["pods"]
    )
    return document, list(warnings)


def found_world(name: str, world: str, *, nodes: int | None, seed: int, hour: int, lively: bool = True) -> Source:
    """A simulated cluster that starts as a named world.  Raises ``InputError``."""
    document = with_drivers(generate(world, nodes=nodes, seed=seed, hour=hour))
    document = with_waiting(document) if lively else document
    return services.establish_world(name, document, seed=seed, lively=lively)
