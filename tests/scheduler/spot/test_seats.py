"""Where spot work starts: filtered, ranked, lent before free, all or none; and the one reason where it cannot."""

from dataclasses import dataclass
from typing import Any

import pytest

from scheduler.cluster.errors import ParamError
from scheduler.cluster.snapshot import Snapshot
from scheduler.spot.asks import Ask
from scheduler.spot.board import board_of
from scheduler.spot.seats import Seated, Seating, seat, take
from scheduler.spot.waits import Wait
from tests.builders.worlds import GPU_MODEL, World, world

HOUR = 3600


def ask(gpus: int = 8, pods: int = 1, **fields: Any) -> Ask:
    """A gang of all pods for an hour, unless it is said otherwise."""
    given = {"models": (GPU_MODEL,), "min_members": pods, "run_s": HOUR, **fields}
    return Ask(gpus_per_pod=gpus, pods=pods, **given)


def seated(snapshot: Snapshot, asked: Ask, **board: Any) -> list[tuple[str, str]]:
    found = seat(board_of(snapshot, **board), asked)
    assert not isinstance(found, Wait), found.words
    return [(pod.node, pod.lent_by) for pod in found.seating.pods]


def waits(snapshot: Snapshot, asked: Ask, **board: Any) -> Wait:
    found = seat(board_of(snapshot, **board), asked)
    assert isinstance(found, Wait), found.seating
    return found


def sleeper(place: World, node: str, gpus: int = 8, name: str = "svc", **fields: Any) -> World:
    return place.pod(f"{name}-{node}", node, gpus, standby=True, cpu_milli=gpus * 8000, **fields)


@dataclass(frozen=True)
class Case:
    name: str
    world: World
    ask: Ask
    nodes: list[tuple[str, str]]


def _cases() -> list[Case]:
    packed = world().nodes("n1", "n2", "n3").pod("a", "n2", 4).pod("b", "n3", 6)
    classes = world().nodes("n1", "n2").pod("hp", "n1", 4).pod("lp", "n2", 4, tier="LP")
    two = world().asw("a1").nodes("n1", "n2", "n3").asw("a2").nodes("m1", "m2")
    lent = sleeper(world().nodes("n1", "n2"), "n1")
    early = sleeper(world().nodes("n1", "n2"), "n1", standby_until_s=1000 + 1800)
    return [
        Case("the fewest free GPUs that suffice", packed, ask(2), [("n3", "")]),
        Case("then the next fullest", packed, ask(3), [("n2", "")]),
        Case("as full: beside others of its class", classes, ask(2), [("n2", "")]),
        Case("one domain: that with least to spare", two, ask(8, 2, topology="asw", required=True),
             [("m1", ""), ("m2", "")]),
        Case("a wish that nobody meets", two, ask(8, 5, topology="asw"),
             [(n, "") for n in ("m1", "m2", "n1", "n2", "n3")]),
        Case("lent before free", lent, ask(4, 2), [("n1", "jobs/svc-n1")] * 2),
        Case("who wakes before the run ends comes last", early, ask(8), [("n2", "")]),
        Case("and is used where nothing else is left", early, ask(8, 2), [("n2", ""), ("n1", "jobs/svc-n1")]),
        Case("one GPU model for all", world().node("x", gpu_model="X").nodes("n1", "n2"),
             ask(8, 2, models=("X", GPU_MODEL)), [("n1", ""), ("n2", "")]),
        Case("the preferred model first", world().node("x", gpu_model="X").nodes("n1"),
             ask(8, 1, models=("X", GPU_MODEL)), [("x", "")]),
        Case("as many as fit, where some suffice", world().nodes("n1", "n2"), ask(8, 5, min_members=1),
             [("n1", ""), ("n2", "")]),
    ]  # fmt: skip


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case.name)
def test_places(case: Case) -> None:
    assert seated(case.world.snapshot(), case.ask) == case.nodes


def test_fewest_evictions_end_a_tie() -> None:
    here = world().nodes("n1", "n2").snapshot()
    assert seated(here, ask(4), evictions={"n1": 3, "n2": 1}) == [("n2", "")]
    assert seated(here, ask(4), evictions={"n1": 1, "n2": 3}) == [("n1", "")]


