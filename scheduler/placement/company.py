"""Whom a pod would stand beside: ports that collide, and labels that are wanted or refused on the same node."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.ports import Given, collide
from scheduler.cluster.snapshot import Bools, Longs, PodSpec, Snapshot

MANY = np.int64(1 << 40)  # of a pod that asks for nothing of an axis

Term = tuple[int, str]  # namespace, key=value


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Of each pod spec the labels that somebody asks for, and those refused that somebody has.  Axis s: specs."""

    labelled: list[set[str]]
    refusing: list[set[str]]
    marked: Bools  # [s] any of both, or ports


def labels_of(spec: PodSpec) -> set[str]:
    return {f"{key}={value}" for key, value in spec.labels}


def terms_of(snapshot: Snapshot, waiting: Iterable[int]) -> Terms:
    """``waiting``: the pods that may be asked about; labels that none of them minds are left out."""
    asking = [snapshot.pod_specs[s] for s in sorted({int(snapshot.pod_spec[p]) for p in waiting})]
    wanted = {term for spec in asking for term in (*spec.affinity, *spec.anti_affinity)}
    unwanted = {term for spec in snapshot.pod_specs for term in spec.anti_affinity}
    unwanted &= {term for spec in asking for term in labels_of(spec)}
    ports = any(spec.host_ports for spec in asking)
    nothing: set[str] = set()
    specs = snapshot.pod_specs
    labelled = [labels_of(spec) & wanted if wanted and spec.labels else nothing for spec in specs]
    refusing = [unwanted.intersection(spec.anti_affinity) if spec.anti_affinity else nothing for spec in specs]
    marked = [bool(a or b or (ports and spec.host_ports)) for a, b, spec in zip(labelled, refusing, specs, strict=True)]
    return Terms(labelled, refusing, np.array(marked, np.bool_))


class Company:
    """Which nodes hold pods with a label or a port, or pods that refuse one; only what somebody asks for."""

    def __init__(self, snapshot: Snapshot, terms: Terms) -> None:
        self._snapshot = snapshot
        self.having: dict[Term, set[int]] = defaultdict(set)
        self.refusing: dict[Term, set[int]] = defaultdict(set)
        self.ports: dict[Given, set[int]] = defaultdict(set)
        marked = terms.marked[snapshot.pod_spec] if len(terms.marked) else np.zeros(0, np.bool_)
        for p in np.flatnonzero(snapshot.pod_live & marked).tolist():
            node, space, s = int(snapshot.pod_node[p]), int(snapshot.pod_namespace[p]), snapshot.pod_spec[p]
            for term in terms.labelled[s]:
                self.having[space, term].add(node)
            for term in terms.refusing[s]:
                self.refusing[space, term].add(node)
            for port in snapshot.pod_specs[s].host_ports:
                self.ports[port].add(node)

    def copy(self) -> "Company":
        other = copy(self)
        other.having, other.refusing, other.ports = self.having.copy(), self.refusing.copy(), self.ports.copy()
        return other

    def seat(self, pod: int, node: int) -> None:
        """The pod stands there from now on.  Sets are replaced, since copies share them."""
        space = int(self._snapshot.pod_namespace[pod])
        spec = self._snapshot.pod_specs[self._snapshot.pod_spec[pod]]
        for term in labels_of(spec):
            self.having[space, term] = self.having[space, term] | {node}
        for term in spec.anti_affinity:
            self.refusing[space, term] = self.refusing[space, term] | {node}
        for port in spec.host_ports:
            self.ports[port] = self.ports[port] | {node}

    def limits(self, pod: int, rows: Longs) -> Iterator[tuple[str, Longs]]:
        """Word, and [rows] how many of the pod's kind can stand beside those on each node; 1 where two refuse each
        other.  Company is found among those who stand there, never among the kind itself.
        """
        snapshot, space = self._snapshot, int(self._snapshot.pod_namespace[pod])
        spec = snapshot.pod_specs[snapshot.pod_spec[pod]]
        if spec.host_ports:
            held = [nodes for port, nodes in self.ports.items() if any(collide(port, mine) for mine in spec.host_ports)]
            yield "host_port", np.where(_among(rows, held), 0, np.int64(1))
        labels = labels_of(spec)
        against = [self.having.get((space, term)) for term in spec.anti_affinity]
        against += [self.refusing.get((space, term)) for term in labels]
        alone = bool(labels & set(spec.anti_affinity))
        if alone or any(against):
            yield "anti_affinity", np.where(_among(rows, against), 0, np.int64(1) if alone else MANY)
        for term in spec.affinity:
            yield "affinity", np.where(_among(rows, [self.having.get((space, term))]), MANY, 0)

    def welcome(self, pod: int, rows: Longs) -> Bools:
        """[rows] nodes whose pods the pod can stand beside."""
        good = np.ones(len(rows), np.bool_)
        for _, count in self.limits(pod, rows):
            good &= count > 0
        return good


def _among(rows: Longs, sets: Iterable[set[int] | None]) -> Bools:
    nodes = {n for some in sets if some for n in some}
    return np.isin(rows, list(nodes)) if nodes else np.zeros(len(rows), np.bool_)
