"""The format keeps what it was given: round trips are identities, and the order of rows leaves no trace."""

import json
import random
from dataclasses import fields

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster import codec
from scheduler.cluster.build import restrict
from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import Snapshot
from tests.properties.documents import LISTS, Row, document

SEEDS = st.integers(0, 1 << 32)


def assert_same(one: Snapshot, other: Snapshot) -> None:
    for field in fields(Snapshot):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype and np.array_equal(a, b), field.name
            assert not b.flags.writeable, field.name
        else:
            assert a == b, field.name


def read(document: Row) -> Snapshot:
    return codec.read(json.dumps(document).encode())


def reordered(row: Row, chance: random.Random) -> Row:
    """What a row lists under identities of its own has no order either."""
    return {key: chance.sample(of, len(of)) if key in ("devices", "quotas") and of else of for key, of in row.items()}


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_writing_and_packing_lose_nothing(world: int) -> None:
    snapshot = read(document(world))
    assert_same(snapshot, codec.read(codec.write(snapshot)))
    assert_same(snapshot, codec.unpack(codec.pack(snapshot)))


@given(SEEDS, st.integers(0, 1000))
@settings(max_examples=100, deadline=None)
def test_row_order_leaves_no_trace(world: int, seed: int) -> None:
    chance = random.Random(seed)
    given_rows = document(world)
    shuffled = {
        key: [reordered(row, chance) for row in chance.sample(rows, len(rows))] if key in LISTS else rows
        for key, rows in given_rows.items()
    }
    assert_same(read(given_rows), read(shuffled))


@given(SEEDS)
@settings(max_examples=75, deadline=None)
def test_a_restricted_snapshot_has_the_rows_of_its_cluster(world: int) -> None:
    snapshot = read(document(world))
    for c, cluster in enumerate(snapshot.clusters):
        alone = restrict(snapshot, cluster.name)
        assert alone.clusters == (cluster,)
        assert alone.node_name == tuple(snapshot.node_name[n] for n in np.flatnonzero(snapshot.node_cluster == c))
        assert alone.pod_name == tuple(snapshot.pod_name[p] for p in np.flatnonzero(snapshot.pod_cluster == c))
        assert alone.now_s == snapshot.now_s
        assert_same(alone, codec.read(codec.write(alone)))


@given(SEEDS, st.sampled_from(LISTS))
@settings(max_examples=75, deadline=None)
def test_one_row_less_gives_another_digest(world: int, kind: str) -> None:
    whole = document(world)
    if not whole[kind]:
        return
    fewer = {**whole, kind: whole[kind][1:]}
    try:
        # A domain that a node's `asw` implies anyway, and an equal second budget, say nothing new.
        assert read(fewer).digest != read(whole).digest or kind in ("domains", "pdbs")
    except InputError as error:
        assert kind in ("domains", "gangs"), error  # something else named the row that is gone
