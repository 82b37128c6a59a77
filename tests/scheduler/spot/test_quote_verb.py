"""``slackline quote``: one document, null with a reason, exit 0, 1 or 2; and what it reads of a snapshot."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from scheduler import cli
from scheduler.spot.sighted import readings_of
from tests.builders.worlds import World, world

H100 = "H100-SXM5-80GB"


def lent_fleet() -> World:
    """Three nodes of H100, 6 GPUs asleep of which 4 are lent, 3 more held by LP, 5 free; one node of an unnamed L20."""
    return (
        world()
        .nodes("n1", "n2", "n3")
        .node("n4", gpu_model="L20")
        .pod("asleep", "n1", gpus=6, standby=True)
        .pod("awake", "n1", gpus=2)
        .pod("borrower", "n1", gpus=4, tier="LP", tenant="t2", lent_by="jobs/asleep")
        .pod("lp", "n2", gpus=3, tier="LP", tenant="t2")
        .pod("busy", "n3", gpus=8)
        .pod("waits", gpus=2, tier="LP", tenant="t2", gpu_model=H100)
        .pod("either", gpus=2, tier="LP", tenant="t3")
        .pod("hp", gpus=8)
    )


def run(made: World, folder: Path, *arguments: str) -> Result:
    path = folder / "snapshot.json"
    path.write_bytes(made.json())
    return CliRunner().invoke(cli.main, ["quote", str(path), *arguments])


def quotes(result: Result, code: int = 0) -> dict[str, Any]:
    assert (result.exit_code, result.stderr, result.stdout.count("\n")) == (code, "", 1)
    return {one["gpu_model"]: one for one in json.loads(result.stdout)["quotes"]}


def test_the_document_is_the_stated_one(tmp_path: Path) -> None:
    found = quotes(run(lent_fleet(), tmp_path, "--json"))
    assert [set(one) for one in found.values()] == [{"gpu_model", "usd_per_gpu_hour", "terms", "reason"}] * 2
    assert found["L20"]["usd_per_gpu_hour"] is None and found["L20"]["terms"] == {}
    assert found["L20"]["reason"].startswith("No quote: nobody says what a GPU-hour of this model costs on demand")
    usd = found[H100]["usd_per_gpu_hour"]
    assert 0.69 <= usd <= 6.88 and usd * 100 == pytest.approx(round(usd * 100))
    terms = found[H100]["terms"]
    assert {(name, term["value"]) for name, term in terms.items() if name in ("use", "standby", "idle")} == {
        ("use", 7.0), ("standby", 6.0), ("idle", 8.0),
    }  # fmt: skip
    assert sum(term["cents"] for term in terms.values()) == round(usd * 100) - 206
    assert run(lent_fleet(), tmp_path, "--json").stdout == run(lent_fleet(), tmp_path, "--json").stdout


def test_one_model_and_a_price_of_ones_own(tmp_path: Path) -> None:
    found = quotes(run(lent_fleet(), tmp_path, "--model", "L20", "--on-demand", "L20=100", "--json"))
    assert list(found) == ["L20"] and 0.1 <= found["L20"]["usd_per_gpu_hour"] <= 1


@pytest.mark.parametrize(
    ("made", "arguments", "reason"),
    [
        (lent_fleet(), ("--model", "L20"), "nobody says what a GPU-hour"),
        (lent_fleet(), ("--model", "Q"), "no node is known to have GPUs of this model"),
        (world().node("n1").pod("a", "n1", gpus=8), ("--model", H100), "nothing of this model can be lent"),
    ],
)
def test_no_quote_is_the_answer_no(made: World, arguments: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    (one,) = quotes(run(made, tmp_path, *arguments, "--json"), code=1).values()
    assert one["usd_per_gpu_hour"] is None and reason in one["reason"]


@pytest.mark.parametrize("said", ["L20", "=5", "L20=0", "L20=1.5", "L20=-3", "L20=99999999999"])
def test_a_price_that_is_none_is_bad_input(said: str, tmp_path: Path) -> None:
    result = run(lent_fleet(), tmp_path, "--on-demand", said, "--json")
    assert (result.exit_code, result.stdout) == (2, "") and "MODEL=CENTS" in result.stderr


def test_people_read_a_table_and_the_reasons(tmp_path: Path) -> None:
    told = run(lent_fleet(), tmp_path).stdout
    assert "USD per GPU-hour" in told and "L20: No quote: nobody says" in told
    assert "supply ahead" in run(lent_fleet(), tmp_path, "--model", H100).stdout
    empty = run(world().node("n1", gpus=0), tmp_path)
    assert (empty.exit_code, empty.stdout) == (1, "No node of this snapshot has GPUs of a known model.\n")


def test_what_a_snapshot_says() -> None:
    made = lent_fleet()
    found = readings_of(made.snapshot(), {H100: 688})[H100]
    assert (found.standby_milli, found.idle_milli, found.paid_milli) == (6_000, 8_000, 7_000)
    # t2 waits with 2 GPUs and pays for 7; t3 pays for nothing: 2 % of 14 GPUs are believed
    assert found.waiting_milli == 2_000 + 280
    assert found.forecast_milli is None and found.reclaimed_permille is None and found.payers_before == 0
    shut = made.node("n5", cordoned=True).pod("sleeps", "n5", gpus=8, standby=True).snapshot()
    assert readings_of(shut, {})[H100].standby_milli == 6_000
    assert readings_of(shut, {})[H100].on_demand_cents is None


def test_cutting_a_gang_into_pods_of_its_own_moves_nothing() -> None:
    whole = lent_fleet().gang("g", 4)
    for i in range(4):
        whole = whole.pod(f"g{i}", gpus=1, tier="LP", tenant="t2", gang="g")
    cut = lent_fleet()
    for i in range(4):
        cut = cut.pod(f"g{i}", gpus=1, tier="LP", tenant="t2")
    assert readings_of(whole.snapshot(), {}) == readings_of(cut.snapshot(), {})
