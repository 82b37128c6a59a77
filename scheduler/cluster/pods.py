"""Pods of the snapshot: the names in their columns become rows of other tables."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from scheduler.cluster.podcolumns import pod_columns
from scheduler.cluster.podspecs import Specs
from scheduler.cluster.recall import Recall, Table
from scheduler.cluster.records import AGENT_OWNERS, DEFAULT_NAMESPACE, PodRecord
from scheduler.cluster.rows import MAX_DEVICES, frozen, ranks
from scheduler.cluster.snapshot import ORPHAN, UNKNOWN, Ints

Fields = dict[str, object]


class Pods:
    """The pods of one document after the other."""

    def __init__(self) -> None:
        self._specs = Specs()
        columns = partial(pod_columns, specs=self._specs)
        self._recall = Recall("pods", PodRecord, ("cluster", "namespace"), columns)

    def table(self, records: Sequence[PodRecord]) -> Table:
        """What each pod says by itself; raises ``InputError`` for values out of range and for pods of one identity."""
        return self._recall.table(records)

    def fields(
        self,
        table: Table,
        *,
        clusters: Sequence[str],
        namespaces: Sequence[str],
        tenants: Sequence[str],
        nodes: Mapping[tuple[str, str], int],
        gangs: Mapping[tuple[str, str, str], int],
    ) -> Fields:
        """The ``pod_*`` fields of the snapshot; raises ``InputError`` for gangs and lenders that cannot be."""
        node, orphans = _nodes(table, nodes)
        specs, spec = self._specs.listed(table.columns["spec"])
        agent = np.array([s.owner is not None and s.owner.kind in AGENT_OWNERS for s in specs], np.bool_)
        return {
            **{name: column for name, column in table.columns.items() if name.startswith("pod_")},
            "pod_name": table.texts("name"),
            "pod_namespace": frozen(ranks(table.values("namespace"), namespaces)),
            "pod_cluster": frozen(ranks(table.values("cluster"), clusters)),
            "pod_uid": table.texts("uid"),
            "pod_node": frozen(node),
            "pod_orphan_node": orphans,
            "pod_tenant": frozen(ranks(table.values("tenant"), tenants)),
            "pod_gang": frozen(_gangs(table, gangs)),
            "pod_lender": frozen(_lenders(table)),
            "pod_agent": frozen(agent[spec]),
            "pod_live": frozen((node >= 0) & ~table.columns["finished"]),
            "pod_phase": table.texts("phase"),
            "pod_spec": frozen(spec),
            "pod_specs": specs,
            "pod_devices": dict(table.given("devices")),
        }


def _nodes(table: Table, nodes: Mapping[tuple[str, str], int]) -> tuple[Ints, dict[int, str]]:
    """[p] Node of each pod, and the names of those that the snapshot does not list."""
    names = table.values("node")
    places = zip(table.values("cluster"), names, strict=True)
    found = np.array([UNKNOWN if key[1] is None else nodes.get(key, ORPHAN) for key in places], np.int32)
    return found, {p: names[p] for p in np.flatnonzero(found == ORPHAN).tolist()}


def _gangs(table: Table, gangs: Mapping[tuple[str, str, str], int]) -> Ints:
    found = np.full(len(table.source), UNKNOWN, np.int32)
    clusters, namespaces = table.columns["cluster"], table.columns["namespace"]
    for p, name in table.given("gang"):
        cluster, namespace = clusters[p], namespaces[p]
        gang = gangs.get((cluster, namespace, name))
        if gang is None:  # a gang that is listed without a namespace is open to pods of any
            gang = gangs.get((cluster, DEFAULT_NAMESPACE, name))
        if gang is None:
            raise table.refuse(p, "gang", name, f"no such gang in namespace {namespace} of cluster {cluster}")
        found[p] = gang
    return found


def _lenders(table: Table) -> Ints:
    """[p] The pod named by ``lent_by``; a lender that is not listed lends nothing, so its borrower stands alone."""
    found = np.full(len(table.source), UNKNOWN, np.int32)
    clusters = table.values("cluster")
    borrowers = {p: (clusters[p], name) for p, name in table.given("lent_by")}
    if not borrowers:
        return found
    wanted = set(borrowers.values())
    keys = map("/".join, zip(table.values("namespace"), table.values("name"), strict=True))
    known = {key: p for p, key in enumerate(zip(clusters, keys, strict=True)) if key in wanted}
    for p, key in borrowers.items():
        found[p] = known.get(key, UNKNOWN)
        if found[p] == p:
            raise table.refuse(p, "lent_by", key[1], "a pod cannot borrow from itself")
    return found


def check_device_range(table: Table, node: Ints, gpus: Ints) -> None:
    """A listed device must exist on the pod's node; raises ``InputError``."""
    for p, indices in table.given("devices"):
        count = int(gpus[node[p]]) if node[p] >= 0 else MAX_DEVICES
        for i, index in enumerate(indices):
            if not 0 <= index < count:
                raise table.refuse(p, f"devices[{i}]", index, f"no such device on a node of {count} GPUs")
