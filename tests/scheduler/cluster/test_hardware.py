"""Model names as clusters write them."""

import pytest

from scheduler.cluster.hardware import accelerator


@pytest.mark.parametrize(
    ("name", "model", "memory_gb", "power_watts"),
    [
        ("H100-SXM5-80GB", "H100 SXM", 80, 700),
        ("NVIDIA-A100-SXM4-80GB", "A100 SXM 80 GB", 80, 400),
        ("NVIDIA A100-PCIE-40GB", "A100 PCIe 40 GB", 40, 250),
        ("A100", "A100", None, None),
        ("a10", "A10", 24, 150),
        ("Tesla T4", "T4", 16, 70),
        ("V100M32", "V100 32 GB", 32, None),
        ("XPU-A", "XPU-A", 192, None),
    ],
)
def test_names_that_are_known(name: str, model: str, memory_gb: int | None, power_watts: int | None) -> None:
    found = accelerator(name)
    assert found is not None
    assert (found.model, found.memory_gb, found.power_watts) == (model, memory_gb, power_watts)


@pytest.mark.parametrize("name", ["", "G2", "H1000", "A1", "TPU v5e"])
def test_what_nobody_knows_stays_unknown(name: str) -> None:
    assert accelerator(name) is None
