"""What a process keeps unpacked: as many snapshots as a page needs at once, bounded by their objects."""

import pytest

from console.inventory import archive
from scheduler.cluster import codec
from tests.builders.worlds import world


@pytest.fixture
def recent() -> "archive.Recent[list[int]]":
    return archive.Recent(len, most=100)


def _made(recent: "archive.Recent[list[int]]", size: int, *names: str) -> list[str]:
    """Which of them had to be made."""
    made: list[str] = []

    def make(name: str) -> list[int]:
        made.append(name)
        return [0] * size

    for name in names:
        recent.get(name, lambda name=name: make(name))  # type: ignore[misc]
    return made


def test_many_small_parts_are_kept_together(recent: "archive.Recent[list[int]]") -> None:
    parts = [f"part {n}" for n in range(20)]
    assert _made(recent, 5, *parts) == parts
    assert _made(recent, 5, *parts) == []
    assert _made(recent, 5, "one more", *parts[1:]) == ["one more"]  # the one that was used longest ago has gone
    assert _made(recent, 5, parts[0]) == [parts[0]]


def test_two_stay_however_large_they_are(recent: "archive.Recent[list[int]]") -> None:
    assert _made(recent, 1000, "then", "now", "then", "now") == ["then", "now"]
    assert _made(recent, 1000, "next", "now", "then") == ["next", "then"]
    recent.forget()
    assert _made(recent, 5, "a", "b", "c", "a") == ["a", "b", "c"]


@pytest.mark.django_db
def test_who_follows_clusters_keeps_no_snapshot_in_memory() -> None:
    snapshot = codec.read(world().node("n1").json())
    archive.forget()
    archive.store(snapshot, remember=False)
    assert archive.load(snapshot.digest) is not snapshot
    archive.forget()
    archive.store(snapshot)
    assert archive.load(snapshot.digest) is snapshot
