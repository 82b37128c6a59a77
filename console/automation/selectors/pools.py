"""Pools: the nodes of one GPU model in one cluster of one source, and which of them a plan touches."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from urllib.parse import urlencode

from django.shortcuts import get_object_or_404

from console.inventory import archive
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
    """GPU model of each node that the plan touches, as it found it; a node that is not named has none that we know."""
    touched = touched_nodes(plan)
    found = {node: model for node, model in _drawn(plan).items() if node in touched and model}
    return found | _read(plan, touched - set(found))


def touched_nodes(plan: Plan) -> set[str]:
    pairs = Step.objects.filter(plan=plan).values_list("source_node", "target_node").distinct()
    return {node for pair in pairs for node in pair}


def touched_models(plan: Plan, models: dict[str, str]) -> set[str]:
    """Of all nodes that a move leaves or reaches; "" where one of them has no model that we know."""
    return {models.get(node, "") for node in touched_nodes(plan)}


def _drawn(plan: Plan) -> dict[str, str]:
    """The nodes in scope."""
    drawn = PlanMap.objects.filter(plan=plan).only("layout", "names").first()
    if drawn is None:
        return {}
    models = chain.from_iterable([group["model"]] * group["count"] for group in drawn.layout)
    return dict(zip(drawn.names.split("\n"), models, strict=True))


def _read(plan: Plan, nodes: set[str]) -> dict[str, str]:
    """Nodes outside the scope may receive; the reading under the plan names them, as long as it is kept."""
    if not nodes:
        return {}
    try:
        snapshot = archive.load(plan.base_digest)
    except archive.GoneError:
        return {}
    return {
        name: snapshot.models[snapshot.node_model[row]]
        for row, name in enumerate(snapshot.node_name)
        if name in nodes
        and snapshot.clusters[snapshot.node_cluster[row]].name == plan.cluster
        and snapshot.node_model[row] != archive.UNKNOWN
    }
