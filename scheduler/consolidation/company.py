"""Who may stand with whom: ports, affinity and slices of pods, as lists per kind of pod.

Pods of one spec and namespace share a row, so the lists stay short whatever the number of pods.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.ports import Given, tokens
from scheduler.cluster.snapshot import Longs, PodSpec, Snapshot
from scheduler.consolidation.columns import (
    COMPANY_KINDS,
    TRAIT_AFFINITY,
    TRAIT_PORTS,
    TRAIT_REFUSAL,
    TRAIT_SLICES,
)

Term = tuple[int, str]  # namespace, "key=value"


@dataclass(frozen=True, slots=True, eq=False)
class Company:
    """Axes: p pod, k kind of pod (spec and namespace)."""

    row: Longs  # [p] -> k
    spec: Longs  # [k]
    namespace: Longs  # [k]
    start: Longs  # [COMPANY_KINDS, k + 1]
    entries: Longs
    traits: Longs  # [k] TRAIT_ flags, topology apart
    profiles: tuple[str, ...]  # slice profiles that pods ask for
    resources: tuple[str, ...]  # and counted resources, which are kept like slices, in columns after theirs


def company_of(snapshot: Snapshot) -> Company:
    spaces = max(1, len(snapshot.namespaces))
    keys, row = np.unique(snapshot.pod_spec.astype(np.int64) * spaces + snapshot.pod_namespace, return_inverse=True)
    spec, namespace = keys // spaces, keys % spaces
    kinds = [(snapshot.pod_specs[s], int(ns)) for s, ns in zip(spec.tolist(), namespace.tolist(), strict=True)]
    refused = _number((ns, term) for pod, ns in kinds for term in pod.anti_affinity)
    terms = _number([*refused, *((ns, term) for pod, ns in kinds for term in pod.affinity)])
    profiles = tuple(sorted({name for pod, _ in kinds for name, _ in pod.mig}))
    resources = tuple(sorted({name for pod, _ in kinds for name, _ in pod.resources}))
    ports = tokens(port for pod, _ in kinds for port in pod.host_ports)
    lists = [_lists(pod, ns, terms, profiles, resources, ports) for pod, ns in kinds]
    start, entries = _flatten(lists)
    return Company(
        row=row.astype(np.int64).ravel(),
        spec=spec,
        namespace=namespace,
        start=start,
        entries=entries,
        traits=np.array([_traits(pod, ns, refused) for pod, ns in kinds], np.int64),
        profiles=profiles,
        resources=resources,
    )


def _number(terms: Iterable[Term]) -> dict[Term, int]:
    return {term: i for i, term in enumerate(dict.fromkeys(terms))}


def _labels(pod: PodSpec) -> list[str]:
    return [f"{key}={value}" for key, value in pod.labels]


def _lists(
    pod: PodSpec,
    ns: int,
    terms: dict[Term, int],
    profiles: tuple[str, ...],
    resources: tuple[str, ...],
    ports: dict[Given, tuple[int, ...]],
) -> list[list[int]]:
    """In the order of the kinds of ``columns``."""
    after = len(profiles)
    return [
        [number for port in pod.host_ports for number in ports[port]],
        [terms[ns, term] for term in pod.anti_affinity],
        [terms[ns, term] for term in _labels(pod) if (ns, term) in terms] if terms else [],
        [terms[ns, term] for term in pod.affinity],
        [profiles.index(name) for name, _ in pod.mig] + [after + resources.index(name) for name, _ in pod.resources],
        [count for _, count in (*pod.mig, *pod.resources)],
    ]


def _traits(pod: PodSpec, ns: int, refused: dict[Term, int]) -> int:
    refusal = bool(pod.anti_affinity) or (bool(refused) and any((ns, term) in refused for term in _labels(pod)))
    flags = (
        (TRAIT_PORTS, bool(pod.host_ports)),
        (TRAIT_REFUSAL, refusal),
        (TRAIT_AFFINITY, bool(pod.affinity)),
        (TRAIT_SLICES, bool(pod.mig or pod.resources)),
    )
    return sum(flag for flag, holds in flags if holds)


def _flatten(lists: list[list[list[int]]]) -> tuple[Longs, Longs]:
    start = np.zeros((COMPANY_KINDS, len(lists) + 1), np.int64)
    entries: list[int] = []
    for kind in range(COMPANY_KINDS):
        for k, row in enumerate(lists):
            start[kind, k] = len(entries)
            entries += row[kind]
        start[kind, len(lists)] = len(entries)
    return start, np.array(entries or [0], np.int64)
