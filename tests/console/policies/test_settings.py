"""Which value counts where, and deciding one."""

from typing import Any

import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.policies import selectors, services
from console.policies.choices import SETTINGS, Place, Scope
from console.policies.models import Setting
from console.rest.errors import FieldError
from console.tenancy.services import Denied
from tests.builders.people import approver, operator
from tests.console.plans.scene import scene, three_nodes

pytestmark = pytest.mark.django_db
FLEET = Place()
HERE = Place(Scope.CLUSTER, "default")
POOL = Place(Scope.POOL, "default", "H100-SXM5-80GB")
OTHER = Place(Scope.POOL, "default", "H20")
TENANT = Place(Scope.TENANT, tenant="t1")


def decide(name: str, place: Place, value: int | None, version: int = 0) -> Setting:
    """Without asking whether the place is observed."""
    names = selectors.names_of(place)
    return Setting.objects.create(name=name, value=value, version=version + 1, by=approver(), reason="r", **names)


def counts(name: str, pools: tuple[str, ...] = (POOL.gpu_model,), tenants: tuple[str, ...] = ("t1",)) -> Any:
    found = selectors.policy_for("default", pools, tenants)[name]
    return found.value, found.origin


@pytest.mark.parametrize(
    ("name", "said", "pools", "expected"),
    [
        ("moves_per_wave", [], [POOL], (None, "built in")),
        ("moves_per_wave", [(FLEET, 9), (HERE, 20)], [POOL], (9, "the whole fleet")),
        ("moves_per_wave", [(FLEET, 9), (POOL, 4)], [POOL], (4, "pool H100-SXM5-80GB in default")),
        ("moves_per_wave", [(FLEET, 9), (POOL, 4)], [OTHER], (9, "the whole fleet")),
        ("moves_per_wave", [(FLEET, 9), (POOL, None)], [POOL], (9, "the whole fleet")),
        ("moves_per_wave", [(POOL, 4), (OTHER, 3)], [POOL, OTHER], (3, "pool H20 in default")),
        ("moves_per_wave", [(TENANT, 2), (FLEET, 2)], [POOL], (2, "the whole fleet")),
        ("two_approvers_above_moves", [(FLEET, None)], [POOL], (None, "the whole fleet")),
        ("two_approvers_above_moves", [(FLEET, 900)], [POOL], (900, "the whole fleet")),
        ("two_approvers_above_moves", [(POOL, 900)], [POOL, OTHER], (500, "built in")),
        ("two_approvers_above_moves", [(POOL, 900), (OTHER, 700)], [POOL, OTHER], (700, "pool H20 in default")),
        ("two_approvers_above_moves", [(TENANT, 900)], [POOL], (900, "tenant t1")),
        ("cooldown_hours", [(POOL, 0)], [POOL, OTHER], (1, "built in")),
        ("valid_minutes", [(FLEET, 10), (HERE, 60)], [POOL], (60, "cluster default")),
        ("valid_minutes", [(FLEET, 10), (POOL, 60)], [POOL, OTHER], (10, "the whole fleet")),
        ("valid_minutes", [(POOL, 60)], [POOL, OTHER], (30, "built in")),
        ("valid_minutes", [(POOL, 20)], [POOL, OTHER], (20, "pool H100-SXM5-80GB in default")),
        ("valid_minutes", [(HERE, 60), (TENANT, 90)], [POOL], (90, "tenant t1")),
    ],
)
def test_which_of_several_values_counts(
    name: str, said: list[tuple[Place, int | None]], pools: list[Place], expected: tuple[int | None, str]
) -> None:
    for place, value in said:
        decide(name, place, value)
    decide(name, Place(Scope.CLUSTER, "elsewhere"), 1 if name != "valid_minutes" else 5)
    decide(name, Place(Scope.TENANT, tenant="t2"), 1 if name != "valid_minutes" else 5)
    assert counts(name, tuple(pool.gpu_model for pool in pools)) == expected


def test_a_tenants_own_limit_is_its_own() -> None:
    decide("moves_per_tenant", FLEET, 9)
    decide("moves_per_tenant", TENANT, 2)
    policy = selectors.policy_for("default", (), ("t1", "t2"))
    assert selectors.for_all_tenants(policy, "moves_per_tenant") == 9
    assert selectors.tenant_limits(policy, "moves_per_tenant") == {"t1": 2}


