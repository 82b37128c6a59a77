"""The network above the nodes: labels, objects, names."""

import pytest

from scheduler.cluster.build import build
from scheduler.cluster.errors import InputError
from scheduler.cluster.records import DomainRecord
from scheduler.kubernetes.options import Level, Options, levels_of
from tests.scheduler.kubernetes.things import Row, document, node, said, thing

KUEUE, KAI, HYPER = "topologies.kueue.x-k8s.io", "topologies.kai.scheduler", "hypernodes.topology.volcano.sh"
LEVELS = Options(levels=levels_of([("agg", "block"), ("asw", "rack")]))


def places(*objects: Row, options: Options | None = None) -> dict[str, tuple[str, ...]]:
    """By node, the names of its domains from the widest."""
    found = document(*objects, options=options)
    build(found)
    parents = {(d.name): d for d in found.domains}
    chains = {}
    for one in found.nodes:
        chain, at = [], one.domain
        while at is not None:
            chain.append(f"{parents[at].level}:{at}")
            at = parents[at].parent
        chains[one.name] = tuple(reversed(chain))
    return chains


def rack(name: str, **labels: str) -> Row:
    return node(name, labels=labels)


def test_levels_by_choice() -> None:
    rows = [rack("n1", block="b1", rack="r1"), rack("n2", block="b1", rack="r2"), rack("n3")]
    assert places(*rows, options=LEVELS) == {
        "n1": ("agg:b1", "asw:r1"),
        "n2": ("agg:b1", "asw:r2"),
        "n3": (),  # nobody knows where it stands
    }


def test_racks_of_one_name_in_two_blocks_are_two_racks() -> None:
    rows = [rack("n1", block="b1", rack="r1"), rack("n2", block="b2", rack="r1"), rack("n3", block="b2", rack="r2")]
    assert places(*rows, options=LEVELS) == {
        "n1": ("agg:b1", "asw:agg=b1/asw=r1"),
        "n2": ("agg:b2", "asw:agg=b2/asw=r1"),
        "n3": ("agg:b2", "asw:r2"),
    }


def test_a_rack_of_an_unknown_block_is_no_rack_of_a_known_one() -> None:
    rows = [rack("n1", block="b1", rack="r1"), rack("n2", rack="r1")]
    found = places(*rows, options=LEVELS)
    assert found["n1"][-1] != found["n2"][-1]


def test_a_block_and_a_rack_of_one_name_are_two() -> None:
    found = places(rack("n1", block="x", rack="x"), rack("n2", block="x", rack="y"), options=LEVELS)
    assert len({name for chain in found.values() for name in chain}) == 3


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (
            {
                "fabric.topograph.run/tier-0": "leaf",
                "fabric.topograph.run/tier-1": "spine",
                "accelerator.topograph.run/domain": "nvl",
            },
            ("agg:spine", "asw:leaf", "nvlink:nvl"),
        ),
        (
            {"network.topology.nvidia.com/leaf": "leaf", "network.topology.nvidia.com/spine": "spine"},
            ("agg:spine", "asw:leaf"),
        ),
        ({"cloud.provider.com/topology-block": "b", "cloud.provider.com/topology-rack": "r"}, ("agg:b", "asw:r")),
        ({"topology.kubernetes.io/rack": "r"}, ("asw:r",)),
        ({"rack": "r"}, ()),
    ],
)
def test_presets_are_found_by_the_labels_that_are_there(labels: Row, expected: tuple[str, ...]) -> None:
    assert places(node("n1", labels=labels)) == {"n1": expected}


@pytest.mark.parametrize("kind", [KUEUE, KAI])
def test_a_topology_of_the_cluster_names_the_levels(kind: str) -> None:
    levels = [{"nodeLabel": label} for label in ("example.org/hall", "block", "rack", "kubernetes.io/hostname")]
    topology = thing(kind, "default", spec={"levels": levels})
    labels = {"example.org/hall": "h", "block": "b", "rack": "r"}
    assert places(node("n1", labels=labels), topology) == {"n1": ("hall:h", "agg:b", "asw:r")}


def test_a_topology_that_goes_leaves_its_levels() -> None:
    topology = thing(KUEUE, "default", spec={"levels": [{"nodeLabel": "rack"}]})
    assert places(rack("n1", rack="r"), topology) == {"n1": ("asw:r",)}
    assert places(rack("n1", rack="r")) == {"n1": ()}


def hyper(name: str, tier: int, *members: Row, **spec: object) -> Row:
    return thing(HYPER, name, spec={"tier": tier, "members": list(members)} | spec)


def exact(name: str, kind: str = "Node") -> Row:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def test_hypernodes_are_a_tree() -> None:
    objects = [
        node("n1"),
        node("n2"),
        node("gpu-7"),
        node("n4", labels={"row": "4"}),
        node("n5"),
        hyper("s1", 1, exact("n1"), exact("n2")),
        hyper("s2", 1, {"type": "Node", "selector": {"regexMatch": {"pattern": "^gpu-"}}}),
        hyper("s3", 1, {"type": "Node", "selector": {"labelMatch": {"matchLabels": {"row": "4"}}}}),
        hyper("top", 2, exact("s1", "HyperNode"), exact("s2", "HyperNode"), tierName="spine"),
    ]
    assert places(*objects) == {
        "gpu-7": ("agg:top", "asw:s2"),
        "n1": ("agg:top", "asw:s1"),
        "n2": ("agg:top", "asw:s1"),
        "n4": ("asw:s3",),
        "n5": (),
    }


def test_a_node_in_two_hypernodes_stands_in_the_first_and_that_is_said() -> None:
    objects = [node("n1"), hyper("s1", 1, exact("n1")), hyper("s2", 1, exact("n1"))]
    assert places(*objects) == {"n1": ("asw:s1",)}
    assert said(*objects) == [("topology", "ignored", "s2")]


def test_domains_are_listed_once() -> None:
    rows = [rack(f"n{i}", block="b1", rack="r1") for i in range(3)]
    assert document(*rows, options=LEVELS).domains == [
        DomainRecord(name="b1", level="agg", cluster="c"),
        DomainRecord(name="r1", level="asw", parent="b1", cluster="c"),
    ]


def test_levels_of_presets_and_pairs() -> None:
    assert levels_of("auto") is None
    assert levels_of("none") == ()
    assert (levels_of("plain") or ())[-1] == Level("asw", "topology.kubernetes.io/rack")
    assert levels_of([("asw", "rack")]) == (Level("asw", "rack"),)


@pytest.mark.parametrize("wrong", ["nothing-like-it", [("asw", "rack"), ("asw", "block")], [("asw", "")]])
def test_levels_that_make_no_sense_are_refused(wrong: object) -> None:
    with pytest.raises(InputError):
        levels_of(wrong)  # type: ignore[arg-type]
