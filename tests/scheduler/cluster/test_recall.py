"""What a builder that follows reads again, and what not."""

import numpy as np
import pytest

from scheduler.cluster.build import Builder
from scheduler.cluster.errors import InputError
from scheduler.cluster.podspecs import SPARE, Specs
from scheduler.cluster.recall import Recall
from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.cluster.rows import Columns, Rows, as_given, objects


def pod(name: str, **fields: object) -> PodRecord:
    return PodRecord(name=name, gpus=1, **fields)  # type: ignore[arg-type]


def document(*pods: PodRecord) -> Document:
    return Document(taken_at="2026-11-01T00:00:00Z", nodes=[NodeRecord(name="n", gpus=8)], pods=list(pods))


class Reads:
    """Pods by namespace and name; remembers which were read."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.recall = Recall("pods", PodRecord, ("namespace",), self._columns)

    def _columns(self, rows: Rows[PodRecord]) -> Columns:
        self.names += rows.values("name")
        return {**{name: objects(rows.values(name)) for name in ("name", "namespace")}, "gpus": rows.integers("gpus")}


def test_only_new_objects_are_read() -> None:
    reads, (a, b, c) = Reads(), (pod("a"), pod("b"), pod("c"))
    reads.recall.table([c, a])
    table = reads.recall.table([c, b, a])
    assert reads.names == ["c", "a", "b"]
    assert (table.texts("name"), table.source.tolist()) == (("a", "b", "c"), [2, 1, 0])


def test_an_equal_object_in_its_place_is_read() -> None:
    reads = Reads()
    reads.recall.table([pod("a")])
    reads.recall.table([pod("a")])
    assert reads.names == ["a", "a"]


def test_what_was_left_out_is_forgotten() -> None:
    reads, a = Reads(), pod("a")
    for listed in ([a], [], [a]):
        assert reads.recall.table(listed).texts("name") == tuple(one.name for one in listed)
    assert reads.names == ["a", "a"]


def test_a_fault_names_its_place_in_the_new_document_and_changes_nothing() -> None:
    builder, (a, b) = Builder(), (pod("a", node="n"), pod("b"))
    first = builder.build(document(a, b))
    with pytest.raises(InputError, match=r"\$\.pods\[1\]\.cpu_milli: must not be negative"):
        builder.build(document(b, pod("0", cpu_milli=-1), a))
    with pytest.raises(InputError, match=r"\$\.pods\[2\]\.name: the same identity as \$\.pods\[0\]"):
        builder.build(document(a, b, pod("a")))
    assert builder.build(document(b, a)).digest == first.digest


def test_one_object_twice_is_one_identity_twice() -> None:
    builder, a = Builder(), pod("a")
    builder.build(document(a))
    with pytest.raises(InputError, match=r"\$\.pods\[1\]\.name: the same identity as \$\.pods\[0\]"):
        builder.build(document(a, a))


def test_a_snapshot_stays_as_it_is_when_the_next_one_is_built() -> None:
    builder, (a, b) = Builder(), (pod("a"), pod("b", priority=5))
    first = builder.build(document(a, b))
    second = builder.build(document(b, pod("0", priority=9)))
    assert (first.pod_name, first.pod_priority.tolist()) == (("a", "b"), [0, 5])
    assert (second.pod_name, second.pod_priority.tolist()) == (("0", "b"), [9, 5])
    assert not any(column.flags.writeable for column in (second.pod_priority, second.pod_spec, second.pod_live))


def test_specs_that_nobody_has_are_forgotten() -> None:
    specs, kept = Specs(), pod("kept", workload="kept")
    held, most = set(), 0
    for turn in range(4):
        listed = [kept, *(pod(f"{at}", workload=f"{turn}-{at}") for at in range(SPARE))]
        column = specs.of(as_given("pods", PodRecord, listed))
        distinct, number = specs.listed(column)
        assert [distinct[i].workload for i in number] == [one.workload for one in listed]
        held.add(id(column[0]))
        most = max(most, len(specs))
    assert len(held) == 1
    assert len(distinct) < most <= 2 * len(distinct) + SPARE < 4 * SPARE


def test_a_table_of_no_records() -> None:
    table = Reads().recall.table([])
    assert table.texts("name") == ()
    assert np.array_equal(table.columns["gpus"], [])
