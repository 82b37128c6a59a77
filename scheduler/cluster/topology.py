"""Network domains: names to columns, the order of levels, and the domain of each node at each level."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import numpy as np

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import DomainRecord, NodeRecord
from scheduler.cluster.rows import Rows
from scheduler.cluster.snapshot import UNKNOWN, Bools, Ints

ASW = "asw"
Key = tuple[str, str, str]  # cluster, level, name


@dataclass(frozen=True, slots=True)
class Domains:
    """[d] Domains by (cluster, level, name); ``levels`` stand closest to the node first."""

    levels: tuple[str, ...]
    keys: tuple[Key, ...]
    level: Ints
    parent: Ints
    cluster: Ints


def build_domains(listed: Sequence[DomainRecord], nodes: Sequence[NodeRecord], clusters: Sequence[str]) -> Domains:
    """Domains that are listed and those that a node's ``asw`` implies; raises ``InputError`` for contradictions."""
    places = _places(listed)
    implied = {(node.cluster, ASW, node.asw) for node in nodes if node.asw is not None}
    parents = _parents(listed, places, implied - places.keys())
    levels = _levels(listed, parents)
    keys = tuple(sorted(parents))
    index = {key: i for i, key in enumerate(keys)}
    cluster_ix = {name: i for i, name in enumerate(clusters)}
    return Domains(
        levels=levels,
        keys=keys,
        level=np.array([levels.index(key[1]) for key in keys], np.int32),
        parent=np.array([UNKNOWN if (up := parents[key]) is None else index[up] for key in keys], np.int32),
        cluster=np.array([cluster_ix[key[0]] for key in keys], np.int32),
    )


def _places(listed: Sequence[DomainRecord]) -> dict[Key, int]:
    places: dict[Key, int] = {}
    for i, record in enumerate(listed):
        key = (record.cluster, record.level, record.name)
        if key in places:
            raise InputError(f"$.domains[{i}].name", record.name, f"the same identity as $.domains[{places[key]}]")
        places[key] = i
    return places


def _parents(listed: Sequence[DomainRecord], places: dict[Key, int], implied: set[Key]) -> dict[Key, Key | None]:
    by_name: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in (*places, *implied):
        by_name[key[0], key[2]].append(key)
    parents: dict[Key, Key | None] = dict.fromkeys(implied)
    for key, i in places.items():
        name = listed[i].parent
        parents[key] = None if name is None else _parent(f"$.domains[{i}].parent", name, key, by_name)
    return parents


def _parent(path: str, name: str, child: Key, by_name: dict[tuple[str, str], list[Key]]) -> Key:
    found = by_name.get((child[0], name), [])
    wider = [key for key in found if key[1] != child[1]]
    if not wider:
        reason = "a parent must be of another level" if found else f"no such domain in cluster {child[0]}"
        raise InputError(path, name, reason)
    if len(wider) > 1:
        raise InputError(path, name, f"names several domains, of levels {', '.join(sorted(k[1] for k in wider))}")
    return wider[0]


def _levels(listed: Sequence[DomainRecord], parents: dict[Key, Key | None]) -> tuple[str, ...]:
    below: dict[str, set[str]] = {key[1]: set() for key in sorted(parents)}
    for key, up in parents.items():
        if up is not None:
            below[up[1]].add(key[1])
    sorter = TopologicalSorter(below)
    try:
        sorter.prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        i = next(i for i, d in enumerate(listed) if d.parent is not None and d.level in cycle)
        raise InputError(
            f"$.domains[{i}].parent", listed[i].parent, f"levels contradict each other: {' < '.join(cycle)}"
        ) from None
    levels: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        levels += ready
        sorter.done(*ready)
    return tuple(levels)


def place_nodes(nodes: Rows[NodeRecord], domains: Domains) -> tuple[Ints, Bools]:
    """[n] The lowest domain of each node, and whether the ``asw`` shorthand alone named it."""
    index = {key: i for i, key in enumerate(domains.keys)}
    lowest: dict[tuple[str, str], int] = {}
    for i in sorted(range(len(domains.keys)), key=lambda i: -int(domains.level[i])):
        lowest[domains.keys[i][0], domains.keys[i][2]] = i
    found = np.full(len(nodes.records), UNKNOWN, np.int32)
    by_asw = np.zeros(len(nodes.records), np.bool_)
    for n, node in enumerate(nodes.records):
        asw = None if node.asw is None else index[node.cluster, ASW, node.asw]
        if node.domain is not None:
            found[n] = _named(nodes, n, lowest, domains, asw)
        elif asw is not None:
            found[n], by_asw[n] = asw, True
    return found, by_asw


def _named(
    nodes: Rows[NodeRecord], n: int, lowest: dict[tuple[str, str], int], domains: Domains, asw: int | None
) -> int:
    node = nodes.records[n]
    if (node.cluster, node.domain) not in lowest:
        raise nodes.refuse(n, "domain", node.domain, f"no such domain in cluster {node.cluster}")
    domain = lowest[node.cluster, str(node.domain)]
    if asw is not None and asw not in _ancestors(domain, domains.parent):
        raise nodes.refuse(n, "asw", node.asw, f"the domain {node.domain} does not lie under it")
    return domain


def _ancestors(domain: int, parent: Ints) -> list[int]:
    chain = [domain]
    while parent[chain[-1]] != UNKNOWN:
        chain.append(int(parent[chain[-1]]))
    return chain


def at_levels(node_domain: Ints, domains: Domains) -> Ints:
    """[l, n] The domain of each level above each node, ``UNKNOWN`` where there is none."""
    found = np.full((len(domains.levels), len(node_domain)), UNKNOWN, np.int32)
    here = node_domain.copy()
    rows = np.flatnonzero(here != UNKNOWN)
    while len(rows):
        found[domains.level[here[rows]], rows] = here[rows]
        here[rows] = domains.parent[here[rows]]
        rows = rows[here[rows] != UNKNOWN]
    return found
