"""Accelerators of the vendors: what their resource names mean, and which node labels tell model, number and memory.

Sources: NVIDIA k8s-device-plugin and GPU feature discovery; AMD's device plugin and node labeller; Intel's device
plugins; Huawei MindCluster's Ascend device plugin; Cambricon's device plugin.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Sort = Literal["whole", "slice", "share"]
GIB = 1024  # MiB
SHARED_SUFFIX = ".shared"


@dataclass(frozen=True, slots=True)
class Vendor:
    """``whole`` are patterns of resources that count devices; ``slices`` tell the profile of part of a device."""

    name: str
    whole: str
    slices: str = ""
    models: tuple[str, ...] = ()  # node labels
    counts: tuple[str, ...] = ()
    replicas: tuple[str, ...] = ()
    memory: str = ""  # node label, read as MiB, or as GiB where it ends in G
    shares: str = ""  # resources that are parts of no fixed size, or that come beside others
    model_prefix: str = ""


VENDORS = (
    Vendor(
        name="nvidia",
        whole=r"nvidia\.com/gpu(\.shared)?",
        slices=r"nvidia\.com/mig-([0-9a-z.+-]+?)(\.shared)?",
        models=("nvidia.com/gpu.product",),
        counts=("nvidia.com/gpu.count",),
        replicas=("nvidia.com/gpu.replicas",),
        memory="nvidia.com/gpu.memory",
        shares=r"nvidia\.com/(gpumem|gpucores|gpumem-percentage|priority)|volcano\.sh/vgpu-(number|memory|cores)",
    ),
    Vendor(
        name="amd",
        whole=r"amd\.com/(gpu|spx_nps[0-9])",
        slices=r"amd\.com/((?:dpx|tpx|qpx|cpx)_nps[0-9])",
        models=("amd.com/gpu.product-name", "beta.amd.com/gpu.product-name"),
        memory="amd.com/gpu.vram",
    ),
    Vendor(
        name="intel",
        whole=r"gpu\.intel\.com/(i915|xe)",
        models=("gpu.intel.com/product",),
        counts=("gpu.intel.com/device.count",),
        model_prefix="Intel-",
    ),
    Vendor(name="habana", whole=r"habana\.ai/gaudi"),
    Vendor(
        name="ascend",
        whole=r"huawei\.com/(Ascend(?:910|310|310P|910A|910B[0-9]?(?:-1)?|910C)|npu)",
        slices=r"huawei\.com/(Ascend(?:910|310P)-[0-9]+c(?:\.[0-9a-z.]+)?)",
        models=("node.kubernetes.io/npu.chip.name",),
        shares=r"huawei\.com/Ascend[0-9A-Z-]+-(memory|core)",
        model_prefix="Ascend",
    ),
    Vendor(
        name="cambricon",
        whole=r"cambricon\.com/(mlu[0-9]*(?:-[a-z0-9]+)?)",
        slices=r"cambricon\.com/mlu[0-9]*(?:-[a-z0-9]+)?\.mim-([0-9a-z.]+)",
        shares=r"cambricon\.com/mlu[0-9]*(?:-[a-z0-9]+)?\.(share|vcore|vmemory|smlu[a-z.]*)",
    ),
)
# Sharers of other layers: a pod that asks for them holds an unknown part of a device.
FOREIGN_SHARES = re.compile(
    r"aliyun\.com/gpu-mem|koordinator\.sh/gpu.*|tencent\.com/vcuda-.*|elasticgpu\.io/.*|nos\.nebuly\.com/.*"
)
# Units of one whole device.  Sources: koordinator's and Tencent's gpu-manager documents
_PERCENT = re.compile(r"koordinator\.sh/gpu(-core|-memory-ratio)?|tencent\.com/vcuda-core")
_SPREAD_EVENLY = "aliyun.com/gpu-mem"  # the memory of all devices of a node
_READERS = [
    (vendor, re.compile(vendor.whole), re.compile(vendor.slices or r"(?!)"), re.compile(vendor.shares or r"(?!)"))
    for vendor in VENDORS
]


@dataclass(frozen=True, slots=True)
class Accelerator:
    """What one resource name means; ``model`` is what the name itself tells of it."""

    resource: str
    vendor: str
    sort: Sort
    profile: str = ""
    model: str = ""


@lru_cache(maxsize=4096)
def accelerator(resource: str) -> Accelerator | None:
    """None for resources that are no accelerators."""
    if "/" not in resource:
        return None
    for vendor, whole, slices, shares in _READERS:
        if found := whole.fullmatch(resource):
            return Accelerator(resource, vendor.name, "whole", model=_model(vendor, found))
        if found := slices.fullmatch(resource):
            return Accelerator(resource, vendor.name, "slice", profile=found[1])
        if shares.fullmatch(resource):
            return Accelerator(resource, vendor.name, "share")
    return Accelerator(resource, "other", "share") if FOREIGN_SHARES.fullmatch(resource) else None


def units_of(resource: str, capacity: int, gpus: int) -> int | None:
    """How many units of a foreign share make a whole device of a node that has ``gpus`` and ``capacity`` units."""
    if _PERCENT.fullmatch(resource):
        return 100
    return capacity // gpus or None if resource == _SPREAD_EVENLY and gpus else None


def _model(vendor: Vendor, found: re.Match[str]) -> str:
    word = found[1] or "" if found.re.groups else ""
    if vendor.name == "ascend":
        return "Ascend" if word == "npu" else word
    if vendor.name == "cambricon":
        return word.upper()
    return {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel", "habana": "Gaudi"}[vendor.name]


BY_NAME = {vendor.name: vendor for vendor in VENDORS}
MODEL_LABELS = tuple(label for vendor in VENDORS for label in vendor.models)
_MIG = re.compile(r"-MIG-(.+)$")


@dataclass(frozen=True, slots=True)
class Product:
    """A product label taken apart: ``A100-SXM4-40GB-MIG-1g.5gb-SHARED``."""

    model: str
    profile: str = ""
    shared: bool = False


@lru_cache(maxsize=4096)
def product(label: str) -> Product:
    shared = label.endswith("-SHARED")
    name = label.removesuffix("-SHARED")
    found = _MIG.search(name)
    return Product(name[: found.start()] if found else name, found[1] if found else "", shared)


def model_of(vendor: Vendor, labels: Mapping[str, str]) -> Product | None:
    """The model that a node's labels tell."""
    for label in vendor.models:
        if text := labels.get(label, "").strip():
            found = product(text)
            known = found.model.startswith(vendor.model_prefix)
            return found if known else Product(vendor.model_prefix + found.model, found.profile, found.shared)
    return None


