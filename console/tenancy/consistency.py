"""What must hold of the book as a whole, whatever was edited: no edit leaves it otherwise."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from console.tenancy.choices import EntryKind
from console.tenancy.entries import Docs, Given, Key, Wrong
from console.tenancy.teams import overlaps

TENANT, COHORT, PRIORITY = EntryKind.TENANT.value, EntryKind.COHORT.value, EntryKind.PRIORITY.value


def faults(docs: Docs, given: Mapping[Key, Given], removed: Collection[Key] = ()) -> list[Wrong]:
    """All that does not hold.  ``given``: the entries that were sent, which know where they stand."""
    found = [*_names(docs, removed), *_circles(docs, TENANT), *_circles(docs, COHORT), *_sums(docs, given)]
    found += _namespaces(docs, given)
    return [Wrong(given.get(key, Given(*key)).row_of(field), field, reason) for key, field, reason in found]


type Fault = tuple[Key, str, str]


def _names(docs: Docs, removed: Collection[Key]) -> Iterator[Fault]:
    """Every name that an entry says is that of an entry."""
    for key, document in docs.items():
        kind = key[0]
        if kind in (TENANT, COHORT) and (parent := document["parent"]) and (kind, parent) not in docs:
            yield key, "parent", _missing(kind, parent, removed)
        if kind == TENANT and (cohort := document["cohort"]):
            if (COHORT, cohort) not in docs:
                yield key, "cohort", _missing(COHORT, cohort, removed)
            if document["parent"]:
                yield key, "cohort", f"the cohort of {document['parent']} holds for its teams, too; leave it empty"
        if kind == PRIORITY:
            for name in document["tenants"]:
                if (TENANT, name) not in docs:
                    yield key, "tenants", _missing(TENANT, name, removed)


def _namespaces(docs: Docs, given: Collection[Key]) -> Iterator[Fault]:
    """Of one tenant a namespace belongs to one team at most, or a pod would be counted twice."""
    for key, document in docs.items():
        if key[0] == TENANT and document.get("namespaces") and not document["parent"]:
            yield key, "namespaces", "only a team has namespaces: name the department above it"
    for first, second, namespace in overlaps(docs):
        for team, other in ((first, second), (second, first)):
            if (TENANT, team) in given or (team == second and (TENANT, first) not in given):
                yield (TENANT, team), "namespaces", f"{namespace} is of team {other} already"


def _missing(kind: str, name: str, removed: Collection[Key]) -> str:
    if (kind, name) in removed:
        return f"{kind} {name} cannot go while it is named here"
    return f"the book has no {kind} {name}"


def _circles(docs: Docs, kind: str) -> Iterator[Fault]:
    parents = {key[1]: document["parent"] for key, document in docs.items() if key[0] == kind}
    safe: set[str] = set()
    for name in parents:
        line = [name]
        while (above := parents.get(line[-1])) and above not in safe:
            if above in line:
                circle = line[line.index(above) :]
                yield (kind, name), "parent", f"is above itself: {' < '.join([*circle, above])}"
                return
            line.append(above)
        safe.update(line)


def _sums(docs: Docs, given: Collection[Key]) -> Iterator[Fault]:
    """Teams divide what their department is guaranteed: together they have no more.  Said where it was edited."""
    parts: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for (kind, name), document in docs.items():
        if kind == TENANT and document["parent"]:
            for model, limits in document["quotas"].items():
                if limits["nominal"] is not None:
                    parts[document["parent"], model].append(name)
    for (parent, model), teams in sorted(parts.items()):
        own = docs.get((TENANT, parent))
        whole = own["quotas"].get(model, {}).get("nominal") if own is not None else None
        total = sum(docs[TENANT, team]["quotas"][model]["nominal"] for team in teams)
        if whole is None or total <= whole:
            continue
        reason = f"the teams of {parent} have {total:,} in sum, {parent} itself {whole:,}"
        involved = [(TENANT, name) for name in (parent, *sorted(teams))]
        for key in [one for one in involved if one in given] or involved[:1]:
            yield key, f"quotas.{model}.nominal", reason
