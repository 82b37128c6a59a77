"""Quotas in a cohort tree: what may be used, what is borrowed and lent, and who is over."""

import random
from typing import Any

import pytest

from scheduler.admission.quota import Book, book_of, opened, over, under
from scheduler.admission.standing import standings
from scheduler.admission.tree import tree_of
from scheduler.cluster.records import QuotaRecord, TenantRecord
from tests.builders.worlds import world

M = "H100"


def _tenant(
    name: str, nominal: int | None = None, borrow: int | None = None, lend: int | None = None, **fields: Any
) -> TenantRecord:
    quota = QuotaRecord(gpu_model=M, nominal=nominal, borrowing_limit=borrow, lending_limit=lend)
    given = nominal is not None or borrow is not None or lend is not None
    return TenantRecord(name=name, quotas=[quota] if given else [], **fields)


def _book(*records: TenantRecord, **used: int) -> Book:
    """Whole GPUs in use by tenant, HP."""
    return opened(tree_of(records), {(name, M): gpus * 1000 for name, gpus in used.items()}, {})


C: Any = {"cohort": "c"}
ROWS: dict[str, tuple[Book, str, int | None]] = {  # what the tenant may still use, in GPUs; None: no bound
    "own quota alone": (_book(_tenant("a", 8), a=3), "a", 5),
    "no quota, nobody to borrow from": (_book(_tenant("a"), a=3), "a", None),
    "a quota of nothing": (_book(_tenant("a", 0)), "a", 0),
    "not listed": (_book(_tenant("a", 8)), "z", None),
    "all that the cohort has": (_book(_tenant("a", 8, **C), _tenant("b", 4, **C), a=3), "a", 9),
    "what others use is gone": (_book(_tenant("a", 8, **C), _tenant("b", 4, **C), a=3, b=6), "a", 3),
    "no nominal, and yet it borrows": (_book(_tenant("a", **C), _tenant("b", 4, **C)), "a", 4),
    "up to its borrowing limit": (_book(_tenant("a", 8, 2, **C), _tenant("b", 4, **C), a=3), "a", 7),
    "a limit of 0 is one": (_book(_tenant("a", 8, 0, **C), _tenant("b", 4, **C), a=3), "a", 5),
    "a limit where nobody has any quota": (_book(_tenant("a", borrow=0, **C), _tenant("b", **C), a=3), "a", None),
    "no more than is lent": (_book(_tenant("a", 8, **C), _tenant("b", 4, lend=1, **C), a=3), "a", 6),
    "nothing is lent": (_book(_tenant("a", 2, **C), _tenant("b", 4, lend=0, **C)), "a", 2),
    "what stays at home is still there": (_book(_tenant("a", 8, **C), _tenant("b", 4, lend=1, **C), a=9), "b", 3),
    "over its quota": (_book(_tenant("a", 8), a=11), "a", 0),
    "a cohort's own quota on top": (
        _book(_tenant("cohort/c", 5), _tenant("a", 1, **C), _tenant("b", 1, **C), b=2), "a", 5,
    ),
    "a tree of three floors": (
        _book(_tenant("d"), _tenant("e", parent="d"), _tenant("f", parent="d"), _tenant("a", 2, parent="e"),
              _tenant("b", 6, parent="f"), a=1), "a", 7,
    ),
    "a limit half-way up": (
        _book(_tenant("d"), _tenant("e", borrow=3, parent="d"), _tenant("f", parent="d"), _tenant("a", 2, parent="e"),
              _tenant("b", 6, parent="f"), a=1), "a", 4,
    ),
    "a department lends only so much": (
        _book(_tenant("d"), _tenant("e", parent="d"), _tenant("f", lend=2, parent="d"), _tenant("a", 2, parent="e"),
              _tenant("b", 6, parent="f"), a=1), "a", 3,
    ),
    "a cap above": (_book(_tenant("d", cap_gpus=5), _tenant("a", parent="d"), _tenant("b", parent="d"), b=3), "a", 2),
    "a guarantee is no cap": (_book(_tenant("a", guarantee_gpus=2, **C), a=7), "a", None),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_what_may_still_be_used(name: str) -> None:
    book, tenant, gpus = ROWS[name]
    assert book.available(tenant, M) == (None if gpus is None else gpus * 1000)
    if gpus is None:
        assert book.check(tenant, M, 10**9) is None
        return
    assert book.check(tenant, M, gpus * 1000) is None
    refusal = book.check(tenant, M, gpus * 1000 + 1)
    assert refusal is not None and refusal.available_milli == gpus * 1000
    assert refusal.missing_milli == (3001 if name == "over its quota" else 1)


def test_a_refusal_names_the_limit_and_whether_it_can_ever_be() -> None:
    book = ROWS["a limit half-way up"][0]
    refusal = book.check("a", M, 5000)
    assert refusal is not None
    assert (refusal.at, refusal.limit, refusal.used_milli, refusal.limit_milli) == ("e", "borrowing_limit", 1000, 5000)
    assert refusal.possible
    hopeless = book.check("a", M, 6000)
    assert hopeless is not None and not hopeless.possible
    capped = ROWS["a cap above"][0].check("a", M, 6000)
    assert capped is not None and (capped.at, capped.limit, capped.possible) == ("d", "cap", False)


def test_lp_pods_use_no_quota_and_count_against_caps() -> None:
    book = _book(_tenant("a", 4, cap_gpus=6), a=4)
    assert book.check("a", M, 1000) is not None
    assert book.check("a", M, 2000, lp=True) is None
    more = book.take("a", M, 2000, lp=True)
    assert more.check("a", M, 1, lp=True) is not None
    assert more.give("a", M, 2000, lp=True).total == book.total


def test_the_book_of_a_snapshot_counts_live_pods_of_known_tenants() -> None:
    built = world().node("n1").node("n2", gpu_model="H20").tenant("t1", quotas=[{"gpu_model": "H20", "nominal": 4}])
    built.pod("a", "n1", 2).pod("b", "n2", 1, gpu_milli=500).pod("c", "n2", 3, tier="LP").pod("d", "n2", tenant=None)
    built.pod("e", gpus=4).pod("f", "n2", phase="Succeeded").pod("g", "n2", standby=True)
    book = book_of(built.snapshot())
    assert (book.hp["t1", "H20"], book.lp["t1", "H20"], book.hp["t1", "*"]) == (1500, 3000, 3500)
    assert book.available("t1", "H20") == 2500
    assert book_of(built.snapshot(), ()).check("t1", "H20", 10**6) is None


def test_an_edit_says_who_would_be_over() -> None:
    before = (_tenant("a", 8, **C), _tenant("b", 4, 2, cap_gpus=7, **C))
    use = {("a", M): 3000, ("b", M): 6000}
    book = opened(tree_of(before), use, {("b", M): 1000})
    assert over(book) == ()
    after = (_tenant("a", 3, **C), _tenant("b", 4, 1, cap_gpus=6, **C))
    found = {(one.account, one.limit): one.over_milli for one in over(under(book, after))}
    assert found == {("b", "cap"): 1000, ("b", "borrowing_limit"): 1000, ("cohort/c", "cohort"): 2000}


def test_standings_show_what_is_guaranteed_borrowed_and_lent() -> None:
    book = _book(_tenant("a", 8, **C), _tenant("b", 4, **C), _tenant("d", 4, lend=1, **C), b=7)
    rows = {row.account: row for row in standings(book) if row.model == M}
    assert [(rows[n].nominal_milli, rows[n].borrowed_milli, rows[n].lent_milli) for n in "abd"] == [
        (8000, 0, 2666), (4000, 3000, 0), (4000, 0, 333),
    ]  # fmt: skip
    assert rows["cohort/c"].available_milli == 6000 and rows["d"].available_milli == 9000


def test_own_share_is_reclaimed_from_those_who_borrow() -> None:
    tree = tree_of([_tenant("a", 8, **C), _tenant("b", 2, **C), _tenant("d", 2, **C), _tenant("z", 1)])
    book = opened(tree, {("a", M): 1000}, {("b", M): 5000, ("d", M): 2000, ("z", M): 9000})
    assert [(one.tenant, one.excess_milli, one.reclaimable_milli) for one in book.borrowers("a", M, 7000)] == [
        ("b", 3000, 3000)
    ]
    assert book.borrowers("a", M, 8000) == ()  # it would borrow itself
    assert [name for name, _ in book.lenders("b", M)] == ["a", "d"]


def _random_book(dice: random.Random) -> tuple[Book, list[str]]:
    records = [_tenant("root", dice.choice([None, 0, 3]))]
    for i in range(dice.randint(2, 9)):
        nominal, borrow, lend = (dice.choice([None, 0, 1, 2, 5, 9]) for _ in range(3))
        cap = dice.choice([None, None, None, 4])
        records.append(_tenant(f"x{i}", nominal, borrow, lend, parent=dice.choice(records).name, cap_gpus=cap))
    return _book(*records), [record.name for record in records]


def test_no_quota_is_ever_exceeded_and_giving_back_restores_the_book() -> None:
    taken = refused = 0
    for seed in range(120):
        dice = random.Random(seed)
        book, names = _random_book(dice)
        log: list[tuple[str, int, bool]] = []
        for _ in range(30):
            name, milli, lp = dice.choice(names), dice.choice([500, 1000, 3000]), dice.random() < 0.2
            if book.check(name, M, milli, lp=lp) is None:
                book = book.take(name, M, milli, lp=lp)
                log.append((name, milli, lp))
                taken += 1
            else:
                refused += 1
            assert over(book) == (), (seed, log)
        for name, milli, lp in reversed(log):
            book = book.give(name, M, milli, lp=lp)
        assert not any(book.hp.values()) and not any(book.charged.values()) and not any(book.total.values())
    assert taken > 500 and refused > 500
