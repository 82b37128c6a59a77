"""Disruption budgets, whatever their selector, as the eviction API would answer."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster.budgets import covered, left
from scheduler.cluster.build import build
from scheduler.kubernetes.reader import Reader
from tests.scheduler.kubernetes.things import (
    NOW_S,
    TAKEN_AT,
    Row,
    decoded,
    document,
    fresh,
    node,
    pod,
    said,
    thing,
)

KIND = "poddisruptionbudgets.policy"
LEAVING = {"deletionTimestamp": "2026-11-29T12:01:00Z", "deletionGracePeriodSeconds": 60}


def budget(selector: Row | None, name: str = "b", allowed: int | None = None, **spec: Any) -> Row:
    status = {} if allowed is None else {"observedGeneration": 1, "disruptionsAllowed": allowed}
    whole = spec | ({} if selector is None else {"selector": selector})
    return thing(KIND, name, "ml", whole, status=status, generation=1)


def web(name: str, **fields: Any) -> Row:
    return pod(name, labels={"app": "web", "tier": "t"}, **fields)


def unready(name: str) -> Row:
    return web(name, status={"conditions": [{"type": "Ready", "status": "False"}]})


def may_leave(*objects: Row) -> list[int]:
    """What the snapshot lets each budget lose."""
    snapshot = build(document(node("n1"), *objects))
    return [int(n) for n in left(snapshot, covered(snapshot))]


APP = {"matchLabels": {"app": "web"}}


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        (APP, ["a", "b"]),
        ({"matchLabels": {"app": "web", "tier": "t"}}, ["a", "b"]),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}, ["a", "b", "c"]),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, ["c", "d"]),
        ({}, ["a", "b", "c", "d"]),
    ],
)
def test_any_selector_covers_exactly_its_pods(selector: Row, names: list[str]) -> None:
    pods = [web("a"), web("b"), pod("c", labels={"app": "api"}), pod("d"), web("e", namespace="web")]
    snapshot = build(document(node("n1"), *pods, budget(selector, maxUnavailable=1)))
    (rows,) = covered(snapshot)
    assert [snapshot.pod_name[p] for p in rows] == names


def test_one_pair_is_held_as_it_stands() -> None:
    (found,) = document(web("a"), budget(APP, maxUnavailable=1)).pdbs
    assert found.selector == "app=web"


def test_a_budget_without_a_selector_covers_nobody() -> None:
    assert document(web("a"), budget(None, maxUnavailable=1)).pdbs == []


@pytest.mark.parametrize(
    ("pods", "spec", "allowed", "expected"),
    [
        ([web("a"), web("b")], {"maxUnavailable": 1}, 1, 1),
        ([web("a"), web("b")], {"maxUnavailable": "50%"}, 1, 1),
        ([web("a"), web("b"), web("c")], {"minAvailable": "40%"}, 1, 1),
        ([web("a"), web("b")], {"minAvailable": 1}, 1, 1),
        ([web("a"), web("b", metadata=LEAVING)], {"maxUnavailable": 1}, 0, 0),
        ([web("a"), web("b", metadata=LEAVING), web("c")], {"minAvailable": 1}, 1, 1),
        ([web("a"), web("b", status={"phase": "Succeeded"})], {"minAvailable": 0}, 1, 1),
        ([web("a"), web("b", at="gone")], {"maxUnavailable": 1}, 1, 1),
        # One of three replicas has not been made yet: that is the one that may be missing
        ([web("a"), web("b")], {"maxUnavailable": 1}, 0, 0),
        # Nobody counted yet
        ([web("a"), web("b")], {"maxUnavailable": 1}, None, 1),
        ([web("a"), unready("b")], {"maxUnavailable": 1}, None, 0),
        ([web("a"), web("b"), unready("c")], {"minAvailable": 1}, None, 1),
        ([web("a"), web("b")], {"minAvailable": "50%"}, None, 0),
    ],
)
def test_what_may_leave(pods: list[Row], spec: Row, allowed: int | None, expected: int) -> None:
    assert may_leave(*pods, budget(APP, allowed=allowed, **spec)) == [expected]


def test_percentages_that_nobody_counted_are_said() -> None:
    assert said(web("a"), budget(APP, maxUnavailable="50%")) == [("budget", "unread", "b")]


def test_a_count_of_an_older_version_of_the_budget_does_not_stand() -> None:
    old = thing(
        KIND, "b", "ml", {"maxUnavailable": 2, "selector": APP},
        status={"observedGeneration": 1, "disruptionsAllowed": 0}, generation=2,
    )  # fmt: skip
    assert may_leave(web("a"), web("b"), old) == [2]


def test_budgets_of_one_selector_share_the_label() -> None:
    selector = {"matchLabels": {"app": "web", "tier": "t"}}
    one, other = budget(selector, "b1", maxUnavailable=1), budget(selector, "b2", minAvailable=1)
    assert len({found.selector for found in document(web("a"), one, other).pdbs}) == 1


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["ready", "unready", "leaving", "done"]), min_size=1, max_size=6),
    st.integers(0, 6),
    st.sampled_from(["maxUnavailable", "minAvailable"]),
)
def test_what_was_counted_is_what_may_leave(states: list[str], allowed: int, word: str) -> None:
    made = {
        "ready": web,
        "unready": unready,
        "leaving": lambda name: web(name, metadata=LEAVING),
        "done": lambda name: web(name, status={"phase": "Failed"}),
    }
    pods = [made[state](f"p{i}") for i, state in enumerate(states)]
    standing = sum(state in ("ready", "unready") for state in states)
    found = may_leave(*pods, budget(APP, allowed=min(allowed, standing), **{word: 1}))
    assert found == [min(allowed, standing)]


def moves(reader: Reader) -> dict[str, str | None]:
    return {p.name: p.move for p in reader.document("c", TAKEN_AT, NOW_S).document.pods}


@pytest.mark.parametrize("other", [APP, {"matchLabels": {"tier": "t"}}, {}], ids=["equal", "other", "everybody"])
def test_pod_of_two_budgets_stays_because_nobody_can_evict_it(other: Row) -> None:
    rows = node("n1"), web("a"), budget(APP, maxUnavailable=1), budget(other, "b2", maxUnavailable=1)
    assert [p.move for p in document(*rows).pods] == ["never"]
    assert said(*rows) == [("budget", "pinned", "a")]


def test_pods_follow_budgets_that_come_and_go() -> None:
    second = budget(APP, "b2", maxUnavailable=1)
    reader = fresh(node("n1"), web("a"), pod("z"), budget(APP, maxUnavailable=1))
    assert moves(reader) == {"a": "copy", "z": "copy"}
    reader.put(*decoded(second))
    assert moves(reader) == {"a": "never", "z": "copy"}
    reader.drop(KIND, ("ml", "b2"))
    assert moves(reader) == {"a": "copy", "z": "copy"}


def test_budgets_of_two_namespaces_are_no_two_budgets_of_a_pod() -> None:
    elsewhere = thing(KIND, "b", "web", {"selector": APP, "maxUnavailable": 1})
    assert said(node("n1"), web("a"), budget(APP, maxUnavailable=1), elsewhere) == []


@pytest.mark.parametrize("policy", ["AlwaysAllow", "IfHealthyBudget"])
def test_rule_for_pods_that_are_not_ready_is_said(policy: str) -> None:
    rows = node("n1"), web("a"), budget(APP, maxUnavailable=1, unhealthyPodEvictionPolicy=policy)
    assert said(*rows) == [("budget", "ignored", "b")]
