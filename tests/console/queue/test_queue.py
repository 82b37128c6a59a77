"""The queue: what is kept of each reading, what a job's page tells of it, and what whom is told."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from console.inventory import services as services_of_files
from console.inventory.models import Source
from console.inventory.selectors import NotThereError
from console.queue import planning, selectors, services
from console.queue.choices import Outcome, Reason, RemedyKind
from console.queue.models import EndedJob, Job, Standing, Turn
from console.queue.selectors import QueueFilters
from console.queue.services import keeping
from console.queue.sightings import Explained
from console.rest.errors import Conflict
from console.tenancy.entries import Given
from console.tenancy.models import Tenant
from console.tenancy.services import UsageRow, record_usage
from scheduler.admission.reasons import LABELS, PRECEDENCE
from scheduler.advice import remedy
from scheduler.replay.forecast import Forecast, Start
from tests.builders.books import edited, tenant_entry
from tests.builders.fleets import read
from tests.builders.people import operator, tenant
from tests.builders.worlds import world
from tests.console.queue.scene import PODS, TENANTS, WAITING, explained, job, mixed

pytestmark = pytest.mark.django_db


def test_the_words_are_those_of_the_core() -> None:
    assert tuple(Reason.values) == PRECEDENCE
    assert {word: str(Reason(word).label) for word in Reason.values} == LABELS


def test_a_job_from_its_wait_to_its_end() -> None:
    gang = {"gang": "g"}
    base = world().nodes("n1", "n2").gang("g", 2).pod("a", "n1", 8)
    explained(base)
    waits = world(2000).nodes("n1", "n2").gang("g", 2).pod("a", "n1", 8)
    explained(waits.pod("g-0", gpus=8, **gang).pod("g-1", gpus=8, **gang))
    row = job("g")
    assert (row.state, row.reason, row.pods, row.since_known) == ("pending", "capacity", 2, True)
    free = world(3000).nodes("n1", "n2").gang("g", 2)
    explained(free.pod("g-0", gpus=8, **gang).pod("g-1", gpus=8, **gang))
    partly = world(4000).nodes("n1", "n2").gang("g", 2)
    explained(partly.pod("g-0", "n1", 8, **gang).pod("g-1", gpus=8, **gang))
    explained(world(5000).nodes("n1", "n2").gang("g", 2).pod("g-0", "n1", 8, **gang).pod("g-1", "n2", 8, **gang))
    assert (job("g").state, job("g").running, job("g").since) == ("running", 2, row.since)
    explained(world(6000).nodes("n1", "n2").gang("g", 2))
    card = selectors.job_card(operator(), "default", "jobs/g")
    assert (card.state, card.members, card.pods) == ("gone", (), 0)
    told = [(one.kind, one.reason, one.running) for one in reversed(card.sightings)]
    assert told == [
        ("waits", "capacity", 0), ("reason", "fits_now", 0), ("members", "fits_now", 1), ("started", "", 2),
        ("gone", "", 0),
    ]  # fmt: skip


def test_a_reading_is_kept_once_and_never_after_a_newer_one() -> None:
    first = explained(world().node("n1").pod("a", gpus=4))
    assert job("a").since_known is False, "nobody knows how long it waited before the first reading"
    assert services.next_reading(first.source_id) is None
    assert services.explain_due() == 0
    second = explained(world(2000).node("n1").pod("a", gpus=8).pod("b", gpus=1))
    before = list(Job.objects.values())
    assert not services.keep(first.source_id, first, Explained(first.revision, (), {}, 0.0))
    assert list(Job.objects.values()) == before
    assert (Turn.objects.get().revision, job("b").since_known) == (second.revision, True)


def test_each_job_has_one_reason_and_sums_add_up() -> None:
    explained(mixed())
    found = {row.key.partition("/")[2]: row.reason for row in selectors.queue_rows(operator(), QueueFilters()).rows}
    assert found == {
        "quota-a": "quota", "room-b": "fits_now", "before-d": "fits_now", "behind-c": "queued", "away-e": "constraint",
        "victims-f": "waiting_for_victims", "taint-g": "misconfigured", "huge-h": "misconfigured",
        "nomodel-i": "no_such_model",
    }  # fmt: skip
    totals = selectors.queue_totals(operator())
    assert totals.jobs == len(WAITING) == sum(one.jobs for one in totals.reasons)
    assert totals.gpu_milli == sum(one.gpu_milli for one in totals.reasons)
    standing = Standing.objects.get()
    assert standing.totals == {one.reason: [one.jobs, one.gpu_milli] for one in totals.reasons}
    rows = {row.key: row for row in selectors.running_rows(operator(), QueueFilters()).rows}
    assert (rows["jobs/rb"].nodes, rows["jobs/rb"].asws, rows["jobs/rb"].entropy) == (2, 2, 0.5983)
    waits = selectors.job_card(operator(), "default", "jobs/victims-f")
    assert waits.starts_by is not None
    (held,) = selectors.job_card(operator(), "default", "jobs/quota-a").quota
    assert (held.account, held.nominal, held.quota, held.hp, held.available) == ("dept", 8000, 8000, 8000, 0)


PAGES = (
    "/queue/?limit=200", "/queue/?show=running", "/queue.csv", "/queue.csv?show=running", "/api/v1/queue/",
    "/api/v1/queue/running/", "/api/v1/queue/totals/",
)  # fmt: skip


def _foreign(own: set[str]) -> set[str]:
    """Names that a person of these tenants must nowhere read."""
    pods = {pod for pod, fields in PODS.items() if fields["tenant"] not in own}
    return pods | (set(TENANTS) - own) | ({"app=hush"} if not own & {"t-b", "t-c"} else set())


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(own=st.sets(st.sampled_from(TENANTS), max_size=3))
def test_nobody_reads_a_name_of_others(own: set[str]) -> None:
    """Whatever tenants somebody belongs to: names of others are in no row and no card, and they count in sums."""
    if not Turn.objects.exists():
        explained(mixed())
    person = tenant("t-a")
    person.tenants.set([Tenant.objects.get_or_create(name=name)[0] for name in own])
    rows = selectors.queue_rows(person, QueueFilters(), size=200).rows
    found: list[Any] = [*rows, *selectors.running_rows(person, QueueFilters(), size=200).rows]
    found += [selectors.queue_names(person), selectors.running_names(person)]
    for pod, of in WAITING.items():
        if of in own:
            found.append(selectors.job_card(person, "default", f"jobs/{pod}"))
        else:
            with pytest.raises(NotThereError):
                selectors.job_card(person, "default", f"jobs/{pod}")
    text = repr(found)
    assert {name for name in _foreign(own) if name in text} == set()
    mine = sum(of in own for of in WAITING.values())
    others = selectors.others_totals(person)
    assert others is not None
    assert (len(rows), others.jobs) == (mine, len(WAITING) - mine)


def test_no_page_and_no_answer_carries_a_name_of_others() -> None:
    explained(mixed())
    person = tenant("t-a", "t-f")
    texts = {path: _read(person, path) for path in (*PAGES, reverse("queue:job", args=["default", "jobs", "quota-a"]))}
    foreign = _foreign({"t-a", "t-f"})
    assert {(path, name) for path, text in texts.items() for name in foreign if name in text} == set()
    assert _client(person, "").get(reverse("queue:job", args=["default", "jobs", "room-b"])).status_code == 404


def _read(person: Any, path: str) -> str:
    answer = _client(person, path).get(path)
    assert answer.status_code == 200, path
    body: bytes = answer.getvalue() if answer.streaming else answer.content
    return body.decode()


def _client(person: Any, path: str) -> Any:
    if path.startswith("/api"):
        api = APIClient()
        api.force_authenticate(person)
        return api
    client = Client()
    client.force_login(person)
    return client


def test_filters_orders_and_the_file_are_one() -> None:
    explained(mixed())
    viewer = operator()
    rows = selectors.queue_rows(viewer, QueueFilters(reason="misconfigured"), sort="-gpus").rows
    assert [row.key for row in rows] == ["jobs/huge-h", "jobs/taint-g"]
    assert selectors.queue_totals(viewer, QueueFilters(reason="quota")).jobs == 1
    assert [row.key for row in selectors.queue_rows(viewer, QueueFilters(model="H20")).rows] == ["jobs/taint-g"]
    lines = _read(viewer, "/queue.csv?tenant=t-d&sort=priority").splitlines()
    assert [line.split(",")[2] for line in lines[1:]] == ["jobs/before-d", "jobs/room-b"]
    page = _read(viewer, "/queue/?show=running&text=rb")
    assert "jobs/rb" in page
    assert "jobs/ra" not in page
    card = selectors.job_card(viewer, "default", "jobs/rb")
    assert (card.state, card.members_total, card.tenant) == ("", 2, "t-b")


def test_what_would_unblock_it_is_asked_once_and_answered_on_a_reading() -> None:
    made = world().asw("a").nodes("n1", "n2").pod("a", "n1", 4).pod("b", "n2", 4, tenant="secretive").pod("c", gpus=8)
    observation = explained(made)
    row, person = job("c"), tenant("t1")
    assert selectors.job_inquiry(person, row) is None
    asked = services.ask_unblock(person, row)
    assert services.ask_unblock(operator(), row).pk == asked.pk, "one question at a time"
    planning.unblock_job(asked.pk)
    planning.unblock_job(asked.pk)  # delivered twice
    found = selectors.job_inquiry(operator(), row)
    assert found is not None
    assert (found.state, found.revision, found.solved) == ("done", observation.revision, "found")
    moves = next(one for one in found.remedies if one.kind == "consolidation")
    assert (moves.outcome, moves.sentence) == ("found", "1 move in 1 wave make room for it.")
    assert "secretive" not in repr(selectors.job_inquiry(person, row))
    page = _read(operator(), reverse("queue:job", args=["default", "jobs", "c"]))
    assert "Ask for this plan" in page
    assert "Ask for this plan" not in _read(person, reverse("queue:job", args=["default", "jobs", "c"]))
    explained(world(2000).nodes("n1", "n2").pod("c", "n1", 8))
    with pytest.raises(Conflict):
        services.ask_unblock(person, row)


def test_remedies_have_the_words_of_the_core() -> None:
    assert {*RemedyKind.values} == {remedy.QUOTA_MORE, remedy.BUDGET_MORE, remedy.VICTIMS, remedy.MOVES,
                                    remedy.SHAPE, remedy.MODEL, remedy.WAIT}  # fmt: skip
    assert {*Outcome.values} == {*remedy.BEST_FIRST}


def test_a_spent_budget_holds_jobs_and_whoever_is_below_reads_no_name_and_no_sum() -> None:
    above, own = {"rolling-2": {"gpu_hours": 1}, "rolling-7": {"usd": 5}}, {"rolling-7": {"usd": 0}}
    edited(tenant_entry("secretive", budgets=above), tenant_entry("t1", "secretive", budgets=own))
    at, use = timezone.now(), [UsageRow("default", "t1", "H100-SXM5-80GB", 3000, 0, 0)]
    record_usage(77, "s", use, at - timedelta(hours=1), stood=None)
    record_usage(77, "s", use, at, stood=(at - timedelta(hours=1), at))
    explained(world().node("n1").pod("h", gpus=2))
    row = job("h")
    assert (row.reason, row.told["reason"]["numbers"]["spent_budgets"]) == ("budget", 3)
    planning.unblock_job(services.ask_unblock(operator(), row).pk)
    every, mine = (selectors.job_card(who, "default", "jobs/h") for who in (operator(), tenant("t1")))
    assert every.inquiry is not None
    raised = next(one for one in every.inquiry.remedies if one.kind == "budget")
    assert (raised.outcome, raised.cost, raised.unit) == ("found", 34.4, "USD"), "three GPU-hours, and two more"
    assert "that of secretive (last 2 days) by 4 GPU-hours" in raised.sentence
    assert "secretive" not in repr(mine)
    assert mine.primary is not None
    assert "the budget of 0.00 USD last 7 days is spent, 20.64 USD in all" in mine.primary.sentence
    edited(tenant_entry("t1", "secretive"))
    explained(world(2000).node("n1").pod("h", gpus=2))
    below = selectors.job_card(tenant("t1"), "default", "jobs/h").primary
    assert below is not None
    assert below.sentence.startswith("Nothing more may start until ")
    assert "GPU-hours" not in repr(below), "what the group above has used is not told"


def test_what_runs_is_kept_and_what_ended_is_the_past_of_others() -> None:
    edited(Given("class", "prod", {"value": 5}))
    base = world(1000).asw("a").node("n1").gang("g", 2).pod("g-0", "n1", 1, gang="g", started_s=0)
    base.pod("g-1", "n1", 1, gang="g", started_s=10).pod("s", "n1", 2, started_s=400, tier="LP", priority=7)
    explained(base.pod("cpu", "n1", 0).agent("d", "n1", gpus=1))
    rows = {row.key: row for row in selectors.running_rows(operator(), QueueFilters()).rows}
    assert {key: (row.gang, row.pods, row.asws, row.priority_class) for key, row in rows.items()} == {
        "jobs/g": (True, 2, 1, ""), "jobs/s": (False, 1, 1, "prod"),
    }  # fmt: skip
    narrow = QueueFilters(tier="LP", priority_class="prod", model="H100-SXM5-80GB", tenant="t1", text="s")
    assert [row.key for row in selectors.running_rows(operator(), narrow).rows] == ["jobs/s"]
    assert [row.key for row in selectors.running_csv(operator(), QueueFilters(), sort="job")] == ["jobs/g", "jobs/s"]
    explained(world(1600).asw("a").node("n1").gang("g", 2).pod("g-0", "n1", 1, gang="g", started_s=0))
    assert [(row.key, row.pods) for row in selectors.running_rows(operator(), QueueFilters()).rows] == [("jobs/g", 1)]
    ended = EndedJob.objects.get()
    assert (ended.tenant, ended.gpu_milli, ended.entered_s) == ("t1", 2000, 600)
    past, arrived = services.past_of(ended.source_id, timezone.now())
    assert [(row[1], row[3]) for row in past] == [(2000, True), (1000, False)]
    assert len(arrived) == 2


def test_a_start_is_foretold_once_for_a_reading_and_tells_nothing_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop itself has tests of its own, and takes long to compile."""
    made = world(1000).node("n1").pod("a", "n1", 8, tenant="secretive", started_s=990).pod("h", gpus=8)
    made.pod("first", gpus=8, tenant="unseen-corp", priority=9)
    observation = explained(made)
    for at in range(40):
        EndedJob.objects.create(
            source_id=observation.source_id, tenant="secretive", gpu_milli=8000, entered_s=0, left_s=600 + 10 * at,
            started_at=timezone.now() - timedelta(days=9), ended_at=timezone.now() - timedelta(days=8),
        )  # fmt: skip
    seen: list[Any] = []

    def foretold(found: Any, past: Any, **asked: Any) -> Forecast:
        seen.append((len(past), len(asked["arrived"])))
        return Forecast(tuple(Start(60, 600, None, 17, 20) for _ in found.rows), {"unknown": 8000}, 86_400, 3.5)

    monkeypatch.setattr(planning, "forecast", foretold)
    row, person = job("h"), tenant("t1")
    asked = services.ask_start(person, row)
    assert services.ask_start(operator(), row).pk == asked.pk, "one replay at a time"
    planning.foretell_queue(asked.pk)
    planning.foretell_queue(asked.pk)  # delivered twice
    start = selectors.job_start(person, row)
    assert start is not None
    assert (start.state, start.revision, start.runs) == ("done", observation.revision, 20)
    assert (start.earliest_at, start.latest_at) == (observation.begun_at + timedelta(seconds=60), None)
    assert seen == [(41, 41)], "once, with those that ended and the one that runs"
    assert services.ask_start(operator(), row).state == "done", "worked out for this reading already"
    page = _read(person, reverse("queue:job", args=["default", "jobs", "h"]))
    assert "Eight times of ten between" in page
    assert "1 other job" in page
    assert not {name for name in ("secretive", "unseen-corp", "jobs/first") if name in page}
    assert "jobs/first" in _read(operator(), reverse("queue:job", args=["default", "jobs", "h"]))


