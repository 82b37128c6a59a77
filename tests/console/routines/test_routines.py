"""Questions that are asked again and again: when they are due, never two at once, and what was missed is said."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.consolidation import services as desk
from console.inventory.models import Observation
from console.plans import services as plans
from console.plans.models import Plan
from console.rest.errors import Conflict, FieldError
from console.routines import selectors, services
from console.routines.models import Opening, Routine
from console.tenancy.services import Denied
from tests.builders.people import approver, operator, viewer
from tests.builders.worlds import World, world
from tests.console.plans.scene import Scene, requested, scene, two_nodes

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def made(one: Scene | None = None, goal: dict[str, Any] | None = None, owner: Any = None, **said: Any) -> Routine:
    """Of the operator unless somebody else is named; its first plan, whose question it asks, is over."""
    plan = requested((one or scene()).source, params={"depth": 2, **({"goal": goal} if goal else {})}, seed=7)
    plans.cancel_plan(operator(), plan.pk)
    given = {"name": "nightly", "kind": "schedule", "plan_id": plan.pk, "reason": "gangs in the morning", **said}
    given |= {} if given["kind"] != "schedule" or "cron" in said else {"cron": "0 2 * * *", "zone": "Europe/Berlin"}
    return services.make_routine(owner or operator(), **given)


def history(row: Routine) -> list[tuple[str, str]]:
    return [(f"{one.due_at:%d %H:%M}", one.outcome) for one in row.openings.order_by("due_at")]


def due(row: Routine, at: datetime) -> None:
    """As if its next start was this one."""
    Routine.objects.filter(pk=row.pk).update(next_at=at)


def test_a_start_opens_the_question_in_the_name_of_its_owner() -> None:
    row = made(goal={"kind": "drain", "nodes": ["n1"]})
    assert row.next_at is not None and row.next_at > timezone.now()
    assert services.open_due() == 0
    assert services.open_due(row.next_at) == 1
    plan = Plan.objects.latest("pk")
    assert (plan.proposer, plan.seed, plan.state) == (operator(), 7, "requested")
    assert plan.params["goal"] == {"kind": "drain", "nodes": ["n1"]} and plan.params["depth"] == 2
    assert "nightly" in plan.because and "gangs in the morning" in plan.because
    assert history(row) == [(f"{row.next_at:%d %H:%M}", "opened")]
    assert services.open_due(row.next_at) == 0


def test_its_owner_cannot_approve_its_plans() -> None:
    """Whoever may both ask and approve: a plan of a routine is the proposal of its owner."""
    owner = approver("both")
    row = made(owner=owner)
    assert row.next_at is not None and services.open_due(row.next_at) == 1
    plan = Plan.objects.latest("pk")
    Plan.objects.filter(pk=plan.pk).update(state="proposed", digest="d" * 64, expires_at=timezone.now() + HOUR)
    with pytest.raises(Denied, match="somebody else"):
        plans.approve_plan(owner, plan.pk, "d" * 64, "mine")


def test_never_two_plans_of_one_routine() -> None:
    row = made(cron="0 * * * *", zone="UTC")
    assert row.next_at is not None
    assert services.open_due(row.next_at) == 1
    assert services.open_due(row.next_at + HOUR) == 0
    last = Plan.objects.latest("pk")
    assert row.openings.first().words == f"plan {last.pk} is not over: requested"  # type: ignore[union-attr]
    plans.cancel_plan(operator(), last.pk)
    again = desk.request_again(operator("another"), last.pk)
    assert services.open_due(row.next_at + 2 * HOUR) == 0
    assert row.openings.first().words == f"plan {again.pk} is not over: requested"  # type: ignore[union-attr]
    plans.cancel_plan(operator("another"), again.pk)
    assert services.open_due(row.next_at + 3 * HOUR) == 1
    assert [outcome for _, outcome in history(row)] == ["opened", "held", "held", "opened"]


def test_what_was_missed_is_said_start_by_start() -> None:
    row = made(cron="0 * * * *", zone="UTC")
    assert row.next_at is not None
    first = row.next_at
    assert services.open_due(first + 2 * HOUR + timedelta(minutes=5)) == 1
    assert [outcome for _, outcome in history(row)] == ["missed", "missed", "opened"]
    row.refresh_from_db()
    assert row.next_at == first + 3 * HOUR
    assert services.open_due(first + 3 * HOUR + timedelta(minutes=11)) == 0
    assert [outcome for _, outcome in history(row)][-1] == "missed"


def test_days_to_skip_and_summer_time() -> None:
    row = made(cron="30 2 * * *", zone="Europe/Berlin")
    row.skip_days = ["2027-03-29"]
    ahead = selectors.starts_after(row, datetime(2027, 3, 26, 12, tzinfo=UTC))
    found = [next(ahead) for _ in range(4)]
    # 27 March 02:30 is 01:30 UTC; on the 28th 02:30 is left out and the start comes right after; the 29th is skipped.
    assert [f"{at:%d %H:%M}" for at in found] == ["27 01:30", "28 01:00", "30 00:30", "31 00:30"]
    services.skip_days_of(operator(), row.pk, [f"{timezone.now() + timedelta(days=day):%F}" for day in range(7)])
    row = selectors.routine_for(viewer(), row.pk)
    assert row.next_at is not None and row.next_at > timezone.now() + timedelta(days=5)
    assert any(run.skipped for run in selectors.next_runs(row))


def test_a_pause_opens_nothing_and_is_not_made_up_for() -> None:
    row = made(cron="0 * * * *", zone="UTC")
    with pytest.raises(FieldError):
        services.pause_routine(operator(), row.pk, " ")
    services.pause_routine(operator(), row.pk, "holidays")
    due(row, timezone.now() - timedelta(days=2))
    assert services.open_due() == 0
    services.resume_routine(operator(), row.pk)
    row.refresh_from_db()
    assert row.next_at is not None and row.next_at > timezone.now() and not history(row)
    with pytest.raises(Conflict):
        services.resume_routine(operator(), row.pk)
    services.end_routine(approver(), row.pk, "not needed")
    assert services.open_due(timezone.now() + timedelta(days=9)) == 0
    with pytest.raises(Conflict):
        services.end_routine(operator(), row.pk, "again")
    said = Entry.objects.filter(target_kind="routine").order_by("pk").values_list("action", flat=True)
    assert list(said) == ["routine.made", "routine.paused", "routine.resumed", "routine.ended"]


def test_an_owner_who_may_not_ask_any_more_opens_nothing_and_it_is_said() -> None:
    row = made()
    assert row.next_at is not None
    person = row.owner
    person.role = "viewer"
    person.save()
    assert services.open_due(row.next_at) == 0
    (opening,) = row.openings.all()
    assert (opening.outcome, opening.plan) == ("refused", None) and "may not" in opening.words
    assert not Plan.objects.filter(state="requested").exists()


def test_rights_and_fields() -> None:
    row = made()
    for user, error in ((viewer(), Denied), (operator("another"), Denied)):
        with pytest.raises(error):
            services.pause_routine(user, row.pk, "r")
    plan = Plan.objects.latest("pk")
    for field, said in (
        ("cron", {"cron": "x"}), ("cron", {"cron": "* * * * *"}), ("zone", {"cron": "0 2 * * *", "zone": "Mars"}),
        ("name", {"cron": "0 2 * * *", "name": " "}), ("skip_days", {"cron": "0 2 * * *", "skip_days": ["soon"]}),
        ("kind", {"kind": "x"}), ("least_nodes", {"kind": "low_use", "threshold": {"least_nodes": 0}}),
    ):  # fmt: skip
        given: dict[str, Any] = {"name": "n", "kind": "schedule", "plan_id": plan.pk, "reason": "r", **said}
        with pytest.raises(FieldError) as wrong:
            services.make_routine(operator(), **given)
        assert wrong.value.field == field


# --- triggers -------------------------------------------------------------------------------------------------------
def little(gpus: int = 2) -> World:
    return world().nodes("n1", "n2", "n3").pod("a", "n1", gpus).pod("b", "n2", gpus).pod("c", "n3", 6)


def seen_now() -> None:
    Observation.objects.update(observed_at=timezone.now())


def test_nodes_that_are_little_used_for_long_enough_open_one_plan_and_then_it_holds_off() -> None:
    one = scene(little())
    row = made(one, kind="low_use", threshold={"least_nodes": 2, "below_per_cent": 50, "minutes": 60})
    now = timezone.now()
    assert services.open_due(now) == 0
    row.refresh_from_db()
    assert list(row.waiting) == ["nodes"] and not history(row)
    assert services.open_due(now + timedelta(minutes=59)) == 0
    assert services.open_due(now + timedelta(minutes=61)) == 1
    (opening,) = row.openings.all()
    assert opening.words.startswith("2 nodes have less than 50 % of their GPUs in use, since")
    assert services.open_due(now + timedelta(minutes=200)) == 0  # holds off
    row.refresh_from_db()
    assert row.next_at == now + timedelta(minutes=61 + 240) and row.waiting == {}


def test_what_does_not_hold_in_between_begins_anew_and_what_is_not_known_changes_nothing() -> None:
    one = scene(little())
    row = made(one, kind="low_use", threshold={"least_nodes": 2, "minutes": 60})
    now = timezone.now()
    services.open_due(now)
    row.refresh_from_db()
    kept = row.waiting
    Observation.objects.update(observed_at=now - timedelta(hours=3))
    assert services.open_due(now + timedelta(minutes=90)) == 0
    row.refresh_from_db()
    assert row.waiting == kept
    seen_now()
    Routine.objects.filter(pk=row.pk).update(threshold={**row.threshold, "least_nodes": 3})
    assert services.open_due(now + timedelta(minutes=91)) == 0
    row.refresh_from_db()
    assert row.waiting == {}


@pytest.mark.parametrize(
    ("below", "count"), [(25, 0), (26, 2), (75, 2), (76, 3)], ids=["at the limit", "under it", "two", "three"]
)
def test_little_used_is_below_and_not_at(below: int, count: int) -> None:
    assert selectors.little_used(little().snapshot(), [], below) == count


def test_nodes_of_other_models_empty_ones_and_those_out_of_service_do_not_count() -> None:
    made_of = world().node("n1").node("n2", gpu_model="L4").node("n3", cordoned=True).node("n4").pod("a", "n1")
    snapshot = made_of.pod("b", "n2").pod("c", "n3").snapshot()
    assert selectors.little_used(snapshot, [], 50) == 2
    assert selectors.little_used(snapshot, ["L4"], 50) == 1
    assert selectors.little_used(snapshot, ["none"], 50) == 0


def test_a_gang_that_waits_for_its_topology_gets_a_plan_of_its_own() -> None:
    waits = two_nodes().gang("train", 2, topology={"required": "asw"}).gang("free", 1).pod("f", gang="free")
    one = scene(waits.pod("g1", gang="train").pod("g2", gang="train"))
    row = made(one, kind="gang_waits", threshold={"minutes": 30})
    now = timezone.now()
    services.open_due(now)
    row.refresh_from_db()
    assert list(row.waiting) == ["jobs/train"]
    assert services.open_due(now + timedelta(minutes=31)) == 1
    plan = Plan.objects.latest("pk")
    assert plan.params["goal"] == {"kind": "gang", "name": "jobs/train"} and plan.seed == 7
    assert "jobs/train waits for its topology" in plan.because


# --- doors ----------------------------------------------------------------------------------------------------------
def test_by_page_from_making_it_to_its_end() -> None:
    client = Client()
    client.force_login(operator())
    new = reverse("routines:new")
    assert "No plan was asked for yet." in client.get(new).content.decode()
    plan = requested(scene().source)
    assert f"Plan {plan.pk}" in client.get(f"{new}?plan={plan.pk}").content.decode()
    for kind in ("low_use", "gang_waits", "nonsense"):
        assert client.get(f"{new}?kind={kind}").status_code == 200
    said = {"name": "<i>n</i>", "kind": "schedule", "plan": plan.pk, "cron": "0 2 * * *", "zone": "UTC", "reason": "r"}
    assert "no time zone" in client.post(new, {**said, "zone": "Mars"}).content.decode()
    assert client.post(new, said).status_code == 302
    row = Routine.objects.get()
    page = reverse("routines:detail", args=[row.pk])
    body = client.get(page).content.decode()
    assert "&lt;i&gt;n" in body and "02:00 UTC" in body and "It was not due yet." in body
    client.post(f"{page}skip/", {"days": "2026-12-24, 2026-12-25"})
    client.post(f"{page}pause/", {"reason": "holidays"})
    assert "holidays" in client.get(page).content.decode()
    client.post(f"{page}resume/")
    due(row, timezone.now())
    services.open_due()
    assert "is not over" in client.get(page).content.decode() or "Plan opened" in client.get(page).content.decode()
    client.post(f"{page}end/", {"reason": "r"})
    assert "0 2 * * * on the clock of UTC" in client.get(reverse("routines:list")).content.decode()
    row.refresh_from_db()
    assert (row.state, row.skip_days) == ("ended", ["2026-12-24", "2026-12-25"])


def test_by_api_the_same() -> None:
    api = APIClient()
    api.force_authenticate(operator())
    plan = requested(scene().source)
    said = {"name": "n", "plan": plan.pk, "reason": "r", "cron": "0 2 * * *", "zone": "Asia/Tokyo"}
    wrong = api.post("/api/v1/routines/", {**said, "cron": "x"}, format="json")
    assert (wrong.status_code, wrong.json()["errors"][0]["attr"]) == (400, "cron")
    answer = api.post("/api/v1/routines/", said, format="json")
    assert answer.status_code == 201 and len(answer.json()["next_runs"]) == 5
    at = f"/api/v1/routines/{answer.json()['id']}/"
    assert api.put(f"{at}skip-days/", {"days": ["2026-12-24"]}, format="json").json()["skip_days"] == ["2026-12-24"]
    assert api.post(f"{at}pause/", {"reason": "r"}, format="json").json()["state"] == "paused"
    assert api.post(f"{at}pause/", {"reason": "r"}, format="json").status_code == 409
    assert api.post(f"{at}resume/").json()["state"] == "active"
    Opening.objects.create(routine_id=answer.json()["id"], due_at=timezone.now(), outcome="missed")
    assert api.get(f"{at}openings/").json()["results"][0]["outcome"] == "missed"
    assert api.post(f"{at}end/", {}, format="json").json()["state"] == "ended"
    assert api.get("/api/v1/routines/").json()["results"][0]["when"] == "0 2 * * * on the clock of Asia/Tokyo"
