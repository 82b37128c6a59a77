"""Editing the book: who may, on top of which version, all or nothing; every edit is an edition that stays."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from console.audit.services import record
from console.live.services import publish
from console.tenancy import selectors
from console.tenancy.choices import EditionKind, EntryKind
from console.tenancy.consistency import faults
from console.tenancy.entries import BookError, Docs, Given, Key, Wrong, changes, read_entries
from console.tenancy.models import Book, Edition, Entry, Tenant
from console.tenancy.selectors.book import Page
from console.tenancy.selectors.reach import Reach
from console.tenancy.services.people import Denied, require
from console.tenancy.services.standings import keep_standings

SET, DIVIDE = "tenancy.set_quotas", "tenancy.divide_quotas"
TENANT = EntryKind.TENANT.value
# What a department's admin may set for its teams.
DIVIDED = ("quotas", "budgets", "weight", "parent", "cap_gpus", "namespaces")


class VersionMissingError(Exception):
    """Who edits must say which version was read; HTTP 428."""

    def __init__(self) -> None:
        self.reason = "Send the version that you read in If-Match (0 where there is none)."
        super().__init__(self.reason)


class VersionChangedError(Exception):
    """Another version was read than the book has of these entries; HTTP 412.

    ``changes``: what others changed of them meanwhile, as far as the asker may see it, JSON-ready; none where the
    version that was sent does not exist.
    """

    def __init__(self, version: int, changed: Sequence[dict[str, Any]], keys: Iterable[Key]) -> None:
        self.version, self.changes = version, tuple(changed)
        names = [" ".join(key) for key in sorted(keys)]
        what = f"Somebody changed {', '.join(names[:6])} meanwhile" if names else "There is no such version"
        self.reason = f"{what}: the book is at version {version}. Read it again, then edit."
        super().__init__(self.reason)


@dataclass(frozen=True, slots=True)
class Planned:
    """An edit as it would be: nothing of it is kept yet."""

    version: int
    before: Docs
    after: Docs
    changes: list[list[Any]]


def plan_edit(user: Any, given: Iterable[Given], version: int | None, *, whole: bool = False) -> Planned:
    """What an edit on top of ``version`` would make of the book; ``whole``: what is not given is removed.

    Raises ``Denied`` before anything else, then ``VersionMissingError`` (428), ``BookError`` (400),
    ``VersionChangedError`` (412).
    """
    given = list(given)
    reach = _judged(user, given, whole=whole)
    if version is None:
        raise VersionMissingError
    page = selectors.book_now()
    docs, removed, wrongs = read_entries(given)
    if whole:
        removed |= page.docs.keys() - docs.keys()
    wrongs += [
        Wrong(f"{kind} {name}", "name", "is not in the book") for kind, name in sorted(removed - page.docs.keys())
    ]
    if wrongs:
        raise BookError(wrongs)
    if reach is not None:
        docs = _without_shown(user, page, docs, reach.shown(given))
    after = {key: document for key, document in {**page.docs, **docs}.items() if key not in removed}
    touched = {key for key in docs.keys() | removed if page.docs.get(key) != after.get(key)}
    _refuse_old(user, page, touched, version)
    sent = {one.key: one for one in given}
    if reach is not None:
        _refuse_beyond(page.docs, after, touched, sent)
    if found := faults(after, sent, removed):
        raise BookError(found if reach is None else _told(found, reach, given))
    return Planned(page.version, page.docs, after, changes(page.docs, after))


def edit_book(
    user: Any,
    given: Iterable[Given],
    version: int | None,
    *,
    reason: str,
    whole: bool = False,
    kind: str = EditionKind.EDIT,
    back_to: int | None = None,
) -> Edition:
    """The next edition.  Raises what ``plan_edit`` raises, and ``BookError`` where nothing would change."""
    with transaction.atomic():
        book = _held()
        planned = plan_edit(user, given, version, whole=whole)
        if not reason.strip():
            raise BookError([Wrong("", "reason", "say why: it is kept in the history")])
        if not planned.changes:
            raise BookError([Wrong("", "", "nothing would change")])
        return _write(user, book, planned, reason.strip(), kind, back_to)


def put_back(user: Any, number: int, version: int | None, *, reason: str, only: Key | None = None) -> Edition:
    """The book (or one entry of it) as it was at an older edition, as a new edition.

    Raises ``Edition.DoesNotExist`` where there is no such edition, and what ``edit_book`` raises.
    """
    require(user, SET)
    return edit_book(
        user, given_back(number, only), version, reason=reason, kind=EditionKind.BACK, back_to=number
    )  # fmt: skip


def given_back(number: int, only: Key | None = None) -> list[Given]:
    """The edit that leads back to an edition: what differs from it now."""
    Edition.objects.get(pk=number)
    then, now = selectors.book_at(number), selectors.book_now().docs
    keys = {only} if only is not None else then.keys() | now.keys()
    return [
        Given(*key, document=then.get(key, {}), removed=key not in then)
        for key in sorted(keys)
        if then.get(key) != now.get(key)
    ]


def _held() -> Book:
    """The book's row until this transaction ends; an edit that waits for it sees what the one before has made."""
    Book.objects.get_or_create(pk=1)
    return Book.objects.select_for_update().get(pk=1)


