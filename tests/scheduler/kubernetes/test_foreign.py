"""Anti-affinity into other namespaces binds both sides: nobody moves to where somebody keeps it away."""

from typing import Any

import pytest

from tests.scheduler.kubernetes.test_constraints import WITH, WITHOUT, labels, match, on, peers
from tests.scheduler.kubernetes.things import NOW_S, TAKEN_AT, Row, decoded, fresh, one_pod, pod, said, thing

NAME = "kubernetes.io/metadata.name"
GPU_TEAM = thing("namespaces", "web", labels={NAME: "web", "team": "t"})
OTHER_TEAM = thing("namespaces", "web", labels={NAME: "web", "team": "u"})
NOTHING_SAID = thing("namespaces", "web", labels={NAME: "web"})


def loner(selector: Row | None = None, **more: Any) -> Row:
    return pod("loner", spec={"affinity": peers(WITHOUT, selector or match(app="x"), **more)})


def stranger(namespace: str = "web", app: str = "x") -> Row:
    return pod("p", "n2", namespace, labels={"app": app})


@pytest.mark.parametrize(
    ("more", "spaces", "pinned"),
    [
        ({"namespaces": ["web"]}, [], True),
        ({"namespaces": ["db", "web"]}, [], True),
        ({"namespaces": ["db"]}, [], False),
        ({"namespaceSelector": {}}, [], True),
        ({"namespaceSelector": match(**{NAME: "web"})}, [], True),
        ({"namespaceSelector": match(**{NAME: "db"})}, [], False),
        ({"namespaceSelector": match(team="t")}, [GPU_TEAM], True),
        ({"namespaceSelector": match(team="t")}, [OTHER_TEAM], False),
        ({"namespaceSelector": match(team="t")}, [NOTHING_SAID], False),
        ({"namespaceSelector": match(team="t")}, [], True),  # nobody said what the namespace is
        ({"namespaceSelector": labels(on("team", "NotIn", "t"))}, [GPU_TEAM], False),
        ({"namespaceSelector": labels(on("team", "NotIn", "t"))}, [OTHER_TEAM], True),
        ({"namespaceSelector": labels(on("team", "DoesNotExist"))}, [NOTHING_SAID], True),
        ({"namespaces": ["db"], "namespaceSelector": match(team="t")}, [GPU_TEAM], True),
        ({"namespaces": ["web"], "namespaceSelector": match(team="t")}, [OTHER_TEAM], True),
    ],
)
def test_pod_that_is_kept_away_from_another_namespace_stays(more: Row, spaces: list[Row], pinned: bool) -> None:
    rows = [*spaces, loner(**more), stranger()]
    assert one_pod(*rows).move == ("never" if pinned else "copy")
    assert (("foreign_peers", "pinned", "p") in said(*rows)) is pinned
    assert one_pod(*spaces, loner(**more), stranger(app="y")).move == "copy"


def test_several_namespaces_at_once_reach_the_own_one_too() -> None:
    rows = [loner(namespaces=["ml", "web"]), stranger(), pod("own", labels={"app": "x"})]
    assert one_pod(*rows).move == one_pod(*rows, name="own").move == "never"


def test_selector_of_pods_holds_with_that_of_namespaces() -> None:
    rows = [loner(labels(on("app", "Exists")), namespaceSelector={}), stranger(), pod("bare", "n2", "web")]
    assert one_pod(*rows).move == "never"
    assert one_pod(*rows, name="bare").move == "copy"


def test_affinity_into_other_namespaces_binds_only_who_asks() -> None:
    asking = pod("loner", spec={"affinity": peers(WITH, match(app="x"), namespaces=["web"])})
    assert one_pod(asking, stranger()).move == "copy"
    assert one_pod(asking, stranger(), name="loner").move == "never"


def test_agent_of_another_namespace_keeps_pods_away_too() -> None:
    agent = pod("d", owner=("DaemonSet", "d"), spec={"affinity": peers(WITHOUT, match(app="x"), namespaceSelector={})})
    assert one_pod(agent, stranger()).move == "never"


@pytest.mark.parametrize("first", ["loner", "stranger"])
def test_pods_follow_those_who_keep_away_and_their_namespaces(first: str) -> None:
    asking, other = loner(namespaceSelector=match(team="t")), stranger()
    order = [asking, other] if first == "loner" else [other, asking]
    reader = fresh(*order)

    def move() -> str | None:
        pods = reader.document("c", TAKEN_AT, NOW_S).document.pods
        return next(found.move for found in pods if found.name == "p")

    assert move() == "never"
    reader.put(*decoded(OTHER_TEAM))
    assert move() == "copy"
    reader.put(*decoded(GPU_TEAM))
    assert move() == "never"
    reader.put(*decoded(stranger(app="y")))
    assert move() == "copy"
    reader.put(*decoded(other))
    assert move() == "never"
    reader.drop("pods", ("ml", "loner"))
    assert move() == "copy"
    reader.put(*decoded(asking))
    assert move() == "never"
    reader.drop("namespaces", ("", "web"))
    reader.put(*decoded(loner(namespaces=["db"])))
    assert move() == "copy"
