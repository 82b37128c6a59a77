"""The table of states: whatever is tried in whatever order, no lease ever goes where no edge leads."""

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from console.inventory.models import Source
from console.spot import lifecycle
from console.spot.choices import Reason, State
from console.spot.models import Lease, LeaseChange
from console.spot.services.writing import change
from tests.builders.people import tenant


def test_every_state_is_reached_and_every_way_ends() -> None:
    reached, todo = {State.DRAFT}, deque([State.DRAFT])
    while todo:
        for target in lifecycle.EDGES.get(todo.popleft(), frozenset()) - reached:
            reached.add(target)
            todo.append(target)
    assert reached == set(State)
    # From everywhere some way leads to an end.
    ends = set(lifecycle.FINAL)
    while more := {state for state, targets in lifecycle.EDGES.items() if targets & ends} - ends:
        ends |= more
    assert ends == set(State)


def test_a_way_that_the_table_does_not_have_is_our_mistake() -> None:
    with pytest.raises(lifecycle.UnknownEdgeError):
        lifecycle.move(Lease.objects.none(), State.RUNNING, sources=[State.WAITING])
    with pytest.raises(lifecycle.UnknownEdgeError):
        lifecycle.move(Lease.objects.none(), State.DRAFT)


class NoForbiddenEdge(TestCase):
    @settings(max_examples=25)
    @given(st.lists(st.sampled_from(State), max_size=12))
    def test_no_forbidden_edge(self, tried: list[State]) -> None:
        source = Source.objects.create(name="any", kind="file")
        row = Lease.objects.create(
            source=source, cluster="c", tenant="t", asked_by=tenant("t"), gpu_models=["m"], gpus_per_pod=1, pods=1,
            min_members=1, cpu_milli=0, memory_mib=0, run_s=600,
        )  # fmt: skip
        turn, was = 0, State.DRAFT
        for target in tried:
            old = Lease.objects.get(pk=row.pk)
            try:
                moved = change(row, target, Reason.RUNS)
            except lifecycle.UnknownEdgeError:
                assert target not in lifecycle.EDGES.get(was, frozenset())
                continue
            assert moved and target in lifecycle.EDGES[was]
            assert not change(old, target, Reason.RUNS)  # who read it before has lost
            turn, was = turn + 1, target
            row.refresh_from_db()
            assert (row.state, row.turn) == (target, turn)
        assert LeaseChange.objects.filter(lease=row).count() == turn
        assert row.is_final == (was in lifecycle.FINAL)
        assert (row.ended_at is not None) == row.is_final
