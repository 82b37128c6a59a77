"""Whatever a selector or a page says: nothing of another tenant's names, numbers or nodes."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from console.inventory.selectors import NotThereError
from console.live import topics
from console.rest.errors import FieldError
from console.spot import selectors, services
from console.spot.models import Estimate, Lease
from console.tenancy.choices import Role
from console.tenancy.services import Denied
from tests.builders.people import operator, person, tenant
from tests.console.spot.scene import Scene, scene

pytestmark = pytest.mark.django_db
SECRET = "zeppelin"


@pytest.fixture
def both() -> tuple[Scene, Lease, Lease]:
    """A lease of ``team-a`` that runs and had a reclaim, and one of ours that waits."""
    one = scene()
    theirs = one.started(pods=2, name=SECRET, hook_name=SECRET)
    services.give_back(tenant("team-a"), theirs.pk, None)
    ours = one.asked(stranger(), pods=3)
    one.turn()
    return one, theirs, ours


def stranger() -> Any:
    return person(Role.TENANT_ADMIN, "other", ("team-b",))


def test_no_selector_shows_anothers_lease(both: tuple[Scene, Lease, Lease]) -> None:
    _, theirs, ours = both
    who = stranger()
    assert [row.pk for row in selectors.leases(who)] == [ours.pk]
    assert [row.pk for row in selectors.leases(operator())] == [ours.pk, theirs.pk]
    for reading in (selectors.lease_for, selectors.detail):
        with pytest.raises(NotThereError):
            reading(who, theirs.pk)
    with pytest.raises(NotThereError):
        selectors.estimate_for(who, Estimate.objects.get(lease=theirs).pk)
    assert selectors.notices(who) == [] and not selectors.reclaims(who).exists()
    assert {row.tenant for row in selectors.month_bills(who)} <= {"team-b"}
    assert selectors.held(who).gpus == 0 and selectors.summary(who).leases == 1
    assert selectors.tenants_of(who) == []
    assert selectors.own_tenants(who) == ("team-b",)
    others = selectors.others_sum(who)
    assert others == {"running_gpus": 16, "waiting_gpus": 0}
    assert selectors.others_sum(operator()) is None
    assert not topics.may_listen(who, f"lease:{theirs.pk}") and topics.may_listen(who, f"lease:{ours.pk}")


def test_no_page_names_another(both: tuple[Scene, Lease, Lease]) -> None:
    _, theirs, ours = both
    client = Client()
    client.force_login(stranger())
    pages = [reverse("spot:capacity"), reverse("spot:lease", args=[ours.pk]), reverse("spot:reclaims"),
             reverse("spot:reclaims-csv"), reverse("spot:bills")]  # fmt: skip
    for address in pages:
        answer = client.get(address)
        said = answer.getvalue().decode()
        assert answer.status_code == 200, address
        assert SECRET not in said and "team-a" not in said and theirs.number not in said, address
    assert client.get(reverse("spot:lease", args=[theirs.pk])).status_code == 404
    assert client.post(reverse("spot:act", args=[theirs.pk, "give-back"])).status_code == 404


def test_the_api_hides_what_is_anothers(both: tuple[Scene, Lease, Lease]) -> None:
    _, theirs, ours = both
    client = APIClient()
    client.force_authenticate(stranger())
    listed = client.get(reverse("api:leases"))
    assert [row["id"] for row in listed.json()["results"]] == [ours.pk]
    assert SECRET not in json.dumps(listed.json())
    for name in ("api:lease", "api:lease-changes"):
        assert client.get(reverse(name, args=[theirs.pk])).status_code == 404
    assert client.post(reverse("api:lease-give-back", args=[theirs.pk]), HTTP_IF_MATCH='"1"').status_code == 404
    assert client.get(reverse("api:reclaims")).json()["results"] == []


def test_nobody_asks_in_anothers_name(both: tuple[Scene, Lease, Lease]) -> None:
    one, theirs, _ = both
    with pytest.raises(FieldError, match="must be one of yours: team-b"):
        services.make_lease(
            stranger(), source_id=one.source.pk, cluster="default", tenant="team-a", asked={"gpu_models": ["x"]}
        )
    with pytest.raises(Denied):
        services.make_lease(operator(), source_id=one.source.pk, cluster="default", tenant="", asked={})
    with pytest.raises(Denied):
        services.give_back(operator(), theirs.pk, None)


def test_a_tenant_reads_no_node(both: tuple[Scene, Lease, Lease]) -> None:
    one, theirs, _ = both
    assert all(run.nodes == () for run in selectors.detail(tenant("team-a"), theirs.pk).runs)
    assert any(run.nodes for run in selectors.detail(operator(), theirs.pk).runs)
    assert one.source.name
