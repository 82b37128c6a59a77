"""The table that follows events: whatever happened on the way, it says what a fresh list would say."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster.build import Builder, build
from scheduler.cluster.packing import pack
from scheduler.kubernetes.objects import Bad
from scheduler.kubernetes.options import LowPriority, Options
from scheduler.kubernetes.reader import Reader, Reading
from tests.scheduler.kubernetes.things import NOW_S, TAKEN_AT, Row, decoded, fresh, node, pod, thing
from tests.scheduler.kubernetes.worlds import objects

Step = tuple[str, Row]
STEPS = st.lists(st.tuples(st.sampled_from(["put", "put", "put", "drop", "look"]), objects()), max_size=30)


def now(reader: Reader) -> Reading:
    return reader.document("c", TAKEN_AT, NOW_S)


def follow(steps: list[Step]) -> tuple[Reader, dict[tuple[str, str, str], Row]]:
    """A reader after the steps, and the objects that are left; a look in between must not matter."""
    reader, left = Reader(), {}
    for what, row in steps:
        kind, found = decoded(row)
        if what == "put":
            reader.put(kind, found)
            left[kind, *found.key] = row
        elif what == "drop":
            reader.drop(kind, found.key)
            left.pop((kind, *found.key), None)
        else:
            now(reader)
    return reader, left


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_after_any_events_it_says_what_a_fresh_reader_says(steps: list[Step]) -> None:
    reader, left = follow(steps)
    assert now(reader) == now(fresh(*left.values()))


@settings(max_examples=100, deadline=None)
@given(STEPS, STEPS)
def test_after_a_fresh_list_of_every_kind_only_what_is_listed_is_left(before: list[Step], after: list[Step]) -> None:
    """Objects that went away while nobody watched are gone after the next list."""
    reader, _ = follow(before)
    now(reader)
    _, left = follow(after)
    for kind in reader.counts():
        reader.replace(kind, [decoded(row)[1] for (other, *_), row in left.items() if other == kind])
    assert now(reader) == now(fresh(*left.values()))


@settings(max_examples=100, deadline=None)
@given(st.lists(objects(), max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_objects_leaves_no_trace(rows: list[Row], chance: object) -> None:
    unique = {(decoded(row)[0], *decoded(row)[1].key): row for row in rows}
    mixed = list(unique.values())
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert now(fresh(*mixed)) == now(fresh(*unique.values()))


@settings(max_examples=200, deadline=None)
@given(st.lists(objects(), max_size=25))
def test_whatever_is_read_can_be_built(rows: list[Row]) -> None:
    reading = now(fresh(*rows))
    snapshot = build(reading.document)
    assert len(snapshot.pod_name) == len(reading.document.pods)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_a_builder_that_follows_the_reader_builds_what_a_fresh_one_builds(steps: list[Step]) -> None:
    reader, builder = Reader(), Builder()
    for what, row in steps:
        kind, found = decoded(row)
        if what == "put":
            reader.put(kind, found)
        elif what == "drop":
            reader.drop(kind, found.key)
        else:
            document = now(reader).document
            assert pack(builder.build(document)) == pack(build(document))


def test_an_object_that_changes_nothing_read_makes_no_new_records() -> None:
    reader = fresh(node("n1"), pod("p", gpus=1))
    before = now(reader).document
    beat = node("n1") | {"status": node("n1")["status"] | {"nodeInfo": {"kernelVersion": "6"}}}
    reader.put(*decoded(beat))
    after = now(reader).document
    assert after.nodes[0] is before.nodes[0]
    assert after.pods[0] is before.pods[0]


def test_the_same_name_with_another_uid_is_another_pod() -> None:
    reader = fresh(node("n1"), pod("p", gpus=1))
    reader.put(*decoded(pod("p", "n2", gpus=2, metadata={"uid": "new"})))
    (found,) = now(reader).document.pods
    assert (found.uid, found.node, found.gpus) == ("new", "n2", 2)


def test_a_node_that_comes_back_under_its_name_is_what_it_is_now() -> None:
    reader = fresh(node("n1", 8), pod("p", gpus=1))
    now(reader)
    reader.drop("nodes", ("", "n1"))
    assert now(reader).document.nodes == []
    reader.put(*decoded(node("n1", 4, unschedulable=True)))
    (found,) = now(reader).document.nodes
    assert (found.gpus, found.cordoned) == (4, True)


def test_an_object_that_says_nonsense_is_bad_and_the_others_stay() -> None:
    reader = fresh(node("n1"), pod("p"), pod("q"))
    reader.put(*decoded(pod("p", requests={"memory": "1,5Gi"})))
    reading = now(reader)
    assert [p.name for p in reading.document.pods] == ["q"]
    assert str(reading.bad[0]) == (
        "pods ml/p: $.spec.containers[0].resources.requests.memory: not a quantity (got '1,5Gi')"
    )
    reader.put(*decoded(pod("p")))
    assert now(reader).bad == ()


def test_a_bad_object_that_is_deleted_is_bad_no_more() -> None:
    reader = Reader()
    reader.put_bad(Bad(kind="pods", namespace="ml", name="p", path="$.spec", reason="expected an object"))
    assert len(now(reader).bad) == 1
    reader.drop("pods", ("ml", "p"))
    assert now(reader).bad == ()


def test_a_list_forgets_bad_objects_that_are_gone() -> None:
    reader = Reader()
    reader.put_bad(Bad(kind="pods", namespace="ml", name="p", path="$.spec", reason="expected an object"))
    reader.keep("pods", set())
    assert now(reader).bad == ()


def test_dropping_what_was_never_there_changes_nothing() -> None:
    reader = fresh(node("n1"), pod("p"))
    before = now(reader)
    reader.drop("pods", ("ml", "other"))
    reader.drop("jobs.batch", ("ml", "other"))
    assert now(reader) == before


def test_counts_tell_how_many_of_each_kind_are_held() -> None:
    reader = fresh(node("n1"), pod("p"), pod("q"), thing("namespaces", "ml"))
    assert {kind: n for kind, n in reader.counts().items() if n} == {"nodes": 1, "pods": 2, "namespaces": 1}


def test_another_cluster_name_makes_all_records_anew() -> None:
    reader = fresh(node("n1"), pod("p"))
    now(reader)
    other = reader.document("d", TAKEN_AT, NOW_S).document
    assert {row.cluster for row in (*other.nodes, *other.pods)} == {"d"}


@pytest.mark.parametrize(
    ("rule", "tiers"),
    [
        (LowPriority(), ["HP", "HP", "HP"]),
        (LowPriority(classes=frozenset({"spot"})), ["LP", "HP", "HP"]),
        (LowPriority(below=100), ["LP", "HP", "LP"]),
        (LowPriority(labels=(("tier", "spot"),)), ["HP", "HP", "LP"]),
    ],
)
def test_who_is_low_priority_is_chosen(rule: LowPriority, tiers: list[str]) -> None:
    pods = [
        pod("a", priority=10, priorityClassName="spot"),
        pod("b", priority=100),
        pod("c", labels={"tier": "spot"}),
    ]
    options = replace(Options(), low_priority=rule)
    assert [p.tier for p in now(fresh(*pods, options=options)).document.pods] == tiers
