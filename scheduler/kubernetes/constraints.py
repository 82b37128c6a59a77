"""Where a pod may run: what its spec asks of nodes and of other pods, in the words of the records.

Exact wherever the format allows: what is more than ``key=value`` becomes a label of ours on the nodes or pods that
match (``selectors``).  What the format cannot say at all pins the pod, and a note says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, ip_address

from scheduler.cluster.ports import HIGHEST
from scheduler.cluster.records import TolerationRecord
from scheduler.kubernetes.accelerators import MODEL_LABELS, VENDORS, model_of
from scheduler.kubernetes.builtin import (
    Affinity,
    Container,
    ContainerPort,
    Pod,
    PodAffinityTerm,
    PodSpec,
    SpreadConstraint,
)
from scheduler.kubernetes.selectors import (
    HOSTNAME,
    NAME_FIELD,
    NAMESPACE_NAME,
    UNKNOWN_SPACE,
    Expression,
    Selector,
    Terms,
    both,
    canonical,
    in_spaces,
    noisy,
    terms,
)
from scheduler.kubernetes.unheld import Note, What
from scheduler.kubernetes.wire import LabelSelector, Toleration

AFFINITY, ANTI = "$.spec.affinity.podAffinity", "$.spec.affinity.podAntiAffinity"
SPREAD = "$.spec.topologySpreadConstraints"
PORTS = "$.spec.containers.ports"
EFFECTS, PROTOCOLS = ("NoSchedule", "PreferNoSchedule", "NoExecute"), ("TCP", "UDP", "SCTP")
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Constraints:
    """``with_peers`` and ``without_peers`` are selectors on pods of the same namespace on the same node."""

    pairs: Pairs = ()
    only_node: str | None = None
    node_terms: Terms | None = None
    models: tuple[str, ...] = ()
    tolerations: tuple[TolerationRecord, ...] = ()
    with_peers: Selector | None = None
    without_peers: tuple[Selector, ...] = ()
    wide_without: tuple[Selector, ...] = ()  # anti-affinity in larger places than a node; binds those who match, too
    foreign_without: tuple[Selector, ...] = ()  # the same into other namespaces, on labels of ``with_space``
    host_ports: tuple[str, ...] = ()
    pinned: bool = False


NONE = Constraints()


def read_constraints(pod: Pod) -> tuple[Constraints, tuple[Note, ...]]:
    spec = pod.spec
    notes: list[Note] = []
    sidecars = [one for one in spec.init_containers if one.restart_policy == "Always"]
    ports = _host_ports((*spec.containers, *sidecars), notes)
    if not (spec.affinity or spec.node_selector or spec.topology_spread_constraints or ports or spec.tolerations):
        return NONE, tuple(notes)
    pairs, only_node, node_terms = _on_nodes(spec)
    with_peers, without, wide, pinned = _on_pods(pod, notes)
    found = Constraints(
        pairs=tuple(sorted(pairs.items())),
        only_node=only_node,
        node_terms=node_terms,
        models=_models(pairs, node_terms),
        tolerations=_tolerations(spec.tolerations, notes),
        with_peers=with_peers,
        without_peers=tuple(sorted(set(without))),
        wide_without=tuple(sorted(set(wide))),
        foreign_without=_into_others(spec.affinity, pod.metadata.namespace),
        host_ports=ports,
        pinned=pinned,
    )
    return found, tuple(notes)


def _on_nodes(spec: PodSpec) -> tuple[dict[str, str], str | None, Terms | None]:
    """The node selector and the required node affinity: simple parts as pairs, the rest as terms."""
    pairs = {key: value for key, value in spec.node_selector.items() if not noisy(key)}
    hidden = tuple((key, "In", (value,)) for key, value in spec.node_selector.items() if noisy(key))
    node = spec.affinity.node_affinity if spec.affinity else None
    required = node.required_during_scheduling_ignored_during_execution if node else None
    if required is None:
        return pairs, None, _beside(hidden, (((), ()),)) if hidden else None
    wanted = terms(required)
    if len(wanted) != 1:
        return pairs, None, _beside(hidden, wanted)
    (on_labels, on_fields), only_node = wanted[0], None
    match on_fields:
        case ((name, "In", (only,)),) if name == NAME_FIELD:
            on_fields, only_node = (), only
    rest: list[Expression] = list(hidden)
    for key, operator, values in on_labels:
        if operator == "In" and len(values) == 1 and not noisy(key) and pairs.get(key, values[0]) == values[0]:
            pairs[key] = values[0]
        else:
            rest.append((key, operator, values))
    return pairs, only_node, _beside(tuple(rest), (((), on_fields),)) if rest or on_fields else None


def _beside(expressions: tuple[Expression, ...], wanted: Terms) -> Terms:
    """The terms, each with the expressions added."""
    return tuple(sorted((both([on_labels, expressions]), on_fields) for on_labels, on_fields in wanted))


def _models(pairs: dict[str, str], node_terms: Terms | None) -> tuple[str, ...]:
    """Accepted GPU models, where the pod names them; the selector itself binds all the same."""
    for label in MODEL_LABELS:
        if label in pairs:
            return (model_by_label(label, pairs[label]),)
        for key, operator, values in node_terms[0][0] if node_terms is not None and len(node_terms) == 1 else ():
            if key == label and operator == "In":
                return tuple(sorted({model_by_label(label, value) for value in values}))
    return ()


def model_by_label(label: str, value: str) -> str:
    """The model that a selector means by one of ``MODEL_LABELS``: called as nodes with that label are."""
    vendor = next(vendor for vendor in VENDORS if label in vendor.models)
    found = model_of(vendor, {label: value})
    return found.model if found is not None else value


def _on_pods(pod: Pod, notes: list[Note]) -> tuple[Selector | None, list[Selector], list[Selector], bool]:
    spec, own = pod.spec, pod.metadata.namespace
    pinned = False
    with_peers: list[Selector] = []
    without: list[Selector] = []
    wide: list[Selector] = []
    affinity = spec.affinity or Affinity()
    together, apart = affinity.pod_affinity, affinity.pod_anti_affinity
    for term in together.required_during_scheduling_ignored_during_execution if together else ():
        selector = _peers(term, own)
        if selector is None or term.topology_key != HOSTNAME:
            pinned = True
            notes.append(_unsaid("topology_affinity", term, own, AFFINITY))
        else:
            with_peers.append(selector)
    for term in apart.required_during_scheduling_ignored_during_execution if apart else ():
        selector = _peers(term, own)
        if selector is not None and term.topology_key == HOSTNAME:
            without.append(selector)
        elif term.label_selector is not None:
            pinned = True
            notes.append(_unsaid("topology_anti_affinity", term, own, ANTI))
            wide += [selector] if selector is not None else []
    for constraint in spec.topology_spread_constraints:
        pinned |= _spread(constraint, pod, without, notes)
    _preferences(affinity, notes)
    return both(with_peers) if with_peers else None, without, wide, pinned


def _peers(term: PodAffinityTerm, own: str) -> Selector | None:
    """The selector on pods of the own namespace, None where the term looks into others or matches nobody."""
    inside = term.namespaces in ((), (own,)) and _own_only(term.namespace_selector, own, bool(term.namespaces))
    return canonical(term.label_selector) if inside else None


def _into_others(affinity: Affinity | None, own: str) -> tuple[Selector, ...]:
    """Whom anti-affinity keeps away in other namespaces.  One of unknown labels may be meant, so its pods are, too."""
    apart = affinity.pod_anti_affinity if affinity else None
    found: set[Selector] = set()
    for term in apart.required_during_scheduling_ignored_during_execution if apart else ():
        selector = canonical(term.label_selector)
        if selector is None or _peers(term, own) is not None:
            continue
        if term.namespaces:
            found.add(in_spaces(selector, ((NAMESPACE_NAME, "In", tuple(sorted(set(term.namespaces)))),)))
        spaces = canonical(term.namespace_selector)
        if spaces is not None:
            found.add(in_spaces(selector, spaces))
            if any(key != NAMESPACE_NAME for key, _, _ in spaces):
                found.add(both([selector, tuple((key, "In", (value,)) for key, value in UNKNOWN_SPACE.items())]))
    return tuple(sorted(found))


def _own_only(selector: LabelSelector | None, own: str, named: bool) -> bool:
    if selector is None:
        return True
    return not named and canonical(selector) == ((NAMESPACE_NAME, "In", (own,)),)


def _unsaid(what: What, term: PodAffinityTerm, own: str, path: str) -> Note:
    if term.label_selector is not None and _peers(term, own) is None:
        return Note("foreign_peers", "pinned", path, "pods of other namespaces")
    return Note(what, "pinned", path, f"per {term.topology_key}")


def _spread(constraint: SpreadConstraint, pod: Pod, without: list[Selector], notes: list[Note]) -> bool:
    """Whether the constraint pins the pod.  Per node it is held by keeping matching pods apart, which is stricter."""
    if constraint.when_unsatisfiable != "DoNotSchedule":
        notes.append(Note("preference", "ignored", SPREAD, "ScheduleAnyway"))
        return False
    selector = canonical(constraint.label_selector)
    if selector is None:
        return False
    if constraint.topology_key != HOSTNAME:
        notes.append(Note("spread", "pinned", SPREAD, f"per {constraint.topology_key}"))
        return True
    labels = pod.metadata.labels
    own = [(key, "In", (labels[key],)) for key in constraint.match_label_keys if key in labels]
    without.append(both([selector, tuple(own)]))
    detail = f"at most one on a node instead of maxSkew {constraint.max_skew}"
    notes.append(Note("spread", "widened", SPREAD, detail))
    return False


def _preferences(affinity: Affinity, notes: list[Note]) -> None:
    for name, part in (
        ("nodeAffinity", affinity.node_affinity),
        ("podAffinity", affinity.pod_affinity),
        ("podAntiAffinity", affinity.pod_anti_affinity),
    ):
        if part is not None and part.preferred_during_scheduling_ignored_during_execution:
            notes.append(Note("preference", "ignored", f"$.spec.affinity.{name}", "preferred"))


def _tolerations(found: tuple[Toleration, ...], notes: list[Note]) -> tuple[TolerationRecord, ...]:
    kept, odd = _toleration_records(found)
    if odd:
        notes.append(Note("toleration", "widened", "$.spec.tolerations", odd))
    return kept


@lru_cache(maxsize=65_536)
def _toleration_records(found: tuple[Toleration, ...]) -> tuple[tuple[TolerationRecord, ...], str]:
    kept, odd = [], ""
    for t in found:
        if t.operator not in ("", "Equal", "Exists") or (not t.key and t.operator != "Exists"):
            odd = f"operator {t.operator or 'Equal'}"
            continue
        if t.effect not in ("", *EFFECTS):
            odd = f"effect {t.effect}"
            continue
        kept.append(
            TolerationRecord(
                key=t.key or None, operator=t.operator or None, value=t.value or None, effect=t.effect or None
            )
        )
    return tuple(dict.fromkeys(kept)), odd


def _host_ports(containers: Iterable[Container], notes: list[Note]) -> tuple[str, ...]:
    """The scheduler's rule: a port of one protocol at one address, where no address or 0.0.0.0 are all of them.

    Init containers that end before others start hold no port by that rule; sidecars do.
    """
    found: dict[tuple[int, str, str], None] = {}
    for container in containers:
        for port in container.ports:
            if not 0 <= port.host_port <= HIGHEST:
                notes.append(Note("host_port", "ignored", PORTS, f"{port.host_port} is no port"))
            elif port.host_port:
                address, odd = _address(port)
                protocol = f"/{port.protocol}" if port.protocol in PROTOCOLS else ""
                found[port.host_port, protocol, address] = None
                if odd or not protocol:
                    asked = f"{port.host_ip or '*'}:{port.host_port}/{port.protocol}"
                    detail = f"{asked} as {address}:{port.host_port}{protocol}"
                    notes.append(Note("host_port", "widened", PORTS, detail))
    return tuple(f"{address}:{number}{protocol}" for number, protocol, address in sorted(found))


def _address(port: ContainerPort) -> tuple[str, bool]:
    """As the records write it, and whether that is more than was asked for."""
    if port.host_ip in ("", "0.0.0.0"):
        return "*", False
    try:
        found = ip_address(port.host_ip)
    except ValueError:
        return "*", True
    if found.is_unspecified or "%" in port.host_ip:
        return "*", True
    return (port.host_ip if isinstance(found, IPv4Address) else f"[{port.host_ip}]"), False
