"""Whose a pod is, and how much its owner may have: queues of Kueue, KAI and Volcano, quotas of namespaces.

A pod's tenant is, in this order: our label on the pod, the chosen labels on the pod and on its namespace, the queue of
KAI, the ClusterQueue behind its Kueue queue, the queue of Volcano, and the namespace itself.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from scheduler.cluster.lineage import circles, told
from scheduler.cluster.records import QuotaRecord, TenantRecord
from scheduler.cluster.rows import MAX_COUNT
from scheduler.kubernetes import custom
from scheduler.kubernetes.accelerators import MODEL_LABELS, accelerator
from scheduler.kubernetes.builtin import ResourceQuota
from scheduler.kubernetes.constraints import model_by_label
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.owners import Look
from scheduler.kubernetes.pods import PodFacts
from scheduler.kubernetes.quantities import parse
from scheduler.kubernetes.unheld import Unheld
from scheduler.kubernetes.wire import Key, Quantity

COHORT = "cohort/"  # before the names of tenants that are cohorts
REQUESTS = "requests."
PARENTS = {
    "cohorts.kueue.x-k8s.io": "$.spec.parentName",
    "queues.scheduling.run.ai": "$.spec.parentQueue",
    "queues.scheduling.volcano.sh": "$.spec.parent",
}


@dataclass(frozen=True, slots=True)
class Quotas:
    """All objects that say how much somebody may have."""

    cluster_queues: Iterable[custom.ClusterQueue] = ()
    cohorts: Iterable[custom.Cohort] = ()
    flavors: Iterable[custom.ResourceFlavor] = ()
    kai: Iterable[custom.KaiQueue] = ()
    volcano: Iterable[custom.VolcanoQueue] = ()
    namespaces: Iterable[ResourceQuota] = ()
    local_queues: Iterable[custom.LocalQueue] = ()


def tenant_of(pod: PodFacts, options: Options, look: Look) -> str | None:
    """None = nobody's."""
    if pod.shape.marks.tenant:
        return pod.shape.marks.tenant
    for label in options.tenant_labels:
        if found := pod.labels.get(label):
            return found
    namespace = look("namespaces", ("", pod.namespace))
    for label in (*options.tenant_labels, options.mark("tenant")):
        if namespace is not None and (found := namespace.metadata.labels.get(label)):
            return found
    return _by_queue(pod, look) or (pod.namespace or None if options.namespace_tenants else None)


def _by_queue(pod: PodFacts, look: Look) -> str | None:
    queues, hint = pod.shape.queues, pod.hint
    if queues.kai:
        return queues.kai
    group = look(hint.kind, (pod.namespace, hint.name)) if hint is not None else None
    if isinstance(group, custom.KaiPodGroup) and group.spec.queue:
        return group.spec.queue
    local = queues.kueue
    if isinstance(group, custom.KueueWorkload):
        if group.status.admission is not None and group.status.admission.cluster_queue:
            return group.status.admission.cluster_queue
        local = local or group.spec.queue_name
    if local:
        queue = look("localqueues.kueue.x-k8s.io", (pod.namespace, local))
        if isinstance(queue, custom.LocalQueue) and queue.spec.cluster_queue:
            return queue.spec.cluster_queue
    if queues.volcano:
        return queues.volcano
    return group.spec.queue or None if isinstance(group, custom.VolcanoPodGroup) else None


def read_tenants(quotas: Quotas, options: Options) -> tuple[list[TenantRecord], list[Unheld]]:
    """One record per name; where two systems know one name, the first in the order of this module is taken."""
    unheld: list[Unheld] = []
    found: dict[str, tuple[TenantRecord, str]] = {}
    models = {flavor.metadata.name: _model(flavor) for flavor in quotas.flavors}
    groups = (
        ("clusterqueues.kueue.x-k8s.io", _cluster_queues(quotas, models, unheld)),
        ("cohorts.kueue.x-k8s.io", _cohorts(quotas, models, unheld)),
        ("queues.scheduling.run.ai", [_kai(queue, unheld) for queue in quotas.kai]),
        ("queues.scheduling.volcano.sh", [_volcano(queue, unheld) for queue in quotas.volcano]),
        ("resourcequotas", _namespaces(quotas.namespaces, options, unheld)),
    )
    for local in quotas.local_queues:
        _stopped(local.spec.stop_policy, "localqueues.kueue.x-k8s.io", local.key, unheld)
    for kind, records in groups:
        for record in records:
            known = found.setdefault(record.name, (record, kind))
            if known[1] != kind:
                unheld.append(_not(kind, record.name, "$.metadata.name", f"{known[1]} has a tenant of this name"))
    return _without_circles(found, unheld), unheld


