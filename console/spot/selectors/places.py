"""Where spot capacity can be asked for: every observed cluster, as last read."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.db.models import OuterRef, Subquery

from console.inventory import archive
from console.inventory.models import Observation, Source
from console.tenancy.selectors import tenant_scope


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster.  ``lends``: leases run there; else they are only written down and the page says so."""

    source_id: int
    source: str
    cluster: str
    models: tuple[str, ...]
    levels: tuple[str, ...]  # closest first, without the node and the whole cluster
    lends: bool
    observed_at: datetime | None
    period_s: int

    @property
    def key(self) -> str:
        return f"{self.source_id}|{self.cluster}"


def places() -> list[Place]:
    """What is lent is no secret; whose it is, is.  Two queries, and one more for what this process has not unpacked."""
    newest = Observation.objects.filter(source=OuterRef("pk")).order_by("-revision")
    sources = list(Source.objects.annotate(digest=Subquery(newest.values("digest")[:1])).order_by("name"))
    kept = archive.load_all([one.digest for one in sources if one.digest])
    return [place for one in sources for place in _of(one, kept.get(one.digest or ""))]


def place_of(source_id: int, cluster: str) -> Place | None:
    return next((one for one in places() if (one.source_id, one.cluster) == (source_id, cluster)), None)


def own_tenants(viewer: Any) -> tuple[str, ...]:
    """For whom the viewer may ask; nobody asks in the name of a tenant that is not theirs."""
    names = tenant_scope(viewer)
    return () if names is None else tuple(sorted(names))


def _of(source: Any, snapshot: archive.Snapshot | None) -> list[Place]:
    if snapshot is None:  # not read yet, or dropped since
        return []
    found = []
    named = tuple(level for level in snapshot.levels if level not in ("host", "cluster"))
    for index, cluster in enumerate(snapshot.clusters):
        mine = (snapshot.node_cluster == index) & (snapshot.node_model != archive.UNKNOWN) & (snapshot.node_gpus > 0)
        models = tuple(snapshot.models[m] for m in np.unique(snapshot.node_model[mine]).tolist())
        if models:
            found.append(
                Place(
                    source.pk, source.name, cluster.name, models, named, bool(source.lends), source.last_observed_at,
                    source.period_s,
                )
            )  # fmt: skip
    return found
