"""The book of quotas: edits are whole or nothing, on top of what was read, by those who may, and can be put back."""

from typing import Any

import pytest

from console.audit.models import Entry as AuditEntry
from console.tenancy import selectors, services
from console.tenancy.choices import Role
from console.tenancy.entries import BookError, Given, as_json, changes, given_of
from console.tenancy.models import Edition, Tenant
from console.tenancy.selectors import book_now, tenant_scope
from console.tenancy.twin import HEAD, read_table, table_of
from tests.builders.books import cohort_entry, edited, quotas, tenant_entry
from tests.builders.people import approver, operator, person, tenant, viewer

pytestmark = pytest.mark.django_db


def _fleet() -> None:
    """Two departments of one cohort, one of them with two teams."""
    edited(
        cohort_entry("research"),
        tenant_entry("d1", cohort="research", H20=(10, 4, None), A10=5),
        tenant_entry("d2", cohort="research", H20=6),
        tenant_entry("t1", "d1", H20=6),
        tenant_entry("t2", "d1", H20=4, weight=2),
    )


def _wrongs(*given: Given, **more: Any) -> list[tuple[str, str]]:
    with pytest.raises(BookError) as refused:
        edited(*given, **more)
    return [(wrong.field, wrong.reason) for wrong in refused.value.wrongs]


def test_an_edit_is_an_edition_with_author_reason_and_what_changed() -> None:
    _fleet()
    made = edited(tenant_entry("d2", cohort="research", H20=8), reason="won two")
    assert (made.number, made.by, made.reason) == (2, operator(), "won two")
    assert made.changes == [["tenant", "d2", "quotas.H20.nominal", 6, 8]]
    page = book_now()
    assert (page.version, page.versions["tenant", "d2"], page.versions["tenant", "d1"]) == (2, 2, 1)
    entry = AuditEntry.objects.latest("pk")
    assert (entry.action, entry.reason, entry.detail["entries"]) == ("quotas.edited", "won two", ["tenant d2"])


def test_the_tree_of_the_book_decides_whose_names_a_member_sees() -> None:
    _fleet()
    lead = person(Role.TENANT_ADMIN, tenants=("d1",))
    assert tenant_scope(lead) == {"d1", "t1", "t2"}
    edited(tenant_entry("t2", "d2", H20=0))
    assert tenant_scope(lead) == {"d1", "t1"}
    edited(Given("tenant", "t2", removed=True))
    assert Tenant.objects.get(name="t2").parent is None


