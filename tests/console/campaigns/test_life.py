"""A campaign of two groups on a simulated cluster, from its preview to its end, and what may come between."""

from typing import Any

import pytest
from django.utils import timezone

from console.audit.models import Entry
from console.campaigns import execution, pace, pages, selectors, services
from console.campaigns import planning as previews
from console.campaigns.models import Campaign, Group, Member
from console.connectors.models import SimulatedOperation
from console.consolidation import planning
from console.consolidation import services as desk
from console.inventory.models import Source
from console.plans import services as plans
from console.plans.models import Plan
from console.policies import windowing
from console.policies.choices import Place
from console.rest.errors import Conflict
from console.tenancy.services import Denied
from tests.builders.people import approver, operator, viewer
from tests.console.campaigns.scene import DRIVER, NEW, cordoned, drained, looked, made, plan_of, states, two_switches
from tests.console.plans.scene import node_set, observe, pod_set, scene

pytestmark = pytest.mark.django_db


def test_two_groups_go_from_preview_to_their_end() -> None:
    one = scene(two_switches())
    row = made(one)
    previews.preview(row.pk)
    group = Group.objects.get(campaign=row, position=0)
    assert (group.nodes, group.gpus, group.pods) == (2, 16, 2)
    assert group.preview == {"ok": True, "moves": 2, "nodes": 2, "gone": 0, "why": []}
    services.begin_campaign(operator(), row.pk)
    assert looked(one, row) == [("s1", "planning"), ("s2", "waiting")]
    assert "campaign" in plan_of(row, 0).because and "cordoned while it runs" in plan_of(row, 0).because
    assert plan_of(row, 0).proposer == operator() and not cordoned(one)
    drained(one, row, 0)
    assert cordoned(one) == {"s1-a", "s1-b"}  # while it ran
    assert looked(one, row, 2) == [("s1", "work"), ("s2", "waiting")]
    row.refresh_from_db()
    assert (row.out_now, row.may_be_out) == (2, 2)
    services.mark_done(operator(), row.pk, 0, "flashed")
    assert looked(one, row, 4) == [("s1", "back"), ("s2", "planning")]
    assert not cordoned(one)
    drained(one, row, 1)
    assert looked(one, row, 2) == [("s1", "back"), ("s2", "work")]
    # The driver's new version shows in a reading: nobody has to say so.
    one.happen(*(node_set(name, labels={DRIVER: NEW}) for name in ("s2-a", "s2-b")))
    assert looked(one, row, 4) == [("s1", "back"), ("s2", "back")]
    row.refresh_from_db()
    assert (row.state, cordoned(one)) == ("done", set())
    assert SimulatedOperation.objects.filter(operation__type="cordon", state="succeeded").count() == 8
    said = Entry.objects.filter(target_kind="campaign", target_id=str(row.pk)).values_list("action", flat=True)
    assert {"campaign.made", "campaign.begun", "campaign.work_done", "campaign.node_cordoned", "campaign.done"} <= set(
        said
    )


def test_a_preview_says_what_keeps_a_group_until_when_and_what_would_help() -> None:
    made_of = two_switches().pod("l1", "s1-a", 1, locked=True, locked_until_s=4600).pod("n1", "s2-b", 1, move="never")
    one = scene(made_of)
    row = made(one)
    previews.preview(row.pk)
    first, second = selectors.page_of(operator(), row.pk).groups
    assert (first.can, second.can) == (False, False)
    assert first.why[0].words.startswith("1 pod on 1 node: locked, the last until 20")
    assert first.why[0].help == "ask their owners to release the locks"
    assert second.why[0].help == "their owners have to end or move them"
    one.happen(pod_set("l1", locked=False))
    services.look_anew(operator(), row.pk)
    previews.preview(row.pk)
    assert selectors.page_of(operator(), row.pk).groups[0].can is True


def test_nodes_that_left_or_have_the_new_driver_are_not_drained() -> None:
    one = scene(two_switches())
    row = made(one)
    services.begin_campaign(operator(), row.pk)
    one.happen(
        node_set("s1-a", labels={DRIVER: NEW}), node_set("s2-a", labels={}), node_set("s2-b", labels={DRIVER: NEW})
    )
    assert looked(one, row) == [("s1", "planning"), ("s2", "waiting")]
    assert plan_of(row, 0).params["goal"]["nodes"] == ["s1-b"]
    drained(one, row, 0)
    looked(one, row, 2)
    services.mark_done(operator(), row.pk, 0)
    assert looked(one, row, 5) == [("s1", "back"), ("s2", "skipped")]
    said = dict(Member.objects.exclude(left_out="").values_list("name", "left_out"))
    assert said["s1-a"] == "is as it is to be already" == said["s2-b"]
    assert said["s2-a"] == "is no longer one of those that were chosen"


