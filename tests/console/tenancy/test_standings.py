"""What a page says may be borrowed is what admission gives, in any tree; nobody lends more than is unused."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from console.tenancy.consistency import faults
from console.tenancy.entries import Docs, Given, read_entries
from console.tenancy.selectors.records import records_of
from console.tenancy.services.standings import standings
from console.tenancy.standing import TENANT, Use
from scheduler.admission.quota import opened
from scheduler.admission.tree import tree_of
from scheduler.cluster.records import TenantRecord

MODEL = "H20"
AMOUNT = st.none() | st.integers(0, 6)
LIMITS = st.fixed_dictionaries({"nominal": AMOUNT, "borrowing_limit": AMOUNT, "lending_limit": AMOUNT})


@st.composite
def books(draw: Any) -> tuple[Docs, dict[tuple[str, str], Use]]:
    """Up to three cohorts in each other, four departments, two teams each; what does not hold is mended to not set."""
    given = [
        Given("cohort", f"c{at}", {"parent": f"c{at - 1}" if at else None}) for at in range(draw(st.integers(0, 3)))
    ]
    cohorts = [one.name for one in given]
    use = {}
    for name in "abcd":
        quotas = draw(LIMITS)
        cohort = draw(st.sampled_from([None, *cohorts]))
        given.append(Given("tenant", name, {"cohort": cohort, "quotas": {MODEL: _mended(quotas)}}))
        left = quotas["nominal"]
        for team in range(draw(st.integers(0, 2))):
            limits = draw(LIMITS)
            if left is not None and limits["nominal"] is not None:
                limits["nominal"] = min(left, limits["nominal"])
                left -= limits["nominal"]
            given.append(Given("tenant", f"{name}{team}", {"parent": name, "quotas": {MODEL: _mended(limits)}}))
            use[f"{name}{team}", MODEL] = Use(draw(st.integers(0, 9000)))
        use[name, MODEL] = Use(draw(st.integers(0, 9000)))
    docs, _, wrongs = read_entries(given)
    assert (wrongs, faults(docs, {})) == ([], [])
    return docs, use


def _mended(limits: dict[str, Any]) -> dict[str, Any]:
    nominal, lending = limits["nominal"], limits["lending_limit"]
    return limits if nominal is None or lending is None else limits | {"lending_limit": min(nominal, lending)}


@settings(max_examples=60, deadline=None, derandomize=True)
@given(made=books())
def test_what_may_be_borrowed_is_what_admission_gives(made: tuple[Docs, dict[tuple[str, str], Use]]) -> None:
    docs, use = made
    found, _ = standings(docs, use)
    book = opened(
        tree_of(msgspec.convert(records_of(docs), list[TenantRecord])), {key: one.hp for key, one in use.items()}, {}
    )
    for (key, model), one in found.items():
        assert min(one.borrowed, one.lent, one.over) >= 0
        if key[0] != TENANT or one.may_borrow is None:
            continue
        unused = max(0, book.tree.subtree.get((key[1], model), 0) - book.charged.get((key[1], model), 0))
        assert one.lent <= unused
        more = one.may_borrow - max(0, one.borrowed - one.over)
        if more:
            assert book.check(key[1], model, unused + more) is None
            assert book.check(key[1], model, unused + more + 1) is not None


@settings(max_examples=30, deadline=None, derandomize=True)
@given(made=books())
def test_what_is_lent_in_a_group_is_what_is_borrowed_there_as_far_as_it_goes(
    made: tuple[Docs, dict[tuple[str, str], Use]],
) -> None:
    """Among departments of no cohort nobody lends; in a cohort no more is lent than is borrowed in all of the fleet."""
    docs, use = made
    found, _ = standings(docs, use)
    tops = [one for (key, _), one in found.items() if key[0] == TENANT and docs[key]["parent"] is None]
    alone = [one for (key, _), one in found.items() if _is_alone(docs, key)]
    assert sum(one.lent for one in alone) == 0
    assert sum(one.lent for one in tops) <= sum(one.borrowed for one in tops)


def _is_alone(docs: Docs, key: tuple[str, str]) -> bool:
    return key[0] == TENANT and docs[key]["parent"] is None and docs[key]["cohort"] is None
