"""The pods of one cluster as they change: facts in, records out, and only those made anew that something concerns."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from scheduler.cluster.records import GangRecord, PodRecord
from scheduler.kubernetes.builtin import ResourceClaim
from scheduler.kubernetes.machines import Machines
from scheduler.kubernetes.objects import Bad, Key, Thing
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.ordered import Ordered
from scheduler.kubernetes.pods import PodFacts, Pool, Shape, read_pod
from scheduler.kubernetes.refusing import refused_pods
from scheduler.kubernetes.resolving import Around, Prepared, Resolved, prepare, resolve, unique
from scheduler.kubernetes.seen import SeenPod
from scheduler.kubernetes.selectors import Selector, Terms, single, with_space
from scheduler.kubernetes.slices import ClaimFacts, read_claim
from scheduler.kubernetes.store import Store
from scheduler.kubernetes.topology import Levels
from scheduler.kubernetes.unheld import Note, Unheld
from scheduler.kubernetes.watching import Role, Watchlist

PODS, NAMESPACES, CLAIMS = "pods", "namespaces", "resourceclaims.resource.k8s.io"
Used = tuple[str, Key]
RESERVATION = Note(
    "fraction", "ignored", "$.metadata", "stands for pods that share a device and are counted themselves"
)
SPARE_POOL = 50_000  # shapes and label sets kept beyond those that pods could need, before the pool is emptied


class PodTable:
    """Pods by key; ``facts`` are those of the last event, records those of the last ``refresh``."""

    def __init__(self, options: Options, store: Store, machines: Machines) -> None:
        self._options, self._store, self._machines = options, store, machines
        self._facts: dict[Key, PodFacts] = {}
        self._pool = Pool()
        self._prepared: dict[tuple[int, bool], tuple[Shape, Prepared]] = {}
        self._records: dict[Key, PodRecord] = {}
        self._refused: dict[Key, Bad] = {}
        self._ordered: Ordered[Key, PodRecord] = Ordered()
        self._gangs: dict[Key, GangRecord] = {}
        self._notes: dict[Key, tuple[Note, ...]] = {}
        self._node_terms: dict[Key, tuple[Terms, ...]] = {}
        self._uses: dict[Key, tuple[Used, ...]] = {}
        self._users: dict[Used, set[Key]] = defaultdict(set)
        self._on_node: dict[str, set[Key]] = defaultdict(set)  # pods with devices
        self._in_namespace: dict[str, set[Key]] = defaultdict(set)
        self._terms: Counter[Terms] = Counter()
        self._dirty: set[Key] = set()
        self._gone: set[Key] = set()
        self._cluster, self._levels = "", Levels()
        self._still = False
        self.watchlist = Watchlist()
        self._foreign = Watchlist()  # of all namespaces together; only placed in while something is watched

    @property
    def facts(self) -> Mapping[Key, PodFacts]:
        return self._facts

    @property
    def terms(self) -> Collection[Terms]:
        return self._terms.keys()

    # Events

    def put(self, pod: SeenPod) -> None:
        """Raises ``InputError`` for a pod that says nonsense; what was known of it then still stands."""
        facts = read_pod(pod, self._options, self._pool)
        key = (facts.namespace, facts.name)
        before = self._facts.get(key)
        if before == facts:
            return
        self._facts[key] = facts
        self._dirty.add(key)
        if before is None:
            self._in_namespace[facts.namespace].add(key)
        if before is None or before.labels != facts.labels:
            self.watchlist.place(key, facts.labels)
            self._place_abroad(key)
        if before is None or _watching(before) != _watching(facts):
            self._watch(facts)
            if before is not None:
                self._unwatch(before)
        if before is not None and before.node != facts.node:
            self._on_node[before.node].discard(key)
        if facts.node and (facts.shape.asked.wants or facts.device_claims):
            self._on_node[facts.node].add(key)

    def drop(self, key: Key) -> None:
        facts = self._facts.pop(key, None)
        if facts is None:
            return
        self._gone.add(key)
        self._dirty.discard(key)
        self._in_namespace[facts.namespace].discard(key)
        self._on_node[facts.node].discard(key)
        self.watchlist.remove(key)
        self._foreign.remove(_abroad(key))
        self._unwatch(facts)
        self._forget(key)

    def node_changed(self, name: str) -> None:
        self._dirty |= self._on_node.get(name, set())

    def thing_changed(self, kind: str, key: Key) -> None:
        for pod in self._in_namespace.get(key[1], ()) if kind == NAMESPACES else ():
            self._place_abroad(pod)
        self._dirty |= (
            self._in_namespace.get(key[1], set()) if kind == NAMESPACES else self._users.get((kind, key), set())
        )

    def hold_still(self, still: bool) -> None:
        """Whether no pod may move at all."""
        if still != self._still:
            self._still = still
            self._dirty.update(self._facts)

    def watch_budget(self, namespace: str, before: Selector | None, now: Selector | None) -> None:
        if before == now:
            return
        if now is not None:
            self._dirty |= self.watchlist.watch((namespace, now), "budget")
        if before is not None:
            self._dirty |= self.watchlist.unwatch((namespace, before), "budget")

    def _watch(self, facts: PodFacts) -> None:
        for selector, role in _watched(facts):
            self._dirty |= self.watchlist.watch((facts.namespace, selector), role)
        for selector in facts.shape.constraints.foreign_without:
            self._dirty |= set(map(_home, self._foreign.watch(("", selector), "wide")))

    def _unwatch(self, facts: PodFacts) -> None:
        for selector, role in _watched(facts):
            self._dirty |= self.watchlist.unwatch((facts.namespace, selector), role) & self._facts.keys()
        for selector in facts.shape.constraints.foreign_without:
            self._dirty |= set(map(_home, self._foreign.unwatch(("", selector), "wide"))) & self._facts.keys()

    def _place_abroad(self, key: Key) -> None:
        if not self._foreign.idle:
            self._foreign.place(_abroad(key), self._with_space(key))

    def _with_space(self, key: Key) -> dict[str, str]:
        space = self._store.get(NAMESPACES, ("", key[0]))
        return with_space(self._facts[key].labels, key[0], None if space is None else space.metadata.labels)

    def _pods_of(self, namespace: str) -> Iterable[tuple[Key, dict[str, str]]]:
        return ((key, self._facts[key].labels) for key in self._in_namespace.get(namespace, ()))

    def _forget(self, key: Key) -> None:
        self._records.pop(key, None)
        self._refused.pop(key, None)
        self._gangs.pop(key, None)
        self._notes.pop(key, None)
        for terms in self._node_terms.pop(key, ()):
            self._terms[terms] -= 1
            if not self._terms[terms]:
                del self._terms[terms]
        for used in self._uses.pop(key, ()):
            users = self._users[used]
            users.discard(key)
            if not users:
                del self._users[used]

    # Records

    def refresh(self, cluster: str, levels: Levels) -> None:
        """Make the records of all pods that something has changed for."""
        if cluster != self._cluster or levels.words != self._levels.words:
            self._dirty.update(self._facts)
        self._cluster, self._levels = cluster, levels
        self._dirty |= self.watchlist.settle(self._pods_of)
        everywhere = self._foreign.settle(lambda _: ((_abroad(key), self._with_space(key)) for key in self._facts))
        self._dirty |= set(map(_home, everywhere))
        for key in sorted(self._dirty):  # so lie their facts after a list
            self._resolve(key)
        self._refuse()
        self._ordered.update(self._records, self._dirty | self._gone)
        self._dirty.clear()
        self._gone.clear()
        if self._pool.size > SPARE_POOL + 4 * len(self._facts):
            self._pool = Pool()
            self._prepared.clear()

    def _refuse(self) -> None:
        """What a document may not say makes the pod bad, as long as it says so."""
        made = {key: self._records[key] for key in sorted(self._dirty) if key in self._records}
        for key, bad in refused_pods(made).items():
            self._forget(key)
            self._refused[key] = bad

    def _resolve(self, key: Key) -> None:
        facts = self._facts[key]
        self._forget(key)
        if facts.reservation:
            self._notes[key] = (RESERVATION,)
            return
        uses: list[Used] = []

        def look(kind: str, other: Key) -> Thing | None:
            if kind != NAMESPACES:  # all pods of a namespace use it
                uses.append((kind, other))
            return self._store.get(kind, other)

        def claim(name: str) -> ClaimFacts | None:
            found = look(CLAIMS, (facts.namespace, name))
            return read_claim(found) if isinstance(found, ResourceClaim) else None

        machine = self._machines.machine(facts.node) if facts.node else None
        around = Around(
            self._cluster,
            self._options,
            self._levels,
            look,
            claim,
            machine,
            self.watchlist,
            shunned=bool(self._foreign.matched(_abroad(key))),
            still=self._still,
        )
        found = resolve(facts, around, self._prepare(facts))
        self._enter(key, found, uses)

    def _enter(self, key: Key, found: Resolved, uses: list[Used]) -> None:
        self._records[key] = found.record
        if found.gang is not None:
            self._gangs[key] = found.gang
        if found.notes:
            self._notes[key] = found.notes
        if found.terms:
            self._node_terms[key] = found.terms
            self._terms.update(found.terms)
        if uses:
            self._uses[key] = tuple(dict.fromkeys(uses))
            for used in self._uses[key]:
                self._users[used].add(key)

    def _prepare(self, facts: PodFacts) -> Prepared:
        """Shapes are pooled, so that a shape is known by its address as long as it is held here."""
        index = (id(facts.shape), facts.owner.agent)
        known = self._prepared.get(index)
        if known is None:
            known = self._prepared[index] = (facts.shape, prepare(facts.shape, facts.owner.agent, self._options))
        return known[1]

    def records(self) -> list[PodRecord]:
        return self._ordered.rows()

    def refused(self) -> list[Bad]:
        return list(self._refused.values())

    def gangs(self) -> list[GangRecord]:
        return unique(self._gangs.values())

    def unheld(self) -> list[Unheld]:
        return [note.of(PODS, *key) for key in sorted(self._notes) for note in self._notes[key]]


def _abroad(key: Key) -> Key:
    """A pod among those of all namespaces; names of namespaces have no slash."""
    return "", "/".join(key)


def _home(key: Key) -> Key:
    namespace, _, name = key[1].partition("/")
    return namespace, name


def _watching(facts: PodFacts) -> tuple[object, ...]:
    """What ``_watched`` depends on."""
    return facts.shape.constraints, facts.owner.agent


def _watched(facts: PodFacts) -> list[tuple[Selector, Role]]:
    """Selectors of a pod whose matches must carry a label, or must not move."""
    found = facts.shape.constraints
    peers = [found.with_peers] if found.with_peers is not None and not facts.owner.agent else []
    wanted: list[tuple[Selector, Role]] = [
        (selector, "peers") for selector in (*peers, *found.without_peers) if single(selector) is None
    ]
    return wanted + [(selector, "wide") for selector in found.wide_without]
