"""A department's admin edits inside its reach, and no answer depends on what others have or are called."""

import re
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from console.tenancy import selectors, services
from console.tenancy.choices import Role
from console.tenancy.entries import Given
from console.tenancy.models import Edition
from console.tenancy.services import UsageRow, record_usage
from tests.builders.books import cohort_entry, edited, tenant_entry
from tests.builders.people import operator, person

pytestmark = pytest.mark.django_db
WORLDS = ({"secret": "secret", "figure": 7531}, {"secret": "enigma", "figure": 12})
EDITS: tuple[dict[str, Any], ...] = (
    {"name": "secret", "removed": True},
    {"name": "secret", "cohort": "secret-pool", "quotas": {"H20": {"nominal": 7531}}},  # guessed right, in one world
    {"name": "secret-pods", "weight": 5},
    {"kind": "price", "name": "H20-secret", "hp_cents": 7531},
    {"kind": "class", "name": "secret-class", "removed": True},
    {"kind": "cohort", "name": "secret-pool", "quotas": {}},
    {"name": "team", "parent": "secret"},
    {"name": "team", "parent": "mine", "cohort": "secret-pool"},
    {"name": "mine", "parent": "secret-above", "quotas": {"H20": {"nominal": 8}}},
    {"name": "mine", "quotas": {"H20": {"nominal": 8}}},  # as it is shown
    {"name": "named", "removed": True},  # a class says its name
    {"name": "team", "parent": "mine", "quotas": {"H20": {"nominal": 3}}, "reason": ""},
    {"name": "team", "parent": "mine", "quotas": {"H20": {"nominal": 9}}},
)
TAGS = ("0", "3", "", "99")


def _world(secret: str, figure: int) -> Any:
    """The department ``mine`` with two teams, beside others that have the same shape in every world."""
    edited(
        cohort_entry(f"{secret}-pool"), tenant_entry(f"{secret}-above", H20=100),
        tenant_entry("mine", f"{secret}-above", H20=8), tenant_entry("team", "mine", H20=1),
        tenant_entry("named", "mine"), Given("price", f"H20-{secret}", {"hp_cents": figure}),
        tenant_entry(secret, cohort=f"{secret}-pool", H20=figure),
        Given("class", f"{secret}-class", {"value": figure, "tenants": ["named"]}),
    )  # fmt: skip
    edited(tenant_entry("team", f"{secret}-above", H20=5), tenant_entry(secret, weight=figure))
    edited(tenant_entry("team", "mine", H20=2, weight=1), tenant_entry(f"{secret}-other", weight=figure))
    record_usage(1, "c1", [UsageRow("c1", f"{secret}-pods", "H20", figure, 0, 0)], timezone.now(), stood=None)
    return person(Role.TENANT_ADMIN, "lead", ("mine",))


def _answers(world: dict[str, Any]) -> dict[Any, Any]:
    """Status and text of every address that edits, and of those that read; nothing of it is kept."""
    with transaction.atomic():
        lead, found = _world(**world), {}
        api, pages = APIClient(), Client()
        api.force_authenticate(lead)
        pages.force_login(lead)
        quotas = reverse("api:quotas")
        for at, edit in enumerate(EDITS):
            sent = {"reason": edit.get("reason", "r"), "entries": [{k: v for k, v in edit.items() if k != "reason"}]}
            for tag in TAGS if at < 5 else TAGS[:2]:
                with transaction.atomic():
                    found[at, tag] = api.put(quotas, sent, format="json", headers={"If-Match": tag} if tag else {})
                    transaction.set_rollback(True)
            if at % 3 == 0:
                found["preview", at] = api.post(f"{quotas}preview/", sent, format="json", headers={"If-Match": "0"})
        old: dict[str, Any] = {"format": "json", "headers": {"If-Match": "0"}}
        table = {"reason": "r", "table": "line,name\ntenant,secret\n"}
        found["table"] = api.put(quotas, table, **old)
        found["whole"] = api.put(quotas, {**table, "table": "line,name\n", "whole": True}, **old)
        found["one"] = api.put(reverse("api:tenant", args=["secret"]), {"reason": "r", "weight": 5}, **old)
        found["form"] = pages.post("/tenants/secret/edit/", {"version": 0, "do": "set", "reason": "r", "weight": 5})
        found["page"] = pages.get("/tenants/secret/edit/")
        found["new"] = pages.get("/tenants/secret/edit/?parent=mine")
        found["read"] = api.get(reverse("api:tenant", args=["secret"]))
        for name in ("quotas", "quotas-versions", "tenants", "chargeback"):
            found["read", name] = api.get(reverse(f"api:{name}"))
        found["back"] = api.post(reverse("api:quotas-put-back", args=[1]), {"reason": "r"}, **old)
        transaction.set_rollback(True)
    return {case: (answer.status_code, _plain(answer.content.decode())) for case, answer in found.items()}


