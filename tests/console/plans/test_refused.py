"""What a page of a plan says when something was refused or has changed, and where it leads from there."""

import re
from typing import Any

import pytest
from django.urls import reverse

from console.plans import services, tables
from console.ui.tones import reason_of
from tests.builders.people import operator
from tests.builders.worlds import world
from tests.console.plans.browsing import client_of, page_of
from tests.console.plans.scene import arrives, move, scene, two

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["cut/", "approve/", "leave-out/"])
def test_an_address_for_posts_leads_to_the_page_when_it_is_opened(name: str) -> None:
    _, plan = two()
    page = reverse("plans:detail", args=[plan.pk])
    answer = client_of(operator()).get(f"{page}{name}?part=head")
    assert (answer.status_code, answer["Location"]) == (302, f"{page}?part=head")
    assert client_of(operator()).put(f"{page}{name}").status_code == 405


def test_the_address_that_lifts_a_freeze_leads_to_the_freezes_when_it_is_opened() -> None:
    answer = client_of(operator()).get(reverse("plans:lift", args=[1]))
    assert (answer.status_code, answer["Location"]) == (302, reverse("plans:freezes"))


def test_a_refused_cut_shows_a_page_whose_parts_are_fetched_from_the_plan() -> None:
    one, plan = two()
    one.happen(arrives("late", "n1", 1))
    client, page = client_of(operator()), reverse("plans:detail", args=[plan.pk])
    answer = client.post(reverse("plans:cut", args=[plan.pk]), {"moves": 1})
    assert answer.status_code == 409
    shown = answer.content.decode()
    parts = re.findall(r'hx-get="([^"]*part=[^"]*)"', shown)
    assert len(parts) >= 4 and all(part.startswith(f"{page}?") for part in parts)
    assert {client.get(part.replace("&amp;", "&")).status_code for part in parts} <= {200, 204}
    assert "Cut and check again" in shown
    services.sweep()
    stale = page_of(operator(), plan)
    assert "Cut and check again" not in stale and "A plan that is stale is not cut." in stale


def test_room_that_others_took_is_said_in_words_with_its_unit_and_wave() -> None:
    made = world().nodes("n1", "n2").pod("a", "n1", 2).pod("b", "n2", 5, locked=True)
    one = scene(made)
    plan = one.plan(move("a", "n1", "n2", 0))
    one.happen(arrives("late", "n2", 2))
    services.sweep()
    page = page_of(operator(), plan, "?part=stale")
    assert "Move 1 of wave 1: n2 short by 1 GPU" in re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))


@pytest.mark.parametrize(
    ("kind", "field", "was", "now", "words"),
    [
        ("node", "cpu", None, 24000, "short by 24 cores"),
        ("node", "cpu", None, 1000, "short by 1 core"),
        ("node", "memory", None, 1536, "short by 1.50 GiB"),
        ("node", "gpus", None, 2, "short by 2 GPUs"),
        ("node", "max_pods", None, 1, "short by room for 1 pod"),
        ("pod", "cpu_milli", 4000, 8000, "CPU 4 cores → 8 cores"),
        ("node", "cordoned", 0, 1, "cordoned no → yes"),
        ("plan", "emptied_nodes", 1, 0, "ends empty yes → no"),
        ("node", "node", "present", None, "node present → gone"),
    ],
)
def test_each_change_of_a_move_has_words(kind: str, field: str, was: Any, now: Any, words: str) -> None:
    change = {"kind": kind, "object": "x", "field": field, "was": was, "now": now, "moves": [0]}
    assert tables._difference(change) == words


def test_nodes_that_a_cut_leaves_have_words() -> None:
    assert reason_of("cut").label == "Left out by a cut"
