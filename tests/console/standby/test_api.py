"""Standby over the API and as parts of pages."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from console.standby.models import Window
from tests.builders.people import operator, stranger, tenant
from tests.console.standby.scene import WHERE, Scene

pytestmark = pytest.mark.django_db


def _client(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def _send(client: Client, name: str, body: dict[str, Any], method: str = "post", **given: Any) -> Any:
    address = reverse(f"api:{name}", kwargs=given.pop("at", {}))
    return getattr(client, method)(address, body, content_type="application/json", **given)


def test_a_window_is_made_read_edited_and_ended(stage: Scene, floor: None) -> None:
    client, said = _client(tenant("team-a")), {"source": stage.source.pk, **WHERE}
    weekly = {"days": [0, 1, 2, 3, 4], "from_minute": 22 * 60, "until_minute": 6 * 60}
    expected = _send(client, "standby-preview", {**said, **weekly}).json()
    assert (expected["hours"], expected["rebate_cents"], len(expected["assumed"])) == (8.0, 2304, 1)
    made = _send(client, "standby-windows", {**said, **weekly})
    row = made.json()
    assert (made.status_code, made["ETag"], row["when"], row["state"]) == (201, '"1"', "Mon–Fri 22:00–06:00", "awake")
    at = {"window_id": row["id"]}
    edit = {**weekly, "until_minute": 7 * 60}
    answers = [
        _send(client, "standby-window", edit, "put", at=at, **headers).status_code for headers in ({}, _match(7))
    ]
    assert answers == [428, 412]
    assert _send(client, "standby-window", edit, "put", at=at, **_match(1)).json()["when"].endswith("22:00–07:00")
    other = _client(stranger())
    assert other.get(reverse("api:standby-window", kwargs=at)).status_code == 404
    assert _send(other, "standby-window-end", {"reason": ""}, at=at).status_code == 404
    ended = [_send(client, "standby-window-end", {"reason": "over"}, at=at).status_code for _ in range(2)]
    assert ended == [200, 409] and Window.objects.get().end_reason == "over"


def _match(version: int) -> dict[str, Any]:
    return {"headers": {"If-Match": f'"{version}"'}}


def test_a_recall_over_the_api(stage: Scene) -> None:
    stage.asleep()
    body = {"source": stage.source.pk, "cluster": "default", "pod": "jobs/s1", "reason": "now"}
    made = _send(_client(operator()), "standby-recalls", body)
    assert (made.status_code, made.json()["state"], made.json()["cause"]) == (201, "asked", "person")
    assert _send(_client(operator()), "standby-recalls", body).status_code == 409
    stage.turn()
    stage.turn(4)
    client = _client(tenant("team-a"))
    row = client.get(reverse("api:standby-recall", kwargs={"recall_id": made.json()["id"]})).json()
    assert (row["state"], row["took_s"], row["borrowers"]) == ("serving", 4.0, 0)
    listed = client.get(reverse("api:standby-recalls")).json()["results"]
    assert [one["id"] for one in listed] == [row["id"]]
    figures = client.get(reverse("api:standby-recall-figures")).json()
    assert (figures["whole"]["p95_s"], figures["whole"]["failed"]) == (4.0, 0)


def test_parts_and_pages_are_drawn(stage: Scene) -> None:
    row = stage.asleep()
    mine, theirs = _client(tenant("team-a")), _client(stranger())
    for name in ("windows", "pool", "recalls"):
        assert mine.get(reverse("standby:part", kwargs={"part": name})).status_code == 200
    shown = mine.get(reverse("standby:part", kwargs={"part": "windows"})).content.decode()
    assert "jobs/serve" in shown and "Recall now" in shown
    hidden = theirs.get(reverse("standby:part", kwargs={"part": "windows"})).content.decode()
    assert "jobs/serve" not in hidden and "team-a" not in hidden
    assert theirs.get(reverse("standby:part", kwargs={"part": "storms"})).status_code == 403
    edit = reverse("standby:edit", kwargs={"window_id": row.pk})
    assert mine.get(edit).status_code == 200 and theirs.get(edit).status_code == 404


def test_the_form_previews_before_it_makes(stage: Scene) -> None:
    client, address = _client(tenant("team-a")), f"{reverse('standby:new')}?kind=once"
    assert client.get(address).status_code == 200 and client.get(reverse("standby:new")).status_code == 200
    begins = stage.clock.now + timedelta(hours=1)
    said = {
        "kind": "once", "workload": f"{stage.source.pk}|default|jobs/serve", "begins_at": f"{begins:%Y-%m-%dT%H:%M}",
        "ends_at": f"{begins + timedelta(hours=2):%Y-%m-%dT%H:%M}", "reason": "quiet",
    }  # fmt: skip
    shown = client.post(address, {**said, "preview": "1"})
    assert "What one window brings" in shown.content.decode() and not Window.objects.exists()
    wrong = client.post(address, {**said, "ends_at": said["begins_at"]})
    assert wrong.status_code == 400 and "minutes or more" in wrong.content.decode()
    assert client.post(address, said).status_code == 302 and Window.objects.get().reason == "quiet"
