"""Teams that are told apart by namespaces: no pod is counted twice or lost, and nothing is said of before."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from console.tenancy import selectors, services
from console.tenancy.choices import Role
from console.tenancy.entries import BookError, Docs, Given, as_json, given_of, read_entries
from console.tenancy.models import Edition, Entry
from console.tenancy.periods import period_of
from console.tenancy.planning import by_team
from console.tenancy.selectors.book import book_now
from console.tenancy.services import UsageRow
from console.tenancy.teams import Teams, overlaps
from console.tenancy.twin import HEAD, read_table, table_of
from scheduler.cluster.snapshot import Snapshot
from tests.builders.books import edited, tenant_entry
from tests.builders.people import operator, person
from tests.builders.worlds import world

START = datetime(2026, 11, 9, 10, 0, tzinfo=UTC)
MONTH = period_of("month", START)
NAMESPACES = st.sampled_from(["x", "y", "c1/x", "c2/x"])


def team(name: str, parent: str | None, *namespaces: str, **said: Any) -> Given:
    one = tenant_entry(name, parent, **said)
    return replace(one, document={**one.document, "namespaces": list(namespaces)})


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    named=st.lists(st.lists(NAMESPACES, max_size=2, unique=True), min_size=3, max_size=3),
    pods=st.lists(
        st.tuples(st.sampled_from(["c1", "c2"]), st.sampled_from(["d", "t0", "e", ""]), st.sampled_from("xyz"),
                  st.just("H20"), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
        max_size=6,
    ),
)  # fmt: skip
def test_every_pod_is_of_one_tenant_or_of_one_team_of_it(named: list[list[str]], pods: list[tuple[Any, ...]]) -> None:
    """Two teams of d and one below the first, against the definition; where two share one, the book refuses it."""
    parents = ["d", "d", "t0"]
    entries = [team(f"t{at}", above, *names) for at, (above, names) in enumerate(zip(parents, named, strict=True))]
    docs, _, wrongs = read_entries([tenant_entry("d"), tenant_entry("e"), *entries])
    assert not wrongs
    claims = [{(c, n) for c in ("c1", "c2") for n in "xyz" if {n, f"{c}/{n}"} & set(names)} for names in named]
    assert bool(claims[0] & claims[1]) == bool(list(overlaps(docs)))
    if claims[0] & claims[1]:
        return
    expected: Counter[tuple[object, object]] = Counter()
    for cluster, tenant, namespace, _model, *amounts in pods:
        if tenant == "d":
            tenant = next((f"t{at}" for at in (0, 1) if (cluster, namespace) in claims[at]), "d")
        if tenant == "t0" and (cluster, namespace) in claims[2]:
            tenant = "t2"
        expected[cluster, tenant] += sum(amounts)
    found = {(row[0], row[1]): sum(row[3:]) for row in Teams(docs).rows([list(pod) for pod in pods])}
    assert found == dict(expected)


def _refused(*entries: Given) -> list[tuple[str, str, str]]:
    with pytest.raises(BookError) as refused:
        edited(*entries)
    return [(wrong.row, wrong.field, wrong.reason) for wrong in refused.value.wrongs]


@pytest.mark.django_db
def test_a_namespace_is_of_one_team_and_a_table_says_what_json_says() -> None:
    edited(tenant_entry("d"), team("a", "d", "x", "c1/y"), tenant_entry("e"), team("f", "e", "x"))
    assert _refused(team("b", "d", "z", "c2/x")) == [("tenant b", "namespaces", "c2/x is of team a already")]
    assert _refused(team("d", None, "z")) == [
        ("tenant d", "namespaces", "only a team has namespaces: name the department above it")
    ]
    (one, two) = _refused(team("b", "d", "q", "q"), Given("tenant", "g", {"parent": "d", "namespaces": ["c1/", "b"]}))
    assert (one[2], two[:2]) == ("q is there twice", ("tenant g", "namespaces"))
    text = "line,name,parent,namespaces\ntenant,b,d,z | c2/y\ntenant,h,d,c1/y\n"
    assert read_table(text)[0].document["namespaces"] == ["z", "c2/y"]
    assert _refused(*read_table(text)) == [("line 3", "namespaces", "c1/y is of team a already")]
    docs = book_now().docs
    head, *lines = [",".join(str("" if cell is None else cell) for cell in row) for row in _table(docs)]
    assert read_entries(read_table("\n".join([head, *lines])))[0] == docs == read_entries(given_of(as_json(docs)))[0]
    edited(team("b", "d", "c2/y"))
    assert Edition.objects.all()[0].changes[1] == ["tenant", "b", "namespaces", None, ["c2/y"]]


def _table(docs: Docs) -> list[list[object]]:
    return [list(HEAD), *table_of(docs)]


def _told(at: datetime, *rows: UsageRow, since: datetime | None = None) -> None:
    services.record_usage(1, "s1", rows, at, stood=None if since is None else (since, at))


def _pod(namespace: str, hp: int, tenant: str = "d") -> UsageRow:
    return UsageRow("c1", tenant, "H20", hp, 0, 0, namespace)


@pytest.mark.django_db
def test_a_team_has_its_own_hours_from_the_edition_that_named_its_namespaces(client: Client) -> None:
    """Two hours of the department alone, then two in which its team is told apart; the pages say so."""
    edited(tenant_entry("d"), team("a", "d"))
    rows = (_pod("x", 3000), _pod("y", 1000), _pod("x", 500, "a"))
    _told(START, *rows)
    _told(START + timedelta(hours=2), *rows, since=START)
    edited(team("a", "d", "x", budgets={"month": {"gpu_hours": 10}}))
    since = START + timedelta(hours=2)
    Edition.objects.filter(entries__in=Entry.objects.filter(newest=True, name="a")).update(at=since)
    tree = {row.name: row.whole.hp for row in selectors.tenant_tree(operator()).rows}
    assert tree == {"d": 4500, "a": 3500}, "it counts at once, and the department holds what its teams hold"
    _told(since + timedelta(seconds=1), *rows)
    _told(since + timedelta(hours=2, seconds=1), since=since + timedelta(seconds=1))
    bill = selectors.bill(operator(), MONTH, now=START)
    hours = {(line.tenant, line.department): line.milli_hours for line in bill.lines}
    assert hours == {("a", "d"): 1000 + 7000, ("d", ""): 8000 + 2000}
    assert bill.teams_since == {"a": since}
    now = since + timedelta(hours=2)
    (burn,) = selectors.burns(operator(), ["a"], now=now)
    assert (burn.used, burn.since, burn.known_s) == (8.0, since, 7200)
    past = {name: selectors.history_of(operator(), name, period_of("rolling-1", now)) for name in ("d", "a")}
    assert [(one.at.hour, one.hp) for one in past["a"]] == [(12, 3.5), (13, 3.5), (14, 3.5)]
    assert [one.hp for one in past["d"]] == [4.5] * 5, "what is of a team stays its department's"
    member = person(Role.TENANT_USER, tenants=("a",))
    assert [row.name for row in selectors.tenant_tree(member).rows] == ["a"]
    mine = selectors.bill(member, MONTH, now=START)
    assert [(line.tenant, line.department) for line in mine.lines] == [("a", "")]
    assert selectors.history_of(member, "d", period_of("rolling-1", now)) == []
    _told(now + timedelta(hours=1), *rows)
    client.force_login(operator())
    page = client.get("/tenants/d/").content.decode()
    assert "a 78 %, of no team 22 %" in page
    assert "since 2026-11-09 12:00 UTC" in client.get("/tenants/a/").content.decode()
    asked = client.get("/chargeback/lines.csv?from=2026-11-01&to=2026-11-30&tenant=d")
    table = b"".join(asked.streaming_content).decode().splitlines()
    assert table[0].endswith("department,team_counted_since")
    assert table[1].endswith(",d,2026-11-09T12:00:00Z")


@pytest.mark.django_db
def test_admission_counts_a_team_as_the_book_does() -> None:
    built = (
        world().node("n1").pod("a", "n1", 2, tenant="d").pod("b", "n1", 1, tenant="d", namespace="other")
        .pod("c", "n1", 1, tenant=None)
    ).snapshot()  # fmt: skip
    assert by_team(built) is built
    edited(tenant_entry("d"), team("t", "d", "default/jobs"))
    assert _owners(by_team(built)) == {"a": "t", "b": "d", "c": ""}


def _owners(snapshot: Snapshot) -> dict[str, str]:
    names = (*snapshot.tenants, "")
    return {name: names[of] for name, of in zip(snapshot.pod_name, snapshot.pod_tenant.tolist(), strict=True)}
