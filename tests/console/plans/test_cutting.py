"""Shorter plans are new plans: their own digest, their own approval, checked anew."""

import msgspec
import pytest

from console.plans import services
from console.plans.choices import State
from console.plans.models import Plan
from console.plans.services import cutting
from console.tenancy.services import Denied
from tests.builders.people import operator, viewer
from tests.builders.worlds import world
from tests.console.plans.scene import arrives, move, node_set, scene, two

pytestmark = pytest.mark.django_db


def test_a_cut_keeps_whole_chains_and_has_a_digest_of_its_own() -> None:
    _, plan = two()
    cut = services.cut_plan(operator("cutter"), plan.pk, 1)
    assert (cut.state, cut.parent_id, cut.proposer.username) == (State.PROPOSED, plan.pk, "cutter")
    assert cut.origin == f"plan {plan.pk} cut to 1 of 2 moves"
    assert [step.pod for step in cut.steps.all()] == ["jobs/a"]
    assert cut.digest not in ("", plan.digest)
    assert (cut.headline["net_emptied"], plan.headline["net_emptied"]) == (1, 2)
    assert Plan.objects.get(pk=plan.pk).state == State.PROPOSED


@pytest.mark.parametrize(("moves", "words"), [(2, "nothing to cut"), (99, "nothing to cut")])
def test_there_is_nothing_to_cut(moves: int, words: str) -> None:
    _, plan = two()
    with pytest.raises(services.Conflict, match=words):
        services.cut_plan(operator(), plan.pk, moves)
    assert Plan.objects.count() == 1


def test_fewer_moves_than_the_first_chain_needs() -> None:
    made = world().nodes("n1", "n2").pod("a", "n1").pod("c", "n1").pod("z", "n2", locked=True)
    one = scene(made)
    plan = one.plan(move("a", "n1", "n2", 0), move("c", "n1", "n2", 0))
    with pytest.raises(services.Conflict, match="the first one needs 2"):
        services.cut_plan(operator(), plan.pk, 1)


def test_stale_moves_are_dropped_with_their_chains() -> None:
    one, plan = two()
    one.happen(arrives("late", "n2", 1))
    services.sweep()
    assert Plan.objects.get(pk=plan.pk).state == State.STALE
    rest = services.drop_stale_moves(operator(), plan.pk)
    assert rest.state == State.PROPOSED
    assert [step.pod for step in rest.steps.all()] == ["jobs/a"]
    assert rest.origin == f"plan {plan.pk} without 1 of 2 moves"


def test_nothing_is_left_when_all_is_stale() -> None:
    one, plan = two()
    one.happen(node_set("n3", cordoned=True))
    with pytest.raises(services.Conflict, match="No chain is left") as refused:
        services.drop_stale_moves(operator(), plan.pk)
    assert refused.value.changes
    assert Plan.objects.count() == 1


def test_chains_that_wait_for_a_dropped_one_go_too() -> None:
    made = world().nodes("n1", "n2", "n3", "n4").pod("a", "n1", 4).pod("b", "n2", 8).pod("z", "n3", 4, locked=True)
    one = scene(made.pod("y", "n4", 4, locked=True))
    plan = one.plan(move("a", "n1", "n3", 0))
    whole = cutting.checking.signed(plan)
    after = msgspec.structs.replace(whole.moves[0], pod="jobs/b", chain=1, after=(0,))
    both = msgspec.structs.replace(whole, moves=(whole.moves[0], after), wave_of=(0, 1))
    assert cutting.without_dependents(both, {0}) == set()
    assert cutting.without_dependents(both, {1}) == {0}


def test_viewers_cut_nothing() -> None:
    _, plan = two()
    with pytest.raises(Denied):
        services.cut_plan(viewer(), plan.pk, 1)


def test_a_cut_of_moves_that_changed_names_them_and_blames_no_planner() -> None:
    one, plan = two()
    one.happen(arrives("late", "n1", 1))
    with pytest.raises(services.Conflict, match="1 of the 1 move to keep no longer holds") as refused:
        services.cut_plan(operator(), plan.pk, 1)
    assert "planner" not in refused.value.reason
    assert [change["moves"] for change in refused.value.changes] == [[0]]
    assert Plan.objects.count() == 1


def test_a_cut_that_leaves_out_what_changed_stands() -> None:
    one, plan = two()
    one.happen(arrives("late", "n2", 1))
    assert services.cut_plan(operator(), plan.pk, 1).state == State.PROPOSED
