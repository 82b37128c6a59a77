"""The record of a pod: what it says itself, and what the objects around it add."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from scheduler.cluster.records import GangRecord, MoveMode, PodRecord, Tier, TolerationRecord, TopologyRecord
from scheduler.kubernetes.budgets import label_of, term_of
from scheduler.kubernetes.builtin import PersistentVolume, PersistentVolumeClaim
from scheduler.kubernetes.constraints import Constraints
from scheduler.kubernetes.counted import OFFERED, by_claim
from scheduler.kubernetes.devices import Claims, Holding, Machine, hold, offer_label
from scheduler.kubernetes.gangs import ALONE, gang_of, wish_record
from scheduler.kubernetes.marks import NONE as NO_MARKS
from scheduler.kubernetes.marks import Marks
from scheduler.kubernetes.nodes import ZONES
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.owners import MOVES, OTHERS, Look, workload
from scheduler.kubernetes.pods import LOCAL_DATA, PodFacts, Shape
from scheduler.kubernetes.selectors import Terms, digest, hosts, single, terms
from scheduler.kubernetes.tenancy import tenant_of
from scheduler.kubernetes.topology import Levels
from scheduler.kubernetes.unheld import Note
from scheduler.kubernetes.watching import Watchlist

REGIONS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
SHUNNED = Note("foreign_peers", "pinned", "$.metadata.labels", "pods of other namespaces keep away from it")
SHARED_MODES = ("ReadWriteMany", "ReadOnlyMany")


@dataclass(frozen=True, slots=True)
class Around:
    """What the pod's record is made from beside the pod; ``look`` remembers what was asked for."""

    cluster: str
    options: Options
    levels: Levels
    look: Look
    claims: Claims
    machine: Machine | None
    watchlist: Watchlist
    shunned: bool = False  # by anti-affinity of pods in other namespaces
    still: bool = False  # nothing may move, for a reason that is told once for all pods


@dataclass(frozen=True, slots=True)
class Resolved:
    """A pod's record, its gang, and the node terms that its selector names."""

    record: PodRecord
    gang: GangRecord | None
    terms: tuple[Terms, ...]
    notes: tuple[Note, ...]


@dataclass(slots=True)
class _Draft:
    """What is found on the way."""

    notes: list[Note]
    pinned: bool
    terms: list[Terms] = field(default_factory=list)
    zone: str | None = None
    alone: bool = False  # a volume that only one node at a time can mount


@dataclass(frozen=True, slots=True)
class Prepared:
    """Lists and maps that all pods of one shape share."""

    selector: dict[str, str]
    tolerations: list[TolerationRecord]
    affinity: list[str]
    anti_affinity: list[str]
    host_ports: list[int | str]
    models: str | list[str] | None
    resources: dict[str, int]
    tier: Tier
    pinned: bool


def prepare(shape: Shape, agent: bool, options: Options) -> Prepared:
    """Agents never move: only what binds others is kept of theirs."""
    found = shape.constraints
    selector = dict(found.pairs)
    if found.node_terms is not None:
        selector[terms_label(found.node_terms, options)] = "true"
    selector |= {offer_label(name, options): OFFERED for name in shape.template.by_name}
    models = list(found.models)
    return Prepared(
        selector={} if agent else selector,
        tolerations=[] if agent else list(found.tolerations),
        affinity=[] if agent or found.with_peers is None else [term_of(found.with_peers, options)],
        anti_affinity=[term_of(selector, options) for selector in found.without_peers],
        host_ports=list(found.host_ports),
        models=None if not models else models[0] if len(models) == 1 else models,
        resources=dict(shape.template.counted),
        tier=_tier(shape, options),
        pinned=found.pinned or any(note.done == "pinned" for note in (*shape.template.notes, *shape.notes)),
    )


def terms_label(wanted: Terms, options: Options) -> str:
    """The label of nodes that match."""
    return options.mark(f"affinity-{digest(wanted)}")


def _tier(shape: Shape, options: Options) -> Tier:
    marks, rule = shape.marks, options.low_priority
    if marks.tier is not None:
        return marks.tier
    low = shape.priority_class in rule.classes or (rule.below is not None and shape.priority < rule.below)
    return "LP" if low and not marks.standby else "HP"


