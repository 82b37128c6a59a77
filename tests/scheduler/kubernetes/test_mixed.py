"""Several kinds of device on one node: those of which there are most are counted, and nothing is lost in silence."""

from typing import Any

import pytest

from scheduler.cluster.build import build
from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.records import MigRecord
from tests.scheduler.kubernetes.test_slices import BARE, FOUR, claim, claiming, device, rule, slices
from tests.scheduler.kubernetes.things import (
    GPU,
    NOW_S,
    TAKEN_AT,
    Row,
    document,
    fresh,
    node,
    one_node,
    one_pod,
    pod,
    read,
    said,
    thing,
)

AMD, INTEL = "gpu.amd.com", "gpu.intel.com"
T4 = [device(f"gpu-{i}", f"T4-{i}", productName="Tesla T4") for i in range(4, 6)]
MI300X = [device(f"gpu-{i}", f"AMD-{i}", productName="MI300X") for i in range(2)]


def spread(*devices: Row, generation: int = 1, name: str = "s", **binding: Any) -> Row:
    pool = {"name": "wide", "generation": generation}
    spec = {"driver": "gpu.nvidia.com", "pool": pool, "devices": list(devices)} | binding
    return thing("resourceslices.resource.k8s.io", name, spec=spec)


def uuids(*objects: Row) -> list[list[str | None]]:
    return [[d.uuid for d in node.devices] for node in document(*objects).nodes]


# Slices of several nodes


@pytest.mark.parametrize("older", [True, False])
def test_each_device_of_a_slice_may_name_its_own_node(older: bool) -> None:
    def at(row: Row, host: str) -> Row:
        if not older:
            return row | {"nodeName": host}
        basic = {key: row[key] for key in ("attributes", "capacity")} | {"nodeName": host}
        return {"name": row["name"], "basic": basic}

    row = spread(at(FOUR[0], "n1"), at(FOUR[1], "n2"), at(FOUR[2], "n2"), perDeviceNodeSelection=True)
    assert uuids(BARE, node("n2", None), row) == [["GPU-0"], ["GPU-1", "GPU-2"]]
    assert said(BARE, node("n2", None), row) == []


@pytest.mark.parametrize(
    "binding",
    [{"allNodes": True}, {"nodeSelector": {"nodeSelectorTerms": []}}, {"perDeviceNodeSelection": True}],
)
def test_devices_of_no_single_node_are_said(binding: Row) -> None:
    found = read(BARE, spread(FOUR[0] | {"allNodes": True}, **binding))
    assert found.document.nodes[0].gpus == 0
    assert [(u.what, u.kind, u.name) for u in found.unheld] == [("resource", "resourceslices.resource.k8s.io", "s")]
    assert found.unheld[0].detail == "gpu.nvidia.com, pool wide: gpu-0 of no single node"


def test_a_newer_generation_counts_on_all_nodes_of_the_pool() -> None:
    """The device has left n1 in the slice that is newer, though that one lists nothing there."""
    old = spread(FOUR[0] | {"nodeName": "n1"}, perDeviceNodeSelection=True, name="old")
    new = spread(FOUR[0] | {"nodeName": "n2"}, perDeviceNodeSelection=True, name="new", generation=2)
    objects = [BARE, node("n2", None), old, new]
    assert uuids(*objects) == [[], ["GPU-0"]]
    reader = fresh(*objects)
    reader.drop("resourceslices.resource.k8s.io", ("", "new"))
    assert [len(n.devices) for n in reader.document("c", TAKEN_AT, NOW_S).document.nodes] == [1, 0]


@pytest.mark.parametrize(("driver", "told"), [("npu.example.org", True), ("dra.net", False), ("qat.intel.com", False)])
def test_devices_of_a_driver_that_is_not_known_are_said(driver: str, told: bool) -> None:
    assert said(BARE, slices(*FOUR, driver=driver)) == ([("resource", "ignored", "s")] if told else [])


