"""How much may happen without a person: the most careful level of all that a plan touches."""

from typing import Any

import pytest
from django.urls import reverse

from console.plans import selectors, services
from console.policies.choices import APPROVE, OBSERVE, RECOMMEND, Place, Scope
from console.policies.models import Setting
from console.policies.selectors import names_of
from tests.builders.people import approver, operator
from tests.console.plans.scene import two

pytestmark = pytest.mark.django_db
POOL = Place(Scope.POOL, "default", "H100-SXM5-80GB")
OTHER = Place(Scope.POOL, "default", "L4")


def decide(place: Place, level: int) -> None:
    Setting.objects.create(name="autonomy", value=level, version=1, by=approver("owner"), reason="r", **names_of(place))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([], ("approve", "built in")),
        ([(Place(), APPROVE), (POOL, RECOMMEND)], ("recommend", POOL.words)),
        ([(Place(), RECOMMEND), (POOL, OBSERVE)], ("observe", POOL.words)),
        ([(OTHER, OBSERVE)], ("approve", "built in")),
        ([(Place(), OBSERVE), (POOL, APPROVE)], ("observe", "the whole fleet")),
    ],
)
def test_the_most_careful_level_counts(said: list[tuple[Place, int]], expected: tuple[str, str]) -> None:
    for place, level in said:
        decide(place, level)
    level = selectors.level_of(two()[1])
    assert (level.words, level.origin) == expected


def test_observed_pools_have_reports_alone(client: Any) -> None:
    decide(POOL, OBSERVE)
    plan = two()[1]
    with pytest.raises(services.Conflict, match="Pool H100-SXM5-80GB in default is at the level of observe"):
        services.approve_plan(approver(), plan.pk, plan.digest, "yes")
    client.force_login(approver())
    text = client.get(reverse("plans:detail", args=[plan.pk])).content.decode()
    assert "plans there are reports" in text
    assert "Approve 2 moves" not in text


def test_where_plans_are_recommended_a_start_is_an_act_of_its_own(client: Any) -> None:
    decide(POOL, RECOMMEND)
    plan = two()[1]
    client.force_login(approver())
    text = client.get(reverse("plans:detail", args=[plan.pk])).content.decode()
    assert "Approve 2 moves" in text
    assert 'name="start"' not in text
    with pytest.raises(services.Conflict, match="an approval starts nothing"):
        services.approve_plan(approver(), plan.pk, plan.digest, "yes", start=True)
    assert services.approve_plan(approver(), plan.pk, plan.digest, "yes").state == "approved"
    assert services.start_plan(operator(), plan.pk).state == "executing"


def test_the_levels_are_words_on_the_page_of_policies(client: Any) -> None:
    decide(POOL, RECOMMEND)
    decide(Place(), OBSERVE)
    client.force_login(approver())
    address = reverse("policies:list") + "?cluster=default&gpu_model=H100-SXM5-80GB"
    text = client.get(address).content.decode()
    assert "recommend" in text
    form = client.get(reverse("policies:edit") + "?name=autonomy").content.decode()
    assert '<option value="0" selected>observe</option>' in form
