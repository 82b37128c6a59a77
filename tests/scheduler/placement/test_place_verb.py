"""``slackline place``: one document, exit codes, refusals."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from scheduler import cli
from tests.builders.worlds import world
from tests.scheduler.placement.test_joint import racks


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    made = world().asw("asw-1").nodes("n1", "n2").asw("asw-2").nodes("n3").pod("a", "n1", gpus=4)
    made.pod("p", gpus=8).pod("q", gpus=8).pod("r", gpus=8)
    path = tmp_path / "snapshot.json"
    path.write_bytes(made.json())
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.main, ["place", *map(str, arguments)])


def document(result: Result, code: int = 0) -> Any:
    assert (result.exit_code, result.stderr) == (code, "")
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


def test_a_job_that_fits_is_told_with_its_domains(snapshot: Path) -> None:
    found = document(run(snapshot, "--gpus", "16", "--per-pod", "8", "--cpu-milli", "8000", "--json"))
    assert found["ok"]
    assert [one["node"] for one in found["assignment"]] == ["n2", "n3"]
    assert (found["domains"], found["entropy"], found["reason"]) == (["asw-1", "asw-2"], 0.693147, None)
    assert found["largest_fit"] == 16
    assert found["predicted"]["crosses"]


def test_a_job_that_does_not_fit_says_why_and_exits_with_one(snapshot: Path) -> None:
    found = document(run(snapshot, "--gpus", "16", "--per-pod", "8", "--same", "asw", "--json"), code=1)
    assert (found["ok"], found["assignment"], found["reason"], found["proven"]) == (False, [], "topology", True)
    assert found["largest_fit"] == 8


def test_pending_jobs_go_one_by_one_or_all_at_once(snapshot: Path) -> None:
    assert document(run(snapshot, "--job", "jobs/p", "--json"))["assignment"][0]["member"] == "jobs/p"
    both = document(run(snapshot, "--job", "jobs/p", "--job", "jobs/q", "--json"))
    assert sorted(one["assignment"][0]["node"] for one in both["jobs"]) == ["n2", "n3"]
    three = document(run(snapshot, *(word for name in "pqr" for word in ("--job", f"jobs/{name}")), "--json"), code=1)
    assert (three["seated"]["jobs"], three["most_gpus"], three["ok"]) == (2, 16, False)


def test_the_first_of_the_queue_go_all_at_once_beside_the_largest_first(tmp_path: Path) -> None:
    made = racks([5, 4])
    for name, count, priority in (("small", 2, 30), ("large", 4, 20), ("middle", 3, 10), ("last", 1, 0)):
        made.gang(name, count, topology={"required": "asw"})
        for i in range(count):
            made.pod(f"{name}-{i}", gpus=8, gang=name, priority=priority)
    path = tmp_path / "queue.json"
    path.write_bytes(made.json())
    found = document(run(path, "--first", "3", "--json"))
    assert [one["job"] for one in found["jobs"]] == ["jobs/small", "jobs/large", "jobs/middle"]
    assert (found["seated"]["jobs"], found["greedy"]["jobs"], found["proven"]) == (3, 2, True)
    assert [one["difference"] for one in found["jobs"]].count("joint_only") == 1
    waiting = next(one for one in found["jobs"] if not one["greedy"]["ok"])
    assert (waiting["difference"], waiting["greedy"]["assignment"]) == ("joint_only", [])
    assert found["seated"]["all_reduce_seconds"] > 0
    named = document(run(path, "--jobs", "jobs/small, jobs/large,jobs/middle", "--json"))
    assert named == found
    told = run(path, "--first", "3").stdout
    assert f"starts only together: {waiting['job']}" in told
    assert "largest first: 2 jobs, 56 GPUs" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("--gpus, --job, --jobs, --first",)),
        (("--gpus", "12", "--per-pod", "8"), ("--gpus", "multiple")),
        (("--gpus", "8", "--same", "rack"), ("--same", "host, asw, cluster")),
        (("--gpus", "8", "--slice", "2"), ("--slice", "4:asw")),
        (("--job", "jobs/nobody"), ("--job", "no such gang or pod")),
        (("--jobs", "jobs/p,jobs/p"), ("--jobs", "each job once")),
        (("--first", "0"), ("--first", "1 to 1000")),
        (("--first", "2", "--gpus", "8"), ("--first", "give one of them")),
        (("--job", "jobs/p", "--same", "asw"), ("--same", "brings its own shape")),
        (("--job", "jobs/p", "--per-pod", "4"), ("--per-pod", "brings its own shape")),
        (("--gpus", "8", "--cpu-milli", "-1"), ("--cpu-milli",)),
    ],
)
def test_bad_input_is_refused(snapshot: Path, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    found = run(snapshot, *arguments, "--json")
    assert (found.exit_code, found.stdout) == (2, "")
    assert all(word in found.stderr for word in words), found.stderr


def test_people_read_tables(snapshot: Path) -> None:
    found = run(snapshot, "--gpus", "8")
    assert found.exit_code == 0
    assert "all in one host, n2" in found.stdout
    assert "Most that fits now" in found.stdout
