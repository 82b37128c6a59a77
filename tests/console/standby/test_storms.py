"""Storms as an operator sees them: foreseen from rows and readings, drawn apart, and each sleeper woken by its row."""

import pytest
from django.template.loader import render_to_string

from console.standby import planning, selectors, services
from console.standby.models import Ending, Recall, Sleeper, Storm
from tests.builders.people import operator, stranger
from tests.console.standby.scene import Scene

pytestmark = pytest.mark.django_db


def _lent(stage: Scene) -> None:
    stage.asleep()
    stage.turn(1)
    stage.lend(("b1", "s1"), ("b2", "s2"), checkpoint_on_notice=True)
    stage.turn(900)  # there is work to be lost: a young job writes nothing


def test_a_storm_is_foreseen_and_everybody_is_woken_in_time(stage: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    _lent(stage)
    # Each borrower of four GPUs of 80,000 MiB writes half of it; the store takes one of them while a group writes
    monkeypatch.setattr(services, "STORE_MIB_PER_S", 160_000 // 40)
    assert planning.storms() == 1
    (row,) = selectors.storms_page(operator()).rows
    told = row.document
    assert (told["cluster"], told["pods"], told["gpu_milli"], told["leavers"]) == ("default", 2, 16_000, 2)
    assert told["state_mib"] == 320_000 and told["holds"] and told["before"]["unsaved_mib"] > 0
    assert told["after"]["unsaved_mib"] == 0 and [group["sleepers"] for group in told["after"]["groups"]] == [1, 1]
    first, last = Sleeper.objects.order_by("wake_at")
    assert first.wake_at is not None and last.wake_at is not None
    assert (last.wake_at - first.wake_at).total_seconds() == 60 and last.wake_at <= last.until_at
    assert first.due_at == first.wake_at
    lines = told["timelines"]
    assert len(lines["at_s"]) == len(lines["naive"]) == len(lines["apart"]) and lines["apart"][-1] == 16


def test_a_call_ahead_is_made_when_it_is_due(stage: Scene, hooks: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    _lent(stage)
    monkeypatch.setattr(services, "STORE_MIB_PER_S", 160_000 // 40)
    planning.storms()
    first = Sleeper.objects.order_by("wake_at")[0]
    hooks += [5.0]
    stage.turn(int((first.due_at - stage.clock.now).total_seconds()) + 1)
    recall = Recall.objects.get()
    assert (recall.pod, recall.cause, recall.wanted_at) == (first.pod, "ahead", first.until_at)
    assert Sleeper.objects.exclude(pk=first.pk).get().state == "asleep"


def test_what_is_over_is_forgotten_and_nobody_else_is_told(stage: Scene) -> None:
    _lent(stage)
    assert planning.storms() == planning.storms() == 1 and Storm.objects.count() == 1
    assert selectors.storms_page(stranger()).rows == []
    window = Sleeper.objects.all()[0].window
    Sleeper.objects.filter(pod="jobs/s1").update(state="waking")
    assert planning.storms() == 0 and Storm.objects.count() == 0
    assert Sleeper.objects.get(pod="jobs/s2", window=window).wake_at is None  # for itself alone again


def test_what_was_seen_of_exits_counts(stage: Scene) -> None:
    _lent(stage)
    source, now = stage.source, stage.clock.now
    recall = Recall.objects.create(
        source=source, cluster="default", pod="jobs/x", node="n1", gpu_milli=8000, cause="person"
    )
    for i in range(100):
        Ending.objects.create(recall=recall, pod=f"lp/{i}", gpu_milli=1000, noticed_at=now, ended_at=now, killed=True)
    assert len(services.exits_of(source)) == 100
    planning.storms()
    assert Storm.objects.get().document["before"]["killed"] > 1.5 and Storm.objects.get().document["exits_seen"] == 100


def test_the_card_says_it(stage: Scene) -> None:
    _lent(stage)
    planning.storms()
    said = render_to_string("standby/storms.html", {"storms": selectors.storms_page(operator())})
    assert "16 GPUs" in said and "all in time" in said and "2 sleepers" in said
    empty = render_to_string("standby/storms.html", {"storms": selectors.storms_page(stranger())})
    assert "No storm ahead." in empty
