"""Pages, files and API of tenants: editing on top of what was read, and nothing of others anywhere."""

import csv
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from console.tenancy import services
from console.tenancy.choices import Role
from console.tenancy.entries import Given
from console.tenancy.models import Edition
from console.tenancy.selectors import book_now
from console.tenancy.services import UsageRow
from console.tenancy.twin import HEAD
from tests.builders.books import cohort_entry, edited, tenant_entry
from tests.builders.people import operator, person, tenant, viewer

pytestmark = pytest.mark.django_db
EDIT = "/tenants/d1/edit/"


def _client(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def _api(user: Any) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


def _used(*rows: UsageRow, hours: int = 1) -> None:
    """These hold since so many hours ago."""
    now = timezone.now()
    services.record_usage(1, "demo", rows, now - timedelta(hours=hours), stood=None)
    services.record_usage(1, "demo", rows, now, stood=(now - timedelta(hours=hours), now))


def _fleet() -> None:
    edited(
        cohort_entry("pool"),
        tenant_entry("d1", cohort="pool", H20=8, budgets={"month": {"gpu_hours": 1}}),
        tenant_entry("d2", cohort="pool", H20=4),
        Given("price", "H20", {"hp_cents": 200}),
    )
    _used(UsageRow("c1", "d1", "H20", 6000, 1000, 500), UsageRow("c1", "d2", "H20", 5000, 0, 0))


def test_the_form_says_who_would_be_over_before_anything_is_kept() -> None:
    _fleet()
    client = _client(operator())
    assert 'name="quotas.H20.nominal" value="8"' in client.get(EDIT).content.decode()
    said = {"version": 1, "cohort": "pool", "quotas.H20.nominal": "3", "reason": "less", "do": "preview"}
    part = client.post(EDIT, said, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "would be over" in part and "holds 6 GPUs" not in part  # the cohort, not the borrower, is over
    assert Edition.objects.count() == 1
    wrong = client.post(EDIT, {**said, "quotas.H20.nominal": "few", "do": "set"})
    assert (wrong.status_code, 'id="f-quotas-H20-nominal-error"' in wrong.content.decode()) == (400, True)
    assert client.post(EDIT, {**said, "do": "set"}).status_code == 302
    assert book_now().docs["tenant", "d1"]["quotas"]["H20"]["nominal"] == 3
    old = client.post(EDIT, {**said, "do": "set", "quotas.H20.nominal": "2"})
    assert old.status_code == 412
    assert "Somebody changed tenant d1 meanwhile" in old.content.decode()
    assert client.post(EDIT, {"version": 2, "do": "remove", "reason": "gone"}).status_code == 302
    assert ("tenant", "d1") not in book_now().docs


def test_an_admin_divides_by_the_form_and_reads_what_is_for_operators() -> None:
    _fleet()
    edited(tenant_entry("t", "d1", H20=2, min_runtime_s=60))
    client = _client(person(Role.TENANT_ADMIN, tenants=("d1",)))
    form = client.get("/tenants/t/edit/").content.decode()
    assert form.count("(operators set it)") == form.count(" readonly") == 3
    said = {"version": 2, "parent": "d1", "min_runtime_s": "60", "quotas.H20.nominal": "8", "reason": "r", "do": "set"}
    assert client.post("/tenants/t/edit/", {**said, "quotas.H20.nominal": "9"}).status_code == 400
    assert client.post("/tenants/t/edit/", said).status_code == 302
    assert client.post("/tenants/d1/edit/", {"version": 3, "do": "set", "reason": "r"}).status_code == 403


def test_the_api_edits_on_top_of_a_version_and_names_row_and_field() -> None:
    _fleet()
    client, address = _api(operator()), reverse("api:tenant", args=["d2"])
    tag = client.get(address).headers["ETag"]
    body = {"reason": "r", "cohort": "pool", "quotas": {"H20": {"nominal": 6}}}
    assert client.put(address, body, format="json").status_code == 428
    kept = client.put(address, body, format="json", headers={"If-Match": tag})
    assert (kept.status_code, kept.headers["ETag"], kept.json()["version"]) == (200, '"2"', 2)
    old = client.put(address, {**body, "weight": 1}, format="json", headers={"If-Match": tag})
    assert (old.status_code, old.json()["changes"][0]["now"]) == (412, 6)
    entries = [{"name": "d1"}, {"name": "d3", "parent": "nobody", "quotas": {"H20": {"nominal": -1}}}]
    wrong = _api(operator()).put(
        reverse("api:quotas"), {"reason": "r", "entries": entries}, format="json", headers={"If-Match": "2"}
    )
    assert wrong.status_code == 400
    assert wrong.json()["errors"][0]["attr"] == "entry 2 (d3): quotas.H20.nominal"
    table = "line,name,parent,gpu_model,nominal\ntenant,d1\ntenant,t,d1\nquota,t,,H20,x\n"
    wrong = client.put(reverse("api:quotas"), {"table": table}, format="json", headers={"If-Match": "2"})
    assert [error["attr"] for error in wrong.json()["errors"]] == ["line 4: quotas.H20.nominal"]
    assert Edition.objects.count() == 2


def test_the_api_previews_keeps_a_table_and_puts_back() -> None:
    _fleet()
    client = _api(operator())
    tag = {"If-Match": "1"}
    body = {"entries": [{"name": "d2", "cohort": "pool"}, {"kind": "tenant", "name": "d1", "removed": True}]}
    seen = client.post(reverse("api:quotas-preview"), body, format="json", headers=tag).json()
    assert {(row["name"], row["nominal_was"], row["nominal"]) for row in seen["consequences"]} >= {("d2", 4000, None)}
    table = _client(operator()).get(reverse("tenancy:book-csv"))
    text = b"".join(table).decode().replace("d2,,pool", "d2,,")
    kept = client.put(reverse("api:quotas"), {"table": text, "whole": True, "reason": "f"}, format="json", headers=tag)
    assert (kept.status_code, kept.json()["kind"], kept.json()["changes"][0]["field"]) == (200, "file", "cohort")
    back = client.post(
        reverse("api:quotas-put-back", args=[1]), {"reason": "b"}, format="json", headers={"If-Match": "2"}
    )
    assert (back.status_code, back.json()["back_to"]) == (200, 1)
    versions = client.get(reverse("api:quotas-versions")).json()["results"]
    assert [row["version"] for row in versions] == [3, 2, 1]


def test_a_file_is_previewed_kept_and_put_back_on_its_page() -> None:
    _fleet()
    client = _client(operator())
    said = {"version": 1, "reason": "file", "do": "preview"}
    file = SimpleUploadedFile("book.csv", f"{','.join(HEAD)}\ntenant,,d9\n".encode())
    shown = client.post("/quotas/", {**said, "file": file}).content.decode()
    assert "<b>added</b>" in shown and "tenant,,d9" in shown  # in the text field, for keeping
    for text, words in (("{", "is no JSON"), ("", "Choose a file"), ("line,name\nteam,x", "must be one of")):
        answer = client.post("/quotas/", {**said, "text": text, "do": "set"})
        assert (answer.status_code, words in answer.content.decode()) == (400, True)
    assert client.post("/quotas/", {**said, "text": '[{"name": "d9"}]', "do": "set"}).status_code == 302
    assert "would change" in client.get("/quotas/versions/1/").content.decode()
    assert client.post("/quotas/versions/1/", {"version": 2, "reason": "back"}).status_code == 302
    assert ("tenant", "d9") not in book_now().docs
    assert client.get("/quotas/add/?name=d9").headers["Location"] == "/tenants/d9/edit/"
    assert client.get("/quotas/add/?name=a/b").headers["Location"] == "/quotas/"


def test_lines_of_the_file_and_of_the_api_are_the_same_and_add_up() -> None:
    _fleet()
    rows = list(csv.DictReader(b"".join(_client(viewer()).get("/chargeback/lines.csv")).decode().splitlines()))
    bill = _api(viewer()).get(reverse("api:chargeback")).json()
    assert [row["gpu_hours"] for row in rows] == [f"{line['milli_hours'] / 1000:.3f}" for line in bill["lines"]]
    assert [row["usd"] for row in rows] == ["12.00", "", "10.00"]
    assert bill["whole"] == {"milli_hours": 12_000, "unpriced_milli_hours": 1000, "cents": 2200}
    assert sum(line["milli_hours"] for line in bill["lines"]) == 12_000
    for query in ("?period=year", "?from=2026-01-02&to=2026-01-01"):
        assert _client(viewer()).get(f"/chargeback/lines.csv{query}").status_code == 400
        assert _api(viewer()).get(reverse("api:chargeback") + query).status_code == 400
        assert _client(viewer()).get(f"/chargeback/{query}").status_code == 400


def test_no_address_tells_a_tenant_anything_of_another() -> None:
    """Neither names nor figures nor prices nor reasons of others, on any page, in any file, in any answer."""
    edited(
        tenant_entry("mine", H20=8), tenant_entry("team", "mine"), tenant_entry("secret", H20=7531, weight=7532),
        Given("price", "HIDDEN", {"hp_cents": 7533}), Given("class", "secret-class", {"value": 7534}),
        reason="secret why",
    )  # fmt: skip
    _used(UsageRow("c1", "mine", "H20", 6000, 0, 0), UsageRow("c1", "secret", "HIDDEN", 7_535_000, 0, 0))
    words = ("secret", "HIDDEN", "7531", "7,531", "7532", "7533", "7534", "7535", "7,535", "75.33")
    pages = (
        *("/tenants/", "/tenants/mine/", "/tenants/?by=model", "/quotas/", "/quotas/versions/1/", "/chargeback/"),
        *("/chargeback/?tenant=secret", "/quotas/table.csv", "/chargeback/lines.csv", "/tenants/team/edit/"),
    )
    names = ("tenants", "quotas", "quotas-versions", "chargeback")
    for user in (tenant("mine"), person(Role.TENANT_ADMIN, tenants=("mine",))):
        answers = [_client(user).get(page) for page in pages]
        answers += [_api(user).get(reverse(f"api:{name}")) for name in names]
        answers += [_api(user).get(reverse("api:tenant", args=[name])) for name in ("mine", "secret")]
        told = [b"".join(a).decode() if a.streaming else a.content.decode() for a in answers]
        found = {(str(a.request["PATH_INFO"]), word) for a, text in zip(answers, told, strict=True) for word in words
                 if word in text.replace("?tenant=secret", "").replace("tenant=secret", "")}  # fmt: skip
        assert found <= {("/chargeback/", "secret")}  # what the person itself asked for
        assert "mine" in told[0] and "1 other tenant" in " ".join(told[0].split())
        assert _client(user).get("/tenants/secret/").status_code == 404


@pytest.mark.parametrize("path", ["/tenants/", "/tenants/?by=model", "/tenants/d000/", "/quotas/", "/chargeback/"])
def test_queries_do_not_grow_with_the_tenants(path: str) -> None:
    counts = []
    for many in (2, 40):
        models = {f"M{model}": 1 for model in range(1 + many // 10)}
        edited(*(tenant_entry(f"d{at:03}", budgets={"month": {"usd": 1}}, **models) for at in range(many)))
        _used(*(UsageRow("c1", f"d{at:03}", model, 1000, 0, 0) for at in range(many) for model in models))
        client = _client(viewer())
        client.get(path)
        with CaptureQueriesContext(connection) as asked:
            assert client.get(path).status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 50