def test_gaudi_of_its_driver_and_of_its_plugin_are_the_same() -> None:
    listed = [{"name": f"0000-{i}", "attributes": {"model": {"string": "Gaudi2"}, "healthy": {"bool": i > 0}}}
              for i in range(2)]  # fmt: skip
    row = slices(*listed, driver="gaudi.intel.com")
    found = one_node(BARE, row)
    assert (found.gpu_model, [d.health for d in found.devices]) == ("Gaudi2", ["failed", "ok"])
    assert one_node(node("n1", None, capacity={"habana.ai/gaudi": "2"}), row).gpus == 2
    assert said(node("n1", None, capacity={"habana.ai/gaudi": "2"}), row) == []


# Models and vendors of DRA


def test_of_two_models_those_with_most_devices_are_counted() -> None:
    objects = [BARE, slices(*FOUR, *T4), claiming(), claim("g", "gpu-4")]
    found = one_node(*objects)
    assert (found.gpu_model, [d.uuid for d in found.devices]) == (
        "NVIDIA-H100-80GB-HBM3",
        [f"GPU-{i}" for i in range(4)],
    )
    held = one_pod(*objects)
    assert (held.gpus, held.devices, held.move) == (0, [], "never")
    assert said(*objects) == [("mixed_devices", "ignored", "n1"), ("mixed_devices", "pinned", "p")]
    counted = one_pod(BARE, slices(*FOUR, *T4), claiming(), claim("g", "gpu-1"))
    assert (counted.gpus, counted.devices, counted.move) == (1, [1], "copy")


def test_parts_follow_the_model_of_their_device() -> None:
    part = device("mig-0", "", productName="", type="mig", profile="1g.10gb", parentUUID="T4-4")
    objects = [BARE, slices(*FOUR, *T4, part), claiming(), claim("g", "mig-0")]
    held = one_pod(*objects)
    assert (held.gpus, held.mig, held.move) == (0, {}, "never")


@pytest.mark.parametrize(("gpus", "model"), [(8, "NVIDIA"), (2, "NVIDIA"), (1, "MI300X")])
def test_a_driver_of_another_vendor_tells_of_other_devices_than_the_plugin(gpus: int, model: str) -> None:
    objects = [node("n1", gpus), slices(*MI300X, driver=AMD), pod("p", gpus=1)]
    found = one_node(*objects)
    nvidia = model == "NVIDIA"
    assert (found.gpu_model, found.gpus) == (model, gpus if nvidia else 2)
    assert [d.uuid for d in found.devices] == ([] if nvidia else ["AMD-0", "AMD-1"])
    offered = {label for label in found.labels if "offers-" in label}
    assert offered == {"slackline.io/offers-nvidia.com.gpu" if nvidia else "slackline.io/offers-gpu.amd.com"}
    assert ("mixed_devices", "ignored", "n1") in said(*objects)
    assert (one_pod(*objects).gpus, one_pod(*objects).move) == ((1, "copy") if nvidia else (0, "never"))


def test_models_that_one_plugin_counts_together_are_said() -> None:
    objects = [node("n1", 6), slices(*FOUR, *T4)]
    assert (one_node(*objects).gpus, len(one_node(*objects).devices)) == (6, 6)
    assert said(*objects) == [("mixed_devices", "ignored", "n1")]


# Failed devices where the plugin knows of more


def test_a_rule_holds_where_the_plugin_counts_more_devices_than_slices_list() -> None:
    tainting = rule({"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"})
    found = document(node("n1", 8), slices(*FOUR), tainting)
    assert occupancy(build(found)).free_gpus.tolist() == [7]


def test_a_rule_on_a_device_that_the_plugin_does_not_tell_apart_is_said() -> None:
    tainting = rule({"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"})
    machine = node("n1", 2, capacity={"nvidia.com/mig-1g.10gb": "7"}, labels={"nvidia.com/gpu.count": "3"})
    assert ("device_taint", "unread", "n1") in said(machine, slices(*FOUR), tainting)


