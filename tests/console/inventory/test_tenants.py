"""Case C30: a tenant's person sees its own pods and no trace of anybody else's."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from console.inventory import selectors
from console.inventory.frame import _search
from tests.builders.fleets import observed
from tests.builders.people import stranger, tenant
from tests.builders.worlds import world

pytestmark = pytest.mark.django_db
SECRETS = ("secret-merger", "t2ns", '"t2"', ">t2<", "hush", "n2")


@pytest.fixture(autouse=True)
def _fleet() -> None:
    built = world().asw("asw-1").nodes("n1", "n2")
    built.pod("mine", "n1", 2, namespace="t1ns", tenant="t1", workload="team-job")
    built.pod("secret-merger", "n1", 4, namespace="t2ns", tenant="t2", lock_reason="hush", locked=True)
    observed(built.pod("other", "n2", 8, namespace="t2ns", tenant="t2"))


@pytest.fixture
def client() -> Client:
    found = Client()
    found.force_login(tenant("t1"))
    return found


def _text(answer: Any) -> str:
    body = answer.getvalue() if answer.streaming else answer.content
    # A random token may hold any two letters, also those of a name.
    shown = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", body.decode())
    return shown + str(dict(answer.headers))


PAGES = [
    ("inventory:pods", [], ""),
    ("inventory:pods", [], "?sort=-gpus&limit=200"),
    ("inventory:pods-csv", [], ""),
    ("inventory:nodes", [], ""),
    ("inventory:nodes-csv", [], ""),
    ("inventory:node", ["default", "n1"], ""),
    ("inventory:node-why", ["default", "n1"], ""),
    ("inventory:pod", ["default", "t1ns/mine"], ""),
    ("inventory:since", [], "?from=2026-01-01T00:00:00Z"),
    ("inventory:idle", [], "?window=7d"),
    ("inventory:idle-csv", [], "?window=7d"),
    ("inventory:workload", ["default", "t1ns/team-job"], ""),
    ("overview:fleet", [], ""),
]


@pytest.mark.parametrize(("name", "args", "query"), PAGES)
def test_no_page_carries_a_foreign_name(client: Client, name: str, args: list[str], query: str) -> None:
    answer = client.get(reverse(name, args=args) + query)
    text = _text(answer)
    assert answer.status_code == 200
    assert [secret for secret in SECRETS if secret in text] == []


@pytest.mark.parametrize("name", ["nodes", "pods", "fleet-headline", "fleet-pools", "fleet-waterfall", "fleet-fits"])
def test_no_answer_of_the_api_carries_a_foreign_name(name: str) -> None:
    client = APIClient()
    client.force_authenticate(tenant("t1"))
    answer = client.get(reverse(f"api:{name}"))
    assert answer.status_code == 200
    assert [secret for secret in SECRETS if secret in _text(answer)] == []


def test_totals_choices_and_searches_count_its_own_only() -> None:
    person = tenant("t1")
    page = selectors.pod_rows(person, selectors.Filters())
    assert (page.total, [row.name for row in page.rows]) == (1, ["mine"])
    assert selectors.filter_choices(person).tenants == ("t1",)
    for words in ("secret", "merger", "t2ns", "other"):
        assert selectors.pod_rows(person, selectors.Filters(text=words)).total == 0
        assert list(_search(person, words, 5)) == []
    assert len(list(selectors.pod_csv(person, selectors.Filters()))) == 1
    assert [row.name for row in selectors.node_rows(person, selectors.Filters()).rows] == ["n1"]
    assert selectors.node_rows(person, selectors.Filters(tenant="t2")).total == 0
    assert selectors.pod_rows(person, selectors.Filters(tenant="t2")).total == 0


def test_a_foreign_pod_answers_like_one_that_does_not_exist(client: Client) -> None:
    def ask(name: str) -> tuple[int, str]:
        answer = client.get(reverse("inventory:pod", args=["default", name]))
        return answer.status_code, answer.content.decode().replace(name, "")

    foreign, absent = ask("t2ns/secret-merger"), ask("t2ns/does-not-exist")
    assert foreign[0] == absent[0] == 404 and len(foreign[1]) == len(absent[1])
    node = [client.get(reverse("inventory:node", args=["default", name])) for name in ("n2", "n9")]
    assert [answer.status_code for answer in node] == [404, 404]


def test_others_are_one_anonymous_sum_on_a_node() -> None:
    card = selectors.node_card(tenant("t1"), "default", "n1")
    assert [pod.name for pod in card.pods] == ["mine"]
    assert (card.row.own_gpu_milli, card.row.others_gpu_milli, card.row.pods) == (2000, 4000, None)
    assert (card.row.used_cpu_milli, card.row.used_memory_mib, card.others) == (None, None, None)


def test_who_belongs_to_no_tenant_sees_no_pod_at_all() -> None:
    person = stranger()
    assert selectors.pod_rows(person, selectors.Filters()).total == 0
    assert selectors.node_rows(person, selectors.Filters()).total == 0
    assert selectors.filter_choices(person).clusters == ()


def test_pods_without_a_tenant_are_nobodys() -> None:
    observed(world().node("n1").pod("stray", "n1", 1, tenant=None))
    assert selectors.pod_rows(tenant("t1"), selectors.Filters()).total == 0


def test_the_lender_is_a_role_not_a_name() -> None:
    built = world().node("n1").pod("sleeper", "n1", 4, tenant="t2", standby=True)
    observed(built.pod("guest", "n1", 2, tenant="t1", tier="LP", lent_by="jobs/sleeper"))
    assert selectors.pod_card(tenant("t1"), "default", "jobs/guest").lender == "the lender"


def test_rows_for_operators_only_are_empty_for_tenants() -> None:
    person = tenant("t1")
    assert selectors.source_states(person) == ()
    assert not selectors.observation_rows(person).exists()
    assert selectors.fleet_layout(person) is None
    assert selectors.standby_series(person) == ()
    assert [tile.label for tile in selectors.fleet_headline(person)][:2] == ["Your GPUs", "Your pods"]


def test_no_order_tells_how_many_pods_others_have_there(client: Client) -> None:
    built = world().nodes("n1", "n2")
    for node, foreign in (("n1", 3), ("n2", 0)):
        built.pod(f"mine-{node}", node, 1, tenant="t1")
        for number in range(foreign):
            built.pod(f"theirs-{number}", node, 1, tenant="t2")
    observed(built)
    for sort in ("pods", "-pods"):
        rows = selectors.node_rows(tenant("t1"), selectors.Filters(), sort=sort).rows
        assert [row.name for row in rows] == ["n1", "n2"]
        assert [row.name for row in selectors.node_csv(tenant("t1"), selectors.Filters(), sort=sort)] == ["n1", "n2"]
    assert "sort=-pods" not in _text(client.get(reverse("inventory:nodes")))


def test_labels_and_taints_that_name_somebody_are_not_shown() -> None:
    taint = {"key": "kept-for", "value": "t2", "effect": "PreferNoSchedule"}
    observed(world().node("n1", labels={"team": "t2"}, taints=[taint]).pod("mine", "n1", 1, tenant="t1"))
    card = selectors.node_card(tenant("t1"), "default", "n1")
    assert (card.labels, card.taints) == ((), ())
