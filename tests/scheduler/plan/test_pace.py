"""Waves cut finer: by hand, and as the judge sees them."""

import dataclasses
from collections import Counter, defaultdict
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.consolidation.planner import Params, unproven
from scheduler.plan.operations import Migrate
from scheduler.plan.pace import Bind, Limits, Touch, pace, touches
from scheduler.plan.plan import Bound, Counts, Plan
from scheduler.plan.verify import verify
from tests.builders.answers import answer
from tests.builders.checker import Judge
from tests.builders.random_worlds import random_world
from tests.builders.worlds import world

LOW = st.one_of(st.none(), st.integers(1, 3))
MIB = st.one_of(st.none(), st.integers(1, 200))
LIMITS = st.builds(
    Limits, first_per_cent=st.integers(1, 100), wave=LOW, node=LOW, asw=LOW, owner=LOW, tenant=LOW,
    store_mib=MIB, switch_mib=MIB,
)  # fmt: skip


NOTHING = Counts(slack_nodes=0, empty_nodes=0, full_nodes=0)


def move(pod: str, source: str, target: str, chain: int = 0) -> Migrate:
    return Migrate(cluster="default", pod=f"jobs/{pod}", uid="", source=source, target=target, mode="copy",
                   drains=source, chain=chain, depth=0)  # fmt: skip


def plan_of(*moves: Migrate, waves: tuple[int, ...] = ()) -> Plan:
    return Plan(
        kind="consolidation", cluster="default", snapshot_digest="", planner="hand", params={}, seed=0, moves=moves,
        wave_of=waves or (0,) * len(moves), emptied_nodes=(), before=NOTHING, after=NOTHING, kept=(),
        bound=Bound(net_upper=0, gap=0.0, proven=True),
    )  # fmt: skip


def in_order(plan: Plan, wave_of: tuple[int, ...]) -> Plan:
    """The plan in its run waves, moves sorted by them."""
    order = sorted(range(len(plan.moves)), key=lambda i: (wave_of[i], i))
    place = {old: new for new, old in enumerate(order)}
    moves = tuple(
        msgspec.structs.replace(plan.moves[i], after=tuple(place[before] for before in plan.moves[i].after))
        for i in order
    )
    return msgspec.structs.replace(plan, moves=moves, wave_of=tuple(wave_of[i] for i in order))


