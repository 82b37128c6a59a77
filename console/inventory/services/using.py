"""What tenants hold and wait for at one reading, and the quotas that the cluster itself brings."""

from collections import defaultdict
from typing import Any

import msgspec
import numpy as np

from console.tenancy.services import UsageRow
from scheduler.cluster.snapshot import UNKNOWN, Snapshot

_FINISHED = ("Succeeded", "Failed")
_HP, _LP, _PENDING = range(3)
_QUOTA = ("cap_gpus", "guarantee_gpus", "weight", "quotas", "cohort")

type Place = tuple[str, str, str, str]  # cluster, tenant ("" for nobody), GPU model, namespace


def usage_rows(snapshot: Snapshot) -> list[UsageRow]:
    """GPU milli by cluster, tenant, namespace and model of the node; pods that are asleep hold what they asked for.

    Pods on slices are not counted.  A pod that waits counts for the one model that it accepts, else for "".
    """
    slices = np.array([bool(spec.mig) for spec in snapshot.pod_specs], np.bool_)[snapshot.pod_spec]
    asked = np.where(slices, 0, snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli)
    sums: defaultdict[Place, list[int]] = defaultdict(lambda: [0, 0, 0])
    tenants = (*snapshot.tenants, "")
    for pod in np.flatnonzero(snapshot.pod_live & (asked > 0)).tolist():
        model = int(snapshot.node_model[snapshot.pod_node[pod]])
        place = (
            snapshot.clusters[snapshot.pod_cluster[pod]].name,
            tenants[snapshot.pod_tenant[pod]],
            snapshot.models[model] if model != UNKNOWN else "",
            snapshot.namespaces[snapshot.pod_namespace[pod]],
        )
        sums[place][_LP if snapshot.pod_lp[pod] else _HP] += int(asked[pod])
    for pod in np.flatnonzero((snapshot.pod_node == UNKNOWN) & (asked > 0)).tolist():
        models = snapshot.pod_specs[snapshot.pod_spec[pod]].gpu_models
        cluster, tenant = snapshot.clusters[snapshot.pod_cluster[pod]].name, tenants[snapshot.pod_tenant[pod]]
        if snapshot.pod_phase[pod] not in _FINISHED:
            namespace = snapshot.namespaces[snapshot.pod_namespace[pod]]
            sums[cluster, tenant, models[0] if len(models) == 1 else "", namespace][_PENDING] += int(asked[pod])
    return [
        UsageRow(cluster, tenant, model, hp, lp, pending, namespace)
        for (cluster, tenant, model, namespace), (hp, lp, pending) in sorted(sums.items())
    ]


def theirs_of(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Tenant records of the snapshot that say more than a name, as plain fields; none of them is ours to edit."""
    plain = [msgspec.to_builtins(record) for record in snapshot.tenant_records]
    return [record for record in plain if any(record.get(field) not in (None, []) for field in _QUOTA)]