def _plain(text: str) -> str:
    """Without what differs from one answer to the next: instants, tokens of forms."""
    text = re.sub(r'"(gap_s|covered_s)":[0-9.]*', "", text)
    text = re.sub(r'name="sl-now" content="\d*"', "", text)
    text = re.sub(r'"(at|begins_at|ends_at|counted_until|observed_at)":"[^"]*"', "", text)
    return re.sub(r'(csrfmiddlewaretoken" value=|X-CSRFToken[^:]*: *)"[^"]*"', "", text)


def test_no_answer_to_an_admin_depends_on_what_others_have_or_are_called() -> None:
    first, second = (_answers(world) for world in WORLDS)
    assert {case for case in first if first[case] != second[case]} == set()
    codes = [{status for case, (status, _) in first.items() if case[0] == at} for at in range(len(EDITS))]
    assert codes == [{403}] * 7 + [{400, 412}, {403}, {400}, {400, 412}, {400, 412}, {400, 412}]


@pytest.mark.parametrize("taken", ["secret", "secret-pods", "secret-class", "gone"])
def test_a_new_team_has_a_new_name_or_its_pods_would_be_shown(taken: str) -> None:
    lead = _world(**WORLDS[0])
    edited(tenant_entry("gone", "mine"))
    edited(Given("tenant", "gone", removed=True))
    if taken == "secret-class":  # a class, and no tenant
        edited(tenant_entry(taken, "mine"), tenant_entry("below", taken), user=lead)
        assert {taken, "below"} <= selectors.tenant_scope(lead)
        return
    with pytest.raises(services.Denied, match="a name that no tenant has"):
        edited(tenant_entry(taken, "mine"), user=lead)
    assert taken not in selectors.tenant_scope(lead)


def test_a_version_that_does_not_exist_is_refused_and_says_so() -> None:
    edited(tenant_entry("d1"))
    with pytest.raises(services.VersionChangedError, match="no such version: the book is at version 1") as refused:
        edited(tenant_entry("d1", H20=1), version=7)
    assert (refused.value.version, refused.value.changes, Edition.objects.count()) == (1, (), 1)
    with pytest.raises(services.VersionChangedError):
        services.put_back(operator(), 1, 2, reason="x")


def test_what_is_read_can_be_sent_back_as_it_is_and_with_a_change() -> None:
    lead = _world(**WORLDS[0])
    address = reverse("api:quotas")
    for user in (operator(), lead):
        client = APIClient()
        client.force_authenticate(user)
        read = client.get(address)
        sent, tag = {"entries": read.json()["entries"], "reason": "r"}, {"If-Match": read.headers["ETag"]}
        same = client.post(f"{address}preview/", sent, format="json", headers=tag)
        assert (same.status_code, same.json().get("changes")) == (200, []), same.content
        next(one for one in sent["entries"] if one["name"] == "team")["weight"] = 7
        kept = client.post(f"{address}preview/", sent, format="json", headers=tag)
        assert [one["field"] for one in kept.json()["changes"]] == ["weight"]
