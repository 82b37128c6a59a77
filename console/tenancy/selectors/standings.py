"""Tenants as a tree: what each is guaranteed, holds, borrows and lends, cut to what the viewer may see."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from console.tenancy.entries import Document, Key
from console.tenancy.models import Book, UsageFeed
from console.tenancy.selectors.book import COHORT, TENANT, Page, book_now, seen_by
from console.tenancy.selectors.budgets import Burn, burns
from console.tenancy.selectors.people import tenant_scope
from console.tenancy.selectors.teams import told_apart_since
from console.tenancy.selectors.use import feeds
from console.tenancy.standing import GPU, Standing
from console.ui.states import PageState

SHOWN = ("all", "over", "borrowing", "pending")
BY = ("sum", "model")


@dataclass(frozen=True, slots=True)
class TenantFilters(PageState):
    """The state of the page; ``show`` one of SHOWN, ``by`` one of BY."""

    words: ClassVar = {"show": SHOWN, "by": BY}
    text: str = ""
    model: str = ""
    cohort: str = ""
    show: str = "all"
    by: str = "sum"


class OfModel(NamedTuple):
    gpu_model: str  # "" where pods wait for any of several
    standing: Standing


@dataclass(frozen=True, slots=True)
class TenantRow:
    """One tenant with its teams (or a cohort): the sum over the models that are asked for, and each of them.

    ``version`` 0: nothing was ever said of it in the book.  ``cap`` and ``cap_used`` in GPU milli, over all models.
    """

    kind: str
    name: str
    depth: int
    document: Document | None
    version: int
    whole: Standing
    models: list[OfModel]
    cap: int | None
    cap_used: int
    over_cap: bool
    theirs: list[str]

    @property
    def in_book(self) -> bool:
        return self.document is not None

    @property
    def over(self) -> bool:
        return self.over_cap or self.whole.over > 0


@dataclass(frozen=True, slots=True)
class Tree:
    """``others``: tenants whose names this viewer may not see.  ``at``: of the oldest of the newest readings."""

    rows: list[TenantRow]
    total: Standing
    models: list[str]
    cohorts: list[str]
    others: int
    version: int
    at: datetime | None
    period_s: int
    sources: int

    @property
    def over(self) -> int:
        return sum(row.over for row in self.rows if row.kind == TENANT)


def tenant_tree(viewer: Any, filters: TenantFilters | None = None) -> Tree:
    """All tenants that the viewer may see, cohorts above departments above teams.  Six queries at most."""
    filters = filters or TenantFilters()
    page, every = book_now(), feeds()
    scope = tenant_scope(viewer)
    found, caps = standings_now()
    theirs = _theirs_of(every)
    seen = seen_by(viewer, page)
    names = {key[1] for key in page.docs if key[0] == TENANT} | {key[1] for key, _ in found if key[0] == TENANT}
    shown = names if scope is None else names & scope
    of_key: defaultdict[Key, list[OfModel]] = defaultdict(list)
    for (key, model), standing in found.items():
        if not filters.model or model == filters.model:
            of_key[key].append(OfModel(model, standing if scope is None else _without_others(standing)))
    rows = [_row(page, key, depth, seen, of_key[key], caps, theirs) for key, depth in _in_order(seen, shown)]
    models = sorted({model for key, model in found if model and (scope is None or key[1] in scope)})
    return Tree(
        rows=[row for row in rows if _fits(row, filters, page)],
        total=summed(row.whole for row in rows if row.kind == TENANT and _is_top(row, shown)),
        models=models,
        cohorts=sorted(key[1] for key in seen.docs if key[0] == COHORT),
        others=len(names) - len(shown),
        version=page.version,
        at=min((feed.at for feed in every), default=None),
        period_s=max((feed.period_s for feed in every), default=60),
        sources=len(every),
    )


def _without_others(one: Standing) -> Standing:
    """For who does not see the fleet: how much it may borrow is what others leave idle, and of one other its secret."""
    return one._replace(may_borrow=None)


@dataclass(frozen=True, slots=True)
class OneTenant:
    """A tenant's row of the tree, its entry as it is edited, and its budgets.

    ``since``: from when on a team's namespaces are counted as its own; None for who has none.
    """

    row: TenantRow
    entry: dict[str, Any] | None
    budgets: list[Burn]
    at: datetime | None
    period_s: int
    teams: list[TenantRow]
    since: datetime | None

    def __getattr__(self, name: str) -> Any:
        """What the row says."""
        return getattr(self.row, name)


def tenant_of(viewer: Any, name: str) -> OneTenant | None:
    """None where there is none of that name that the viewer may see."""
    tree = tenant_tree(viewer)
    rows = [row for row in tree.rows if row.kind == TENANT]
    row = next((one for one in rows if one.name == name), None)
    if row is None:
        return None
    entry = None if row.document is None else {"kind": TENANT, "name": name, "version": row.version, **row.document}
    teams = [one for one in rows if one.document is not None and one.document["parent"] == name]
    return OneTenant(
        row, entry, burns(viewer, [name]), tree.at, tree.period_s, teams, told_apart_since([name]).get(name)
    )


def tenant_names(viewer: Any, words: str) -> list[str]:
    """Names that hold the words, of the book and of who uses anything."""
    scope = tenant_scope(viewer)
    names = {key[1] for key in book_now().docs if key[0] == TENANT}
    names |= {key[1] for key, _ in standings_now()[0] if key[0] == TENANT}
    return sorted(name for name in names if words.casefold() in name.casefold() and (scope is None or name in scope))


def standings_now() -> tuple[dict[tuple[Key, str], Standing], dict[str, list[int]]]:
    """(by key and model, tenants above their cap), as they were worked out when the book or the use changed last."""
    book = Book.objects.filter(pk=1).first() or Book()
    return {((row[0], row[1]), row[2]): Standing(*row[3:]) for row in book.standings}, book.over_caps


def _is_top(row: TenantRow, shown: Iterable[str]) -> bool:
    parent = row.document["parent"] if row.document is not None else None
    return parent is None or parent not in shown


def _row(
    page: Page,
    key: Key,
    depth: int,
    seen: Page,
    models: list[OfModel],
    caps: Mapping[str, list[int]],
    theirs: Mapping[str, list[str]],
) -> TenantRow:
    document = seen.docs.get(key)
    cap = document.get("cap_gpus") if document is not None else None
    whole = summed(standing for _, standing in models)
    used = caps[key[1]][0] if key[1] in caps else whole.hp + whole.lp
    return TenantRow(
        kind=key[0],
        name=key[1],
        depth=depth,
        document=document,
        version=page.versions.get(key, 0),
        whole=whole,
        models=sorted(
            (one for one in models if _says(one.standing)),
            key=lambda one: (-(one.standing.nominal or 0), one.gpu_model),
        ),
        cap=None if cap is None else cap * GPU,
        cap_used=used,
        over_cap=key[0] == TENANT and key[1] in caps,
        theirs=theirs.get(key[1], []) if key[0] == TENANT else [],
    )


def _says(one: Standing) -> bool:
    limits = (one.nominal, one.borrowing_limit, one.lending_limit)
    return any(value is not None for value in limits) or bool(one.hp or one.lp or one.pending or one.lent)


def summed(standings: Iterable[Standing]) -> Standing:
    """Over models or tenants; what is set nowhere is not set, and a limit that is missing once is no limit."""
    every = list(standings)
    known = [one.nominal for one in every if one.nominal is not None]
    may = [one.may_borrow for one in every if one.may_borrow is not None]
    borrows = [one.borrows for one in every if one.borrows is not None]
    return Standing(
        nominal=sum(known) if known else None,
        borrowing_limit=None,
        lending_limit=None,
        hp=sum(one.hp for one in every),
        lp=sum(one.lp for one in every),
        pending=sum(one.pending for one in every),
        borrowed=sum(one.borrowed for one in every),
        lent=sum(one.lent for one in every),
        over=sum(one.over for one in every),
        may_borrow=sum(may) if may else None,
        borrows=any(borrows) if borrows else None,
    )


def _in_order(seen: Page, shown: Iterable[str]) -> Iterator[tuple[Key, int]]:
    """Keys with their depth: each cohort with what is in it, then departments of no cohort, then who is in no book."""
    children: defaultdict[Key | None, list[Key]] = defaultdict(list)
    for key, document in seen.docs.items():
        if key[0] in (TENANT, COHORT):
            children[_above(seen, key, document)].append(key)
    yield from _below(children, None, 0)
    for name in sorted(set(shown) - {key[1] for key in seen.docs if key[0] == TENANT}):
        yield (TENANT, name), 0


def _above(seen: Page, key: Key, document: Document) -> Key | None:
    if document["parent"]:
        return (key[0], document["parent"]) if (key[0], document["parent"]) in seen.docs else None
    above = (COHORT, document.get("cohort") or "")
    return above if above in seen.docs else None


def _below(children: Mapping[Key | None, list[Key]], key: Key | None, depth: int) -> Iterator[tuple[Key, int]]:
    """Cohorts first, each by name."""
    for child in sorted(children.get(key, ()), key=lambda one: (one[0] != COHORT, one[1])):
        yield child, depth
        yield from _below(children, child, depth + 1)


def _fits(row: TenantRow, filters: TenantFilters, page: Page) -> bool:
    if filters.text and filters.text.casefold() not in row.name.casefold():
        return False
    if filters.cohort and filters.cohort not in cohorts_of(page, row.kind, row.name):
        return False
    if filters.show == "all":
        return True
    if row.kind != TENANT:
        return False
    return bool({"over": row.over, "borrowing": row.whole.borrowed, "pending": row.whole.pending}[filters.show])


def cohorts_of(page: Page, kind: str, name: str) -> list[str]:
    """The cohort that a tenant (or cohort) is in, and those above it; of a cohort itself first."""
    document = page.docs.get((kind, name))
    seen: set[str] = set()
    while kind == TENANT and document is not None and document["parent"] and name not in seen:
        seen.add(name)
        name = document["parent"]
        document = page.docs.get((TENANT, name))
    here = name if kind == COHORT else (document or {}).get("cohort")
    found: list[str] = []
    while here and here not in found:
        found.append(here)
        here = page.docs.get((COHORT, here), {}).get("parent")
    return found


def _theirs_of(every: Iterable[UsageFeed]) -> dict[str, list[str]]:
    """Tenant -> names of the sources that bring a quota for it."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for feed in every:
        for record in feed.theirs:
            found[record["name"]].append(feed.name)
    return dict(found)
