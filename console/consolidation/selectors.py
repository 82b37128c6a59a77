"""What a plan can be asked for: the clusters that are observed, and their GPU models."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from console.inventory import archive
from console.inventory.models import Observation
from console.inventory.selectors import source_states
from console.tenancy.services import require


@dataclass(frozen=True, slots=True)
class Scope:
    """One cluster of one source, as last observed."""

    source_id: int
    source: str
    cluster: str
    models: tuple[str, ...]
    nodes: int
    acts: bool
    revision: int

    @property
    def key(self) -> str:
        return f"{self.source_id}|{self.cluster}"


def scopes(viewer: Any) -> list[Scope]:
    """Every observed cluster; a few queries for all, and snapshots that the process remembers."""
    require(viewer, "plans.view_plan")
    found: list[Scope] = []
    read = {source.revision: source for source in source_states(viewer) if source.revision is not None}
    digests = dict(Observation.objects.filter(pk__in=read).values_list("pk", "digest"))
    kept = archive.load_all(list(digests.values()))
    for revision, source in read.items():
        snapshot = kept.get(digests.get(revision, ""))
        if snapshot is None:  # dropped since, with a newer one in its place
            continue
        for index, cluster in enumerate(snapshot.clusters):
            mine = snapshot.node_cluster == index
            known = np.unique(snapshot.node_model[mine & (snapshot.node_model != archive.UNKNOWN)])
            models = tuple(snapshot.models[model] for model in known)
            found.append(Scope(source.id, source.name, cluster.name, models, int(mine.sum()), source.acts, revision))
    return found


def digest_of(scope: Scope) -> str:
    """Of the reading in which the scope was found; "" where it is gone since."""
    return Observation.objects.filter(pk=scope.revision).values_list("digest", flat=True).first() or ""


def scope_of(viewer: Any, source_id: int, cluster: str) -> Scope | None:
    return next((one for one in scopes(viewer) if (one.source_id, one.cluster) == (source_id, cluster)), None)