def _judged(user: Any, given: Sequence[Given], *, whole: bool) -> Reach | None:
    """Who may edit these: asked before the book is read, so that no answer tells what another has or is called.

    None for those who may set everything.  Raises ``Denied``, in the same words whatever of it is another's.
    """
    if user.has_perm(SET) or not user.has_perm(DIVIDE):
        require(user, SET)
        return None
    reach = selectors.reach_of(user)
    if whole or not reach.holds(given):
        raise Denied(_refusal(user))
    return reach


def _refusal(user: Any) -> str:
    return (
        f"{user.refusal(SET)} It may divide the quota of its tenants among their teams; a new team needs one of them "
        "above it and a name that no tenant has."
    )


def _without_shown(user: Any, page: Page, docs: Docs, shown: set[Key]) -> Docs:
    """A department's own entry may be sent as its admin reads it, and not otherwise."""
    read = selectors.seen_by(user, page).docs
    if any(key not in docs or docs[key] != read.get(key) for key in shown):
        raise Denied(_refusal(user))
    return {key: document for key, document in docs.items() if key not in shown}


def _told(found: Sequence[Wrong], reach: Reach, given: Sequence[Given]) -> list[Wrong]:
    """Faults at entries that the editor sees; what stands elsewhere only keeps something from going."""
    rows = {f"{TENANT} {name}" for name in reach.seen}
    for one in given:
        rows |= {one.row_of(""), *one.rows.values()}
    told = [one for one in found if one.row in rows]
    return told or [Wrong("", "", "one of these is named by an entry for operators to set, and cannot go before")]


def _refuse_old(user: Any, page: Page, touched: Iterable[Key], version: int) -> None:
    """Only what this edit touches counts: whoever edited other entries meanwhile is in nobody's way."""
    if version > page.version:
        raise VersionChangedError(page.version, (), ())
    newer = {key for key in touched if page.versions.get(key, 0) > version}
    if newer:
        raise VersionChangedError(page.version, selectors.changes_since(user, version, newer), newer)


def _refuse_beyond(before: Docs, after: Docs, touched: Iterable[Key], given: dict[Key, Given]) -> None:
    """A department's admin sets what its teams have, inside what the department has."""
    wrongs = []
    for key in sorted(touched):
        was, now = before.get(key), after.get(key)
        row = given[key].row_of
        fields = [name for name in (now or {}) if name not in DIVIDED and (now or {})[name] != (was or {}).get(name)]
        fields = [name for name in fields if was is not None or (now or {})[name] not in (None, {}, [])]
        wrongs += [Wrong(row(name), name, "is for operators to set") for name in fields]
        wrongs += [Wrong(row(fault[0]), *fault) for fault in _beyond(after, key)]
    if wrongs:
        raise BookError(wrongs)


def _beyond(after: Docs, key: Key) -> list[tuple[str, str]]:
    """Models that a team is given although its department is guaranteed none of them."""
    document = after.get(key)
    if document is None:
        return []
    above = after.get((TENANT, document["parent"]), {"quotas": {}})
    return [
        (f"quotas.{model}.nominal", f"{document['parent']} itself has no nominal quota of {model}")
        for model, limits in document["quotas"].items()
        if limits["nominal"] and above["quotas"].get(model, {}).get("nominal") is None
    ]


def _write(user: Any, book: Book, planned: Planned, reason: str, kind: str, back_to: int | None) -> Edition:
    number = book.version + 1
    edition = Edition.objects.create(
        number=number, kind=kind, back_to=back_to, by=user, reason=reason, changes=planned.changes
    )
    keys = sorted({(row[0], row[1]) for row in planned.changes})
    for some_kind in EntryKind.values:
        names = [name for kind_of, name in keys if kind_of == some_kind]
        Entry.objects.filter(kind=some_kind, name__in=names, newest=True).update(newest=False)
    Entry.objects.bulk_create(
        Entry(
            edition=edition, kind=key[0], name=key[1],
            removed=key not in planned.after, document=planned.after.get(key, {}),
        )
        for key in keys
    )  # fmt: skip
    Book.objects.filter(pk=book.pk).update(version=number)
    _follow_tree(planned.before, planned.after)
    keep_standings(planned.after)
    record(
        actor=user,
        action="quotas.put_back" if kind == EditionKind.BACK else "quotas.edited",
        target_kind="book",
        target_id=number,
        reason=reason,
        detail={"version": number, "entries": [" ".join(key) for key in keys][:200], "fields": len(planned.changes)}
        | ({} if back_to is None else {"back_to": back_to}),
    )
    publish("tenants", "book.changed", version=number)
    return edition


def _follow_tree(before: Docs, after: Docs) -> None:
    """Rows that people belong to follow the book: parents decide whose names a member sees.

    Who leaves the book stays as a row without a parent: its members still belong to it.
    """
    names = {key[1] for key in before.keys() | after.keys() if key[0] == TENANT}
    Tenant.objects.bulk_create([Tenant(name=name) for name in sorted(names)], ignore_conflicts=True)
    rows = {row.name: row for row in Tenant.objects.filter(name__in=names)}
    moved = []
    for name, row in rows.items():
        document = after.get((TENANT, name))
        parent = rows[document["parent"]] if document is not None and document["parent"] else None
        if row.parent_id != (parent.pk if parent is not None else None):
            row.parent = parent
            moved.append(row)
    Tenant.objects.bulk_update(moved, ["parent"], batch_size=200)