COSTS = ("/queue/?limit=200", "/queue/?show=running", "/api/v1/queue/", "/queue/default/jobs/p0/")


def _costs(jobs: int, now_s: int) -> dict[str, int]:
    """Queries of each page, once caches are warm."""
    made = world(now_s).node("n1", 1).gang("g", 1).pod("r", "n1", gang="g")
    for number in range(jobs):
        made.pod(f"p{number}", gpus=1)
    explained(made)
    found = {}
    for path in COSTS:
        client = _client(operator(), path)
        client.get(path)
        with CaptureQueriesContext(connection) as asked:
            assert client.get(path).status_code == 200
        found[path] = len(asked)
    return found


def test_pages_cost_no_more_queries_with_more_jobs() -> None:
    few, many = _costs(2, 1000), _costs(30, 2000)
    assert few == many
    assert max(few.values()) <= 25


def test_of_a_reason_that_comes_and_goes_only_the_newest_sightings_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOST_SIGHTINGS", 3)
    for turn in range(5):
        explained(world(1000 * turn).node("n1", 4).pod("a", "n1", 3 * (turn % 2)).pod("b", gpus=2))
    found = selectors.job_card(operator(), "default", "jobs/b").sightings
    assert [one.reason for one in found] == ["fits_now", "capacity", "fits_now"]


def test_a_waiting_pod_leads_to_the_job_that_it_belongs_to() -> None:
    explained(world().node("n1").gang("g", 1).pod("g-0", gpus=4, gang="g"))
    page = _read(operator(), reverse("inventory:pod", args=["default", "jobs/g-0"]))
    assert selectors.job_card(operator(), "default", "jobs/g").state == "pending"
    (where,) = re.findall(r'href="(/queue/job[^"]*)"', page)
    assert "jobs/g" in _read(operator(), html.unescape(where))
    file = Source.objects.get(name="file")
    services_of_files.load_snapshot_file(operator(), "file", world(2000).node("n1").pod("new", gpus=1).json())
    read(file)
    card = selectors.job_card(operator(), "default", "jobs/new")
    assert (card.state, card.gang, card.members_total) == ("", False, 1), "it is there before it is explained"
