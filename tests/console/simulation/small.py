"""A study of a few seconds of the machine, and the workers that it needs."""

from typing import Any

from console.simulation import planning, services
from console.simulation.models import Result, Run, Study
from tests.builders.people import operator

SMALL: dict[str, Any] = {
    "name": "small",
    "source": "asi",
    "share": 0.003,
    "days": 2,
    "policies": [{"base": "greedy"}, {"base": "fifo"}],
    "seeds": [1, 2],
    "fail_days": 5,
}


def asked(user: Any = None, **fields: Any) -> Study:
    return services.make_study(user or operator(), **{**SMALL, **fields})


def done(study: Study, *, turned: bool = False) -> Study:
    """As workers do it, in the order of the queue or in the opposite one."""
    ids = list(Run.objects.filter(study=study).order_by("-pk" if turned else "pk").values_list("pk", flat=True))
    for run_id in ids:
        planning.run(run_id)
    planning.sum_up(study.pk)
    return Study.objects.get(pk=study.pk)


_KEPT: dict[str, Any] = {}
_RUN = ("state", "digest", "trace_digest", "figures", "jobs", "until_s", "ended", "started", "cpu_seconds", "code")
_STUDY = ("state", "summary", "told", "summed_at", "finished_at")


def kept_study() -> Study:
    """A finished one.  Its rows are those that workers left the first time: for tests of what is read."""
    study = asked()
    if not _KEPT:
        study = done(study)
        _KEPT["study"] = {name: getattr(study, name) for name in _STUDY}
        _KEPT["runs"] = [
            ({name: getattr(run, name) for name in _RUN}, bytes(run.result.report), bytes(run.result.fates))
            for run in Run.objects.filter(study=study).select_related("result")
        ]
        return study
    for run, (values, report, fates) in zip(Run.objects.filter(study=study), _KEPT["runs"], strict=True):
        Run.objects.filter(pk=run.pk).update(**values)
        Result.objects.create(run=run, report=report, fates=fates)
    Study.objects.filter(pk=study.pk).update(**_KEPT["study"])
    return Study.objects.get(pk=study.pk)
