"""Studies: what is asked, how runs come to their ends whoever carries them, and what is read of it."""

import json
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from console.audit.models import Entry
from console.inventory import archive
from console.inventory.models import Blob, Observation
from console.rest.errors import Conflict, FieldError
from console.simulation import planning, selectors, services, tables
from console.simulation.choices import CHANGES, CONSOLIDATES_EVERY_S, DRAWN, FIGURES, NAMED, NUMBERS, UPWARD, WORDS
from console.simulation.models import Checkpoint, Run, Study, Trace
from console.simulation.planning import pace
from console.simulation.planning.policies import rules_of
from console.simulation.services import studying
from console.simulation.services.running import MOST_ATTEMPTS
from console.tenancy.services import Denied
from scheduler.cluster.errors import ParamError
from scheduler.cluster.records import TenantRecord
from scheduler.consolidation.params import Params
from scheduler.placement.policy import TERMS
from scheduler.replay import columns, tradeoff
from scheduler.replay.kept import pack_replay, pack_trace, unpack_trace
from scheduler.replay.loop import replay
from scheduler.replay.rules import NAMED as CORE
from scheduler.replay.rules import ORDERS, PREEMPTS, QUOTAS, Rules, Ways
from scheduler.replay.sources import drawn_trace
from scheduler.replay.world import digest_of
from scheduler.worlds.spot_trace import twin_jobs, write_spot_jobs
from tests.builders.fleets import observed
from tests.builders.people import approver, operator, tenant
from tests.builders.worlds import World, world
from tests.console.simulation.small import SMALL, asked, done, kept_study

pytestmark = pytest.mark.django_db


def _digests(study: Study) -> dict[tuple[int, int], str]:
    return {(run.policy, run.seed): run.digest for run in Run.objects.filter(study=study)}


def test_the_result_does_not_depend_on_who_ran_what_when() -> None:
    """In the order of the queue, in the opposite one with a run cut short and taken up again, and without a console."""
    first, second = done(asked()), asked()
    run = Run.objects.filter(study=second).first()
    assert run is not None
    _die_in_the_middle(run)
    second = done(second, turned=True)
    assert (first.state, second.state) == ("done", "done")
    assert len(set(_digests(first).values())) == 4
    assert _digests(first) == _digests(second)
    assert Run.objects.get(pk=run.pk).attempts == 2
    assert not Checkpoint.objects.exists()
    one, other = (selectors.outcomes_of(operator(), study.pk) for study in (first, second))
    assert one == other
    for (policy, seed), digest in _digests(first).items():
        found = drawn_trace("asi", seed=seed, share=SMALL["share"])
        rules = CORE[SMALL["policies"][policy]["base"]]
        alone = replay(found.world, found.work, rules, Ways(fail_mean_s=5 * 86_400), seed=seed, until_s=2 * 86_400)
        assert alone.digest() == digest


def _die_in_the_middle(run: Run) -> None:
    """A worker that packs after every sample and is gone after the twentieth; the sweep finds its run."""

    class Gone(BaseException):
        pass

    told = []

    def tell(self: pace.Pace, _reached: Any) -> bool:
        told.append(self.reached()["now_s"])
        services.stash(self.run, pack_replay(self.replay), self.code, 0.5)
        if len(told) == 20:
            raise Gone
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pace.Pace, "tell", tell)
        with pytest.raises(Gone):
            planning.run(run.pk)
    assert services.sweep() == 0  # it may still live
    Run.objects.filter(pk=run.pk).update(beat_at=timezone.now() - timedelta(minutes=1))
    assert services.sweep() == 1
    assert Run.objects.get(pk=run.pk).state == "queued"
    assert told[-1] == 19 * 3600


def test_a_message_that_comes_twice_does_nothing_twice() -> None:
    study = done(asked())
    before = list(Run.objects.filter(study=study).values())
    done(study)
    assert list(Run.objects.filter(study=study).values()) == before


def test_workers_that_die_again_and_again_fail_the_run_and_say_so() -> None:
    study = asked(policies=[{"base": "fifo"}], seeds=[1])
    run = Run.objects.get(study=study)
    for _ in range(MOST_ATTEMPTS):
        assert services.claim(run.pk) is not None
        Run.objects.filter(pk=run.pk).update(beat_at=timezone.now() - timedelta(hours=1))
        services.sweep()
    run.refresh_from_db()
    study.refresh_from_db()
    assert (run.state, study.state) == ("failed", "failed")
    assert "may need more memory" in run.failure
    assert study.failure == "No run of this study came to its end."


