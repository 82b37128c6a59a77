"""Several jobs at once, against the largest-first greedy and against all that is possible."""

import random
from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.placement.joint import Effort, Joint, Outcome, place_jointly
from scheduler.placement.planner import Group, Request, request_of
from scheduler.plan.ask import ParamError
from tests.builders.worlds import World, world


def racks(free: list[int], size: int = 6) -> World:
    """Switches of ``size`` nodes each, of which so many are free."""
    made = world()
    for rack, some in enumerate(free):
        made.asw(f"asw-{rack}")
        for i in range(size):
            made.node(f"n{rack}{i}")
            if i >= some:
                made.pod(f"p{rack}{i}", f"n{rack}{i}", gpus=8)
    return made


def jobs(*counts: int, required: str = "asw") -> list[Request]:
    return [
        Request(groups=(Group(name=f"job{i}", count=count, gpus=8),), required=required)
        for i, count in enumerate(counts)
    ]


def most_nodes(free: list[int], counts: list[int]) -> int:
    """By looking at every assignment of jobs to switches or to none."""
    best = 0
    for choice in product(range(-1, len(free)), repeat=len(counts)):
        used = Counter(
            {rack: sum(c for c, at in zip(counts, choice, strict=True) if at == rack) for rack in set(choice)}
        )
        if all(used[rack] <= free[rack] for rack in range(len(free))):
            best = max(best, sum(c for c, at in zip(counts, choice, strict=True) if at >= 0))
    return best


def legal(found: Outcome, free: list[int], counts: list[int]) -> None:
    """Every job whole, in one switch, on nodes of its own that nobody holds."""
    nodes = [node for job in found.jobs for _, node in job.assignment]
    assert len(nodes) == len(set(nodes))
    assert all(int(node[2]) < free[int(node[1])] for node in nodes)
    for job, count in zip(found.jobs, counts, strict=True):
        assert len(job.assignment) in (0, count)
        assert len({node[1] for _, node in job.assignment}) <= 1


def test_two_that_fill_a_switch_go_before_one_that_breaks_it() -> None:
    found = place_jointly(racks([5]).snapshot(), jobs(3, 3, 2))
    assert (found.greedy.seated_gpus, found.found.seated_gpus) == (40, 40)
    found = place_jointly(racks([5, 4]).snapshot(), jobs(4, 3, 2))
    assert (found.greedy.seated_gpus, found.found.seated_gpus, found.most_gpus) == (56, 72, 72)
    assert found.proven


@given(seed=st.integers(0, 2**31))
@settings(max_examples=15, deadline=None)
def test_never_fewer_than_the_greedy_never_more_than_there_is_and_the_most_where_it_says_so(seed: int) -> None:
    dice = random.Random(seed)
    free, counts = [dice.randint(0, 6) for _ in range(3)], [dice.randint(1, 5) for _ in range(5)]
    made = place_jointly(racks(free).snapshot(), jobs(*counts), effort=Effort(tries=40), seed=seed)
    most = 8 * most_nodes(free, counts)
    assert made.greedy.seated_gpus <= made.found.seated_gpus <= most <= made.most_gpus
    assert made.greedy.seated_jobs <= made.found.seated_jobs
    assert made.found.seated_gpus == most or not made.proven
    for outcome in (made.found, made.greedy):
        legal(outcome, free, counts)


def told(found: Joint) -> list[tuple[tuple[str, str], ...]]:
    return [job.assignment for job in found.found.jobs]


def test_equal_seeds_give_equal_places() -> None:
    snapshot, asked = racks([5, 4, 3, 2]).snapshot(), jobs(4, 3, 3, 2, 2, 1)
    assert told(place_jointly(snapshot, asked, seed=3)) == told(place_jointly(snapshot, asked, seed=3))


def test_jobs_that_may_be_spread_leave_domains_to_those_that_may_not() -> None:
    asked = [*jobs(3, required=""), *jobs(4)]
    found = place_jointly(racks([4, 3]).snapshot(), asked)
    assert found.found.seated_jobs == 2
    assert found.found.worth >= found.greedy.worth


def test_jobs_of_all_kinds_are_seated_beside_one_another() -> None:
    made = racks([2, 2]).gang("g", 2, topology={"required": "asw"})
    made.pod("g-0", gpus=8, gang="g").pod("g-1", gpus=8, gang="g")
    made.pod("plain", gpus=0, cpu_milli=1000).pod("lonely", gpus=4, labels={"app": "a"}, anti_affinity=["app=a"])
    snapshot = made.snapshot()
    requests = [request_of(snapshot, "jobs/g"), request_of(snapshot, "jobs/lonely"), *jobs(1)]
    requests.append(request_of(snapshot, "jobs/plain"))
    found = place_jointly(snapshot, requests).found
    assert found.seated_jobs == 4
    used = Counter(node for job in found.jobs[:3] for _, node in job.assignment)
    assert max(used.values()) == 1
    assert found.jobs[1].assignment[0][0] == "jobs/lonely"
    assert found.all_reduce_s is not None, "who has no GPU reduces nothing"


def test_efforts_are_checked() -> None:
    with pytest.raises(ParamError, match="tries"):
        Effort(tries=-1)
