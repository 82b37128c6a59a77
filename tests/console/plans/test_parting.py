"""Approving a part: chains and tenants are left out; the rest has its own digest, is judged, and decided at once."""

from typing import Any

import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.plans import selectors, services
from console.plans.choices import State
from console.plans.models import Plan
from console.tenancy.services import Denied
from tests.builders.pages import squeezed
from tests.builders.people import approver, operator, viewer
from tests.builders.worlds import world
from tests.console.consolidation.test_held import computed
from tests.console.plans.browsing import client_of, page_of
from tests.console.plans.scene import Scene, move, pod_set, ran, scene, where

pytestmark = pytest.mark.django_db


def three() -> tuple[Scene, Plan]:
    """Chains of tenants red, red and blue, and nobody; the last waits for the first."""
    made = world().nodes("n1", "n2", "n3", "n4").pod("z", "n4", 2, locked=True).pod("a", "n1", 1, tenant="red")
    made = made.pod("b", "n2", 1, tenant="red").pod("c", "n2", 1, tenant="blue").pod("d", "n3", 1, tenant=None)
    one = scene(made)
    moves = (
        move("a", "n1", "n4", 0), move("b", "n2", "n4", 1), move("c", "n2", "n4", 1), move("d", "n3", "n4", 2),
    )  # fmt: skip
    return one, one.plan(*moves)


def _part(plan: Plan, tenants: set[str] = frozenset(), chains: set[int] = frozenset()) -> services.Part:  # type: ignore[assignment]
    return services.part_of(approver(), plan.pk, tenants, chains)


@pytest.mark.parametrize(
    ("tenants", "chains", "left", "moves"),
    [
        ({"blue"}, set(), [(2, "has pods of blue")], 2),
        ({"red"}, set(), [(1, "has pods of red"), (2, "has pods of red")], 1),
        ({""}, set(), [(3, "has pods of unassigned")], 3),
        (set(), {0, 2}, [(1, "chosen"), (3, "chosen")], 2),
        ({"blue"}, {0}, [(1, "chosen"), (2, "has pods of blue")], 1),
    ],
)
def test_whole_chains_go(tenants: set[str], chains: set[int], left: list[tuple[int, str]], moves: int) -> None:
    _, plan = three()
    part = _part(plan, tenants, chains)
    assert [(one.chain, one.words) for one in part.left] == left
    assert (part.ok, part.headline["moves"], part.headline["net_emptied"]) == (True, moves, 3 - len(left))
    assert part.digest not in ("", plan.digest)
    assert _part(plan, tenants, chains).digest == part.digest
    assert Plan.objects.count() == 1


def test_the_part_is_decided_in_one_go_and_runs() -> None:
    one, plan = three()
    part = _part(plan, {"blue"})
    made = services.approve_part(
        approver(), plan.pk, plan.digest, part.digest, "blue demos today", tenants={"blue"}, chains=set(), start=True
    )
    assert (made.state, made.digest, made.approved_digest) == (State.EXECUTING, part.digest, part.digest)
    assert (made.proposer, made.approver, made.parent_id) == (plan.proposer, approver(), plan.pk)
    whole = Plan.objects.get(pk=plan.pk)
    assert (whole.state, whole.reason) == (State.CANCELLED, f"approved in part as plan {made.pk}: 2 of 4 moves")
    entry = Entry.objects.get(action="plan.approved_in_part", target_id=str(plan.pk))
    assert (entry.actor, entry.reason, entry.digest) == ("approver", "blue demos today", plan.digest)
    assert (entry.detail["part"], entry.detail["part_digest"]) == (made.pk, part.digest)
    assert entry.detail["left_out"] == [
        {"chain": 2, "node": "n2", "moves": 2, "tenants": ["blue", "red"], "why": "has pods of blue"}
    ]
    assert ran(made).state == State.SUCCEEDED
    assert where(one) == {"a": "n4", "b": "n2", "c": "n2", "d": "n4", "z": "n4"}


def _approve(plan: Plan, user: Any = None, **other: Any) -> Plan:
    said = {"tenants": {"blue"}, "chains": set(), **other}
    digest = said.pop("digest", plan.digest)
    part = said.pop("part", None) or _part(plan, {"blue"}).digest
    return services.approve_part(user or approver(), plan.pk, digest, part, said.pop("reason", "r"), **said)


