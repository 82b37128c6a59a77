"""The quota state: who may use how many GPUs of a model, who borrows, who lends, who is over.

What is available to an account is what it keeps at home and does not use, and what its parent has available; the latter
at most up to the account's borrowing limit (Kueue's rule, at any depth).  HP pods use quota; LP pods do not, but count
against caps.  Amounts are thousandths of GPUs.  A ``Book`` never changes: ``take`` and ``give`` return another one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from scheduler.admission.classes import PriorityClass, Ranks, ranks_of
from scheduler.admission.spending import Budget, Place, Spending, budgets_of, spent_of
from scheduler.admission.tree import ALL, NO_QUOTA, Account, Key, Tree, tree_of
from scheduler.cluster.records import TenantRecord
from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs, Snapshot

NOMINAL, COHORT_EMPTY, BORROWING_LIMIT, CAP = "nominal", "cohort", "borrowing_limit", "cap"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a tenant may not have so much more of a model; thousandths of GPUs.

    ``limit``: "nominal" (its own quota, nobody lends to it), "cohort" (all that the cohort has is in use),
    "borrowing_limit" or "cap", of the account ``at``, which is the tenant or stands above it.
    """

    tenant: str
    model: str  # ALL for a cap
    at: str
    limit: str
    asked_milli: int
    available_milli: int  # never negative
    used_milli: int  # of ``at`` and all below, in the measure of the limit
    limit_milli: int  # what ``at`` may use: its cap, or its quota and what it may borrow
    possible: bool  # False: not even where nobody used anything
    missing_milli: int  # by which the limit would have to grow; more than is asked where it is exceeded already


@dataclass(frozen=True, slots=True)
class Over:
    """An account that uses more than it may; ``limit`` as in ``Refusal``."""

    account: str
    model: str
    limit: str
    used_milli: int
    limit_milli: int

    @property
    def over_milli(self) -> int:
        return self.used_milli - self.limit_milli


@dataclass(frozen=True, slots=True)
class Borrower:
    """A tenant that uses more than its quota; ``reclaimable_milli``: of that what LP pods use."""

    tenant: str
    excess_milli: int
    reclaimable_milli: int


@dataclass(frozen=True, slots=True)
class _Bound:
    milli: int  # still available; negative where more is used already
    at: str
    limit: str


