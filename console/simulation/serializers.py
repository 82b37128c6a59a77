"""Studies and traces as JSON: the rows that the pages show."""

from typing import Any

from rest_framework import serializers

from console.simulation.choices import (
    DRAWN,
    FIGURES,
    KEPT,
    LARGEST_SEED,
    MOST_DAYS,
    MOST_HOURS,
    MOST_POLICIES,
    MOST_SEEDS,
    NAMED,
    RunState,
    StudyState,
    TraceKind,
    TraceState,
)

Shape = serializers.Serializer[Any]
INTERVAL = "over seeds: mean, and the ends of Student's 95 % interval of that mean; null where there is none"


class StudyIntervalSerializer(Shape):
    mean = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    runs = serializers.IntegerField()


class StudyPolicySerializer(Shape):
    """A named policy as it stands, or one that starts from it with settings changed."""

    name = serializers.CharField(max_length=40, required=False, help_text="left out: that of its base")
    base = serializers.ChoiceField(choices=list(NAMED))
    changes = serializers.DictField(
        required=False,
        help_text="setting -> value: weights, order, preempt, times in seconds, consolidation_…",
    )


class AskStudySerializer(Shape):
    """``trace`` goes with the source *kept*, ``share`` with the drawn ones."""

    name = serializers.CharField(max_length=100)
    reason = serializers.CharField(max_length=500, default="", allow_blank=True)
    source = serializers.ChoiceField(choices=[*DRAWN, KEPT])  # type: ignore[assignment]
    trace = serializers.IntegerField(default=None, allow_null=True, min_value=1, max_value=2**53 - 1)
    share = serializers.FloatField(default=None, allow_null=True, min_value=0.001, max_value=1)
    days = serializers.IntegerField(default=None, allow_null=True, min_value=1, max_value=MOST_DAYS)
    redraw = serializers.BooleanField(default=True, help_text="a drawn trace is drawn anew for each seed")
    fail_days = serializers.FloatField(default=0, min_value=0, max_value=10_000, help_text="0: no node fails")
    policies = serializers.ListField(child=StudyPolicySerializer(), min_length=1, max_length=MOST_POLICIES)
    seeds = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=LARGEST_SEED), min_length=1, max_length=MOST_SEEDS
    )


class StudyRunSerializer(Shape):
    """``percent`` of virtual time."""

    id = serializers.IntegerField()
    policy = serializers.CharField()
    seed = serializers.IntegerField()
    state = serializers.ChoiceField(choices=RunState.choices)
    percent = serializers.IntegerField()
    now_s = serializers.IntegerField()
    until_s = serializers.IntegerField(allow_null=True)
    jobs = serializers.IntegerField(allow_null=True)
    ended = serializers.IntegerField()
    started = serializers.IntegerField()
    waiting = serializers.IntegerField()
    attempts = serializers.IntegerField(help_text="workers that took it up")
    cpu_seconds = serializers.FloatField()
    begun_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    digest = serializers.CharField(help_text="of what became of all jobs; empty until it is done")
    code = serializers.CharField(help_text="digest of the core's sources")
    failure = serializers.CharField()
    figures = serializers.DictField(child=serializers.FloatField(allow_null=True), allow_null=True)


