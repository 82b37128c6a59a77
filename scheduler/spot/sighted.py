"""What one snapshot says of a price: who sleeps, what is free, what spot work holds, and what waits.

A snapshot is an instant: it has no past, so nothing is said of reclaims, of who pays again, or of the hours ahead.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.occupancy import borrowers
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Longs, Snapshot
from scheduler.fragmentation.capacity import capacity_of
from scheduler.plan.waiting import pending
from scheduler.spot.demand import DemandRules, TenantUse, counted
from scheduler.spot.readings import Readings


def models_of(snapshot: Snapshot) -> tuple[str, ...]:
    """GPU models of nodes that have GPUs."""
    some = np.unique(snapshot.node_model[(snapshot.node_gpus > 0) & (snapshot.node_model != UNKNOWN)])
    return tuple(snapshot.models[m] for m in some.tolist())


@dataclass(frozen=True, slots=True)
class Seen:
    """One GPU model in one snapshot, GPUs in thousandths; ``held`` and ``waiting`` by tenant, "" for nobody's."""

    standby_milli: int  # asleep on nodes in service, lent or not
    idle_milli: int  # free there, or held by LP pods that borrow from no sleeper
    held: dict[str, int]  # by LP pods
    waiting: dict[str, int]  # what pending LP pods ask for

    @property
    def uses(self) -> list[TenantUse]:
        tenants = sorted({*self.held, *self.waiting})
        return [TenantUse(tenant, self.held.get(tenant, 0), self.waiting.get(tenant, 0)) for tenant in tenants]


def seen_of(snapshot: Snapshot) -> dict[str, Seen]:
    """By GPU model; what may run on several models waits for each by its part of what can be lent."""
    asleep, idle, held = _lendable(snapshot)
    supply = {model: asleep[model] + idle[model] for model in models_of(snapshot)}
    waiting = _waiting(snapshot, supply)
    return {model: Seen(asleep[model], idle[model], dict(held[model]), dict(waiting[model])) for model in supply}


def readings_of(
    snapshot: Snapshot, on_demand_cents: dict[str, int | None], rules: DemandRules | None = None
) -> dict[str, Readings]:
    """By GPU model of the snapshot."""
    found = {}
    for model, seen in seen_of(snapshot).items():
        wanted = counted(seen.uses, seen.standby_milli + seen.idle_milli, rules)
        found[model] = Readings(
            on_demand_cents=on_demand_cents.get(model),
            standby_milli=seen.standby_milli,
            idle_milli=seen.idle_milli,
            paid_milli=wanted.paid_milli,
            waiting_milli=wanted.waiting_milli,
        )
    return found


def _asked(snapshot: Snapshot) -> Longs:
    return snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli


def _lendable(snapshot: Snapshot) -> tuple[dict[str, int], dict[str, int], dict[str, dict[str, int]]]:
    """Thousandths by model: asleep on nodes in service; free there, or held by LP pods that borrow from no sleeper; and
    what LP pods hold, by tenant."""
    asked, usable = _asked(snapshot), snapshot.node_usable
    asleep, idle = defaultdict[str, int](int), defaultdict[str, int](int)
    held: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for node, gpus in enumerate(capacity_of(snapshot).free.tolist()):
        idle[_model(snapshot, node)] += gpus * WHOLE_GPU_MILLI
    borrowing = set(borrowers(snapshot).tolist())
    for pod in np.flatnonzero(snapshot.pod_live & (asked > 0)).tolist():
        node, milli = int(snapshot.pod_node[pod]), int(asked[pod])
        model = _model(snapshot, node)
        if snapshot.pod_lp[pod]:
            held[model][_tenant(snapshot, pod)] += milli
            idle[model] += milli if usable[node] and pod not in borrowing else 0
        elif snapshot.pod_standby[pod] and usable[node]:
            asleep[model] += milli
    return asleep, idle, held


def _waiting(snapshot: Snapshot, supply: dict[str, int]) -> dict[str, dict[str, int]]:
    """Thousandths that pending LP pods ask for, by model and tenant."""
    asked = _asked(snapshot)
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pod in np.flatnonzero(pending(snapshot) & snapshot.pod_lp & (asked > 0)).tolist():
        named = snapshot.pod_specs[snapshot.pod_spec[pod]].gpu_models
        wished = [model for model in supply if not named or model in named]
        total = sum(supply[model] for model in wished)
        for model in wished:
            part = supply[model] / total if total else 1 / len(wished)
            found[model][_tenant(snapshot, pod)] += round(int(asked[pod]) * part)
    return found


def _model(snapshot: Snapshot, node: int) -> str:
    return str((*snapshot.models, "")[snapshot.node_model[node]])


def _tenant(snapshot: Snapshot, pod: int) -> str:
    return str((*snapshot.tenants, "")[snapshot.pod_tenant[pod]])
