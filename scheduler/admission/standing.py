"""Where every account stands: guaranteed, used, borrowed, lent; for bars and tables."""

from dataclasses import dataclass

from scheduler.admission.quota import Book, over
from scheduler.admission.tree import ALL, NO_QUOTA


@dataclass(frozen=True, slots=True)
class Standing:
    """One account and model (ALL: all together); thousandths of GPUs.  None: not set, or without a bound."""

    account: str
    parent: str | None
    model: str
    nominal_milli: int | None
    borrowing_limit_milli: int | None
    lending_limit_milli: int | None
    quota_milli: int  # nominal, and what children lend
    hp_milli: int  # of the account and all below
    lp_milli: int
    borrowed_milli: int  # used beyond its quota
    lent_milli: int  # its part of what others borrow: what is borrowed is split over lenders as their unused quota is
    available_milli: int | None  # None: no quota holds it
    over_milli: int  # beyond all that it may use


def standings(book: Book) -> tuple[Standing, ...]:
    """By account and model; an account without quota of a model and without use of it has no row."""
    models = {model for _, model in book.tree.subtree} | {model for _, model in (*book.hp, *book.lp)}
    exceeded: dict[tuple[str, str], int] = {}
    for one in over(book):
        key = one.account, one.model
        exceeded[key] = max(exceeded.get(key, 0), one.over_milli)
    found = []
    for model in sorted(models):
        lent = _lent(book, model)
        for name in sorted(book.tree.accounts):
            if (row := _row(book, name, model, lent.get(name, 0), exceeded)) is not None:
                found.append(row)
    return tuple(sorted(found, key=lambda row: (row.account, row.model)))


def _row(book: Book, name: str, model: str, lent: int, exceeded: dict[tuple[str, str], int]) -> Standing | None:
    account, tree = book.tree.accounts[name], book.tree
    inside = list(tree.below(name))
    hp, lp = (sum(use.get((one, model), 0) for one in inside) for use in (book.hp, book.lp))
    quota = account.quotas.get(model, NO_QUOTA)
    if not hp and not lp and (name, model) not in tree.subtree:
        return None
    own = tree.subtree.get((name, model), 0)
    return Standing(
        account=name,
        parent=account.parent,
        model=model,
        nominal_milli=quota.nominal,
        borrowing_limit_milli=quota.borrowing_limit,
        lending_limit_milli=quota.lending_limit,
        quota_milli=own,
        hp_milli=hp,
        lp_milli=lp,
        borrowed_milli=max(0, book.charged.get((name, model), 0) - own) if account.parent is not None else 0,
        lent_milli=lent,
        available_milli=None if model == ALL else book.available(name, model),
        over_milli=exceeded.get((name, model), 0),
    )


def _lent(book: Book, model: str) -> dict[str, int]:
    """Each lender's part of what is borrowed in its tree, in proportion to its unused quota; rounded down."""
    found: dict[str, int] = {}
    for root in [name for name, account in book.tree.accounts.items() if account.parent is None]:
        names = list(book.tree.below(root))
        lenders = {name: unused for name in names if (unused := book.unused(name, model))}
        borrowed = sum(book.beyond_quota(name, model) for name in names)
        total = sum(lenders.values())
        for name, unused in lenders.items():
            found[name] = min(unused, borrowed * unused // total)
    return found
