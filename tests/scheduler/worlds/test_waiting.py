"""Jobs that wait in generated worlds wait for what they are named after."""

import pytest

from scheduler.admission.planner import explain
from scheduler.cluster.build import build
from scheduler.cluster.records import Document
from scheduler.worlds.generate import generate
from scheduler.worlds.waiting import with_waiting

MEANT = {
    "wait-quota": "quota", "wait-oversized": "misconfigured", "wait-capacity": "capacity",
    "wait-pieces": "fragmentation", "wait-topology": "topology",
}  # fmt: skip


@pytest.mark.parametrize("seed", [1, 7])
def test_each_waits_for_its_reason(seed: int) -> None:
    document = generate("asi", nodes=400, seed=seed)
    found = {row.key.partition("/")[2]: row.reason.word for row in explain(build(with_waiting(document))).rows}
    meant = {name: word for name, word in found.items() if name in MEANT}
    assert meant == {name: MEANT[name] for name in meant}
    assert {"wait-quota", "wait-oversized", "wait-capacity"} <= meant.keys()
    assert len(meant) >= 4


def test_a_world_without_such_a_pool_stays_as_it_is() -> None:
    empty = Document(taken_at="2026-11-01T00:00:00Z", nodes=[], pods=[])
    assert with_waiting(empty) == empty
