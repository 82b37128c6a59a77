"""Where a pod may run: each rule of Kubernetes, and what the snapshot then makes of it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster.build import build
from scheduler.cluster.feasibility import eligibility
from scheduler.cluster.records import TolerationRecord
from tests.scheduler.kubernetes.things import Row, document, node, one_pod, pod, said, thing

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
NODES = [
    node("n1", labels={"disk": "ssd", "cores": "64", ZONE: "a"}),
    node("n2", labels={"disk": "hdd", "cores": "128", ZONE: "b"}),
    node("n3", labels={"cores": "many"}),
]


def required(*terms: Row) -> Row:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def on(key: str, operator: str, *values: str) -> Row:
    return {"key": key, "operator": operator, "values": list(values)}


def labels(*expressions: Row) -> Row:
    return {"matchExpressions": list(expressions)}


def fields(operator: str, *names: str) -> Row:
    return {"matchFields": [on("metadata.name", operator, *names)]}


def eligible(*pods: Row, nodes: list[Row] = NODES, others: list[Row] | None = None, name: str = "p") -> list[str]:
    """Nodes that the snapshot lets the pod run on."""
    snapshot = build(document(*nodes, *pods, *(others or ())))
    row = snapshot.pod_name.index(name)
    return [snapshot.node_name[n] for n in np.flatnonzero(eligibility(snapshot).eligible(row)).tolist()]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, ["n1", "n2", "n3"]),
        ({"nodeSelector": {"disk": "ssd"}}, ["n1"]),
        ({"nodeSelector": {HOST: "n2"}}, ["n2"]),
        ({"nodeSelector": {HOST: "n2", "disk": "ssd"}}, []),
        ({"affinity": required(labels(on("disk", "In", "ssd", "hdd")))}, ["n1", "n2"]),
        ({"affinity": required(labels(on("disk", "In", "ssd")))}, ["n1"]),
        ({"affinity": required(labels(on("disk", "NotIn", "ssd")))}, ["n2", "n3"]),
        ({"affinity": required(labels(on("disk", "Exists")))}, ["n1", "n2"]),
        ({"affinity": required(labels(on("disk", "DoesNotExist")))}, ["n3"]),
        ({"affinity": required(labels(on("cores", "Gt", "64")))}, ["n2"]),
        ({"affinity": required(labels(on("cores", "Lt", "128")))}, ["n1"]),
        ({"affinity": required(labels(on("cores", "Gt", "64", "64")))}, []),  # of exactly one value
        ({"affinity": required(labels(on("disk", "In", "ssd")), labels(on("cores", "Gt", "100")))}, ["n1", "n2"]),
        ({"affinity": required(labels(on("disk", "Exists"), on("disk", "NotIn", "hdd")))}, ["n1"]),
        ({"affinity": required(fields("In", "n3"))}, ["n3"]),
        ({"affinity": required(fields("NotIn", "n3"))}, ["n1", "n2"]),
        ({"affinity": required(fields("In", "n3"), labels(on("disk", "In", "ssd")))}, ["n1", "n3"]),
        ({"affinity": required(fields("In", "n1") | labels(on("disk", "In", "hdd")))}, []),
        ({"affinity": required({}, labels(on("disk", "In", "hdd")))}, ["n2"]),  # an empty term matches nothing
        ({"affinity": required({})}, []),
        ({"affinity": required(labels(on("disk", "Like", "ssd")))}, []),  # an operator that nobody knows
        ({"nodeSelector": {"disk": "ssd"}, "affinity": required(labels(on("disk", "In", "hdd")))}, []),
        ({"nodeSelector": {"disk": "ssd"}, "affinity": required(labels(on("cores", "Gt", "1")))}, ["n1"]),
    ],
)
def test_nodes_that_a_pod_may_run_on(spec: Row, expected: list[str]) -> None:
    assert eligible(pod("p", None, spec=spec)) == expected
    assert said(*NODES, pod("p", None, spec=spec)) == []


KEYS = st.sampled_from(["disk", "cores", HOST])
EXPRESSIONS = st.builds(
    lambda key, operator, values: on(key, operator, *values),
    KEYS,
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
    st.lists(st.sampled_from(["ssd", "hdd", "64", "100", "n1", "n2"]), min_size=1, max_size=2),
)
TERMS = st.lists(st.builds(lambda e: labels(*e), st.lists(EXPRESSIONS, max_size=2)), min_size=1, max_size=2)


def holds(expression: Row, found: str | None) -> bool:
    """The rule told once more, in plain words."""
    values = expression["values"]
    match expression["operator"]:
        case "In":
            return found is not None and found in values
        case "NotIn":
            return found is None or found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
    numbers = [value for value in (found, *values) if value is not None and value.isdigit()]
    if found is None or len(values) != 1 or len(numbers) != 2:
        return False
    return int(found) > int(values[0]) if expression["operator"] == "Gt" else int(found) < int(values[0])


@settings(max_examples=200, deadline=None)
@given(TERMS)
def test_node_affinity_against_a_plain_telling_of_it(terms: list[Row]) -> None:
    expected = []
    for row in NODES:
        own = row["metadata"]["labels"]
        fits = (
            all(holds(e, own.get(e["key"])) for e in term["matchExpressions"])
            for term in terms
            if term["matchExpressions"]
        )
        expected += [row["metadata"]["name"]] if any(fits) else []
    assert eligible(pod("p", None, spec={"affinity": required(*terms)})) == expected


def test_a_new_node_gets_the_labels_that_pods_ask_for() -> None:
    wanted = pod("p", None, spec={"affinity": required(labels(on("disk", "NotIn", "ssd")))})
    (label,) = one_pod(*NODES, wanted).node_selector
    assert label.startswith("slackline.io/affinity-")
    assert [n.name for n in document(*NODES, wanted).nodes if label in n.labels] == ["n2", "n3"]


def test_labels_of_hardware_are_left_out_and_still_select() -> None:
    noisy = "feature.node.kubernetes.io/cpu-model"
    rows = [node("n1", labels={noisy: "1"}), node("n2", labels={noisy: "2"})]
    assert noisy not in document(*rows).nodes[0].labels
    assert eligible(pod("p", None, spec={"nodeSelector": {noisy: "2"}}), nodes=rows) == ["n2"]


def test_agents_ask_for_nothing_because_they_never_move() -> None:
    spec = {"affinity": required(fields("In", "n1")), "nodeSelector": {"disk": "ssd"}}
    found = one_pod(*NODES, pod("p", "n1", owner=("DaemonSet", "d"), spec=spec))
    assert (found.only_node, found.node_selector, found.move) == (None, {}, "copy")


def test_a_named_model_is_the_pods_model() -> None:
    label = "nvidia.com/gpu.product"
    asked = pod("p", None, gpus=1, spec={"nodeSelector": {label: "NVIDIA-A10-SHARED"}})
    assert one_pod(asked).gpu_model == "NVIDIA-A10"
    either = pod("p", None, gpus=1, spec={"affinity": required(labels(on(label, "In", "B", "A")))})
    assert one_pod(either).gpu_model == ["A", "B"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"key": "a", "operator": "Exists"}, TolerationRecord(key="a", operator="Exists")),
        ({"operator": "Exists"}, TolerationRecord(operator="Exists")),
        ({"key": "a", "value": "b", "effect": "NoExecute"}, TolerationRecord(key="a", value="b", effect="NoExecute")),
    ],
)
def test_tolerations(written: Row, read: TolerationRecord) -> None:
    assert one_pod(pod("p", spec={"tolerations": [written]})).tolerations == [read]


def test_a_toleration_that_the_format_does_not_know_is_left_out_and_said() -> None:
    row = pod("p", spec={"tolerations": [{"key": "a", "operator": "Gt", "value": "5"}]})
    assert one_pod(row).tolerations == []
    assert said(row) == [("toleration", "widened", "p")]


def test_host_ports_of_all_containers_that_stay_count() -> None:
    spec = {
        "containers": [{"name": "a", "ports": [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 81}]}],
        "initContainers": [{"name": "i", "restartPolicy": "Always", "ports": [{"hostPort": 9090, "protocol": "UDP"}]}],
    }
    assert one_pod(pod("p", spec=spec)).host_ports == ["*:8080/TCP", "*:9090/UDP"]
    assert said(pod("p", spec=spec)) == []


@pytest.mark.parametrize(
    ("address", "read"),
    [
        ("", "*:53/UDP"),
        ("0.0.0.0", "*:53/UDP"),
        ("::", "*:53/UDP"),
        ("10.0.0.1", "10.0.0.1:53/UDP"),
        ("fd00::1", "[fd00::1]:53/UDP"),
    ],
)
def test_host_ports_are_held_with_protocol_and_address(address: str, read: str) -> None:
    ports = [
        {"hostPort": 53, "protocol": "UDP", "hostIP": address},
        {"hostPort": 53, "protocol": "UDP", "hostIP": address},
    ]
    found = document(node("n1"), pod("p", spec={"containers": [{"name": "a", "ports": ports}]}))
    assert found.pods[0].host_ports == [read]
    build(found)


# Pods and other pods


def peers(side: str, selector: Row | None, key: str = HOST, **more: Any) -> Row:
    term = {"topologyKey": key, **({"labelSelector": selector} if selector is not None else {}), **more}
    return {side: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def match(**pairs: str) -> Row:
    return {"matchLabels": pairs}


WITH, WITHOUT = "podAffinity", "podAntiAffinity"


def test_one_pair_is_held_as_it_stands() -> None:
    assert one_pod(pod("p", spec={"affinity": peers(WITHOUT, match(app="x"))})).anti_affinity == ["app=x"]
    assert one_pod(pod("p", spec={"affinity": peers(WITH, match(app="x"))})).affinity == ["app=x"]


@pytest.mark.parametrize(
    ("selector", "matched"),
    [
        (match(app="x", tier="t"), ["a"]),
        (labels(on("app", "In", "x", "y")), ["a", "b", "c"]),
        (labels(on("tier", "DoesNotExist")), ["b", "c", "p"]),
        ({}, ["a", "b", "c", "p"]),
    ],
)
def test_a_selector_of_more_than_one_pair_becomes_a_label_of_those_who_match(selector: Row, matched: list[str]) -> None:
    others = [
        pod("a", labels={"app": "x", "tier": "t"}),
        pod("b", labels={"app": "x"}),
        pod("c", labels={"app": "y"}),
        pod("d", namespace="web", labels={"app": "x", "tier": "t"}),
    ]
    found = document(*others, pod("p", spec={"affinity": peers(WITHOUT, selector)})).pods
    (term,) = next(p for p in found if p.name == "p").anti_affinity
    key, _, value = term.partition("=")
    assert [p.name for p in found if p.labels.get(key) == value] == matched


def test_all_affinities_must_be_met_by_one_and_the_same_pod() -> None:
    terms = [
        {"topologyKey": HOST, "labelSelector": match(app="x")},
        {"topologyKey": HOST, "labelSelector": match(tier="t")},
    ]
    asked = pod("p", spec={"affinity": {WITH: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}})
    found = document(pod("a", labels={"app": "x"}), pod("b", labels={"app": "x", "tier": "t"}), asked).pods
    (term,) = next(p for p in found if p.name == "p").affinity
    key = term.partition("=")[0]
    assert [p.name for p in found if key in p.labels] == ["b"]


@pytest.mark.parametrize(
    ("affinity", "what"),
    [
        (peers(WITHOUT, match(app="x"), ZONE), "topology_anti_affinity"),
        (peers(WITH, match(app="x"), ZONE), "topology_affinity"),
        (peers(WITHOUT, match(app="x"), namespaces=["web"]), "foreign_peers"),
        (peers(WITHOUT, match(app="x"), namespaceSelector={}), "foreign_peers"),
        (peers(WITH, match(app="x"), namespaceSelector=match(team="t")), "foreign_peers"),
    ],
)
def test_what_cannot_be_held_pins_the_pod_and_is_said(affinity: Row, what: str) -> None:
    row = pod("p", labels={"app": "other"}, spec={"affinity": affinity})
    assert one_pod(row).move == "never"
    assert said(row) == [(what, "pinned", "p")]


@pytest.mark.parametrize(
    "more", [{"namespaces": ["ml"]}, {"namespaceSelector": match(**{"kubernetes.io/metadata.name": "ml"})}]
)
def test_naming_the_own_namespace_is_no_other_namespace(more: Row) -> None:
    row = pod("p", spec={"affinity": peers(WITHOUT, match(app="x"), **more)})
    assert one_pod(row).anti_affinity == ["app=x"]
    assert said(row) == []


def test_who_is_kept_out_of_larger_places_by_others_is_pinned_too() -> None:
    objects = [pod("a", labels={"app": "x"}), pod("p", spec={"affinity": peers(WITHOUT, match(app="x"), ZONE)})]
    assert one_pod(*objects, name="a").move == "never"
    assert ("topology_anti_affinity", "pinned", "a") in said(*objects)
    assert one_pod(objects[0], name="a").move == "copy"


def test_a_selector_that_is_absent_matches_nobody() -> None:
    assert one_pod(pod("p", spec={"affinity": peers(WITHOUT, None)})).anti_affinity == []


def spread(key: str, when: str = "DoNotSchedule", **more: Any) -> Row:
    constraint = {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": when, "labelSelector": match(app="x"), **more}
    return {"topologySpreadConstraints": [constraint]}


@pytest.mark.parametrize(
    ("spec", "what", "move", "apart"),
    [
        (spread(HOST), ("spread", "widened", "p"), "copy", ["app=x"]),
        (spread(ZONE), ("spread", "pinned", "p"), "never", []),
        (spread(ZONE, "ScheduleAnyway"), ("preference", "ignored", "p"), "copy", []),
    ],
)
def test_spread(spec: Row, what: tuple[str, str, str], move: str, apart: list[str]) -> None:
    row = pod("p", labels={"app": "x"}, spec=spec)
    found = one_pod(row)
    assert (found.move, found.anti_affinity) == (move, apart)
    assert said(row) == [what]


def test_spread_by_a_label_of_the_pod_counts_pods_with_the_same_value_only() -> None:
    rows = [pod(name, labels={"app": "x", "v": v}, spec=spread(HOST, matchLabelKeys=["v"])) for name, v in
            (("p", "1"), ("q", "1"), ("r", "2"))]  # fmt: skip
    found = {p.name: p for p in document(*rows).pods}
    key = found["p"].anti_affinity[0].partition("=")[0]
    assert [name for name, p in found.items() if key in p.labels] == ["p", "q"]


def test_preferences_bind_nobody_and_are_said() -> None:
    soft = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}
    row = pod("p", spec={"affinity": {"nodeAffinity": soft, "podAntiAffinity": soft}})
    assert one_pod(row).move == "copy"
    assert said(row) == [("preference", "ignored", "p")] * 2


def test_a_gate_is_said_while_the_pod_waits() -> None:
    row = pod("p", None, spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]})
    assert said(row) == [("gate", "ignored", "p")]


# Volumes


def volume(*expressions: Row, modes: tuple[str, ...] = ("ReadWriteMany",)) -> list[Row]:
    where = {"nodeAffinity": {"required": {"nodeSelectorTerms": [labels(*expressions)]}}} if expressions else {}
    return [
        thing("persistentvolumeclaims", "data", "ml", {"volumeName": "pv", "accessModes": list(modes)}),
        thing("persistentvolumes", "pv", spec=where),
    ]


def mounting(at: str | None = "n1") -> Row:
    return pod("p", at, spec={"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]})


def test_a_volume_of_one_zone() -> None:
    objects = volume(on(ZONE, "In", "a"), on("topology.kubernetes.io/region", "In", "r"))
    assert one_pod(*NODES, mounting(), *objects).volume_zone == "a"
    assert eligible(mounting(), others=objects) == ["n1"]


def test_a_volume_of_some_nodes_is_held_by_a_label() -> None:
    objects = volume(on("disk", "In", "ssd", "hdd"))
    assert eligible(mounting(), others=objects) == ["n1", "n2"]
    assert said(*NODES, mounting(), *objects) == []


def test_a_volume_of_one_node_pins_who_has_mounted_it() -> None:
    objects = volume(on(HOST, "In", "n1"))
    assert one_pod(*NODES, mounting(), *objects).move == "never"
    assert said(*NODES, mounting(), *objects) == [("volume", "pinned", "p")]
    assert eligible(mounting(None), others=objects) == ["n1"]


def test_a_volume_that_is_not_known_pins() -> None:
    assert one_pod(*NODES, mounting()).move == "never"
    assert said(*NODES, mounting()) == [("missing_volume", "pinned", "p")]


@pytest.mark.parametrize(
    ("mode", "move"), [("ReadWriteOnce", "restart"), ("ReadWriteOncePod", "restart"), ("ReadWriteMany", "copy")]
)
def test_a_volume_that_is_mounted_once_forbids_a_copy_beside_the_pod(mode: str, move: str) -> None:
    assert one_pod(*NODES, mounting(), *volume(modes=(mode,))).move == move


def test_the_volume_of_an_ephemeral_claim_is_found_by_the_pods_name() -> None:
    row = pod("p", spec={"volumes": [{"name": "scratch", "ephemeral": {}}]})
    claim = thing("persistentvolumeclaims", "p-scratch", "ml", {"volumeName": "pv", "accessModes": ["ReadWriteOnce"]})
    where = {"nodeAffinity": {"required": {"nodeSelectorTerms": [labels(on(ZONE, "In", "b"))]}}}
    assert one_pod(*NODES, row, claim, thing("persistentvolumes", "pv", spec=where)).volume_zone == "b"


def test_a_claim_without_a_volume_yet_leaves_a_pending_pod_free() -> None:
    claim = thing("persistentvolumeclaims", "data", "ml", {})
    assert eligible(mounting(None), others=[claim]) == ["n1", "n2", "n3"]