def test_a_failure_halts_the_campaign_until_somebody_looks_and_a_no_skips_the_group() -> None:
    one = scene(two_switches().pod("l", "s1-a", 1, locked=True))
    row = made(one, most_asks=1, stop_after=1)
    services.begin_campaign(operator(), row.pk)
    looked(one, row)
    planning.compute(plan_of(row, 0).pk)
    assert looked(one, row, 3) == [("s1", "failed"), ("s2", "waiting")]
    row.refresh_from_db()
    assert (row.state, row.state_reason[:14]) == ("halted", "1 group failed")
    assert Group.objects.get(campaign=row, position=0).reason.startswith("asked once; plan not possible")
    services.resume_campaign(operator(), row.pk)
    looked(one, row)
    planning.compute(plan_of(row, 1).pk)
    plans.reject_plan(approver(), plan_of(row, 1).pk, plan_of(row, 1).digest, "not today")
    assert looked(one, row, 2)[1] == ("s2", "skipped")
    services.try_again(operator(), row.pk, 1)
    assert looked(one, row)[1] == ("s2", "planning")
    services.skip_group(operator(), row.pk, 1, "another day")
    looked(one, row, 3)
    row.refresh_from_db()
    assert (row.state, row.state_reason) == ("done", "1 group failed, 1 group skipped")
    with pytest.raises(Conflict, match="no group begins"):
        services.try_again(operator(), row.pk, 1)


def test_what_is_empty_is_taken_out_by_somebody_other_than_the_owner() -> None:
    one = scene(two_switches().without("jobs/p1", "jobs/p2"))
    row = made(one, user=approver("both"))
    services.begin_campaign(approver("both"), row.pk)
    looked(one, row)
    planning.compute(plan_of(row, 0).pk)
    assert looked(one, row) == [("s1", "proposed"), ("s2", "waiting")]
    with pytest.raises(Denied, match="somebody else"):
        services.take_out(approver("both"), row.pk, 0, "mine")
    with pytest.raises(Conflict):
        services.mark_done(operator(), row.pk, 0)
    assert not cordoned(one)
    services.take_out(approver(), row.pk, 0, "nobody is there")
    assert looked(one, row, 3)[0] == ("s1", "work")
    assert cordoned(one) == {"s1-a", "s1-b"}


def test_an_end_gives_back_what_is_held_but_not_where_work_goes_on() -> None:
    one = scene(two_switches())
    row = made(one, at_once=2, most_out=4)
    services.begin_campaign(operator(), row.pk)
    looked(one, row, 2)
    drained(one, row, 0)
    looked(one, row, 2)
    planning.compute(plan_of(row, 1).pk)
    assert looked(one, row) == [("s1", "work"), ("s2", "proposed")]
    services.pause_campaign(operator(), row.pk, "lunch")
    with pytest.raises(Denied):
        services.end_campaign(operator("another"), row.pk, "r")
    services.end_campaign(approver(), row.pk, "not needed")
    assert plan_of(row, 1).state == "cancelled"
    assert looked(one, row, 3) == [("s1", "work"), ("s2", "skipped")]
    assert cordoned(one) == {"s1-a", "s1-b"}
    services.mark_done(operator(), row.pk, 0)
    assert looked(one, row, 4)[0] == ("s1", "back")
    row.refresh_from_db()
    assert (row.state, cordoned(one)) == ("ended", set())
    with pytest.raises(Conflict, match="is ended"):
        services.resume_campaign(operator(), row.pk)


@pytest.mark.parametrize("approves", [False, True])
def test_what_somebody_asks_again_is_the_groups_plan_unless_the_owner_could_approve_it(approves: bool) -> None:
    owner = approver("both") if approves else operator()
    one = scene(two_switches())
    row = made(one, user=owner)
    services.begin_campaign(owner, row.pk)
    looked(one, row)
    first = plan_of(row, 0)
    Plan.objects.filter(pk=first.pk).update(state="expired", ended_at=timezone.now())
    assert looked(one, row)[0] == ("s1", "again")
    other = desk.request_again(operator("another"), first.pk)
    looked(one, row)
    assert (plan_of(row, 0) == other, states(row)[0][1]) == (not approves, "again" if approves else "planning")
    other.refresh_from_db()
    assert ("stay out of service until the work on them is done" in other.because) == (not approves)
    services.end_campaign(owner, row.pk, "not needed")
    assert looked(one, row, 2) == [("s1", "skipped"), ("s2", "skipped")]
    other.refresh_from_db()
    assert other.state == "requested"  # it is another person's, who may want it all the same


