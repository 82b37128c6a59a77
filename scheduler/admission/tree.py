"""The tree of tenants, teams and cohorts, and what each account holds in quota.

The rules are those of Kueue's cohorts: a child's nominal quota counts in its parent, less what its lending limit keeps
at home; a parent's own nominal quota comes on top of its children's.  A parent that should only bound its children has
a cap.  All amounts are thousandths of GPUs.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from scheduler.cluster.records import WHOLE_GPU_MILLI, TenantRecord

ALL = "*"  # all GPU models together: guarantees and caps say nothing of models
COHORT = "cohort/"  # before the name of a cohort that is no tenant of its own

Key = tuple[str, str]  # account, model


@dataclass(frozen=True, slots=True)
class Quota:
    """Thousandths of GPUs.  Unset nominal: nothing is guaranteed.  Unset limit: none."""

    nominal: int | None = None
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """A tenant or cohort.  ``listed``: there is a record of it; else others only name it as theirs."""

    name: str
    parent: str | None
    weight: int | None
    cap_milli: int | None
    quotas: Mapping[str, Quota]  # GPU model, or ALL for the guarantee
    listed: bool


NO_QUOTA = Quota()


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """``subtree``: nominal quota of the account and what its children lend; ``home``: the part of it that stays."""

    accounts: Mapping[str, Account]
    children: Mapping[str, tuple[str, ...]]
    subtree: Mapping[Key, int]
    home: Mapping[Key, int]
    kept: frozenset[Key]  # root, model: somebody below has a nominal quota, so that the model is under quota there

    def line(self, name: str) -> Iterator[Account]:
        """The account and those above it, the root last; nothing for who is not in the tree."""
        here = self.accounts.get(name)
        while here is not None:
            yield here
            here = self.accounts.get(here.parent) if here.parent is not None else None

    def root(self, name: str) -> str:
        return list(self.line(name))[-1].name

    def below(self, name: str) -> Iterator[str]:
        """The account and all under it."""
        yield name
        for child in self.children.get(name, ()):
            yield from self.below(child)


def tree_of(records: Iterable[TenantRecord]) -> Tree:
    """Of records whose parents form no circle, which the reader of snapshots sees to."""
    accounts = {record.name: _account(record) for record in sorted(records, key=lambda record: record.name)}
    for parent in sorted({a.parent for a in accounts.values() if a.parent is not None} - accounts.keys()):
        accounts[parent] = Account(parent, None, None, None, {}, False)
    return grown(accounts)


def grown(accounts: Mapping[str, Account]) -> Tree:
    """Of accounts by name, all parents among them."""
    children: dict[str, list[str]] = {}
    for name in sorted(accounts):
        up = accounts[name].parent
        if up is not None:
            children.setdefault(up, []).append(name)
    subtree: dict[Key, int] = {}
    home: dict[Key, int] = {}
    kept: set[Key] = set()
    roots = [name for name, account in accounts.items() if account.parent is None]
    for root in roots:
        _sum_up(root, accounts, children, subtree, home)
    tree = Tree(accounts, {name: tuple(found) for name, found in children.items()}, subtree, home, frozenset())
    for name, account in accounts.items():
        models = {model for model, quota in account.quotas.items() if quota.nominal is not None}
        kept |= {(tree.root(name), model) for model in models - {ALL}}  # a guarantee promises, and holds nobody
    return Tree(tree.accounts, tree.children, subtree, home, frozenset(kept))


def _account(record: TenantRecord) -> Account:
    quotas = {
        quota.gpu_model: Quota(_milli(quota.nominal), _milli(quota.borrowing_limit), _milli(quota.lending_limit))
        for quota in record.quotas
    }
    if record.guarantee_gpus is not None:
        quotas[ALL] = Quota(nominal=_milli(record.guarantee_gpus))
    parent = record.parent
    if parent is None and record.cohort is not None:
        parent = record.cohort if record.cohort.startswith(COHORT) else COHORT + record.cohort
    if parent == record.name:  # a cohort that says of itself what it is called
        parent = None
    return Account(record.name, parent, record.weight, _milli(record.cap_gpus), quotas, True)


def _milli(gpus: int | None) -> int | None:
    return None if gpus is None else gpus * WHOLE_GPU_MILLI


def _sum_up(
    name: str,
    accounts: Mapping[str, Account],
    children: Mapping[str, list[str]],
    subtree: dict[Key, int],
    home: dict[Key, int],
) -> set[str]:
    """Fill both tables from the leaves up; the models that somebody at or below ``name`` has a quota of."""
    account = accounts[name]
    models = set(account.quotas)
    for child in children.get(name, ()):
        models |= _sum_up(child, accounts, children, subtree, home)
    for model in models:
        quota = account.quotas.get(model, NO_QUOTA)
        lent = sum(subtree.get((child, model), 0) - home.get((child, model), 0) for child in children.get(name, ()))
        subtree[name, model] = total = (quota.nominal or 0) + lent
        home[name, model] = 0 if quota.lending_limit is None else max(0, total - quota.lending_limit)
    return models
