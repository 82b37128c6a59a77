"""What was measured, laid over the records."""

from collections.abc import Sequence
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from scheduler.cluster.build import build
from scheduler.cluster.errors import InputError
from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.records import DeviceRecord, Document, NodeRecord, PodRecord, UtilisationRecord
from scheduler.telemetry.exporters import EXPORTERS, METRICS, Options, queries
from scheduler.telemetry.health import DEGRADED_XIDS, FAILED_XIDS, judge
from scheduler.telemetry.merging import Gathering, Laid, Merged, Telemetry, merge
from scheduler.telemetry.vectors import Sample, parse_vector
from tests.scheduler.telemetry.answers import NOW_S, answer, dcgm, series


def gather(samples: Sequence[Sample], options: Options, now_s: float) -> Telemetry:
    found = Gathering(options)
    found.add(samples, now_s)
    return found.telemetry()


def world(*nodes: NodeRecord) -> Document:
    return Document(taken_at="2026-11-29T10:00:00Z", nodes=list(nodes), pods=[])


def laid(document: Document, *rows: dict[str, Any], options: Options | None = None, now_s: float = NOW_S) -> Merged:
    chosen = options or Options()
    return merge(document, gather(parse_vector(answer(*rows)), chosen, now_s))


def device(merged: Merged, node: int = 0, place: int = 0) -> DeviceRecord:
    return merged.document.nodes[node].devices[place]


NODE = NodeRecord(name="n1", gpus=2)


def test_use_power_and_health_of_dcgm() -> None:
    rows = [
        dcgm("DCGM_FI_PROF_SM_ACTIVE", 0.42),
        dcgm("DCGM_FI_DEV_GPU_UTIL", 99),
        dcgm("DCGM_FI_DEV_FB_USED", 20_000),
        dcgm("DCGM_FI_DEV_FB_FREE", 60_000),
        dcgm("DCGM_FI_DEV_XID_ERRORS", 0),
        dcgm("DCGM_FI_DEV_POWER_USAGE", 300.4),
        dcgm("DCGM_FI_DEV_POWER_USAGE", 100.2, gpu=1),
    ]
    merged = laid(world(NODE), *rows)
    first, second = merged.document.nodes[0].devices
    assert first == DeviceRecord(index=0, uuid="GPU-n1-0", health="ok", utilisation=UtilisationRecord(sm=42, memory=25))
    assert second == DeviceRecord(index=1, uuid="GPU-n1-1")  # power alone tells neither use nor health
    assert merged.document.nodes[0].power_watts == 401
    assert (merged.devices, merged.unplaced) == (2, 0)
    build(merged.document)


OTHERS = [
    ("gpu_gfx_activity", {"gpu_id": "1", "gpu_uuid": "a", "hostname": "n1", "gpu_compute_partition_type": "spx"}),
    ("npu_chip_info_utilization", {"id": "1", "instance": "n1:8082"}),
    ("mlu_utilization", {"mlu": "1", "uuid": "m", "node": "n1", "vf": ""}),
]


@pytest.mark.parametrize(("name", "labels"), OTHERS, ids=[name for name, _ in OTHERS])
def test_other_exporters_name_node_and_device_in_their_own_way(name: str, labels: dict[str, str]) -> None:
    merged = laid(world(NODE), series(name, 7, **labels))
    assert device(merged).index == 1
    assert device(merged).utilisation == UtilisationRecord(sm=7)


def test_ratios_of_intel_are_fractions() -> None:
    document = world(NodeRecord(name="n1", gpus=1, devices=[DeviceRecord(index=0, uuid="u")]))
    rows = [
        series(f"xpum_{name}_ratio", value, uuid="u", node="n1") for name, value in (("engine", 0.42), ("memory", 1))
    ]
    assert device(laid(document, *rows)).utilisation == UtilisationRecord(sm=42, memory=100)
    assert device(laid(document, series("xpum_engine_ratio", 42, uuid="u", node="n1"))).utilisation is None


@pytest.mark.parametrize(("share", "health"), [(0.0, "ok"), (0.09, "ok"), (0.1, "degraded"), (1.0, "degraded")])
def test_clocks_held_back_for_a_tenth_of_the_window_degrade(share: float, health: str) -> None:
    row = dcgm("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", share)
    busy = dcgm("DCGM_FI_DEV_GPU_UTIL", 5)
    assert device(laid(world(NODE), row, busy)).health == health


