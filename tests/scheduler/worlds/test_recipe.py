"""The worlds of three pools: what docs/worlds.md states of them, at a size that a test can afford."""

import itertools

import msgspec
import pytest

from scheduler.cluster import codec
from scheduler.cluster.errors import InputError
from scheduler.worlds.generate import generate
from scheduler.worlds.shapes import Shape
from tests.scheduler.worlds.audit import Audit

TRACE = (
    *(Shape(1, 810, 8000, 20_000), Shape(1, 470, 6000, 12_000), Shape(1, 320, 4000, 9000), Shape(1, 650, 7000, 14_000)),
    *(Shape(1, 1000, 11_300, 49_152), Shape(1, 1000, 3152, 5600), Shape(0, 1000, 9000, 20_000)),
    *(Shape(8, 1000, 90_000, 300_000),),
)
TARGETS = {"llm78": 0.78, "llm90": 0.90, "small78": 0.78, "small68c": 0.68, "openb70c": 0.70}


@pytest.fixture(scope="module", params=TARGETS)
def world(request: pytest.FixtureRequest) -> tuple[str, Audit]:
    shapes = TRACE if request.param == "openb70c" else None
    return request.param, Audit(generate(request.param, nodes=2000, seed=3, shapes=shapes))


def test_pods_fill_the_gpus_to_the_target(world: tuple[str, Audit]) -> None:
    name, audit = world
    assert audit.share(audit.placed) == pytest.approx(TARGETS[name], abs=0.001)


def test_nothing_is_overfull_or_misplaced(world: tuple[str, Audit]) -> None:
    _, audit = world
    assert (audit.overfull(), audit.crowded_groups(), audit.misplaced()) == ([], [], [])


def test_nodes_are_as_the_recipe_says(world: tuple[str, Audit]) -> None:
    _, audit = world
    nodes = audit.document.nodes
    assert {n.gpus for n in nodes} == {8}
    by_asw = {
        asw: list(members)
        for asw, members in itertools.groupby(sorted(nodes, key=lambda n: n.asw or ""), key=lambda n: n.asw)
    }
    assert {len(members) for members in by_asw.values()} == {50}
    assert all(len({(n.gpu_model, n.cpu_milli, n.memory_mib) for n in members}) == 1 for members in by_asw.values())
    assert len({n.gpu_model for n in nodes}) == 3
    flavours = [(members[0].cpu_milli, members[0].memory_mib // 1024) for members in by_asw.values()]
    assert [flavours.count(f) for f in ((96_000, 384), (128_000, 768), (96_000, 768))] == [32, 4, 4]


def test_groups_and_ties_survive_as_often_as_stated(world: tuple[str, Audit]) -> None:
    _, audit = world
    pods = audit.document.pods
    assert 0.11 <= sum(bool(p.anti_affinity) for p in pods) / len(pods) <= 0.18
    assert 0.055 <= sum(bool(p.node_selector) for p in pods) / len(pods) <= 0.10


def test_forty_percent_are_locked(world: tuple[str, Audit]) -> None:
    name, audit = world
    locked = sum(p.locked for p in audit.document.pods) / len(audit.document.pods)
    assert locked == pytest.approx(0.40, abs=0.02)
    shares = [sum(p.locked for p in pods) / len(pods) for pods in audit.pods_on.values() if len(pods) >= 4]
    light = sum(share < 0.35 for share in shares) / len(shares)
    heavy = sum(share > 0.55 for share in shares) / len(shares)
    assert (light > 0.4 and heavy > 0.35) == name.endswith("c"), (light, heavy)


def test_the_full_size_holds_the_stated_number_of_pods() -> None:
    assert len(generate("llm78", nodes=1000, seed=1).pods) * 20 == pytest.approx(45_000, rel=0.05)
    assert len(generate("small78", nodes=1000, seed=1).pods) * 20 == pytest.approx(73_000, rel=0.05)


@pytest.mark.parametrize("name", ["llm78", "small68c", "asi", "uniform8"])
def test_equal_seeds_give_equal_documents(name: str) -> None:
    first, again, other = (msgspec.json.encode(generate(name, nodes=120, seed=seed)) for seed in (5, 5, 6))
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", ["llm90", "small68c", "asi", "uniform8"])
@pytest.mark.parametrize("nodes", [1, 7, 130])
def test_every_size_is_a_readable_snapshot(name: str, nodes: int) -> None:
    snapshot = codec.read(msgspec.json.encode(generate(name, nodes=nodes, seed=2)))
    assert len(snapshot.node_name) == nodes
    assert snapshot.warnings == ()
    assert snapshot.extras == {}


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"world": "nowhere"}, "world"),
        ({"nodes": 0}, "nodes"),
        ({"seed": -1}, "seed"),
        ({"hour": 24}, "hour"),
        ({"world": "openb70c"}, "shapes"),
        ({"world": "fleet", "nodes": 100}, "nodes"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], path: str) -> None:
    with pytest.raises(InputError) as caught:
        generate(**({"world": "llm78", "nodes": 10, "seed": 0} | arguments))  # type: ignore[arg-type]
    assert caught.value.path == path
