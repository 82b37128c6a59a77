"""Quotas of a replay: the production tree of tenants, teams and cohorts as columns that kernels read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.admission.tree import ALL, NO_QUOTA, Tree, tree_of
from scheduler.cluster.errors import InputError
from scheduler.cluster.records import TenantRecord
from scheduler.cluster.snapshot import Longs
from scheduler.replay import columns as c


@dataclass(frozen=True, slots=True, eq=False)
class Quotas:
    """Axes: a account, those of the trace's tenants first; m GPU model, the last one is all of them."""

    names: tuple[str, ...]  # [a]
    models: tuple[str, ...]  # [m]
    account: Longs  # [a, ACCOUNT_COLUMNS]
    table: Longs  # [a * m, QUOTA_COLUMNS]

    @property
    def bind(self) -> bool:
        """Whether anything is said that could keep a job waiting."""
        return bool(self.table[:, c.Q_KEPT].any() or (self.account[:, c.A_CAP] != c.NO_LIMIT).any())


def quota_rows(records: Sequence[TenantRecord], tenants: Sequence[str], pools: Sequence[tuple[str, str]]) -> Quotas:
    """What each account may hold, in thousandths of GPUs, by the rules of ``admission.tree``.

    A tenant without a record is under no quota.  Raises InputError where accounts stand too deep.
    """
    tree = tree_of(records)
    names = (*tenants, *sorted(tree.accounts.keys() - set(tenants)))
    models = (*sorted({model for _, model in pools}), ALL)
    row = {name: at for at, name in enumerate(names)}
    account = np.zeros((len(names), c.ACCOUNT_COLUMNS), np.int64)
    account[:, c.A_PARENT], account[:, c.A_CAP] = c.NONE, c.NO_LIMIT
    table = np.zeros((len(names), len(models), c.QUOTA_COLUMNS), np.int64)
    table[:, :, [c.Q_NOMINAL, c.Q_LIMIT]] = c.NO_LIMIT
    for name, one in tree.accounts.items():
        if len(list(tree.line(name))) > c.MOST_DEEP:
            raise InputError("tenants", name, f"stands more than {c.MOST_DEEP} accounts deep")
        at = row[name]
        account[at, c.A_PARENT] = c.NONE if one.parent is None else row[one.parent]
        account[at, c.A_CAP] = _or_none(one.cap_milli)
        account[at, c.A_LISTED] = one.listed
        table[at] = [_cell(tree, name, model) for model in models]
    return Quotas(names, models, account, table.reshape(-1, c.QUOTA_COLUMNS))


def _cell(tree: Tree, name: str, model: str) -> list[int]:
    quota, key = tree.accounts[name].quotas.get(model, NO_QUOTA), (name, model)
    found = [0] * c.QUOTA_COLUMNS
    kept = (tree.root(name), model) in tree.kept  # else there is nothing to borrow, and its limit bounds nothing
    found[c.Q_NOMINAL], found[c.Q_LIMIT] = _or_none(quota.nominal), _or_none(quota.borrowing_limit if kept else None)
    found[c.Q_SHARE], found[c.Q_HOME] = tree.subtree.get(key, 0), tree.home.get(key, 0)
    if tree.accounts[name].parent is None:
        found[c.Q_KEPT] = kept
        found[c.Q_NAMED] = any((one, model) in tree.subtree for one in tree.below(name))
    return found


def _or_none(milli: int | None) -> int:
    return c.NO_LIMIT if milli is None else milli
