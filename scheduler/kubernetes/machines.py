"""The nodes of one cluster as they change: their devices, their places in the network, the labels that we derive."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from scheduler.cluster.records import DomainRecord, NodeRecord
from scheduler.kubernetes.counted import OFFERED
from scheduler.kubernetes.devices import Machine, offer_label
from scheduler.kubernetes.nodes import NodeFacts
from scheduler.kubernetes.objects import Bad
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.refusing import refused_nodes
from scheduler.kubernetes.resolving import terms_label
from scheduler.kubernetes.selectors import HOSTNAME, Terms, hosts, node_matches, noisy
from scheduler.kubernetes.slices import Place, SliceFacts
from scheduler.kubernetes.tainting import Chosen, tainted
from scheduler.kubernetes.together import with_slices
from scheduler.kubernetes.topology import Levels, Path, domain_records, name_domains
from scheduler.kubernetes.wire import Key


class Machines:
    """Facts in, records out; only what changed is made anew."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._facts: dict[str, NodeFacts] = {}
        self._slices: dict[Key, tuple[SliceFacts, ...]] = {}
        self._slices_on: dict[str, set[Key]] = defaultdict(set)
        self._pools: dict[Place, dict[Key, int]] = defaultdict(dict)  # generation of each slice
        self._tainted: frozenset[Chosen] = frozenset()
        self._machines: dict[str, Machine] = {}
        self._stale: set[str] = set()
        self._records: dict[str, NodeRecord] = {}
        self._refused: dict[str, Bad] = {}
        self._paths: dict[str, Path] = {}
        self._names: dict[Path, str] = {}
        self._terms: set[Terms] = set()
        self._matching: dict[str, set[Terms]] = defaultdict(set)
        self._levels = Levels()
        self._cluster = ""
        self._order: list[str] = []

    @property
    def facts(self) -> Mapping[str, NodeFacts]:
        return self._facts

    @property
    def changed(self) -> bool:
        return bool(self._stale)

    def machine(self, name: str) -> Machine | None:
        return self._machines.get(name)

    def put(self, facts: NodeFacts) -> bool:
        """Whether pods on the node see another machine than before."""
        before = self._facts.get(facts.name)
        if before == facts:
            return False
        self._facts[facts.name] = facts
        self._stale.add(facts.name)
        return self._rebuild(facts.name)

    def drop(self, name: str) -> bool:
        if self._facts.pop(name, None) is None:
            return False
        self._stale.add(name)
        return self._rebuild(name)

    def put_slice(self, key: Key, facts: tuple[SliceFacts, ...]) -> set[str]:
        """Devices of a driver, none for those that are gone; returns the nodes that have become other machines."""
        before = self._slices.pop(key, ())
        if facts:
            self._slices[key] = facts
        if before == facts:
            return set()
        touched = {one.node for one in (*before, *facts)}
        for place in {one.place for one in (*before, *facts)}:
            touched |= self._turn(place, key, facts)
        for one in before:
            self._slices_on[one.node].discard(key)
        for one in facts:
            self._slices_on[one.node].add(key)
        return {node for node in touched if self._rebuild(node)}

    def _turn(self, place: Place, key: Key, facts: tuple[SliceFacts, ...]) -> set[str]:
        """Enter the slice in its pool; another newest generation concerns all nodes of the pool."""
        pool = self._pools[place]
        before = max(pool.values(), default=None)
        pool.pop(key, None)
        pool.update((key, one.generation) for one in facts if one.place == place)
        if not pool:
            del self._pools[place]
        if max(pool.values(), default=None) == before:
            return set()
        return {one.node for other in pool for one in self._slices.get(other, ())}

    def _listed_on(self, name: str) -> list[SliceFacts]:
        """Only the newest generation of a pool counts, on whatever node it lists devices."""
        found = [one for key in sorted(self._slices_on.get(name, ())) for one in self._slices[key] if one.node == name]
        return [one for one in found if one.generation == max(self._pools[one.place].values())]

    def taint(self, rules: frozenset[Chosen]) -> set[str]:
        """Rules that hold from now on; returns the nodes that have become other machines."""
        if rules == self._tainted:
            return set()
        self._tainted = rules
        return {node for node, keys in self._slices_on.items() if keys and self._rebuild(node)}

    def _rebuild(self, name: str) -> bool:
        before = self._machines.pop(name, None)
        facts = self._facts.get(name)
        if facts is not None:
            slices = [tainted(one, self._tainted) for one in self._listed_on(name)]
            self._machines[name] = with_slices(facts.hardware, slices) if slices else Machine(facts.hardware)
            self._stale.add(name)
        return self._machines.get(name) != before

    def refresh(self, cluster: str, levels: Levels, terms: Collection[Terms]) -> None:
        """Bring the records up to date; ``terms`` = those that some pod names."""
        if cluster != self._cluster:
            self._stale.update(self._facts)
        elif levels != self._levels:
            self._stale.update(n for n, f in self._facts.items() if levels.path(n, f.labels) != self._paths.get(n))
        self._cluster, self._levels = cluster, levels
        self._match(set(terms))
        gone = {name for name in self._stale if name not in self._facts}
        for name in gone:
            for table in (self._records, self._paths, self._matching, self._refused):
                table.pop(name, None)
        for name in self._stale - gone:
            self._paths[name] = levels.path(name, self._facts[name].labels)
        if self._stale:
            self._name_domains()
            self._order = sorted(self._facts)
        made = {("", name): self._record(name) for name in self._stale - gone}
        refused = refused_nodes(made)
        for (_, name), record in made.items():
            self._refused.pop(name, None)
            self._records[name] = record
        for (_, name), bad in refused.items():
            del self._records[name]
            self._refused[name] = bad
        self._stale.clear()

    def _match(self, terms: set[Terms]) -> None:
        """Find who matches which terms: new terms against all nodes, changed nodes against all terms."""
        for lost in self._terms - terms:
            for name, found in self._matching.items():
                if lost in found:
                    found.discard(lost)
                    self._stale.add(name)
        new = terms - self._terms
        changed = [name for name in self._stale if name in self._facts]
        self._terms = terms
        for name in changed:
            self._matching[name] = set()
        self._search(terms, changed)
        if new:
            others = self._facts.keys() - set(changed)
            self._stale |= self._search(new, others)

    def _search(self, terms: set[Terms], names: Collection[str]) -> set[str]:
        """Those of ``names`` that match any of the terms."""
        if not terms or not names:
            return set()
        by_host: dict[str, list[Terms]] = defaultdict(list)
        anywhere: list[Terms] = []
        for wanted in terms:
            named = hosts(wanted)
            for host in named or ():
                by_host[host].append(wanted)
            if named is None:
                anywhere.append(wanted)
        found: set[str] = set()
        for name in names:
            labels = self._facts[name].labels
            for wanted in (*anywhere, *by_host.get(labels.get(HOSTNAME, ""), ())):
                if node_matches(wanted, name, labels):
                    self._matching[name].add(wanted)
                    found.add(name)
        return found

    def _name_domains(self) -> None:
        names = name_domains(self._paths.values())
        if names != self._names:
            before, self._names = self._names, names
            moved = (n for n, p in self._paths.items() if n in self._records and before.get(p) != names.get(p))
            self._stale.update(moved)

    def _record(self, name: str) -> NodeRecord:
        facts, hardware, path = self._facts[name], self._machines[name].hardware, self._paths[name]
        labels = {key: value for key, value in facts.labels.items() if not noisy(key)}
        for offer in hardware.offers:
            labels[offer_label(offer.resource, self._options)] = offer.word
        for resource in facts.by_name:
            labels[offer_label(resource, self._options)] = OFFERED
        for wanted in self._matching.get(name, ()):
            labels[terms_label(wanted, self._options)] = "true"
        return NodeRecord(
            name=name,
            cluster=self._cluster,
            gpu_model=hardware.model if hardware.gpus else "",
            gpus=hardware.gpus,
            allocatable_gpus=hardware.allocatable,
            gpu_memory_mib=hardware.memory_mib,
            cpu_milli=facts.cpu_milli,
            memory_mib=facts.memory_mib,
            domain=self._names[path] if path else None,
            max_pods=facts.max_pods,
            zone=facts.zone,
            labels=dict(sorted(labels.items())),
            taints=list(facts.taints),
            cordoned=facts.cordoned,
            ready=facts.ready,
            devices=list(hardware.devices),
            resources=dict(facts.counted),
        )

    def records(self) -> list[NodeRecord]:
        return [self._records[name] for name in self._order if name in self._records]

    def refused(self) -> list[Bad]:
        """Nodes whose records no document may have."""
        return list(self._refused.values())

    def domains(self) -> list[DomainRecord]:
        return domain_records(self._names, self._cluster)
