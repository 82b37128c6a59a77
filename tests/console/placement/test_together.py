"""Several waiting jobs at once: the first of the queue, beside the largest first, cut to what a viewer may see."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from console.audit.models import Entry
from console.inventory.selectors import NotThereError
from console.placement import planning, selectors, services
from console.placement.choices import DIFFERENCES
from console.placement.models import Question
from console.rest.errors import FieldError
from scheduler.placement import beside
from tests.builders.books import edited, tenant_entry
from tests.builders.fleets import observed
from tests.builders.people import operator, tenant, viewer
from tests.builders.worlds import World
from tests.scheduler.placement.test_joint import racks

pytestmark = pytest.mark.django_db
WAITING = (("small", 2, 30, "ours"), ("large", 4, 20, "theirs"), ("middle", 3, 10, "ours"), ("last", 1, 0, "theirs"))


def queue() -> World:
    """Largest first, ``large`` takes the switch of five and the two others do not both fit."""
    made = racks([5, 4])
    for name, count, priority, whose in WAITING:
        made.gang(name, count, topology={"required": "asw"})
        for i in range(count):
            made.pod(f"{name}-{i}", gpus=8, gang=name, priority=priority, tenant=whose)
    return made


def asked(user: Any, **fields: Any) -> Question:
    """Answered as a worker does it."""
    source = observed(queue()).source_id
    question = services.ask_together(user, source_id=source, cluster="default", asked=fields)
    planning.answer(question.pk)
    return Question.objects.get(pk=question.pk)


def told(user: Any, question: Question) -> dict[str, Any]:
    row = selectors.answer_row(user, question.pk)
    assert (row.state, row.failure) == ("done", "")
    assert row.joint is not None
    return row.joint


def test_the_first_of_the_queue_are_told_job_by_job_beside_the_largest_first() -> None:
    found = told(viewer(), asked(operator(), first=3))
    assert [(job["position"], job["job"], job["gpus"]) for job in found["jobs"]] == [
        (1, "jobs/small", 16), (2, "jobs/large", 32), (3, "jobs/middle", 24),
    ]  # fmt: skip
    assert (found["waiting"], found["ok"], found["proven"], found["most_gpus"]) == (4, True, True, 72)
    assert (found["together"]["jobs"], found["largest_first"]["jobs"], found["largest_first"]["gpus"]) == (3, 2, 56)
    only = [job for job in found["jobs"] if job["greedy"] is None]
    assert [job["difference"] for job in only] == ["joint_only"]
    nodes = [one["node"] for job in found["jobs"] for one in job["joint"]["nodes"]]
    assert len(nodes) == len(set(nodes)) == 9
    assert all(len(job["joint"]["domains"]) == 1 and job["joint"]["entropy"] == 0 for job in found["jobs"])
    assert Entry.objects.get(action="placement.asked").detail == {"cluster": "default", "first": 3}


def test_a_tenant_places_its_own_jobs_alone_and_sees_no_node() -> None:
    own = tenant("ours")
    mine = asked(own)
    found = told(own, mine)
    assert [(job["position"], job["job"]) for job in found["jobs"]] == [(1, "jobs/small"), (3, "jobs/middle")]
    assert [job["joint"]["nodes"] for job in found["jobs"]] == [[], []]
    assert all(job["joint"]["domains"][0]["domain"].startswith("asw-") for job in found["jobs"])
    with pytest.raises(FieldError, match="theirs"):
        services.ask_together(own, source_id=mine.source_id, cluster="default", asked={"tenant": "theirs"})
    with pytest.raises(NotThereError):
        selectors.answer_row(own, asked(operator(), first=3).pk)
    own.tenants.clear()
    row = selectors.answer_row(own, mine.pk)
    assert (row.state, row.answer, row.failure) == ("failed", None, selectors.STRANGERS)


def test_a_team_that_names_its_namespaces_has_the_jobs_in_them() -> None:
    crew = tenant_entry("crew", "ours")
    edited(tenant_entry("ours"), replace(crew, document={**crew.document, "namespaces": ["jobs"]}))
    member = tenant("crew")
    found = told(member, asked(member, tenant="crew"))
    assert [(job["job"], job["tenant"]) for job in found["jobs"]] == [("jobs/small", "crew"), ("jobs/middle", "crew")]
    assert selectors.scopes(member)[0].tenants == ("crew",)


def test_one_tenant_or_one_model_may_be_asked_about() -> None:
    theirs = told(operator(), asked(operator(), tenant="theirs"))
    assert [job["job"] for job in theirs["jobs"]] == ["jobs/large", "jobs/last"]
    nobody = observed(racks([1])).source_id
    question = services.ask_together(operator(), source_id=nobody, cluster="default", asked={})
    planning.answer(question.pk)
    assert (told(operator(), question)["jobs"], told(operator(), question)["waiting"]) == ([], 0)
    for field, wrong in (("first", 0), ("first", 51), ("model", "T4"), ("tenant", "nobody"), ("cluster", "nowhere")):
        with pytest.raises(FieldError) as refused:
            said = {field: wrong}
            services.ask_together(operator(), source_id=nobody, cluster=str(said.pop("cluster", "default")), asked=said)
        assert refused.value.field == field


def test_the_words_are_those_of_the_core() -> None:
    assert tuple(DIFFERENCES) == beside.DIFFERENCES


def test_form_answer_map_and_api(client: Client) -> None:
    question = asked(operator(), first=3)
    client.force_login(operator())
    sent = {"scope": f"{question.source_id}|default", "first": 2, "tenant": "ours"}
    answer = client.post(reverse("placement:together"), sent)
    newest = Question.objects.first()
    assert newest is not None
    assert answer["Location"] == reverse("placement:answer", args=[newest.pk])
    assert newest.asked == {"first": 2, "model": "", "tenant": "ours"}
    assert "a worker takes it next" in client.get(answer["Location"]).content.decode()
    assert client.post(reverse("placement:together"), {**sent, "first": 99}).status_code == 400
    assert 'value="2"' in client.get(reverse("placement:ask"), {"like": newest.pk}).content.decode()
    page = client.get(reverse("placement:answer", args=[question.pk])).content.decode()
    assert "Starts only together" in page
    assert "3 of 3 start" in page
    body = client.get(reverse("placement:map", args=[question.pk])).content
    nodes = 12
    assert sum(mark > 0 for mark in body[16 + 2 * nodes : 16 + 3 * nodes]) == 9
    url = reverse("api:placements-together")
    made = client.post(url, {"source": question.source_id, "cluster": "default"}, "application/json").json()
    assert (made["jobs"], made["asked"]) == ({"first": 20, "model": "", "tenant": ""}, None)
    again = client.get(reverse("api:placement", args=[question.pk])).json()
    assert (again["answer"], again["joint"]["together"]["jobs"]) == (None, 3)