@dataclass(frozen=True, slots=True, eq=False)
class Book:
    """``hp``, ``lp``: what each tenant's own pods use by (tenant, model), ALL among the models; others are derived.

    What people decided beside quotas comes as plain data (``ruled``); without it nothing is stopped or ranked by it.
    """

    tree: Tree
    hp: Mapping[Key, int]
    lp: Mapping[Key, int]
    charged: Mapping[Key, int]  # HP use of the account and of what its children use of it
    total: Mapping[str, int]  # HP and LP use of the account and all below
    budgets: Mapping[str, tuple[Budget, ...]] = field(default_factory=dict)  # by tenant
    min_runtime_s: Mapping[str, int] = field(default_factory=dict)  # promised to what the tenant runs on borrowed GPUs
    classes: tuple[PriorityClass, ...] = ()

    def ruled(
        self, *, budgets: Iterable[Budget] = (), min_runtime_s: Mapping[str, int] | None = None,
        classes: Iterable[PriorityClass] = (),
    ) -> "Book":  # fmt: skip
        """The book under these decisions, in place of those it had."""
        promised = {name: seconds for name, seconds in (min_runtime_s or {}).items() if seconds > 0}
        return replace(self, budgets=budgets_of(budgets), min_runtime_s=promised, classes=tuple(classes))

    @property
    def ranks(self) -> Ranks:
        return ranks_of(self.classes, self.tree)

    def spent(self, tenant: str | None, place: Place, gpu_milli: int) -> tuple[Spending, ...]:
        """The spent budgets that keep so much from starting, the tenant's own first."""
        return spent_of(self.tree, self.budgets, tenant, place, gpu_milli) if self.budgets else ()

    def check(self, tenant: str | None, model: str, milli: int, *, lp: bool = False) -> Refusal | None:
        """Whether the tenant may use ``milli`` more of the model; nobody's pods and unlisted tenants have no quota."""
        if tenant is None or tenant not in self.tree.accounts or milli <= 0:
            return None
        return self._capped(tenant, milli) or self.beyond(tenant, model, milli, lp=lp)

    def beyond(self, tenant: str | None, model: str, milli: int, *, lp: bool = False) -> Refusal | None:
        """As ``check``, by quotas alone: LP pods' ends give back what counts against caps, and no quota."""
        if tenant is None or tenant not in self.tree.accounts or milli <= 0 or lp:
            return None
        return self._beyond(tenant, model, milli)

    def available(self, tenant: str, model: str, *, lp: bool = False) -> int | None:
        """What the tenant may still take; None: nothing holds it."""
        bound = None if lp else self._bound(tenant, model)
        rooms = [] if bound is None else [bound.milli]
        rooms += [a.cap_milli - self.total.get(a.name, 0) for a in self.tree.line(tenant) if a.cap_milli is not None]
        return max(0, min(rooms)) if rooms else None

    def take(self, tenant: str | None, model: str, milli: int, *, lp: bool = False) -> "Book":
        """The book after the tenant's pods use so much more; it is not asked whether they may."""
        if tenant is None:
            return self
        own, charged = dict(self.lp if lp else self.hp), dict(self.charged)
        for name in (model, ALL):
            own[tenant, name] = own.get((tenant, name), 0) + milli
            if not lp:
                _charge(self.tree, charged, tenant, name, milli)
        total = dict(self.total)
        for account in self.tree.line(tenant):
            total[account.name] = total.get(account.name, 0) + milli
        if lp:
            return replace(self, lp=own, total=total)
        return replace(self, hp=own, charged=charged, total=total)

    def give(self, tenant: str | None, model: str, milli: int, *, lp: bool = False) -> "Book":
        """The book after the tenant's pods have left so much."""
        return self.take(tenant, model, -milli, lp=lp)

    def entitled(self, tenant: str | None, model: str, milli: int) -> str | None:
        """The account in whose own quota the tenant stays with so much more, the closest one; None: it would borrow.

        What others borrow of that account's quota may be reclaimed for it.
        """
        for account in self.tree.line(tenant) if tenant is not None else ():
            own = [name for name in (model, ALL) if account.quotas.get(name, NO_QUOTA).nominal is not None]
            keys = [(account.name, name) for name in own]
            if keys and all(self.charged.get(key, 0) + milli <= self.tree.subtree[key] for key in keys):
                return account.name
        return None

    def borrowers(self, tenant: str | None, model: str, milli: int) -> tuple[Borrower, ...]:
        """From whom the tenant may reclaim for ``milli`` more of the model: tenants of its tree outside its own part.

        Their LP pods count here: it is what they use of others' quota, whatever its tier.
        """
        own = self.entitled(tenant, model, milli)
        if tenant is None or own is None:
            return ()
        inside = set(self.tree.below(own))
        found = []
        for name in self.tree.below(self.tree.root(tenant)):
            if name in inside or not self.tree.accounts[name].listed:
                continue
            excess, lp = self.excess(name, model)
            if excess > 0:
                found.append(Borrower(name, excess, min(excess, lp)))
        return tuple(sorted(found, key=lambda one: (-one.excess_milli, one.tenant)))

    def lenders(self, tenant: str, model: str) -> tuple[tuple[str, int], ...]:
        """Tenants of the same tree that have quota they do not use and would lend, and how much."""
        if tenant not in self.tree.accounts:
            return ()
        inside = {account.name for account in self.tree.line(tenant)}
        found = []
        for name in self.tree.below(self.tree.root(tenant)):
            unused = self.unused(name, model)
            if name not in inside and unused > 0:
                found.append((name, unused))
        return tuple(sorted(found, key=lambda one: (-one[1], one[0])))

    def unused(self, name: str, model: str) -> int:
        """Own nominal quota that is neither used nor kept at home."""
        quota = self.tree.accounts[name].quotas.get(model, NO_QUOTA)
        key = name, model
        free = self.tree.subtree.get(key, 0) - max(self.tree.home.get(key, 0), self.charged.get(key, 0))
        return max(0, min(quota.nominal or 0, free))

    def beyond_quota(self, name: str, model: str) -> int:
        """What the account's own pods use beyond its nominal quota."""
        nominal = self.tree.accounts[name].quotas.get(model, NO_QUOTA).nominal or 0
        return max(0, self.hp.get((name, model), 0) - nominal)

    def excess(self, name: str, model: str) -> tuple[int, int]:
        """Use beyond the tenant's own quota of the model, or of all models, and what of its use LP pods have."""
        best = (0, 0)
        for word in (model, ALL):
            if not any((one, word) in self.tree.subtree for one in self.tree.below(self.tree.root(name))):
                continue  # nobody here has a quota that could be borrowed
            lp = self.lp.get((name, word), 0)
            excess = self.charged.get((name, word), 0) + lp - self.tree.subtree.get((name, word), 0)
            best = max(best, (excess, lp))
        return best

    def _capped(self, tenant: str, milli: int) -> Refusal | None:
        for account in self.tree.line(tenant):
            used = self.total.get(account.name, 0)
            if account.cap_milli is not None and used + milli > account.cap_milli:
                return Refusal(
                    tenant, ALL, account.name, CAP, milli, max(0, account.cap_milli - used), used, account.cap_milli,
                    milli <= account.cap_milli, used + milli - account.cap_milli,
                )  # fmt: skip
        return None

    def _beyond(self, tenant: str, model: str, milli: int) -> Refusal | None:
        bound = self._bound(tenant, model)
        if bound is None or milli <= bound.milli:
            return None
        used = self.charged.get((bound.at, model), 0)
        account = self.tree.accounts[bound.at]
        limit = self.tree.subtree.get((bound.at, model), 0)
        if bound.limit == BORROWING_LIMIT:
            limit += account.quotas[model].borrowing_limit or 0
        most = self._most(tenant, model)
        possible = most is None or milli <= most
        available, missing = max(0, bound.milli), milli - bound.milli
        return Refusal(tenant, model, bound.at, bound.limit, milli, available, used, limit, possible, missing)

    def _bound(self, name: str, model: str) -> _Bound | None:
        """What the account may still use of the model and which account says so; None: no quota holds it.

        A borrowing limit bounds what is borrowed of others' quota; where nobody has any, it bounds nothing.
        """
        account = self.tree.accounts.get(name)
        if account is None or not self._kept(name, model):
            return None
        key = name, model
        used, quota, home = self.charged.get(key, 0), self.tree.subtree.get(key, 0), self.tree.home.get(key, 0)
        if account.parent is None:
            return _Bound(quota - used, name, COHORT_EMPTY if self.tree.children.get(name) else NOMINAL)
        up = self._bound(account.parent, model)
        limit = account.quotas.get(model, NO_QUOTA).borrowing_limit
        if limit is not None:
            room = quota - home - max(0, used - home) + limit
            if up is None or room < up.milli:
                up = _Bound(room, name, BORROWING_LIMIT)
        return None if up is None else _Bound(max(0, home - used) + up.milli, up.at, up.limit)

    def _kept(self, name: str, model: str) -> bool:
        return (self.tree.root(name), model) in self.tree.kept

    def _most(self, name: str, model: str) -> int | None:
        """What the account might use if nobody else used anything; None: no quota holds it."""
        account, key = self.tree.accounts[name], (name, model)
        if not self._kept(name, model):
            return None
        if account.parent is None:
            return self.tree.subtree.get(key, 0)
        up = self._most(account.parent, model)
        most = None if up is None else self.tree.home.get(key, 0) + up
        limit = account.quotas.get(model, NO_QUOTA).borrowing_limit
        if limit is None:
            return most
        own = self.tree.subtree.get(key, 0) + limit
        return own if most is None else min(most, own)