PARTS = [
    dcgm("DCGM_FI_PROF_SM_ACTIVE", 0.5, GPU_I_ID="3"),
    series("gpu_gfx_activity", 5, gpu_id="0", hostname="n1", gpu_compute_partition_type="cpx"),
    series("mlu_utilization", 5, mlu="0", node="n1", vf="2"),
    series("xpum_power_watts", 5, uuid="u", node="n1", sub_dev="0"),
]


@pytest.mark.parametrize("row", PARTS, ids=[row["metric"]["__name__"] for row in PARTS])
def test_a_part_of_a_device_does_not_speak_for_it(row: dict[str, Any]) -> None:
    assert laid(world(NODE), row).document.nodes[0] is NODE


UNKNOWN = ["NaN", "+Inf", "-1", "9223372036854775794", "140737488355328", "101"]


@pytest.mark.parametrize("text", UNKNOWN)
def test_unknown_values_are_not_zero(text: str) -> None:
    merged = laid(world(NODE), dcgm("DCGM_FI_DEV_GPU_UTIL", text), dcgm("DCGM_FI_DEV_FB_USED", text))
    assert device(merged).utilisation is None


def test_old_samples_are_no_samples() -> None:
    told = gather(parse_vector(answer(dcgm("DCGM_FI_DEV_GPU_UTIL", 5))), Options(), NOW_S + 301)
    assert (dict(told.nodes), told.samples, told.old) == ({}, 1, 1)


def test_power_of_a_node_needs_all_its_devices() -> None:
    assert laid(world(NODE), dcgm("DCGM_FI_DEV_POWER_USAGE", 300)).document.nodes[0].power_watts is None


def test_uuids_of_the_document_decide_before_indices() -> None:
    known = NodeRecord(name="n1", gpus=2, devices=[DeviceRecord(index=0, uuid="GPU-n1-1"), DeviceRecord(index=1)])
    merged = laid(world(known), dcgm("DCGM_FI_DEV_GPU_UTIL", 9, gpu=1), dcgm("DCGM_FI_DEV_GPU_UTIL", 5, gpu=0))
    assert device(merged).utilisation == UtilisationRecord(sm=9)
    assert device(merged, place=1).utilisation is None
    assert merged.named == ("n1 GPU-n1-0",)


def test_what_has_no_place_is_counted_and_named() -> None:
    merged = laid(world(NODE), dcgm("DCGM_FI_DEV_GPU_UTIL", 5, gpu=7), dcgm("DCGM_FI_DEV_GPU_UTIL", 5, node="gone"))
    assert (merged.devices, merged.unplaced) == (0, 2)
    assert merged.named == ("n1 GPU-n1-7", "node gone")


def test_two_devices_that_claim_one_place_get_none() -> None:
    rows = [series("DCGM_FI_DEV_GPU_UTIL", value, gpu="0", UUID=f"u{value}", node="n1") for value in (1, 2)]
    merged = laid(world(NODE), *rows)
    assert (merged.devices, merged.unplaced) == (0, 2)


SIGNS = [
    ({"xid": 79}, "failed"),
    ({"xid": 74}, "degraded"),
    ({"xid": 31}, "ok"),  # a program's page fault
    ({"xid": 94}, "ok"),  # contained: the program ended, the device goes on
    ({"xid": 0, "uncorrectable": 1}, "failed"),
    ({"remap": 1}, "failed"),
    ({"well": 0}, "failed"),
    ({"well": 1, "throttled": 9.9}, "ok"),
    ({"throttled": 10}, "degraded"),
    ({"xid": 79, "throttled": 50}, "failed"),
    ({"sm": 5, "watts": 100}, None),
]


@pytest.mark.parametrize(("signs", "health"), SIGNS, ids=[str(signs) for signs, _ in SIGNS])
def test_rules_of_health(signs: Any, health: str | None) -> None:
    told = judge(signs)
    assert (told.health if told else None) == health
    assert told is None or bool(told.reason) == (health != "ok")


def test_no_xid_is_in_two_classes() -> None:
    assert not FAILED_XIDS & DEGRADED_XIDS


