"""Documents with a fault are refused with path, value and reason; what is absent or unknown is no fault."""

import json
from typing import Any

import pytest

from scheduler.cluster.codec import parse, read
from scheduler.cluster.errors import InputError
from tests.builders.worlds import world

Row = dict[str, Any]


def document(pod: Row | None = None, node: Row | None = None, **top: Any) -> bytes:
    pods = [{"name": "ok", "gpus": 0}, {"name": "p", "gpus": 1, **pod}] if pod is not None else []
    nodes = [{"name": "n1", "gpus": 2}, {"name": "n2", "gpus": 2, **(node or {})}]
    head = {"schema": "slackline/snapshot/v1", "taken_at": "2026-11-01T00:00:00Z"}
    return json.dumps({**head, "nodes": nodes, "pods": pods, **top}).encode()


def refusal(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        read(data)
    return str(caught.value)


POD_FAULTS = [
    ({"gpus": 2.5}, "$.pods[1].gpus: expected an integer (got 2.5)"),
    ({"gpus": True}, "$.pods[1].gpus: expected an integer (got True)"),
    ({"gpus": "1"}, "$.pods[1].gpus: expected an integer (got '1')"),
    ({"gpus": None}, "$.pods[1].gpus: required field is missing"),
    ({"gpus": -1}, "$.pods[1].gpus: must be from 0 to 65536 (got -1)"),
    ({"gpu_milli": 0}, "$.pods[1].gpu_milli: must be from 1 to 1000 (got 0)"),
    ({"gpu_milli": 1001}, "$.pods[1].gpu_milli: must be from 1 to 1000 (got 1001)"),
    ({"gpu_milli": -1, "gpus": 0}, "$.pods[1].gpu_milli: must be from 0 to 1000 (got -1)"),
    ({"cpu_milli": -5}, "$.pods[1].cpu_milli: must not be negative (got -5)"),
    ({"memory_mib": 2**63}, "$.pods[1].memory_mib: must be at most 17592186044416 (got 9223372036854775808)"),
    ({"gpu_memory_mib": 2**63}, "$.pods[1].gpu_memory_mib: must be at most 17592186044416 (got 9223372036854775808)"),
    ({"gpus": -(2**63)}, f"$.pods[1].gpus: must be from 0 to 65536 (got {-(2**63)})"),
    ({"started_s": -(2**63)}, f"$.pods[1].started_s: must be from {-(2**53)} to {2**53} (got {-(2**63)})"),
    ({"tier": "MP"}, "$.pods[1].tier: expected one of HP, LP (got 'MP')"),
    ({"class": "x"}, "$.pods[1].class: expected one of training, dev, online, offline (got 'x')"),
    ({"labels": {"a": "x", "b": 3}}, "$.pods[1].labels.b: expected text (got 3)"),
    ({"labels": ["a"]}, "$.pods[1].labels: expected an object (got ['a'])"),
    ({"name": " \t"}, "$.pods[1].name: required field is missing"),
    ({"name": "ok"}, "$.pods[1].name: the same identity as $.pods[0] (got 'ok')"),
    ({"gang": "g"}, "$.pods[1].gang: no such gang in namespace default of cluster default (got 'g')"),
    ({"affinity": ["app"]}, "$.pods[1].affinity[0]: expected key=value (got 'app')"),
    ({"host_ports": [70000]}, "$.pods[1].host_ports[0]: must be from 1 to 65535 (got 70000)"),
    ({"host_ports": ["x"]}, "$.pods[1].host_ports[0]: expected a port, or ADDRESS:PORT/PROTOCOL (got 'x')"),
    ({"devices": [2], "node": "n1"}, "$.pods[1].devices[0]: no such device on a node of 2 GPUs (got 2)"),
    ({"devices": [0, 0], "gpus": 2}, "$.pods[1].devices: the same device is listed twice (got [0, 0])"),
    ({"lent_by": "default/p"}, "$.pods[1].lent_by: a pod cannot borrow from itself (got 'default/p')"),
    ({"started_s": 2**60}, f"$.pods[1].started_s: must be from {-(2**53)} to {2**53} (got {2**60})"),
    (
        {"tolerations": [{"key": "k", "operator": "Maybe"}]},
        "$.pods[1].tolerations[0].operator: expected Equal or Exists (got 'Maybe')",
    ),
]
NODE_FAULTS = [
    ({"domain": "x"}, "$.nodes[1].domain: no such domain in cluster default (got 'x')"),
    ({"name": "n1"}, "$.nodes[1].name: the same identity as $.nodes[0] (got 'n1')"),
    ({"max_pods": -(2**63)}, f"$.nodes[1].max_pods: must be from 0 to {2**31 - 2} (got {-(2**63)})"),
    (
        {"devices": [{"index": 0, "numa": 2**64}]},
        f"$.nodes[1].devices[0].numa: must be from -1 to {2**31 - 2} (got {2**64})",
    ),
    (
        {"devices": [{"index": 0, "nvlink_group": 2**64}]},
        f"$.nodes[1].devices[0].nvlink_group: must be from -1 to {2**31 - 2} (got {2**64})",
    ),
    ({"devices": [{"index": 2}]}, "$.nodes[1].devices[0].index: no such device on a node of 2 GPUs (got 2)"),
    ({"devices": [{"index": 0}, {"index": 0}]}, "$.nodes[1].devices[1].index: the same device is listed twice (got 0)"),
    (
        {"devices": [{"index": 0, "health": "ill"}]},
        "$.nodes[1].devices[0].health: expected one of ok, degraded, failed (got 'ill')",
    ),
    (
        {"devices": [{"index": 0, "mig": [{"profile": "1g", "count": -1}]}]},
        "$.nodes[1].devices[0].mig[0].count: must be from 0 to 65536 (got -1)",
    ),
    ({"ready": 1}, "$.nodes[1].ready: expected true or false (got 1)"),
    (
        {"taints": [{"key": "k", "effect": "Never"}]},
        "$.nodes[1].taints[0].effect: expected NoSchedule, PreferNoSchedule or NoExecute (got 'Never')",
    ),
]
TOP_FAULTS = [
    ({"schema": "slackline/snapshot/v2"}, "$.schema: expected 'slackline/snapshot/v1' (got 'slackline/snapshot/v2')"),
    ({"schema": None}, "$.schema: required field is missing"),
    ({"nodes": None}, "$.nodes: required field is missing"),
    ({"pods": {}}, "$.pods: expected a list (got {})"),
    ({"pods": [3]}, "$.pods[0]: expected an object (got 3)"),
    (
        {"taken_at": "yesterday"},
        "$.taken_at: expected an instant as in RFC 3339, such as 2026-01-31T12:00:00Z (got 'yesterday')",
    ),
    (
        {"taken_at": "2026-13-01T00:00:00Z"},
        "$.taken_at: expected an instant as in RFC 3339, such as 2026-01-31T12:00:00Z (got '2026-13-01T00:00:00Z')",
    ),
    (
        {"domains": [{"name": "a", "level": "asw", "parent": "b"}]},
        "$.domains[0].parent: no such domain in cluster default (got 'b')",
    ),
    (
        {"domains": [{"name": "a", "level": "asw"}, {"name": "a", "level": "asw"}]},
        "$.domains[1].name: the same identity as $.domains[0] (got 'a')",
    ),
    ({"clusters": [{"name": "a"}, {"name": "a"}]}, "$.clusters[1].name: the same cluster is listed twice (got 'a')"),
    ({"gangs": [{"name": "g", "min_members": -1}]}, "$.gangs[0].min_members: must be from 0 to 2147483646 (got -1)"),
    ({"pdbs": [{"namespace": "a", "selector": "app"}]}, "$.pdbs[0].selector: expected key=value (got 'app')"),
    (
        {"pdbs": [{"namespace": "a", "selector": "app=x"}]},
        "$.pdbs[0].max_unavailable: give max_unavailable or min_available",
    ),
    (
        {"tenants": [{"name": "t", "quotas": [{"gpu_model": "A", "nominal": -1}]}]},
        "$.tenants[0].quotas[0].nominal: must be from 0 to 2147483646 (got -1)",
    ),
    (
        {"tenants": [{"name": "u"}, {"name": "t", "quotas": [{"gpu_model": m} for m in ("A", "B", "A")]}]},
        "$.tenants[1].quotas[2].gpu_model: the same identity as $.tenants[1].quotas[0] (got 'A')",
    ),
    ({"tenants": [{"name": "t"}, {"name": "t"}]}, "$.tenants[1].name: the same identity as $.tenants[0] (got 't')"),
    (
        {"gangs": [{"name": "g", "min_members": 1}, {"name": "g", "min_members": 1}]},
        "$.gangs[1].name: the same identity as $.gangs[0] (got 'g')",
    ),
]


@pytest.mark.parametrize(("fields", "message"), POD_FAULTS)
def test_a_fault_in_a_pod(fields: Row, message: str) -> None:
    assert refusal(document(pod=fields)) == message


@pytest.mark.parametrize(("fields", "message"), NODE_FAULTS)
def test_a_fault_in_a_node(fields: Row, message: str) -> None:
    assert refusal(document(node=fields)) == message


@pytest.mark.parametrize(("fields", "message"), TOP_FAULTS)
def test_a_fault_in_the_rest(fields: Row, message: str) -> None:
    assert refusal(document(**fields)) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "line 1 column 1: not valid JSON: the text ends too early"),
        (b"[]", "$: expected an object with schema, taken_at, nodes and pods (got [])"),
        (b'{"a": 1,\n "b": NaN}', "line 2 column 7: not valid JSON: invalid character"),
        (b'{"a": Infinity}', "line 1 column 7: not valid JSON: invalid character"),
        (b"[" * 100_000, "$: not valid JSON: nested too deeply"),
        (b'{"a": "\xff"}', "not valid JSON: Invalid UTF-8"),
    ],
)
def test_what_is_not_json_is_placed_by_line_and_column(text: bytes, message: str) -> None:
    assert message in refusal(text)


