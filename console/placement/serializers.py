"""A question and its answer as JSON."""

from typing import Any

from rest_framework import serializers

from console.placement.choices import BILLIONS, DIFFERENCES, RANGES, TOGETHER, QuestionState, Tier

Shape = serializers.Serializer[Any]


def _number(name: str) -> serializers.IntegerField:
    allowed = RANGES[name]
    return serializers.IntegerField(
        min_value=allowed.low, max_value=allowed.high, default=allowed.default, help_text=allowed.words or allowed.label
    )


class PlacementAskedSerializer(Shape):
    """The shape of the pods, and how near to one another they are to stand."""

    pods = _number("pods")
    gpus = _number("gpus")
    cpu_milli = _number("cpu_milli")
    memory_mib = _number("memory_mib")
    model = serializers.CharField(default="", allow_blank=True, max_length=253, help_text="GPU model; empty: any")
    mix_models = serializers.BooleanField(
        default=False, help_text="its pods may stand on several GPU models at once; else all of them on one"
    )
    tier = serializers.ChoiceField(choices=Tier.choices, default=Tier.HP.value)
    required = serializers.CharField(  # type: ignore[assignment]
        default="", allow_blank=True, max_length=253, help_text="level of one domain for all, or no place; empty: none"
    )
    preferred = serializers.CharField(
        default="", allow_blank=True, max_length=253, help_text="the same, if there is one"
    )
    slice_pods = _number("slice_pods")
    slice_level = serializers.CharField(default="", allow_blank=True, max_length=253)
    billions = serializers.FloatField(
        default=None, allow_null=True, min_value=BILLIONS[0], max_value=BILLIONS[1],
        help_text="parameters of the model that is trained; null: no step time",
    )  # fmt: skip
    tp = _number("tp")
    pp = _number("pp")
    ep = _number("ep")


class PlacementAskSerializer(PlacementAskedSerializer):
    source = serializers.IntegerField(min_value=1, max_value=2**53 - 1)  # type: ignore[assignment]
    cluster = serializers.CharField(min_length=1, max_length=253)

    def asked(self) -> dict[str, Any]:
        """The arguments of ``services.ask``."""
        said = dict(self.validated_data)
        return {"source_id": said.pop("source"), "cluster": said.pop("cluster"), "asked": said}


class PlacementJobsSerializer(Shape):
    """Which waiting jobs are placed together."""

    first = serializers.IntegerField(
        min_value=TOGETHER.low, max_value=TOGETHER.high, default=TOGETHER.default, help_text="jobs of the queue"
    )
    model = serializers.CharField(
        default="", allow_blank=True, max_length=253, help_text="jobs that accept this GPU model; empty: all"
    )
    tenant = serializers.CharField(default="", allow_blank=True, max_length=253, help_text="its jobs; empty: all")


class PlacementTogetherSerializer(PlacementJobsSerializer):
    source = serializers.IntegerField(min_value=1, max_value=2**53 - 1)  # type: ignore[assignment]
    cluster = serializers.CharField(min_length=1, max_length=253)

    def asked(self) -> dict[str, Any]:
        """The arguments of ``services.ask_together``."""
        said = dict(self.validated_data)
        return {"source_id": said.pop("source"), "cluster": said.pop("cluster"), "asked": said}


class PlacementPlaceSerializer(Shape):
    node = serializers.CharField()
    pods = serializers.IntegerField()
    gpus = serializers.IntegerField()


class PlacementDomainSerializer(Shape):
    domain = serializers.CharField(allow_null=True, help_text="null: nodes of which nobody knows it")
    gpus = serializers.IntegerField()


class PlacementPredictedSerializer(Shape):
    """Of an all-reduce of 1 GiB, and of a training step; null where the GPU model's links or rate are unknown."""

    crosses = serializers.BooleanField(help_text="an access switch")
    all_reduce_seconds = serializers.FloatField(allow_null=True)
    algorithm = serializers.CharField(allow_null=True)
    protocol = serializers.CharField(allow_null=True)
    step_seconds = serializers.FloatField(allow_null=True)
    step = serializers.DictField(child=serializers.FloatField(), allow_null=True)
    assumed = serializers.ListField(child=serializers.CharField())