def test_good_signs_do_not_mend_what_the_document_calls_failed() -> None:
    known = NodeRecord(name="n1", gpus=1, devices=[DeviceRecord(index=0, health="failed")])
    assert device(laid(world(known), dcgm("DCGM_FI_DEV_XID_ERRORS", 0))).health == "failed"


def test_throttling_is_a_share_of_time() -> None:
    """Nanoseconds a second; a counter that was read unevenly may pass the whole by a little."""
    row = dcgm("DCGM_FI_DEV_THERMAL_VIOLATION", 1.004e9)
    merged = laid(world(NODE), row)
    assert merged.reasons == {("n1", 0): "throttled 100 % of the time"}


def test_a_handful_of_queries_whatever_the_size() -> None:
    asked = queries(Options(matchers=(("cluster", 'a"b\\'),)))
    assert [query.name for query in asked] == [
        "use", "power", "health", "DCGM_FI_DEV_POWER_VIOLATION", "DCGM_FI_DEV_THERMAL_VIOLATION", "clock reasons"
    ]  # fmt: skip
    assert all(r'cluster="a\"b\\"' in query.expression for query in asked)
    assert all(sum(name in query.expression for query in asked) == 1 for name in METRICS)


@pytest.mark.parametrize("field", ["node_labels", "uuid_labels", "index_labels"])
def test_labels_are_checked_before_they_reach_a_query(field: str) -> None:
    given: Any = {field: ("a) or vector(1",)}
    with pytest.raises(InputError, match=field):
        Options(**given)


def test_no_two_exporters_share_a_metric() -> None:
    assert len(METRICS) == sum(len(exporter.metrics) for exporter in EXPORTERS)


def test_nodes_that_stay_the_same_are_not_laid_over_again() -> None:
    told = gather(
        parse_vector(answer(dcgm("DCGM_FI_DEV_GPU_UTIL", 5), dcgm("DCGM_FI_DEV_GPU_UTIL", 6, node="n2"))),
        Options(),
        NOW_S,
    )
    kept: dict[str, Laid] = {}
    first = merge(world(NODE, NodeRecord(name="n2", gpus=1)), told, kept)
    changed = NodeRecord(name="n2", gpus=1, cordoned=True)
    second = merge(world(NODE, changed), told, kept)
    assert second.document.nodes[0] is first.document.nodes[0]
    assert second == merge(world(NODE, changed), told)
    assert second.document.nodes[1].cordoned


ROWS = st.lists(
    st.builds(
        dcgm,
        st.sampled_from([name for name in METRICS if name.startswith("DCGM")]),
        st.one_of(st.floats(), st.integers(-5, 200)),
        gpu=st.integers(0, 3),
        node=st.sampled_from(["n1", "n2", "n3"]),
    ),
    max_size=30,
)


@hypothesis.given(ROWS)
def test_any_samples_give_a_document_that_can_be_built(rows: list[dict[str, Any]]) -> None:
    before = world(NODE, NodeRecord(name="n2", gpus=4, devices=[DeviceRecord(index=1, health="degraded")]))
    merged = laid(before, *rows)
    build(merged.document)
    assert [node.name for node in merged.document.nodes] == ["n1", "n2"]
    (second,) = [one for one in merged.document.nodes[1].devices if one.index == 1]
    assert second.health != "ok"
    listed = sum(len({one.index for one in node.devices}) for node in merged.document.nodes)
    assert merged.devices <= listed <= 6


@hypothesis.given(ROWS, st.randoms())
def test_the_order_of_series_does_not_matter(rows: list[dict[str, Any]], chance: Any) -> None:
    shuffled = rows[:]
    chance.shuffle(shuffled)
    document = world(NODE, NodeRecord(name="n2", gpus=4))
    assert laid(document, *rows).document == laid(document, *shuffled).document


EIGHT = NodeRecord(name="n1", gpus=8)
LOST = dcgm("DCGM_FI_DEV_XID_ERRORS", 79, gpu=3)


def on_eight(*pods: PodRecord, node: NodeRecord = EIGHT) -> Document:
    return Document(taken_at="2026-11-29T10:00:00Z", nodes=[node], pods=list(pods))


