"""Asking an owner for a release: who may ask, who answers, what is kept, and how it ends."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.inventory import selectors, services
from console.inventory.models import LockRelease, OwnerLock
from console.inventory.services import releasing
from console.rest.errors import Conflict, FieldError
from console.tenancy.models import User
from console.tenancy.services import Denied
from scheduler.cluster.records import OwnerRecord, PodRecord
from tests.builders.fleets import file_source, read
from tests.builders.people import operator, stranger, tenant, viewer
from tests.builders.worlds import world

HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _fleet(db: None) -> None:
    made = world().nodes("n0", "n1", "n2")
    made.pod("a-0", "n0", locked=True, workload="a").pod("a-1", "n1", locked=True, workload="a")
    made.pod("b", "n2", 2, locked=True, workload="b", tenant="t2").pod("c", "n2", locked=True, tenant=None)
    read(file_source(made))


def lock(workload: str = "a") -> OwnerLock:
    return OwnerLock.objects.get(workload=workload, share="workload")


def ask(
    workload: str = "a", begins: timedelta = -HOUR, ends: timedelta = HOUR, why: str = "empty nodes"
) -> LockRelease:
    now = timezone.now()
    return services.ask_release(operator(), lock(workload), now + begins, now + ends, why)


def actions() -> list[str]:
    return list(Entry.objects.filter(target_kind="release").order_by("pk").values_list("action", flat=True))


def test_asked_answered_and_written_down() -> None:
    row = ask()
    assert [one.pk for one in selectors.releases_to_answer(tenant("t1"))] == [row.pk]
    row = services.answer_release(tenant("t1"), row.pk, True, "the night is fine")
    assert (row.shown_state, row.answered_by, row.answer) == ("release_on", tenant("t1"), "the night is fine")
    assert not selectors.releases_to_answer(tenant("t1"))
    assert actions() == ["release.asked", "release.granted"]
    entry = Entry.objects.get(action="release.granted")
    assert (entry.reason, entry.actor, entry.detail["workload"]) == ("the night is fine", "tenant_user", "jobs/a")
    (shown,) = [
        one for one in selectors.owner_lock_rows(viewer(), selectors.OwnerLockFilters()).rows if one.workload == "a"
    ]
    assert shown.release_state == "release_on"


def test_the_second_answer_is_told_what_the_first_one_said() -> None:
    row = ask()
    services.answer_release(tenant("t1"), row.pk, False, "a deadline")
    with pytest.raises(Conflict, match="refused"):
        services.answer_release(tenant("t1"), row.pk, True, "well")
    assert LockRelease.objects.get().state == "refused"


def test_one_question_at_a_time() -> None:
    row = ask()
    with pytest.raises(Conflict, match="asked already"):
        ask()
    services.withdraw_release(operator(), row.pk, "found another way")
    ask()
    assert actions() == ["release.asked", "release.withdrawn", "release.asked"]


def test_a_yes_can_be_taken_back_by_the_tenant_alone() -> None:
    row = ask()
    services.answer_release(tenant("t1"), row.pk, True, "ok")
    with pytest.raises(Conflict):
        services.withdraw_release(operator(), row.pk, "no")
    services.take_back_release(tenant("t1"), row.pk, "it crashed")
    assert LockRelease.objects.get().shown_state == "taken_back"
    assert not releasing.any_released(row.source)


def test_nobody_answered_in_time() -> None:
    row = ask()
    LockRelease.objects.update(ends_at=timezone.now() - timedelta(seconds=1))
    assert LockRelease.objects.get().shown_state == "expired"
    with pytest.raises(Conflict):
        services.answer_release(tenant("t1"), row.pk, True, "late")
    assert releasing.expire_releases() == 1 and releasing.expire_releases() == 0
    assert actions() == ["release.asked", "release.expired"]


@pytest.mark.parametrize(
    ("begins", "ends", "why", "field"),
    [(HOUR, HOUR, "w", "ends_at"), (-2 * HOUR, -HOUR, "w", "ends_at"), (HOUR, 400 * HOUR, "w", "ends_at"),
     (2000 * HOUR, 2001 * HOUR, "w", "begins_at"), (HOUR, 2 * HOUR, " ", "why")],
)  # fmt: skip
def test_windows_that_make_no_sense(begins: timedelta, ends: timedelta, why: str, field: str) -> None:
    with pytest.raises(FieldError) as wrong:
        ask(begins=begins, ends=ends, why=why)
    assert wrong.value.field == field


def test_nobody_is_asked_for_pods_of_no_tenant_or_for_several_workloads() -> None:
    with pytest.raises(Conflict, match="no tenant"):
        services.ask_release(operator(), OwnerLock.objects.get(tenant="", share="workload"), *window(), "w")
    with pytest.raises(Conflict, match="several"):
        services.ask_release(operator(), OwnerLock.objects.get(share="mixed"), *window(), "w")
    OwnerLock.objects.filter(workload="a").update(ended_at=timezone.now())
    with pytest.raises(Conflict, match="not locked"):
        ask()


def window() -> tuple[datetime, datetime]:
    return timezone.now(), timezone.now() + HOUR


def test_rights() -> None:
    row = ask()
    for user in (viewer(), tenant("t1")):
        with pytest.raises(Denied):
            services.ask_release(user, lock("b"), *window(), "w")
    for user in (operator(), viewer()):
        with pytest.raises(Denied):
            services.answer_release(user, row.pk, True, "w")
    for user in (stranger(), User.objects.create(username="other", role="tenant_admin")):
        with pytest.raises(selectors.NotThereError):
            services.answer_release(user, row.pk, True, "w")
        assert not selectors.releases(user) and not selectors.releases_to_answer(user)


def test_only_pods_of_that_workload_count_as_unlocked_and_only_within_the_window() -> None:
    row = ask()
    now = timezone.now()
    snapshot = services.newest(row.source)[1]  # type: ignore[index]
    assert services.released(row.source, snapshot) is snapshot  # nobody has answered
    services.answer_release(tenant("t1"), row.pk, True, "ok")
    free = services.released(row.source, snapshot)
    names = {
        snapshot.pod_name[p] for p in range(len(snapshot.pod_name)) if snapshot.pod_locked[p] != free.pod_locked[p]
    }
    assert names == {"a-0", "a-1"} and free.digest == snapshot.digest and not free.pod_locked.flags.writeable
    for at in (row.begins_at - HOUR, row.ends_at):
        assert releasing.released(row.source, snapshot, at) is snapshot
    mine = PodRecord(name="a-0", gpus=1, namespace="jobs", tenant="t1", workload="a", locked=True)
    assert services.is_released(row.source, mine, now)
    for other in ({"tenant": "t2"}, {"namespace": "x"}, {"workload": "b"}, {"cluster": "c"}):
        fields = {"name": "a-0", "gpus": 1, "namespace": "jobs", "tenant": "t1", "workload": "a", **other}
        assert not services.is_released(row.source, PodRecord(**fields), now)  # type: ignore[arg-type]
    made_by = OwnerRecord(kind="Job", name="a")
    assert not services.is_released(
        row.source, PodRecord(name="a", gpus=1, namespace="jobs", tenant="t1", owner=made_by)
    )


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_by_page_from_question_to_answer() -> None:
    asker, mine = client_of(operator()), client_of(tenant("t1"))
    page = reverse("inventory:owner-lock", args=[lock().pk])
    assert 'id="ask"' in asker.get(page).content.decode() and 'id="ask"' not in mine.get(page).content.decode()
    said = {"begins_at": "2020-01-01T10:00", "ends_at": "2020-01-01T11:00", "why": "empty nodes"}
    assert asker.post(f"{page}ask", said).status_code == 400
    begins, ends = (f"{timezone.now() + hours:%Y-%m-%dT%H:%M}" for hours in (-HOUR, 2 * HOUR))
    said = {"begins_at": begins, "ends_at": ends, "why": "<b>nodes</b>"}
    assert asker.post(f"{page}ask", said).status_code == 302
    assert asker.post(f"{page}ask", said).status_code == 409
    shown = asker.get(page).content.decode()
    assert "Asked already:" in shown and f'action="{page}ask"' not in shown
    body = mine.get(reverse("inventory:owner-locks")).content.decode()
    assert "Needs your answer" in body and "&lt;b&gt;nodes" in body
    assert "Needs your answer" not in client_of(stranger()).get(reverse("inventory:owner-locks")).content.decode()
    answer = reverse("inventory:release-answer", args=[LockRelease.objects.get().pk])
    mine.post(answer, {"yes": "yes", "reason": ""})
    assert LockRelease.objects.get().state == "asked"
    mine.post(answer, {"yes": "no", "reason": "a deadline"})
    assert LockRelease.objects.get().state == "refused"
    shown = asker.get(page).content.decode()
    assert "a deadline" in shown and f'action="{page}ask"' in shown


def test_by_api_from_question_to_take_back() -> None:
    asker, mine = APIClient(), APIClient()
    asker.force_authenticate(operator())
    mine.force_authenticate(tenant("t1"))
    begins, ends = window()
    said: dict[str, Any] = {"begins_at": begins.isoformat(), "ends_at": ends.isoformat(), "why": "w"}
    made = asker.post(f"/api/v1/fleet/owner-locks/{lock().pk}/ask/", said, format="json")
    assert (made.status_code, made.json()["state"]) == (201, "asked")
    assert asker.post(f"/api/v1/fleet/owner-locks/{lock().pk}/ask/", said, format="json").status_code == 409
    assert asker.post(f"/api/v1/fleet/owner-locks/{lock().pk}/ask/", {**said, "why": " "}).status_code == 400
    at = f"/api/v1/fleet/releases/{made.json()['id']}"
    said = {"yes": True, "reason": "ok"}
    assert mine.post(f"{at}/answer/", said, format="json").json()["state"] == "release_on"
    assert mine.post(f"{at}/answer/", said, format="json").status_code == 409
    assert mine.post(f"{at}/take-back/", {"reason": "crash"}, format="json").json()["state"] == "taken_back"
    (row,) = mine.get("/api/v1/fleet/releases/").json()["results"]
    assert (row["answered_by"], row["answer"], row["asked_by"]) == ("tenant_user", "crash", "operator")
    outsider = APIClient()
    outsider.force_authenticate(stranger())
    assert outsider.get("/api/v1/fleet/releases/").json()["results"] == []
    assert outsider.post(f"{at}/answer/", said, format="json").status_code == 404
