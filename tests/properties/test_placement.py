"""What holds for every placement on every world, as judged by a checker that shares no code with the planner."""

import json
import math
import random
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster import codec
from scheduler.placement.entropy import entropy, least_entropy
from scheduler.placement.ground import ground_of
from scheduler.placement.planner import Group, Placement, Policy, Request, place
from tests.builders.checker import Judge
from tests.builders.random_worlds import random_world
from tests.builders.worlds import World

SEEDS = st.integers(min_value=0, max_value=2**31)
Row = dict[str, Any]


def asked(dice: random.Random) -> tuple[Request, Row]:
    """A request, and one of its pods as the checker sees it."""
    share = dice.choice([1000, 1000, 1000, 500, 400])
    gpus = 1 if share < 1000 else dice.choice([0, 1, 2, 4, 8])
    fields = {
        "gpus": gpus,
        "gpu_milli": share,
        "cpu_milli": dice.choice([0, 4000, 16_000]),
        "memory_mib": dice.choice([0, 8 << 10]),
    }
    models = dice.choice([(), (), ("H20",)])
    wish = dice.choice([{}, {"required": "asw"}, {"required": "host"}, {"preferred": "asw"}])
    request = Request(groups=(Group(count=dice.randint(1, 6), models=models, **fields),), **wish)
    return request, {"name": "new", "namespace": "~", **fields, **({"gpu_model": list(models)} if models else {})}


def room(judge: Judge, node: Row, pod: Row) -> int:
    """Pods of the kind that the node holds by the checker's own layout, at most 6."""
    there = judge.on(node["name"])
    if list(judge.unfit(pod, node)) or judge.repelled(pod, there):
        return 0
    copies = [{**pod, "name": f"new-{i}"} for i in range(6)]
    return next((k - 1 for k in range(1, 7) if list(judge.crowded(node, [*there, *copies[:k]]))), 6)


def place_of(judge: Judge, node: Row, level: str) -> str | None:
    """Name of the domain; None where nobody knows it."""
    return node["name"] if level == "host" else judge.level_domain(node, "asw") if level == "asw" else "all"


def fits(judge: Judge, request: Request, pod: Row) -> bool:
    total: Counter[tuple[str, str]] = Counter()
    for node in judge.nodes.values():
        where = place_of(judge, node, request.required)
        if where is not None:  # one job stays within one GPU model
            total[where, node["gpu_model"] if pod["gpus"] else ""] += room(judge, node, pod)
    return max(total.values(), default=0) >= request.groups[0].count


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_a_placement_exists_exactly_where_the_checker_finds_one_and_holds(seed: int) -> None:
    world = random_world(seed, scarce=True)
    request, pod = asked(random.Random(seed))
    judge, found = Judge(world.document()), place(world.snapshot(), request)
    assert found.ok == fits(judge, request, pod), found.refusal
    assert len(found.assignment) == (request.pods if found.ok else 0)
    for option in (*([found.best] if found.best else []), *found.alternatives):
        assert_holds(judge, request, pod, Counter(node for _, node in option.assignment))


def assert_holds(judge: Judge, request: Request, pod: Row, counts: Counter[str]) -> None:
    assert sum(counts.values()) == request.pods
    for name, count in counts.items():
        assert room(judge, judge.nodes[name], pod) >= count
    if request.required:
        homes = {place_of(judge, judge.nodes[name], request.required) for name in counts}
        assert len(homes) == 1
        assert None not in homes


def shown(found: Placement) -> Any:
    return found.best, found.alternatives, found.refusal, found.largest_fit


@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    world, (request, _) = random_world(seed), asked(random.Random(seed))
    mixed = world.document()
    for kind in ("nodes", "pods", "gangs", "domains"):
        mixed[kind] = random.Random(seed).sample(mixed.get(kind, []), len(mixed.get(kind, [])))
    assert shown(place(codec.read(json.dumps(mixed).encode()), request)) == shown(place(world.snapshot(), request))


@given(room=st.lists(st.integers(0, 6), min_size=1, max_size=5), wanted=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_no_spread_of_one_job_has_less_entropy(room: list[int], wanted: int) -> None:
    taken = least_entropy(
        np.array(room, np.int64), np.zeros(len(room), np.bool_), np.arange(len(room), dtype=np.int64), wanted
    )
    every = [parts for parts in product(*(range(one + 1) for one in room)) if sum(parts) == wanted]
    assert taken.sum() == (wanted if every else 0)
    if every:
        assert math.isclose(entropy(taken.tolist()), min(map(entropy, every)), abs_tol=1e-12)


@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_whatever_the_weights_all_or_none_and_within_capacity(seed: int) -> None:
    dice = random.Random(seed)
    terms = ("packing", "same_class", "fragmentation", "network_load", "power", "entropy")
    policy = Policy(**{term: dice.choice([0, 1, 5]) for term in terms}, keep_whole=dice.random() < 0.5)
    world: World = random_world(seed, plain=True)
    request, pod = asked(dice)
    ground = ground_of(world.snapshot())
    judge, found = Judge(world.document()), place(world.snapshot(), request, policy, ground=ground)
    assert found.ok == fits(judge, request, pod)
    if found.ok:
        assert_holds(judge, request, pod, Counter(node for _, node in found.assignment))
