"""The demo's first leases: asked for by its tenant as anybody would, and started by the planner."""

from collections import Counter
from typing import Any

import numpy as np

from console.inventory import services as inventory
from console.inventory.models import Source
from console.prices.selectors import quotes
from console.spot.models import Lease
from console.spot.selectors.places import Place, own_tenants, places
from console.spot.services.deciding import make_lease

HOUR_S = 3600


def ensure_leases(user: Any) -> int:
    """Once, and where something lends; how many were asked for.

    One that is over in ten minutes, one that a recall will meet, a large gang that has to wait, and a draft.
    """
    place = next((one for one in places() if one.lends), None)
    mine = own_tenants(user)
    if place is None or not mine or Lease.objects.exists():
        return 0
    models = _most_asleep(place)
    asks: list[tuple[str, bool, dict[str, Any]]] = [
        ("short sweep", False, {"gpus_per_pod": 1, "pods": 4, "min_members": 1, "run_s": 600}),
        ("ablation", False, {"gpus_per_pod": 2, "pods": 3, "min_members": 1, "run_s": 6 * HOUR_S,
                             "checkpoint_interval_s": 900, "guaranteed_s": 1800}),
        ("pretrain", False, {"gpus_per_pod": 4, "pods": 2, "run_s": 12 * HOUR_S, "checkpoint_interval_s": 900,
                             "hook_name": "save.sh", "hook_s": 20}),
        ("evaluation", False, {"gpus_per_pod": 1, "pods": 8, "min_members": 2, "run_s": 8 * HOUR_S,
                               "checkpoint_interval_s": 600, "hook_name": "flush.sh", "hook_s": 12}),
        ("one block", False, {"gpus_per_pod": 8, "pods": 64, "run_s": 12 * HOUR_S, "checkpoint_interval_s": 900,
                              "hook_name": "save.sh", "hook_s": 25,
                              **({"topology": place.levels[0], "required": True} if place.levels else {})}),
        ("next week", True, {"gpus_per_pod": 8, "pods": 4, "run_s": 24 * HOUR_S}),
    ]  # fmt: skip
    for name, draft, asked in asks:
        make_lease(
            user, source_id=place.source_id, cluster=place.cluster, tenant=mine[0], name=name, draft=draft,
            asked={"gpu_models": models[:2], "cpu_milli": 4000 * asked["gpus_per_pod"],
                   "memory_mib": 16_384 * asked["gpus_per_pod"], **asked},
        )  # fmt: skip
    return len(asks)


def _most_asleep(place: Place) -> list[str]:
    """GPU models of the cluster that have a quote, those with most GPUs asleep first."""
    found = inventory.newest(Source.objects.get(pk=place.source_id))
    asleep: Counter[str] = Counter()
    if found is not None:
        snapshot = found[1]
        for p in np.flatnonzero(snapshot.pod_standby & snapshot.pod_live).tolist():
            model = int(snapshot.node_model[snapshot.pod_node[p]])
            if model >= 0:
                asleep[snapshot.models[model]] += int(snapshot.pod_gpus[p])
    priced = {model for model, one in quotes(place.models).items() if one.cents is not None}
    return sorted(priced or place.models, key=lambda model: (-asleep[model], model))