def _without_circles(found: dict[str, tuple[TenantRecord, str]], unheld: list[Unheld]) -> list[TenantRecord]:
    """Systems accept cohorts and queues above themselves (and admit nobody there): such parents are none."""
    records = {name: found[name][0] for name in sorted(found)}
    for circle in circles({name: record.parent for name, record in records.items()}):
        for name in circle:
            kind = found[name][1]
            records[name] = msgspec.structs.replace(records[name], parent=None)
            unheld.append(_not(kind, name.removeprefix(COHORT), PARENTS[kind], f"above itself: {told(circle)}"))
    return list(records.values())


def _not(kind: str, name: str, field: str, detail: str, namespace: str = "") -> Unheld:
    return Unheld(what="quota", done="ignored", kind=kind, name=name, namespace=namespace, field=field, detail=detail)


def _stopped(policy: str, kind: str, key: Key, unheld: list[Unheld]) -> None:
    """A queue that admits nobody keeps its quota in the records, since what runs goes on to use it."""
    if policy not in ("", "None"):
        namespace, name = key
        unheld.append(_not(kind, name, "$.spec.stopPolicy", f"{policy}: it admits nobody now", namespace))


def _left(names: Iterable[str], kind: str, key: Key, field: str, unheld: list[Unheld]) -> None:
    """Amounts other than of whole GPUs."""
    if left := ", ".join(sorted(set(names))):
        unheld.append(_not(kind, key[1], field, f"not numbers of GPUs: {left}", key[0]))


def _model(flavor: custom.ResourceFlavor) -> str:
    """The GPU model of a flavor's nodes, "" where its labels name none."""
    labels = flavor.spec.node_labels
    return next((model_by_label(label, labels[label]) for label in MODEL_LABELS if label in labels), "")


def _cluster_queues(quotas: Quotas, models: Mapping[str, str], unheld: list[Unheld]) -> list[TenantRecord]:
    kind = "clusterqueues.kueue.x-k8s.io"
    known = {cohort.metadata.name for cohort in quotas.cohorts}
    found = []
    for queue in quotas.cluster_queues:
        spec, name = queue.spec, queue.metadata.name
        cohort = spec.cohort_name or spec.cohort or None
        _stopped(spec.stop_policy, kind, queue.key, unheld)
        found.append(
            TenantRecord(
                name=name,
                parent=COHORT + cohort if cohort in known else None,
                cohort=cohort,
                weight=_weight(spec.fair_sharing, kind, name, unheld),
                quotas=_flavors(spec.resource_groups, models, kind, name, unheld),
            )
        )
    return found


def _cohorts(quotas: Quotas, models: Mapping[str, str], unheld: list[Unheld]) -> list[TenantRecord]:
    kind = "cohorts.kueue.x-k8s.io"
    known = {cohort.metadata.name for cohort in quotas.cohorts}
    found = []
    for cohort in quotas.cohorts:
        name, parent = cohort.metadata.name, cohort.spec.parent_name or cohort.spec.parent
        found.append(
            TenantRecord(
                name=COHORT + name,
                parent=COHORT + parent if parent in known else None,
                cohort=parent or None,
                weight=_weight(cohort.spec.fair_sharing, kind, name, unheld),
                quotas=_flavors(cohort.spec.resource_groups, models, kind, name, unheld),
            )
        )
    return found


def _weight(sharing: custom.FairSharing | None, kind: str, name: str, unheld: list[Unheld]) -> int | None:
    if sharing is None or sharing.weight is None:
        return None
    return _number(sharing.weight, kind, name, "$.spec.fairSharing.weight", unheld)


def _flavors(
    groups: Iterable[custom.ResourceGroup], models: Mapping[str, str], kind: str, name: str, unheld: list[Unheld]
) -> list[QuotaRecord]:
    """Quotas by GPU model; two flavors of one model add up."""
    sums: dict[str, list[int | None]] = {}
    groups = tuple(groups)
    asked = [resource.name for group in groups for flavor in group.flavors for resource in flavor.resources]
    _left((one for one in asked if not _whole(one)), kind, ("", name), "$.spec.resourceGroups", unheld)
    for group in groups:
        for flavor in group.flavors:
            for resource in flavor.resources:
                if not _whole(resource.name):
                    continue
                field = f"$.spec.resourceGroups ({flavor.name})"
                if not (model := models.get(flavor.name, "")):
                    model = flavor.name
                    why = "no flavor of this name is known" if model not in models else "the flavor names no GPU model"
                    unheld.append(_not(kind, name, field, f"{why}: its name stands for one"))
                amounts = (resource.nominal_quota, resource.borrowing_limit, resource.lending_limit)
                read = [None if a is None else _number(a, kind, name, field, unheld) for a in amounts]
                before = sums.get(model)
                sums[model] = read if before is None else list(map(_both, before, read))
    return [
        QuotaRecord(gpu_model=model, nominal=nominal, borrowing_limit=borrowing, lending_limit=lending)
        for model, (nominal, borrowing, lending) in sorted(sums.items())
    ]


