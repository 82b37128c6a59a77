"""One run: replayed in a worker, told as it goes, packed now and then, given up as soon as it is somebody else's."""

from contextlib import closing
from dataclasses import asdict

from console.simulation import services
from console.simulation.models import Run
from console.simulation.planning.pace import Pace, SignOfLife
from console.simulation.planning.policies import rules_of
from console.simulation.planning.tracing import arrivals_for, code_digest, told_of, until_of
from scheduler.cluster.errors import InputError, ParamError
from scheduler.replay.accounts import quota_rows
from scheduler.replay.fates import fates_of, pack_fates
from scheduler.replay.kept import resume_packed
from scheduler.replay.loop import begin_replay
from scheduler.replay.report import as_json, report
from scheduler.replay.rules import Ways
from scheduler.replay.tradeoff import figures_of
from scheduler.replay.world import digest_of

DAY_S = 86_400


def run(run_id: int) -> None:
    """Does nothing where the run is taken, over or cancelled, so that a message may come twice."""
    mine = services.claim(run_id)
    if mine is None:
        return
    try:
        with closing(SignOfLife(mine)):
            _run(mine)
    except (InputError, ParamError) as error:
        services.fail_run(mine, str(error))
    except MemoryError:
        services.fail_run(mine, "It needs more memory than the worker has: take a smaller share.")
    except Exception as error:
        services.fail_run(mine, f"The replay failed: {type(error).__name__}: {error}")
        raise


def _run(mine: Run) -> None:
    study = mine.study
    found = arrivals_for(study, mine.seed)
    rules = rules_of(study.policies[mine.policy])
    ways = Ways(fail_mean_s=round(study.fail_days * DAY_S))
    until, code = until_of(study, found), code_digest()
    if not services.tell_trace(mine, digest_of(found.world, found.work), told_of(found, until), until, code):
        return
    quota = quota_rows(found.tenants, found.work.tenants, found.world.pools)
    one = begin_replay(found.world, found.work, rules, ways, seed=mine.seed, until_s=until, quota=quota)
    kept = services.checkpoint_of(mine, code)
    pace = Pace(mine, code, one if kept is None else resume_packed(one, kept[0]), 0.0 if kept is None else kept[1])
    outcome = pace.replay.run(pace.tell)
    if pace.lost:
        return
    told = report(outcome)
    services.keep_result(
        mine,
        digest=told.digest,
        figures=figures_of(outcome, told),
        report={**as_json(told), "rules": asdict(rules), "ways": asdict(ways)},
        fates=pack_fates(fates_of(outcome)),
        reached=pace.reached(),
    )