def book_of(snapshot: Snapshot, records: Iterable[TenantRecord] | None = None) -> Book:
    """Use by live pods under the quotas that the snapshot lists, or under ``records`` where given.

    Pods on slices are not counted, nor is what nobody's pods use.
    """
    used = _use(snapshot, np.ones(len(snapshot.pod_name), np.bool_))
    return opened(tree_of(snapshot.tenant_records if records is None else records), *used)


def under(book: Book, records: Iterable[TenantRecord]) -> Book:
    """The same use under other quotas: ``over`` of it is who would be over after an edit."""
    return with_tree(book, tree_of(records))


def with_tree(book: Book, tree: Tree) -> Book:
    plain = ({key: milli for key, milli in use.items() if key[1] != ALL} for use in (book.hp, book.lp))
    fresh = opened(tree, *plain)
    return replace(fresh, budgets=book.budgets, min_runtime_s=book.min_runtime_s, classes=book.classes)


def returned(book: Book, snapshot: Snapshot, pods: Bools) -> Book:
    """The book after these live pods [p] have left."""
    for use, lp in zip(_use(snapshot, pods), (False, True), strict=True):
        for (tenant, model), milli in sorted(use.items()):
            book = book.give(tenant, model, milli, lp=lp)
    return book


def _use(snapshot: Snapshot, pods: Bools) -> tuple[dict[Key, int], dict[Key, int]]:
    """What these pods [p] use by (tenant, model), HP and LP apart."""
    rows = np.flatnonzero(pods & snapshot.pod_live & (snapshot.pod_tenant != UNKNOWN) & ~_sliced(snapshot))
    models = np.array([*range(len(snapshot.models)), UNKNOWN])
    model = models[snapshot.node_model[snapshot.pod_node[rows]]]
    asked = snapshot.pod_gpus[rows].astype(np.int64) * snapshot.pod_gpu_milli[rows]
    return _sums(snapshot, rows, model, asked)