@pytest.mark.parametrize("spacing", [(",", ":"), (", ", ": "), (" ,\n", " :\n")])
def test_a_key_given_twice_is_refused_wherever_it_is(spacing: tuple[str, str]) -> None:
    good = json.dumps(json.loads(document(pod={"labels": {"app": ":8080"}})), separators=spacing).encode()
    assert len(read(good).pod_name) == 2
    comma, colon = (part.encode() for part in spacing)
    twice = good.replace(b'"gpus"' + colon + b"1", b'"gpus"' + colon + b"1" + comma + b'"gpus"' + colon + b"1")
    assert refusal(twice) == "$.pods[1].gpus: the same key is given twice"
    label = good.replace(b'"app"' + colon, b'"app"' + colon + b'"x"' + comma + b'"app"' + colon)
    assert refusal(label) == "$.pods[1].labels.app: the same key is given twice"


def test_absent_is_absent_in_all_its_ways() -> None:
    absent: Row = {
        "node": None,
        "tenant": "",
        "uid": "  ",
        "affinity": [],
        "gpu_milli": None,
        "owner": "",
        "devices": [],
    }
    assert parse(document(pod=absent)).document.pods[1] == parse(document(pod={})).document.pods[1]
    empty = parse(document(pod={"labels": {"role": "", "gone": None}})).document.pods[1]
    assert empty.labels == {"role": ""}  # a label without a value is a label