def test_a_cancellation_stops_a_run_in_its_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    study = asked()
    first, second = Run.objects.filter(study=study)[:2]
    planning.run(first.pk)
    monkeypatch.setattr(pace, "TOLD_EVERY_S", 0.0)
    told = []
    move_on = services.move_on

    def moved(run: Run, reached: Any) -> bool:
        told.append(reached["now_s"])
        if len(told) == 5:
            services.cancel_study(operator(), study.pk, "enough")
        return move_on(run, reached)

    monkeypatch.setattr(services, "move_on", moved)
    planning.run(second.pk)
    assert told[-1] == 4 * 3600
    states = list(Run.objects.filter(study=study).values_list("state", flat=True))
    assert states == ["done", "cancelled", "cancelled", "cancelled"]
    planning.sum_up(study.pk)
    row = selectors.study_row(operator(), study.pk)
    found = selectors.outcomes_of(operator(), study.pk)
    assert found is not None
    assert (row.state, found.runs, found.pairs) == ("cancelled", 1, [])
    with pytest.raises(Conflict, match="nothing left to cancel"):
        services.cancel_study(operator(), study.pk)
    assert [entry.action for entry in Entry.objects.order_by("pk")] == ["study.made", "study.cancelled"]


WRONG: tuple[tuple[str, dict[str, Any]], ...] = (
    ("name", {"name": " "}),
    ("source", {"source": "nowhere"}),
    ("trace", {"source": "kept", "share": None}),
    ("share", {"share": 0}),
    ("share", {"share": float("nan")}),
    ("days", {"days": 0}),
    ("seeds", {"seeds": []}),
    ("seeds", {"seeds": [1, 1]}),
    ("seeds", {"seeds": [True]}),
    ("seeds", {"share": 1, "days": None, "seeds": list(range(20))}),
    ("policies", {"policies": []}),
    ("policies", {"policies": [{"base": "best"}]}),
    ("policies", {"policies": [{"base": "ours"}, {"base": "ours"}]}),
    ("policies", {"policies": [{"base": "ours", "changes": {"packing": 2}}]}),
    ("policies", {"policies": [{"base": "ours", "name": "x", "changes": {"luck": 2}}]}),
    ("packing", {"policies": [{"base": "ours", "name": "x", "changes": {"packing": -1}}]}),
    ("order", {"policies": [{"base": "ours", "name": "x", "changes": {"order": "any"}}]}),
    ("fail_days", {"fail_days": -1}),
)


def test_what_cannot_be_run_is_refused_at_its_field() -> None:
    for field, change in WRONG:
        with pytest.raises(FieldError) as refused:
            asked(**change)
        assert refused.value.field == field, change
    assert not Study.objects.exists()


def test_nobody_has_more_runs_open_than_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studying, "MOST_OPEN_RUNS", 7)
    asked()
    with pytest.raises(Conflict, match="operator has 4 runs that are not finished; with 4 more"):
        asked()
    assert asked(approver()).made_by.get_username() != "operator"
    assert Study.objects.count() == 2


def test_ranges_and_words_are_those_of_the_core() -> None:
    def made(field: str, value: object) -> None:
        rules_of({"name": "x", "base": "ours", "changes": {field: value}})

    for field, allowed in NUMBERS.items():
        made(field, int(allowed.low) if allowed.whole else allowed.low)
        made(field, int(allowed.high) if allowed.whole else allowed.high)
        with pytest.raises(ParamError):
            made(field, allowed.high + 1)
        with pytest.raises(ParamError):
            made(field, int(allowed.low) - 1 if allowed.whole else allowed.low - 1)
    assert {name: rules.meaning for name, rules in CORE.items()} == NAMED
    every = {name: rules.consolidate_every_s for name, rules in CORE.items() if rules.consolidate_every_s}
    assert every == CONSOLIDATES_EVERY_S
    assert (tuple(FIGURES), frozenset(UPWARD), tables.CAUSES) == (tradeoff.FIGURES, tradeoff.UPWARD, columns.CAUSES)
    for field, words in WORDS.items():
        for word in words.values:
            made(field, word)
        with pytest.raises(ParamError):
            made(field, "any")
    core = {"order": {*ORDERS}, "preempt": {*PREEMPTS}, "spot_quota": {*QUOTAS}}
    assert {word: set(words.values) for word, words in WORDS.items()} == core
    settings = {one.name for one in fields(Rules)} - {"name", "meaning", "placement", "consolidation"}
    plans = {f"consolidation_{one.name}" for one in fields(Params)}
    assert {*CHANGES} - {*TERMS} - plans == settings, "a setting of the core that nobody can change, or the reverse"


