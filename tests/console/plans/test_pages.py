"""The plan's pages: what is shown, to whom, and at what cost."""

import csv
import hashlib
import json
import re
import struct
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from rest_framework.test import APIClient

from console.plans import services
from console.plans.choices import State
from console.plans.models import Plan
from console.plans.pages import fits_rows
from tests.builders.fleets import observed
from tests.builders.pages import squeezed
from tests.builders.people import approver, operator, tenant, viewer
from tests.builders.worlds import world
from tests.console.plans.browsing import client_of, page_of
from tests.console.plans.scene import TWO, arrives, move, ran, requested, scene, started, three_nodes, two

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"


def test_the_approver_sees_facts_and_a_button() -> None:
    _, plan = two()
    page = page_of(approver(), plan)
    assert "Approve 2 moves" in page
    assert "Reject" in page
    assert f'name="digest" value="{plan.digest}"' in page
    for words in ("Slack nodes", "Net emptied", "Gap to bound", "Not your own proposal", "All 2 moves hold"):
        assert words in page


def test_the_proposer_is_told_why_there_is_no_button() -> None:
    page = page_of(approver("both"), scene(three_nodes()).plan(*TWO, user=approver("both")))
    assert "Approve 2 moves" not in page
    assert "Why there is no Approve button" in page
    assert "somebody else must approve it" in page


def test_a_viewer_reads_and_can_do_nothing() -> None:
    _, plan = two()
    page = page_of(viewer(), plan)
    assert "may not approve plans" in page
    assert "Cut and check again" not in page
    assert 'formaction="' not in page


def test_a_stale_plan_stays_readable_and_names_what_changed() -> None:
    one, plan = two()
    one.happen(arrives("late", "n2", 1))
    services.sweep()
    page = page_of(operator(), Plan.objects.get(pk=plan.pk))
    assert "1 of 2 moves no longer hold." in page
    assert "Drop 1 and check again" in page
    assert "Compute a new plan" in page
    only = page_of(operator(), plan, "?stale=on&part=moves")
    assert "jobs/b" in only
    assert "jobs/a" not in only


def test_what_the_state_decides_can_be_fetched_anew_by_part() -> None:
    """Each such part names the topic and the address under which the open page asks for it again."""
    one, plan = two()
    page = page_of(operator(), plan)
    for part in ("head", "stale", "tiles", "side", "moves"):
        found = re.search(rf'<\w+[^>]*id="(?:plan-{part}|{part})"[^>]*>', page)
        assert found, part
        assert f'data-live="plan:{plan.pk}' in found[0]
        assert f"part={part}" in found[0]
    assert "no longer hold" not in page_of(operator(), plan, "?part=stale")
    one.happen(arrives("late", "n2", 1))
    services.sweep()
    assert "1 of 2 moves no longer hold." in page_of(operator(), plan, "?part=stale")


def test_the_page_rows_are_the_api_rows_and_the_csv_rows() -> None:
    _, plan = two()
    page = page_of(viewer(), plan)
    api = APIClient()
    api.force_authenticate(viewer())
    rows = api.get(reverse("api:plan-moves", args=[plan.pk])).json()["results"]
    answer = client_of(viewer()).get(reverse("plans:moves-csv", args=[plan.pk]))
    lines = list(csv.DictReader(answer.getvalue().decode().splitlines()))
    assert [row["pod"] for row in rows] == [line["pod"] for line in lines] == ["jobs/a", "jobs/b"]
    assert [row["target_node"] for row in rows] == [line["to"] for line in lines]
    for row in rows:
        assert row["pod"] in page
    kept = api.get(reverse("api:plan-kept", args=[plan.pk])).json()["results"]
    assert [row["node"] for row in kept] == ["n3"]
    everything = client_of(viewer()).get(reverse("plans:kept", args=[plan.pk])).content.decode()
    assert "n3" in everything
    assert "jobs/z" in everything


def test_the_download_is_what_is_signed() -> None:
    _, plan = two()
    answer = client_of(viewer()).get(reverse("plans:json", args=[plan.pk]))
    assert hashlib.sha256(answer.content).hexdigest() == plan.digest
    assert answer.headers["ETag"] == f'"{plan.digest}"'
    assert [one["pod"] for one in json.loads(answer.content)["moves"]] == ["jobs/a", "jobs/b"]


