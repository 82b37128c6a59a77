"""Questions where a job should go: asked once, answered by a worker, cut to what a viewer may see."""

import struct
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from console.audit.models import Entry
from console.inventory.selectors import NotThereError
from console.placement import planning, selectors, services
from console.placement.choices import RANGES
from console.placement.models import Question
from console.rest.errors import FieldError
from scheduler.cluster.errors import ParamError
from scheduler.performance.step_time import Parallelism
from scheduler.placement.request import Group
from tests.builders.fleets import observed
from tests.builders.people import operator, tenant, viewer
from tests.builders.worlds import World, world

pytestmark = pytest.mark.django_db
MODEL = "H100-SXM5-80GB"
CORE = {"pods": "count", "tp": "tp", "pp": "pp", "ep": "ep"}


def fleet() -> World:
    made = world().asw("asw-1").nodes("n1", "n2", "n3").asw("asw-2").nodes("n4", "n5")
    return made.pod("secret-pod", "n1", gpus=8, tenant="theirs")


def asked(user: Any = None, **fields: Any) -> Question:
    """Answered as a worker does it."""
    source = observed(fleet()).source_id
    question = services.ask(user or operator(), source_id=source, cluster="default", asked={"pods": 2, **fields})
    planning.answer(question.pk)
    return Question.objects.get(pk=question.pk)


def test_an_answer_says_where_how_good_and_what_else() -> None:
    question = asked(required="asw", billions=7.0, tp=8)
    row = selectors.answer_row(viewer(), question.pk)
    assert row.answer is not None
    best = row.answer["best"]
    assert (row.state, best["level"], best["domain"], best["entropy"]) == ("done", "asw", "asw-1", 0)
    assert [one["node"] for one in best["nodes"]] == ["n2", "n3"]
    assert best["predicted"]["all_reduce_seconds"] > 0
    assert best["predicted"]["step"]["compute"] > 0
    assert row.answer["alternatives"][0]["domain"] == "asw-2"
    assert {one["level"]: one["gpus"] for one in row.answer["fits"]} == {"host": 8, "asw": 16, "cluster": 32}
    entry = Entry.objects.get(action="placement.asked")
    assert entry.detail == {"cluster": "default", "pods": 2, "gpus": 8}


def test_what_does_not_fit_says_why() -> None:
    row = selectors.answer_row(operator(), asked(pods=3, required="asw").pk)
    assert row.answer is not None
    assert (row.answer["ok"], row.answer["reason"], row.answer["proven"]) == (False, "topology", True)
    assert row.answer["largest_fit"] == 16


def test_one_job_is_told_one_model_unless_it_may_mix_them() -> None:
    made = fleet().nodes("h1", "h2", gpu_model="H20")
    source = observed(made).source_id
    for mixes, reason in ((False, "one_model"), (True, None)):
        asking = {"pods": 6, "mix_models": mixes}
        question = services.ask(operator(), source_id=source, cluster="default", asked=asking)
        planning.answer(question.pk)
        row = selectors.answer_row(operator(), question.pk)
        assert row.answer is not None
        assert (row.answer["reason"], row.asked["mix_models"]) == (reason, mixes)


WRONG: tuple[tuple[str, dict[str, Any]], ...] = (
    ("cluster", {"cluster": "nowhere"}),
    ("pods", {"pods": 0}),
    ("gpus", {"gpus": True}),
    ("model", {"model": "T4"}),
    ("required", {"required": "rack"}),
    ("slice_pods", {"pods": 4, "slice_pods": 3, "slice_level": "asw"}),
    ("slice_level", {"slice_pods": 2}),
    ("billions", {"billions": 0}),
    ("tp", {"billions": 7, "tp": 5}),
    ("ep", {"billions": 7, "ep": 64}),
)


def test_what_the_cluster_does_not_have_is_refused_at_its_field() -> None:
    source = observed(fleet()).source_id
    for field, change in WRONG:
        asks = {"pods": 2, **change}
        with pytest.raises(FieldError) as refused:
            services.ask(operator(), source_id=source, cluster=asks.pop("cluster", "default"), asked=asks)
        assert refused.value.field == field
    assert not Question.objects.exists()


def test_the_ranges_are_those_of_the_core() -> None:
    for name, found in RANGES.items():
        kind: Any = Parallelism if name in ("tp", "pp", "ep") else Group
        kind(**{CORE.get(name, name): found.low})
        with pytest.raises(ParamError):
            kind(**{CORE.get(name, name): found.low - 1})


def test_a_tenant_sees_its_own_questions_and_no_node() -> None:
    mine = asked(tenant("team-a"))
    theirs = services.ask(operator(), source_id=mine.source_id, cluster="default", asked={"pods": 1})
    row = selectors.answer_row(tenant("team-a"), mine.pk)
    assert row.answer is not None
    assert row.answer["best"]["nodes"] == []
    assert row.answer["best"]["gpus_by_domain"] == [{"domain": "asw-1", "gpus": 16}]
    assert "n2" not in str(row.answer)
    assert "theirs" not in str(selectors.answer_row(operator(), mine.pk).answer)
    with pytest.raises(NotThereError):
        selectors.answer_row(tenant("team-a"), theirs.pk)
    assert len(selectors.answer_rows(viewer(), 9)) == 2


def test_pages_show_question_answer_and_map(client: Client) -> None:
    question = asked()
    client.force_login(operator())
    sent = {"scope": f"{question.source_id}|default", **{name: found.default for name, found in RANGES.items()},
            "cpu_cores": 4, "memory_gib": 1, "tier": "HP", "required": "asw"}  # fmt: skip
    answer = client.post(reverse("placement:ask"), sent)
    newest = Question.objects.first()
    assert newest is not None
    assert answer["Location"] == reverse("placement:answer", args=[newest.pk])
    assert newest.asked["cpu_milli"] == 4000
    assert "Asked; a worker takes it next" in client.get(answer["Location"]).content.decode()
    assert "HX-Refresh" not in client.get(answer["Location"], headers={"HX-Request": "true"})
    planning.answer(newest.pk)
    assert client.get(answer["Location"], headers={"HX-Request": "true"})["HX-Refresh"] == "true"
    page = client.get(reverse("placement:answer", args=[question.pk])).content.decode()
    assert "Side by side" in page
    assert "Slackline binds" not in page
    assert "cluster&#x27;s own scheduler binds" in page or "cluster's own scheduler binds" in page
    body = client.get(reverse("placement:map", args=[question.pk])).content
    names = client.get(reverse("placement:map-layout", args=[question.pk])).json()["names"]
    assert struct.unpack("<4sIB7x", body[:16]) == (b"SLP1", 5, 4)
    marks = body[16 + 2 * 5 : 16 + 3 * 5]
    assert [name for name, mark in zip(names, marks, strict=True) if mark] == ["n2", "n3"]
    again = client.get(reverse("placement:ask"), {"like": newest.pk}).content.decode()
    assert 'value="4"' in again
    refused = client.post(reverse("placement:ask"), {**sent, "slice_pods": 3, "slice_level": "asw"})
    assert refused.status_code == 400
    assert "must divide the 4 pods" in refused.content.decode()


def test_a_worker_that_never_answered_is_told() -> None:
    question = asked()
    Question.objects.filter(pk=question.pk).update(
        state="working", asked_at=timezone.now() - timedelta(hours=1), answer=None
    )
    row = selectors.answer_row(operator(), question.pk)
    assert (row.state, row.failure) == ("failed", selectors.LOST)
    planning.answer(question.pk)  # delivered again
    assert Question.objects.get().state == "working"
