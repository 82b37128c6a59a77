"""What may be asked of a campaign, and the doors to it."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from console.campaigns import services
from console.campaigns.models import Campaign
from console.rest.errors import FieldError
from tests.builders.people import operator
from tests.console.campaigns.scene import ASKED, DRIVER, NEW, OLD, looked, made, two_switches
from tests.console.plans.scene import scene

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"cluster": "moon"}, "cluster"),
        ({"wanted": {"label": DRIVER, "value": "1"}}, "value"),
        ({"wanted": {"label": DRIVER, "value": NEW}}, "value"),
        ({"selects": "nodes", "wanted": {"names": ["s1-a", "x"]}}, "names"),
        ({"selects": "domains", "wanted": {"names": ["s9"]}}, "names"),
        ({"selects": "model", "wanted": {}}, "model"),
        ({"most_out": None}, "most_out"),
        ({"most_out": 1, "most_per_group": 2}, "most_per_group"),
        ({"grouping": "rack"}, "grouping"),
        ({"protect": "rack"}, "protect"),
        ({"done_value": ""}, "done_value"),
        ({"at_once": 0}, "at_once"),
        ({"name": " "}, "name"),
        ({"reason": ""}, "reason"),
    ],
)
def test_what_cannot_be_asked_names_its_field(said: dict[str, Any], field: str) -> None:
    with pytest.raises(FieldError) as wrong:
        made(scene(two_switches()), **said)
    assert wrong.value.field == field and not Campaign.objects.exists()


def test_groups_by_what_is_asked_in_the_order_that_is_proposed() -> None:
    one = scene(two_switches().asw(None).node("u", labels={DRIVER: OLD}).pod("p9", "u", 1).node("sick", ready=False))
    usual = {**ASKED, "source_id": one.source.pk, "order": "emptiest"}

    def names(**said: Any) -> list[tuple[str, int]]:
        return [(g.name, len(g.rows)) for g in services.draft(operator(), {**usual, **said}).groups]

    assert names() == [("no ASW", 1), ("s2", 2), ("s1", 2)]
    assert names(order="name", most_per_group=1)[1:3] == [("s1, part 1 of 2", 1), ("s1, part 2 of 2", 1)]
    assert names(grouping="none", most_per_group=2, order="name")[0] == ("s1-a to s1-b", 2)
    assert {size for _, size in names(most_out=1)} == {1}  # cut to what may be out of service, as nobody says otherwise
    assert [size for _, size in names(grouping="none", most_out=4, at_once=2)] == [1, 2, 2]
    assert names(selects="domains", wanted={"names": ["s3"]}, done_label="", done_value="") == [("s3", 2)]
    plain = {"done_label": "", "done_value": "", "most_out": 9}
    assert names(selects="unfit", wanted={}, **plain) == [("no ASW", 1)]
    assert names(selects="model", wanted={"model": "H100-SXM5-80GB"}, grouping="zone", **plain) == [("no zone", 8)]
    found = services.draft(operator(), {**usual, "most_out": None, "most_out_per_cent": 30, "protect": "asw"})
    assert (found.limit, found.groups[0].domains) == (2, ("",))


def test_by_page_and_api_from_the_draft_to_the_end() -> None:
    one = scene(two_switches().node("<i>n</i>", labels={DRIVER: OLD}))
    client, api = Client(), APIClient()
    client.force_login(operator())
    api.force_authenticate(operator())
    assert "There is no campaign." in client.get(reverse("campaigns:list")).content.decode()
    new = reverse("campaigns:new")
    for kind in ("label", "model", "domains", "nodes", "unfit", "nonsense"):
        assert client.get(f"{new}?selects={kind}").status_code == 200
    said = {
        "selects": "nodes", "scope": f"{one.source.pk}|default", "names": "s1-a, s1-b\ns2-a", "grouping": "asw",
        "order": "name", "at_once": 1, "most_out": 3, "work_minutes": 30, "stop_after": 1, "most_asks": 2,
        "when_refused": "skip",
    }  # fmt: skip
    counted = client.post(reverse("campaigns:count"), said).content.decode()
    assert "<strong>3 nodes</strong> in <strong>2 groups</strong>" in counted
    assert "No such node: x" in client.post(reverse("campaigns:count"), {**said, "names": "x"}).content.decode()
    assert client.post(new, {**said, "name": "n", "reason": "r", "names": "x"}).status_code == 400
    assert client.post(new, {**said, "name": "n", "reason": "r", "scope": "²|default"}).status_code == 400
    assert client.post(new, {**said, "name": "<b>n</b>", "reason": "r"}).status_code == 302
    row = Campaign.objects.get()
    page = reverse("campaigns:detail", args=[row.pk])
    body = client.get(page).content.decode()
    assert "&lt;b&gt;n" in body and "Begin with 2 groups" in body and "not computed yet" in body
    client.post(f"{page}begin/")
    looked(one, row)
    body = client.get(page).content.decode()
    assert "Time line" in body and "known when 2 more groups are back" in body and "Plan is computed" in body
    at = f"/api/v1/campaigns/{row.pk}/"
    assert api.post(f"{at}groups/1/skip/", {"reason": "later"}, format="json").json()["state"] == "returning"
    assert api.post(f"{at}groups/9/skip/", {"reason": "later"}, format="json").status_code == 404
    assert api.post(f"{at}groups/2/done/", {}, format="json").status_code == 409
    looked(one, row, 2)
    found = api.get(at).json()
    assert (found["state"], found["groups"], found["forecast"], found["gpu_hours"]) == ("active", 2, None, 12.0)
    assert [group["state"] for group in api.get(f"{at}groups/").json()["results"]] == ["skipped", "planning"]
    assert [node["name"] for node in api.get(f"{at}nodes/").json()["results"]] == ["s1-a", "s1-b", "s2-a"]
    client.post(f"{page}end/", {"reason": "enough"})
    looked(one, row, 3)
    assert api.get(at).json()["state"] == "ended"
    assert "n</b>" not in client.get(reverse("campaigns:list")).content.decode()


def test_a_draft_by_api_stores_nothing_and_names_the_wrong_field() -> None:
    one = scene(two_switches().node("u", labels={DRIVER: OLD}))
    api = APIClient()
    api.force_authenticate(operator())
    asked = {
        "source": one.source.pk,
        "cluster": "default",
        "selects": "label",
        "wanted": ASKED["wanted"],
        "most_per_group": 1,
    }
    draft = api.post("/api/v1/campaigns/draft/", asked, format="json").json()
    assert (draft["nodes"], draft["gpus"], draft["limit"]) == (5, 40, 1)
    assert not Campaign.objects.exists()
    wrong = api.post("/api/v1/campaigns/", {**asked, "grouping": "rack"}, format="json")
    assert (wrong.status_code, wrong.json()["errors"][0]["attr"]) == (400, "grouping")
