"""The price of moving one pod, term by term, against figures worked out by hand."""

import pytest

from scheduler.cluster.snapshot import Snapshot
from scheduler.performance.interruption import Cost, Rates, device_memory_mib, interruption
from tests.builders.worlds import World, world

# 10 s to start, 20 s to pull, 40 GiB of 80 at 1 GiB/s: 40 s to load
RATES = Rates(
    start_s=10,
    image_mib=20_480,
    state_percent=50,
    network_mib_per_s=1024,
    store_mib_per_s=1024,
    rebuild_s=300,
    checkpoint_age_s=1800,
    failure_percent=1,
    recovery_s=900,
)
MEMORY = 80 * 1024


def cost_of(made: World, name: str = "jobs/a", rates: Rates = RATES) -> Cost:
    snapshot = made.snapshot()
    return interruption(snapshot, row_of(snapshot, name), rates)


def row_of(snapshot: Snapshot, name: str) -> int:
    return next(p for p in range(len(snapshot.pod_name)) if snapshot.pod_key(p) == name)


def one(**fields: object) -> World:
    return world(now_s=10_000).node("n", gpu_memory_mib=MEMORY).pod("a", "n", **{"gpus": 1, **fields})  # type: ignore[arg-type]


def test_a_copy_costs_the_time_in_which_both_stand_and_the_risk() -> None:
    cost = cost_of(one(gpus=2))
    assert cost.seconds == 10 + 20 + 80  # two GPUs, twice the state
    assert (cost.start, cost.rebuild, cost.lost, cost.risk) == (2 * 110, 0, 0, 2 * 9)
    assert cost.gpu_seconds == 238
    assert (cost.image_mib, cost.state_mib, cost.assumed) == (20_480, MEMORY, ())


def test_a_service_pays_for_cold_caches() -> None:
    assert cost_of(one(**{"class": "online"})).rebuild == 300
    assert cost_of(one(**{"class": "training"})).rebuild == 0


def test_lp_risks_half() -> None:
    assert cost_of(one(tier="LP")).risk == 4.5


@pytest.mark.parametrize(
    ("fields", "lost", "wait", "assumed"),
    [
        ({"checkpoint_s": 9_400}, 600, None, ()),
        ({"checkpoint_s": 9_400, "checkpoint_interval_s": 900}, 600, 300, ()),
        ({"checkpoint_s": 8_000, "checkpoint_interval_s": 900}, 2_000, 700, ()),  # one was left out
        ({"started_s": 9_000}, 1_000, None, ("checkpoint_age_s",)),  # no older than the job
        ({"started_s": 0}, 1_800, None, ("checkpoint_age_s",)),
        ({"checkpoint_interval_s": 900}, 1_800, None, ("checkpoint_age_s",)),  # when it wrote last, nobody knows
    ],
)
def test_a_restart_loses_what_was_done_since_the_last_checkpoint(
    fields: dict[str, int], lost: float, wait: float | None, assumed: tuple[str, ...]
) -> None:
    cost = cost_of(one(move="restart", **fields))
    assert (cost.lost, cost.next_checkpoint_s, cost.assumed) == (lost, wait, assumed)
    assert cost.at_checkpoint == cost.gpu_seconds - (lost if wait is not None else 0)


def test_a_copy_loses_no_work() -> None:
    assert cost_of(one(checkpoint_s=0)).lost == 0


@pytest.mark.parametrize(("least", "gpus"), [(1, 2), (2, 2 + 6)])
def test_a_gang_that_cannot_spare_the_pod_is_lost_whole(least: int, gpus: int) -> None:
    made = world(now_s=10_000).node("n", gpu_memory_mib=MEMORY).gang("g", least)
    made.pod("a", "n", 2, gang="g", move="restart", checkpoint_s=9_900).pod("b", "n", 6, gang="g", move="restart")
    assert cost_of(made).lost == gpus * 100


def test_shares_count_as_shares() -> None:
    cost = cost_of(one(gpu_milli=250))
    assert cost.state_mib == MEMORY / 8
    assert cost.risk == 9 / 4


def test_memory_is_what_is_asked_else_that_of_the_devices_else_unknown() -> None:
    for fields, memory in (({"gpu_memory_mib": 1000}, 2000.0), ({}, 2.0 * MEMORY)):
        assert device_memory_mib(one(gpus=2, **fields).snapshot(), 0) == memory
    unknown = world().node("n", gpu_model="Nobody knows").pod("a", "n")
    assert device_memory_mib(unknown.snapshot(), 0) is None
    assert cost_of(unknown).assumed == ("device_memory",)
