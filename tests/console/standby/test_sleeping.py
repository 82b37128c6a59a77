"""Windows put pods to sleep and wake them in time; people recall; freezes, edits and ends; nothing happens twice."""

from datetime import UTC, date, timedelta
from typing import Any

import pytest
from django.http import Http404

from console.audit.models import Entry
from console.plans.frozen import Freeze
from console.rest.errors import Conflict, FieldError
from console.rest.versions import PreconditionFailed, PreconditionRequired
from console.standby import execution, selectors, services
from console.standby.hours import Span, Weekly
from console.standby.models import Ending, PoolSample, Recall, Sleeper, Window
from console.standby.services import sleeping
from console.tenancy.services import Denied
from tests.builders.fleets import file_source, read
from tests.builders.people import approver, operator, stranger, tenant, viewer
from tests.console.connectors.worlds import BEGAN
from tests.console.standby.scene import WHERE, Scene, recalled, scene, service

pytestmark = pytest.mark.django_db
HOUR = {"days": [0], "from_minute": 0, "until_minute": 60}


# --- when -----------------------------------------------------------------------------------------------------------
def test_a_weekly_window_crosses_midnight_and_ends_with_its_last_day() -> None:
    nights = Weekly((4, 6), 22 * 60, 6 * 60, date(2026, 11, 1), date(2026, 11, 13))  # Fridays and Sundays
    found = list(nights.spans(BEGAN, BEGAN + timedelta(days=30)))
    assert [(f"{one.begins_at:%d %H:%M}", f"{one.ends_at:%d %H:%M}") for one in found] == [
        ("01 22:00", "02 06:00"), ("06 22:00", "07 06:00"), ("08 22:00", "09 06:00"), ("13 22:00", "14 06:00"),
    ]  # fmt: skip
    assert nights.minutes == 8 * 60 and nights.words == "Fri, Sun 22:00–06:00 until 2026-11-13"
    in_the_night = Span(*[at.replace(tzinfo=UTC) for at in (found[0].begins_at, found[0].ends_at)])
    assert next(iter(nights.spans(in_the_night.begins_at + timedelta(hours=5), in_the_night.ends_at))) == in_the_night


@pytest.mark.parametrize(
    ("when", "field"),
    [
        ({}, "days"),
        ({"days": [0], "from_minute": 60, "until_minute": 70}, "until_minute"),
        ({"days": [0], "from_minute": 60, "until_minute": 60}, "until_minute"),
        ({"days": [0], "until_minute": 70}, "from_minute"),
        ({**HOUR, "first_day": date(2026, 12, 2), "last_day": date(2026, 12, 1)}, "last_day"),
        ({**HOUR, "first_day": date(2026, 1, 2), "last_day": date(2026, 2, 1)}, "last_day"),
        ({"begins_at": BEGAN}, "ends_at"),
        ({"begins_at": BEGAN, "ends_at": BEGAN + timedelta(minutes=5)}, "ends_at"),
        ({"begins_at": BEGAN, "ends_at": BEGAN + timedelta(days=15)}, "ends_at"),
        ({"begins_at": BEGAN - timedelta(days=2), "ends_at": BEGAN - timedelta(days=1)}, "ends_at"),
    ],
)  # fmt: skip
def test_times_that_cannot_be_are_refused_by_field(stage: Scene, when: dict[str, Any], field: str) -> None:
    with pytest.raises(FieldError) as refused:
        services.make_window(tenant("team-a"), source_id=stage.source.pk, **WHERE, **when)
    assert refused.value.field == field and not Window.objects.exists()


# --- who ------------------------------------------------------------------------------------------------------------
def test_only_the_tenant_s_own_people_mark_its_workloads(stage: Scene) -> None:
    when = {"days": [0], "from_minute": 0, "until_minute": 360}
    for user in (operator(), viewer(), approver()):
        with pytest.raises(Denied, match="say when workloads"):
            services.make_window(user, source_id=stage.source.pk, **WHERE, **when)
    for user, workload in ((stranger(), "serve"), (tenant("team-a"), "other"), (tenant("team-a"), "nothing")):
        with pytest.raises(FieldError) as refused:
            services.make_window(user, source_id=stage.source.pk, **{**WHERE, "workload": workload}, **when)
        assert refused.value.reason == "no running high-priority workload with GPUs of that name is yours"


