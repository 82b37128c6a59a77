"""``slackline convert --kubernetes``: a dump of kubectl to a snapshot file."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from scheduler import cli
from scheduler.cluster import codec
from tests.scheduler.kubernetes.things import Row, node, pod

SOFT = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}
PODS = [pod("a", gpus=2), pod("b", gpus=2, spec={"affinity": {"nodeAffinity": SOFT}}), pod("c", None, gpus=1)]
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "ml"}, "data": {"k": "djE="}}


def run(*arguments: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(cli.main, ["convert", *map(str, arguments)], input=stdin)


def dump(path: Path, *objects: Row) -> Path:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return path


@pytest.fixture
def dumped(tmp_path: Path) -> Path:
    return dump(tmp_path / "dump.json", node("n1"), *PODS, SECRET)


def test_a_dump_becomes_a_snapshot(dumped: Path, tmp_path: Path) -> None:
    out = tmp_path / "snapshot.json"
    result = run("--kubernetes", dumped, "-o", out, "--cluster", "east", "--taken-at", "2026-11-29T12:00:00Z")
    assert (result.exit_code, result.stderr) == (0, "")
    snapshot = codec.read(out.read_bytes())
    assert (snapshot.clusters[0].name, snapshot.taken_at) == ("east", "2026-11-29T12:00:00Z")
    assert (snapshot.node_name, snapshot.pod_name) == (("n1",), ("a", "b", "c"))
    assert "1 nodes, 8 GPUs, 3 pods, 1 pending" in result.stdout
    assert "preference" in result.stdout
    assert b"djE=" not in out.read_bytes()


def test_as_json_all_that_is_not_held_is_listed(dumped: Path, tmp_path: Path) -> None:
    result = run("--kubernetes", dumped, "-o", tmp_path / "s.json", "--json")
    said = json.loads(result.stdout)
    assert said["pods"] == 3
    assert said["unheld"] == [
        {
            "what": "preference",
            "done": "ignored",
            "kind": "pods",
            "namespace": "ml",
            "name": "b",
            "field": "$.spec.affinity.nodeAffinity",
            "detail": "preferred",
        }
    ]


def test_without_an_instant_the_files_own_counts(dumped: Path, tmp_path: Path) -> None:
    os.utime(dumped, (0, 1_795_953_600))
    out = tmp_path / "s.json"
    assert run("--kubernetes", dumped, "-o", out).exit_code == 0
    snapshot = codec.read(out.read_bytes())
    assert (snapshot.taken_at, snapshot.now_s) == ("2026-11-29T12:00:00Z", 1_795_953_600)


def test_a_snapshot_on_stdout_leaves_what_is_not_held_to_stderr(dumped: Path) -> None:
    result = run("--kubernetes", "-", "-o", "-", stdin=dumped.read_bytes())
    assert codec.read(result.stdout.encode()).node_name == ("n1",)
    assert "does not hold preference: 1 ignored" in result.stderr


def test_an_object_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    path = dump(tmp_path / "d.json", node("n1"), pod("x", requests={"cpu": "1,5"}), pod("y", requests={"cpu": "2,5"}))
    out = tmp_path / "s.json"
    result = run("--kubernetes", path, "-o", out)
    assert result.exit_code == 2
    assert "pods ml/x: $.spec.containers[0].resources.requests.cpu: not a quantity" in result.stderr
    assert "1 more" in result.stderr
    assert not out.exists()
    skipped = run("--kubernetes", path, "-o", out, "--skip-bad")
    assert skipped.exit_code == 0
    assert skipped.stderr.count("warning:") == 2
    assert codec.read(out.read_bytes()).pod_name == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not valid JSON"),
        ("[]", "expected a List"),
        ('{"items": 1}', "expected a List"),
        ("nodes", "not valid JSON"),
    ],
)
def test_what_is_no_dump_is_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(text)
    result = run("--kubernetes", path, "-o", tmp_path / "s.json")
    assert result.exit_code == 2
    assert words in result.stderr


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--levels", "none-such"], "expected auto"),
        (["--taken-at", "yesterday"], "RFC 3339"),
        (["--csv", "a", "b"], "give one"),
    ],
)
def test_wrong_options_are_refused(more: list[str], words: str, dumped: Path, tmp_path: Path) -> None:
    result = run("--kubernetes", dumped, "-o", tmp_path / "s.json", *more)
    assert result.exit_code == 2
    assert words in result.stderr


def test_levels_by_preset(tmp_path: Path) -> None:
    labels = {"topology.kubernetes.io/rack": "r", "fabric.topograph.run/tier-0": "leaf"}
    path = dump(tmp_path / "d.json", node("n1", labels=labels))
    names = {}
    for preset in ("auto", "plain", "none"):
        out = tmp_path / f"{preset}.json"
        assert run("--kubernetes", path, "-o", out, "--levels", preset).exit_code == 0
        names[preset] = codec.read(out.read_bytes()).domain_name
    assert names == {"auto": ("leaf",), "plain": ("r",), "none": ()}
