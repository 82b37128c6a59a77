"""Whether a job would have found room without a plan: the reading with the plan's moves taken back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.cluster.snapshot import Snapshot
from scheduler.plan.gain import ELSEWHERE, NOBODY_KNOWS, WAITS, Answer, answer, without
from scheduler.plan.operations import Migrate
from scheduler.plan.plan import Bound, Counts, Plan
from tests.builders.worlds import World, world

NONE = Counts(slack_nodes=0, empty_nodes=0, full_nodes=0)


def plan_of(*moves: tuple[str, str, str]) -> Plan:
    """(pod, from, to), all of one wave."""
    return Plan(
        kind="consolidation", cluster="default", snapshot_digest="", planner="hand/1", params={}, seed=0,
        moves=tuple(
            Migrate(cluster="default", pod=f"jobs/{pod}", uid="", source=source, target=target, mode="copy",
                    drains=source, chain=i, depth=0)
            for i, (pod, source, target) in enumerate(moves)
        ),
        wave_of=(0,) * len(moves), emptied_nodes=(), before=NONE, after=NONE, kept=(),
        bound=Bound(net_upper=0, gap=0.0, proven=False),
    )  # fmt: skip


PLAN = plan_of(("a", "n1", "n2"))


def asked(made: World, *job: str, plan: Plan = PLAN, absent: tuple[str, ...] = ()) -> Answer:
    snapshot = made.snapshot()
    rows = {name: row for row, name in enumerate(snapshot.pod_name)}
    names = [rows[name] for name in job]
    done = range(len(plan.moves))
    return answer(without(plan, done, snapshot, [*names, *(rows[name] for name in absent)]), names)


def after() -> World:
    """a was moved from n1 to n2, and j took all of n1."""
    return world().nodes("n1", "n2").pod("a", "n2", 2).pod("z", "n2", 2).pod("j", "n1", 8)


def test_a_job_that_takes_the_freed_node_would_have_waited() -> None:
    assert asked(after(), "j") == Answer(WAITS, "0 of 1 pods find room")


def test_room_elsewhere_is_no_gain() -> None:
    assert asked(after().node("n3"), "j") == Answer(ELSEWHERE, "on n3")
    assert asked(after().node("n3", cordoned=True), "j").word == WAITS
    assert asked(after().node("n3", gpu_model="A10"), "j").word == ELSEWHERE  # it names no model
    assert asked(after().node("n3", ready=False), "j").word == WAITS


def test_the_old_room_of_moved_pods_is_theirs_only_while_they_stand_where_the_plan_took_them() -> None:
    ended = world().nodes("n1", "n2").pod("z", "n2", 2).pod("j", "n1", 8)
    assert asked(ended, "j") == Answer(ELSEWHERE, "on n1")
    moved_on = world().nodes("n1", "n2", "n3").pod("a", "n3", 2).pod("z", "n2", 2).pod("j", "n1", 8)
    assert asked(moved_on, "j").word == ELSEWHERE
    returned = world().nodes("n1", "n2").pod("a", "n1", 2).pod("z", "n2", 2).pod("j", "n1", 6)
    assert asked(returned, "j") == Answer(ELSEWHERE, "on n1")  # refilled by the plan's own pod: nothing is taken back


def test_others_who_started_on_freed_nodes_take_no_room_from_it() -> None:
    made = after().node("n3").pod("k", "n3", 8)
    assert asked(made, "j").word == WAITS
    assert asked(made, "j", absent=("k",)) == Answer(ELSEWHERE, "on n3")


def test_gangs_need_room_for_all_at_once_and_in_one_domain() -> None:
    def gang(*places: tuple[str, str], **fields: object) -> World:
        made = world().gang("g", 2, **fields)
        for name, asw in places:
            made.asw(asw).node(name)
        return made.pod("g1", "n1", 8, gang="g").pod("g2", "n2", 8, gang="g").pod("a", "n3", 8)

    moved_a = plan_of(("a", "n1", "n3"))
    three = (("n1", "s1"), ("n2", "s1"), ("n3", "s2"))
    assert asked(gang(*three), "g1", "g2", plan=moved_a).word == ELSEWHERE  # n2 and n3 instead
    required = gang(*three, topology={"required": "asw"})
    assert asked(required, "g1", "g2", plan=moved_a) == Answer(WAITS, "1 of 2 pods find room")
    unknown = gang(*three, topology={"required": "rail"})
    assert asked(unknown, "g1", "g2", plan=moved_a).word == NOBODY_KNOWS


def test_several_kinds_are_judged_only_where_one_alone_settles_it() -> None:
    base = world().nodes("n1", "n2").pod("a", "n2", 2).pod("z", "n2", 2, locked=True)
    one_too_large = base.pod("j1", "n1", 7).pod("j2", "n1", 1)
    assert asked(one_too_large, "j1", "j2").word == WAITS
    tight = world().nodes("n1", "n2").pod("a", "n2", 1).pod("z", "n2", 1, locked=True)
    # 7 on each: 5 and 3 on one, 4 and 2 on the other would do; largest first finds 5 and 2, then 4 and 3.
    for name, gpus in (("j1", 5), ("j2", 4), ("j3", 3), ("j4", 2)):
        tight.pod(name, "n1", gpus)
    assert asked(tight, "j1", "j2", "j3", "j4").word in (ELSEWHERE, NOBODY_KNOWS)
    packed = world().nodes("n1", "n2").pod("a", "n2", 1).pod("z", "n2", 2, locked=True)
    for name, gpus in (("j1", 6), ("j2", 5), ("j3", 2)):
        packed.pod(name, "n1", gpus)
    assert asked(packed, "j1", "j2", "j3").word == NOBODY_KNOWS


def test_what_nobody_can_put_back_is_unknown() -> None:
    gone = world().nodes("n2", "n3").pod("a", "n2", 2).pod("j", "n3", 8)
    assert asked(gone, "j") == Answer(NOBODY_KNOWS, "n1 is no longer there")
    lent = world().nodes("n1", "n2").pod("a", "n2", 2).pod("s", "n1", 8, standby=True)
    lent.pod("j", "n1", 8, tier="LP", lent_by="jobs/s")
    assert asked(lent, "j").word == NOBODY_KNOWS


@given(
    free=st.lists(st.integers(0, 8), min_size=1, max_size=5), members=st.integers(1, 6), gpus=st.integers(1, 8),
    moved=st.integers(1, 8),
)  # fmt: skip
def test_pods_that_are_alike_are_counted_exactly(free: list[int], members: int, gpus: int, moved: int) -> None:
    """Against a sum: so many of the size on each node; on n0 the moved pod stands again."""
    made = world().node("n0").node("far", 64).gang("g", members).pod("a", "far", moved)
    for number, rest in enumerate(free, start=1):
        made.node(f"n{number}").pod(f"f{number}", f"n{number}", 8 - rest)
    for number in range(members):
        made.pod(f"g{number}", "n0" if number * gpus < 8 else "far", gpus, gang="g", cpu_milli=0)
    made.pod("full", "far", 64 - moved)
    plan = plan_of(("a", "n0", "far"))
    found = asked(made, *(f"g{number}" for number in range(members)), plan=plan)
    room = sum(rest // gpus for rest in [*free, 8 - moved]) + moved // gpus
    assert found.word == (ELSEWHERE if room >= members else WAITS)


def test_the_reading_itself_stays_as_it_was() -> None:
    snapshot: Snapshot = after().snapshot()
    before = snapshot.pod_node.tolist()
    without(PLAN, [0], snapshot, [0])
    assert snapshot.pod_node.tolist() == before
    with pytest.raises(ValueError, match="read-only"):
        snapshot.pod_node[0] = 0
