"""A campaign that halts, and an empty group that waits for somebody, call who is on call, until somebody acts."""

from datetime import time

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from console.audit.models import Entry
from console.campaigns import services as campaigns
from console.campaigns.models import Campaign, Member
from console.consolidation import planning
from console.oncall import services
from console.oncall.models import Alert, Message
from console.tenancy.services import Denied
from tests.builders.pages import squeezed
from tests.builders.people import approver, operator, viewer
from tests.console.campaigns.scene import looked, made, plan_of, two_switches
from tests.console.oncall.scene import rota, swept
from tests.console.plans.scene import scene

pytestmark = pytest.mark.django_db


def page_of(user: object, row: Campaign) -> str:
    client = Client()
    client.force_login(user)  # type: ignore[arg-type]
    return squeezed(client.get(reverse("campaigns:detail", args=[row.pk])).content.decode())


def called() -> list[str]:
    return [one.user.username for one in Message.objects.select_related("user").order_by("pk")]


def test_a_campaign_that_halts_calls_until_somebody_acts_and_calls_again_at_the_next_halt() -> None:
    rota("ada", "ben")
    one = scene(two_switches().pod("l", "s1-a", 1, locked=True))
    row = made(one, most_asks=1, stop_after=1)
    campaigns.begin_campaign(operator(), row.pk)
    looked(one, row)
    planning.compute(plan_of(row, 0).pk)
    assert looked(one, row, 3)[0] == ("s1", "failed")
    begun = swept()
    alert = Alert.objects.get()
    assert (alert.kind, alert.campaign_id, called()) == ("campaign", row.pk, ["ada"])
    (sent,) = mail.outbox
    assert f"Campaign {row.pk} in default halted: groups have failed: 1 group failed" in sent.subject
    assert f"/campaigns/{row.pk}/" in sent.body and "Failed: s1: asked once" in sent.body
    page = page_of(approver("ada"), row)
    assert "I am looking" in page and "Call 1: ada, who is on call" in page
    assert "I am looking" not in page_of(viewer(), row)
    client = Client()
    client.force_login(approver("ada"))
    assert f"Campaign {row.pk} calls you." in client.get(reverse("oncall:now")).content.decode()
    answer = client.post(reverse("oncall:alert", args=[alert.pk, "acknowledge"]))
    assert answer.headers["Location"] == reverse("campaigns:detail", args=[row.pk])
    assert Entry.objects.get(action="alert.acknowledged").target_id == str(row.pk)
    campaigns.resume_campaign(operator(), row.pk)
    swept(0.1, begun)
    alert.refresh_from_db()
    assert (alert.state, alert.outcome) == ("resolved", "the campaign is active")
    Campaign.objects.filter(pk=row.pk).update(state="halted")
    swept(1, begun)
    assert [one.state for one in Alert.objects.order_by("pk")] == ["resolved", "calling"]


@pytest.mark.parametrize(
    ("urgent", "held", "wakes"), [(["halted"], True, ["ada"]), (["halted"], False, []), ([], True, [])]
)
def test_a_halted_campaign_that_holds_nodes_wakes_whom_a_halted_run_would(
    urgent: list[str], held: bool, wakes: list[str]
) -> None:
    rota("ada", quiet_from=time(0), quiet_until=time(23, 59), urgent=urgent)
    row = made(scene(two_switches()))
    Campaign.objects.filter(pk=row.pk).update(state="halted")
    Member.objects.filter(name__in=["s1-a", "s1-b", "s2-a"]).update(held_at=timezone.now() if held else None)
    Member.objects.filter(name="s2-a").update(given_back_at=timezone.now())
    swept()
    assert called() == wakes
    assert ("Out of service: 2 nodes" in "".join(str(one.body) for one in mail.outbox)) is bool(wakes)


def test_an_empty_group_calls_an_approver_other_than_its_owner() -> None:
    rota("ada", "ben")
    one = scene(two_switches().without("jobs/p1", "jobs/p2"))
    row = made(one, user=approver("ada"))
    campaigns.begin_campaign(approver("ada"), row.pk)
    looked(one, row)
    planning.compute(plan_of(row, 0).pk)
    assert looked(one, row)[0] == ("s1", "proposed")
    begun = swept(1)
    alert = Alert.objects.get()
    assert (alert.kind, called()) == ("group", ["ben"])
    with pytest.raises(Denied, match="asked for this campaign"):
        services.acknowledge(approver("ada"), alert.pk)
    client = Client()
    client.force_login(viewer())
    told = client.get(reverse("api:alert", args=[alert.pk])).json()
    assert (told["plan"], told["campaign"], told["group"]) == (None, row.pk, 1)
    campaigns.take_out(approver("ben"), row.pk, 0, "nobody is there")
    swept(1, begun)
    alert.refresh_from_db()
    assert (alert.outcome, called()) == ("s1 may be taken out of service", ["ben"])