@pytest.mark.parametrize(
    ("given", "field", "reason"),
    [
        (tenant_entry("d1", "t1"), "parent", "above itself"),
        (tenant_entry("x", "nobody"), "parent", "the book has no tenant nobody"),
        (tenant_entry("x", cohort="nobody"), "cohort", "the book has no cohort nobody"),
        (tenant_entry("t1", "d1", cohort="research"), "cohort", "the cohort of d1 holds for its teams"),
        (tenant_entry("t1", "d1", H20=7), "quotas.H20.nominal", "the teams of d1 have 11 in sum, d1 itself 10"),
        (tenant_entry("d1", cohort="research", H20=9), "quotas.H20.nominal", "10 in sum, d1 itself 9"),
        (Given("tenant", "d1", removed=True), "parent", "tenant d1 cannot go while it is named here"),
        (Given("tenant", "none", removed=True), "name", "is not in the book"),
        (Given("class", "urgent", {"value": 9, "tenants": ["nobody"]}), "tenants", "the book has no tenant nobody"),
        (Given("class", "urgent", {}), "value", "needs a value"),
        (Given("price", "H20", {}), "hp_cents", "needs a figure"),
        (Given("queue", "x", {}), "kind", "must be one of"),
        (Given("tenant", "a/b", {}), "name", "no slash"),
        (Given("tenant", "a\u202eb", {}), "name", "nothing unseen"),
        (Given("tenant", "x", {"colour": 1}), "colour", "is no field here"),
        (Given("tenant", "x", {"cap_gpus": -1}), "cap_gpus", "from 0"),
        (Given("tenant", "x", {"cap_gpus": True}), "cap_gpus", "whole number"),
        (Given("tenant", "x", {"cap_gpus": 1.5}), "cap_gpus", "whole number"),
        (Given("tenant", "x", {"cap_gpus": 2, "guarantee_gpus": 3}), "guarantee_gpus", "more than the cap"),
        (tenant_entry("x", H20=(4, None, 5)), "quotas.H20.lending_limit", "more than the nominal"),
        (tenant_entry("x", budgets={"week": {"usd": 1}}), "budgets.week", "is no period"),
        (tenant_entry("x", budgets={"month": {"usd": 1, "warn_percent": 0}}), "budgets.month.warn_percent", "from 1"),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_refused_by_field_and_nothing_is_kept(given: Given, field: str, reason: str) -> None:
    _fleet()
    wrongs = _wrongs(tenant_entry("d2", cohort="research", H20=1), given)
    assert any(name == field and reason in words for name, words in wrongs), wrongs
    assert Edition.objects.count() == 1
    assert book_now().docs["tenant", "d2"]["quotas"]["H20"]["nominal"] == 6


def test_unset_is_not_zero_and_an_edit_that_changes_nothing_is_none() -> None:
    edited(tenant_entry("d1", H20=(0, None, None), A10=(None, 3)))
    said = book_now().docs["tenant", "d1"]["quotas"]
    assert said == quotas(A10=(None, 3), H20=0)
    assert _wrongs(tenant_entry("d1", H20=0, A10=(None, 3))) == [("", "nothing would change")]
    assert _wrongs(tenant_entry("d1", H20=1), reason=" ") == [("reason", "say why: it is kept in the history")]


def test_old_is_only_who_touches_what_changed_meanwhile() -> None:
    """Who edited another department is in nobody's way; who edited this one is named with what they changed."""
    _fleet()
    edited(tenant_entry("d2", cohort="research", H20=7), user=approver())
    assert edited(tenant_entry("t2", "d1", H20=3), version=1).number == 3
    with pytest.raises(services.VersionChangedError) as refused:
        edited(tenant_entry("d2", cohort="research", H20=1), version=1)
    (change,) = refused.value.changes
    assert change | {"by": "approver", "version": 2, "was": 6, "now": 7} == change
    with pytest.raises(services.VersionMissingError):
        services.edit_book(operator(), [tenant_entry("d2")], None, reason="x")


def test_an_older_edition_is_put_back_as_a_new_one() -> None:
    _fleet()
    edited(tenant_entry("d2", cohort="research", H20=9), tenant_entry("d3", A10=1), Given("tenant", "t1", removed=True))
    back = services.put_back(operator(), 1, 2, reason="too early")
    assert (back.number, back.kind, back.back_to) == (3, "back", 1)
    assert book_now().docs == selectors.book_at(1)
    assert len(selectors.book_at(2)) == 5
    one = services.put_back(operator(), 2, 3, reason="only this", only=("tenant", "d2"))
    assert [change[1] for change in one.changes] == ["d2"]


LEAD_CASES = [
    (tenant_entry("t1", "d1", H20=3), None),
    (tenant_entry("t3", "d1", H20=1), "have 11 in sum"),
    (tenant_entry("t1", "d1", H20=3, A800=1), "d1 itself has no nominal quota of A800"),
    (tenant_entry("t1", "d1", H20=6, min_runtime_s=60), "is for operators to set"),
    (tenant_entry("d1", cohort="research", H20=99), "may not set quotas"),
    (tenant_entry("d2", cohort="research", H20=0), "may not set quotas"),
    (tenant_entry("t1", "d2", H20=0), "may not set quotas"),
    (Given("price", "H20", {"hp_cents": 0}), "may not set quotas"),
    (Given("tenant", "t1", removed=True), None),
]


@pytest.mark.parametrize(("given", "refusal"), LEAD_CASES)
def test_a_department_admin_divides_what_the_department_has(given: Given, refusal: str | None) -> None:
    _fleet()
    lead = person(Role.TENANT_ADMIN, tenants=("d1",))
    if refusal is None:
        assert edited(given, user=lead).by == lead
        return
    with pytest.raises((BookError, services.Denied), match=refusal):
        edited(given, user=lead)
    assert Edition.objects.count() == 1


def test_others_edit_nothing() -> None:
    for user in (viewer(), tenant("d1")):
        with pytest.raises(services.Denied, match="may not set quotas"):
            edited(tenant_entry("d1"), user=user)
    assert Edition.objects.count() == 0


def test_json_and_table_say_the_same_and_lead_back_to_the_same_book() -> None:
    _fleet()
    edited(
        tenant_entry("=d3", budgets={"month": {"usd": 5, "gpu_hours": 0}}, min_runtime_s=0, L20=(0, 1, 0)),
        Given("class", "urgent", {"value": -5, "tenants": ["d1", "d2"]}),
        Given("price", "H20", {"hp_cents": 210, "lp_cents": 0}),
    )  # fmt: skip
    docs = book_now().docs
    lines = "\r\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in table_of(docs))
    text = "\ufeff" + ",".join(HEAD) + "\r\n\r\n" + lines
    for given in (read_table(text), given_of(as_json(docs))):
        planned = services.plan_edit(operator(), given, 2, whole=True)
        assert (planned.changes, planned.after) == ([], docs)
    assert changes({}, docs)[0] == ["class", "urgent", "", None, "there"]


def test_a_file_that_is_whole_removes_what_it_does_not_name() -> None:
    _fleet()
    text = "line,name,cohort,gpu_model,nominal\ncohort,research\ntenant,d1,research\nquota,d1,,H20,12\n"
    planned = services.plan_edit(operator(), read_table(text), 1, whole=True)
    assert {key[1] for key in planned.after} == {"research", "d1"}
    assert services.plan_edit(operator(), read_table(text), 1).after.keys() == book_now().docs.keys()


@pytest.mark.parametrize(
    ("text", "row", "field", "reason"),
    [
        ("", "line 1", "", "must be the head"),
        ("line,name,colour\n", "line 1", "colour", "is no column"),
        ("name\nx\n", "line 1", "line", "is missing"),
        ("line,name\nteam,x\n", "line 2", "line", "must be one of"),
        ("line,name\ntenant,x\ntenant,x\n", "line 3", "name", "is there twice"),
        ("line,name\ntenant,x,y\n", "line 2", "", "has 3 cells"),
        ("line,name,gpu_model,nominal\ntenant,x,,3\n", "line 2", "nominal", "says nothing on a line tenant"),
        ("line,name,gpu_model,nominal\nquota,x,H20,3\n", "line 2", "name", "no line tenant of this name"),
        ("line,name,gpu_model,nominal\ntenant,x\nquota,x,,3\n", "line 3", "gpu_model", "must be named"),
        ("line,name,gpu_model,nominal\ntenant,x\n\nquota,x,H20,many\n", "line 4", "quotas.H20.nominal", "whole number"),
        ('line,name\ntenant,"x\n', "line 2", "", "is no CSV"),
    ],
)
def test_a_bad_table_is_refused_by_line_column_and_reason(text: str, row: str, field: str, reason: str) -> None:
    with pytest.raises(BookError) as refused:
        edited(*read_table(text))
    wrongs = [wrong for wrong in refused.value.wrongs if wrong.row == row and wrong.field == field]
    assert any(reason in wrong.reason for wrong in wrongs), refused.value.wrongs
    assert Edition.objects.count() == 0
