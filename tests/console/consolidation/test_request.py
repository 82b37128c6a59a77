"""Asking for a plan: what can be asked, once per key, with errors at their fields."""

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from console.consolidation import services
from console.consolidation.choices import RANGES
from console.plans.models import Plan
from console.tenancy.services import Denied
from scheduler.consolidation.params import ParamError, Params
from tests.builders.people import operator, viewer
from tests.console.plans.scene import CLUSTER, scene

PARAMS = {"depth": 2, "rounds": 3, "partition": 500, "exact_up_to": 50, "repack_up_to": 60, "max_moves": None}


@pytest.mark.parametrize("name", sorted(RANGES))
def test_the_ranges_are_those_of_the_planner(name: str) -> None:
    """Web processes do not load the planner, so its ranges stand twice; they must not part."""
    found = RANGES[name]
    assert getattr(Params(), name) == found.default
    for good in (found.low, found.high):
        Params(**{name: good})
    for bad in (found.low - 1, found.high + 1):
        with pytest.raises(ParamError) as refused:
            Params(**{name: bad})
        assert refused.value.field == name


@pytest.mark.django_db
def test_a_request_is_stored_and_sent() -> None:
    one = scene()
    plan = services.request(
        operator(), source_id=one.source.pk, cluster=CLUSTER, models=["H100-SXM5-80GB"], params=PARAMS, seed=7
    )
    assert (plan.state, plan.params, plan.seed) == ("requested", PARAMS, 7)
    assert plan.title == "empty H100-SXM5-80GB nodes in default"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("cluster", {"cluster": "nowhere"}),
        ("models", {"models": ["L4"]}),
        ("depth", {"params": {**PARAMS, "depth": 9}}),
        ("exact_up_to", {"params": {**PARAMS, "exact_up_to": 501}}),
        ("repack_up_to", {"params": {**PARAMS, "repack_up_to": -1}}),
        ("max_moves", {"params": {**PARAMS, "max_moves": -1}}),
        ("seed", {"seed": -1}),
    ],
)
def test_errors_name_their_field(field: str, change: dict[str, object]) -> None:
    one = scene()
    asked = {"source_id": one.source.pk, "cluster": CLUSTER, "models": [], "params": PARAMS, "seed": 0, **change}
    with pytest.raises(services.RequestError) as refused:
        services.request(operator(), **asked)  # type: ignore[arg-type]
    assert refused.value.field == field
    assert not Plan.objects.exists()


@pytest.mark.django_db
def test_viewers_may_not_ask() -> None:
    one = scene()
    with pytest.raises(Denied, match="may not request a plan"):
        services.request(viewer(), source_id=one.source.pk, cluster=CLUSTER, models=[], params=PARAMS, seed=0)


@pytest.mark.django_db
def test_one_key_makes_one_plan() -> None:
    one = scene()
    client = APIClient()
    client.force_authenticate(operator())
    body = {"source": one.source.pk, "cluster": CLUSTER, "depth": 1}
    sent = [client.post(reverse("api:plan-request"), body, "json", HTTP_IDEMPOTENCY_KEY="k1") for _ in range(2)]
    assert [answer.status_code for answer in sent] == [201, 201]
    assert sent[0].json()["id"] == sent[1].json()["id"]
    other = client.post(reverse("api:plan-request"), {**body, "depth": 2}, "json", HTTP_IDEMPOTENCY_KEY="k1")
    assert other.status_code == 409
    assert Plan.objects.count() == 1


@pytest.mark.django_db
def test_the_form_shows_errors_at_their_fields_and_keeps_what_was_typed() -> None:
    one = scene()
    client = Client()
    client.force_login(operator())
    body = {"scope": f"{one.source.pk}|{CLUSTER}", "depth": "7", "rounds": "2", "partition": "500", "seed": "11"}
    body |= {"exact_up_to": "40", "repack_up_to": "100"}
    answer = client.post(reverse("consolidation:new"), body)
    assert answer.status_code == 400
    page = answer.content.decode()
    assert "less than or equal to 3" in page
    assert 'value="11"' in page
    good = client.post(reverse("consolidation:new"), {**body, "depth": "3", "request_key": "form-1"})
    again = client.post(reverse("consolidation:new"), {**body, "depth": "3", "request_key": "form-1"})
    assert Plan.objects.get().params["exact_up_to"] == 40
    assert (
        good.headers["Location"] == again.headers["Location"] == reverse("plans:detail", args=[Plan.objects.get().pk])
    )


@pytest.mark.django_db
def test_without_a_reading_the_form_says_so() -> None:
    client = Client()
    client.force_login(operator())
    assert "No cluster is observed yet." in client.get(reverse("consolidation:new")).content.decode()