def test_the_map_is_one_byte_a_node_and_column_and_never_changes() -> None:
    _, plan = two()
    client = client_of(viewer())
    answer = client.get(reverse("plans:map", args=[plan.pk]))
    magic, nodes, columns = struct.unpack_from("<4sIB", answer.content)
    assert (magic, nodes, columns, len(answer.content)) == (b"SLP1", 3, 4, 16 + 3 * 4)
    before, after = answer.content[16:19], answer.content[19:22]
    assert (list(before), list(after)) == ([75, 75, 75], [100, 100, 25])
    layout = client.get(reverse("plans:map-layout", args=[plan.pk])).json()
    assert layout["names"] == ["n1", "n2", "n3"]
    assert sum(group["count"] for group in layout["groups"]) == 3
    again = client.get(reverse("plans:map", args=[plan.pk]), headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


def test_names_from_outside_are_text() -> None:
    made = world().nodes("n1", "n2").pod(HOSTILE, "n1", 2, tenant=HOSTILE).pod("b", "n2", 5, locked=True)
    plan = scene(made).plan(move(HOSTILE, "n1", "n2"))
    assert HOSTILE not in page_of(approver(), plan)


def test_tenants_get_the_same_refusal_for_plans_that_exist_and_that_do_not() -> None:
    """C30: nothing of another tenant's, in no body and no header."""
    made = world().nodes("n1", "n2").pod("secret-merger", "n1", 2, tenant="t2", namespace="t2ns")
    one = scene(made.pod("b", "n2", 5, locked=True, tenant="t2", namespace="t2ns"))
    first = move("a", "n1", "n2")
    plan = one.plan(type(first)(**{**_fields(first), "pod": "t2ns/secret-merger"}))
    client = client_of(tenant("t1"))
    bodies = []
    for number in (plan.pk, 99_999):
        for name in ("detail", "json", "moves-csv", "kept", "kept-csv", "map", "map-layout"):
            answer = client.get(reverse(f"plans:{name}", args=[number]))
            assert answer.status_code == 403
            bodies.append(answer.content.decode() + str(answer.headers))
    for query in ("?q=secret", "?tenant=t2"):
        answer = client.get(reverse("plans:list") + query)
        assert answer.status_code == 403
    palette = client.get(reverse("ui:palette") + "?q=empty").content.decode()
    for leak in ("secret-merger", "t2ns", "empty nodes"):
        assert not any(leak in body for body in [*bodies, palette])


def _fields(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__struct_fields__}


def _queries(user: Any, path: str) -> int:
    client = client_of(user)
    client.get(path)
    with CaptureQueriesContext(
        connection,
    ) as seen:
        assert client.get(path).status_code == 200
    return len(seen)


def test_a_page_asks_the_database_as_often_for_many_moves_as_for_few() -> None:
    few = two()[1]
    made = world().node("t", 200, gpu_model="BIG").pod("z", "t", 1, locked=True)
    for k in range(120):
        made = made.node(f"n{k:03}", 8, gpu_model="BIG").pod(f"p{k:03}", f"n{k:03}", 1, tenant=f"t{k % 30}")
    many = scene(made, "big").plan(*(move(f"p{k:03}", f"n{k:03}", "t", k) for k in range(120)))
    for name in ("plans:detail", "plans:kept"):
        counts = {_queries(approver(), reverse(name, args=[plan.pk])) for plan in (few, many)}
        assert len(counts) == 1, (name, counts)
    assert max(counts) <= 40


@pytest.mark.parametrize("sort", ["chain", "-pod", "lost", "-state", "nonsense"])
def test_the_moves_sort_filter_and_page_on_the_server(sort: str) -> None:
    _, plan = two()
    part = page_of(viewer(), plan, f"?part=moves&sort={sort}&tenant=t1&wave=1")
    assert "<html" not in part
    assert "jobs/a" in part
    assert "jobs/b" not in part  # it runs in the second wave: the first takes one per cent


def test_bad_filters_are_named() -> None:
    _, plan = two()
    assert "Wave" in page_of(viewer(), plan, "?part=moves&wave=zero")
    answer = client_of(viewer()).get(reverse("plans:moves-csv", args=[plan.pk]) + "?wave=zero")
    assert answer.status_code == 400


def test_a_conflict_shows_the_page_again_with_the_reason() -> None:
    one, plan = two()
    one.happen(arrives("late", "n2", 1))
    path = reverse("plans:act", kwargs={"plan_id": plan.pk, "action": "approve"})
    answer = client_of(approver()).post(path, {"digest": plan.digest, "reason": "yes"})
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "Not done." in page
    assert "1 of 2 moves no longer hold" in page
    assert Plan.objects.get(pk=plan.pk).state == State.STALE


def test_the_box_is_sent_again_only_when_it_says_something_else() -> None:
    one, plan = two()
    client = client_of(approver())
    path = reverse("plans:detail", args=[plan.pk])
    page = client.get(path + "?part=side").content.decode()
    found = re.search(r"version=([0-9a-f]{12})", page)
    assert found is not None
    assert client.get(f"{path}?part=side&version={found[1]}").status_code == 204
    one.happen(arrives("late", "n2", 1))
    services.sweep()
    assert client.get(f"{path}?part=side&version={found[1]}").status_code == 200


def test_computing_shows_progress_and_the_answer_makes_the_page_fresh() -> None:
    one = scene(three_nodes())
    plan = requested(one.source)
    services.begin_planning(plan.pk, "tests")
    progress = {
        "round": 2,
        "rounds": 5,
        "partition": 1,
        "partitions": 4,
        "emptied": 7,
        "moves": 31,
        "done": 5,
        "total": 20,
    }
    assert services.report_progress(plan.pk, "tests", progress)
    page = squeezed(page_of(operator(), plan))
    assert "round 2 of 5, partition 1 of 4" in page
    assert "Stop here and keep what is found" in page
    services.cancel_plan(operator(), plan.pk)
    answer = client_of(operator()).get(reverse("plans:detail", args=[plan.pk]) + "?part=progress")
    assert answer.headers["HX-Refresh"] == "true"
    assert "No plan came of this request." in page_of(operator(), plan)


def test_a_run_is_shown_move_by_move() -> None:
    _, plan = two()
    started(plan)
    assert "Pause" in page_of(operator(), plan)
    ran(plan)
    page = page_of(viewer(), plan)
    assert "2 of 2 moves done; 2 of 2 nodes empty" in page
    assert page.count("sl-pill--ok") >= 3


def test_the_list_counts_filters_and_finds() -> None:
    _, plan = two()
    client = client_of(viewer())
    page = client.get(reverse("plans:list")).content.decode()
    assert f'href="{reverse("plans:detail", args=[plan.pk])}"' in page
    assert "No plan fits this filter." in client.get(reverse("plans:list") + "?state=failed").content.decode()
    assert client.get(reverse("plans:list") + "?state=flying").status_code == 400
    hits = client.get(reverse("ui:palette") + f"?q=plan+{plan.pk}").json()["hits"]
    assert [hit["url"] for hit in hits if hit["kind"] == "plan"] == [reverse("plans:detail", args=[plan.pk])]


def test_a_freeze_is_on_every_page() -> None:
    observed(world().node("n1"))
    client = client_of(operator())
    body = {"scope": "cluster", "cluster": "default", "reason": "switch firmware", "minutes": "30"}
    assert client.post(reverse("plans:freezes"), body).status_code == 302
    page = client.get(reverse("audit:list")).content.decode()
    assert "Frozen: default, by operator, until" in page
    assert "switch firmware" in page
    theirs = client_of(tenant("t1")).get(reverse("tenancy:tokens")).content.decode()
    assert "Frozen: default, until" in theirs
    assert "switch firmware" not in theirs
    wrong = client.post(
        reverse("plans:freezes"), {"scope": "pool", "cluster": "default", "reason": "r", "minutes": "5"}
    )
    assert wrong.status_code == 400
    assert "name the GPU model" in wrong.content.decode()


def test_an_order_that_is_none_is_named_and_the_table_stands_in_its_own() -> None:
    _, plan = two()
    page = " ".join(page_of(viewer(), plan, "?sort=bogus").split())
    assert "“<bdi>bogus</bdi>” is no order of this table; it is shown by chain, in running order." in page
    assert "Chain 1: empties" in page
    kept = client_of(viewer()).get(reverse("plans:kept", args=[plan.pk]) + "?sort=bogus").content.decode()
    assert "is no order of this table" in kept
    refused = client_of(viewer()).get(reverse("plans:moves-csv", args=[plan.pk]) + "?sort=bogus")
    assert refused.status_code == 400
    assert "'bogus' is no order" in refused.content.decode()
    for good in ("", "?sort=-gpus", "?sort=wave"):
        assert "is no order" not in page_of(viewer(), plan, good)


def test_what_was_done_is_told_by_what_the_page_shows_not_by_a_message_that_stays() -> None:
    """A message of the approval would stand beside Halted for as long as the page is open."""
    _, plan = two()
    client = client_of(approver())
    body = {"digest": plan.digest, "reason": "fits", "start": "on"}
    page = client.post(reverse("plans:act", args=[plan.pk, "approve"]), body, follow=True).content.decode()
    assert "sl-banner--ok" not in page
    assert "Running" in page
    assert "“<bdi>fits</bdi>”" in page


def test_the_state_is_said_once() -> None:
    _, plan = two()
    page = page_of(approver(), plan)
    assert page.lower().count("awaiting approval") == 1


def test_depth_counts_as_its_limit_does() -> None:
    """Pods that make room, without the one that leaves: two moves in one chain are depth 1."""
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 4).pod("b", "n2", 4).pod("z", "n3", 4, locked=True)
    room = move("b", "n2", "n3", 0, drains="n1", depth=1)
    plan = scene(made.pod("y", "n2", 4, locked=True)).plan(
        room, move("a", "n1", "n2", 0, after=(0,)), waves=(0, 1), params={"depth": 3}
    )
    page = " ".join(page_of(viewer(), plan).split())
    assert "1 chain, depth 1 of 3" in page
    assert "in 2 moves, depth 1" in page