class StudySerializer(Shape):
    """``progress``: mean over its runs of the share of virtual time that is behind them."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    reason = serializers.CharField()
    made_by = serializers.CharField()
    made_at = serializers.DateTimeField()
    state = serializers.ChoiceField(choices=StudyState.choices)
    source = serializers.CharField()  # type: ignore[assignment]
    trace = serializers.CharField()
    trace_id = serializers.IntegerField(allow_null=True)
    share = serializers.FloatField()
    days = serializers.IntegerField(allow_null=True)
    redraw = serializers.BooleanField()
    fail_days = serializers.FloatField()
    seeds = serializers.ListField(child=serializers.IntegerField())
    policies = StudyPolicySerializer(many=True)
    runs = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    running = serializers.IntegerField()
    progress = serializers.FloatField()
    jobs = serializers.IntegerField(allow_null=True)
    nodes = serializers.IntegerField(allow_null=True)
    gpus = serializers.IntegerField(allow_null=True)
    seconds = serializers.IntegerField(allow_null=True)
    notes = serializers.ListField(child=serializers.CharField())
    summed = serializers.BooleanField(help_text="its report has a summary")
    failure = serializers.CharField()
    finished_at = serializers.DateTimeField(allow_null=True)


class StudyListSerializer(Shape):
    total = serializers.IntegerField()
    page = serializers.IntegerField()
    pages = serializers.IntegerField()
    results = StudySerializer(many=True)


class StudyDetailSerializer(StudySerializer):
    all_runs = StudyRunSerializer(many=True)


class StudyReasonSerializer(Shape):
    reason = serializers.CharField(max_length=500, default="", allow_blank=True)


class StudyReportSerializer(Shape):
    """Everything that is kept: ``summary`` has figures over seeds and comparisons, ``runs`` the core's reports."""

    study = serializers.DictField()
    summary = serializers.DictField(allow_null=True)
    runs = serializers.ListField(child=serializers.DictField())


class StudyChangeSerializer(Shape):
    """One job; ``seed`` is null where all seeds have the same jobs."""

    job = serializers.CharField()
    seed = serializers.IntegerField(allow_null=True)
    tier = serializers.CharField()
    gpus = serializers.FloatField()
    first_s = serializers.FloatField()
    second_s = serializers.FloatField()
    change = StudyIntervalSerializer(help_text=INTERVAL)
    cause = serializers.CharField()


class StudyComparisonSerializer(Shape):
    """Second less first; hours of waiting by tier and cause."""

    first = serializers.CharField()
    second = serializers.CharField()
    seeds = serializers.ListField(child=serializers.IntegerField())
    jobs = StudyIntervalSerializer()
    sooner = StudyIntervalSerializer()
    later = StudyIntervalSerializer()
    only_first = StudyIntervalSerializer()
    only_second = StudyIntervalSerializer()
    figures = serializers.DictField(child=StudyIntervalSerializer(), help_text="of the differences seed by seed")
    hours = serializers.DictField(child=serializers.DictField(child=StudyIntervalSerializer()))
    gained = StudyChangeSerializer(many=True)
    lost = StudyChangeSerializer(many=True)


class StudyStandingSerializer(Shape):
    policy = serializers.CharField()
    efficient = serializers.BooleanField(help_text="no other is as good on all five and better on one")
    figures = serializers.DictField(child=StudyIntervalSerializer(), help_text=f"{', '.join(FIGURES)}; {INTERVAL}")


class StudyTradeOffSerializer(Shape):
    """``front``: policies that are not beaten on both of the two figures."""

    x = serializers.CharField(help_text="a figure")
    y = serializers.CharField(help_text="a figure")
    front = serializers.ListField(child=serializers.CharField())
    standings = StudyStandingSerializer(many=True)


class StudyTraceSerializer(Shape):
    """``refusal``: path (file, line, field), value and reason of what was wrong with it."""

    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=TraceKind.choices)
    name = serializers.CharField()
    made_by = serializers.CharField()
    made_at = serializers.DateTimeField()
    origin = serializers.CharField()
    state = serializers.ChoiceField(choices=TraceState.choices)
    jobs = serializers.IntegerField(allow_null=True)
    nodes = serializers.IntegerField(allow_null=True)
    gpus = serializers.IntegerField(allow_null=True)
    seconds = serializers.IntegerField(allow_null=True)
    digest = serializers.CharField()
    notes = serializers.ListField(child=serializers.CharField())
    refusal = serializers.DictField(allow_null=True)
    studies = serializers.IntegerField()


class RecordTraceSerializer(Shape):
    name = serializers.CharField(max_length=100)
    source = serializers.IntegerField(min_value=1, max_value=2**53 - 1)  # type: ignore[assignment]
    cluster = serializers.CharField(max_length=253)
    hours = serializers.IntegerField(default=168, min_value=1, max_value=MOST_HOURS)


class GiveTraceSerializer(Shape):
    """Multipart: the files of one trace, each under the name ``files``."""

    name = serializers.CharField(max_length=100)
    files = serializers.ListField(child=serializers.FileField(allow_empty_file=True))
