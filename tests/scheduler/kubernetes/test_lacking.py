"""Budgets that could not be read are unknown budgets: nothing moves until they are read."""

from scheduler.kubernetes.reader import Reader
from tests.scheduler.kubernetes.things import NOW_S, TAKEN_AT, decoded, fresh, node, pod

KIND = "poddisruptionbudgets.policy"


def moves(reader: Reader) -> tuple[list[str | None], list[tuple[str, str, str]]]:
    reading = reader.document("c", TAKEN_AT, NOW_S)
    return [p.move for p in reading.document.pods], [(u.what, u.done, u.kind) for u in reading.unheld]


def test_nothing_moves_while_budgets_are_unknown_and_it_is_said_once() -> None:
    reader = fresh(node("n1"), pod("a"), pod("b"), pod("c", owner=("StatefulSet", "s")))
    as_known = moves(reader)
    assert as_known == (["copy", "copy", "restart"], [])
    reader.lack({KIND})
    assert moves(reader) == (["never"] * 3, [("budget", "pinned", KIND)])
    reader.lack(())
    assert moves(reader) == as_known


def test_pods_that_come_while_budgets_are_unknown_stay_too() -> None:
    reader = fresh(node("n1"))
    reader.lack([KIND])
    assert moves(reader) == ([], [("budget", "pinned", KIND)])
    reader.put(*decoded(pod("a")))
    assert moves(reader) == (["never"], [("budget", "pinned", KIND)])


def test_other_kinds_that_are_not_read_hold_nothing_up() -> None:
    reader = fresh(node("n1"), pod("a"))
    reader.lack({"workloads.kueue.x-k8s.io"})
    assert moves(reader) == (["copy"], [])
