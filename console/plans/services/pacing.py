"""The waves as they are run: the core's decision, under the limits of the policy."""

from typing import Any

from console.audit import services as audit
from console.plans import selectors
from console.plans.models import Plan, Step
from console.plans.selectors.rules import SETTING_OF
from console.plans.services import checking, pricing
from console.policies.selectors import Policy, for_all_tenants, tenant_limits
from scheduler.cluster.snapshot import Snapshot
from scheduler.performance.interruption import costs
from scheduler.plan import plan as core
from scheduler.plan.pace import ASW, FIRST, NODE, OWNER, STORE, SWITCH, TENANT, WAVE, Limits, Paced, pace, touches
from scheduler.plan.resolve import resolve

MIB_PER_GIB = 1024
_BATCH = 500


def limits_of(policy: Policy) -> Limits:
    return Limits(
        first_per_cent=policy[SETTING_OF[FIRST]].value or 1,
        wave=policy[SETTING_OF[WAVE]].value,
        node=policy[SETTING_OF[NODE]].value,
        asw=policy[SETTING_OF[ASW]].value,
        owner=policy[SETTING_OF[OWNER]].value,
        tenant=for_all_tenants(policy, SETTING_OF[TENANT]),
        tenants=_of_single_tenants(policy),
        store_mib=_mib(policy[SETTING_OF[STORE]].value),
        switch_mib=_mib(policy[SETTING_OF[SWITCH]].value),
    )


def _mib(gib: int | None) -> float | None:
    return None if gib is None else float(gib * MIB_PER_GIB)


def _of_single_tenants(policy: Policy) -> dict[str, int]:
    """A tenant's own limit, where it is lower than everybody's."""
    wide = for_all_tenants(policy, SETTING_OF[TENANT])
    own = tenant_limits(policy, SETTING_OF[TENANT])
    return {tenant: most for tenant, most in own.items() if wide is None or most < wide}


def paced(answer: core.Plan, snapshot: Snapshot, policy: Policy) -> tuple[tuple[int, ...], dict[str, Any]]:
    """(run wave of each move, what the page shows of it).  ``snapshot`` has the plan's cluster."""
    limits = limits_of(policy)
    traffic = _traffic(answer, snapshot) if limits.store_mib or limits.switch_mib else ()
    found = pace(answer, touches(answer, snapshot, traffic), limits)
    return found.wave_of, told(found, policy)


def _traffic(answer: core.Plan, snapshot: Snapshot) -> list[tuple[float, float]]:
    """MiB from the store and of images of each move, as its price says."""
    rows = resolve(answer, snapshot)
    found = costs(rows.snapshot, rows.pod, pricing.rates_of(answer.cluster))
    return [(cost.state_mib, cost.image_mib) for cost in found]


def told(found: Paced, policy: Policy) -> dict[str, Any]:
    """JSON: the limits with where they come from, and for each run wave what kept more moves out of it."""
    return {
        "limits": {word: _limit(policy, name) for word, name in SETTING_OF.items()},
        "tenants": _of_single_tenants(policy),
        "binds": [[{"limit": bind.limit, "object": bind.object} for bind in binds] for binds in found.binds],
    }


def _limit(policy: Policy, name: str) -> dict[str, Any]:
    one = policy[name]
    return {"value": one.value, "origin": one.origin}


def pace_again(plan: Plan) -> bool:
    """At the start: where the policy changed since the plan was proposed, its waves are cut anew; were they?

    What was approved are the moves and the order of their waves; both stay.  Steps that have begun are left alone.
    """
    policy = selectors.rules_of(plan)
    now = {word: policy[name].value for word, name in SETTING_OF.items()}
    was = {word: one["value"] for word, one in plan.pace.get("limits", {}).items()}
    if (now, _of_single_tenants(policy)) == (was, plan.pace.get("tenants", {})):
        return False
    wave_of, said = paced(checking.signed(plan), checking.base_of(plan), policy)
    steps = list(Step.objects.filter(plan=plan).only("index", "run_wave"))
    for step in steps:
        step.run_wave = wave_of[step.index]
    Step.objects.bulk_update(steps, ["run_wave"], batch_size=_BATCH)
    Plan.objects.filter(pk=plan.pk).update(pace=said)
    audit.record(
        actor=None, action="plan.paced_again", target_kind="plan", target_id=plan.pk, digest=plan.digest,
        reason="the policy changed since it was proposed", detail={"waves": len(said["binds"]), "was": was, "now": now},
    )  # fmt: skip
    return True