class PlacementOptionSerializer(Shape):
    level = serializers.CharField(help_text="of the closest domain that holds all pods")
    domain = serializers.CharField(allow_null=True)
    gpu_models = serializers.ListField(child=serializers.CharField())
    entropy = serializers.FloatField()
    score = serializers.FloatField()
    terms = serializers.DictField(child=serializers.FloatField(allow_null=True))
    gpus_by_domain = PlacementDomainSerializer(many=True)
    nodes_opened = serializers.IntegerField(help_text="on which nobody works now")
    opens_whole = serializers.IntegerField(help_text="whole free domains of the level")
    predicted = PlacementPredictedSerializer()
    node_count = serializers.IntegerField()
    nodes = PlacementPlaceSerializer(many=True, help_text="named to those who see the fleet")


class PlacementFitSerializer(Shape):
    level = serializers.CharField()
    pods = serializers.IntegerField()
    gpus = serializers.IntegerField()
    domain = serializers.CharField(allow_null=True)


class PlacementResultSerializer(Shape):
    ok = serializers.BooleanField()
    reason = serializers.CharField(allow_null=True)
    detail = serializers.CharField(allow_null=True)
    proven = serializers.BooleanField(allow_null=True, help_text="no place exists; false: the search gave up")
    largest_fit = serializers.IntegerField(help_text="GPUs that fit now where they are asked for")
    fits = PlacementFitSerializer(many=True)
    reasons = serializers.DictField(child=serializers.IntegerField(), help_text="why nodes hold no pod: nodes")
    best = PlacementOptionSerializer(allow_null=True)
    alternatives = PlacementOptionSerializer(many=True)


class PlacementHeldSerializer(Shape):
    entropy = serializers.FloatField(allow_null=True)
    predicted = PlacementPredictedSerializer(allow_null=True)
    gpu_models = serializers.ListField(child=serializers.CharField())
    domains = PlacementDomainSerializer(many=True)
    node_count = serializers.IntegerField()
    nodes = PlacementPlaceSerializer(many=True, help_text="named to those who see the fleet")


class PlacementJobSerializer(Shape):
    job = serializers.CharField()
    tenant = serializers.CharField(help_text="empty: nobody says whose it is")
    position = serializers.IntegerField(help_text="in the queue of the cluster, from 1")
    pods = serializers.IntegerField()
    gpus = serializers.IntegerField()
    difference = serializers.ChoiceField(choices=[*DIFFERENCES.items()])
    joint = PlacementHeldSerializer(allow_null=True, help_text="where it starts; null: it waits")
    greedy = PlacementHeldSerializer(allow_null=True, help_text="the same, the largest first")


class PlacementSumSerializer(Shape):
    """Means weigh by GPUs; null where nothing is seated, or a time is unknown."""

    jobs = serializers.IntegerField()
    gpus = serializers.IntegerField()
    entropy = serializers.FloatField(allow_null=True)
    all_reduce_seconds = serializers.FloatField(allow_null=True, help_text="of 1 GiB")
    all_reduce_gpu_seconds = serializers.FloatField(allow_null=True)
    nodes_opened = serializers.IntegerField()


class PlacementJointSerializer(Shape):
    """Several waiting jobs at once; sums are missing where none waits."""

    ok = serializers.BooleanField(help_text="all of them start")
    waiting = serializers.IntegerField(help_text="jobs of the queue that could have been asked about")
    level = serializers.CharField(help_text="of the domains, and of entropy")
    together = PlacementSumSerializer(required=False)
    largest_first = PlacementSumSerializer(required=False)
    most_gpus = serializers.IntegerField(required=False, help_text="no way seats more")
    proven = serializers.BooleanField(required=False, help_text="nobody can seat more GPUs")
    jobs = PlacementJobSerializer(many=True)


class PlacementAnswerSerializer(Shape):
    """A recommendation of one reading; nobody is bound by it."""

    id = serializers.IntegerField()
    source = serializers.CharField()  # type: ignore[assignment]
    cluster = serializers.CharField()
    asked = PlacementAskedSerializer(source="shape", allow_null=True)
    jobs = PlacementJobsSerializer(allow_null=True, help_text="asked about together; null: a shape was")
    asked_by = serializers.CharField()
    asked_at = serializers.DateTimeField()
    state = serializers.ChoiceField(choices=QuestionState.choices)
    done_at = serializers.DateTimeField(allow_null=True)
    revision = serializers.IntegerField(allow_null=True)
    observed_at = serializers.DateTimeField(allow_null=True)
    failure = serializers.CharField()
    answer = PlacementResultSerializer(source="alone", allow_null=True)
    joint = PlacementJointSerializer(allow_null=True)