def charged_pods(snapshot: Snapshot, names: Iterable[str]) -> Bools:
    """[p] live pods that use GPUs of these tenants' quotas or caps: pods on slices and pods without GPUs use none."""
    wanted = set(names)
    mine = np.array([*(name in wanted for name in snapshot.tenants), False], np.bool_)
    uses = (snapshot.pod_gpus > 0) & (snapshot.pod_gpu_milli > 0) & ~_sliced(snapshot)
    return np.asarray(snapshot.pod_live & mine[snapshot.pod_tenant] & uses)


def holders(book: Book, snapshot: Snapshot, refusal: Refusal) -> Bools:
    """[p] live pods whose end gives back of what the refused tenant lacks: of the model, or under a cap of any."""
    mine = charged_pods(snapshot, book.tree.below(refusal.at))
    if refusal.limit == CAP:
        return mine
    on = np.append(snapshot.node_model == snapshot.models.index(refusal.model), False)
    return np.asarray(mine & ~snapshot.pod_lp & on[snapshot.pod_node])


def _sliced(snapshot: Snapshot) -> Bools:
    return np.array([bool(spec.mig) for spec in snapshot.pod_specs], np.bool_)[snapshot.pod_spec]


def _sums(snapshot: Snapshot, rows: Longs, model: Longs, asked: Longs) -> tuple[dict[Key, int], dict[Key, int]]:
    """Use by (tenant, model) of HP and of LP pods; a model without a name is ""."""
    names = (*snapshot.models, "")
    found: tuple[dict[Key, int], dict[Key, int]] = ({}, {})
    code = (snapshot.pod_tenant[rows].astype(np.int64) * len(names) + model % len(names)) * 2 + snapshot.pod_lp[rows]
    keys, inverse = np.unique(code, return_inverse=True)
    sums = np.zeros(len(keys), np.int64)
    np.add.at(sums, inverse, asked)
    for key, milli in zip(keys.tolist(), sums.tolist(), strict=True):
        tenant, name = divmod(key // 2, len(names))
        if milli:
            found[key % 2][snapshot.tenants[tenant], names[name]] = milli
    return found


def opened(tree: Tree, hp: Mapping[Key, int], lp: Mapping[Key, int]) -> Book:
    """The book of a tree with the given use by (tenant, model), without ALL."""
    with_all = [_with_all(use) for use in (hp, lp)]
    charged: dict[Key, int] = {}
    total: dict[str, int] = {}
    for (tenant, model), milli in sorted(with_all[0].items()):
        _charge(tree, charged, tenant, model, milli)
    for use in with_all:
        for (tenant, model), milli in use.items():
            for account in tree.line(tenant) if model == ALL else ():
                total[account.name] = total.get(account.name, 0) + milli
    return Book(tree, with_all[0], with_all[1], charged, total)


def _with_all(use: Mapping[Key, int]) -> dict[Key, int]:
    found = dict(use)
    for (tenant, _), milli in use.items():
        found[tenant, ALL] = found.get((tenant, ALL), 0) + milli
    return found


def _charge(tree: Tree, charged: dict[Key, int], tenant: str, model: str, milli: int) -> None:
    """An account is charged with its own use and with what its children use beyond what they keep at home."""
    for account in tree.line(tenant):
        key, home = (account.name, model), tree.home.get((account.name, model), 0)
        before = charged.get(key, 0)
        charged[key] = before + milli
        milli = max(0, before + milli - home) - max(0, before - home)
        if milli == 0:
            return


def over(book: Book) -> tuple[Over, ...]:
    """Accounts that use more than they may: what a smaller quota does to them."""
    found = []
    for name, account in sorted(book.tree.accounts.items()):
        used = book.total.get(name, 0)
        if account.cap_milli is not None and used > account.cap_milli:
            found.append(Over(name, ALL, CAP, used, account.cap_milli))
        found += _over_quota(book, account)
    return tuple(found)


def _over_quota(book: Book, account: Account) -> list[Over]:
    found, name = [], account.name
    for model in sorted({model for who, model in book.tree.subtree if who == name}):
        used, quota = book.charged.get((name, model), 0), book.tree.subtree[name, model]
        limit = account.quotas.get(model, NO_QUOTA).borrowing_limit
        kept = (book.tree.root(name), model) in book.tree.kept
        if kept and account.parent is not None and limit is not None and used > quota + limit:
            found.append(Over(name, model, BORROWING_LIMIT, used, quota + limit))
        if kept and account.parent is None and used > quota:
            found.append(Over(name, model, COHORT_EMPTY if book.tree.children.get(name) else NOMINAL, used, quota))
    return found
