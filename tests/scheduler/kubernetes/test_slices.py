"""Dynamic resource allocation: devices that drivers list, and the claims of pods on them."""

from typing import Any

import pytest

from scheduler.cluster.build import build
from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.records import MigRecord
from tests.scheduler.kubernetes.things import (
    NOW_S,
    TAKEN_AT,
    Row,
    decoded,
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


def counted(row: Row, *sets: str) -> Row:
    return row | {"consumesCounters": [{"counterSet": name, "counters": {"memory": {"value": "1"}}} for name in sets]}


def partitions(by: str, profile: str = "1g.10gb", count: int = 7, gpus: int = 2) -> list[Row]:
    """Whole devices and all that can be cut from each, in one slice; ``by`` = what tells of which device a part is."""
    found = []
    for gpu in range(gpus):
        sets = [f"gpu-{gpu}-counter-set"] if by == "counters" else []
        found.append(counted(device(f"gpu-{gpu}", f"GPU-{gpu}", type="gpu"), *sets))
        for i in range(count):
            told = {"parentUUID": f"GPU-{gpu}"} if by == "uuid" else {}
            row = device(f"gpu-{gpu}-mig-{i}", "", type="mig", profile=profile, **told)
            found.append(counted(row, *sets))
    return found


def cut_pods(count: int) -> list[Row]:
    found = []
    for i in range(count):
        made = {"resourceClaimStatuses": [{"name": "r", "resourceClaimName": f"g{i}"}]}
        spec = {"resourceClaims": [{"name": "r", "resourceClaimTemplateName": "t"}]}
        found += [pod(f"p{i}", spec=spec, status=made)]
        found += [claim(f"g{i}", f"gpu-0-mig-{i}", deviceClassName="mig.nvidia.com")]
    return found


@pytest.mark.parametrize(("by", "devices"), [("uuid", [0]), ("counters", [0]), ("nothing", [])])
def test_parts_that_are_cut_on_demand_count_under_their_device(by: str, devices: list[int]) -> None:
    objects = [BARE, slices(*partitions(by)), *cut_pods(7)]
    found = document(*objects)
    assert (found.nodes[0].gpus, [d.mig for d in found.nodes[0].devices]) == (2, [[], []])
    assert [(p.gpus, p.gpu_milli, p.devices, p.move) for p in found.pods] == [(1, 125, devices, "never")] * 7
    assert said(*objects) == [("device_claim", "pinned", f"p{i}") for i in range(7)]
    use = occupancy(build(found))
    assert (use.over_committed_milli.tolist(), use.free_gpus.tolist()) == ([0], [1])


def test_parts_that_fit_together_never_take_more_than_their_device() -> None:
    small, large = partitions("uuid", "3g.40gb", 1, 1), partitions("uuid", "4g.40gb", 1, 1)
    row = slices(*small, large[1] | {"name": "other"})
    held = [one_pod(BARE, row, claiming(), claim("g", name)).gpu_milli for name in ("gpu-0-mig-0", "other")]
    assert held == [500, 500]


def test_a_part_of_a_device_that_no_slice_lists_is_no_whole_device() -> None:
    held = one_pod(BARE, slices(*FOUR), claiming(), claim("g", "gpu-9-mig-0", deviceClassName="mig.nvidia.com"))
    assert (held.gpus, held.gpu_milli, held.devices) == (1, 1, [])


@pytest.mark.parametrize("listed", [True, False])
def test_parts_that_nothing_but_their_name_places_touch_that_device(listed: bool) -> None:
    """``gpu-1-mig-9-4-4`` is of ``gpu-1``, whether or not the driver lists what it could cut."""
    name = "gpu-1-mig-9-4-4"
    part = [device(name, "", type="mig", profile="3g.40gb")] if listed else []
    row = claim("g", name, deviceClassName="mig.nvidia.com")
    held = one_pod(BARE, slices(*FOUR, *part), claiming(), row)
    assert (held.gpus, held.gpu_milli, held.devices, held.move) == (1, 500, [1], "never")


def test_names_of_other_drivers_and_pools_tell_nothing() -> None:
    for name in ("gpu-9-mig-9-4-4", "gpu-1-mig-9-4", "xgpu-1-mig-9-4-4"):
        held = one_pod(BARE, slices(*FOUR), claiming(), claim("g", name, deviceClassName="mig.nvidia.com"))
        assert (held.gpus, held.gpu_milli, held.devices) == (1, 1, [])


def test_whole_devices_and_parts_of_others_in_one_pod_are_taken_as_whole_ones() -> None:
    objects = [BARE, slices(*partitions("uuid")), claiming(), claim("g", "gpu-1", "gpu-0-mig-0")]
    held = one_pod(*objects)
    assert (held.gpus, held.gpu_milli, held.devices) == (2, 1000, [0, 1])
    assert said(*objects) == [("device_claim", "pinned", "p"), ("device_claim", "widened", "p")]


def backed(name: str = "g", at: str = "n1") -> Row:
    mapping = {"containerName": "main", "resourceName": "nvidia.com/gpu", "requestName": "r"}
    made = {"extendedResourceClaimStatus": {"resourceClaimName": name, "requestMappings": [mapping]}}
    return pod("p", at, gpus=1, status=made)


def test_extended_resources_that_a_driver_backs_are_the_devices_of_their_claim() -> None:
    objects = [BARE, slices(*FOUR), backed(), claim("g", "gpu-2")]
    found = document(*objects)
    (held,) = found.pods
    assert (held.gpus, held.devices, held.move) == (1, [2], "copy")
    assert held.node_selector == {"slackline.io/offers-gpu.nvidia.com": "whole"}
    assert held.node_selector.items() <= found.nodes[0].labels.items()
    assert said(*objects) == []


def test_extended_resources_whose_claim_is_not_known_still_count() -> None:
    objects = [BARE, slices(*FOUR), backed()]
    assert (one_pod(*objects).gpus, one_pod(*objects).move) == (1, "never")
    assert said(*objects) == [("device_claim", "pinned", "p")]


def test_a_claim_goes_only_where_its_driver_lists_devices() -> None:
    held = one_pod(BARE, slices(*FOUR), claiming(None), claim())
    assert held.node_selector == {"slackline.io/offers-gpu.nvidia.com": "whole"}
    assert one_node(node("n1", 4), slices(*FOUR)).labels.items() >= held.node_selector.items()
    assert "slackline.io/offers-gpu.nvidia.com" not in one_node(node("n1", 4)).labels


def rule(chosen: Row | None, effect: str = "NoSchedule", name: str = "broken") -> Row:
    spec = {"taint": {"key": "k", "effect": effect}} | ({"deviceSelector": chosen} if chosen is not None else {})
    return thing("devicetaintrules.resource.k8s.io", name, spec=spec)


@pytest.mark.parametrize(
    ("chosen", "failed"),
    [
        ({"driver": DRIVER, "device": "gpu-1"}, [1]),
        ({"device": "gpu-1"}, [1]),
        ({"pool": "n1"}, [0, 1, 2, 3]),
        ({"pool": "n1", "device": "gpu-3"}, [3]),
        ({}, [0, 1, 2, 3]),
        ({"driver": "dra.net"}, []),
        ({"pool": "n2"}, []),
        (None, []),
        ({"deviceClassName": DRIVER}, [0, 1, 2, 3]),
        ({"deviceClassName": DRIVER, "device": "gpu-2"}, [2]),
        ({"deviceClassName": "mig.nvidia.com"}, []),
    ],
)
def test_devices_that_a_rule_taints_have_failed(chosen: Row | None, failed: list[int]) -> None:
    objects = [BARE, slices(*FOUR), rule(chosen)]
    found = one_node(*objects)
    assert [d.index for d in found.devices if d.health == "failed"] == failed
    assert said(*objects) == []
    told = build(document(*objects))
    assert int(told.node_allocatable[0]) == 4 - len(failed)


@pytest.mark.parametrize("effect", ["None", "", "Odd"])
def test_rules_that_bind_nobody_change_nothing(effect: str) -> None:
    objects = [BARE, slices(*FOUR), rule({}, effect)]
    assert [d.health for d in one_node(*objects).devices] == ["ok"] * 4
    assert said(*objects) == []


@pytest.mark.parametrize(
    ("chosen", "detail"),
    [
        (
            {"driver": DRIVER, "selectors": [{"cel": {"expression": "true"}}]},
            f"devices of {DRIVER} chosen by expressions",
        ),
        ({"deviceClassName": "own.example.org"}, "devices of all drivers chosen by class own.example.org"),
    ],
)
def test_rules_that_choose_by_what_is_not_worked_out_are_said(chosen: Row, detail: str) -> None:
    objects = [BARE, slices(*FOUR), rule(chosen)]
    (found,) = read(*objects).unheld
    assert (found.what, found.done, found.name) == ("device_taint", "unread", "broken")
    assert found.detail == f"{detail} are not taken as failed"
    assert [d.health for d in one_node(*objects).devices] == ["ok"] * 4


def test_rules_come_and_go_while_the_cluster_is_followed() -> None:
    """The state is that of a fresh reading after each event; a pod keeps the device that its claim has."""
    things = [BARE, slices(*FOUR), claiming(), claim("g", "gpu-1")]
    reader = fresh(*things)
    tainting = rule({"device": "gpu-1"})
    for rules in ([tainting], [], [rule({"device": "gpu-2"})]):
        reader.replace("devicetaintrules.resource.k8s.io", [decoded(row)[1] for row in rules])
        found = reader.document("c", TAKEN_AT, NOW_S).document
        assert found == document(*things, *rules)
        assert found.pods[0].devices == [1]
    reader.replace("devicetaintrules.resource.k8s.io", [decoded(tainting)[1]])
    use = occupancy(build(reader.document("c", TAKEN_AT, NOW_S).document))
    assert (use.free_gpus.tolist(), use.over_committed_milli.tolist()) == ([3], [0])


def test_slices_that_are_tainted_are_not_offered() -> None:
    parts = [device(f"mig-{i}", f"MIG-{i}", profile="3g.40gb", parentUUID="GPU-0") for i in range(2)]
    found = one_node(BARE, slices(*parts), rule({"deviceClassName": "mig.nvidia.com", "device": "mig-1"}))
    assert [d.mig for d in found.devices] == [[MigRecord(profile="3g.40gb", count=1)]]
