"""What is so for a pod at this time and is no field of its record: said, and held still where it must be."""

import pytest

from tests.scheduler.kubernetes.things import Row, node, one_pod, pod, said

ENDING = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
NOT_ENDING = {"conditions": [{"type": "DisruptionTarget", "status": "False"}]}


def test_pod_that_is_about_to_be_ended_stays() -> None:
    rows = node("n1"), pod("p", status=ENDING)
    assert one_pod(*rows).move == "never"
    assert said(*rows) == [("disruption", "pinned", "p")]
    assert one_pod(node("n1"), pod("p", status=NOT_ENDING)).move == "copy"
    assert said(node("n1"), pod("p", status=NOT_ENDING)) == []


@pytest.mark.parametrize(("at", "expected"), [(None, [("nomination", "ignored", "p")]), ("n1", [])])
def test_room_that_is_made_for_a_waiting_pod_is_said(at: str | None, expected: list[tuple[str, str, str]]) -> None:
    assert said(node("n1"), pod("p", at, status={"nominatedNodeName": "n1"})) == expected


@pytest.mark.parametrize(
    ("volume", "told"),
    [
        ({"hostPath": {"path": "/data"}}, True),
        ({"emptyDir": {}}, True),
        ({"emptyDir": {"sizeLimit": "1Gi"}}, True),
        ({"emptyDir": {"medium": "Memory"}}, False),
        ({"configMap": {"name": "c"}}, False),
    ],
)
def test_files_that_do_not_move_along_are_said(volume: Row, told: bool) -> None:
    volumes = {"volumes": [{"name": "v"} | volume]}
    rows = node("n1"), pod("p", spec=volumes)
    assert one_pod(*rows).move == "copy"
    assert said(*rows) == ([("local_data", "ignored", "p")] if told else [])


@pytest.mark.parametrize("owner", [None, ("DaemonSet", "d"), ("Node", "n1")])
def test_files_of_pods_that_stay_are_no_news(owner: tuple[str, str] | None) -> None:
    assert said(node("n1"), pod("p", owner=owner, spec={"volumes": [{"name": "v", "emptyDir": {}}]})) == []
