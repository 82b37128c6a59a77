"""What moves could win back, on worlds whose answer can be seen."""

import pytest

from scheduler.fragmentation.report import report
from tests.builders.worlds import World, world


def split(made: World, shape: str) -> tuple[int, int, int]:
    """Reclaimable, locked and unfixable whole GPUs of the only pool."""
    (pool,) = report(made.snapshot()).pools
    (found,) = [one for one in pool.shapes if one.shape.name == shape]
    lost = found.causes["stranded"] + found.causes["cpu_memory"]
    three = (found.recovery.reclaimable, found.recovery.locked, found.recovery.unfixable)
    assert sum(three) == lost
    return three[0] // 1000, three[1] // 1000, three[2] // 1000


def halves(**second: object) -> World:
    """Two nodes, each half full: moving one half onto the other node frees a whole node."""
    return world().nodes("n1", "n2").pod("a", "n1", 4).pod("b", "n2", 4, **second)


def test_two_halves_make_a_whole() -> None:
    assert split(halves(), "8G64C") == (8, 0, 0)


def test_one_lock_is_no_hindrance_where_the_other_half_can_move() -> None:
    assert split(halves(locked=True), "8G64C") == (8, 0, 0)


IMMOVABLE = [
    {"locked": True},
    {"move": "never"},
    {"terminating": True},
    {"only_node": "n2"},
    {"labels": {"app": "kept"}},
    {"standby": True},
]


@pytest.mark.parametrize("second", IMMOVABLE, ids=[next(iter(fields)) for fields in IMMOVABLE])
def test_halves_behind_immovable_pods_are_locked(second: dict[str, object]) -> None:
    made = halves(**second).pod("more", "n1", 0, locked=True)
    made.budget("app=kept", max_unavailable=0)
    if "standby" in second:
        made.pod("borrower", "n2", 1, tier="LP", lent_by="jobs/b")
    assert split(made, "8G64C") == (0, 8, 0)


def test_a_budget_that_is_not_used_up_holds_nothing() -> None:
    made = halves(labels={"app": "kept"}).pod("more", "n1", 0, locked=True)
    assert split(made.budget("app=kept", max_unavailable=1), "8G64C") == (8, 0, 0)
    made = halves(labels={"app": "kept"}).pod("more", "n1", 0, locked=True)
    assert split(made.budget("app=kept", min_available=1), "8G64C") == (0, 8, 0)


def test_agents_do_not_keep_a_node() -> None:
    assert split(halves().agent("d", "n1").agent("s", "n2", "Static"), "8G64C") == (8, 0, 0)


def test_alone_there_is_nowhere_to_go() -> None:
    assert split(world().node("n1").pod("a", "n1", 4), "8G64C") == (0, 0, 4)


def test_alone_behind_a_lock_it_is_the_lock() -> None:
    assert split(world().node("n1").pod("a", "n1", 4, locked=True), "8G64C") == (0, 4, 0)


def test_a_lock_on_a_node_that_never_serves_the_shape_is_not_to_blame() -> None:
    assert split(world().node("n1", 4).pod("a", "n1", 2, locked=True), "8G64C") == (0, 0, 2)


def test_what_is_reclaimable_goes_first() -> None:
    # Three halves, one of them locked: two pour into each other or into the third, 8 of 12 come back.
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 4).pod("b", "n2", 4).pod("c", "n3", 4, locked=True)
    assert split(made, "8G64C") == (8, 4, 0)


def test_what_is_too_small_for_the_shape_stays() -> None:
    # Three nodes of 4: no move makes eight of four.
    made = world().nodes("n1", "n2", "n3", gpus=4).pod("a", "n1", 2).pod("b", "n2", 2)
    assert split(made, "8G64C") == (0, 0, 8)


def test_more_is_used_than_fits_elsewhere() -> None:
    # 3 + 3 + 3 are free: of the 5s that are in use, one can be poured into the rests of the two others.
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 5).pod("b", "n2", 5).pod("c", "n3", 5)
    assert split(made, "8G64C") == (8, 0, 1)


def test_short_of_cpu_wins_back_nothing_where_the_node_never_had_it() -> None:
    # 8 GPUs on 64 cores never serve 8G96C.
    assert split(world().nodes("n1", "n2", cpu_milli=64_000).pod("a", "n1", 1), "8G96C") == (0, 0, 15)


