"""A turn: who starts, in which order, within which limits; held to the law of the house on drawn worlds."""

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster.room import faults, pods_by_node
from scheduler.cluster.rows import frozen
from scheduler.cluster.snapshot import PodSpec, Snapshot
from scheduler.plan.slots import with_pending
from scheduler.spot.planner import Freeing, Limits, Turn, Waiting, plan_starts
from tests.builders.worlds import GPU_MODEL, World, world
from tests.scheduler.spot.test_seats import ask, sleeper


def line(uid: str, gpus: int = 8, pods: int = 1, *, tenant: str = "t1", since: int = 900, **fields: Any) -> Waiting:
    requeued = fields.pop("requeued", False)
    return Waiting(uid=uid, tenant=tenant, ask=ask(gpus, pods, **fields), since_s=since, requeued=requeued)


def started(turn: Turn) -> list[str]:
    return [one.uid for one in turn.starts]


def test_the_line() -> None:
    place = world(now_s=10_000).nodes(*(f"n{i}" for i in range(4))).pod("lp", "n0", 1, tier="LP", tenant="rich")
    waiting = [
        line("small", 4, since=9_000, tenant="poor"),
        line("large", 8, since=9_500, tenant="poor"),
        line("rich", 8, since=8_000, tenant="rich"),
        line("old", 2, since=5_000, tenant="rich"),
        line("back", 2, since=9_900, tenant="rich", requeued=True),
    ]
    turn = plan_starts(place.snapshot(), waiting, Limits())
    assert [one.uid for one in turn.decisions] == ["back", "old", "large", "rich", "small"]
    assert len(turn.starts) == 5


def test_limits_leave_a_part_of_what_needs_no_gang() -> None:
    place = world().nodes("n1", "n2", "n3")
    spot = Limits(spot_gpus={GPU_MODEL: 16})
    (one,) = plan_starts(place.snapshot(), [line("a", 8, 3, min_members=1)], spot).decisions
    assert one.seating is not None and len(one.seating.pods) == 2
    (gang,) = plan_starts(place.snapshot(), [line("a", 8, 3)], spot).decisions
    assert gang.wait is not None
    assert gang.wait.words == f"the spot quota of {GPU_MODEL} is 16 GPUs, 0 are in use; needs 24"
    mine = Limits(tenant_gpus={("t1", ""): 8})
    (other,) = plan_starts(place.snapshot(), [line("a", 8, 3)], mine).decisions
    assert other.wait is not None and other.wait.numbers["scope"] == "tenant"


@pytest.mark.parametrize(
    ("cents", "limit", "words"),
    [
        (None, 100, f"there is no quote for {GPU_MODEL}"),
        (118, 100, "the price is 1.18 USD/GPU-h, its limit 1.00 USD/GPU-h"),
        (118, 118, ""),
        (118, None, ""),
    ],
)
def test_money(cents: int | None, limit: int | None, words: str) -> None:
    asked = [line("a", limit_cents=limit)]
    (one,) = plan_starts(world().nodes("n1").snapshot(), asked, Limits(), prices={GPU_MODEL: cents}).decisions
    assert (one.wait.words if one.wait else "") == words


def test_the_plan_that_would_help_is_named() -> None:
    place = world().nodes("n1", "n2").pod("a", "n1", 4).pod("b", "n2", 4)
    plans = [Freeing("#9", GPU_MODEL, "", 16, 500), Freeing("#8", GPU_MODEL, "", 4, 100)]
    (one,) = plan_starts(place.snapshot(), [line("a")], Limits(), freeing=plans).decisions
    assert one.wait is not None and one.wait.words.endswith("; plan #9 would free 16")
    assert one.wait.numbers["ready_at_s"] == 500


# ---- drawn worlds -------------------------------------------------------------------------------------------------
ASKS = st.lists(
    st.tuples(
        st.integers(1, 8), st.integers(1, 4), st.booleans(), st.sampled_from(["", "asw", "asw!"]),
        st.sampled_from(["t1", "t2"]), st.integers(0, 40), st.integers(0, 200),
    ),
    min_size=1, max_size=6,
)  # fmt: skip
NODES = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 4), st.booleans()), min_size=2, max_size=6
)


