"""Which nodes a pod may run on at all, by classes of pods and of nodes.

Each rule looks at a few distinct values on either side: a factor is a small table of them, and the classes are the
distinct combinations.  So a fleet of many shapes costs little more than one of few.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.mobility import immovable
from scheduler.cluster.reasons import ELIGIBILITY, IMMOVABLE, TARGET_REASONS
from scheduler.cluster.records import TaintRecord, TolerationRecord
from scheduler.cluster.room import Block, blocking_reason
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Bytes, Ints, Snapshot

__all__ = [
    "ELIGIBILITY",
    "IMMOVABLE",
    "TARGET_REASONS",
    "Block",
    "Eligibility",
    "blocking_reason",
    "eligibility",
    "immovable",
    "tolerates",
]
BINDING_EFFECTS = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """One rule: ``good[pod_value[p], node_value[n]]``."""

    word: str
    pod_value: Ints  # [p]
    node_value: Ints  # [n]
    good: Bools


@dataclass(frozen=True, slots=True, eq=False)
class Eligibility:
    """Axes: p pod, n node, q pod class, r node class."""

    pod_class: Ints  # [p] -> q
    node_class: Ints  # [n] -> r
    matrix: Bools  # [q, r]
    factors: tuple[Factor, ...]  # in the order of ``reasons.ELIGIBILITY``

    def eligible(self, pod: int) -> Bools:
        """[n] nodes that the pod may run on if there is room."""
        return np.asarray(self.matrix[self.pod_class[pod]][self.node_class])

    def reason(self, pod: int, node: int) -> str:
        """The first rule that fails, "" if the node is eligible."""
        bad = (f.word for f in self.factors if not f.good[f.pod_value[pod], f.node_value[node]])
        return next(bad, "")

    def reasons(self, pod: int) -> Bytes:
        """[n] position in ``reasons.ELIGIBILITY`` of the first rule that fails, UNKNOWN where the node is eligible."""
        code = np.full(len(self.node_class), UNKNOWN, np.int8)
        for position in range(len(self.factors) - 1, -1, -1):
            factor = self.factors[position]
            code[~factor.good[factor.pod_value[pod]][factor.node_value]] = position
        return code


def eligibility(snapshot: Snapshot) -> Eligibility:
    """Work out the rules of ``reasons.ELIGIBILITY`` for all pods and nodes, live or not, usable or not."""
    factors = (
        _clusters(snapshot),
        _models(snapshot),
        _memories(snapshot),
        _selectors(snapshot),
        _taints(snapshot),
        _zones(snapshot),
        _only_nodes(snapshot),
    )
    pod_class, pod_of = _classes([factor.pod_value for factor in factors])
    node_class, node_of = _classes([factor.node_value for factor in factors])
    matrix = np.ones((len(pod_of), len(node_of)), np.bool_)
    for factor in factors:
        if not factor.good.all():
            matrix &= factor.good[np.ix_(factor.pod_value[pod_of], factor.node_value[node_of])]
    matrix.flags.writeable = False
    return Eligibility(pod_class, node_class, matrix, factors)


def _classes(values: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Class of each row, and the first row of each class."""
    code = np.zeros(len(values[0]), np.int64)
    first = np.zeros(0, np.int64)
    for value in values:
        # Folding one rule at a time keeps the combined code small, whatever the number of rules
        width = int(value.max(initial=0)) + 1
        _, first, inverse = np.unique(code * width + value, return_index=True, return_inverse=True)
        code = inverse.astype(np.int64).ravel()
    return code.astype(np.int32), first.astype(np.int32)


def _numbered[K: Hashable](keys: Iterable[K]) -> tuple[Ints, list[K]]:
    """Each key's ordinal, and the distinct keys."""
    table: dict[K, int] = {}
    ordinals = np.array([table.setdefault(key, len(table)) for key in keys], np.int32)
    return ordinals, list(table)


def _clusters(snapshot: Snapshot) -> Factor:
    good = np.eye(len(snapshot.clusters), dtype=np.bool_)
    return Factor("cluster", snapshot.pod_cluster, snapshot.node_cluster, good)


