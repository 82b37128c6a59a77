"""The book as the core reads it, and the quotas that clusters bring themselves."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from console.tenancy.choices import EntryKind
from console.tenancy.entries import Docs, Document
from console.tenancy.selectors.book import COHORT, TENANT, book_now
from console.tenancy.selectors.people import tenant_scope
from console.tenancy.selectors.use import feeds

COHORT_PREFIX = "cohort/"  # as readers of clusters name tenants that are cohorts
_SAYS = ("cap_gpus", "guarantee_gpus", "weight", "quotas", "parent", "cohort")


@dataclass(frozen=True, slots=True)
class Theirs:
    """A quota that a cluster brings (Kueue, KAI, Volcano, a namespace's): shown, and never edited here."""

    source: str
    name: str
    record: Mapping[str, Any]


def tenant_records(theirs: Iterable[Mapping[str, Any]] = ()) -> tuple[dict[str, Any], ...]:
    """Plain fields of the core's tenant records: those a cluster brings with quotas of its own, else the book's.

    ``theirs``: what a snapshot lists.  Cohorts are tenants named ``cohort/...``.  By name.  Where both together
    would put somebody above themselves, a record of the book stands alone.
    """
    found: dict[str, dict[str, Any]] = {one["name"]: one | {"ours": True} for one in records_of(book_now().docs)}
    for record in theirs:
        plain = dict(record)
        if says_something(plain) or plain["name"] not in found:
            found[plain["name"]] = plain
    ours = {record["name"] for record in found.values() if record.get("ours")}
    for name in sorted(ours):
        if _is_above_itself(found, name):
            found[name] |= {"parent": None, "cohort": None}
    return tuple({field: found[name][field] for field in found[name] if field != "ours"} for name in sorted(found))


def _is_above_itself(records: Mapping[str, Mapping[str, Any]], name: str) -> bool:
    here, seen = _parent(records[name]), {name}
    while here in records and here not in seen:
        seen.add(here)
        here = _parent(records[here])
    return here == name


def _parent(record: Mapping[str, Any]) -> str:
    """As the core reads it: the parent, else the cohort."""
    cohort = record.get("cohort")
    return str(record.get("parent") or (COHORT_PREFIX + cohort.removeprefix(COHORT_PREFIX) if cohort else ""))


def says_something(record: Mapping[str, Any]) -> bool:
    """A record with nothing but a name is a tenant without quota."""
    return any(record.get(field) not in (None, [], ()) for field in _SAYS)


def records_of(docs: Docs) -> list[dict[str, Any]]:
    """The book's own records.  In the core what teams have comes on top of their department's, in the book it is part
    of it: a department hands over the part that none of its teams has."""
    divided: defaultdict[str, Counter[str]] = defaultdict(Counter)
    guaranteed: Counter[str] = Counter()
    for (kind, _), document in docs.items():
        if kind == TENANT and document["parent"]:
            guaranteed[document["parent"]] += document["guarantee_gpus"] or 0
            for model, limits in document["quotas"].items():
                divided[document["parent"]][model] += limits["nominal"] or 0
    return [
        _record(kind, name, document, divided[name] if kind == TENANT else Counter(), guaranteed[name])
        for (kind, name), document in docs.items()
        if kind in (TENANT, COHORT)
    ]


def _record(kind: str, name: str, document: Document, divided: Counter[str], guaranteed: int) -> dict[str, Any]:
    cohort = document.get("cohort") if kind == TENANT else document["parent"]
    parent = document["parent"] if kind == TENANT else None
    guarantee = document.get("guarantee_gpus")
    return {
        "name": name if kind == TENANT else COHORT_PREFIX + name,
        "parent": parent or (COHORT_PREFIX + cohort if cohort else None),
        "cohort": cohort,
        "cap_gpus": document.get("cap_gpus"),
        "guarantee_gpus": None if guarantee is None else max(0, guarantee - guaranteed),
        "weight": document["weight"],
        "quotas": [
            {"gpu_model": model, **limits, "nominal": _rest(limits["nominal"], divided[model])}
            for model, limits in document["quotas"].items()
        ],
    }


def _rest(nominal: int | None, divided: int) -> int | None:
    return None if nominal is None else max(0, nominal - divided)


def min_runtimes() -> dict[str, int]:
    """Tenant -> seconds for which what it runs on borrowed capacity is left alone; a team has its department's."""
    docs = book_now().docs
    found = {}
    for kind, name in docs:
        here: str | None = name if kind == TENANT else None
        while here:
            document = docs.get((TENANT, here), {})
            if document.get("min_runtime_s") is not None:
                found[name] = int(document["min_runtime_s"])
                break
            here = document.get("parent")
    return found


def priority_classes() -> list[tuple[str, int, tuple[str, ...]]]:
    """(name, value, tenants who may use it, () for everybody); from the lowest value up."""
    rows = [
        (name, int(document["value"]), tuple(document["tenants"]))
        for (kind, name), document in book_now().docs.items()
        if kind == EntryKind.PRIORITY.value
    ]
    return sorted(rows, key=lambda row: (row[1], row[0]))


def theirs_of(viewer: Any, tenant: str = "") -> list[Theirs]:
    """Quotas that sources bring, of tenants that the viewer may see; of one of them where it is named."""
    scope = tenant_scope(viewer)
    return [
        Theirs(feed.name, record["name"], record)
        for feed in feeds()
        for record in feed.theirs
        if (not tenant or record["name"] == tenant) and (scope is None or record["name"] in scope)
    ]
