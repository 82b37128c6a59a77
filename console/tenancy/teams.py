"""Whose a pod is where teams are told by namespaces: its tenant's, or that of a team below its tenant.  No database.

A namespace of the book is a name, or ``cluster/name`` where it means that of one cluster alone.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from console.tenancy.choices import EntryKind
from console.tenancy.entries import Docs

TENANT = EntryKind.TENANT.value
ANYWHERE = ""


def place_of(namespace: str) -> tuple[str, str]:
    """(cluster, name); the cluster is ANYWHERE where none is said."""
    cluster, _, name = namespace.rpartition("/")
    return cluster, name


class Teams:
    """Which team of a tenant a namespace belongs to, by one state of the book."""

    def __init__(self, docs: Docs) -> None:
        self._found: dict[tuple[str, str, str], str] = {
            (document["parent"], *place_of(namespace)): name
            for (kind, name), document in docs.items()
            if kind == TENANT and document["parent"]
            for namespace in document.get("namespaces", ())
        }

    def __bool__(self) -> bool:
        """Whether any team has namespaces."""
        return bool(self._found)

    def of(self, cluster: str, tenant: str, namespace: str) -> str:
        """The team of the tenant, or a team of that; the tenant itself where no team names the namespace."""
        here, seen = tenant, {tenant}
        while self._found and namespace:
            below = self._found.get((here, cluster, namespace)) or self._found.get((here, ANYWHERE, namespace))
            if not below or below in seen:
                break
            seen.add(below)
            here = below
        return here

    def rows(self, spaces: Iterable[list[Any]]) -> list[list[Any]]:
        """[cluster, tenant or team, model, ...amounts], summed over the namespaces of
        [cluster, tenant, namespace, model, ...amounts]."""
        sums: defaultdict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        for cluster, tenant, namespace, model, *amounts in spaces:
            place = cluster, self.of(cluster, tenant, namespace), model
            sums[place] = [a + b for a, b in zip(sums[place], amounts, strict=True)]
        return [[*place, *amounts] for place, amounts in sorted(sums.items())]


def overlaps(docs: Docs) -> Iterator[tuple[str, str, str]]:
    """(team, other team of the same tenant, namespace) of every namespace that two teams name."""
    named: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for (kind, name), document in sorted(docs.items()):
        if kind == TENANT and document["parent"]:
            for namespace in document.get("namespaces", ()):
                cluster, plain = place_of(namespace)
                named[document["parent"], plain].append((name, cluster))
    for (_, plain), teams in sorted(named.items()):
        for at, (team, cluster) in enumerate(teams):
            for other, of_other in teams[:at]:
                if team != other and (ANYWHERE in (cluster, of_other) or cluster == of_other):
                    shown = f"{cluster or of_other}/{plain}" if cluster or of_other else plain
                    yield other, team, shown
