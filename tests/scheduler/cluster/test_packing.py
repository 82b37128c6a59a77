"""Reading packed snapshots one after the other: what they share is read once, and nothing is mixed up."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from scheduler.cluster import packing
from scheduler.cluster.codec import pack, unpack
from scheduler.cluster.snapshot import Snapshot
from tests.builders.random_worlds import random_world


@pytest.fixture(autouse=True)
def _nothing_read_before() -> None:
    packing._specs.cache_clear()


def _specs(snapshot: Snapshot) -> set[int]:
    return set(map(id, (*snapshot.pod_specs, *snapshot.node_specs)))


def test_the_next_snapshot_shares_the_specs_of_the_last_one() -> None:
    made = random_world(3, scarce=True)
    first = unpack(pack(made.snapshot()))
    later = unpack(pack(made.pod("new", None, 1, labels={"app": "new"}).snapshot()))
    assert len(_specs(later) - _specs(first)) == 1
    assert packing.digest_of(later) == made.snapshot().digest


@pytest.mark.parametrize("most", [0, 50_000])
def test_snapshots_read_by_several_threads_are_their_own(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MOST_KNOWN", most)
    worlds = [random_world(seed, scarce=True).snapshot() for seed in range(8)]
    blobs = list(map(pack, worlds)) * 6
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(unpack, blobs))
    assert [packing.digest_of(one) for one in found] == [one.digest for one in worlds] * 6