def test_a_byte_order_mark_is_no_fault() -> None:
    assert read(b"\xef\xbb\xbf" + document()).node_name == ("n1", "n2")


def test_unknown_fields_are_kept_by_path_and_listed_by_owner() -> None:
    made = world().node("n1", devices=[{"index": 0, "colour": "red"}]).pod("a", "n1", wombat=4)
    made.top["comment"] = {"x": 1}
    snapshot = made.snapshot()
    kept = {"$": {"comment": {"x": 1}}, "$.nodes[0].devices[0]": {"colour": "red"}, "$.pods[0]": {"wombat": 4}}
    assert snapshot.extras == kept
    assert snapshot.warnings == (
        "unknown field $.comment is kept ($)",
        "unknown field $.nodes.devices.colour is kept (n1)",
        "unknown field $.pods.wombat is kept (jobs/a)",
    )
    assert made.document()["pods"][0]["wombat"] == 4


def test_an_unknown_integer_that_no_column_can_hold_keeps_its_digits() -> None:
    snapshot = read(document(serial=[2**64, -(2**63) - 1, 7]))
    assert snapshot.extras == {"$": {"serial": [str(2**64), str(-(2**63) - 1), 7]}}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tenant": "a\0"}, "$.pods[1].tenant: text holds a NUL"),
        ({"owner": {"kind": "Job", "name": "a\0"}}, "$.pods[1].owner.name: text holds a NUL"),
        ({"unknown": {"a\0": 1}}, "$.pods[1].unknown: text holds a NUL"),
    ],
)
def test_a_nul_is_refused_since_not_every_database_keeps_it(fields: Row, message: str) -> None:
    assert refusal(document(fields)) == message
    assert parse(document({"tenant": "a\\u0000"})).document.pods[1].tenant == "a\\u0000"


def test_what_can_be_decoded_and_is_too_deep_to_look_through_is_refused() -> None:
    deep = document().replace(b'"pods":', b'"note": ' + b"[" * 900 + b"]" * 900 + b', "spaced" : 1, "pods":')
    assert refusal(deep) == "$: not valid JSON: nested too deeply"


def test_a_cluster_without_nodes_is_a_cluster() -> None:
    snapshot = read(document(nodes=[], pods=[]))
    assert (snapshot.node_name, snapshot.pod_name) == ((), ())
    assert [cluster.name for cluster in snapshot.clusters] == ["default"]