def test_what_was_read_is_what_is_approved() -> None:
    _, plan = three()
    with pytest.raises(services.Conflict, match="what remains has"):
        _approve(plan, tenants={"red"})
    with pytest.raises(services.Conflict, match="You read digest"):
        _approve(plan, digest="0" * 64)
    with pytest.raises(services.DigestMissingError):
        _approve(plan, digest="")
    with pytest.raises(services.Conflict, match="needs a reason"):
        _approve(plan, reason=" ")
    with pytest.raises(Denied):
        _approve(plan, user=operator("other"))
    with pytest.raises(services.Conflict, match="Nothing is left out"):
        _part(plan, {"green"})
    with pytest.raises(services.Conflict, match="No chain remains"):
        _part(plan, {"red", ""})
    assert list(Plan.objects.values_list("state", flat=True)) == [State.PROPOSED]


def test_two_people_as_ever() -> None:
    one, _ = three()
    mine = one.plan(move("a", "n1", "n4", 0), move("d", "n3", "n4", 1), user=approver("both"))
    with pytest.raises(Denied, match="somebody else"):
        _approve(mine, user=approver("both"), tenants={"red"}, part="0" * 64)


def test_what_remains_must_hold_now_or_nothing_happens() -> None:
    one, plan = three()
    part = _part(plan, {"blue"}).digest
    one.happen(pod_set("a", locked=True))
    with pytest.raises(services.Conflict, match="no longer hold") as refused:
        _approve(plan, part=part)
    assert refused.value.changes
    assert list(Plan.objects.values_list("state", flat=True)) == [State.PROPOSED]
    assert not Entry.objects.filter(action="plan.approved_in_part").exists()
    part = _part(plan, set(), {0}).digest  # without what has changed the rest stands
    assert _approve(plan, part=part, tenants=set(), chains={0}).state == State.APPROVED


def test_of_two_approvers_one_gets_it() -> None:
    _, plan = three()
    _approve(plan)
    with pytest.raises(services.Conflict, match="cancelled"):
        _approve(plan, user=approver("late"))
    with pytest.raises(services.Conflict, match="cancelled"):
        services.approve_plan(approver("late"), plan.pk, plan.digest, "all of it")


def test_the_page_shows_what_remains_and_approves_it() -> None:
    _, plan = three()
    assert reverse("plans:part", args=[plan.pk]) in page_of(approver(), plan)
    address = reverse("plans:part", args=[plan.pk])
    client = client_of(approver())
    assert "Nothing is left out yet." in client.get(address).content.decode()
    page = squeezed(client.get(address + "?tenant=blue&chains=3").content.decode())
    part = _part(plan, {"blue"}, {2})
    assert part.digest in page
    assert "the judge says yes" in page
    assert "Approve 1 move" in page
    waves = [selectors.waves(viewer(), plan.pk), [*range(part.run_waves)]]
    assert squeezed("<td>Waves</td>" + "".join(f'<td class="sl-num">{len(of)}</td>' for of in waves)) in page
    assert "has pods of blue" in page
    assert client.get(address + "?chains=9").status_code == 400
    assert client.get(address + "?tenant=red&tenant=unassigned").status_code == 409
    said = {"digest": plan.digest, "part_digest": part.digest, "tenant": "blue", "chains": "3", "reason": "r"}
    answer = client.post(address, said)
    made = Plan.objects.get(parent=plan)
    assert (answer.status_code, answer.headers["Location"]) == (302, reverse("plans:detail", args=[made.pk]))
    assert made.state == State.APPROVED
    assert "Approve 1 move" not in client_of(viewer()).get(address + "?tenant=blue").content.decode()


def test_the_same_over_the_api() -> None:
    _, plan = three()
    api = APIClient()
    api.force_authenticate(approver())
    shown = api.get(reverse("api:plan-part", args=[plan.pk]) + "?tenant=blue&chain=3").json()
    assert (shown["ok"], shown["headline"]["moves"], [row["chain"] for row in shown["left"]]) == (True, 1, [2, 3])
    said = {"part_digest": shown["digest"], "tenants": ["blue"], "chains": [3], "reason": "blue demos today"}
    answer = api.post(
        reverse("api:plan-approve-part", args=[plan.pk]), said, format="json", headers={"If-Match": f'"{plan.digest}"'}
    )
    assert (answer.status_code, answer.json()["state"], answer.json()["because"]) == (200, "approved", said["reason"])
    for wrong in ("x", "0", "9" * 5000):
        assert api.get(reverse("api:plan-part", args=[plan.pk]) + f"?chain={wrong}").status_code == 400


def test_of_a_goal_it_says_how_much_of_it_is_reached() -> None:
    plan = computed(three()[0], goal={"kind": "drain", "nodes": ["n1", "n2"]})
    address = reverse("plans:part", args=[plan.pk])
    page = squeezed(client_of(approver()).get(address + "?chains=1").content.decode())
    assert "Nodes cleared" in page and "2 of 2 nodes" in page and "1 of 2 nodes" in page and "Net emptied" not in page
    assert "2 of 2 nodes" in squeezed(client_of(viewer()).get(reverse("plans:list")).content.decode())