def memory_of(vendor: Vendor, labels: Mapping[str, str]) -> int | None:
    """MiB of each device."""
    text = labels.get(vendor.memory, "").strip() if vendor.memory else ""
    digits = text.removesuffix("G")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 12) or not int(digits):
        return None
    return int(digits) * (GIB if text.endswith("G") else 1)


_SLICE = re.compile(r"(?:[0-9]{1,3}c\.)?([0-9]{1,3})g\.([0-9]{1,5})gb(?:[+.-].*)?")
_MEDIA = re.compile(r"[+.]me(\.all)?$")  # with the media engines, of which one slice of a device has them
_GIGABYTES = re.compile(r"([0-9]{1,6})GB")
# GiB of models whose label names no size, or (GH200) that of another memory.  Sources: NVIDIA MIG User Guide 610, table
# of supported GPUs; GH200-144 by the profiles of NVIDIA mig-parted; B300 between the 269 and 278 that drivers name.
_SIZES = tuple(
    (re.compile(pattern), size)
    for pattern, size in (
        (r"GH200-144", 144),
        (r"GH200", 96),
        (r"H200", 141),
        (r"H[18]00-NVL", 94),
        (r"H[18]00(-PCIe)?$", 80),
        (r"H20$", 96),
        (r"GB200", 186),
        (r"B200", 180),
        (r"G?B300", 275),
        (r"A30$", 24),
        (r"RTX-PRO-6000", 96),
        (r"RTX-PRO-5000(?!-72GB)", 48),
        (r"RTX-PRO-4500", 32),
    )
)
_QUARTERED = re.compile(r"A30|RTX-PRO-6000")
_HALVED = re.compile(r"RTX-PRO-(5000|4500)")
_EIGHTHS = {2: 2, 3: 4, 4: 4, 7: 8}  # memory slices by compute slices; a single one may have one or two
_PARTS = {"dpx": 2, "tpx": 3, "qpx": 4, "cpx": 8}
_CORES = {"Ascend310P": 8, "Ascend910": 32}


