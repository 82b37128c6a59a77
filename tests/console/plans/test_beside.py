"""Two plans side by side."""

import pytest
from django.test import Client
from django.urls import reverse

from console.plans import selectors, services
from console.plans.models import Plan
from tests.builders.people import operator, viewer
from tests.console.plans.scene import TWO, ran, requested, scene, started, three_nodes, two
from tests.console.plans.test_holding import for_gang

pytestmark = pytest.mark.django_db


def page(plan_id: int, other: str = "") -> tuple[int, str]:
    client = Client()
    client.force_login(viewer())
    answer = client.get(reverse("plans:beside", args=[plan_id]), {"plan": other} if other else {})
    return answer.status_code, answer.content.decode()


def test_what_differs_is_said_and_who_is_better() -> None:
    one = scene(three_nodes())
    large, small = one.plan(*TWO, seed=1), one.plan(TWO[0], seed=2)
    found = selectors.comparison(viewer(), large.pk, small.pk)
    lines = {line.label: (line.left, line.right, line.change, line.better) for line in found.figures}
    assert lines["Net emptied nodes"] == ("2", "1", "−1", "left")
    assert lines["Moves"] == ("2", "1", "−1", "right")
    assert lines["GPUs moved"] == ("4", "2", "−2", "right")
    assert lines["Waves"] == ("1", "1", "0", "")
    assert found.asked == [("Seed", "1", "2")]
    assert (found.both.names, found.only_left.names, found.only_right.names) == (["n1"], ["n2"], [])
    assert (found.same_moves, found.same_reading) == (1, True)


def test_the_newest_other_plan_is_taken_unless_one_is_named() -> None:
    one = scene(three_nodes())
    first, second, third = (one.plan(*TWO, seed=seed) for seed in (1, 2, 3))
    assert f"Beside plan {third.pk}" in page(first.pk)[1]
    assert f"Beside plan {second.pk}" in page(first.pk, str(second.pk))[1]
    assert page(first.pk, "no number")[0] == 400
    assert page(first.pk, "999999")[0] == 404


def test_alone_and_without_an_answer() -> None:
    one = scene(three_nodes())
    plan = one.plan(*TWO)
    assert "There is no other plan for this cluster." in page(plan.pk)[1]
    waiting = requested(one.source)
    code, text = page(plan.pk, str(waiting.pk))
    assert code == 200 and "–" in text


def test_what_takes_a_plan_back_is_not_offered_for_comparison() -> None:
    _, plan = two()
    started(plan)
    ran(plan)
    back = services.roll_back(operator(), plan.pk, "put off")
    assert selectors.comparable(viewer(), plan) == []
    assert [other.pk for other in selectors.comparable(viewer(), back)] == [plan.pk]


def test_plans_with_goals_are_compared_in_the_measure_of_what_they_were_asked_for() -> None:
    one, first = for_gang()
    other = Plan.objects.create(
        kind="consolidation", title="again", source=one.source, cluster=first.cluster, proposer=operator(),
        digest="0" * 64, headline={**first.headline, "goal": {**first.headline["goal"], "reached": 1}},
    )  # fmt: skip
    found = selectors.comparison(viewer(), first.pk, other.pk)
    lines = {line.label: (line.left, line.right, line.better) for line in found.figures}
    assert lines["Reached, members"] == ("2", "1", "left")
    assert "Net emptied nodes" not in lines
    whole = Plan.objects.create(
        kind="consolidation", title="nodes", source=one.source, cluster=first.cluster, proposer=operator(),
        digest="1" * 64, headline={**first.headline, "goal": None, "net_emptied": 3},
    )  # fmt: skip
    found = selectors.comparison(viewer(), first.pk, whole.pk)
    reached = next(line for line in found.figures if line.label == "Reached")
    assert (reached.left, reached.right, reached.change) == ("2 of 2 members", "3 nodes emptied net", "–")
    assert f"Plan {whole.pk}, seed 0, 3 nodes emptied net" in page(first.pk)[1]