def test_a_pod_that_fills_its_node_keeps_the_device_that_fails_under_it() -> None:
    merged = laid(on_eight(PodRecord(name="p", gpus=8, node="n1")), LOST)
    assert device(merged).health == "failed"
    assert merged.document.pods[0].devices == list(range(8))
    found = occupancy(build(merged.document))
    assert (found.over_committed_milli.tolist(), found.free_gpus.tolist()) == ([0], [0])


def test_pods_that_fill_their_node_together_keep_the_device_that_fails_under_one_of_them() -> None:
    """The count is certain; the order is the one in which they lay while all was well."""
    pods = [PodRecord(name=name, gpus=gpus, node="n1") for name, gpus in (("c", 1), ("a", 4), ("b", 3))]
    merged = laid(on_eight(*pods), LOST)
    assert [pod.devices for pod in merged.document.pods] == [[7], [0, 1, 2, 3], [4, 5, 6]]
    found = occupancy(build(merged.document))
    assert (found.over_committed_milli.tolist(), found.free_gpus.tolist()) == ([0], [0])


@hypothesis.given(
    gpus=st.integers(1, 8),
    sick=st.sets(st.integers(0, 7)),
    asks=st.lists(st.integers(1, 4), max_size=5),
    withheld=st.booleans(),
)
def test_as_many_failed_devices_are_held_as_must_be(gpus: int, sick: set[int], asks: list[int], withheld: bool) -> None:
    """Pods within the physical devices are never over-committed, and touch no failed device without need."""
    sick = {index for index in sick if index < gpus}
    told = NodeRecord(name="n1", gpus=gpus, allocatable_gpus=gpus - len(sick) if withheld else None)
    pods = [PodRecord(name=f"p{i}", gpus=n, node="n1") for i, n in enumerate(asks)]
    rows = [dcgm("DCGM_FI_DEV_XID_ERRORS", 79, gpu=index) for index in sick]
    merged = laid(on_eight(*pods, node=told), *rows)
    found = occupancy(build(merged.document))
    held = [index for pod in merged.document.pods for index in pod.devices]
    assert len(held) == len(set(held))
    if sum(asks) <= gpus:
        assert found.over_committed_milli.tolist() == [0]
        assert len(set(held) & sick) == max(sum(asks) - (gpus - len(sick)), 0)
        assert found.free_gpus.tolist() == [max(gpus - len(sick) - sum(asks), 0)]


@pytest.mark.parametrize(
    "other",
    [
        PodRecord(name="q", gpus=1, gpu_milli=500, node="n1"),
        PodRecord(name="q", gpus=1, devices=[7], node="n1"),
        PodRecord(name="q", gpus=1, node="n1", phase="Succeeded"),
        PodRecord(name="q", gpus=2, node="n1"),
    ],
)
def test_what_does_not_tell_how_many_failed_devices_are_held_lists_nobody(other: PodRecord) -> None:
    pods = [PodRecord(name="p", gpus=7, node="n1"), other]
    assert laid(on_eight(*pods), LOST).document.pods == pods


def test_a_device_that_fails_is_no_excess_where_its_plugin_withholds_it_too() -> None:
    told = NodeRecord(name="n1", gpus=8, allocatable_gpus=7)
    merged = laid(on_eight(PodRecord(name="p", gpus=8, node="n1"), node=told), LOST)
    assert occupancy(build(merged.document)).over_committed_milli.tolist() == [0]


@pytest.mark.parametrize(
    "pod",
    [
        PodRecord(name="p", gpus=7, node="n1"),
        PodRecord(name="p", gpus=8, gpu_milli=500, node="n1"),
        PodRecord(name="p", gpus=8, node="n2"),
        PodRecord(name="p", gpus=8),
        PodRecord(name="p", gpus=1, devices=[3], node="n1"),
    ],
)
def test_other_pods_stay_the_same_objects(pod: PodRecord) -> None:
    assert laid(on_eight(pod), LOST).document.pods[0] is pod


def test_pods_are_the_same_objects_while_nothing_has_failed_or_changed() -> None:
    pod = PodRecord(name="p", gpus=8, node="n1")
    assert laid(on_eight(pod), dcgm("DCGM_FI_DEV_XID_ERRORS", 0, gpu=3)).document.pods[0] is pod
    told = gather(parse_vector(answer(LOST)), Options(), NOW_S)
    kept: dict[str, Laid] = {}
    first, second = (merge(on_eight(pod), told, kept).document.pods[0] for _ in range(2))
    assert first is second