def gigabytes_of(model: str) -> int:
    """GiB of a whole device, 0 where its name does not tell."""
    known = next((size for pattern, size in _SIZES if pattern.search(model)), 0)
    named = _GIGABYTES.search(model)
    return known or (int(named[1]) if named else 0)


def weight(profile: str, model: str, memory_mib: int | None = None) -> tuple[int, int] | None:
    """Compute and memory slices that a profile takes of a device of (7, 8), or of (n, n) where parts are equal.

    MIG: seven compute and eight memory slices, four of each on some.  ``memory_mib`` of a whole device goes before what
    its name tells.  None for profiles that say nothing of it, and for one compute slice of a device of unknown size.
    """
    if found := _SLICE.fullmatch(profile):
        compute, whole = int(found[1]), memory_mib / GIB if memory_mib else gigabytes_of(model)
        eighths = device(profile, model)[1]
        if whole:  # profiles are named by rounded sizes: 3g.71gb of 141 GB is four eighths
            return compute, max(round(int(found[2]) * eighths / whole), 1)
        known = _EIGHTHS.get(compute)
        return None if known is None else (compute, known)
    if profile[:3] in _PARTS:
        return 1, 1
    if found := re.match(r"(Ascend\d+P?)-([0-9]{1,4})c", profile):
        return int(found[2]), int(found[2])
    if found := re.match(r"([0-9]{1,4})m\.", profile):
        return int(found[1]), int(found[1])
    return None


def device(profile: str, model: str) -> tuple[int, int]:
    """Compute and memory slices of one whole device that is cut into such profiles."""
    if profile[:3] in _PARTS:
        parts = 6 if profile.startswith("cpx") and "MI300A" in model else _PARTS[profile[:3]]
        return parts, parts
    if profile.startswith("Ascend"):
        cores = _CORES.get(profile.partition("-")[0], 32)
        return cores, cores
    if re.match(r"[0-9]+m\.", profile):
        return 4, 4
    if _HALVED.search(model):
        return 2, 2
    return (4, 4) if _QUARTERED.search(model) else (7, 8)


def alone(profile: str) -> bool:
    """No other slice of this profile fits on the same device, whatever room is left."""
    return _MEDIA.search(profile) is not None


def per_device(profile: str, model: str, memory_mib: int | None = None) -> int | None:
    """How many slices of one profile a device holds at most."""
    taken = weight(profile, model, memory_mib)
    if alone(profile):
        return 1
    if taken is None or not all(taken):
        return None
    return max(1, min(have // need for have, need in zip(device(profile, model), taken, strict=True)))


def likely_per_device(profile: str, slices: int) -> int | None:
    """The number per device that so many slices tell where sizes do not: 32 cannot lie by sevens, but by fours."""
    found = _SLICE.fullmatch(profile)
    fitting = [n for n in (7, 4) if slices % n == 0] if found and found[1] == "1" and slices else []
    return fitting[0] if len(fitting) == 1 else None
