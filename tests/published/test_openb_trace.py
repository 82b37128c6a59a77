"""The real OpenB trace against the figures published with it.

The files carry no licence and are not ours to keep here: SLACKLINE_SHARED names the directory that holds data/openb.
"""

import csv
import os
from collections import Counter
from functools import cache
from pathlib import Path

import msgspec
import pytest

from scheduler.cluster import codec
from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.records import Document
from scheduler.worlds.generate import generate
from scheduler.worlds.openb import read_openb, read_shapes
from tests.scheduler.worlds.audit import Audit

GPUS = 6212


@cache
def openb() -> Path:
    shared = os.environ.get("SLACKLINE_SHARED")
    assert shared, "set SLACKLINE_SHARED to the directory that holds data/openb"
    return Path(shared) / "data" / "openb"


@cache
def loaded(pods: str, load: float, nodes: str = "gpu_node") -> Document:
    node_list = (openb() / f"openb_node_list_{nodes}.csv").read_bytes()
    pod_list = (openb() / f"openb_pod_list_{pods}.csv").read_bytes()
    return read_openb(node_list, pod_list, load=load, seed=0, lock=0.4)


@pytest.mark.parametrize(
    ("pods", "load", "asked", "failed", "allocation", "empty", "partial"),
    [
        ("default", 0.7, 5847, 0, 69.99, 151, 604),
        ("default", 0.9, 7554, 0, 89.99, 12, 835),
        ("default", 1.0, 8152, 368, 92.80, 0, 846),
        ("gpuspec33", 0.7, 5847, 1, 69.86, 170, 677),
        ("gpuspec33", 0.9, 7554, 201, 87.14, 38, 842),
        ("gpuspec33", 1.0, 8152, 417, 92.20, 0, 870),
    ],
)
def test_first_fit_loads_are_the_published_ones(
    pods: str, load: float, asked: int, failed: int, allocation: float, empty: int, partial: int
) -> None:
    document = loaded(pods, load)
    audit = Audit(document)
    used: Counter[str] = Counter()
    for pod in audit.placed:
        used[pod.node or ""] += pod.gpus * pod.gpu_milli
    homes = {pod.node for pod in audit.placed}
    assert len(document.pods) == asked
    assert asked - len(audit.placed) == failed
    assert 100 * audit.share(audit.placed) == pytest.approx(allocation, abs=0.005)
    assert sum(n.gpus == 8 and n.name not in homes for n in document.nodes) == empty
    assert sum(0 < used[n.name] < 1000 * n.gpus for n in document.nodes) == partial
    assert audit.overfull() == []


@pytest.mark.parametrize("percent", [70, 90])
def test_every_pod_stands_where_the_published_snapshot_has_it(percent: int) -> None:
    with (openb() / "snapshots" / f"loaded_{percent}.csv").open() as file:
        published = {row["name"]: row for row in csv.DictReader(file)}
    pods = loaded("default", percent / 100).pods
    assert {p.name: p.node for p in pods} == {name: row["node"] for name, row in published.items()}
    shared = {p.name: "|".join(map(str, p.devices)) for p in pods if p.devices}
    assert shared == {name: published[name]["gpus"] for name in shared}
    assert len(shared) > 2000


@pytest.mark.parametrize(("percent", "free"), [(70, 1646), (90, 295)])
def test_free_gpus_are_the_published_ones(percent: int, free: int) -> None:
    snapshot = codec.read(msgspec.json.encode(loaded("default", percent / 100)))
    found = occupancy(snapshot)
    assert int(found.free_gpus.sum()) == free
    assert int(found.over_committed_milli.sum()) == 0
    assert snapshot.warnings == ()


@pytest.mark.parametrize(
    ("pods", "rows"),
    [("default", 8152), ("gpuspec33", 8152), ("cpu250", 9420), ("gpushare100", 8152), ("multigpu50", 9061)],
)
def test_every_pod_list_is_read_whole(pods: str, rows: int) -> None:
    document = loaded(pods, 10.0, "all_node")
    assert len(document.pods) == rows
    assert len(document.nodes) == 1523
    assert sum(n.gpus for n in document.nodes) == GPUS
    assert Audit(document).overfull() == []


def test_tiers_follow_qos() -> None:
    tiers = Counter(p.tier for p in loaded("default", 10.0).pods)
    assert tiers == {"HP": 4647 + 7, "LP": 3398 + 100}


def test_openb70c_draws_the_published_shapes() -> None:
    shapes = read_shapes((openb() / "openb_pod_list_default.csv").read_bytes())
    assert len(shapes) == 8152
    audit = Audit(generate("openb70c", nodes=1000, seed=1, shapes=shapes))
    assert len(audit.document.pods) * 20 == pytest.approx(151_000, rel=0.03)
    assert audit.share(audit.placed) == pytest.approx(0.70, abs=0.002)
    assert (audit.overfull(), audit.crowded_groups()) == ([], [])
