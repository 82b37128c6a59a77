"""How many slices a device holds, against what NVIDIA publishes.

Sources: Multi-Instance GPU User Guide, release 610 (tables of A30 and A100, greatest number of instances of all models,
memory), and the configurations that NVIDIA mig-parted ships (``config-default.yaml``), which name the number of
slices of each profile for every other model.  RTX PRO 4500: the vGPU types of NVIDIA AI Enterprise 8.
"""

import pytest

from scheduler.kubernetes.accelerators import accelerator, per_device, weight
from tests.scheduler.kubernetes.things import node, one_node, said

SEVENTHS = {"1g": 7, "1g wide": 4, "2g": 3, "3g": 2, "4g": 1, "7g": 1}
# model label -> GB in the names of 1g, 1g wide, 2g, 3g, 4g, 7g; several names where releases differ
SIZES = {
    "NVIDIA-A100-SXM4-40GB": [(5, 10, 10, 20, 20, 40)],
    "NVIDIA-A800-SXM4-40GB": [(5, 10, 10, 20, 20, 40)],
    "NVIDIA-A100-SXM4-80GB": [(10, 20, 20, 40, 40, 80)],
    "NVIDIA-A100-80GB-PCIe": [(10, 20, 20, 40, 40, 80)],
    "NVIDIA-H100-80GB-HBM3": [(10, 20, 20, 40, 40, 80)],
    "NVIDIA-H100-PCIe": [(10, 20, 20, 40, 40, 80)],
    "NVIDIA-H100-NVL": [(12, 24, 24, 47, 47, 94)],
    "NVIDIA-H800-NVL": [(12, 24, 24, 47, 47, 94)],
    "NVIDIA-H20": [(12, 24, 24, 48, 48, 96)],
    "NVIDIA-GH200-480GB": [(12, 24, 24, 48, 48, 96)],
    "NVIDIA-GH200-144G-HBM3e": [(18, 36, 36, 72, 72, 144)],
    "NVIDIA-H200": [(18, 35, 35, 71, 71, 141)],
    "NVIDIA-H200-NVL": [(18, 35, 35, 71, 71, 141)],
    "NVIDIA-B200": [(23, 45, 45, 90, 90, 180)],
    "NVIDIA-GB200": [(23, 47, 47, 93, 93, 186), (24, 47, 47, 95, 95, 189)],
}
TABLE = [
    (model, f"{kind.split()[0]}.{size}gb", number)
    for model, rows in SIZES.items()
    for sizes in rows
    for (kind, number), size in zip(SEVENTHS.items(), sizes, strict=True)
]
QUARTERS = [("1g.6gb", 4), ("2g.12gb", 2), ("4g.24gb", 1), ("1g.6gb+me", 1), ("2g.12gb+me", 1), ("1g.6gb.me", 1)]
TABLE += [("NVIDIA-A30", profile, number) for profile, number in QUARTERS]
TABLE += [
    ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", profile, number)
    for profile, number in (
        ("1g.24gb", 4), ("1g.24gb+gfx", 4), ("1g.24gb-me", 4), ("1g.24gb+me.all", 1), ("2g.48gb", 2), ("2g.48gb-me", 2),
        ("2g.48gb+gfx", 2), ("2g.48gb+me.all", 1), ("4g.96gb", 1), ("4g.96gb+gfx", 1),
    )
]  # fmt: skip
TABLE += [("NVIDIA-RTX-PRO-4500-Blackwell", profile, number) for profile, number in (("1g.16gb", 2), ("2g.32gb", 1))]
TABLE += [("NVIDIA-A100-SXM4-40GB", "1g.5gb+me", 1), ("NVIDIA-H200", "1g.18gb.me", 1)]
# Greatest numbers of instances by the table of supported GPUs, where no profile is listed
MOST = [("NVIDIA-RTX-PRO-5000-Blackwell", "1g.24gb", 2), ("NVIDIA-RTX-PRO-5000-Blackwell", "2g.48gb", 1)]


@pytest.mark.parametrize(("model", "profile", "number"), [*TABLE, *MOST])
def test_as_many_slices_as_published(model: str, profile: str, number: int) -> None:
    assert per_device(profile, model) == number


@pytest.mark.parametrize(
    ("model", "profiles"),
    [  # mig-parted's "balanced"
        ("NVIDIA-GB200", {"1g.24gb": 2, "2g.47gb": 1, "3g.95gb": 1}),
        ("NVIDIA-B200", {"1g.23gb": 2, "2g.45gb": 1, "3g.90gb": 1}),
        ("NVIDIA-H200", {"1g.18gb": 2, "2g.35gb": 1, "3g.71gb": 1}),
        ("NVIDIA-H100-NVL", {"1g.12gb": 2, "2g.24gb": 1, "3g.47gb": 1}),
        ("NVIDIA-A100-SXM4-40GB", {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}),
        ("NVIDIA-A30", {"1g.6gb": 2, "2g.12gb": 1}),
        ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", {"1g.24gb": 2, "2g.48gb": 1}),
    ],
)
def test_balanced_devices_are_counted_as_one_each(model: str, profiles: dict[str, int]) -> None:
    assert all(weight(profile, model) for profile in profiles)
    row = node(
        "n1",
        0,
        labels={"nvidia.com/gpu.product": model},
        capacity={f"nvidia.com/mig-{profile}": str(4 * number) for profile, number in profiles.items()},
    )
    found = one_node(row)
    assert (found.gpus, said(row)) == (4, [])
    assert [{part.profile: part.count for part in device.mig} for device in found.devices] == [profiles] * 4


def test_slices_with_media_engines_lie_on_a_device_each() -> None:
    """One of a device has them, so that four of these are four devices, whatever else has room beside."""
    labels = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}
    row = node("n1", 0, labels=labels, capacity={"nvidia.com/mig-1g.5gb.me": "4", "nvidia.com/mig-1g.5gb": "24"})
    assert one_node(row).gpus == 4
    alone = node("n1", 2, labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb.me"})
    assert one_node(alone).gpus == 2


def test_slices_without_media_engines_are_slices() -> None:
    told = accelerator("nvidia.com/mig-1g.24gb-me")
    assert told is not None
    assert (told.sort, told.profile) == ("slice", "1g.24gb-me")
