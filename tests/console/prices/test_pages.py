"""Pages and the API of prices: what each role reads, what is refused and how."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from console.prices import selectors, services
from console.prices.models import Price, Proposal, Terms
from console.tenancy.services import Denied
from tests.builders.people import approver, operator, tenant, viewer
from tests.console.prices.scene import A100, H100, LONG_AGO, approved, computed, price, proposed

pytestmark = pytest.mark.django_db


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def api(user: Any) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


def text(answer: Any) -> str:
    return str(answer.content.decode())


def test_a_tenant_reads_prices_and_what_comes_and_nothing_of_others() -> None:
    price(why="queue up 50 %")
    row = approved((H100, 206))
    page = text(signed_in(tenant()).get("/prices/"))
    for words in ("2.00", "queue up 50 %", "Spot prices change on", "70.9 %", "6.88"):
        assert words in page
    for hidden in ("team-secret", "Proposals", "Review all now", f"/prices/proposals/{row.pk}/"):
        assert hidden not in page
    answer = api(tenant()).get(f"/api/v1/prices/models/{H100}/").json()
    assert (answer["cents"], answer["coming"]["cents"], answer["usd_per_gpu_hour"]) == (200, 206, 2.0)
    assert "team-secret" not in str(answer)
    with pytest.raises(Denied):
        selectors.proposals(tenant())


def test_a_missing_price_is_no_quote_with_its_reason() -> None:
    price("XPU-Z", None, why="Nobody says what a GPU-hour of this model costs on demand.")
    page = text(signed_in(viewer()).get("/prices/"))
    assert "no quote" in page
    assert "Nobody says what" in page
    found = api(viewer()).get("/api/v1/prices/").json()["results"][0]
    assert (found["cents"], found["usd_per_gpu_hour"], found["on_demand_cents"]) == (None, None, None)
    assert selectors.quote_of("never seen").why.startswith("No on-demand price of never seen")
    csv = b"".join(signed_in(viewer()).get("/prices/quotes.csv").streaming_content).decode()  # type: ignore[attr-defined]
    assert csv.splitlines()[1].startswith("XPU-Z,,,")
    assert api(viewer()).get("/api/v1/prices/models/unheard/").status_code == 404


def test_the_history_has_every_change_with_its_reason_and_its_chart_the_same() -> None:
    for day in range(20):
        price(cents=200 + day, since=LONG_AGO + timedelta(days=day), was_cents=199 + day, why=f"reason {day}")
    price(A100, 100)
    card = selectors.price_card(tenant(), H100, 90, LONG_AGO + timedelta(days=30))
    assert [one.cents for one in card.changes] == list(range(200, 220))
    page = text(signed_in(tenant()).get(f"/prices/?model={H100}&days=365"))
    assert "reason 19" in page
    assert "reason 2<" not in page  # on the second page
    assert "reason 2<" in text(signed_in(tenant()).get(f"/prices/?model={H100}&days=365&changes=2"))
    rows = api(tenant()).get(f"/api/v1/prices/history/?gpu_model={H100}&limit=5").json()
    assert len(rows["results"]) == 5
    assert rows["next"]
    csv = b"".join(signed_in(tenant()).get(f"/prices/history.csv?model={H100}").streaming_content).decode()  # type: ignore[attr-defined]
    assert len(csv.splitlines()) == 21


def test_an_operator_edits_and_sends_and_an_approver_says_yes_on_the_pages() -> None:
    price()
    draft = computed((H100, 206))
    at = f"/prices/proposals/{draft.pk}/"
    mine, theirs = signed_in(operator()), signed_in(approver())
    assert "Send 1 price for approval" in text(mine.get(at))
    refused = mine.post(f"{at}edit/", {"price_0": "9.99", "version": draft.version})
    assert (refused.status_code, "between 190 and 210" in text(refused)) == (400, True)
    assert mine.post(f"{at}edit/", {"price_0": "2.05", "version": draft.version}).status_code == 302
    computed((H100, None), row=Proposal.objects.get(pk=draft.pk))
    version = Proposal.objects.get(pk=draft.pk).version
    assert mine.post(f"{at}send/", {"reason": "r", "version": version - 1}).status_code == 412
    assert mine.post(f"{at}send/", {"reason": "r", "version": version}).status_code == 302
    digest = Proposal.objects.get(pk=draft.pk).digest
    assert "Approve 1 price" not in text(mine.get(at))
    page = text(theirs.get(at))
    assert "Approve 1 price" in page
    assert "team-secret" in page
    assert f"Prices of {H100}" in text(theirs.get("/plans/"))
    assert theirs.post(f"{at}approve/", {"digest": "0" * 64, "reason": "r"}).status_code == 409
    assert theirs.post(f"{at}approve/", {"digest": digest, "reason": "r"}).status_code == 302
    lost = signed_in(approver("second")).post(f"{at}reject/", {"digest": digest, "reason": "late"})
    assert (lost.status_code, "is announced already" in text(lost) or "is announced" in text(lost)) == (409, True)
    assert theirs.get(at, headers={"HX-Request": "true"}).status_code == 200


def test_the_api_asks_for_versions_and_digests() -> None:
    price()
    client, other = api(operator()), api(approver())
    opened = client.post(
        "/api/v1/prices/proposals/", {"gpu_models": [H100]}, format="json", headers={"Idempotency-Key": "k"}
    )
    again = client.post(
        "/api/v1/prices/proposals/", {"gpu_models": [H100]}, format="json", headers={"Idempotency-Key": "k"}
    )
    assert (opened.status_code, again.json()["id"]) == (202, opened.json()["id"])
    draft = computed((H100, 206), row=Proposal.objects.get())
    at = f"/api/v1/prices/proposals/{draft.pk}/"
    tag = client.get(at).headers["ETag"]
    body = {"prices": [{"gpu_model": H100, "cents": 205}]}
    assert client.patch(at, body, format="json").status_code == 428
    assert client.patch(at, body, format="json", headers={"If-Match": '"999"'}).status_code == 412
    assert client.patch(at, body, format="json", headers={"If-Match": tag}).status_code == 202
    draft = computed((H100, None), row=Proposal.objects.get())
    sent = client.post(f"{at}send/", {"reason": "r"}, format="json", headers={"If-Match": f'"{draft.version}"'})
    assert sent.json()["state"] == "proposed"
    assert client.post(f"{at}approve/", {"reason": "r"}, format="json").status_code == 403
    assert other.post(f"{at}approve/", {"reason": "r"}, format="json").status_code == 428
    yes = other.post(f"{at}approve/", {"reason": "r"}, format="json", headers={"If-Match": sent.headers["ETag"]})
    assert (yes.status_code, yes.json()["state"], yes.json()["approver"]) == (200, "approved", "approver")
    shown = other.get(f"{at}document/").json()
    assert shown["lines"][0]["cents"] == 205
    assert yes.json()["preview"]["models"][0]["then"]["tenants_out"] == ["team-secret"]
    assert len(client.get("/api/v1/prices/proposals/?state=approved").json()["results"]) == 1


def test_bounds_are_decided_on_top_of_a_version_and_bind_at_once() -> None:
    price()
    url = "/api/v1/prices/bounds/"
    said = {"gpu_model": H100, "on_demand_cents": 300, "floor_cents": 50, "change_percent": 10, "reason": "contract"}
    client = api(approver())
    tag = client.get(f"{url}?gpu_model={H100}").headers["ETag"]
    assert client.put(url, said, format="json", headers={"If-Match": tag}).status_code == 200
    assert client.put(url, said, format="json", headers={"If-Match": tag}).status_code == 412
    bounds = selectors.bounds_of([H100])[H100]
    assert (bounds.on_demand_cents, bounds.floor_cents, bounds.change_percent, bounds.version) == (300, 50, 10, 1)
    assert bounds.origins["review_hours"] == "built in"
    for wrong in ({"floor_cents": 400}, {"change_percent": 0}, {"gpu_model": "", "floor_cents": 5}, {"reason": " "}):
        answer = client.put(url, said | wrong, format="json", headers={"If-Match": '"1"'})
        assert answer.status_code == 400, answer.content
    services.set_terms(approver(), "", {"change_percent": 2, "notice_hours": 0}, reason="calm", version=0)
    assert selectors.bounds_of([A100])[A100].change_percent == 2
    assert selectors.bounds_of([H100])[H100].change_percent == 10
    assert Terms.objects.filter(newest=True).count() == 2
    assert "calm" in text(signed_in(viewer()).get("/prices/bounds/"))


def test_the_list_costs_the_same_however_many_models(django_assert_max_num_queries: Any) -> None:
    price()
    for at in range(30):
        Price.objects.create(gpu_model=f"M{at}", cents=5, since=timezone.now() - timedelta(hours=at + 1), why="w")
    with django_assert_max_num_queries(14):
        selectors.quotes()
    proposed()
    client = signed_in(operator())
    client.get("/prices/")
    with django_assert_max_num_queries(45):
        client.get("/prices/")