def test_a_drawn_trace_has_about_as_many_jobs_as_the_form_says() -> None:
    for source, drawn in DRAWN.items():
        found = drawn_trace(source, seed=1, share=0.003)
        assert 0.5 < len(found.work) / (0.003 * drawn.jobs) < 2
        given = replace(found, tenants=(TenantRecord(name="team", guarantee_gpus=8),))
        again = unpack_trace(pack_trace(given))
        assert digest_of(again.world, again.work) == digest_of(found.world, found.work)
        assert (again.tenants, again.notes, again.until_s) == (given.tenants, given.notes, given.until_s)
        assert found.until_s <= drawn.days * 86_400 <= found.until_s * 1.05


def test_a_bad_row_is_named_and_a_good_pair_replayed() -> None:
    """The spot trace's own schema; nothing of a refused upload stays but where it was wrong."""
    nodes = b"gpu_model,gpu_capacity_num,cpu_num,node_name\nA10,1,64,n1\nH800,8,192,n2\n"
    jobs = write_spot_jobs(twin_jobs(1, share=0.0003))
    kept = [line for line in jobs.splitlines() if b",A10," in line or b",H800," in line or b"job_name" in line]
    bad = b"\n".join([*kept[:3], kept[3].replace(b"A10", b"").replace(b"H800", b""), *kept[4:]])
    good = {"node_info_df.csv": nodes, "job_info_df.csv": b"\n".join(kept) + b"\n"}
    refused = services.receive_files(operator(), "bad", {**good, "job_info_df.csv": bad})
    taken = services.receive_files(operator(), "good", good)
    for trace in (refused, taken, taken):
        planning.read_trace(trace.pk)
    row = selectors.trace_row(operator(), refused.pk)
    assert row.refusal == {
        "path": "job_info_df.csv line 4, gpu_model", "value": None, "reason": "required field is missing"
    }  # fmt: skip
    assert not Trace.objects.exclude(given=None).exists()
    assert selectors.trace_row(operator(), taken.pk).jobs == len(kept) - 1
    study = done(asked(source="kept", share=None, trace=taken.pk, days=None, seeds=[1], fail_days=0))
    assert study.state == "done"
    with pytest.raises(Conflict, match="1 study is on this trace"):
        services.delete_trace(operator(), taken.pk)


def test_what_was_recorded_arrives_again_though_readings_are_dropped() -> None:
    def instant(now_s: int, *pods: str) -> World:
        made = world(now_s).asw("asw-1").nodes("n1", "n2")
        for pod in pods:
            made = made.pod(pod, "n1", 1)
        return made

    source = observed(instant(1000, "a"), "recorded").source_id
    with pytest.raises(FieldError, match="keeps 1 readings of that time, and a trace needs two"):
        services.record_trace(operator(), name="week", source_id=source, cluster="default", hours=168)
    observed(instant(4600, "a", "b"), "recorded")
    observed(instant(8200, "b"), "recorded")
    trace = services.record_trace(operator(), name="week", source_id=source, cluster="default", hours=168)
    planning.read_trace(trace.pk)
    Observation.objects.all().delete()
    Blob.objects.all().delete()
    archive.forget()
    row = selectors.trace_row(operator(), trace.pk)
    assert (row.state, row.jobs, row.nodes, row.gpus, row.seconds) == ("ready", 2, 2, 16, 7200)
    study = done(asked(source="kept", share=None, trace=trace.pk, days=None, fail_days=0))
    found = selectors.outcomes_of(operator(), study.pk)
    assert found is not None
    assert [one["digests"] for one in found.policies] == [[_digests(study)[0, 1]], [_digests(study)[1, 1]]]
    assert found.pairs[0]["seeds"] == [1, 2]


def test_tenant_users_see_no_study() -> None:
    study = asked()
    for read in (selectors.studies, selectors.trace_rows, selectors.study_names):
        with pytest.raises(Denied, match="may not see studies, which name everybody's jobs"):
            read(tenant("team-a"))
    with pytest.raises(Denied):
        selectors.outcomes_of(tenant("team-a"), study.pk)


