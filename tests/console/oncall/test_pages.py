"""What people see and do on the pages of on-call, above all by phone."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from console.audit.models import Entry
from console.connectors.models import Credential
from console.oncall import services
from console.oncall.choices import EventKind
from console.oncall.models import Alert, Contact, Message, Rota
from console.oncall.services.calling import note
from console.plans import services as plans
from console.plans.models import Override, Plan
from tests.builders.pages import squeezed
from tests.builders.people import approver, operator, viewer
from tests.console.oncall.scene import alert, calls, people, rota, swept, waiting
from tests.console.plans.scene import arrives, scene, three_nodes

pytestmark = pytest.mark.django_db
PREPARED = "Read by phone: gain and moves look right, all checks hold."


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def answered(client: Client, plan: Plan, action: str, **body: Any) -> Any:
    return client.post(reverse("oncall:answer", args=[plan.pk, action]), {"digest": plan.digest, **body})


def read(client: Client, plan: Plan) -> str:
    return squeezed(client.get(reverse("oncall:decide", args=[plan.pk])).content.decode())


def test_the_page_for_phones_says_what_a_decision_needs_and_loads_little() -> None:
    rota("ada", "ben")
    plan = waiting()
    swept()
    client = signed_in(approver("ada"))
    page = read(client, plan)
    facts = ("empties 2 nodes net", "Restarts", "Valid until", plan.digest[:8], "checks hold", PREPARED, "Then")
    buttons = ("Approve 2 moves", "Approve and start", "Reject", "I am looking", "Hand on")
    assert [said for said in (*facts, *buttons) if said not in page] == []
    assert "plotly" not in page and "tabler.min.css" not in page and "htmx" not in page
    assert page.count("<script") == 1 and plan.digest in page


def test_approve_and_start_by_phone_with_a_prepared_reason() -> None:
    rota("ada", "ben")
    plan = waiting()
    swept()
    client = signed_in(approver("ada"))
    for none in ({}, {"prepared": "Not now: it can wait for working hours."}):  # the second is one for rejecting
        assert "needs a reason" in answered(client, plan, "approve", **none).content.decode()
    done = answered(client, plan, "approve-and-start", prepared=PREPARED)
    assert done.status_code == 302 and done.headers["Location"] == reverse("oncall:decide", args=[plan.pk])
    plan.refresh_from_db()
    assert plan.state == "executing"
    assert Entry.objects.filter(action="plan.approved", actor="ada").latest("pk").reason == PREPARED
    page = read(client, plan)
    assert "Running" in page and "Approve" not in page.split("Abort for good")[-1]


def test_what_changed_meanwhile_is_said_plainly() -> None:
    rota("ada", "ben")
    one = scene(three_nodes())
    plan = waiting(one)
    swept()
    client = signed_in(approver("ada"))
    other = answered(client, plan, "approve", reason="my own words", **{"digest": "0" * 64})
    assert other.status_code == 409 and "my own words" in other.content.decode()  # what was typed is not lost
    one.happen(arrives("late", "n3", 3))
    refused = answered(client, plan, "approve", reason="yes")
    assert refused.status_code == 409
    page = squeezed(refused.content.decode())
    assert "Not done." in page and "It changed since it was proposed" in page and "Approve 2 moves" not in page
    swept(1)
    assert alert(plan).outcome.startswith("the plan is stale")


def test_the_proposer_and_those_who_may_not_are_told_why() -> None:
    rota("ada", "ben")
    plan = waiting(user=approver("ada"))
    swept()
    own = read(signed_in(approver("ada")), plan)
    assert "somebody else must approve it" in own and "I am looking" not in own and "Approve 2" not in own
    looks = read(signed_in(viewer()), plan)
    assert "may not approve plans" in looks and "<button" not in looks
    assert answered(signed_in(operator()), plan, "acknowledge").status_code == 403
    assert Client().get(reverse("oncall:decide", args=[plan.pk])).status_code == 302


def test_looking_and_handing_on_by_phone() -> None:
    rota("ada", "ben")
    plan = waiting()
    swept()
    client = signed_in(approver("ada"))
    assert answered(client, plan, "acknowledge").status_code == 302
    assert "ada is looking" in read(signed_in(viewer()), plan)
    assert answered(client, plan, "hand-on", reason="on a train").status_code == 302
    assert [name for _, name, _ in calls(plan)] == ["ada", "ben"]
    assert "ada hands it on: on a train" in read(client, plan)
    plans.reject_plan(approver("ben"), plan.pk, plan.digest, "no")
    swept(1)
    late = answered(client, plan, "acknowledge")
    assert late.status_code == 409 and "calls nobody any more" in late.content.decode()


def test_of_two_alerts_the_one_that_nobody_has_taken_is_answered() -> None:
    rota("ada", "ben", review_hours=1)
    plan = waiting()
    begun = swept()
    services.acknowledge(approver("ada"), alert(plan).pk)
    plans.break_glass(approver("ben"), plan.pk, "it burns")
    Override.objects.update(since=begun - timedelta(hours=2))
    swept(0.1, begun)
    assert {one.kind: one.acknowledged_by_id for one in Alert.objects.all()}["review"] is None
    assert answered(signed_in(approver("ada")), plan, "acknowledge").status_code == 302
    assert all(one.state == "acknowledged" for one in Alert.objects.all())
    late = answered(signed_in(approver("ben")), plan, "acknowledge")  # one is ada's, of the other he is the cause
    assert late.status_code == 409 and "ada is looking" in late.content.decode()


def test_two_approvers_by_phone() -> None:
    rota("ada", "ben")
    plan = waiting()
    Plan.objects.filter(pk=plan.pk).update(approvals_needed=2)
    answered(signed_in(approver("ada")), plan, "approve", reason="one")
    assert "1 of 2 approvals" in read(signed_in(approver("ben")), plan)
    answered(signed_in(approver("ben")), plan, "approve", reason="two")
    plan.refresh_from_db()
    assert plan.state == "approved"
    assert "Start 2 moves" in read(signed_in(approver("ben")), plan)


def test_a_plan_and_the_fleet_say_who_is_on_call() -> None:
    rota("ada", "ben")
    plan = waiting()
    swept()
    page = squeezed(signed_in(viewer()).get(reverse("plans:detail", args=[plan.pk])).content.decode())
    assert "ada until" in page and "then<bdi>ben at" in page and "Call 1: ada, who is on call: mail, delivered" in page
    part = signed_in(approver("ada")).get(reverse("plans:detail", args=[plan.pk]) + "?part=oncall").content.decode()
    assert part.lstrip().startswith("<section") and "I am looking" in part
    back = answered(signed_in(approver("ada")), plan, "acknowledge", back="plan")
    assert back.headers["Location"] == reverse("plans:detail", args=[plan.pk])
    Alert.objects.update(acknowledged_by=None)
    assert "on call:" in signed_in(viewer()).get("/").content.decode()
    assert f"Plan {plan.pk} calls you." in signed_in(approver("ada")).get(reverse("oncall:now")).content.decode()
    assert "calls you" not in signed_in(approver("ben")).get(reverse("oncall:now")).content.decode()


def test_addresses_are_said_to_whose_they_are_and_to_those_who_set_rotas() -> None:
    rota("ada", "ben")
    plan = waiting()
    swept()
    refused = {"state": "failed", "error": "550 <ada@example.org> no such user"}
    Message.objects.update(**refused)
    note(alert(plan), EventKind.FAILED, f"ada was not reached: {refused['error']}", user=approver("ada"))

    def told(user: Any) -> str:
        client = signed_in(user)
        row = client.get(reverse("api:alert", args=[alert(plan).pk])).content.decode()
        return row + read(client, plan) + client.get(reverse("plans:detail", args=[plan.pk])).content.decode()

    for reads in (viewer(), operator()):
        assert "ada@" not in told(reads) and told(reads).count("(address)") >= 6
    assert told(approver("ben")).count("ada@example.org") >= 6
    services.set_contact(approver("ada"), "mail", "ada@example.com")
    assert not Entry.objects.filter(target_id__contains="@").exists()


def test_a_rota_is_made_changed_and_ended_on_its_page() -> None:
    people("ada", "ben")
    client = signed_in(approver())
    said = {"scope": "fleet", "people": "ada, ben", "handover": "weekly", "weekday": 0, "at": "09:00",
            "zone": "Europe/Berlin", "next_minutes": 5, "singles": 2, "last_minutes": 5, "hold_minutes": 15,
            "review_hours": 12, "reason": "r",
            "quiet_from": "22:00", "quiet_until": "06:00", "urgent": ["halted"]}  # fmt: skip
    assert client.post(reverse("oncall:new"), {**said, "zone": "Mars"}).status_code == 400
    assert client.post(reverse("oncall:new"), {**said, "people": "ada, viewer"}).status_code == 400
    assert client.post(reverse("oncall:new"), said).status_code == 302
    assert client.post(reverse("oncall:new"), said).status_code == 409
    row = Rota.objects.get()
    page = reverse("oncall:rota", args=[row.pk])
    assert 'value="ada, ben"' in client.get(page).content.decode()
    changed = {**said, "people": "ben, ada", "version": 1}
    assert client.post(page, changed).status_code == 302
    assert client.post(page, changed).status_code == 409  # read before somebody changed it
    whole = squeezed(client.get(reverse("oncall:now")).content.decode())
    assert "On call:<bdi>ada until" in whole and "22:00–06:00 Europe/Berlin" in whole  # who was on call stays on call
    later = (timezone.now() + timedelta(hours=3)).strftime("%Y-%m-%dT%H:%M")
    assert client.post(reverse("oncall:take-over", args=[row.pk]), {"who": "ben", "ends_at": later}).status_code == 302
    assert "ben, who stands in until" in client.get(reverse("oncall:now")).content.decode()
    assert client.post(reverse("oncall:end-cover", args=[row.covers.get().pk])).status_code == 302
    assert "On call: <bdi>ada" in client.get(reverse("oncall:now")).content.decode()
    client.post(reverse("oncall:end-rota", args=[row.pk]))
    assert "There is no rota." in client.get(reverse("oncall:now")).content.decode()
    acts = list(Entry.objects.filter(target_kind="rota").order_by("pk").values_list("action", flat=True))
    assert acts == ["rota.set", "rota.changed", "rota.taken_over", "rota.given_back", "rota.ended"]


def test_the_rota_of_a_cluster_counts_before_that_of_the_fleet() -> None:
    rota("ada")
    one = scene(three_nodes())
    rota("ben", scope="cluster", cluster="default")
    plan = waiting(one)
    swept()
    assert calls(plan) == [(1, "ben", "sent")]


def test_a_webhook_is_sealed_and_its_secret_told_once(settings: Any) -> None:
    settings.WEBHOOK_HOSTS = frozenset({"hooks.example.org"})
    client = signed_in(approver("ada"))
    url = "https://hooks.example.org/services/T0/B0/very-secret-path"
    said = client.post(reverse("oncall:contact", args=["set"]), {"kind": "webhook", "address": url})
    assert said.status_code == 200 and "whsec_" in said.content.decode()
    again = client.get(reverse("oncall:now")).content.decode()
    assert "whsec_" not in again and "very-secret-path" not in again and "hooks.example.org" in again
    row = Contact.objects.get()
    assert row.shown == "hooks.example.org" and "secret" not in Credential.objects.get().sealed
    assert not Entry.objects.filter(detail__icontains="very-secret-path").exists()
    services.forget_contact(approver("ada"), "webhook")
    assert not Contact.objects.exists() and not Credential.objects.exists()
