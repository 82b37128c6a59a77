"""What a pod takes: the rule of the scheduler, told twice."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.kubernetes.builtin import Pod
from scheduler.kubernetes.quantities import NANO
from scheduler.kubernetes.requests import effective
from scheduler.kubernetes.seen import SeenPod, typed
from tests.scheduler.kubernetes.things import GPU, Row, container, decoded, one_pod, pod

CPUS = {"100m": Fraction(1, 10), "1": Fraction(1), "2": Fraction(2), "1500m": Fraction(3, 2), "0": Fraction(0)}
AMOUNTS = st.dictionaries(st.sampled_from(["cpu", GPU]), st.sampled_from(sorted(CPUS)), max_size=2)


def effective_of(row: Row) -> dict[str, Fraction]:
    _, found = decoded(row)
    assert isinstance(found, SeenPod)
    whole: Pod = typed(found)
    return {name: Fraction(value, NANO) for name, value in effective(whole).items() if value}


def asked(part: Row) -> dict[str, Fraction]:
    resources = part["resources"]
    return {name: CPUS[text] for name, text in (resources.get("limits", {}) | resources.get("requests", {})).items()}


def oracle(row: Row) -> dict[str, Fraction]:
    """Time by time: at each moment some containers exist; the pod needs the most that any moment needs."""
    spec, moments, sidecars = row["spec"], [], []
    for part in spec.get("initContainers", ()):
        if part.get("restartPolicy") == "Always":
            sidecars.append(asked(part))
            moments.append(list(sidecars))
        else:
            moments.append([*sidecars, asked(part)])
    moments.append([*sidecars, *(asked(part) for part in spec["containers"])])
    names = {name for moment in moments for part in moment for name in part}
    total = {
        n: max(sum((part.get(n, Fraction(0)) for part in moment), Fraction(0)) for moment in moments) for n in names
    }
    total |= {n: CPUS[text] for n, text in spec.get("resources", {}).get("requests", {}).items() if n == "cpu"}
    for name, text in spec.get("overhead", {}).items():
        total[name] = total.get(name, Fraction(0)) + CPUS[text]
    return {name: value for name, value in total.items() if value}


@st.composite
def containers(draw: Any, *, init: bool) -> Row:
    resources = {"requests": draw(AMOUNTS)} | ({"limits": draw(AMOUNTS)} if draw(st.booleans()) else {})
    name = draw(st.uuids()).hex
    restart = {"restartPolicy": "Always"} if init and draw(st.booleans()) else {}
    return {"name": name, "resources": resources} | restart


@settings(max_examples=300, deadline=None)
@given(
    st.lists(containers(init=False), min_size=1, max_size=3),
    st.lists(containers(init=True), max_size=4),
    AMOUNTS,
    st.one_of(st.none(), AMOUNTS),
)
def test_the_rule_against_a_plain_telling_of_it(main: list[Row], init: list[Row], over: Row, whole: Row | None) -> None:
    spec = {"containers": main, "initContainers": init, "overhead": over}
    row = pod("p", spec=spec | ({"resources": {"requests": whole}} if whole is not None else {}))
    assert effective_of(row) == oracle(row)


@pytest.mark.parametrize(
    ("spec", "milli"),
    [
        ({"containers": [container(requests={"cpu": "1"}), container("b", {"cpu": "2"})]}, 3000),
        ({"containers": [container()], "initContainers": [container("i", {"cpu": "4"})]}, 4000),
        ({"containers": [container()], "initContainers": [container("s", {"cpu": "1"}, restartPolicy="Always")]}, 1000),
        (
            {
                "containers": [container(requests={"cpu": "1"})],
                "initContainers": [
                    container("s", {"cpu": "1"}, restartPolicy="Always"),
                    container("i", {"cpu": "3"}),
                ],
            },
            4000,  # the init container runs beside the sidecar that was started before it
        ),
        (
            {
                "containers": [container(requests={"cpu": "1"})],
                "initContainers": [
                    container("i", {"cpu": "3"}),
                    container("s", {"cpu": "1"}, restartPolicy="Always"),
                ],
            },
            3000,  # the sidecar starts after it
        ),
        ({"containers": [container(resources={"limits": {"cpu": "2"}})]}, 2000),  # a limit alone is a request
        ({"containers": [container(requests={"cpu": "2"})], "resources": {"requests": {"cpu": "5"}}}, 5000),
        ({"containers": [container(requests={"cpu": "2"})], "overhead": {"cpu": "250m"}}, 2250),
        ({"containers": [container(requests={"cpu": "100u"}), container("b", {"cpu": "100u"})]}, 1),
    ],
)
def test_cpu_of_a_pod(spec: Row, milli: int) -> None:
    assert one_pod(pod("p", spec=spec)).cpu_milli == milli


def resized(wanted: str, running: str, allocated: str, **status: Any) -> Row:
    state = {"name": "main", "resources": {"requests": {"cpu": running}}, "allocatedResources": {"cpu": allocated}}
    return pod("p", requests={"cpu": wanted}, status={"containerStatuses": [state]} | status)


@pytest.mark.parametrize(
    ("row", "milli"),
    [
        (resized("4", "2", "2"), 4000),  # growing: room is kept for what is wanted
        (resized("2", "4", "4"), 4000),  # shrinking: what runs still counts
        (resized("2", "2", "4"), 4000),  # allocated already
        (resized("8", "2", "3", resize="Infeasible"), 3000),
        (
            resized("8", "2", "3", conditions=[{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]),
            3000,
        ),
        (
            resized("8", "2", "3", conditions=[{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]),
            8000,
        ),
    ],
)
def test_a_pod_that_is_resized_in_place(row: Row, milli: int) -> None:
    assert one_pod(row).cpu_milli == milli


def test_a_limit_of_gpus_is_a_request_for_them() -> None:
    row = pod("p", spec={"containers": [container(resources={"limits": {GPU: "2"}})]})
    assert one_pod(row).gpus == 2


def test_a_resize_of_the_whole_pod_counts_what_is_allocated() -> None:
    row = pod(
        "p",
        spec={"resources": {"requests": {"cpu": "2"}}},
        status={"allocatedResources": {"cpu": "6"}, "resources": {"requests": {"cpu": "3"}}},
    )
    assert one_pod(row).cpu_milli == 6000