def _refused() -> list[tuple[str, World, Ask, dict[str, Any], str, str]]:
    blocks = world().asw("a1").nodes("n1", "n2", "n3", "n4", "n5").asw("a2").nodes("m1", "m2", "m3", "m4")
    level = {"topology": "asw", "required": True}
    halves = world().nodes("n1", "n2").pod("a", "n1", 4).pod("b", "n2", 4)
    memory = sleeper(world().node("n1", memory_mib=100), "n1", memory_mib=80)
    device = sleeper(world().node("n1", gpu_memory_mib=96), "n1", gpu_memory_mib=82)
    early = sleeper(world().node("n1"), "n1", standby_until_s=1000 + 900)
    model = GPU_MODEL
    return [
        ("no such model", world().node("n1"), ask(models=("Y",)), {}, "no_such_model", "no usable node has Y"),
        ("capacity", halves, ask(8, 2), {}, "capacity", f"needs 16 GPUs of {model}; 8 are free or lent"),
        ("fragmentation", halves, ask(8), {}, "fragmentation",
         f"needs nodes with 8 GPUs each free; 8 of {model} are free or lent, at most 4 on one node"),
        ("topology", blocks, ask(8, 8, **level), {}, "topology",
         "needs 64 GPUs in one ASW; largest free block 40"),
        ("memory is not lent", memory, ask(8, memory_mib=30), {}, "constraint",
         f"no node of {model} takes such a pod now: memory (on 1 nodes)"),
        ("nor is device memory", device, ask(8, gpu_memory_mib=20), {}, "constraint",
         f"no node of {model} takes such a pod now: memory of the GPUs (on 1 nodes)"),
        ("too large for any node", world().node("n1", 4), ask(8), {}, "constraint",
         f"no node of {model} takes such a pod now: no node has more than 4 GPUs (on 1 nodes)"),
        ("not within the guarantee", early, ask(8, guaranteed_s=1800), {}, "capacity",
         f"needs 8 GPUs of {model}; 0 are free or lent"),
        ("kept for others", world().nodes("n1"), ask(8), {"kept": ("n1",)}, "no_such_model",
         f"no usable node has {model}"),
        ("cordoned", world().node("n1", cordoned=True), ask(8), {}, "no_such_model", f"no usable node has {model}"),
    ]  # fmt: skip


@pytest.mark.parametrize("row", _refused(), ids=lambda row: row[0])
def test_reasons(row: tuple[str, World, Ask, dict[str, Any], str, str]) -> None:
    _, place, asked, board, reason, words = row
    found = waits(place.snapshot(), asked, **board)
    assert (found.reason, found.words) == (reason, words)


@dataclass(frozen=True)
class Promised:
    node: str
    gpu_milli: int
    claimant: str


def test_who_is_promised_its_own_lends_to_nobody() -> None:
    here = sleeper(world().nodes("n1"), "n1").snapshot()
    promise = Promised("n1", 8000, "jobs/svc-n1")
    assert seated(here, ask(8)) == [("n1", "jobs/svc-n1")]
    assert waits(here, ask(8), promises=[promise]).reason == "promised"


def test_who_waits_for_leavers_lends_to_nobody() -> None:
    place = sleeper(world().nodes("n1"), "n1").pod("b", "n1", 4, tier="LP", lent_by="jobs/svc-n1", terminating=True)
    assert waits(place.snapshot(), ask(4)).reason == "capacity"


def test_what_is_taken_is_gone_free_and_lent() -> None:
    board = board_of(sleeper(world().nodes("n1", "n2"), "n1").snapshot())
    for node in ("n1", "n1", "n2", "n2"):
        found = seat(board, ask(4))
        assert not isinstance(found, Wait)
        assert found.seating == Seating(GPU_MODEL, (Seated(node, "jobs/svc-n1" if node == "n1" else ""),))
        take(board, found)
    assert isinstance(seat(board, ask(1)), Wait)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("models", ()), ("models", ("X", "X")), ("gpus_per_pod", 0), ("pods", 0), ("min_members", 3), ("run_s", 1),
        ("memory_mib", -1), ("required", True), ("hook_s", 61), ("limit_cents", 0), ("guaranteed_s", 2 * HOUR),
    ],
)  # fmt: skip
def test_a_bad_field_is_named(field: str, value: Any) -> None:
    with pytest.raises(ParamError) as refused:
        ask(**{"gpus": 8, "pods": 2, field: value} if field != "gpus_per_pod" else {"gpus": value})
    assert refused.value.field == {"required": "topology"}.get(field, field)
