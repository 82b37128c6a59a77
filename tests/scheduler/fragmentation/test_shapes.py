"""What fits now, per size and level."""

from scheduler.fragmentation.capacity import capacity_of
from scheduler.fragmentation.shapes import fits, largest_blocks, places
from tests.builders.worlds import World, world

Counts = dict[tuple[int, str], int | None]


def counts(made: World, pool: int | None = None) -> Counts:
    return {(fit.gpus, fit.level): fit.count for fit in fits(places(capacity_of(made.snapshot())), pool)}


def blocks(made: World, pool: int | None = None) -> dict[str, int | None]:
    return {block.level: block.gpus for block in largest_blocks(places(capacity_of(made.snapshot())), pool)}


def two_switches() -> World:
    """asw-0: two empty nodes; asw-1: one node with 3 of 8 GPUs free; one empty node that nobody can place."""
    made = world().asw("asw-0").nodes("n1", "n2").asw("asw-1").node("n3").asw(None).node("n4")
    return made.pod("a", "n3", 5)


def test_counts_by_level() -> None:
    found = counts(two_switches())
    assert [found[8, level] for level in ("host", "asw", "cluster")] == [3, 2, 3]  # 27 GPUs hold three eights
    assert [found[4, level] for level in ("host", "asw", "cluster")] == [6, 4, 6]
    assert [found[1, level] for level in ("host", "asw", "cluster")] == [27, 19, 27]
    assert [found[16, level] for level in ("host", "asw", "cluster")] == [None, 1, 1]
    # 32 GPUs exist in the cluster, so 32 is possible and does not fit now; no switch has as many.
    assert [found[32, level] for level in ("host", "asw", "cluster")] == [None, None, 0]
    assert [found[64, level] for level in ("host", "asw", "cluster")] == [None, None, None]


def test_largest_block_by_level() -> None:
    assert blocks(two_switches()) == {"host": 8, "asw": 16, "cluster": 27}


def test_each_gpu_needs_its_cpu() -> None:
    made = world().asw("asw-0").node("n1", cpu_milli=40_000)  # 40 cores are the CPU of 3 GPUs
    assert blocks(made) == {"host": 3, "asw": 3, "cluster": 3}
    assert counts(made)[4, "host"] == 0
    assert counts(made)[2, "host"] == 1


def test_a_tainted_node_has_no_room_and_stays_possible() -> None:
    made = world().asw("asw-0").node("n1", taints=[{"key": "k", "effect": "NoExecute"}])
    assert counts(made)[8, "asw"] == 0
    assert blocks(made) == {"host": 0, "asw": 0, "cluster": 0}


def test_models_and_clusters_are_never_mixed() -> None:
    made = world().asw("asw-0").node("n1").node("n2", gpu_model="H20").asw("asw-0").node("n3", cluster="other")
    found = counts(made)
    assert [found[16, level] for level in ("asw", "cluster")] == [None, None]
    assert [found[8, level] for level in ("host", "asw", "cluster")] == [3, 3, 3]
    assert counts(made, pool=0)[8, "cluster"] == 1


def test_every_level_of_the_tree_from_the_closest() -> None:
    made = world().domain("agg-0", "agg").domain("asw-0", "asw", "agg-0").domain("asw-1", "asw", "agg-0")
    made.within("asw-0").node("n1").within("asw-1").node("n2")
    assert list(blocks(made)) == ["host", "asw", "agg", "cluster"]
    assert blocks(made) == {"host": 8, "asw": 8, "agg": 16, "cluster": 16}


def test_a_level_where_no_gpu_stands_has_no_block() -> None:
    made = world().domain("agg-0", "agg").asw(None).node("n1")
    assert blocks(made) == {"host": 8, "agg": None, "cluster": 8}
    assert counts(made)[1, "agg"] is None


def test_nothing_fits_nowhere() -> None:
    assert set(counts(world()).values()) == {None}
    assert set(counts(world().node("c1", 0)).values()) == {None}
