"""Room that is promised is nobody else's: not free now, not free later, not lent, and given to its claimant."""

import pytest

from scheduler.cluster.errors import ParamError
from scheduler.cluster.occupancy import borrowers, occupancy
from scheduler.cluster.promised import Promise, respecting
from scheduler.placement.planner import place, request_of
from scheduler.placement.prey import without
from tests.builders.worlds import World, world


def _promise(node: str, milli: int, claimant: str = "jobs/h", until_s: int | None = None) -> Promise:
    return Promise(cluster="default", node=node, claimant=claimant, gpu_milli=milli, until_s=until_s)


def _leaving() -> World:
    built = world(1005).nodes("n1")
    built.pod("v1", "n1", 8, tier="LP", terminating=True, deleted_at_s=1000, grace_s=60)
    return built.pod("h", gpus=8, tenant="t2", priority=100).pod("l", gpus=8, tenant="t3", tier="LP")


def test_neither_now_nor_when_the_others_have_left() -> None:
    snapshot = _leaving().snapshot()
    seen = respecting(snapshot, [_promise("n1", 8000)])
    gone = snapshot.pod_terminating & snapshot.pod_live
    assert occupancy(seen).free_gpus.tolist() == occupancy(without(seen, gone)).free_gpus.tolist() == [0]
    later = without(snapshot, gone)
    assert not place(respecting(later, [_promise("n1", 8000)]), request_of(later, "jobs/l")).ok
    own = respecting(later, [_promise("n1", 8000)], but="jobs/h")
    assert own is later and place(own, request_of(own, "jobs/h")).ok


def test_parts_of_a_node_parts_of_a_gpu_and_promises_that_are_over() -> None:
    snapshot = world(1000).nodes("n1", "n2").pod("a", "n1", 2).snapshot()
    assert occupancy(respecting(snapshot, [_promise("n1", 4000)])).free_gpus.tolist() == [2, 8]
    assert occupancy(respecting(snapshot, [_promise("n1", 500)])).free_gpus.tolist() == [5, 8]
    assert respecting(snapshot, [_promise("n1", 4000, until_s=1000)]) is snapshot
    assert occupancy(respecting(snapshot, [_promise("gone", 4000)])).free_gpus.tolist() == [6, 8]
    assert respecting(snapshot, [_promise("n1", 4000, until_s=1001)]).node_allocatable.tolist() == [4, 8]


def test_a_sleeper_that_was_called_lends_nothing_and_keeps_its_own_room() -> None:
    built = world(1000).nodes("n1").pod("s", "n1", 6, standby=True)
    built.pod("b", "n1", 4, tier="LP", lent_by="jobs/s")
    snapshot = built.snapshot()
    seen = respecting(snapshot, [_promise("n1", 6000, "jobs/s")])
    assert not seen.pod_standby.any() and not len(borrowers(seen))
    assert seen.node_allocatable.tolist() == [8] and occupancy(seen).free_gpus.tolist() == [0]
    left = without(seen, seen.pod_lp)
    assert occupancy(left).free_gpus.tolist() == [2]  # two beside it were never its own


def test_members_that_run_are_not_those_that_wait() -> None:
    built = world(1000).nodes("n1").gang("g", 1).pod("g-0", "n1", 4, gang="g").pod("g-1", gpus=4, gang="g")
    assert occupancy(respecting(built.snapshot(), [_promise("n1", 4000, "jobs/g")])).free_gpus.tolist() == [0]


def test_amounts_are_checked() -> None:
    with pytest.raises(ParamError, match="gpu_milli"):
        _promise("n1", -1)