def test_the_state_line_has_every_mark_and_one_present_one() -> None:
    _, plan = two()
    assert _marks(plan) == ["Computed", "Checked", "Ready", "*Approval", "Wave 1", "Wave 2", "Verify", "Done"]
    started(plan)
    assert _marks(plan)[4] == "*Wave 1"
    plan.steps.filter(run_wave=0).update(state="succeeded")
    assert _marks(plan)[5] == "*Wave 2"
    plan.steps.update(state="succeeded")
    assert _marks(plan)[6] == "*Verify"
    plan.steps.update(state="waiting")
    ran(plan)
    assert not any(mark.startswith("*") for mark in _marks(plan))


def _marks(plan: Plan) -> list[str]:
    """The words of the state line, the present one with a star."""
    line = page_of(viewer(), plan).split('aria-label="Where the plan stands"')[1].split("</ol>")[0]
    items = line.split("<li")[1:]
    words = [re.sub(r"<(svg|small).*?</\1>|<[^>]*>", "", item.split(">", 1)[1], flags=re.S).strip() for item in items]
    return ["*" * ('aria-current="step"' in item) + word for item, word in zip(items, words, strict=True)]


def test_what_fits_is_told_by_size_and_level() -> None:
    fits = [(4, "host", 9, 9), (8, "host", 1, 2), (16, "host", None, None), (16, "asw", 0, 1), (16, "cluster", 3, 3)]
    rows = [{"gpus": gpus, "level": level, "now": now, "then": then} for gpus, level, now, then in fits]
    found = fits_rows({"fits": rows})
    assert found is not None and found["levels"] == ["host", "asw", "cluster"]
    told = [(gpus, [(cell["now"], cell["then"]) for cell in cells]) for gpus, cells in found["rows"]]
    nothing = (None, None)
    assert told == [(8, [(1, 2), nothing, nothing]), (16, [nothing, (0, 1), (3, 3)])]
    assert fits_rows({}) is None
