"""Traces from files: the spot trace's schema, OpenB's pods, recorded snapshots; errors name file, line and field."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from scheduler.cli import main
from scheduler.cluster.build import build
from scheduler.cluster.errors import InputError
from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.replay import columns as c
from scheduler.replay.recorded import recorded_trace
from scheduler.replay.sources import drawn_trace, trace_of
from scheduler.worlds.spot_trace import read_spot_jobs, twin_jobs, write_spot_jobs

NODES = b"gpu_model,gpu_capacity_num,cpu_num,node_name\nA,8,96,n0\nB,1,64,n1\n"
HEAD = b"job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type\n"
JOBS = HEAD + b"b,2,A,12,4,2,5,100,Spot\na,1,B,1.5,0.25,1,5,10,HP\n"


def test_the_spot_trace_is_read_as_published() -> None:
    trace = trace_of("spot", {"node_info_df.csv": NODES, "job_info_df.csv": JOBS})
    assert trace.work.names == ("a", "b") and trace.work.tenants == ("1", "2")
    wanted = {c.J_ARRIVAL: (5, 5), c.J_DURATION: (10, 100), c.J_TIER: (0, 1), c.J_WORKERS: (1, 2), c.J_GPUS: (1, 4)}
    wanted |= {c.J_MILLI: (250, 1000), c.J_CPU: (1500, 12_000), c.J_POOLS: (2, 1)}
    for column, values in wanted.items():
        assert trace.work.column(column).tolist() == list(values)


@pytest.mark.parametrize(
    ("old", "new", "path", "reason"),
    [
        (b"0.25", b"x", "job_info_df.csv line 3, gpu_request", "number"),
        (b",100,", b",-1,", "job_info_df.csv line 2, duration", "0 or more"),
        (b"Spot", b"spot", "job_info_df.csv line 2, job_type", "HP or Spot"),
        (b"\na,", b"\nb,", "job_info_df.csv line 3, job_name", "twice"),
        (b",B,", b",C,", "job_info_df.csv, gpu_model", "no node"),
        (b"worker_num", b"workers", "job_info_df.csv, header", "missing"),
    ],
)
def test_a_bad_cell_is_named(old: bytes, new: bytes, path: str, reason: str) -> None:
    with pytest.raises(InputError) as error:
        trace_of("spot", {"node_info_df.csv": NODES, "job_info_df.csv": JOBS.replace(old, new)})
    assert error.value.path == path and reason in error.value.reason


def test_the_twin_survives_its_own_file() -> None:
    jobs = twin_jobs(3, share=0.001)
    again = read_spot_jobs(write_spot_jobs(jobs))
    assert again.name == jobs.name and again.model == jobs.model and again.organisation == jobs.organisation
    for column in ("cpu", "gpu", "workers", "submit_s", "duration_s", "spot"):
        assert np.allclose(getattr(again, column), getattr(jobs, column), rtol=1e-5)
    assert twin_jobs(3, share=0.001).duration_s.tolist() == jobs.duration_s.tolist()
    with pytest.raises(InputError):
        drawn_trace("nothing", seed=0, share=1.0)


def _snapshot(now_s: int, *pods: PodRecord) -> Document:
    node = NodeRecord(name="n", gpu_model="A", gpus=8, cpu_milli=9000, memory_mib=100, asw="s")
    return Document(taken_at="2026-01-01T00:00:00Z", now_s=now_s, nodes=[node], pods=list(pods))


def test_recorded_snapshots_become_arrivals_and_ends() -> None:
    stays, goes = PodRecord(name="stays", gpus=1, node="n"), PodRecord(name="goes", gpus=2, node="n", tier="LP")
    fresh = PodRecord(name="goes", gpus=2, uid="again", tenant="t")
    instants = [_snapshot(1000, stays, goes), _snapshot(1060, stays, goes), _snapshot(1120, stays, fresh)]
    trace = recorded_trace("week", [build(document) for document in reversed(instants)])
    columns = [c.J_ARRIVAL, c.J_DURATION, c.J_TIER, c.J_GPUS, c.J_WORKERS]
    rows = dict(zip(trace.work.names, trace.work.asked[:, columns].tolist(), strict=True))
    assert rows == {
        "default/default/stays": [0, 120, 0, 1, 1],
        "default/default/goes": [0, 60, 1, 2, 1],
        "default/default/goes/again": [120, 1, 0, 2, 1],
    }
    assert trace.until_s == 120 and trace.world.asws == ("default/s",)
    with pytest.raises(InputError, match="two instants"):
        recorded_trace("week", [build(instants[0])])


def test_the_verb_replays_a_folder_under_several_policies(tmp_path: Path) -> None:
    for name, text in (("node_info_df.csv", NODES), ("job_info_df.csv", JOBS)):
        (tmp_path / name).write_bytes(text)
    asked = ["replay", str(tmp_path), "--policy", "fifo", "--policy", "ours", "--runs", "2"]
    said = CliRunner().invoke(main, [*asked, "--json"])
    document = json.loads(said.stdout)
    assert said.exit_code == 0 and (document["trace"]["jobs"], document["trace"]["gpus"]) == (2, 9)
    assert [(run["policy"], run["seed"]) for run in document["runs"]] == [
        (p, s) for p in ("fifo", "ours") for s in (0, 1)
    ]
    assert [one["policy"] for one in document["figures"]] == ["fifo", "ours"]
    assert document["comparisons"][0]["jobs"] == 2
    people = CliRunner().invoke(main, asked)
    assert people.exit_code == 0 and "Trade-off" in people.stdout and "fifo" in people.stdout
    wrong = CliRunner().invoke(main, ["replay", str(tmp_path), "--policy", "nobody"])
    assert wrong.exit_code == 2 and "unknown policy" in wrong.stderr
