"""Priority classes as people decided them: who stands before whom, and who may be stopped for whom.

A class is a band of priorities: a pod is in the highest class whose value is not above its own priority and that its
tenant may use, so that a high number alone gives nobody a standing that was not meant for it.  Inside a class the
priorities of pods do not matter.  Without any class they are the standing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.admission.tree import Tree
from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs, Snapshot


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """``tenants`` who may use it, with their teams; none named: everybody."""

    name: str
    value: int
    tenants: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """``classes`` from the lowest value up; of equal value by name."""

    classes: tuple[PriorityClass, ...]
    tree: Tree

    def of(self, tenant: str | None, priority: int) -> PriorityClass | None:
        """None: it is below all classes that its tenant may use, or there are none."""
        line = {account.name for account in self.tree.line(tenant)} | {tenant} if tenant is not None else set()
        fitting = [one for one in self.classes if one.value <= priority and (not one.tenants or one.tenants & line)]
        return fitting[-1] if fitting else None

    def standing(self, tenant: str | None, priority: int) -> int:
        """Higher goes first; classes of equal value stand alike, and who is in none stands below all."""
        if not self.classes:
            return priority
        found = self.of(tenant, priority)
        values = sorted({one.value for one in self.classes})
        return -1 if found is None else values.index(found.value)

    def standings(self, snapshot: Snapshot) -> Longs:
        """[p] of every pod."""
        pairs = np.column_stack([snapshot.pod_tenant.astype(np.int64), snapshot.pod_priority.astype(np.int64)])
        kinds, at = np.unique(pairs, axis=0, return_inverse=True)
        known = [
            self.standing(None if tenant == UNKNOWN else snapshot.tenants[tenant], priority)
            for tenant, priority in kinds.tolist()
        ]
        return np.array(known, np.int64)[at.reshape(-1)] if known else np.zeros(0, np.int64)

    def below(self, snapshot: Snapshot, tenant: str | None, priority: int) -> Bools | None:
        """[p] pods of a lower class, the only ones that may be preempted; None: there are no classes."""
        return self.standings(snapshot) < self.standing(tenant, priority) if self.classes else None


def ranks_of(classes: Sequence[PriorityClass], tree: Tree) -> Ranks:
    return Ranks(tuple(sorted(classes, key=lambda one: (one.value, one.name))), tree)


def called(name: str | None) -> str:
    return "no class" if name is None else f"class {name}"


def ahead_words(own: str, before: Mapping[str, int]) -> str:
    """How many jobs stand before one, by class: "3 of class prod, 2 of its own"."""
    told = [f"{count} of {'its own' if name == own else name}" for name, count in before.items() if count]
    return ", ".join(told)