def test_it_costs_one_query_whatever_is_decided(django_assert_num_queries: Any) -> None:
    for k in range(30):
        decide("moves_per_wave", Place(Scope.POOL, "default", f"m{k}"), 5)
    with django_assert_num_queries(1):
        selectors.policy_for("default", [f"m{k}" for k in range(30)], [f"t{k}" for k in range(2000)])


def test_deciding_keeps_every_version_and_says_who_and_why() -> None:
    user = approver()
    services.set_value(user, "moves_per_wave", FLEET, 5, reason="carefully", version=0)
    services.set_value(user, "moves_per_wave", FLEET, 7, reason="a little faster", version=1)
    services.clear_value(user, "moves_per_wave", FLEET, reason="enough", version=2)
    assert counts("moves_per_wave") == (None, "built in")
    rows = selectors.history(user)
    assert [(row.version, row.value, row.cleared, row.reason) for row in rows] == [
        (3, None, True, "enough"),
        (2, 7, False, "a little faster"),
        (1, 5, False, "carefully"),
    ]
    entry = Entry.objects.filter(action="policy.set").latest("pk")
    assert (entry.actor, entry.reason, entry.detail["was"], entry.detail["now"]) == (
        "approver",
        "a little faster",
        5,
        7,
    )
    services.set_value(user, "moves_per_wave", FLEET, 2, reason="again", version=3)
    assert counts("moves_per_wave") == (2, "the whole fleet")


def test_of_two_who_decide_on_one_version_the_second_is_refused() -> None:
    services.set_value(approver(), "moves_per_wave", FLEET, 5, reason="r", version=0)
    with pytest.raises(services.VersionChangedError) as lost:
        services.set_value(approver("two"), "moves_per_wave", FLEET, 6, reason="r", version=0)
    assert lost.value.version == 1
    with pytest.raises(services.VersionMissingError):
        services.set_value(approver(), "moves_per_wave", FLEET, 6, reason="r", version=None)
    assert counts("moves_per_wave") == (5, "the whole fleet")


@pytest.mark.parametrize(
    ("name", "place", "value", "field"),
    [
        ("moves_per_wave", FLEET, 0, "value"),
        ("first_wave_per_cent", FLEET, 11, "value"),
        ("first_wave_per_cent", FLEET, None, "value"),
        ("moves_per_wave", FLEET, True, "value"),
        ("nonsense", FLEET, 1, "name"),
        ("moves_per_wave", Place(Scope.CLUSTER, "misspelt"), 1, "cluster"),
        ("moves_per_wave", Place(Scope.TENANT, tenant="misspelt"), 1, "tenant"),
    ],
)
def test_what_is_wrong_is_named(name: str, place: Place, value: Any, field: str) -> None:
    scene(three_nodes())
    with pytest.raises(FieldError) as wrong:
        services.set_value(approver(), name, place, value, reason="r", version=0)
    assert wrong.value.field == field
    assert not Setting.objects.exists()


def test_a_decision_needs_the_right_and_a_reason() -> None:
    with pytest.raises(Denied):
        services.set_value(operator(), "moves_per_wave", FLEET, 5, reason="r", version=0)
    with pytest.raises(FieldError, match="reason"):
        services.set_value(approver(), "moves_per_wave", FLEET, 5, reason=" ", version=0)


def test_what_a_decision_would_change_is_said_first() -> None:
    decide("moves_per_wave", FLEET, 9)
    decide("moves_per_wave", HERE, 4)
    assert services.preview("moves_per_wave", POOL, 2) == [
        "Pool H100-SXM5-80GB in default: 4 moves (from cluster default) becomes 2 moves "
        "(from pool H100-SXM5-80GB in default)."
    ]
    assert services.preview("moves_per_wave", POOL, 50)[1] == (
        "Cluster default is more careful (4 moves) and goes on counting."
    )
    assert services.preview("moves_per_wave", FLEET, 3)[-1].startswith("Decided apart and merged with it")


# --- doors -----------------------------------------------------------------------------------------------------------
def api(user: Any) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