def test_pages_tell_figures_fronts_and_differences(client: Client) -> None:
    study = kept_study()
    client.force_login(operator())
    page = client.get(reverse("simulation:study", args=[study.pk])).content.decode()
    for words in ("Figures by policy", "Slack nodes", "not measured" if "wake_s" in page else "no data", "±"):
        assert words in page
    report = json.loads(client.get(reverse("simulation:report", args=[study.pk])).content)
    by_hand = [run["report"]["slack_nodes"] for run in report["runs"] if run["policy"] == "fifo"]
    told = next(one for one in report["summary"]["policies"] if one["name"] == "fifo")
    assert told["values"]["slack_nodes"]["mean"] == pytest.approx(sum(by_hand) / len(by_hand))
    assert told["values"]["slack_nodes"]["low"] < min(by_hand)
    query = {"x": "utilisation", "y": "serving_s", "first": "fifo", "second": "greedy"}
    page = client.get(reverse("simulation:trade-off", args=[study.pk]), query).content.decode()
    assert "Jobs that gain most" in page and "on the front" in page
    found = selectors.outcomes_of(operator(), study.pk)
    assert found is not None
    _fronts_hold(found)
    there = selectors.pair_of(found, "greedy", "fifo").found
    back = selectors.pair_of(found, "fifo", "greedy").found
    assert there is not None and back is not None
    assert there["hours"]["HP"]["order"]["mean"] == -back["hours"]["HP"]["order"]["mean"] != 0
    assert _change_by_hand(report, "fairness") == pytest.approx(there["figures"]["fairness"]["mean"])
    assert [one["job"] for one in there["lost"]] == [one["job"] for one in back["gained"]]
    assert all(one["low"] is None or 0 <= one["low"] <= one["mean"] for policy in found.policies
               for part in (policy["figures"], policy["values"]) for _, one in tables.leaves(part))  # fmt: skip
    head, *lines = b"".join(client.get(reverse("simulation:csv", args=[study.pk]))).decode().splitlines()
    assert head == "policy,figure,mean,low,high,runs"
    assert any(line.startswith("fifo,classes.HP.delay_s.p99,") for line in lines)


def _change_by_hand(report: dict[str, Any], figure: str) -> float:
    """Second policy less first, in the mean over seeds."""
    told = {(run["policy"], run["seed"]): run["figures"][figure] for run in report["runs"]}
    return float(sum(told["fifo", seed] - told["greedy", seed] for seed in (1, 2)) / 2)


def _fronts_hold(found: selectors.Outcomes) -> None:
    """Of every two figures: who is on the front is not beaten on both, whoever is not on it is."""
    known = [name for name in FIGURES if found.policies[0]["figures"][name]["mean"] is not None]
    assert known == [name for name in FIGURES if name != "large_start_s"]  # so small a fleet has no large jobs
    assert selectors.front_of(found.policies, "utilisation", "large_start_s").on == []
    for x in known:
        for y in known:
            front = selectors.front_of(found.policies, x, y)
            assert front.on
            for one in found.policies:
                beaten = any(
                    all(_as_good(other, one, figure) for figure in (x, y))
                    and not all(_as_good(one, other, figure) for figure in (x, y))
                    for other in found.policies
                )
                assert (one["name"] in front.on) is not beaten


def _as_good(one: dict[str, Any], other: dict[str, Any], figure: str) -> bool:
    mine, theirs = one["figures"][figure]["mean"], other["figures"][figure]["mean"]
    return bool(mine >= theirs if figure in UPWARD else mine <= theirs)


def test_a_form_makes_the_study_that_it_shows(client: Client) -> None:
    client.force_login(operator())
    sent = {
        "name": "mine", "reason": "to see", "source": "asi", "share_percent": "2", "days": "3", "fail_days": "0",
        "seed_count": "2", "first_seed": "5", "policies": ["ours", "fifo"], "own_name": "mine", "own_base": "fair",
        "own_packing": "7", "own_consolidate_hours": "12", "own_order": "large-first", "redraw": "on",
    }  # fmt: skip
    answer = client.post(reverse("simulation:new"), sent)
    study = Study.objects.get()
    assert answer["Location"] == reverse("simulation:study", args=[study.pk])
    assert study.policies[-1] == {
        "name": "mine", "base": "fair",
        "changes": {"packing": 7.0, "order": "large-first", "consolidate_every_s": 43_200}
    }  # fmt: skip
    assert (study.seeds, study.share, study.days) == ([5, 6], 0.02, 3)
    again = client.get(reverse("simulation:new"), {"like": study.pk}).content.decode()
    assert 'value="7.0"' in again and 'value="12"' in again
    said = client.get(reverse("simulation:estimate"), {**sent, "name": ""}).content.decode()
    assert "6 runs" in said and "12 consolidation plans" in said
    refused = client.post(reverse("simulation:new"), {**sent, "own_packing": "-1"})
    assert refused.status_code == 400
    assert 'value="to see"' in refused.content.decode()