@given(world_seed=st.integers(0, 2**31), limits=LIMITS)
@settings(max_examples=40, deadline=None)
def test_a_paced_plan_is_legal_by_both_judges_and_keeps_its_limits(world_seed: int, limits: Limits) -> None:
    made = random_world(world_seed)
    snapshot = made.snapshot()
    plan = unproven(snapshot, Params(), 0, None, None)
    touched = touches(plan, snapshot, [(float(i % 5) * 30, 20.0) for i in range(len(plan.moves))])
    paced = pace(plan, touched, limits)
    run = in_order(plan, paced.wave_of)
    assert verify(run, snapshot).violations == ()
    assert Judge(made.document()).faults(answer(run)) == []
    assert len(paced.binds) == len(set(paced.wave_of))
    order = sorted(range(len(plan.moves)), key=lambda i: plan.wave_of[i])
    assert [plan.wave_of[i] for i in sorted(order, key=lambda i: paced.wave_of[i])] == sorted(plan.wave_of)
    for word, most in (("node", limits.node), ("asw", limits.asw), ("owner", limits.owner), ("tenant", limits.tenant)):
        assert most is None or max(counted(word, touched, paced.wave_of).values(), default=0) <= most
    for most, mib in (
        (limits.store_mib, store_used(touched, paced.wave_of)),
        (limits.switch_mib, into_switches(touched, paced.wave_of)),
    ):
        assert most is None or all(len(moves) == 1 or sum(moves) <= most for moves in mib.values())
    first = max(1, len(plan.moves) * limits.first_per_cent // 100)
    assert paced.wave_of.count(0) <= first


def counted(word: str, touched: tuple[Touch, ...], wave_of: tuple[int, ...]) -> Counter[Any]:
    """Moves by (wave, object), counted without the code under test."""
    found: Counter[Any] = Counter()
    for wave, one in zip(wave_of, touched, strict=True):
        names = {"node": one.nodes, "asw": one.asws, "owner": (one.owner,), "tenant": (one.tenant,)}[word]
        found.update((wave, name) for name in names if name)
    return found


def store_used(touched: tuple[Touch, ...], wave_of: tuple[int, ...]) -> dict[Any, list[float]]:
    """What each move of a wave reads back, where it reads anything."""
    found: dict[Any, list[float]] = defaultdict(list)
    for wave, one in zip(wave_of, touched, strict=True):
        if one.store_mib:
            found[wave].append(one.store_mib)
    return found


def into_switches(touched: tuple[Touch, ...], wave_of: tuple[int, ...]) -> dict[Any, list[float]]:
    found: dict[Any, list[float]] = defaultdict(list)
    for wave, one in zip(wave_of, touched, strict=True):
        if one.into:
            found[wave, one.into].append(one.store_mib + one.image_mib)
    return found


def touch(source: str, target: str = "t", *, asws: tuple[str, ...] = (), owner: str = "", tenant: str = "") -> Touch:
    return Touch((source, target), asws, owner or f"jobs/{source}", tenant)


def loaded(source: str, store_mib: float, into: str = "") -> Touch:
    """A move that reads so much from the store and pulls an image of 10 MiB."""
    return dataclasses.replace(touch(source, f"t-{source}"), into=into, store_mib=store_mib, image_mib=10)


def waves(*of: Touch, planned: tuple[int, ...] = (), **limits: Any) -> tuple[tuple[int, ...], list[list[str]]]:
    """(run wave of each move, the words that bound each wave); the first wave is unlimited unless it is asked for."""
    plan = plan_of(
        *(move(f"p{k}", one.nodes[0], one.nodes[1], k) for k, one in enumerate(of)), waves=planned or (0,) * len(of)
    )
    paced = pace(plan, of, Limits(**{"first_per_cent": 100, **limits}))
    return paced.wave_of, [[bind.limit for bind in binds] for binds in paced.binds]


@pytest.mark.parametrize(
    ("touched", "limits", "expected"),
    [
        ([touch("a"), touch("b"), touch("c")], {}, ((0, 0, 0), [[]])),
        ([touch("a"), touch("b"), touch("c")], {"first_per_cent": 1}, ((0, 1, 1), [["first"], []])),
        ([touch("a"), touch("b"), touch("c")], {"wave": 2}, ((0, 0, 1), [["wave"], []])),
        ([touch("a", "t"), touch("b", "u"), touch("c", "t")], {"node": 1}, ((0, 0, 1), [["node"], []])),
        ([touch("a", "b"), touch("b", "c"), touch("c", "d")], {"node": 1}, ((0, 1, 0), [["node"], []])),
        ([touch("a", asws=("x",)), touch("b"), touch("c", asws=("x", "y"))], {"asw": 1}, ((0, 0, 1), [["asw"], []])),
        ([touch("a", owner="w"), touch("b", owner="w"), touch("c")], {"owner": 1}, ((0, 1, 0), [["owner"], []])),
        ([touch("a", tenant="t"), touch("b", tenant="t"), touch("c"), touch("d")], {"tenant": 1},
         ((0, 1, 0, 0), [["tenant"], []])),
        ([touch("a", tenant="t"), touch("b", tenant="t"), touch("c", tenant="u"), touch("d", tenant="u")],
         {"tenants": {"t": 1}}, ((0, 1, 0, 0), [["tenant"], []])),
        ([touch(str(k), tenant="t") for k in range(6)], {"tenant": 2},
         ((0, 0, 1, 1, 2, 2), [["tenant"], ["tenant"], []])),
        ([loaded("a", 60), loaded("b", 60), loaded("c", 40)], {"store_mib": 100}, ((0, 1, 0), [["store"], []])),
        ([loaded("a", 60), loaded("b", 60), touch("c")], {"store_mib": 10}, ((0, 1, 0), [["store"], []])),
        ([loaded("a", 60, into="x"), loaded("b", 60, into="y"), loaded("c", 40, into="x")], {"switch_mib": 110},
         ((0, 0, 1), [["switch"], []])),
    ],
)  # fmt: skip
def test_each_limit_by_hand(touched: list[Touch], limits: dict[str, Any], expected: object) -> None:
    assert waves(*touched, **limits) == expected


def test_planned_waves_stay_apart_and_in_their_order() -> None:
    touched = [touch("a"), touch("b"), touch("c"), touch("d")]
    assert waves(*touched, planned=(0, 0, 1, 1), wave=1)[0] == (0, 1, 2, 3)
    assert waves(*touched, planned=(0, 1, 1, 2))[0] == (0, 1, 1, 2)


@pytest.mark.parametrize(("planned", "expected"), [
    ([0] * 250 + [1] * 50, [0] * 3 + [1] * 247 + [2] * 50), ([0, 0, 1], [0, 1, 2]), ([0, 1, 1], [0, 1, 1]), ([], []),
])  # fmt: skip
def test_the_first_wave_takes_one_per_cent(planned: list[int], expected: list[int]) -> None:
    touched = [touch(str(k), f"t{k}") for k in range(len(planned))]
    assert list(waves(*touched, planned=tuple(planned), first_per_cent=1)[0]) == expected


def test_what_a_move_touches() -> None:
    made = world().asw("x").node("n1").asw("y").node("n2").asw(None).node("n3")
    made.pod("a", "n1", workload="train").pod("b", "n2", owner={"kind": "Job", "name": "j"}, tenant="t2")
    made.pod("c", "n3", tenant=None)
    plan = plan_of(move("a", "n1", "n2"), move("b", "n2", "n3"), move("c", "n3", "n1"))
    assert touches(plan, made.snapshot()) == (
        Touch(("n1", "n2"), ("x", "y"), "jobs/train", "t1", into="y"),
        Touch(("n2", "n3"), ("y",), "jobs/Job/j", "t2"),
        Touch(("n3", "n1"), ("x",), "jobs/c", "", into="x"),
    )
    assert [(one.store_mib, one.image_mib) for one in touches(plan, made.snapshot(), [(1, 2), (3, 4), (5, 6)])] == [
        (1, 2),
        (3, 4),
        (5, 6),
    ]


def test_the_object_that_binds_is_named() -> None:
    plan = plan_of(move("a", "n1", "t"), move("b", "n2", "t"))
    assert pace(plan, [touch("n1"), touch("n2")], Limits(100, node=1)).binds == ((Bind("node", "t"),), ())
    assert dataclasses.replace(Limits(), tenants={"a": 1}).tenant is None