def resolve(pod: PodFacts, around: Around, ready: Prepared) -> Resolved:
    """Make the record of a pod."""
    shape, agent = pod.shape, pod.owner.agent
    draft = _Draft(list(() if agent else (*shape.template.notes, *shape.notes)), ready.pinned or around.still)
    held = hold(pod, around.machine, around.claims, around.options)
    draft.notes += held.notes
    draft.pinned |= held.pinned
    claimed = by_claim(ready.resources.keys() & pod.backed)
    draft.notes += claimed
    draft.pinned |= bool(claimed)
    if shape.constraints.node_terms is not None and not agent:
        draft.terms.append(shape.constraints.node_terms)
    if pod.volumes and not agent:
        _volumes(pod, draft, around)
    gang = ALONE
    if pod.hint is not None:
        gang = gang_of(pod.hint, pod.namespace, around.cluster, around.look, around.levels)
        draft.notes += gang.notes
        draft.pinned |= gang.pinned
    topology: TopologyRecord | None = None
    if shape.wish is not None:
        topology, pinned = wish_record(shape.wish, around.levels, draft.notes)
        draft.pinned |= pinned
    if around.shunned and not draft.pinned:
        draft.pinned = True
        draft.notes.append(SHUNNED)
    labels = _labels(pod, draft, around)
    record = _record(pod, around, ready, draft, held, labels, gang.record, topology)
    stays = record.move == "never"
    kept = () if agent else tuple(dict.fromkeys(n for n in draft.notes if not (stays and n == LOCAL_DATA)))
    return Resolved(record, gang.record, tuple(draft.terms), kept)


def _record(
    pod: PodFacts,
    around: Around,
    ready: Prepared,
    draft: _Draft,
    held: Holding,
    labels: dict[str, str],
    gang: GangRecord | None,
    topology: TopologyRecord | None,
) -> PodRecord:
    shape, agent = pod.shape, pod.owner.agent
    return PodRecord(
        name=pod.name,
        namespace=pod.namespace,
        cluster=around.cluster,
        uid=pod.uid or None,
        tenant=tenant_of(pod, around.options, around.look),
        node=pod.node or None,
        gpus=held.gpus,
        gpu_milli=held.gpu_milli,
        mig=held.mig or {},
        devices=list(held.devices),
        gpu_memory_mib=held.memory_mib,
        gpu_model=ready.models if held.gpus or held.mig else None,
        cpu_milli=shape.template.cpu_milli,
        memory_mib=shape.template.memory_mib,
        priority=shape.priority,
        tier="LP" if _labelled_low(pod, around.options) else ready.tier,
        owner=pod.owner.record,
        workload=workload(pod.owner, pod.namespace, around.look),
        move="copy" if agent else _move(pod, draft, around.options),
        labels=labels,
        node_selector=_selector(ready, draft, held, shape.constraints, agent, around.options),
        only_node=None if agent else shape.constraints.only_node,
        tolerations=ready.tolerations,
        affinity=ready.affinity,
        anti_affinity=ready.anti_affinity,
        topology=topology,
        host_ports=ready.host_ports,
        volume_zone=draft.zone,
        gang=gang.name if gang is not None else None,
        phase=pod.phase or None,
        terminating=pod.terminating,
        deleted_at_s=pod.deleted_at_s,
        grace_s=pod.grace_s,
        started_s=pod.started_s,
        resources=ready.resources if not pod.backed else _without(ready.resources, pod.backed),
        **_marked(shape.marks),
    )


def _without(resources: dict[str, int], names: tuple[str, ...]) -> dict[str, int]:
    return {name: amount for name, amount in resources.items() if name not in names}


MARKED = tuple(field.name for field in fields(Marks) if field.name not in ("tenant", "tier", "move"))


def _marked(marks: Marks) -> dict[str, Any]:
    """Fields of the record that marks set as they stand; most pods have none."""
    return {name: getattr(marks, name) for name in MARKED} if marks != NO_MARKS else {}


def _labelled_low(pod: PodFacts, options: Options) -> bool:
    wanted = options.low_priority.labels
    marks = pod.shape.marks
    return marks.tier is None and not marks.standby and any(pod.labels.get(key) == value for key, value in wanted)


