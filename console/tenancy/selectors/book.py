"""The book as it is, as it was at an edition, and its history as a viewer may see it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from console.tenancy.choices import EntryKind
from console.tenancy.entries import Docs, Key
from console.tenancy.models import Book, Edition, Entry
from console.tenancy.selectors.people import tenant_scope

TENANT, COHORT, PRICE = EntryKind.TENANT.value, EntryKind.COHORT.value, EntryKind.PRICE.value
MOST_CHANGES = 200  # that an answer lists


@dataclass(frozen=True, slots=True)
class Page:
    """The whole book at one moment.  ``versions``: of each entry, removed ones too, the edition that last said it."""

    version: int
    docs: Docs
    versions: Mapping[Key, int]


@dataclass(frozen=True, slots=True)
class Change:
    """One field of one entry; ``field`` "" where the entry came or went."""

    kind: str
    name: str
    field: str
    was: Any
    now: Any


@dataclass(frozen=True, slots=True)
class EditionRow:
    """``hidden``: changes that this viewer may not see; then the reason, which may name others, is not told either."""

    number: int
    kind: str
    back_to: int | None
    by: str
    reason: str
    at: datetime
    changes: list[Change]
    hidden: int


def book_now() -> Page:
    """Two queries."""
    version = Book.objects.filter(pk=1).values_list("version", flat=True).first() or 0
    docs, versions = {}, {}
    rows = Entry.objects.filter(newest=True).values_list("kind", "name", "edition_id", "removed", "document")
    for kind, name, edition, removed, document in rows:
        versions[kind, name] = edition
        if not removed:
            docs[kind, name] = _whole(kind, document)
    return Page(version, docs, versions)


def book_at(number: int) -> Docs:
    """All entries as they were right after that edition."""
    docs: Docs = {}
    rows = Entry.objects.filter(edition__lte=number).order_by("edition_id")
    for kind, name, removed, document in rows.values_list("kind", "name", "removed", "document"):
        docs.pop((kind, name), None)
        if not removed:
            docs[kind, name] = _whole(kind, document)
    return docs


def _whole(kind: str, document: dict[str, Any]) -> dict[str, Any]:
    """As entries are written today: those of before namespaces had none."""
    return {"namespaces": [], **document} if kind == TENANT else document


def path_of(docs: Docs, tenant: str) -> list[str]:
    """The tenant and all above it, nearest first."""
    line = []
    here: str | None = tenant
    while here and here not in line:
        line.append(here)
        here = docs.get((TENANT, here), {}).get("parent")
    return line


def changes_since(viewer: Any, version: int, keys: Collection[Key]) -> list[dict[str, Any]]:
    """What later editions changed of these entries, as far as the viewer may see it; JSON-ready, oldest first."""
    scope = tenant_scope(viewer)
    rows = Edition.objects.filter(number__gt=version).order_by("number").select_related("by")
    found = [
        {
            **dict(zip(("kind", "name", "field", "was", "now"), change, strict=True)),
            "version": row.number,
            "by": row.by.get_username() if row.by else "system",
        }
        for row in rows
        for change in row.changes
        if (change[0], change[1]) in keys and _is_told(Change(*change), scope)
    ]
    return found[:MOST_CHANGES]


def seen_by(viewer: Any, page: Page | None = None) -> Page:
    """The part of the book that a viewer may read: prices and own tenants for tenants, everything for the others."""
    page = page or book_now()
    scope = tenant_scope(viewer)
    if scope is None:
        return page
    docs = {key: _own(document, scope) for key, document in page.docs.items() if key[0] == TENANT and key[1] in scope}
    return Page(page.version, docs, {key: version for key, version in page.versions.items() if key in docs})


def _own(document: Mapping[str, Any], scope: frozenset[str]) -> dict[str, Any]:
    """The name of a department that is not one's own is left out."""
    return {**document, "parent": document["parent"] if document["parent"] in scope else None}


def _is_told(one: Change, scope: frozenset[str] | None) -> bool:
    """Whether somebody who sees these tenants is told of a change; of no department above that is not its own."""
    if scope is None:
        return True
    return _is_of(one, scope) and (one.field != "parent" or {one.was, one.now} - {None} <= scope)


def _is_of(one: Change, scope: frozenset[str] | None) -> bool:
    return scope is None or (one.kind == TENANT and one.name in scope)


def editions(viewer: Any, key: Key | None = None) -> QuerySet[Edition]:
    """Newest first; only those that touched something which the viewer may see, or that one entry."""
    rows = Edition.objects.select_related("by")
    scope = tenant_scope(viewer)
    if key is not None:
        return (
            rows.filter(entries__kind=key[0], entries__name=key[1]) if scope is None or key[1] in scope else rows.none()
        )
    if scope is None:
        return rows
    return rows.filter(entries__kind=TENANT, entries__name__in=sorted(scope)).distinct()


def edition_row(viewer: Any, edition: Edition, key: Key | None = None) -> EditionRow:
    """What of it the viewer may see; with ``key`` only what it says of that entry."""
    scope = tenant_scope(viewer)
    every = [Change(*change) for change in edition.changes]
    hidden = sum(not _is_of(one, scope) for one in every)
    return EditionRow(
        edition.number,
        edition.kind,
        edition.back_to,
        edition.by.get_username() if edition.by else "system",
        edition.reason if not hidden else "",
        edition.at,
        [one for one in every if _is_told(one, scope) and (key is None or (one.kind, one.name) == key)],
        hidden,
    )


def edition_of(viewer: Any, number: int) -> EditionRow | None:
    found = editions(viewer).filter(number=number).first()
    return None if found is None else edition_row(viewer, found)
