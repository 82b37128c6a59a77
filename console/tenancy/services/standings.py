"""Working out who has what, by the rules of admission: what the page shows is what a job would be told.

A tenant's nominal quota in the book holds for it and its teams together; the core gets the part that no team has.  HP
work counts against quotas, LP work does not: it runs on what is left over and can be ended; both count against caps.
"""

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from console.tenancy.entries import Docs, Key
from console.tenancy.models import Book
from console.tenancy.selectors.records import COHORT_PREFIX, records_of
from console.tenancy.selectors.use import feeds, use_of
from console.tenancy.standing import COHORT, GPU, NO_USE, TENANT, Standing, Use, UseOf, lineage, split
from scheduler.admission import quota as core
from scheduler.admission.standing import Standing as Account
from scheduler.admission.standing import standings as accounts_of
from scheduler.admission.tree import NO_QUOTA, tree_of
from scheduler.cluster.records import TenantRecord

type Found = dict[tuple[Key, str], Standing]


def keep_standings(docs: Docs) -> None:
    """Works them out for the newest use.  Call it under the book's lock, whenever the book or the use has changed."""
    found, caps = standings(docs, use_of(feeds(), docs))
    Book.objects.update(
        standings=[[*key, model, *standing] for (key, model), standing in found.items()],
        over_caps={name: list(pair) for name, pair in caps.items()},
    )


def standings(docs: Docs, use: UseOf) -> tuple[Found, dict[str, tuple[int, int]]]:
    """(by key and model; tenant -> (held, cap) of those that hold more than their cap)."""
    records = msgspec.convert(records_of(docs), list[TenantRecord])
    own = [{place: one[at] for place, one in use.items() if one[at]} for at in (0, 1)]
    book = core.opened(tree_of(records), *own)
    whole = _with_teams(docs, use)
    accounts = {(row.account, row.model): row for row in accounts_of(book)}
    names = {_account_of(key): key for key in docs if key[0] in (TENANT, COHORT)}
    models = {model for document in docs.values() for model in document.get("quotas", ())}
    models |= {model for _, model in use}
    found: Found = {}
    for model in sorted(models):
        lent = _lent(book, model)
        for name, key in names.items():
            row = accounts.get((name, model))
            if row is not None or (key, model) in whole:
                limits = docs[key]["quotas"].get(model, {})
                found[key, model] = _standing(book, name, model, row, limits, whole.get((key, model), NO_USE), lent)
    for (tenant, model), one in use.items():
        if (TENANT, tenant) not in docs:  # who is not in the book has no quota, and borrows nothing
            found[(TENANT, tenant), model] = Standing(None, None, None, *one, 0, 0, 0, None)
    caps = {one.account: (one.used_milli, one.limit_milli) for one in core.over(book) if one.limit == core.CAP}
    return found, caps


def _account_of(key: Key) -> str:
    return key[1] if key[0] == TENANT else COHORT_PREFIX + key[1]


def _with_teams(docs: Docs, use: UseOf) -> dict[tuple[Key, str], Use]:
    """By (key, model), of everybody who uses something, those above them and their cohorts."""
    found: defaultdict[tuple[Key, str], Use] = defaultdict(Use)
    for (tenant, model), one in use.items():
        line: list[Key] = [(TENANT, name) for name in lineage(docs, tenant)]
        cohort = docs.get(line[-1], {}).get("cohort")
        while cohort and (COHORT, cohort) not in line:
            line.append((COHORT, cohort))
            cohort = docs.get((COHORT, cohort), {}).get("parent")
        for key in line:
            found[key, model] += one
    return found


def _standing(
    book: core.Book,
    name: str,
    model: str,
    row: Account | None,
    limits: Mapping[str, int | None],
    use: Use,
    lent: Mapping[str, int],
) -> Standing:
    """Nothing is said of borrowing where nobody of the tree has a quota of the model."""
    said = [None if limits.get(word) is None else (limits[word] or 0) * GPU for word in _LIMITS]
    if row is None or (book.tree.root(name), model) not in book.tree.kept:
        return Standing(said[0], said[1], said[2], *use, 0, 0, 0 if row is None else row.over_milli, None)
    unused = max(0, row.quota_milli - book.charged.get((name, model), 0))
    more = 0 if row.parent is None else max(0, (row.available_milli or 0) - unused)
    may = max(0, row.borrowed_milli - row.over_milli) + more
    held = row.borrowed_milli, lent.get(name, 0), row.over_milli
    return Standing(said[0], said[1], said[2], *use, *held, may, more > 0)


_LIMITS = ("nominal", "borrowing_limit", "lending_limit")


def _lent(book: core.Book, model: str) -> dict[str, int]:
    """What each account lends to those beside it: what they borrow is split as unused quota is, group by group.

    What a group needs it takes from its own members first; what it lends outwards is split among them again.
    """
    found = {name: 0 for name, account in book.tree.accounts.items() if account.parent is None}
    line = list(found)
    while line:
        name = line.pop()
        members = book.tree.children.get(name, ())
        unused = [_unused(book, one, model) for one in members]
        own = book.tree.accounts[name].quotas.get(model, NO_QUOTA).nominal or 0
        spare = own - book.hp.get((name, model), 0)  # of the part that the account has not given to its members
        idle = [*unused, max(0, spare)]
        needed = sum(_borrowed(book, one, model) for one in members) + max(0, -spare)
        inside = min(sum(idle), needed)
        outwards = min(found[name], sum(idle) - inside)
        found |= dict(zip(members, split(inside + outwards, idle), strict=False))
        line += members
    return found


def _unused(book: core.Book, name: str, model: str) -> int:
    key = name, model
    kept = max(book.tree.home.get(key, 0), book.charged.get(key, 0))
    return max(0, book.tree.subtree.get(key, 0) - kept)


def _borrowed(book: core.Book, name: str, model: str) -> int:
    key = name, model
    return max(0, book.charged.get(key, 0) - book.tree.subtree.get(key, 0))