def test_the_api_wants_the_version_that_was_read() -> None:
    client, address = api(approver()), reverse("api:policy-setting", args=["moves_per_wave"])
    body = {"scope": "fleet", "value": 5, "reason": "carefully"}
    assert client.get(address).status_code == 404
    assert client.put(address, body, format="json").status_code == 428
    made = client.put(address, body, format="json", headers={"If-Match": '"0"'})
    assert (made.status_code, made["ETag"], made.json()["value"]) == (200, '"1"', 5)
    assert client.put(address, body, format="json", headers={"If-Match": '"0"'}).status_code == 412
    for wrong_version in ("x", "9" * 5000):
        assert client.put(address, body, format="json", headers={"If-Match": wrong_version}).status_code == 400
    wrong = client.put(address, {**body, "value": 0}, format="json", headers={"If-Match": '"1"'})
    assert (wrong.status_code, wrong.json()["errors"][0]["attr"]) == (400, "value")
    gone = client.delete(f"{address}?scope=fleet&reason=enough", headers={"If-Match": '"1"'})
    assert (gone.status_code, gone.json()["cleared"], gone["ETag"]) == (200, True, '"2"')
    assert client.get(reverse("api:policy-setting", args=["nonsense"])).status_code == 404


def test_the_api_says_where_each_value_comes_from() -> None:
    decide("moves_per_wave", FLEET, 9)
    decide("moves_per_wave", POOL, 4)
    rows = api(operator()).get(reverse("api:policy-effective") + f"?cluster=default&pool={POOL.gpu_model}").json()
    assert [row["name"] for row in rows] == list(SETTINGS)
    found = next(row for row in rows if row["name"] == "moves_per_wave")
    assert (found["value"], found["origin"]) == (4, POOL.words)
    assert [(other["origin"], other["value"]) for other in found["others"]] == [("the whole fleet", 9)]


def test_the_page_shows_values_origins_and_history(client: Any) -> None:
    decide("moves_per_wave", FLEET, 9)
    client.force_login(operator())
    text = client.get(reverse("policies:list")).content.decode()
    assert "9 moves" in text
    assert "the whole fleet" in text
    assert "built in" in text
    assert reverse("policies:edit") not in text  # operators read


def test_the_form_shows_then_decides_and_refuses_an_old_version(client: Any) -> None:
    client.force_login(approver())
    page = client.get(reverse("policies:edit") + "?name=moves_per_wave").context["form"]
    sent = {"name": "moves_per_wave", "scope": "fleet", "value": "5", "reason": "carefully",
            "version": page["version"].value(), "of": page["of"].value()}  # fmt: skip
    shown = client.post(reverse("policies:edit"), {**sent, "do": "preview"})
    assert "no limit (from built in) becomes 5 moves" in shown.content.decode()
    assert not Setting.objects.exists()
    assert client.post(reverse("policies:edit"), {**sent, "do": "set"}).status_code == 302
    again = client.post(reverse("policies:edit"), {**sent, "do": "set", "value": "6"})
    assert (again.status_code, Setting.objects.count()) == (412, 1)


def test_turning_to_another_setting_shows_it_before_it_is_decided(client: Any) -> None:
    decide("moves_per_node", FLEET, 3)
    client.force_login(approver())
    sent = {"name": "moves_per_node", "scope": "fleet", "value": "5", "reason": "r", "version": "0",
            "of": "moves_per_wave|fleet|||", "do": "set"}  # fmt: skip
    shown = client.post(reverse("policies:edit"), sent)
    assert (shown.status_code, Setting.objects.count()) == (200, 1)
    form = shown.context["form"]
    assert (form["version"].value(), form["of"].value()) == (1, "moves_per_node|fleet|||")


def test_each_pool_and_tenant_has_its_own_nearest_value(django_assert_num_queries: Any) -> None:
    decide("start_seconds", FLEET, 100)
    decide("start_seconds", POOL, 200)
    decide("start_seconds", TENANT, 300)
    decide("start_seconds", Place(Scope.POOL, "elsewhere", "H20"), 400)
    with django_assert_num_queries(1):
        there = selectors.nearest_of("default", ["start_seconds", "image_mib"])
        asked = [("H20", ""), (POOL.gpu_model, ""), (POOL.gpu_model, "t1"), ("H20", "t1"), ("", "")]
        assert [there(*one)["start_seconds"] for one in asked] == [100, 200, 300, 300, 100]
        assert there("H20", "")["image_mib"] == SETTINGS["image_mib"].default
