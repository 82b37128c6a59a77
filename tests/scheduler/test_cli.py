"""The command line: one JSON document on stdout or nothing, reasons on stderr, exit 0, 1 or 2."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from scheduler import cli
from scheduler.cli.verbs import consolidate
from scheduler.cluster import codec
from scheduler.consolidation.params import Params, Progress
from scheduler.plan.plan import Plan
from tests.builders.checker import Judge
from tests.builders.worlds import World, world

CAUSES = ["unhealthy", "allocated_hp", "allocated_lp", "standby", "fractional", "stranded", "cpu_memory"]
CAUSES += ["topology", "constraint"]
OPENB_NODES = "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,2,P100\nn2,96000,393216,8,G2\n"
OPENB_PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,1024,1,460\nb,1000,1024,2,1000\nc,1000,1024,0,0\n"


def run(*arguments: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments], input=stdin)


def document(result: Result) -> Any:
    """The one JSON document on stdout."""
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


def assert_refused(result: Result, *words: str) -> None:
    assert result.exit_code == 2
    assert result.stdout == ""
    assert all(word in result.stderr for word in words), result.stderr


def half_empty() -> World:
    return world().node("n1").node("n2").node("n3").pod("a", "n1", gpus=2).pod("b", "n2", gpus=5).pod("c", "n3", gpus=8)


def two_clusters() -> World:
    return world().node("n1", cluster="east").node("n1", cluster="west").pod("a", "n1", cluster="west")


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    return saved(half_empty(), tmp_path)


def saved(made: World, folder: Path) -> Path:
    path = folder / "snapshot.json"
    path.write_bytes(made.json())
    return path


# measure


def test_measure_prints_the_stated_document(snapshot: Path) -> None:
    found = document(run("measure", snapshot, "--json"))
    assert set(found) == {"totals", "pools", "fits", "fragmentation_milli", "nodes", "warnings"}
    totals = "gpus free allocated_hp allocated_lp standby unhealthy allocatable over_committed shared_rest_milli"
    assert set(found["totals"]) == set(totals.split())
    assert (found["totals"]["gpus"], found["totals"]["free"], found["totals"]["allocated_hp"]) == (24, 9, 15)
    (pool,) = found["pools"]
    assert (pool["nodes"], pool["slack_nodes"], pool["empty_nodes"]) == (3, 2, 0)
    for shape in pool["shapes"]:
        assert sorted(shape["causes"]) == sorted(CAUSES)
        assert shape["usable"] + sum(shape["causes"].values()) == 24_000
    assert [set(row) for row in found["nodes"]] == [{"name", "free", "stranded", "cause"}] * 3
    assert all(set(fit) == {"gpus", "level", "count"} for fit in found["fits"])


def test_measure_takes_a_mix(snapshot: Path, tmp_path: Path) -> None:
    mix = tmp_path / "mix.json"
    mix.write_text('[{"gpus": 8}]')
    assert document(run("measure", snapshot, "--mix", mix, "--json"))["fragmentation_milli"] == 9000
    mix.write_text('[{"gpus": -1}]')
    assert_refused(run("measure", snapshot, "--mix", mix, "--json"), "$[0].gpus", "-1", "negative")


def test_measure_speaks_to_people_too(snapshot: Path) -> None:
    result = run("measure", snapshot)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "free: 9" in result.stdout
    assert "1G8C" in result.stdout
    assert "–" in result.stdout and "None" not in result.stdout, "no place is that large"


def test_a_snapshot_comes_from_stdin_as_well() -> None:
    assert document(run("measure", "-", "--json", stdin=half_empty().json()))["totals"]["gpus"] == 24


# consolidate


def test_consolidate_prints_the_stated_document(snapshot: Path) -> None:
    found = document(run("consolidate", snapshot, "--json"))
    assert {"snapshot_digest", "plan_digest", "emptied_nodes", "moves", "before", "after"} <= set(found)
    assert {"kept", "bound", "seconds"} <= set(found)
    assert found["emptied_nodes"] == ["n1"]
    assert found["moves"] == [{"pod": "jobs/a", "from": "n1", "to": "n2", "wave": 0, "mode": "copy", "after": []}]
    assert (found["before"], found["after"]) == (
        {"slack_nodes": 2, "empty_nodes": 0},
        {"slack_nodes": 1, "empty_nodes": 1},
    )
    assert found["bound"] == {"net_upper": 1, "gap": 0.0, "proven": True}
    assert found["snapshot_digest"] == half_empty().snapshot().digest
    assert found["seconds"] > 0


def test_a_generated_world_gets_a_plan_that_an_independent_judge_passes(tmp_path: Path) -> None:
    path = tmp_path / "asi.json"
    assert run("generate", "--world", "asi", "--nodes", "300", "--seed", "2", "-o", path).exit_code == 0
    found = document(run("consolidate", path, "--json", "--seed", "3"))
    assert len(found["emptied_nodes"]) >= 3
    made = json.loads(path.read_bytes())
    assert Judge(made, made["clusters"][0]["name"]).faults(found) == []
    again = document(run("consolidate", path, "--json", "--seed", "3"))
    assert (found.pop("seconds"), again.pop("seconds")) > (0, 0)
    assert found == again


def test_no_move_worth_making_is_good(tmp_path: Path) -> None:
    path = saved(world().node("n1").pod("a", "n1", gpus=8), tmp_path)
    found = document(run("consolidate", path, "--json"))
    assert (found["moves"], found["emptied_nodes"], found["bound"]["net_upper"]) == ([], [], 0)
    assert "no move is worth making" in run("consolidate", path).stdout


def test_consolidate_speaks_to_people_too(snapshot: Path) -> None:
    result = run("consolidate", snapshot)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "1 node net emptied by 1 move in 1 wave (" in result.stdout
    assert any("jobs/a" in line and "1" in line.partition("jobs/a")[0] for line in result.stdout.splitlines())
    assert "jobs/a" in result.stdout


@pytest.mark.parametrize(
    ("option", "value"),
    [one.split() for one in ("--depth 9", "--rounds 0", "--partition 1", "--max-moves -1", "--seconds 0", "--seed -5")],
)
def test_options_out_of_range_are_named(snapshot: Path, option: str, value: str) -> None:
    assert_refused(run("consolidate", snapshot, option, value, "--json"), option, value, "must be")


@pytest.mark.parametrize(
    "options", ["--whole", "--partly", "--slots 1", "--drain n1 --level asw", "--seat jobs/a --model H"]
)
def test_what_belongs_to_another_goal_is_refused(snapshot: Path, options: str) -> None:
    words = options.split()
    result, named = run("consolidate", snapshot, *words), [word for word in words if word.startswith("--")][-1]
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {named}: says something of a goal that is not asked for")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--make-room 8G", "--make-room: must be a shape such as 8G128C: GPUs, then CPU cores (got '8G')"),
        ("--make-room 1G1C --slots 0", "--slots: must be a whole number from 1 to 10000 (got 0)"),
        ("--empty-domain z", "--empty-domain: no such network domain (got 'z')"),
        ("--seat jobs", "--seat: must be namespace/name of a gang or pod (got 'jobs')"),
        ("--seat a/b --partly", "--partly: a part of a gang is of no use: it is all or nothing"),
        ("--drain=", "--drain: is needed for the goal drain"),
        ("--spare=", "--spare: is needed for the goal spare"),
        ("--seat=", "--seat: is needed for the goal gang (got '')"),
        ("--drain n9", "--drain: no such node (got 'n9')"),
        ("--drain n1 --spare n1", "--drain, --spare: give one of them"),
    ],
)
def test_what_is_wrong_with_a_goal_names_the_option_that_was_given(snapshot: Path, options: str, told: str) -> None:
    result = run("consolidate", snapshot, *options.split())
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {told}\n")


def test_every_option_reaches_the_planner(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Params, int]] = []

    def plan(world: object, params: Params, *, seed: int, **_: object) -> Plan:
        asked.append((params, seed))
        raise KeyboardInterrupt

    monkeypatch.setattr(consolidate, "plan_moves", plan)
    options = "--depth 1 --rounds 2 --partition 30 --exact-up-to 7 --repack-up-to 8 --max-moves 4 --seconds 5 --seed 6"
    run("consolidate", snapshot, *options.split())
    wanted = Params(depth=1, rounds=2, partition=30, exact_up_to=7, repack_up_to=8, max_moves=4, seconds=5.0)
    assert asked == [(wanted, 6)]


def test_an_interrupt_stops_the_planner_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    with consolidate._progress() as tell:
        assert tell(Progress(1, 5, 1, 2, 0, 0))
        signal.raise_signal(signal.SIGINT)
        assert not tell(Progress(1, 5, 2, 2, 0, 0))
        assert signal.getsignal(signal.SIGINT) is before
    assert signal.getsignal(signal.SIGINT) is before


# the cluster meant


@pytest.mark.parametrize("verb", ["measure", "consolidate"])
def test_one_of_several_clusters_must_be_named(verb: str, tmp_path: Path) -> None:
    path = saved(two_clusters(), tmp_path)
    assert_refused(run(verb, path, "--json"), "cluster", "east", "west")
    assert_refused(run(verb, path, "--json", "--cluster", "north"), "north", "east", "west")
    assert document(run(verb, path, "--json", "--cluster", "west"))


def test_only_the_named_cluster_is_measured(tmp_path: Path) -> None:
    path = saved(two_clusters(), tmp_path)
    east, west = (document(run("measure", path, "--json", "--cluster", name)) for name in ("east", "west"))
    assert (east["totals"]["free"], west["totals"]["free"]) == (8, 7)


# bad input


@pytest.mark.parametrize("verb", ["measure", "consolidate"])
@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_faulty_snapshot_is_refused_with_path_value_and_reason(verb: str, flags: tuple[str, ...]) -> None:
    faulty = world().node("n1").pod("a", "n1", gpus=2).pod("b", "n1", gpus=-7)
    assert_refused(run(verb, "-", *flags, stdin=faulty.json()), "$.pods[1].gpus", "-7")
    assert_refused(run(verb, "-", *flags, stdin=b"{"), "line 1 column 2", "JSON")
    assert_refused(run(verb, "-", *flags, stdin=b""), "JSON")


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    assert_refused(run("measure", tmp_path / "none.json"), "none.json", "No such file")
    assert_refused(run("measure", tmp_path), str(tmp_path))
    assert_refused(
        run("generate", "--world", "llm78", "--nodes", "5", "-o", tmp_path / "no" / "x.json"), "No such file"
    )


def test_unknown_options_and_verbs_are_bad_input() -> None:
    assert run("measure", "x", "--nope").exit_code == 2
    assert run("nonsense").exit_code == 2
    assert run("measure").exit_code == 2


def test_names_cannot_steer_the_terminal(tmp_path: Path) -> None:
    evil = "p\x1b[31m[bold]\u202e"
    path = saved(world().node("n1").node("n2").pod(evil, "n1", gpus=2).pod("b", "n2", gpus=5), tmp_path)
    result = run("consolidate", path)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout
    assert "[bold]" in result.stdout
    assert_refused(run("measure", path, "--cluster", evil), "\\x1b[31m")
    assert "\x1b" not in run("measure", path, "--cluster", evil).stderr


# generate and convert


def test_generate_writes_a_snapshot_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    result = run("generate", "--world", "small78", "--nodes", "60", "--seed", "4", "-o", path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "60 nodes, 480 GPUs" in result.stdout
    assert len(codec.read(path.read_bytes()).node_name) == 60
    found = document(run("generate", "--world", "small78", "--nodes", "60", "--seed", "4", "-o", path, "--json"))
    assert (found["nodes"], found["gpus"], found["pending"]) == (60, 480, 0)


def test_generate_repeats_itself_byte_by_byte(tmp_path: Path) -> None:
    def made(seed: int, hour: int) -> bytes:
        result = run("generate", "--world", "asi", "--nodes", "60", "--seed", str(seed), "--hour", str(hour), "-o", "-")
        assert result.exit_code == 0
        return result.stdout_bytes

    assert made(1, 0) == made(1, 0)
    assert len({made(1, 0), made(2, 0), made(1, 12)}) == 3


def test_generate_draws_from_a_trace(tmp_path: Path) -> None:
    shapes, path = tmp_path / "pods.csv", tmp_path / "w.json"
    shapes.write_text(OPENB_PODS)
    assert_refused(run("generate", "--world", "openb70c", "--nodes", "50", "-o", path), "shapes", "openb70c")
    assert not path.exists()
    run("generate", "--world", "openb70c", "--nodes", "50", "--shapes", shapes, "-o", path)
    assert {(pod["gpus"], pod.get("gpu_milli", 1000)) for pod in json.loads(path.read_bytes())["pods"]} == {
        (1, 460),
        (2, 1000),
        (0, 1000),
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--world", "nowhere"), ("world", "nowhere", "llm78")),
        (("--world", "llm78", "--nodes", "0"), ("nodes", "0")),
        (("--world", "llm78", "--seed", "-1"), ("seed", "-1")),
        (("--world", "llm78", "--nodes", "many"), ("--nodes",)),
        (("--world", "asi", "--hour", "24"), ("hour", "24")),
        (("--world", "fleet", "--nodes", "10"), ("nodes", "10", "37707")),
    ],
)
def test_generate_refuses(arguments: tuple[str, ...], words: tuple[str, ...], tmp_path: Path) -> None:
    assert_refused(run("generate", *arguments, "-o", tmp_path / "w.json"), *words)
    assert list(tmp_path.iterdir()) == []


def test_convert_loads_openb(tmp_path: Path) -> None:
    nodes, pods, path = tmp_path / "nodes.csv", tmp_path / "pods.csv", tmp_path / "w.json"
    nodes.write_text(OPENB_NODES)
    pods.write_text(OPENB_PODS)
    found = document(run("convert", "--openb", nodes, pods, "--load", "1", "--lock", "1", "-o", path, "--json"))
    assert (found["nodes"], found["gpus"], found["pods"], found["pending"]) == (2, 10, 3, 0)
    made = codec.read(path.read_bytes())
    assert made.pod_locked.all()
    assert [made.node_name[n] for n in made.pod_node] == ["n1", "n2", "n1"]
    pods.write_text(OPENB_PODS.replace("460", "4600"))
    assert_refused(
        run("convert", "--openb", nodes, pods, "-o", path), f"{pods} line 2, gpu_milli", "4600", "at most 1000"
    )


def test_convert_reads_the_csv_twin(tmp_path: Path) -> None:
    nodes, pods, path = tmp_path / "nodes.csv", tmp_path / "pods.csv", tmp_path / "w.json"
    nodes.write_text("name,gpus,gpu_model,rack\nn1,8,H100,r7\n")
    pods.write_text("name,gpus,node\na,2,n1\n")
    assert_refused(run("convert", "--csv", nodes, pods, "-o", path), "--taken-at")
    result = run("convert", "--csv", nodes, pods, "--taken-at", "2026-11-01T00:00:00Z", "-o", path)
    assert result.exit_code == 0
    assert "rack" in result.stderr
    assert document(run("measure", path, "--json"))["totals"]["free"] == 6
    assert_refused(run("convert", "--csv", nodes, pods, "--taken-at", "yesterday", "-o", path), "taken_at", "yesterday")


def test_convert_wants_one_kind_of_input(tmp_path: Path) -> None:
    assert_refused(run("convert", "-o", tmp_path / "x"), "--openb", "--csv")
    assert_refused(run("convert", "--openb", "a", "b", "--seed", "-1", "-o", tmp_path / "x"), "--seed", "-1")
    assert_refused(run("convert", "--openb", "a", "b", "--csv", "a", "b", "-o", tmp_path / "x"), "--openb", "--csv")
    assert_refused(run("generate", "--world", "llm78", "-o", "-", "--json"), "--json")


# what a plan costs
GOLDEN = """\
costs 0.27 GPU-h: copies and stops 0.06, cold caches 0.00, lost work 0.20, risk 0.01
1 move could wait for a checkpoint
gains 64.00 GPU-h in 4 h: 241.3 times its cost; Karpenter's Balanced would take 2 of 2 chains
fetches 40.0 GiB of images at most and 74.5 GiB of state; kWh spent at most 0.04, saved if off no data; \
USD no data spent, no data gained
"""


def priced(tmp_path: Path) -> Path:
    made = world(5000).nodes("n1", "n2", "n3").pod("z", "n3", 2, locked=True).pod("c", "n2", 1)
    made.pod("t", "n1", 1, move="restart", checkpoint_s=4280, checkpoint_interval_s=1800)
    return saved(made, tmp_path)


def test_the_price_is_said_at_the_defaults(tmp_path: Path) -> None:
    path = priced(tmp_path)
    price = document(run("consolidate", path, "--json"))["price"]
    assert (price["lost"], price["gained"], price["waits"], price["waiting"]) == (720, 2 * 8 * 4 * 3600, 1, 0)
    assert price["spent"] == pytest.approx(price["start"] + price["rebuild"] + price["lost"] + price["risk"])
    assert (price["usd_spent"], price["freed"]) == (None, [{"gpus": 8, "nodes": 2}])
    assert GOLDEN in run("consolidate", path).stdout


def test_rates_are_given_by_name_and_moves_wait_where_asked(tmp_path: Path) -> None:
    path = priced(tmp_path)
    rates = ["--rate", "checkpoint_wait_minutes=30", "--rate", "usd_cents_per_gpu_hour=360", "--rate", "gain_hours=1"]
    found = document(run("consolidate", path, "--json", *rates))
    waits = {move["pod"]: move.get("after_checkpoint") for move in found["moves"]}
    assert waits == {
        "jobs/c": None,
        "jobs/t": {"lost_s": 720, "lost_after_s": 15, "wait_s": 1080, "limit_s": 1800, "otherwise": "leave"},
    }
    assert (found["price"]["lost"], found["price"]["gained"]) == (15, 2 * 8 * 3600)
    assert found["price"]["usd_spent"] == pytest.approx(found["price"]["spent"] / 3600 * 3.6)
    assert "else 0.20 GPU-h more would be lost" in run("consolidate", path, *rates).stdout


def test_what_is_not_worth_it_is_left_out_only_where_that_is_asked(tmp_path: Path) -> None:
    path = priced(tmp_path)
    assert len(document(run("consolidate", path, "--json"))["emptied_nodes"]) == 2
    dear = document(run("consolidate", path, "--json", "--rate", "least_worth=200"))
    assert dear["emptied_nodes"] == ["n2"]
    none = document(run("consolidate", path, "--json", "--rate", "least_worth=1000"))
    assert (none["emptied_nodes"], none["price"]) == ([], None)


@pytest.mark.parametrize("said", ["worth=1", "gain_hours", "gain_hours=0", "gain_hours=-1", "gain_hours=1e3", "x"])
def test_what_is_no_rate_is_refused(said: str, snapshot: Path) -> None:
    result = run("consolidate", snapshot, "--rate", said)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--rate" in result.stderr
