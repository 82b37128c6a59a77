"""Kubernetes objects in, records of the snapshot format out: a table that follows the cluster's events.

``put`` and ``drop`` as events come, ``keep`` after a full list, ``document`` for the records of now.  Whatever the
order of events, equal objects give the equal document.  Not safe to be used by two threads at once.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Any, cast

from scheduler.cluster.errors import InputError
from scheduler.cluster.quiet import no_collection
from scheduler.cluster.records import FINISHED_PHASES, ClusterRecord, Document, PdbRecord
from scheduler.kubernetes import builtin, custom
from scheduler.kubernetes.budgets import Covered, read_budget, selector_of
from scheduler.kubernetes.machines import Machines
from scheduler.kubernetes.nodes import read_node
from scheduler.kubernetes.objects import KINDS, Bad, Key, Thing
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.podtable import PodTable
from scheduler.kubernetes.seen import SeenPod
from scheduler.kubernetes.slices import not_read, read_slice
from scheduler.kubernetes.store import Store
from scheduler.kubernetes.tainting import RULES, DeviceTaintRule, chosen_by, not_applied
from scheduler.kubernetes.tenancy import Quotas, read_tenants
from scheduler.kubernetes.topology import Levels, find_levels
from scheduler.kubernetes.unheld import Note, Unheld

NODES, PODS, SLICES = "nodes", "pods", "resourceslices.resource.k8s.io"
BUDGETS = "poddisruptionbudgets.policy"
UNKNOWN_BUDGETS = Note("budget", "pinned", "$", "budgets are unknown: they could not be read, so no pod moves")
TOPOLOGIES = ("topologies.kueue.x-k8s.io", "topologies.kai.scheduler")
HYPERNODES = "hypernodes.topology.volcano.sh"


@dataclass(frozen=True, slots=True)
class Reading:
    """The records of one instant, what the format could not hold of them, and what could not be read at all."""

    document: Document
    unheld: tuple[Unheld, ...]
    bad: tuple[Bad, ...]


class Reader:
    """The objects of one cluster."""

    def __init__(self, options: Options | None = None) -> None:
        self._options = options or Options()
        self._store = Store()
        self._machines = Machines(self._options)
        self._pods = PodTable(self._options, self._store, self._machines)
        self._bad: dict[tuple[str, Key], Bad] = {}
        self._levels = Levels()
        self._find_levels = True
        self._budgets_known = True

    def put(self, kind: str, thing: Thing) -> None:
        """An object as it is now, new or changed.  One that says nonsense is listed as bad, and not counted."""
        try:
            self._put(kind, thing)
        except InputError as error:
            reason = error.reason if error.value is None else f"{error.reason} (got {error.value!r})"
            namespace, name = thing.key
            self.put_bad(Bad(kind=kind, namespace=namespace, name=name, path=error.path, reason=reason))
        else:
            self._bad.pop((kind, thing.key), None)

    def put_bad(self, bad: Bad) -> None:
        """An object that could not be decoded: what was known of it is no longer so."""
        key = (bad.namespace, bad.name)
        self.drop(bad.kind, key)
        self._bad[bad.kind, key] = bad

    def drop(self, kind: str, key: Key) -> None:
        """An object that is gone; nothing happens if it was not there."""
        self._bad.pop((kind, key), None)
        if kind == PODS:
            self._pods.drop(key)
        elif kind == NODES:
            if self._machines.drop(key[1]):
                self._pods.node_changed(key[1])
        else:
            self._change(kind, key, None)

    def keep(self, kind: str, keys: Container[Key]) -> None:
        """After a full list: drop what the list did not have."""
        known = {key for other, key in self._bad if other == kind}
        for key in [key for key in {*self._keys(kind), *known} if key not in keys]:
            self.drop(kind, key)

    def replace(self, kind: str, things: Iterable[Thing]) -> None:
        """A full list in one go; ``put`` each object of a page and then ``keep`` all keys costs less memory."""
        keys = set()
        for thing in things:
            self.put(kind, thing)
            keys.add(thing.key)
        self.keep(kind, keys)

    def lack(self, kinds: Container[str]) -> None:
        """Of these kinds nothing is known: no right, or no answer yet.  Where budgets are unknown, no pod moves."""
        self._budgets_known = BUDGETS not in kinds
        self._pods.hold_still(not self._budgets_known)

    def counts(self) -> dict[str, int]:
        """Objects held, by kind; bad ones not among them."""
        return {kind: len(self._keys(kind)) for kind in KINDS}

    def _keys(self, kind: str) -> set[Key]:
        if kind == PODS:
            return set(self._pods.facts)
        if kind == NODES:
            return {("", name) for name in self._machines.facts}
        return set(self._store.of(kind))

    def _put(self, kind: str, thing: Thing) -> None:
        if kind == PODS:
            self._pods.put(cast(SeenPod, thing))
        elif kind == NODES:
            facts = read_node(cast(builtin.Node, thing), self._options)
            if self._machines.put(facts):
                self._pods.node_changed(facts.name)
        else:
            self._change(kind, thing.key, thing)

    def _change(self, kind: str, key: Key, thing: Thing | None) -> None:
        """Another object is new, changed or gone: see whom that concerns."""
        if kind == SLICES:
            facts = read_slice(cast(builtin.ResourceSlice, thing)) if thing is not None else ()
            for node in self._machines.put_slice(key, facts):
                self._pods.node_changed(node)
        before = self._store.of(kind).get(key)
        if not self._store.set(kind, key, thing):
            return
        if kind == BUDGETS:
            old = cast(builtin.PodDisruptionBudget | None, before)
            new = cast(builtin.PodDisruptionBudget | None, self._store.of(kind).get(key))
            self._pods.watch_budget(key[0], selector_of(old) if old else None, selector_of(new) if new else None)
        elif kind == RULES:
            for node in self._machines.taint(chosen_by(self._rules())):
                self._pods.node_changed(node)
        elif kind in TOPOLOGIES or kind == HYPERNODES:
            self._find_levels = True
        self._pods.thing_changed(kind, key)

    def document(self, cluster: str, taken_at: str, now_s: int) -> Reading:
        """The records of now: ``taken_at`` RFC 3339, ``now_s`` the same instant in seconds since 1970."""
        with no_collection():
            return self._document(cluster, taken_at, now_s)

    def _document(self, cluster: str, taken_at: str, now_s: int) -> Reading:
        if self._find_levels or self._machines.changed:
            self._renew_levels()
        self._pods.refresh(cluster, self._levels)
        self._machines.refresh(cluster, self._levels, self._pods.terms)
        budgets, unheld = self._budgets(cluster)
        tenants, odd = read_tenants(self._quotas(), self._options)
        document = Document(
            taken_at=taken_at,
            now_s=now_s,
            clusters=[ClusterRecord(name=cluster)],
            domains=self._machines.domains(),
            nodes=self._machines.records(),
            pods=self._pods.records(),
            gangs=self._pods.gangs(),
            pdbs=budgets,
            tenants=tenants,
        )
        said = (*self._of_nodes(), *self._of_rules(), *self._pods.unheld(), *unheld, *odd)
        bad = [*self._bad.values(), *self._machines.refused(), *self._pods.refused()]
        return Reading(document, said, tuple(sorted(bad, key=lambda one: (one.kind, one.namespace, one.name))))

    def _renew_levels(self) -> None:
        topologies = [thing for kind in TOPOLOGIES for _, thing in sorted(self._store.of(kind).items())]
        found = find_levels(
            self._options,
            cast(list[custom.Topology], topologies),
            cast(list[custom.HyperNode], list(self._store.of(HYPERNODES).values())),
            {name: facts.labels for name, facts in self._machines.facts.items()},
        )
        self._find_levels = False
        if found != self._levels:
            self._levels = found

    def _budgets(self, cluster: str) -> tuple[list[PdbRecord], list[Unheld]]:
        records: list[PdbRecord] = []
        unheld = [] if self._budgets_known else [UNKNOWN_BUDGETS.of(BUDGETS, "", "*")]
        for key, thing in sorted(self._store.of(BUDGETS).items()):
            budget = cast(builtin.PodDisruptionBudget, thing)
            record, notes = read_budget(budget, self._covered(budget), cluster, self._options)
            records += [record] if record is not None else []
            unheld += [note.of(BUDGETS, *key) for note in notes]
        return records, unheld

    def _covered(self, budget: builtin.PodDisruptionBudget) -> Covered:
        selector = selector_of(budget)
        if selector is None:
            return Covered(0, 0, 0)
        count: Counter[str] = Counter()
        for key in self._pods.watchlist.members((budget.metadata.namespace, selector)):
            pod = self._pods.facts[key]
            if pod.node not in self._machines.facts or pod.phase in FINISHED_PHASES or pod.reservation:
                continue
            count["leaving" if pod.terminating else "standing"] += 1
            count["ready"] += pod.ready and not pod.terminating
        return Covered(count["standing"], count["ready"], count["leaving"])

    def _quotas(self) -> Quotas:
        def listed(kind: str) -> list[Any]:
            return [thing for _, thing in sorted(self._store.of(kind).items())]

        return Quotas(
            cluster_queues=listed("clusterqueues.kueue.x-k8s.io"),
            cohorts=listed("cohorts.kueue.x-k8s.io"),
            flavors=listed("resourceflavors.kueue.x-k8s.io"),
            kai=listed("queues.scheduling.run.ai"),
            volcano=listed("queues.scheduling.volcano.sh"),
            namespaces=listed("resourcequotas"),
            local_queues=listed("localqueues.kueue.x-k8s.io"),
        )

    def _of_rules(self) -> list[Unheld]:
        return not_applied(self._rules())

    def _rules(self) -> list[DeviceTaintRule]:
        rules = cast(dict[Key, DeviceTaintRule], self._store.of(RULES))
        return [rule for _, rule in sorted(rules.items())]

    def _of_nodes(self) -> list[Unheld]:
        by_node: dict[tuple[str, str], tuple[Note, ...]] = defaultdict(tuple)
        for name, facts in self._machines.facts.items():
            if facts.notes:
                by_node[NODES, name] = facts.notes
            machine = self._machines.machine(name)
            if machine is not None and machine.notes:
                by_node[NODES, name] += machine.notes
        tree = self._levels.tree
        for name, note in tree.notes if tree is not None else ():
            by_node[HYPERNODES, name] += (note,)
        for (_, name), found in self._store.of(SLICES).items():
            if notes := not_read(cast(builtin.ResourceSlice, found)):
                by_node[SLICES, name] = notes
        return [note.of(kind, "", name) for (kind, name), notes in sorted(by_node.items()) for note in notes]