# Resources of one vendor and of several


@pytest.mark.parametrize(
    ("capacity", "labels", "gpus", "left"),
    [
        ({"gpu.intel.com/i915": "2", "gpu.intel.com/xe": "4"}, {}, 4, "gpu.intel.com/i915"),
        ({"gpu.intel.com/i915": "2", "gpu.intel.com/xe": "4"}, {"gpu.intel.com/device.count": "6"}, 4,
         "gpu.intel.com/i915"),
        ({"cambricon.com/mlu": "2", "cambricon.com/mlu370": "4"}, {}, 4, "cambricon.com/mlu"),
        ({GPU: "4", "nvidia.com/gpu.shared": "16"}, {"nvidia.com/gpu.count": "8"}, 4, GPU),
        ({GPU: "6", "nvidia.com/gpu.shared": "4"}, {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.replicas": "2"}, 6,
         "nvidia.com/gpu.shared"),
    ],
)  # fmt: skip
def test_of_two_resources_of_one_vendor_the_other_is_said(capacity: Row, labels: Row, gpus: int, left: str) -> None:
    objects = [node("n1", None, capacity=capacity, labels=labels), pod("p", requests={left: "1"})]
    found = one_node(*objects)
    assert (found.gpus, one_pod(*objects).gpus, one_pod(*objects).move) == (gpus, 0, "never")
    assert said(*objects) == [("mixed_devices", "ignored", "n1"), ("mixed_devices", "pinned", "p")]


def test_pods_of_a_vendor_that_is_not_counted_take_nothing_of_the_one_that_is() -> None:
    machine = node("n1", 2, capacity={"amd.com/gpu": "4"})
    objects = [machine, pod("p", gpus=2), pod("q", requests={"amd.com/gpu": "1"})]
    assert (one_pod(*objects).gpus, one_pod(*objects).move) == (0, "never")
    assert (one_pod(*objects, name="q").gpus, one_pod(*objects, name="q").move) == (1, "copy")
    assert occupancy(build(document(*objects))).free_gpus.tolist() == [3]
    assert one_pod(machine, pod("p", annotations={"gpu-fraction": "0.5"})).gpus == 0


@pytest.mark.parametrize("told", [True, False])
def test_slices_are_read_where_whole_devices_are_shared(told: bool) -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.count": "8"}
    labels |= {"nvidia.com/gpu.replicas": "4"} if told else {}
    machine = node("n1", 24, labels=labels, capacity={"nvidia.com/mig-1g.10gb": "14"})
    found = one_node(machine)
    assert (found.gpus, found.allocatable_gpus) == (8, None)
    assert [(d.index, d.mig) for d in found.devices] == [(i, [MigRecord(profile="1g.10gb", count=7)]) for i in (6, 7)]
    held = one_pod(machine, pod("p", gpus=7))
    assert (held.gpus, held.gpu_milli) == (6, 500)  # seven shares on six devices that are not cut


# Shares that are not understood


@pytest.mark.parametrize(
    ("annotations", "milli", "move"),
    [
        ({"gpu-fraction": "5e-1"}, 500, "copy"),
        ({"gpu-fraction": ".25"}, 250, "copy"),
        ({"gpu-fraction": "abc"}, 1, "never"),
        ({"gpu-fraction": "0"}, 1, "never"),
        ({"gpu-memory": "10Gi"}, 1, "never"),
        ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "two"}, 1, "never"),
    ],
)
def test_a_share_of_kai_that_is_not_understood_pins(annotations: Row, milli: int, move: str) -> None:
    objects = [node("n1"), pod("p", annotations=annotations)]
    held = one_pod(*objects)
    assert (held.gpus, held.gpu_milli, held.move) == (1, milli, move)
    assert said(*objects) == ([("fraction", "pinned", "p")] if move == "never" else [])
