"""Lists of studies, and the runs of one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.db.models import Avg, Case, Count, F, FloatField, Q, QuerySet, Value, When
from django.db.models.functions import Cast

from console.inventory.selectors import NotThereError
from console.simulation.choices import DRAWN, KEPT, NAMED, RunState, StudyState
from console.simulation.models import Run, Study
from console.simulation.selectors.rights import VIEW
from console.tenancy.services import require

ORDERS = {"newest": "-id", "name": "name", "state": "state", "by": "made_by__username"}
HEAVY = ("summary",)


@dataclass(frozen=True, slots=True)
class StudyFilters:
    text: str = ""
    state: str = ""
    by: str = ""
    trace: str = ""

    @classmethod
    def of(cls, query: Mapping[str, Any]) -> "StudyFilters":
        return cls(**{field.name: str(query.get(field.name, ""))[:100].strip() for field in fields(cls)})

    @property
    def narrow(self) -> bool:
        return any((self.text, self.state, self.by, self.trace))


@dataclass(frozen=True, slots=True)
class StudyRow:
    """``progress``: mean over its runs of the share of virtual time that is behind them, 0 to 1."""

    id: int
    name: str
    reason: str
    made_by: str
    made_at: datetime
    state: str
    source: str
    trace: str
    trace_id: int | None
    share: float
    days: int | None
    redraw: bool
    fail_days: float
    seeds: list[int]
    policies: list[dict[str, Any]]
    runs: int
    done: int
    failed: int
    running: int
    progress: float
    jobs: int | None
    nodes: int | None
    gpus: int | None
    seconds: int | None
    notes: list[str]
    summed: bool
    failure: str
    finished_at: datetime | None

    @property
    def is_open(self) -> bool:
        return self.state in (StudyState.QUEUED, StudyState.RUNNING, StudyState.SUMMING)

    @property
    def replayed_s(self) -> int | None:
        """Of the virtual clock, by each run."""
        if self.seconds is None or self.days is None:
            return self.seconds
        return min(self.seconds, self.days * 86_400)

    @property
    def runs_words(self) -> str:
        return f"of {self.runs}: {len(self.policies)} policies × {len(self.seeds)} seeds"

    @property
    def percent(self) -> int:
        return int(100 * self.progress)


@dataclass(frozen=True, slots=True)
class RunRow:
    """``percent`` of virtual time; times of the virtual clock in seconds."""

    id: int
    policy: str
    seed: int
    state: str
    percent: int
    now_s: int
    until_s: int | None
    jobs: int | None
    ended: int
    started: int
    waiting: int
    attempts: int
    cpu_seconds: float
    begun_at: datetime | None
    finished_at: datetime | None
    digest: str
    code: str
    failure: str
    figures: dict[str, float | None] | None


def studies(viewer: Any) -> QuerySet[Study]:
    """Newest first, without what is heavy."""
    require(viewer, VIEW)
    share = Case(
        When(runs__state=RunState.DONE, then=Value(1.0)),
        When(runs__until_s__gt=0, then=Cast(F("runs__now_s"), FloatField()) / F("runs__until_s")),
        default=Value(0.0),
        output_field=FloatField(),
    )
    return (
        Study.objects.defer(*HEAVY)
        .select_related("made_by", "trace")
        .defer("trace__packed", "trace__given")
        .annotate(
            run_count=Count("runs"),
            done_count=Count("runs", filter=Q(runs__state=RunState.DONE)),
            failed_count=Count("runs", filter=Q(runs__state=RunState.FAILED)),
            running_count=Count("runs", filter=Q(runs__state=RunState.RUNNING)),
            progress=Avg(share),
        )
    )


def study_rows(viewer: Any, filters: StudyFilters, *, order: str = "newest") -> QuerySet[Study]:
    """The list, as far as the filters go; ``row_of`` each."""
    rows = studies(viewer)
    if filters.text:
        rows = rows.filter(Q(name__icontains=filters.text) | Q(reason__icontains=filters.text))
    if filters.state:
        rows = rows.filter(state=filters.state)
    if filters.by:
        rows = rows.filter(made_by__username=filters.by)
    if filters.trace:
        rows = rows.filter(source=filters.trace)
    return rows.order_by(ORDERS[order], "-id")


def study_names(viewer: Any) -> dict[str, list[str]]:
    """What the filters offer."""
    require(viewer, VIEW)
    people = Study.objects.order_by("made_by__username").values_list("made_by__username", flat=True).distinct()
    return {"by": list(people)}


def study_of(viewer: Any, study_id: int) -> Study:
    """Raises ``NotThereError``."""
    require(viewer, VIEW)
    found = Study.objects.defer(*HEAVY).select_related("made_by").filter(pk=study_id).first()
    if found is None:
        raise NotThereError("no such study")
    return found


def study_row(viewer: Any, study_id: int) -> StudyRow:
    """Raises ``NotThereError``."""
    found = studies(viewer).filter(pk=study_id).first()
    if found is None:
        raise NotThereError("no such study")
    return row_of(found)


def rows_of(found: Iterable[Any]) -> list[StudyRow]:
    return [row_of(one) for one in found]


def row_of(one: Any) -> StudyRow:
    told = one.told
    return StudyRow(
        id=one.pk,
        name=one.name,
        reason=one.reason,
        made_by=one.made_by.get_username(),
        made_at=one.made_at,
        state=one.state,
        source=one.source,
        trace=one.trace.name if one.source == KEPT and one.trace else _label(one.source),
        trace_id=one.trace_id,
        share=one.share,
        days=one.days,
        redraw=one.redraw,
        fail_days=one.fail_days,
        seeds=one.seeds,
        policies=one.policies,
        runs=one.run_count,
        done=one.done_count,
        failed=one.failed_count,
        running=one.running_count,
        progress=min(1.0, one.progress or 0.0),
        jobs=told.get("jobs"),
        nodes=told.get("nodes"),
        gpus=told.get("gpus"),
        seconds=told.get("seconds"),
        notes=told.get("notes", []),
        summed=one.summed_at is not None,
        failure=one.failure,
        finished_at=one.finished_at,
    )


def _label(source: str) -> str:
    return DRAWN[source].label if source in DRAWN else source


def run_rows(viewer: Any, study: Study | StudyRow) -> list[RunRow]:
    """By policy, then by seed."""
    require(viewer, VIEW)
    rows = Run.objects.filter(study_id=study.pk if isinstance(study, Study) else study.id)
    return [_run(one, study.policies) for one in rows]


def _run(one: Run, policies: list[dict[str, Any]]) -> RunRow:
    over = one.state == RunState.DONE
    return RunRow(
        id=one.pk,
        policy=policies[one.policy]["name"],
        seed=one.seed,
        state=one.state,
        percent=100 if over else int(100 * min(one.now_s, one.until_s) / one.until_s) if one.until_s else 0,
        now_s=one.now_s,
        until_s=one.until_s,
        jobs=one.jobs,
        ended=one.ended,
        started=one.started,
        waiting=one.waiting,
        attempts=one.attempts,
        cpu_seconds=one.cpu_seconds,
        begun_at=one.begun_at,
        finished_at=one.finished_at,
        digest=one.digest,
        code=one.code,
        failure=one.failure,
        figures=one.figures,
    )


def meaning_of(policy: Mapping[str, Any]) -> str:
    """What a policy is, in words: its base, and what was changed."""
    words = NAMED[policy["base"]]
    if not policy["changes"]:
        return words
    changed = ", ".join(f"{field} {value}" for field, value in policy["changes"].items())
    return f"{policy['base']} with {changed}"