def test_cpu_held_by_cpu_pods_can_be_won_back() -> None:
    # n1 has 8 GPUs free and 60 of 128 cores; the 68 cores fit on n2, whose GPUs are in use.
    made = world().nodes("n1", "n2").pod("c", "n1", 0, cpu_milli=68_000).pod("g", "n2", 8, cpu_milli=8_000)
    assert split(made, "8G96C") == (8, 0, 0)
    # With the 68 cores locked, the 8 GPUs of n2 can move to n1 instead, and n2 is whole; with both locked nothing can.
    made = world().nodes("n1", "n2").pod("c", "n1", 0, cpu_milli=68_000, locked=True).pod("g", "n2", 8, cpu_milli=8_000)
    assert split(made, "8G96C") == (8, 0, 0)
    made = world().nodes("n1", "n2").pod("c", "n1", 0, cpu_milli=68_000, locked=True)
    assert split(made.pod("g", "n2", 8, cpu_milli=8_000, locked=True), "8G96C") == (0, 8, 0)


def test_cpu_is_a_limit_of_its_own() -> None:
    # The 68 cores have nowhere to go: n2 has 60 left.
    made = world().nodes("n1", "n2").pod("c", "n1", 0, cpu_milli=68_000).pod("g", "n2", 8, cpu_milli=68_000)
    assert split(made, "8G96C") == (0, 0, 8)


def test_cordoned_nodes_neither_give_nor_receive() -> None:
    made = world().node("n1").node("n2", cordoned=True).pod("a", "n1", 4).pod("b", "n2", 4)
    assert split(made, "8G64C") == (0, 0, 4)


def test_pods_that_accept_another_model_may_leave_the_pool() -> None:
    made = world().node("n1").node("h1", gpu_model="H20").pod("a", "n1", 4)
    found = {pool.pool.gpu_model: pool for pool in report(made.snapshot()).pools}
    whole = next(one for one in found["H100-SXM5-80GB"].shapes if one.shape.name == "8G64C")
    assert whole.recovery.reclaimable == 4000  # all that is lost: once a is on h1, 8 are usable where 0 were
    pinned = world().node("n1").node("h1", gpu_model="H20").pod("a", "n1", 4, gpu_model="H100-SXM5-80GB")
    found = {pool.pool.gpu_model: pool for pool in report(pinned.snapshot()).pools}
    whole = next(one for one in found["H100-SXM5-80GB"].shapes if one.shape.name == "8G64C")
    assert (whole.recovery.reclaimable, whole.recovery.unfixable) == (0, 4000)


def test_other_clusters_are_no_place_to_go() -> None:
    made = world().node("n1").node("w1", cluster="west").pod("a", "n1", 4)
    found = next(pool for pool in report(made.snapshot()).pools if pool.pool.cluster == "default")
    assert all(one.recovery.reclaimable == 0 for one in found.shapes)


def test_cpu_pods_may_go_to_cpu_nodes() -> None:
    made = world().node("n1").node("c1", 0).pod("c", "n1", 0, cpu_milli=68_000)
    assert split(made, "8G96C") == (8, 0, 0)


def test_a_budget_of_another_namespace_holds_nothing() -> None:
    made = halves(labels={"app": "kept"}).pod("more", "n1", 0, locked=True)
    assert split(made.budget("app=kept", namespace="other", max_unavailable=0), "8G64C") == (8, 0, 0)


def test_a_tainted_node_gains_nothing_by_being_emptied() -> None:
    taints = [{"key": "dedicated", "effect": "NoSchedule"}]
    assert split(world().nodes("n1", "n2", taints=taints).pod("a", "n1", 4).pod("b", "n2", 4), "8G64C") == (0, 0, 8)


def test_a_request_that_spans_nodes_joins_what_it_wins_to_the_remainder() -> None:
    # 16 nodes under one switch; on one of them a CPU pod takes the CPU of two GPUs: 126 units, one request short.
    made = world().asw("asw-0")
    for number in range(16):
        made.node(f"n{number:02}", cpu_milli=96_000)
    made.node("c1", 0).pod("c", "n00", 0, cpu_milli=24_000)
    assert split(made, "128@ASW") == (128, 0, 0)
