"""Dynamic resource allocation: devices that drivers list, and the claims of pods on them."""

from typing import Any

import pytest

from scheduler.cluster.build import build
from scheduler.cluster.records import MigRecord
from tests.scheduler.kubernetes.things import Row, document, node, one_node, one_pod, pod, said, thing

SLICES, CLAIMS = "resourceslices.resource.k8s.io", "resourceclaims.resource.k8s.io"
DRIVER = "gpu.nvidia.com"
GIB = 1024


def device(name: str, uuid: str, **attributes: str) -> Row:
    told = {"uuid": uuid, "productName": "NVIDIA H100 80GB HBM3"} | attributes
    return {
        "name": name,
        "attributes": {key: {"string": value} for key, value in told.items()},
        "capacity": {"memory": {"value": "80Gi"}},
    }


def slices(*devices: Row, name: str = "s", host: str = "n1", generation: int = 1, driver: str = DRIVER) -> Row:
    pool = {"name": host, "generation": generation}
    return thing(SLICES, name, spec={"driver": driver, "nodeName": host, "pool": pool, "devices": list(devices)})


def claim(name: str = "g", *results: str, users: int = 1, driver: str = DRIVER, **request: Any) -> Row:
    asked = {"name": "r", "exactly": {"deviceClassName": DRIVER, "count": 1} | request}
    status: Row = {}
    if results:
        found = [{"request": "r", "driver": driver, "pool": "n1", "device": one} for one in results]
        status = {
            "allocation": {"devices": {"results": found}},
            "reservedFor": [{"name": str(i)} for i in range(users)],
        }
    return thing(CLAIMS, name, "ml", {"devices": {"requests": [asked]}}, status=status)


def claiming(at: str | None = "n1", *, own: bool = True, name: str = "p") -> Row:
    reference = {"resourceClaimTemplateName": "t"} if own else {"resourceClaimName": "g"}
    made = {"resourceClaimStatuses": [{"name": "r", "resourceClaimName": "g"}]} if own else {}
    return pod(name, at, spec={"resourceClaims": [{"name": "r"} | reference]}, status=made)


BARE = node("n1", None)
FOUR = [device(f"gpu-{i}", f"GPU-{i}") for i in range(4)]


def test_devices_of_a_driver_are_the_devices_of_the_node() -> None:
    found = one_node(BARE, slices(*FOUR))
    assert (found.gpu_model, found.gpus, found.allocatable_gpus) == ("NVIDIA-H100-80GB-HBM3", 4, None)
    assert [(d.index, d.uuid, d.memory_mib) for d in found.devices] == [(i, f"GPU-{i}", 80 * GIB) for i in range(4)]


def test_devices_are_numbered_by_their_names_as_people_read_them() -> None:
    found = one_node(BARE, slices(device("gpu-10", "b"), device("gpu-2", "a")))
    assert [d.uuid for d in found.devices] == ["a", "b"]


def test_a_device_plugin_and_a_driver_on_one_node_tell_of_the_same_devices() -> None:
    found = one_node(node("n1", 4), slices(*FOUR))
    assert (found.gpus, len(found.devices)) == (4, 4)
    assert one_node(node("n1", 8), slices(*FOUR)).gpus == 8


def test_only_the_newest_generation_of_a_pool_counts() -> None:
    objects = [slices(*FOUR, name="old"), slices(FOUR[0], name="new", generation=2)]
    assert one_node(BARE, *objects).gpus == 1


def test_a_pool_may_lie_in_several_slices() -> None:
    assert one_node(BARE, slices(*FOUR[:2], name="a"), slices(*FOUR[2:], name="b")).gpus == 4


@pytest.mark.parametrize("driver", ["dra.net", "compute-domain.nvidia.com"])
def test_devices_that_are_no_accelerators_are_no_gpus(driver: str) -> None:
    assert one_node(BARE, slices(*FOUR, driver=driver)).gpus == 0


def test_a_tainted_device_has_failed() -> None:
    sick = FOUR[0] | {"taints": [{"key": "gpu.nvidia.com/xid", "effect": "NoExecute"}]}
    assert [d.health for d in one_node(BARE, slices(sick, FOUR[1])).devices] == ["failed", "ok"]


def test_the_older_form_of_a_device_is_read() -> None:
    old = {"name": "gpu-0", "basic": {key: FOUR[0][key] for key in ("attributes", "capacity")}}
    assert one_node(BARE, slices(old)).devices[0].uuid == "GPU-0"


def test_slices_of_a_device_that_is_not_offered_whole() -> None:
    parts = [device(f"mig-{i}", f"MIG-{i}", profile="3g.40gb", parentUUID="GPU-0") for i in range(2)]
    found = one_node(BARE, slices(*parts, FOUR[1]))
    assert found.gpus == 2
    assert [d.mig for d in found.devices] == [[], [MigRecord(profile="3g.40gb", count=2)]]
    held = one_pod(BARE, slices(*parts, FOUR[1]), claiming(), claim("g", "mig-1"))
    assert (held.gpus, held.mig, held.devices) == (0, {"3g.40gb": 1}, [])


def test_slices_that_could_be_cut_from_a_whole_device_are_not_there_yet() -> None:
    part = device("mig-0", "MIG-0", profile="3g.40gb", parentUUID="GPU-0")
    assert one_node(BARE, slices(FOUR[0], part)).devices[0].mig == []


def test_a_claim_tells_which_devices_a_pod_has() -> None:
    found = document(BARE, slices(*FOUR), claiming(), claim("g", "gpu-3", "gpu-1"))
    (held,) = found.pods
    assert (held.gpus, held.gpu_milli, held.devices, held.move) == (2, 1000, [1, 3], "copy")
    build(found)


def test_a_claim_that_waits_asks_for_whole_devices() -> None:
    held = one_pod(BARE, slices(*FOUR), claiming(None), claim(count=2))
    assert (held.gpus, held.devices) == (2, [])
    assert said(BARE, slices(*FOUR), claiming(None), claim(count=2)) == []


@pytest.mark.parametrize(
    "request_",
    [
        {"selectors": [{"cel": {"expression": "device.attributes['gpu.nvidia.com'].productName == 'x'"}}]},
        {"allocationMode": "All"},
        {"deviceClassName": "mig.nvidia.com"},
        {"deviceClassName": "somebody.example.org"},
    ],
)
def test_a_claim_for_more_than_a_number_of_devices_pins(request_: Row) -> None:
    objects = [BARE, slices(*FOUR), claiming(), claim("g", "gpu-0", **request_)]
    assert one_pod(*objects).move == "never"
    assert said(*objects) == [("device_claim", "pinned", "p")]


def test_a_claim_that_outlives_the_pod_stays_with_its_devices() -> None:
    objects = [BARE, slices(*FOUR), claiming(own=False), claim("g", "gpu-0")]
    assert one_pod(*objects).move == "never"
    assert said(*objects) == [("device_claim", "pinned", "p")]


def test_a_claim_that_is_not_known_pins() -> None:
    assert said(BARE, slices(*FOUR), claiming()) == [("device_claim", "pinned", "p")]


def test_pods_that_share_a_claim_share_its_devices() -> None:
    pods = [claiming(own=False, name=name) for name in ("p", "q")]
    found = document(BARE, slices(*FOUR), *pods, claim("g", "gpu-0", users=2)).pods
    assert [(held.gpus, held.gpu_milli, held.devices) for held in found] == [(1, 500, [0])] * 2


def test_devices_that_only_watch_do_not_count() -> None:
    row = claim("g", "gpu-0")
    row["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = True
    assert one_pod(BARE, slices(*FOUR), claiming(), row).gpus == 0
