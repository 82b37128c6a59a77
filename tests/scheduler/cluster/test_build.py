"""Names become rows: identities, domains, zones, orphans, time."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.cluster import codec
from scheduler.cluster.build import only_cluster, restrict
from scheduler.cluster.errors import InputError
from scheduler.cluster.lineage import circles
from scheduler.cluster.snapshot import ORPHAN, UNKNOWN, Snapshot
from tests.builders.worlds import World, world


def at(snapshot: Snapshot, level: str) -> dict[str, str | None]:
    """The domain of each node at a level, by name."""
    row = snapshot.node_at_level[snapshot.levels.index(level)]
    return {
        name: None if d == UNKNOWN else snapshot.domain_name[d] for name, d in zip(snapshot.node_name, row, strict=True)
    }


def test_a_gang_is_found_in_the_pods_namespace_first_and_then_where_gangs_without_one_stand() -> None:
    made = world().node("n1").gang("g", 2, namespace=None).gang("k", 2, namespace=None).gang("k", 3)
    made.pod("a", gang="g").pod("b", gang="k")
    snapshot = made.snapshot()
    assert [snapshot.gangs[g].min_members for g in snapshot.pod_gang] == [2, 3]
    again = codec.read(codec.write(snapshot))
    assert again.digest == snapshot.digest
    with pytest.raises(InputError, match="no such gang in namespace jobs"):
        world().node("n1").gang("g", 2, namespace="elsewhere").pod("a", gang="g").snapshot()


def test_one_name_in_two_namespaces_and_clusters_is_two_pods() -> None:
    made = world().node("n1").node("n1", cluster="c2").pod("t", "n1").pod("t", "n1", namespace="b")
    made.pod("t", "n1", cluster="c2")
    snapshot = made.snapshot()
    assert [snapshot.pod_key(p) for p in range(3)] == ["jobs/t", "b/t", "jobs/t"]
    homes = [(snapshot.clusters[snapshot.pod_cluster[p]].name, int(snapshot.pod_node[p])) for p in range(3)]
    assert homes == [("c2", 0), ("default", 1), ("default", 1)]


def test_names_of_domains_are_compared_whole_and_per_level() -> None:
    made = world().domain("x", "agg").domain("x", "asw", "x").domain("asw-1", "asw", "x").domain("asw-10", "asw")
    made.within("x").node("low").within("asw-1").node("one").asw("asw-10").node("asw-10").asw(None).node("free")
    snapshot = made.snapshot()
    assert snapshot.levels == ("asw", "agg")
    assert at(snapshot, "asw") == {"low": "x", "one": "asw-1", "asw-10": "asw-10", "free": None}
    assert at(snapshot, "agg") == {"low": "x", "one": "x", "asw-10": None, "free": None}


def test_the_shorthand_makes_the_domain_in_its_own_cluster() -> None:
    snapshot = world().asw("a").node("n1").node("n1", cluster="c2").snapshot()
    assert snapshot.domain_name == ("a", "a")
    assert snapshot.node_domain.tolist() == [0, 1]
    assert snapshot.domain_cluster.tolist() == [0, 1]


def test_the_shorthand_beside_a_domain_must_agree_with_it() -> None:
    made = world().domain("x", "asw").domain("l", "nvlink", "x").node("n1", domain="l", asw="x")
    assert at(made.snapshot(), "asw") == {"n1": "x"}
    with pytest.raises(InputError, match=r"\$\.nodes\[1\]\.asw: the domain l does not lie under it \(got 'y'\)"):
        made.node("n2", domain="l", asw="y").snapshot()


def test_levels_that_contradict_each_other_are_refused() -> None:
    made = world().domain("a", "asw", "g").domain("g", "agg").domain("h", "agg", "b").domain("b", "asw")
    with pytest.raises(InputError, match="levels contradict each other: a"):
        made.snapshot()


def test_a_parent_of_the_same_level_is_refused() -> None:
    with pytest.raises(InputError, match=r"\$\.domains\[0\]\.parent: a parent must be of another level"):
        world().domain("a", "asw", "b").domain("b", "asw").snapshot()


def test_a_pod_on_an_unknown_node_is_kept_warned_about_and_uses_nothing() -> None:
    snapshot = world().node("n1").pod("orphan", "gone-7", gpus=8).pod("live", "n1", gpus=2).snapshot()
    live, orphan = 0, 1
    assert snapshot.pod_node.tolist() == [0, ORPHAN]
    assert snapshot.pod_orphan_node == {orphan: "gone-7"}
    assert snapshot.pod_live[live] and not snapshot.pod_live[orphan]
    assert snapshot.warnings == ("node gone-7 is unknown: its pods use nothing (jobs/orphan)",)
    assert snapshot.node_name == ("n1",)


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ({"a": "a"}, r"\$\.tenants\[0\]\.parent: a tenant above itself: a < a \(got 'a'\)"),
        ({"low": "c", "c": "b", "b": "c"}, r"\$\.tenants\[1\]\.parent: a tenant above itself: b < c < b \(got 'b'\)"),
    ],
)
def test_a_tenant_above_itself_is_refused(parents: dict[str, str], message: str) -> None:
    found = world()
    for name, parent in parents.items():
        found = found.tenant(name, parent=parent)
    with pytest.raises(InputError, match=message):
        found.snapshot()


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([None, *"abcdefg"])))
def test_circles_of_parents_are_those_that_lead_back(parents: dict[str, str | None]) -> None:
    def above(name: str) -> list[str]:
        line: list[str] = []
        here = parents.get(name)
        while here is not None and here not in line:
            line.append(here)
            here = parents.get(here)
        return line

    found = circles(parents)
    assert sorted(name for circle in found for name in circle) == [n for n in sorted(parents) if n in above(n)]
    assert all(parents[low] == high for c in found for low, high in zip(c, (*c[1:], c[0]), strict=True))


@pytest.mark.parametrize(
    ("fields", "zone"),
    [
        ({"zone": "z1", "labels": {"zone": "z2"}}, "z1"),
        ({"labels": {"topology.kubernetes.io/zone": "z3", "zone": "z2"}}, "z3"),
        ({"labels": {"zone": "z2", "topology.kubernetes.io/zone": " "}}, "z2"),
        ({}, None),
    ],
)
def test_where_the_zone_of_a_node_comes_from(fields: dict[str, Any], zone: str | None) -> None:
    snapshot = world().node("n1", **fields).snapshot()
    found = int(snapshot.node_zone[0])
    assert (None if found == UNKNOWN else snapshot.zones[found]) == zone


@pytest.mark.parametrize(
    ("fields", "allocatable"),
    [
        ({}, 8),
        ({"allocatable_gpus": 6}, 6),
        ({"allocatable_gpus": 9}, 8),
        ({"devices": [{"index": 3, "health": "failed"}]}, 7),
        ({"devices": [{"index": 3, "health": "degraded"}]}, 8),
        ({"allocatable_gpus": 6, "devices": [{"index": 3, "health": "failed"}]}, 6),
        ({"devices": [{"index": i, "mig": [{"profile": "1g", "count": 7}]} for i in range(8)]}, 0),
    ],
)
def test_how_many_gpus_are_allocatable(fields: dict[str, Any], allocatable: int) -> None:
    assert world().node("n1", **fields).snapshot().node_allocatable.tolist() == [allocatable]


def test_the_clock_is_the_latest_time_unless_it_is_given() -> None:
    made = world().node("n1").pod("a", "n1", started_s=5, checkpoint_s=70, deleted_at_s=20, standby_until_s=900)
    del made.top["now_s"]
    assert made.snapshot().now_s == 70
    made.top["now_s"] = 3
    assert made.snapshot().now_s == 3
    empty = world()
    del empty.top["now_s"]
    assert empty.snapshot().now_s == 0


def test_a_tenant_that_is_not_listed_is_a_tenant() -> None:
    snapshot = world().node("n1").pod("a", "n1", tenant="new").pod("b", "n1", tenant=None).tenant("old").snapshot()
    assert snapshot.tenants == ("new", "old")
    assert snapshot.pod_tenant.tolist() == [0, UNKNOWN]
    assert [tenant.name for tenant in snapshot.tenant_records] == ["old"]


def _two() -> World:
    return world().node("n1").node("n2", cluster="c2").pod("a", "n1").pod("b", "n2", cluster="c2")


def test_one_cluster_of_several() -> None:
    alone = restrict(_two().snapshot(), "c2")
    assert (alone.node_name, alone.pod_name) == (("n2",), ("b",))
    assert alone.digest == restrict(alone, "c2").digest


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("c3", r"cluster: no such cluster; there are: c2, default \(got 'c3'\)"),
        (None, "cluster: name one of the clusters: c2, default"),
    ],
)
def test_a_cluster_that_is_not_plain_is_refused_with_the_choices(name: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        only_cluster(_two().snapshot(), name)


def test_one_cluster_needs_no_name() -> None:
    assert only_cluster(world().node("n1").snapshot(), None) == "default"


def test_equal_shapes_share_a_spec_however_they_were_written() -> None:
    made = world().node("n1").pod("a", "n1", owner="Job", gpu_model="X")
    snapshot = made.pod("b", "n1", owner={"kind": "Job"}, gpu_model=["X"]).snapshot()
    assert snapshot.pod_spec.tolist() == [0, 0]


def test_columns_cannot_be_written_to() -> None:
    snapshot = world().node("n1").snapshot()
    with pytest.raises(ValueError, match="read-only"):
        snapshot.node_gpus[0] = 3
    assert np.array_equal(snapshot.node_gpus, [8])