def _drawn(nodes: list[tuple[int, int, int, bool]]) -> World:
    place = world()
    for at, (hp, asleep, borrowed, shared) in enumerate(nodes):
        name = f"n{at}"
        place.asw(f"a{at % 2}" if at != 3 else None).node(name, cpu_milli=160, memory_mib=900)
        hp, asleep = min(hp, 8), min(asleep, 8 - min(hp, 8))
        if hp:
            place.pod(f"hp{at}", name, hp, cpu_milli=hp * 10, memory_mib=hp * 50)
        if shared and hp + asleep < 8:
            place.pod(f"share{at}", name, 1, gpu_milli=500)
            asleep = min(asleep, 7 - hp)
        if asleep:
            place.pod(f"s{at}", name, asleep, standby=True, cpu_milli=asleep * 10, memory_mib=asleep * 50)
            if borrowed and borrowed <= asleep:
                place.pod(f"b{at}", name, borrowed, tier="LP", lent_by=f"jobs/s{at}", memory_mib=10)
    return place


def _waiting(rows: list[tuple[Any, ...]]) -> list[Waiting]:
    return [
        line(
            f"w{at}", gpus, pods, tenant=tenant, since=900 - at, cpu_milli=cpu, memory_mib=memory,
            min_members=pods if gang else 1, topology=level.rstrip("!"), required=level.endswith("!"),
        )
        for at, (gpus, pods, gang, level, tenant, cpu, memory) in enumerate(rows)
    ]  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(NODES, ASKS, st.integers(0, 40), st.randoms(use_true_random=False))
def test_no_turn_breaks_a_rule(
    nodes: list[tuple[int, int, int, bool]], rows: list[tuple[Any, ...]], quota: int, chance: Any
) -> None:
    snapshot, waiting = _drawn(nodes).snapshot(), _waiting(rows)
    limits = Limits(spot_gpus={GPU_MODEL: quota + 20}, tenant_gpus={("t1", ""): quota})
    turn = plan_starts(snapshot, waiting, limits)
    mixed = list(waiting)
    chance.shuffle(mixed)
    assert plan_starts(snapshot, mixed, limits) == turn
    by_uid = {one.uid: one for one in waiting}
    used: Counter[str] = Counter()
    for one in turn.decisions:
        assert (one.seating is None) != (one.wait is None)
        if one.wait is not None:
            assert one.wait.words
            continue
        asked = by_uid[one.uid].ask
        assert one.seating is not None
        assert asked.min_members <= len(one.seating.pods) <= asked.pods
        used[by_uid[one.uid].tenant] += len(one.seating.pods) * asked.gpus_per_pod
        if asked.required:
            asws = {snapshot.node_at_level[0, snapshot.node_name.index(pod.node)] for pod in one.seating.pods}
            assert len(asws) == 1 and -1 not in asws
    held = {t: int(snapshot.pod_gpus[snapshot.pod_live & snapshot.pod_lp].sum()) if t == "t1" else 0 for t in used}
    assert used["t1"] == 0 or used["t1"] + held["t1"] <= quota
    assert not turn.starts or sum(used.values()) + int(snapshot.pod_gpus[snapshot.pod_lp].sum()) <= quota + 20
    _lawful(snapshot, turn, by_uid)


def _lawful(snapshot: Snapshot, turn: Turn, by_uid: dict[str, Waiting]) -> None:
    """All that starts, together, beside whoever stands there: the law that judges every plan."""
    longer, arrivals = snapshot, defaultdict(list)
    for one in turn.starts:
        asked, first = by_uid[one.uid].ask, len(longer.pod_name)
        assert one.seating is not None
        columns = {"gpus": asked.gpus_per_pod, "gpu_milli": 1000, "cpu_milli": asked.cpu_milli,
                   "memory_mib": asked.memory_mib, "lp": True, "cluster": 0}  # fmt: skip
        names = [f"{one.uid}-{i}" for i in range(len(one.seating.pods))]
        longer = with_pending(longer, names, columns, PodSpec(gpu_models=asked.models))
        lender = longer.pod_lender.copy()
        keys = {snapshot.pod_key(p): p for p in range(len(snapshot.pod_name))}
        for row, pod in enumerate(one.seating.pods, first):
            arrivals[snapshot.node_name.index(pod.node)].append(row)
            if pod.lent_by:
                lender[row] = keys[pod.lent_by]
        longer = replace(longer, pod_lender=frozen(lender))
    order, starts = pods_by_node(snapshot)
    for n, pods in arrivals.items():
        there = np.asarray(order[starts[n] : starts[n + 1]]).tolist()
        assert not list(faults(longer, n, there, pods))


def test_lenders_are_filled_before_free_nodes_are_opened() -> None:
    place = sleeper(sleeper(world().nodes("n1", "n2", "n3"), "n1"), "n2")
    turn = plan_starts(place.snapshot(), [line("a", 8, 2), line("b", 8)], Limits())
    lent = [[pod.lent_by for pod in one.seating.pods] for one in turn.starts if one.seating]
    assert lent == [["jobs/svc-n1", "jobs/svc-n2"], [""]]