def test_a_plan_that_expires_outside_its_windows_is_asked_again_when_they_open() -> None:
    one = scene(two_switches())
    row = made(one, most_asks=1)
    services.begin_campaign(operator(), row.pk)
    looked(one, row)
    planning.compute(plan_of(row, 0).pk)
    dark = windowing.add_window(
        approver(), Place(), kind="blackout", cron="0 * * * *", minutes=60, zone="UTC", reason="month end"
    )
    Plan.objects.filter(pk=plan_of(row, 0).pk).update(state="expired", ended_at=timezone.now())
    assert looked(one, row)[0] == ("s1", "again")
    assert "its windows are closed" in Group.objects.get(campaign=row, position=0).reason
    Group.objects.filter(campaign=row, position=0).update(again_at=timezone.now())
    assert looked(one, row, 2)[0] == ("s1", "again")
    windowing.end_window(approver(), dark.pk)
    assert looked(one, row)[0] == ("s1", "planning")


def test_a_node_is_never_in_two_campaigns() -> None:
    one = scene(two_switches())
    row = made(one)
    services.begin_campaign(operator(), row.pk)
    services.skip_group(operator(), row.pk, 0, "later")
    other = made(one, selects="nodes", wanted={"names": ["s1-a"]}, done_label="", done_value="")
    services.begin_campaign(operator(), other.pk)
    with pytest.raises(Conflict, match=f"s1-a is in campaign {other.pk}"):
        services.try_again(operator(), row.pk, 0)
    with pytest.raises(Conflict, match="s2-a is in campaign"):
        services.begin_campaign(operator(), made(one, selects="nodes", wanted={"names": ["s2-a"]}).pk)


def test_nodes_that_others_had_cordoned_stay_so_and_two_workers_open_one_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    made_of = two_switches()
    made_of.rows["nodes"][0]["cordoned"] = True
    one = scene(made_of)
    row = made(one)
    services.begin_campaign(operator(), row.pk)
    observe(one.source)
    real = pace.decide

    def decides_while_another_acts(moment: pace.Moment) -> Any:
        monkeypatch.setattr(pace, "decide", real)
        services.turn(row.pk)
        return real(moment)

    monkeypatch.setattr(pace, "decide", decides_while_another_acts)
    assert services.turn(row.pk) == []
    assert Plan.objects.filter(proposer=operator()).count() == 1
    drained(one, row, 0)
    looked(one, row, 2)
    assert cordoned(one) == {"s1-a", "s1-b"}
    services.mark_done(operator(), row.pk, 0)
    assert looked(one, row, 3)[0] == ("s1", "back")
    assert cordoned(one) == {"s1-a"}


def test_a_source_that_is_only_observed_is_read_and_never_touched() -> None:
    one = scene(two_switches())

    def read(row: Campaign, times: int = 2) -> list[tuple[str, str]]:
        for _ in range(times):
            Source.objects.update(kind="simulated")
            observe(one.source)
            Source.objects.update(kind="kubernetes")
            execution.look_at(row.pk)
        return states(row)

    row = made(one)
    Source.objects.update(kind="kubernetes")
    services.begin_campaign(operator(), row.pk)
    read(row, 1)
    planning.compute(plan_of(row, 0).pk)
    assert read(row)[0] == ("s1", "proposed")
    Source.objects.update(kind="simulated")
    one.happen(pod_set("p1", node="t1"), pod_set("p2", node="t1"))
    assert read(row)[0] == ("s1", "drained")
    group = Group.objects.get(campaign=row, position=0)
    assert pages.next_step(selectors.campaign_for(viewer(), row.pk), group).startswith("Not held: cordon its nodes")
    for held, state in ((True, "work"), (False, "returning")):
        Source.objects.update(kind="simulated")
        one.happen(node_set("s1-a", cordoned=True), node_set("s1-b", cordoned=held or True))
        if not held:
            services.mark_done(operator(), row.pk, 0)
        assert read(row)[0] == ("s1", state)
    Source.objects.update(kind="simulated")
    one.happen(node_set("s1-a", cordoned=False), node_set("s1-b", cordoned=False))
    assert read(row)[0] == ("s1", "back")
    assert not SimulatedOperation.objects.exists()
