"""A request for a plan as JSON."""

from typing import Any

from rest_framework import serializers

from console.consolidation.choices import GOALS, RANGES, SEEDS


class GoalSerializer(serializers.Serializer[Any]):
    """What the plan is to reach; each kind takes its own fields and refuses others."""

    kind = serializers.ChoiceField(choices=list(GOALS), default="nodes")
    nodes = serializers.ListField(
        child=serializers.CharField(min_length=1, max_length=253),
        required=False,
        max_length=10_000,
        help_text="drain: the nodes to clear; spare: the failing one",
    )
    name = serializers.CharField(
        required=False,
        max_length=512,
        help_text="domain: its name; shape: such as 8G128C; gang: namespace/name of a gang or pod",
    )
    slots = serializers.IntegerField(required=False, min_value=1, max_value=10_000, help_text="shape: how often")
    level = serializers.CharField(
        required=False,
        max_length=253,
        help_text="domain: its level, where it is not clear; spare: what it has to share, 'cluster' for anywhere",
    )
    whole = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="all or nothing; null: as is usual for the kind"
    )


class RequestSerializer(serializers.Serializer[Any]):
    source = serializers.IntegerField(min_value=1, max_value=2**53 - 1)  # type: ignore[assignment]
    cluster = serializers.CharField(min_length=1, max_length=253)
    models = serializers.ListField(
        child=serializers.CharField(min_length=1, max_length=253), default=list, max_length=200
    )
    depth = serializers.IntegerField(min_value=RANGES["depth"].low, max_value=RANGES["depth"].high, default=3)
    rounds = serializers.IntegerField(min_value=RANGES["rounds"].low, max_value=RANGES["rounds"].high, default=3)
    partition = serializers.IntegerField(
        min_value=RANGES["partition"].low, max_value=RANGES["partition"].high, default=500
    )
    exact_up_to = serializers.IntegerField(
        min_value=RANGES["exact_up_to"].low, max_value=RANGES["exact_up_to"].high, default=40
    )
    repack_up_to = serializers.IntegerField(
        min_value=RANGES["repack_up_to"].low, max_value=RANGES["repack_up_to"].high, default=100
    )
    max_moves = serializers.IntegerField(
        min_value=RANGES["max_moves"].low, max_value=RANGES["max_moves"].high, default=None, allow_null=True
    )
    goal = GoalSerializer(required=False)
    seed = serializers.IntegerField(min_value=SEEDS.low, max_value=SEEDS.high, default=0)

    def asked(self) -> dict[str, Any]:
        """The arguments of ``services.request``."""
        said = self.validated_data
        return {
            "source_id": said["source"],
            "cluster": said["cluster"],
            "models": said["models"],
            "params": {name: said[name] for name in RANGES},
            "goal": said.get("goal"),
            "seed": said["seed"],
        }
