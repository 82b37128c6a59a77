"""Pools: the nodes of one GPU model in one cluster of one source, and which of them a plan touches."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from urllib.parse import urlencode

from django.shortcuts import get_object_or_404

from console.inventory.models import Source
from console.plans.models import Plan, PlanMap, Step


@dataclass(frozen=True, slots=True, order=True)
class Pool:
    source: str
    cluster: str
    gpu_model: str
    source_id: int

    @property
    def words(self) -> str:
        return f"{self.gpu_model or 'nodes of no known model'} in {self.cluster}"

    @property
    def query(self) -> str:
        """As an address names it."""
        return urlencode({"source": self.source_id, "cluster": self.cluster, "gpu_model": self.gpu_model})


def pool_for(source_id: int, cluster: str, gpu_model: str) -> Pool:
    """Raises ``Http404`` where there is no such source."""
    return Pool(get_object_or_404(Source, pk=source_id).name, cluster, gpu_model, source_id)


def pools_of(plan: Plan, models: Iterable[str]) -> list[Pool]:
    return [Pool(plan.source.name, plan.cluster, model, plan.source_id) for model in sorted(models)]


def node_models(plan: Plan) -> dict[str, str]:
    """GPU model of each node in scope, as the plan found it; nodes that are not named there have none that we know."""
    drawn = PlanMap.objects.filter(plan=plan).only("layout", "names").first()
    if drawn is None:
        return {}
    models = chain.from_iterable([group["model"]] * group["count"] for group in drawn.layout)
    return dict(zip(drawn.names.split("\n"), models, strict=True))


def touched_models(plan: Plan, models: dict[str, str]) -> set[str]:
    """Of all nodes that a move leaves or reaches; "" where one of them has no model that we know."""
    pairs = Step.objects.filter(plan=plan).values_list("source_node", "target_node").distinct()
    return {models.get(node, "") for pair in pairs for node in pair}