def _both(one: int | None, other: int | None) -> int | None:
    """A limit that is not set has no bound, so neither has the sum."""
    return None if one is None or other is None else min(one + other, MAX_COUNT)


def _whole(resource: str) -> bool:
    found = accelerator(resource.removeprefix(REQUESTS))
    return found is not None and found.sort == "whole"


def _number(
    amount: Quantity, kind: str, name: str, field: str, unheld: list[Unheld], namespace: str = ""
) -> int | None:
    """A whole number as it stands, None for anything else, which is then said."""
    try:
        value = parse(str(amount) if not isinstance(amount, float) else repr(amount))
    except ValueError as error:
        unheld.append(_not(kind, name, field, f"{amount!r}: {error}", namespace))
        return None
    if value.denominator != 1 or not 0 <= value <= MAX_COUNT:
        unheld.append(_not(kind, name, field, f"{amount} is not a whole number", namespace))
        return None
    return int(value)


def _kai(queue: custom.KaiQueue, unheld: list[Unheld]) -> TenantRecord:
    kind, name = "queues.scheduling.run.ai", queue.metadata.name
    gpu = queue.spec.resources.gpu if queue.spec.resources is not None else None
    amounts = (gpu.quota, gpu.limit, gpu.over_quota_weight) if gpu is not None else (None, None, None)
    fields = ("quota", "limit", "overQuotaWeight")
    quota, limit, weight = (
        # -1 is unlimited: no bound, and as a quota no number that could be guaranteed
        None if amount is None or amount == -1 else _number(amount, kind, name, f"$.spec.resources.gpu.{field}", unheld)
        for amount, field in zip(amounts, fields, strict=True)
    )
    parent = queue.spec.parent_queue or None
    return TenantRecord(name=name, parent=parent, guarantee_gpus=quota, cap_gpus=limit, weight=weight)


def _volcano(queue: custom.VolcanoQueue, unheld: list[Unheld]) -> TenantRecord:
    kind, name, spec = "queues.scheduling.volcano.sh", queue.metadata.name, queue.spec
    cap = _sum(spec.capability, kind, name, "$.spec.capability", unheld)
    guarantee = _sum(spec.guarantee.resource, kind, name, "$.spec.guarantee", unheld)
    if any(map(_whole, spec.deserved)):
        unheld.append(_not(kind, name, "$.spec.deserved", "a share that others may use until it is asked for"))
    _left((r for r in (*spec.capability, *spec.guarantee.resource) if not _whole(r)), kind, queue.key, "$.spec", unheld)
    if queue.status.state not in ("", "Open"):
        unheld.append(_not(kind, name, "$.status.state", f"{queue.status.state}: it admits nobody now"))
    weight = None if spec.weight is None else _number(spec.weight, kind, name, "$.spec.weight", unheld)
    return TenantRecord(name=name, parent=spec.parent or None, weight=weight, cap_gpus=cap, guarantee_gpus=guarantee)


def _sum(
    amounts: Mapping[str, Quantity], kind: str, name: str, field: str, unheld: list[Unheld], namespace: str = ""
) -> int | None:
    read = [
        _number(amount, kind, name, field, unheld, namespace)
        for resource, amount in sorted(amounts.items())
        if _whole(resource)
    ]
    known = [number for number in read if number is not None]
    return min(sum(known), MAX_COUNT) if known and len(known) == len(read) else None


def _limits(hard: Iterable[str]) -> set[str]:
    """Limits of devices that stand beside their requests: the two are always equal."""
    return {"limits." + name.removeprefix(REQUESTS) for name in hard}


def _namespaces(quotas: Iterable[ResourceQuota], options: Options, unheld: list[Unheld]) -> list[TenantRecord]:
    """A cap per namespace: of several quotas the smallest.  Quotas for some pods only are said, not held."""
    kind = "resourcequotas"
    caps: dict[str, int] = {}
    for quota in quotas:
        (namespace, name), spec = quota.key, quota.spec
        hard = {r: amount for r, amount in spec.hard.items() if r.startswith(REQUESTS) and _whole(r)}
        _left(spec.hard.keys() - hard.keys() - _limits(hard), kind, quota.key, "$.spec.hard", unheld)
        if not hard:
            continue
        if not options.namespace_tenants:
            unheld.append(_not(kind, name, "$.spec.hard", "namespaces are no tenants here", namespace))
            continue
        if spec.scopes or spec.scope_selector is not None:
            unheld.append(_not(kind, name, "$.spec.scopes", "it counts only some of the pods", namespace))
            continue
        cap = _sum(hard, kind, name, "$.spec.hard", unheld, namespace)
        if cap is not None:
            caps[namespace] = min(cap, caps.get(namespace, cap))
    return [TenantRecord(name=namespace, cap_gpus=cap) for namespace, cap in sorted(caps.items())]