def _move(pod: PodFacts, draft: _Draft, options: Options) -> MoveMode:
    """A mark says it; else the owner does, and a volume that cannot be mounted twice forbids a copy."""
    if draft.pinned:
        return "never"
    if pod.shape.marks.move is not None:
        return pod.shape.marks.move
    kind = pod.owner.kind
    mode = options.moves.get(kind) or MOVES.get(kind, OTHERS)
    return "restart" if draft.alone and mode == "copy" else mode  # type: ignore[return-value]


def _selector(
    ready: Prepared, draft: _Draft, held: Holding, constraints: Constraints, agent: bool, options: Options
) -> dict[str, str]:
    volumes = [one for one in draft.terms if one is not constraints.node_terms]
    if agent or not (volumes or held.selector):
        return ready.selector
    return ready.selector | dict(held.selector) | {terms_label(one, options): "true" for one in volumes}


def _labels(pod: PodFacts, draft: _Draft, around: Around) -> dict[str, str]:
    """The pod's labels, and one for each selector that matches it and is more than one pair."""
    found = around.watchlist.matched((pod.namespace, pod.name))
    if not found:
        return pod.labels
    derived = {}
    for selector, roles in found:
        if single(selector) is None and (roles["budget"] or roles["peers"]):
            derived[label_of(selector, around.options)] = "true"
        if roles["wide"] and not draft.pinned:
            draft.pinned = True
            detail = "other pods keep away from it in larger places than a node"
            draft.notes.append(Note("topology_anti_affinity", "pinned", "$.metadata.labels", detail))
    if sum(roles["budget"] for _, roles in found) > 1:
        draft.pinned = True
        detail = "several budgets cover it: the eviction API refuses to evict such a pod"
        draft.notes.append(Note("budget", "pinned", "$.metadata.labels", detail))
    return pod.labels | derived if derived else pod.labels


def _volumes(pod: PodFacts, draft: _Draft, around: Around) -> None:
    for name in pod.volumes:
        claim = around.look("persistentvolumeclaims", (pod.namespace, name))
        where = "$.spec.volumes"
        volume = None
        if isinstance(claim, PersistentVolumeClaim):
            draft.alone |= not any(mode in SHARED_MODES for mode in claim.spec.access_modes)
            if claim.spec.volume_name:
                volume = around.look("persistentvolumes", ("", claim.spec.volume_name))
            elif not pod.node:
                continue  # bound where the pod will run
        if not isinstance(volume, PersistentVolume):
            draft.pinned = True
            draft.notes.append(Note("missing_volume", "pinned", where, f"the volume of claim {name} is not known"))
            continue
        affinity = volume.spec.node_affinity
        if affinity is not None and affinity.required is not None:
            _mountable(pod, terms(affinity.required), name, draft)


def _mountable(pod: PodFacts, wanted: Terms, claim: str, draft: _Draft) -> None:
    zone = _zone(wanted)
    if zone is not None and draft.zone in (None, zone):
        draft.zone = zone
    elif pod.node and (hosts(wanted) is not None or _named(wanted)):
        draft.pinned = True
        detail = f"the volume of claim {claim} is bound to a node"
        draft.notes.append(Note("volume", "pinned", "$.spec.volumes", detail))
    else:
        draft.terms.append(wanted)


def _zone(wanted: Terms) -> str | None:
    """The one zone of a volume, None if it asks for anything else."""
    zones = set()
    for on_labels, on_fields in wanted:
        here = [
            values[0] for key, operator, values in on_labels if key in ZONES and operator == "In" and len(values) == 1
        ]
        if on_fields or not here or any(key not in ZONES + REGIONS for key, _, _ in on_labels):
            return None
        zones.update(here)
    return zones.pop() if len(zones) == 1 else None


def _named(wanted: Terms) -> bool:
    return all(on_fields for _, on_fields in wanted)


def unique(records: Iterable[GangRecord]) -> list[GangRecord]:
    """One record per gang; where members disagree about the size, the larger one is meant."""
    found: dict[tuple[str, str], GangRecord] = {}
    for record in records:
        key = (record.namespace, record.name)
        known = found.get(key)
        if known is None or record.min_members > known.min_members:
            found[key] = record
    return [found[key] for key in sorted(found)]
