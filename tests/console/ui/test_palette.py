"""The palette shows some of each kind and says how many match."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.builders.fleets import observed
from tests.builders.people import operator
from tests.builders.worlds import world

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("nodes", "shown", "total", "more"), [(3, 3, 3, False), (60, 8, 60, False), (120, 8, 100, True)]
)
def test_what_matches_is_counted_beside_what_is_shown(nodes: int, shown: int, total: int, more: bool) -> None:
    observed(world().nodes(*(f"rack{n}" for n in range(nodes))))
    client = Client()
    client.force_login(operator())
    found = client.get(reverse("ui:palette") + "?q=rack").json()
    assert (len(found["hits"]), found["total"], found["more"]) == (shown, total, more)