# --- sleep ----------------------------------------------------------------------------------------------------------
def test_pods_sleep_when_their_window_begins_and_serve_when_it_ends(stage: Scene, hooks: list[float]) -> None:
    stage.window(hours=2, before_s=-600)
    stage.turn()
    assert stage.states() == []
    stage.turn(600)
    assert stage.states() == ["asleep", "asleep"]
    pod = stage.pod("s1")
    assert pod is not None and pod.standby and pod.standby_until_s is not None
    stage.lend(("a", "s1"), ("b", "s1"))
    hooks += [10, 80]  # the second is killed
    stage.turn(7200 - 75 - 1)
    assert stage.states() == ["waking", "waking"] and [row.cause for row in Recall.objects.all()] == ["window"] * 2
    for _ in range(13):
        stage.turn(5)
    assert stage.states() == ["over", "over"]
    row = Recall.objects.get(pod="jobs/s1")
    assert (row.state, row.killed, row.took_s) == ("serving", 1, 64.0)
    assert row.wanted_at is not None and row.serving_at is not None and row.serving_at <= row.wanted_at
    for _ in range(3):
        stage.turn(10)
    assert stage.states() == ["over", "over"] and Recall.objects.count() == 2


def test_a_reading_is_opened_only_where_a_window_is_on(stage: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The beat comes every second, and a reading of a large fleet is large."""
    opened: list[Any] = []
    monkeypatch.setattr(sleeping, "reading", lambda source: opened.append(source))
    assert services.put_to_sleep(stage.source, stage.clock.now) == 0 and opened == []
    stage.window()
    assert services.put_to_sleep(stage.source, stage.clock.now) == 0 and opened == [stage.source]


def test_looking_twice_does_nothing_twice(stage: Scene) -> None:
    stage.asleep()
    assert [execution.act() for _ in range(3)] == [0, 0, 0] and Sleeper.objects.count() == 2


def test_a_freeze_keeps_pods_from_sleeping_and_none_from_waking(stage: Scene, hooks: list[float]) -> None:
    def freeze() -> Freeze:
        until = stage.clock.now + timedelta(hours=4)
        said = {"scope": "cluster", "cluster": "default", "reason": "new switches", "owner": operator()}
        return Freeze.objects.create(since=stage.clock.now, expires_at=until, **said)

    first = freeze()
    row = stage.window()
    stage.turn()
    assert stage.states() == []
    assert "frozen" in selectors.windows_page(tenant("team-a")).rows[0].why
    first.delete()
    stage.turn()
    assert stage.states() == ["asleep", "asleep"]
    freeze()
    services.recall_window(tenant("team-a"), row.pk, "now")
    stage.turn()
    assert stage.states() == ["waking", "waking"]


def test_a_source_that_is_only_observed_is_left_alone_and_said_so(stage: Scene) -> None:
    source = file_source(service(), "file")
    read(source)
    begins_at = stage.clock.now
    row = services.make_window(
        tenant("team-a"), source_id=source.pk, begins_at=begins_at, ends_at=begins_at + timedelta(hours=1), **WHERE
    )
    execution.act()
    assert not Sleeper.objects.exists()
    shown = selectors.window_row(tenant("team-a"), row)
    assert (shown.state, shown.acts) == ("observed", False) and "only observed" in shown.why


def test_what_the_cluster_refuses_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = scene(monkeypatch, service(phase="Pending"))
    stage.window()
    stage.turn()
    assert stage.states() == ["refused", "refused"]
    shown = selectors.windows_page(tenant("team-a")).rows[0]
    assert (shown.state, shown.why) == ("awake", "jobs/s2 is not up yet")


# --- recall ---------------------------------------------------------------------------------------------------------
def test_a_recall_now_is_told_step_by_step_and_holds_for_the_rest_of_the_span(stage: Scene, hooks: list[float]) -> None:
    stage.asleep()
    stage.lend(("a", "s1"), ("b", "s1"), checkpoint_on_notice=True)
    hooks += [10, 30]
    asked = services.recall(
        tenant("team-a"), source_id=stage.source.pk, cluster="default", pod="jobs/s1", reason="a campaign"
    )
    assert services.promises(stage.source.pk)[0].claimant == "jobs/s1"
    stage.turn(1)
    row = selectors.recall_row(selectors.recall_for(tenant("team-a"), asked.pk))
    assert (row.state, row.borrowers, row.gone, row.killed) == ("running", 2, 0, 0)
    assert row.kill_at is not None and (row.kill_at - stage.clock.now).total_seconds() == 60
    stage.turn(12)
    row = selectors.recall_row(selectors.recall_for(tenant("team-a"), asked.pk))
    assert (row.gone, row.checkpoints, row.detail) == (1, 1, "1 borrower of jobs/s1 must end first")
    stage.turn(19)
    stage.turn(4)
    done = recalled()
    assert (done.state, done.took_s, done.detail) == ("serving", 34.0, "jobs/s1 serves")
    ends = selectors.endings_of(["l1"])
    assert [(one.pod, one.killed, one.claimant, one.serving_at) for one in ends] == [
        ("lp/b", False, "jobs/s1", done.serving_at), ("lp/a", False, "jobs/s1", done.serving_at),
    ]  # fmt: skip
    assert services.promises(stage.source.pk) == ()
    stage.turn(60)
    assert stage.states() == ["over", "asleep"]


def test_who_may_recall_whom(stage: Scene) -> None:
    stage.asleep()
    asked: dict[str, Any] = {"source_id": stage.source.pk, "cluster": "default", "pod": "jobs/s1"}
    with pytest.raises(Denied):
        services.recall(viewer(), **asked, reason="r")
    for user, pod in ((stranger(), "jobs/s1"), (tenant("team-a"), "jobs/o1"), (tenant("team-a"), "jobs/none")):
        with pytest.raises(FieldError, match="no such high-priority pod of yours"):
            services.recall(user, **{**asked, "pod": pod}, reason="r")
    with pytest.raises(FieldError, match="say why"):
        services.recall(operator(), **asked, reason=" ")
    assert services.recall(operator(), **asked, reason="its users complain").asked_by == operator()
    with pytest.raises(Conflict, match="being recalled already"):
        services.recall(tenant("team-a"), **asked, reason="r")
    with pytest.raises(Conflict, match="is awake"):
        services.recall(operator(), **{**asked, "pod": "jobs/o1"}, reason="r")
    entry = Entry.objects.filter(action="standby.recalled").get()
    assert (entry.actor, entry.reason) == ("operator", "its users complain")


def test_a_window_is_recalled_whole(stage: Scene) -> None:
    row = stage.asleep()
    assert len(services.recall_window(tenant("team-a"), row.pk, "all hands")) == 2
    with pytest.raises(Conflict, match="being recalled already"):
        services.recall_window(tenant("team-a"), row.pk, "again")
    with pytest.raises(Http404):
        services.recall_window(stranger(), row.pk, "not mine")
    stage.turn(1)
    stage.turn(5)
    assert stage.states() == ["over", "over"]
    page = selectors.recalls_page(operator())
    assert (page.whole.recalls, page.whole.serving, page.whole.failed, page.whole.p50_s) == (2, 2, 0, 4.0)
    assert selectors.recalls_page(stranger()).total == 0


def test_a_pod_that_wakes_by_itself_is_over(stage: Scene) -> None:
    row = stage.asleep()
    Sleeper.objects.update(until_at=BEGAN + timedelta(days=1))  # the console slept over the end
    stage.clock.forward(int((row.ends_at - stage.clock.now).total_seconds()) if row.ends_at else 0)
    for _ in range(2):
        stage.clock.forward(10)
        stage.cluster.observe()
    stage.turn()
    services.sample()
    assert stage.states() == ["over", "over"] and not Recall.objects.exists()
    assert set(Sleeper.objects.values_list("detail", flat=True)) == {"it woke by itself"}


# --- edits ----------------------------------------------------------------------------------------------------------
def test_an_edit_counts_on_top_of_what_was_read_and_moves_the_end(stage: Scene) -> None:
    row = stage.asleep()
    user, later = tenant("team-a"), {"begins_at": row.begins_at, "ends_at": row.ends_at + timedelta(hours=1)}  # type: ignore[operator]
    with pytest.raises(PreconditionRequired):
        services.edit_window(user, row.pk, None, **later)
    edited = services.edit_window(user, row.pk, 1, **later)
    with pytest.raises(PreconditionFailed, match="at version 2, not 1"):
        services.edit_window(user, row.pk, 1, **later)
    stage.turn()
    pod = stage.pod("s1")
    assert edited.version == 2 and pod is not None and pod.standby_until_s == 1000 + 3 * 3600 - 60
    gone = {"begins_at": stage.clock.now + timedelta(hours=5), "ends_at": stage.clock.now + timedelta(hours=6)}
    services.edit_window(user, row.pk, 2, **gone)
    stage.turn()
    assert stage.states() == ["waking", "waking"]


def test_a_window_that_was_ended_wakes_who_sleeps_and_stays_ended(stage: Scene) -> None:
    row = stage.asleep()
    services.end_window(tenant("team-a"), row.pk, "moved")
    for seconds in (0, 4, 60):
        stage.turn(seconds)
    assert stage.states() == ["over", "over"]
    with pytest.raises(Conflict, match="was ended already"):
        services.end_window(tenant("team-a"), row.pk, "")
    with pytest.raises(Conflict, match="was ended: make a new one"):
        services.edit_window(tenant("team-a"), row.pk, 2, **HOUR)


# --- the pool -------------------------------------------------------------------------------------------------------
def test_what_is_lent_is_counted_and_pays(stage: Scene, floor: None) -> None:
    row = stage.asleep()
    stage.lend(("a", "s1"), ("b", "s1"))
    services.sample()
    for _ in range(30):
        stage.clock.forward(120)
        services.sample()
    sleeper = Sleeper.objects.get(pod="jobs/s1")
    assert (sleeper.lent_milli, sleeper.asleep_s, sleeper.lent_milli_s) == (8000, 3601, 8000 * 3601)
    assert sleeper.rebate_cents == 160 and sleeper.cost_cents == 2  # 50 % of 40 cents, eight GPU-hours
    earned = (f"{sleeper.begins_at:%Y-%m}", "team-a")
    assert selectors.month_rebates(tenant("team-a"), sleeper.begins_at) == {earned: 160}
    assert selectors.month_rebates(stranger(), sleeper.begins_at) == {}
    page = selectors.pool_page(operator())
    assert [(one.pods, one.asleep_gpus, one.lent_gpus, one.device_mib) for one in page.rows] == [(2, 16, 8, 1_280_000)]
    own = selectors.windows_page(tenant("team-a"))
    assert own.rows[0].expected["rebate_cents"] == 576 and row.version == 1  # 90 % of sixteen GPUs, two hours
    assert own.others is not None and own.others.asleep_gpus == 0


def test_a_month_of_which_a_part_is_not_known_is_not_known(stage: Scene) -> None:
    stage.asleep()
    stage.turn(1)
    services.sample()
    stage.clock.forward(120)
    services.sample()
    Sleeper.objects.filter(pod="jobs/s1").update(rebate_cents=None)  # as where nobody says what a price's floor is
    begins_at = Sleeper.objects.earliest("begins_at").begins_at
    assert selectors.month_rebates(operator(), begins_at) == {(f"{begins_at:%Y-%m}", "team-a"): None}


def test_a_tenant_sees_its_own_and_one_sum(stage: Scene, hooks: list[float]) -> None:
    stage.asleep()
    stage.turn()
    services.sample()
    mine, others = selectors.windows_page(tenant("team-a")), selectors.windows_page(stranger())
    assert [row.key for row in mine.rows] == ["jobs/serve"] and others.rows == []
    assert others.others is not None and others.others.asleep_gpus == 16
    pool = selectors.pool_page(stranger())
    assert [(row.others, row.asleep_gpus, row.gpu_model) for row in pool.rows] == [(True, 16, "")]
    assert selectors.storms_page(stranger()).rows == []
    with pytest.raises(Http404):
        selectors.window_for(stranger(), Window.objects.get().pk)


def test_nothing_counted_is_no_zero(stage: Scene) -> None:
    page = selectors.pool_page(operator())
    assert page.at is None and page.asleep_gpus is None and page.day[10].asleep_gpus is None
    assert page.ahead[5].gpus is None and page.ahead[5].planned_gpus == 0
    services.sample()
    assert PoolSample.objects.count() == 0 and selectors.recalls_page(operator()).whole.p50_s is None
    assert not Ending.objects.exists()
