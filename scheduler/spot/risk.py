"""Who is likely to be stopped next: every LP pod with all terms of what stopping it costs, the cheapest first.

Beside the cost stands what is known to be coming: the end of its lender's window.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.occupancy import borrowers
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.performance.leaving import Leaving
from scheduler.performance.stopping import Terms, law_for
from scheduler.placement.named import VictimRules
from scheduler.placement.prey import Prey, prey_of
from scheduler.spot.standby import Sleeper

FREE, LENT, GUARDED, SAFE = "free", "lent", "guarded", "safe"  # on what it stands; within a guarantee; never a victim


@dataclass(frozen=True, slots=True)
class AtRisk:
    """``lender_ends_s``: Unix seconds; None: it borrows from nobody, or nobody has said until when."""

    pod: str
    row: int
    node: str
    tenant: str | None
    gang: str | None
    gpu_milli: int
    standing: str  # FREE, LENT, GUARDED or SAFE
    lender: str | None
    lender_ends_s: int | None
    loss_milli: int  # the study's C, thousandths of GPU-seconds
    whole_gang_milli: int | None  # all that its gang costs, where stopping it stops the gang
    terms: Terms
    law: Leaving
    on_notice: bool
    assumed_age: bool

    @property
    def per_gpu(self) -> float:
        """GPU-seconds that each GPU which comes free costs: the order of the list."""
        whole = self.terms.total if self.whole_gang_milli is None else self.whole_gang_milli / 1000
        return whole / max(self.gpu_milli / 1000, 1e-9)


def at_risk(
    snapshot: Snapshot, sleepers: Sequence[Sleeper] = (), *, rules: VictimRules | None = None, most: int | None = None
) -> tuple[AtRisk, ...]:
    """Least cost for each GPU first, those that may not be stopped last; ``most``: so many of them."""
    rules = rules or VictimRules()
    prey = prey_of(snapshot, snapshot.now_s, rules.assumed_age_s, rules.costs)
    ends = {one.row: one.until_s for one in sleepers}
    lends = {p: int(snapshot.pod_lender[p]) for p in borrowers(snapshot).tolist()}
    rows = np.flatnonzero(snapshot.pod_live & snapshot.pod_lp & ~snapshot.pod_terminating & (snapshot.pod_gpus > 0))
    found = [_row(snapshot, prey, rules, p, lends, ends) for p in rows.tolist()]
    found.sort(key=lambda one: (one.standing == SAFE, one.standing == GUARDED, one.per_gpu, one.row))
    return tuple(found[:most])


def _row(
    snapshot: Snapshot, prey: Prey, rules: VictimRules, p: int, lends: Mapping[int, int],
    ends: Mapping[int, int | None],
) -> AtRisk:  # fmt: skip
    gang, tenant, lender = int(snapshot.pod_gang[p]), int(snapshot.pod_tenant[p]), lends.get(p)
    breaks = gang != UNKNOWN and int(prey.spare[gang]) == 0
    where = GUARDED if prey.guarded[p] else SAFE if not prey.may[p] else FREE if lender is None else LENT
    return AtRisk(
        pod=snapshot.pod_key(p),
        row=p,
        node=snapshot.node_name[snapshot.pod_node[p]],
        tenant=None if tenant == UNKNOWN else snapshot.tenants[tenant],
        gang=None if gang == UNKNOWN else snapshot.gangs[gang].name,
        gpu_milli=int(snapshot.pod_gpus[p]) * int(snapshot.pod_gpu_milli[p]),
        standing=where,
        lender=None if lender is None else snapshot.pod_key(lender),
        lender_ends_s=None if lender is None else ends.get(lender),
        loss_milli=int(prey.loss[p]),
        whole_gang_milli=int(prey.total.gang_cost[gang]) if breaks else None,
        terms=prey.stops.terms(p),
        law=law_for(snapshot, prey.stops, p, rules.costs),
        on_notice=bool(prey.stops.on_notice[p]),
        assumed_age=bool(prey.stops.assumed[p]),
    )