def _models(snapshot: Snapshot) -> Factor:
    """A pod that names models is held to them, with GPUs or without; one that names none accepts any."""
    spec, accepted = _numbered(spec.gpu_models for spec in snapshot.pod_specs)
    names = [*snapshot.models, None]
    rows = [[not models or name in models for name in names] for models in accepted]
    good = np.array(rows, np.bool_).reshape(len(accepted), len(names))
    node_value = np.where(snapshot.node_model == UNKNOWN, len(names) - 1, snapshot.node_model)
    return Factor("model", spec[snapshot.pod_spec], node_value.astype(np.int32), good)


def _memories(snapshot: Snapshot) -> Factor:
    """A pod that states the device memory it needs does not go where nobody knows what there is."""
    known = snapshot.node_gpu_memory_mib.copy()
    for n, devices in snapshot.node_devices.items():
        sizes = [device.memory_mib for device in devices if device.memory_mib is not None]
        if known[n] == ABSENT and len(sizes) == snapshot.node_gpus[n]:
            known[n] = min(sizes)
    needed = np.where(snapshot.pod_gpus > 0, snapshot.pod_gpu_memory_mib, 0)
    wanted, pod_value = np.unique(needed, return_inverse=True)
    offered, node_value = np.unique(known, return_inverse=True)
    good = (wanted[:, None] <= offered) | (wanted[:, None] == 0)
    return Factor("gpu_memory", pod_value.astype(np.int32), node_value.astype(np.int32), good)


def _selectors(snapshot: Snapshot) -> Factor:
    spec, selectors = _numbered(spec.node_selector for spec in snapshot.pod_specs)
    terms = {term: i for i, term in enumerate(dict.fromkeys(term for selector in selectors for term in selector))}
    label, label_sets = _numbered(
        tuple(terms[pair] for pair in spec.labels if pair in terms) for spec in snapshot.node_specs
    )
    has = np.zeros((len(terms), len(label_sets)), np.bool_)
    for i, found in enumerate(label_sets):
        has[list(found), i] = True
    rows = [has[[terms[term] for term in selector]].all(axis=0) for selector in selectors]
    good = np.array(rows, np.bool_).reshape(len(selectors), len(label_sets))
    return Factor("selector", spec[snapshot.pod_spec], label[snapshot.node_spec], good)


def tolerates(toleration: TolerationRecord, taint: TaintRecord) -> bool:
    """As in Kubernetes: no key with Exists matches all, no effect matches all, the operator is Equal by default."""
    if toleration.effect is not None and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return toleration.key is None or toleration.key == taint.key
    return toleration.key == taint.key and (toleration.value or "") == (taint.value or "")


def _taints(snapshot: Snapshot) -> Factor:
    spec, sets = _numbered(spec.tolerations for spec in snapshot.pod_specs)
    taint, taint_sets = _numbered(
        tuple(t for t in spec.taints if t.effect in BINDING_EFFECTS) for spec in snapshot.node_specs
    )
    distinct = {t: i for i, t in enumerate(dict.fromkeys(t for found in taint_sets for t in found))}
    bears = np.array([[any(tolerates(t, hit) for t in found) for hit in distinct] for found in sets], np.bool_)
    bears = bears.reshape(len(sets), len(distinct))
    columns = [bears[:, [distinct[t] for t in found]].all(axis=1) for found in taint_sets]
    good = np.array(columns, np.bool_).reshape(len(taint_sets), len(sets)).T
    return Factor("taint", spec[snapshot.pod_spec], taint[snapshot.node_spec], good)


def _zones(snapshot: Snapshot) -> Factor:
    spec, wanted = _numbered(spec.volume_zone for spec in snapshot.pod_specs)
    zones = [*snapshot.zones, None]
    good = np.array([[zone is None or zone == name for name in zones] for zone in wanted], np.bool_)
    node_value = np.where(snapshot.node_zone == UNKNOWN, len(zones) - 1, snapshot.node_zone).astype(np.int32)
    return Factor("zone", spec[snapshot.pod_spec], node_value, good.reshape(len(wanted), len(zones)))


def _only_nodes(snapshot: Snapshot) -> Factor:
    spec, wanted = _numbered(spec.only_node for spec in snapshot.pod_specs)
    named = {name: i for i, name in enumerate(dict.fromkeys([None, *wanted]))}
    node_value = np.array([named.get(name, 0) for name in snapshot.node_name], np.int32)
    good = np.array([[only is None or only == name for name in named] for only in wanted], np.bool_)
    return Factor("only_node", spec[snapshot.pod_spec], node_value, good.reshape(len(wanted), len(named)))
