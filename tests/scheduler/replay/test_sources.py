"""Traces from files: the spot trace's schema, OpenB's pods, recorded snapshots; errors name file, line and field."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from scheduler.cli import main
from scheduler.cluster.build import build
from scheduler.cluster.errors import InputError
from scheduler.cluster.records import (
    DeviceRecord,
    Document,
    MigRecord,
    NodeRecord,
    PodRecord,
    QuotaRecord,
    TenantRecord,
)
from scheduler.replay import columns as c
from scheduler.replay.loop import replay
from scheduler.replay.recorded import recorded_trace
from scheduler.replay.report import report
from scheduler.replay.rules import NAMED
from scheduler.replay.sources import drawn_trace, trace_of, with_standby
from scheduler.replay.standby import put_to_sleep, services_of
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


def test_windows_of_standby_and_slices_are_read_from_recorded_snapshots() -> None:
    node = NodeRecord(
        name="n", gpu_model="A", gpus=8, allocatable_gpus=7, devices=[
            DeviceRecord(index=0, health="failed"), DeviceRecord(index=1, mig=[MigRecord(profile="1g.10gb", count=7)])
        ],
    )  # fmt: skip

    def at(now_s: int, asleep: bool, until_s: int | None = None) -> Document:
        service = PodRecord(name="service", gpus=1, node="n", standby=asleep, standby_until_s=until_s, tenant="t")
        sliced = PodRecord(name="sliced", gpus=0, mig={"1g.10gb": 1}, node="n")
        quota = TenantRecord(name="t", quotas=[QuotaRecord(gpu_model="A", nominal=4)])
        taken = "2026-01-01T00:00:00Z"
        return Document(taken_at=taken, now_s=now_s, nodes=[node], pods=[service, sliced], tenants=[quota])

    nights = [at(1000, False), at(1060, True), at(1120, True, 1150), at(1180, False), at(1240, True)]
    trace = recorded_trace("week", [build(document) for document in nights])
    row = dict(zip(trace.work.names, range(2), strict=True))["default/default/service"]
    assert trace.work.windows[trace.work.windows[:, 0] == row, 1:].tolist()[0] == [60, 150]
    assert trace.work.windows[:, 1].tolist() == [60, 240]
    assert trace.world.gpus.tolist() == [6]  # one failed, one in slices
    outcome = replay(trace.world, trace.work, NAMED["greedy"], until_s=240)
    told = report(outcome)
    assert (told.classes[0].never, told.classes[0].sliced, told.standby.calls) == (1, 1, 1)
    assert told.standby.reserved_gpu_hours * 3600 == 90
    assert [record.name for record in trace.tenants] == ["t"]
    assert any("MIG" in note for note in trace.notes)


SERVERS = (
    b"server_id,cluster_id,asw_id,gpu_spec_public,gpu_count,cpu_capacity_cores,day,hour\n"
    b"s0,c,w0,A10,1.0,128,0,00\ns1,c,,H20,8.0,192,0,00\ns1,c,w1,H20,8.0,192,0,01\n"
)
PODS = (
    b"pod_id,cluster_id,state_public,gpu_spec_public,priority_class,job_type_public,gpu_request,cpu_request_cores,"
    b"day,hour\n"
    b"p0,c,Pending,H20,HP,online_inference,1.5,8,0,01\np0,c,Running,H20,HP,online_inference,1.5,8,0,02\n"
    b"p0,c,Standby,H20,HP,online_inference,1.5,8,0,03\np0,c,Standby,H20,HP,online_inference,1.5,8,0,04\n"
    b"p1,c,Running,A10,LP,offline_inference,0.25,4,1,00\np2,c,Pending,A10,Other,dev,1,4,1,00\n"
)


def test_the_studys_release_is_read_in_its_own_schema() -> None:
    trace = trace_of("asi", {"server_hourly.csv": SERVERS, "pod_hourly.csv": PODS})
    assert (trace.work.names, trace.world.asws) == (("p0", "p1"), ("c/w0", "c/w1"))
    wanted = {c.J_ARRIVAL: (0, 82_800), c.J_DURATION: (10_800, 3600), c.J_TIER: (0, 1), c.J_GPUS: (2, 1)}
    wanted |= {c.J_MILLI: (750, 250), c.J_CPU: (8000, 4000), c.J_POOLS: (2, 1)}
    for column, values in wanted.items():
        assert trace.work.column(column).tolist() == list(values)
    assert trace.work.windows.tolist() == [[0, 7200, 14_400]]
    assert trace.until_s == 86_400


@pytest.mark.parametrize(
    ("old", "new", "path", "reason"),
    [
        (b"Standby", b"Asleep", "pod_hourly.csv line 4, state_public", "expected one of"),
        (b"1.5,8,0,03", b"1.5,8,0,24", "pod_hourly.csv line 4, hour", "0 to 23"),
        (b"1.5,8,0,03", b"1.5,8,0,02", "pod_hourly.csv line 4, hour", "twice"),
        (b"0.25", b"-1", "pod_hourly.csv line 6, gpu_request", "0 or more"),
        (b",LP,", b",lp,", "pod_hourly.csv line 6, priority_class", "HP, LP, Other"),
        (b",gpu_request", b",gpus", "pod_hourly.csv, header", "missing"),
    ],
)
def test_a_bad_cell_of_the_release_is_named(old: bytes, new: bytes, path: str, reason: str) -> None:
    with pytest.raises(InputError) as error:
        trace_of("asi", {"server_hourly.csv": SERVERS, "pod_hourly.csv": PODS.replace(old, new)})
    assert error.value.path == path and reason in error.value.reason


def test_services_that_are_drawn_asleep_follow_the_studys_curve() -> None:
    asked = np.zeros((4000, c.J_LANE), np.int64)
    asked[:, [c.J_WORKERS, c.J_GPUS]], asked[:, c.J_MILLI], asked[:, c.J_DURATION] = 1, 1000, 10 * c.DAY_S
    names = [f"j{at}" for at in range(len(asked))]
    services = services_of(asked)
    sleepers = put_to_sleep(asked, names, services, gpus=4000, until_s=10 * c.DAY_S, peak=0.5)
    asleep = asked[asked[:, c.J_SLEEP_S] > 0]
    at_hour = [
        int(((hour * 3600 - asleep[:, c.J_SLEEP_AT]) % c.DAY_S < asleep[:, c.J_SLEEP_S]).sum()) for hour in (0, 6)
    ]
    assert sleepers == len(asleep) == pytest.approx(2000, rel=0.05)
    assert at_hour == [pytest.approx(2000, rel=0.05), pytest.approx(1100, rel=0.05)]  # 1 - 0.9 / 2 of the peak
    with pytest.raises(InputError):
        with_standby(trace_of("spot", {"node_info_df.csv": NODES, "job_info_df.csv": JOBS}), 1.5)


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
    assert people.exit_code == 0 and "Trade-off" in people.stdout and "reclaim" in people.stdout
    wrong = CliRunner().invoke(main, ["replay", str(tmp_path), "--policy", "nobody"])
    assert wrong.exit_code == 2 and "unknown policy" in wrong.stderr
