"""Which accelerators a node has: vendor by vendor, whole, shared, cut, and gone."""

from typing import Any

import msgspec
import pytest

from scheduler.cluster.build import build
from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.records import MigRecord
from scheduler.kubernetes.accelerators import accelerator, per_device
from scheduler.kubernetes.options import Options
from tests.scheduler.kubernetes.things import GPU, Row, document, node, one_node, one_pod, pod, said

A100 = "NVIDIA-A100-SXM4-40GB"


def nvidia(count: int, product: str = A100, **labels: Any) -> Row:
    return {"nvidia.com/gpu.count": str(count), "nvidia.com/gpu.product": product} | labels


def hardware(capacity: Row, labels: Row, allocatable: Row | None = None, **fields: Any) -> tuple[Any, ...]:
    """(model, gpus, allocatable, memory) of a node that has only what is given."""
    found = one_node(node("n1", None, capacity=capacity, allocatable=allocatable or {}, labels=labels, **fields))
    return found.gpu_model, found.gpus, found.allocatable_gpus, found.gpu_memory_mib


def cut(*profiles: tuple[str, int]) -> list[MigRecord]:
    return [MigRecord(profile=profile, count=count) for profile, count in profiles]


@pytest.mark.parametrize(
    ("capacity", "labels", "expected"),
    [
        ({GPU: "8"}, {}, ("NVIDIA", 8, None, None)),
        ({GPU: "8"}, nvidia(8, **{"nvidia.com/gpu.memory": "40960"}), (A100, 8, None, 40960)),
        ({}, nvidia(8), (A100, 8, 0, None)),  # labelled, no device plugin
        ({GPU: "0"}, nvidia(8), (A100, 8, 0, None)),
        ({GPU: "24"}, nvidia(2, "A10-SHARED", **{"nvidia.com/gpu.replicas": "12"}), ("A10", 2, None, None)),
        ({"nvidia.com/gpu.shared": "24", GPU: "0"}, nvidia(2, "A10", **{"nvidia.com/gpu.replicas": "12"}),
         ("A10", 2, None, None)),
        ({GPU: "20"}, nvidia(2, "A10"), ("A10", 2, None, None)),  # ten to a device, which no label tells
        ({"amd.com/gpu": "8"}, {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/gpu.vram": "192G"},
         ("AMD_Instinct_MI300X_OAM", 8, None, 196_608)),
        ({"gpu.intel.com/i915": "2"}, {"gpu.intel.com/product": "Max_1550"}, ("Intel-Max_1550", 2, None, None)),
        ({"gpu.intel.com/xe": "4"}, {"gpu.intel.com/product": "Flex_170", "gpu.intel.com/device.count": "2"},
         ("Intel-Flex_170", 2, None, None)),
        ({"habana.ai/gaudi": "8"}, {}, ("Gaudi", 8, None, None)),
        ({"huawei.com/Ascend910": "8"}, {"accelerator": "huawei-Ascend910"}, ("Ascend910", 8, None, None)),
        ({"huawei.com/Ascend910": "8"}, {"node.kubernetes.io/npu.chip.name": "910B4"}, ("Ascend910B4", 8, None, None)),
        ({"cambricon.com/mlu370": "4"}, {}, ("MLU370", 4, None, None)),
        ({"cambricon.com/mlu": "4"}, {}, ("MLU", 4, None, None)),
        ({}, {}, ("", 0, None, None)),
        ({"rdma/hca": "8"}, {}, ("", 0, None, None)),
    ],
)  # fmt: skip
def test_vendors(capacity: Row, labels: Row, expected: tuple[Any, ...]) -> None:
    assert hardware(capacity, labels) == expected


@pytest.mark.parametrize(
    ("capacity", "allocatable", "labels", "usable"),
    [
        ({GPU: "8"}, {GPU: "7"}, nvidia(8), 7),  # one device is not healthy
        ({GPU: "24"}, {GPU: "12"}, nvidia(2, "A10-SHARED", **{"nvidia.com/gpu.replicas": "12"}), 1),
        ({GPU: "6"}, {GPU: "6"}, nvidia(8), 6),  # two have fallen off the bus
    ],
)
def test_devices_that_cannot_be_had_are_still_there(capacity: Row, allocatable: Row, labels: Row, usable: int) -> None:
    _, gpus, allocatable_gpus, _ = hardware(capacity, labels, allocatable)
    assert gpus == int(labels["nvidia.com/gpu.count"])
    assert allocatable_gpus == usable


def test_mig_single_tells_slices_under_the_name_of_devices() -> None:
    labels = nvidia(14, f"{A100}-MIG-1g.5gb", **{"nvidia.com/mig.strategy": "single", "nvidia.com/gpu.memory": "4864"})
    found = one_node(node("n1", 14, labels=labels))
    assert (found.gpu_model, found.gpus, found.gpu_memory_mib) == (A100, 2, None)
    assert [device.mig for device in found.devices] == [cut(("1g.5gb", 7))] * 2
    held = one_pod(node("n1", 14, labels=labels), pod("p", gpus=3))
    assert (held.gpus, held.mig) == (0, {"1g.5gb": 3})
    assert held.node_selector == {"slackline.io/offers-nvidia.com.gpu": "1g.5gb"}


def test_mig_mixed_tells_whole_devices_and_slices_apart() -> None:
    capacity = {"nvidia.com/mig-1g.5gb": "4", "nvidia.com/mig-3g.20gb": "1"}
    found = one_node(node("n1", 6, labels=nvidia(7), capacity=capacity))
    assert (found.gpus, found.allocatable_gpus) == (7, None)
    assert [(d.index, d.mig) for d in found.devices] == [(6, cut(("1g.5gb", 4), ("3g.20gb", 1)))]


def test_slices_lie_on_as_many_devices_as_they_need() -> None:
    capacity = {"nvidia.com/mig-3g.20gb": "3", "nvidia.com/mig-1g.5gb": "2"}
    found = one_node(node("n1", 0, labels={"nvidia.com/gpu.product": A100}, capacity=capacity))
    assert [device.mig for device in found.devices] == [cut(("3g.20gb", 2)), cut(("1g.5gb", 2), ("3g.20gb", 1))]


@pytest.mark.parametrize("product", ["NVIDIA-H200", "NVIDIA-X1"])  # of a known size, and of none: 32 is no sevens
def test_large_single_slices_are_counted_under_a_model_without_a_size(product: str) -> None:
    row = node("n1", 32, labels=nvidia(32, f"{product}-MIG-1g.35gb"))
    assert (one_node(row).gpus, said(row)) == (8, [])
    assert [device.mig for device in one_node(row).devices] == [cut(("1g.35gb", 4))] * 8


def test_slices_of_which_nobody_tells_how_many_a_device_holds_are_said() -> None:
    row = node("n1", 28, labels=nvidia(28, "NVIDIA-X1-MIG-1g.35gb"))
    assert one_node(row).gpus == 4
    assert said(row) == [("fraction", "unread", "n1")]


@pytest.mark.parametrize(
    ("labels", "sure"),
    [
        (nvidia(4, "NVIDIA-GB200"), True),
        (nvidia(4, "NVIDIA-X1", **{"nvidia.com/gpu.memory": "189471"}), True),
        (nvidia(4, "NVIDIA-X1"), False),
    ],
)
def test_mixed_slices_lie_alike_on_devices_and_none_has_failed(labels: Row, sure: bool) -> None:
    row = node("n1", 0, labels=labels, capacity={"nvidia.com/mig-1g.47gb": "16"})
    found = one_node(row)
    assert [(d.mig, d.health) for d in found.devices] == [(cut(("1g.47gb", 4)), "ok")] * 4
    assert said(row) == ([] if sure else [("fraction", "unread", "n1")])


def test_a_cut_device_without_slices_is_neither_failed_nor_free() -> None:
    row = node("n1", 0, labels=nvidia(2), capacity={"nvidia.com/mig-3g.20gb": "1"})
    assert [(d.mig, d.health) for d in one_node(row).devices] == [(cut(("3g.20gb", 1)), "ok"), ([], "ok")]
    assert one_node(row).allocatable_gpus == 0
    gone = node("n1", 14, labels=nvidia(14, f"{A100}-MIG-1g.5gb"), allocatable={GPU: "0"})
    assert [(d.mig, d.health) for d in one_node(gone).devices] == [([], "ok")] * 2
    assert one_node(gone).allocatable_gpus == 0


MIG = "nvidia.com/mig-1g.10gb"
SHARES = {f"{MIG}.count": "14", f"{MIG}.replicas": "2"}


@pytest.mark.parametrize("resource", [MIG, f"{MIG}.shared"])
@pytest.mark.parametrize("labels", [SHARES, {f"{MIG}.count": "14"}])
def test_slices_that_are_shared_in_time_lie_on_as_many_devices(resource: str, labels: Row) -> None:
    row = node("n1", 0, labels=nvidia(2, "NVIDIA-A100-SXM4-80GB", **labels), capacity={resource: "28"})
    found = one_node(row)
    assert [device.mig for device in found.devices] == [cut(("1g.10gb.shared-2", 14))] * 2
    held = one_pod(row, pod("p", requests={resource: "1"}))
    assert (held.gpus, held.mig) == (0, {"1g.10gb.shared-2": 1})
    assert held.node_selector.items() <= found.labels.items()


def test_single_slices_that_are_shared_in_time_lie_on_as_many_devices() -> None:
    labels = nvidia(14, f"{A100}-MIG-1g.5gb-SHARED", **{"nvidia.com/gpu.replicas": "2"})
    row = node("n1", 28, labels=labels)
    assert [device.mig for device in one_node(row).devices] == [cut(("1g.5gb.shared-2", 14))] * 2
    assert one_pod(row, pod("p", gpus=3)).mig == {"1g.5gb.shared-2": 3}


def test_a_slice_that_is_not_healthy_is_not_offered() -> None:
    both = {"nvidia.com/mig-3g.20gb": "2"}
    row = node("n1", 1, labels=nvidia(2), capacity=both, allocatable={"nvidia.com/mig-3g.20gb": "1"})
    assert one_node(row).devices[0].mig == cut(("3g.20gb", 1))


def test_partitions_of_amd() -> None:
    labels = {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/compute-memory-partition": "cpx_nps4"}
    single = one_node(node("n1", None, capacity={"amd.com/gpu": "16"}, labels=labels))
    mixed = one_node(node("n1", None, capacity={"amd.com/cpx_nps4": "16"}, labels=labels))
    for found in (single, mixed):
        assert [device.mig for device in found.devices] == [cut(("cpx_nps4", 8))] * 2


@pytest.mark.parametrize(
    ("profile", "model", "count"),
    [
        ("1g.5gb", A100, 7),
        ("1g.10gb", A100, 4),  # twice the memory of the smallest slice
        ("2g.10gb", A100, 3),
        ("3g.20gb", A100, 2),
        ("4g.20gb", A100, 1),
        ("7g.40gb", A100, 1),
        ("1g.5gb.me", A100, 1),
        ("3g.71gb", "NVIDIA-H200-141GB", 2),
        ("1g.6gb", "NVIDIA-A30", 4),
        ("1g.18gb", "NVIDIA-H200", 7),
        ("1g.35gb", "NVIDIA-H200", 4),
        ("1g.20gb", "NVIDIA-H100-PCIe", 4),
        ("1g.23gb", "NVIDIA-B200", 7),
        ("1g.45gb", "NVIDIA-B200", 4),
        ("3g.90gb", "NVIDIA-B200", 2),
        ("1g.47gb", "NVIDIA-GB200", 4),
        ("1g.12gb", "NVIDIA-GH200-480GB", 7),  # 480 GB are its CPU's
        ("1g.24gb", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", 4),
        ("1g.9gb", "NVIDIA-X1", None),
        ("2g.9gb", "NVIDIA-X1", 3),
        ("3g.9gb", "NVIDIA-X1", 2),
        ("7g.9gb", "NVIDIA-X1", 1),
        ("cpx_nps1", "AMD_Instinct_MI300A", 6),
        ("2m.8gb", "MLU370", 2),
        ("odd", A100, None),
    ],
)
def test_slices_per_device(profile: str, model: str, count: int | None) -> None:
    assert per_device(profile, model) == count


@pytest.mark.parametrize(
    ("resource", "sort"),
    [
        ("nvidia.com/gpu", "whole"),
        ("nvidia.com/mig-1g.5gb", "slice"),
        ("nvidia.com/gpumem", "share"),
        ("amd.com/dpx_nps2", "slice"),
        ("huawei.com/Ascend310P-4c", "slice"),
        ("huawei.com/Ascend910B4-memory", "share"),
        ("cambricon.com/mlu370.mim-2m.8gb", "slice"),
        ("cambricon.com/mlu.share", "share"),
        ("koordinator.sh/gpu-core", "share"),
        ("gpu.intel.com/monitoring", None),
        ("nvidia.com/hostdev", None),
        ("cpu", None),
    ],
)
def test_resource_names(resource: str, sort: str | None) -> None:
    found = accelerator(resource)
    assert (found.sort if found is not None else None) == sort


def test_two_vendors_in_one_node_are_said() -> None:
    row = node("n1", 4, capacity={"amd.com/gpu": "2"})
    assert one_node(row).gpus == 4
    assert said(row) == [("mixed_devices", "ignored", "n1")]


def test_a_vendor_of_ones_own() -> None:
    options = Options(vendors=(("example.org/npu", "example.org/model"),))
    row = node("n1", None, capacity={"example.org/npu": "4"}, labels={"example.org/model": "N4"})
    found = one_node(row, options=options)
    assert (found.gpu_model, found.gpus) == ("N4", 4)
    held = one_pod(row, pod("p", requests={"example.org/npu": "2"}), options=options)
    assert (held.gpus, held.node_selector) == (2, {"slackline.io/offers-example.org.npu": "whole"})


def test_a_pod_goes_only_where_its_request_means_the_same() -> None:
    shared = node("s", 24, labels=nvidia(2, "A10-SHARED", **{"nvidia.com/gpu.replicas": "12"}))
    whole = node("w", 8, labels=nvidia(8))
    label = "slackline.io/offers-nvidia.com.gpu"
    words = {name: one_pod(shared, whole, pod("p", at, gpus=1)).node_selector[label] for name, at in
             (("shared", "s"), ("whole", "w"), ("pending", None))}  # fmt: skip
    assert words == {"shared": "shared-12", "whole": "whole", "pending": "whole"}
    assert one_node(shared).labels[label] == "shared-12"


@pytest.mark.parametrize(
    ("asked", "gpus", "milli"),
    [(1, 1, 83), (2, 2, 83), (3, 2, 166), (24, 2, 996)],
)
def test_shares_lie_on_as_many_devices_as_there_are(asked: int, gpus: int, milli: int) -> None:
    shared = node("s", 24, labels=nvidia(2, "A10-SHARED", **{"nvidia.com/gpu.replicas": "12"}))
    held = one_pod(shared, pod("p", "s", gpus=asked))
    assert (held.gpus, held.gpu_milli) == (gpus, milli)


HAMI = [
    {"id": "GPU-b", "index": 1, "count": 10, "devmem": 16384, "devcore": 100, "health": False},
    {"id": "GPU-a", "index": 0, "count": 10, "devmem": 16384, "devcore": 100, "health": True},
]


def hami_node() -> Row:
    register = {"hami.io/node-nvidia-register": msgspec.json.encode(HAMI).decode()}
    return node("n1", 20, annotations=register, labels=nvidia(2, "Tesla-T4", **{"nvidia.com/gpu.replicas": "1"}))


def test_hami_tells_its_devices() -> None:
    found = one_node(hami_node())
    assert (found.gpus, found.gpu_model, found.gpu_memory_mib) == (2, "Tesla-T4", 16384)
    assert [(d.uuid, d.health) for d in found.devices] == [("GPU-a", "ok"), ("GPU-b", "failed")]


@pytest.mark.parametrize(
    ("given", "gpus", "milli", "memory", "devices"),
    [
        ("GPU-a,NVIDIA,4096,30:;", 1, 300, 4096, [0]),
        ("GPU-a,NVIDIA,4096,0:;", 1, 250, 4096, [0]),
        ("GPU-a,NVIDIA,1024,20:GPU-b,NVIDIA,1024,20:;", 2, 200, 1024, [0, 1]),
        ("GPU-a,NVIDIA,1024,20:;GPU-a,NVIDIA,1024,20:;", 1, 400, 2048, [0]),
        ("GPU-x,NVIDIA,1024,50:;", 1, 500, 1024, []),
    ],
)
def test_hami_tells_which_devices_a_pod_has(given: str, gpus: int, milli: int, memory: int, devices: list[int]) -> None:
    held = one_pod(hami_node(), pod("p", gpus=1, annotations={"hami.io/vgpu-devices-allocated": given}))
    assert (held.gpus, held.gpu_milli, held.gpu_memory_mib, held.devices) == (gpus, milli, memory, devices)


def test_a_virtual_device_of_unknown_size_pins_its_pod() -> None:
    row = pod("p", gpus=1)
    assert one_pod(hami_node(), row).move == "never"
    assert ("fraction", "pinned", "p") in said(hami_node(), row)


@pytest.mark.parametrize(
    ("annotations", "gpus", "milli", "memory"),
    [
        ({"gpu-fraction": "0.5"}, 1, 500, None),
        ({"gpu-fraction": "0.3333"}, 1, 334, None),
        ({"gpu-fraction": "0.25", "gpu-fraction-num-devices": "2"}, 2, 250, None),
        ({"gpu-memory": "10240"}, 1, 250, 10240),
    ],
)
def test_shares_of_kai(annotations: Row, gpus: int, milli: int, memory: int | None) -> None:
    machine = node("n1", 8, labels=nvidia(8, **{"nvidia.com/gpu.memory": "40960"}))
    held = one_pod(machine, pod("p", annotations=annotations))
    assert (held.gpus, held.gpu_milli, held.gpu_memory_mib) == (gpus, milli, memory)


def test_the_pod_that_reserves_a_device_for_kai_is_not_counted_twice() -> None:
    objects = [
        node("n1", 8),
        pod("p", annotations={"gpu-fraction": "0.5"}),
        pod("r", namespace="kai-resource-reservation", gpus=1),
    ]
    found = [("fraction", "ignored", "r")]
    assert said(*objects) == found
    assert one_pod(*objects).gpus == 1


def test_an_unknown_part_of_a_device_pins_its_pod() -> None:
    row = pod("p", requests={"aliyun.com/gpu-mem": "4"})
    assert one_pod(node("n1"), row).move == "never"
    assert said(node("n1"), row) == [("fraction", "pinned", "p")]


@pytest.mark.parametrize(
    ("asked", "capacity", "gpus", "milli"),
    [
        ({"aliyun.com/gpu-mem": "4"}, {}, 1, 1),  # nobody says of how much
        ({"aliyun.com/gpu-mem": "4"}, {"aliyun.com/gpu-mem": "128"}, 1, 250),
        ({"koordinator.sh/gpu-core": "50", "koordinator.sh/gpu-memory-ratio": "60"},
         {"koordinator.sh/gpu-core": "800", "koordinator.sh/gpu-memory-ratio": "800"}, 1, 600),
        ({"koordinator.sh/gpu": "200"}, {"koordinator.sh/gpu": "800"}, 2, 1000),
        ({"tencent.com/vcuda-core": "30"}, {"tencent.com/vcuda-core": "800"}, 1, 300),
        ({"elasticgpu.io/qgpu-memory": "9"}, {"elasticgpu.io/qgpu-memory": "64"}, 1, 1),
        ({"koordinator.sh/gpu-memory": "16Gi"}, {"koordinator.sh/gpu-memory": "640Gi"}, 1, 1),  # bytes, not devices
        ({"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "1000"}, {"volcano.sh/vgpu-number": "80"}, 1, 1),
    ],
)  # fmt: skip
def test_a_device_of_which_a_foreign_sharer_gives_parts_is_not_free(
    asked: Row, capacity: Row, gpus: int, milli: int
) -> None:
    found = document(node("n1", capacity=capacity), pod("p", requests=asked))
    (held,) = found.pods
    assert (held.gpus, held.gpu_milli, held.move) == (gpus, milli, "never")
    use = occupancy(build(found))
    assert (use.free_gpus.tolist(), use.over_committed_milli.tolist()) == ([8 - gpus], [0])


def test_parts_of_devices_that_nobody_counts_touch_none() -> None:
    assert one_pod(node("n1", None), pod("p", requests={"aliyun.com/gpu-mem": "4"})).gpus == 0


def test_several_kinds_of_device_in_one_pod_pin_it() -> None:
    row = pod("p", requests={GPU: "1", "nvidia.com/mig-1g.5gb": "1"})
    assert one_pod(node("n1"), row).move == "never"
    assert said(node("n1"), row) == [("mixed_devices", "pinned", "p")]
