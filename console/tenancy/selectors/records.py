"""The book as the core reads it, and the quotas that clusters bring themselves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from console.tenancy.entries import LIMITS
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

    ``theirs``: what a snapshot lists.  Cohorts are tenants named ``cohort/...``.  By name.
    """
    found = {record["name"]: record for record in _ours()}
    for record in theirs:
        plain = dict(record)
        if says_something(plain) or plain["name"] not in found:
            found[plain["name"]] = plain
    return tuple(found[name] for name in sorted(found))


def says_something(record: Mapping[str, Any]) -> bool:
    """A record with nothing but a name is a tenant without quota."""
    return any(record.get(field) not in (None, [], ()) for field in _SAYS)


def _ours() -> list[dict[str, Any]]:
    docs = book_now().docs
    found = []
    for (kind, name), document in docs.items():
        if kind not in (TENANT, COHORT):
            continue
        cohort = document.get("cohort") if kind == TENANT else document["parent"]
        parent = document["parent"] if kind == TENANT else None
        found.append(
            {
                "name": name if kind == TENANT else COHORT_PREFIX + name,
                "parent": parent or (COHORT_PREFIX + cohort if cohort else None),
                "cohort": cohort,
                "cap_gpus": document.get("cap_gpus"),
                "guarantee_gpus": document.get("guarantee_gpus"),
                "weight": document["weight"],
                "quotas": [
                    {"gpu_model": model, **{name: limits[name] for name in LIMITS}}
                    for model, limits in document["quotas"].items()
                ],
            }
        )
    return found


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


def theirs_of(viewer: Any, tenant: str = "") -> list[Theirs]:
    """Quotas that sources bring, of tenants that the viewer may see; of one of them where it is named."""
    scope = tenant_scope(viewer)
    return [
        Theirs(feed.name, record["name"], record)
        for feed in feeds()
        for record in feed.theirs
        if (not tenant or record["name"] == tenant) and (scope is None or record["name"] in scope)
    ]
