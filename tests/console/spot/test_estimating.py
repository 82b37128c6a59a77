"""Estimates of a worker, on the newest reading; what they are made from, and what they are held to."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from console.inventory import archive, planning
from console.inventory.models import Observation
from console.plans.models import Plan
from console.spot import services
from console.spot.models import Estimate, Lease, ScoredChance, SupplySample
from console.spot.planning import estimating, past
from console.spot.selectors.calibration import slot_of
from console.spot.services.judging import Card, calibration_card
from console.tenancy.choices import Role
from scheduler.consolidation.params import Params
from scheduler.consolidation.planner import consolidate
from tests.builders.people import operator, person, stranger, tenant
from tests.builders.worlds import GPU_MODEL, world
from tests.console.spot.scene import CLUSTER, Scene, scene

pytestmark = pytest.mark.django_db
HOUR = 3600


def told(one: Scene, user: Any = None, **asked: Any) -> dict[str, Any]:
    said = {"gpu_models": [GPU_MODEL], "gpus_per_pod": 8, "pods": 1, "run_s": HOUR, **asked}
    row = services.ask_estimate(
        user or tenant("team-a"), source_id=one.source.pk, cluster=CLUSTER, tenant="", asked=said
    )
    estimating.answer(row.pk)
    row.refresh_from_db()
    assert row.state == "done", row.failure
    return dict(row.answer or {})


def seen_before(one: Scene, supply: int = 24, slots: int = 200) -> None:
    """So many quarter hours of the past with the same supply."""
    end = slot_of(timezone.now())
    SupplySample.objects.bulk_create(
        SupplySample(source=one.source, cluster=CLUSTER, gpu_model=GPU_MODEL, at=end - timedelta(minutes=15 * i),
                     gpus=24, supply_gpus=supply, asleep_gpus=0)
        for i in range(slots)
    )  # fmt: skip


def test_an_ask_that_fits_now() -> None:
    one = scene()
    answer = told(one)
    assert answer["blocked"] is None and answer["model"] == GPU_MODEL and answer["cents"] == 118
    assert all(answer["chance"][str(h)] > 0.99 for h in (900, HOUR, 6 * HOUR))
    assert (answer["cost_low_cents"], answer["cost_high_cents"]) == (8 * 118, None)
    assert answer["run_p50_s"] is None
    assert "How long it runs before a reclaim is not known: 0 runs were seen" in " ".join(answer["unknown"])


def test_an_ask_that_does_not_fit_says_why_and_what_else_there_is() -> None:
    one = scene()
    seen_before(one)
    answer = told(one, pods=4, topology="asw", required=True)
    assert answer["blocked"]["words"] == f"needs 32 GPUs of {GPU_MODEL}; 24 are free or lent"
    assert answer["chance"][str(HOUR)] < 0.05
    half = next(row for row in answer["alternatives"] if row["kind"] == "smaller")
    assert half["what"] == f"16 {GPU_MODEL}, half the gang" and half["change"] == {"pods": 2, "min_members": 2}
    assert half["chance_3600"] > 0.9


def test_without_a_past_the_future_is_unknown_and_not_none() -> None:
    answer = told(scene(world().nodes("n1").pod("hp", "n1", 8)))
    assert answer["chance"] == {"900": None, "3600": None, "21600": None}
    assert any("which is too short" in words for words in answer["unknown"])


def test_leases_and_other_spot_work_stand_in_the_line() -> None:
    one = scene(world().asw("s1").nodes("n1", "n2", "n3").pod("lp", "n1", 8, tier="LP"))
    seen_before(one)
    one.started(pods=1)
    one.asked(person(Role.TENANT_USER, "bo", ("team-b",)), pods=2)
    answer = told(one, pods=1)
    assert answer["blocked"] is None
    assert answer["chance"]["900"] < 0.05 or answer["chance"]["900"] > 0.9
    rows = past.jobs_of(one.source.pk, CLUSTER, GPU_MODEL, timezone.now())
    assert [len(rows[name]) for name in ("running", "ahead", "newcomers")] == [1, 1, 2]


def test_a_reading_that_is_gone_is_a_sentence_and_no_fault() -> None:
    one = scene()
    said = {"gpu_models": [GPU_MODEL], "gpus_per_pod": 8, "pods": 1, "run_s": HOUR}
    row = services.ask_estimate(tenant("team-a"), source_id=one.source.pk, cluster=CLUSTER, tenant="", asked=said)
    Observation.objects.all().delete()
    estimating.answer(row.pk)
    row.refresh_from_db()
    assert (row.state, row.failure) == ("failed", estimating.UNREAD)
    estimating.answer(row.pk)  # nobody asks any more


# ---- the past -------------------------------------------------------------------------------------------------------
def test_one_sample_a_quarter_hour_and_old_ones_go() -> None:
    one = scene(world().asw("s1").nodes("n1", "n2").pod("hp", "n1", 3).pod("lp", "n2", 2, tier="LP"))
    planning.measure(Observation.objects.latest("revision").pk)
    now = timezone.now()
    assert services.keep_past(now) == 1
    assert services.keep_past(now) == 0
    (row,) = SupplySample.objects.all()
    assert (row.gpu_model, row.gpus, row.supply_gpus) == (GPU_MODEL, 16, 13)
    seen, simulated = past.past_of(one.source.pk, CLUSTER, GPU_MODEL, now)
    assert seen.supply.tolist() == [13] and not simulated
    services.keep_past(now + timedelta(days=61))
    assert not SupplySample.objects.exists()


def test_a_demo_s_past_is_drawn_once_and_says_so() -> None:
    one = scene()
    planning.measure(Observation.objects.latest("revision").pk)
    assert services.ensure_past() == 14 * 96 - 1
    assert services.ensure_past() == 0
    seen, simulated = past.past_of(one.source.pk, CLUSTER, GPU_MODEL, timezone.now())
    assert simulated and len(seen.supply) == 14 * 96 and 0 <= min(seen.supply[:-1]) <= max(seen.supply) <= 24
    answer = told(one, pods=4)
    assert answer["chance"]["21600"] is not None
    assert any("is simulated: this is a demo" in words for words in answer["assumed"])


def test_a_gap_in_the_past_is_unknown() -> None:
    one = scene()
    seen_before(one, slots=5)
    SupplySample.objects.order_by("at")[2].delete()
    seen, _ = past.past_of(one.source.pk, CLUSTER, GPU_MODEL, timezone.now())
    assert seen.supply.tolist() == [24, 24, -1, 24, 24]


# ---- what came ------------------------------------------------------------------------------------------------------
def asked_on(one: Scene, said: float, *, hours_ago: float, first_s: int | None, ended_s: int | None = None) -> Lease:
    """A lease of so long ago that was told ``said``, started after ``first_s`` and was withdrawn after ``ended_s``."""
    now = timezone.now()
    asked_at = now - timedelta(hours=hours_ago)
    row = one.asked()
    Lease.objects.filter(pk=row.pk).update(
        asked_at=asked_at,
        first_started_at=None if first_s is None else asked_at + timedelta(seconds=first_s),
        ended_at=None if ended_s is None else asked_at + timedelta(seconds=ended_s),
    )
    chance = {"900": said, "3600": said, "21600": said}
    Estimate.objects.filter(lease=row).update(state="done", done_at=asked_at, answer={"chance": chance, "raw": chance})
    return row


def test_a_chance_is_scored_once_its_time_is_over() -> None:
    one = scene()
    for said, ago, first, ended in (
        (0.75, 7, 1800, None), (0.75, 7, 5000, None), (0.75, 2, None, None), (0.75, 7, None, 600),
    ):  # fmt: skip
        asked_on(one, said, hours_ago=ago, first_s=first, ended_s=ended)
    made = services.keep_past()
    assert made == 3 + 3 + 2 + 3  # the third has not waited for 6 h yet
    assert services.keep_past() == 0
    card = card_of(3600)
    assert (card.found.asks, card.left_out) == (3, 1)
    assert [(row.asks, row.started) for row in card.found.bins if row.asks] == [(3, 1)]
    assert card.telling == "Asks told 70–80\u00a0%: 33\u00a0% started."
    assert (card_of(21_600).found.asks, card_of(900).found.asks) == (2, 3)


def test_what_was_told_after_the_start_does_not_count() -> None:
    one = scene()
    row = asked_on(one, 0.9, hours_ago=7, first_s=10)
    Estimate.objects.filter(lease=row).update(done_at=timezone.now())
    services.keep_past()
    assert set(ScoredChance.objects.values_list("started", flat=True)) == {None}


def card_of(horizon_s: int) -> Card:
    return calibration_card(operator(), horizon_s)


def test_the_card_is_one_sum_for_everybody_who_may_see_leases() -> None:
    one = scene()
    asked_on(one, 0.25, hours_ago=2, first_s=60)
    services.keep_past()
    sums = {calibration_card(user).found for user in (operator(), tenant("team-a"), stranger())}
    assert len(sums) == 1


def test_what_was_learnt_changes_what_is_told_and_the_raw_chance_stays() -> None:
    one = scene()
    for _ in range(3):
        asked_on(one, 0.995, hours_ago=7, first_s=None)
    rows = list(Estimate.objects.filter(lease__isnull=False))
    services.keep_past()
    ScoredChance.objects.bulk_create(
        ScoredChance(estimate=rows[0], horizon_s=3600 + i, asked_at=timezone.now(), said=0.9, raw=0.9, started=False)
        for i in range(1, 3)
    )  # other horizons teach nothing here
    Lease.objects.update(state="withdrawn", ended_at=timezone.now())
    answer = told(one)
    assert answer["raw"]["3600"] > 0.99
    assert 0.8 < answer["chance"]["3600"] < 0.95  # 3 of 3 did not start, against 20 that are believed


def test_the_card_draws_and_tells_what_it_knows(client: Client) -> None:
    one = scene()
    client.force_login(tenant("team-a"))
    empty = client.get("/capacity/calibration/").content.decode()
    assert "Nothing to hold us to yet." in empty and "No ask of the last 90 days is over yet." in empty
    asked_on(one, 0.75, hours_ago=7, first_s=60)
    services.keep_past()
    page = client.get("/capacity/calibration/?within=900").content.decode()
    assert "told 75 %: 1 of 1 started" in page and page.count("spot-held__dot") == 1
    assert "Of 1 ask in 90 days" in page and "Brier score 0.06" in page
    assert client.get("/api/v1/spot/calibration/?within=900").json()["bins"][7]["started"] == 1
    assert client.get("/capacity/calibration/?within=nonsense").status_code == 200


def test_the_plan_that_would_make_room_is_named() -> None:
    one = scene(world().asw("s1").nodes("n1", "n2").pod("a", "n1", 4).pod("b", "n2", 4))
    reading = Observation.objects.latest("revision")
    found = consolidate(archive.load(reading.digest), Params(), seed=1)
    assert len(found.moves) == 1
    row = Plan.objects.create(kind="consolidation", state="proposed", title="one node", source=one.source,
                              cluster=CLUSTER, proposer=operator(), document=found.to_json(),
                              digest=found.digest(), expires_at=timezone.now() + timedelta(hours=1))  # fmt: skip
    answer = told(one)
    assert answer["blocked"]["reason"] == "fragmentation"
    assert answer["blocked"]["words"].endswith(f"; plan #{row.pk} would free 8")
    Plan.objects.filter(pk=row.pk).update(state="cancelled")
    assert "would free" not in told(one, pods=1, run_s=7200)["blocked"]["words"]
