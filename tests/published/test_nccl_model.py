"""The constants of the model of collectives are those of the published table, one by one."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scheduler.performance import fabrics


@cache
def hardware(name: str) -> Any:
    root = os.environ.get("SLACKLINE_SHARED")
    assert root, "set SLACKLINE_SHARED to the directory that holds data/hardware"
    return json.loads((Path(root) / "data" / "hardware" / name).read_text())


def test_latencies_are_those_of_the_table() -> None:
    told = hardware("nccl_model.json")
    for algorithm in (fabrics.RING, fabrics.TREE):
        base = [told["base_lat_us"][algorithm][protocol] for protocol in fabrics.PROTOCOLS]
        assert list(fabrics.BASE_LATENCY_US[algorithm]) == base
        for where, hops in fabrics.HOP_LATENCY_US.items():
            assert list(hops[algorithm]) == told["hw_lat_us"][where][algorithm]


def test_bandwidths_are_those_of_the_table() -> None:
    told = hardware("nccl_model.json")
    assert {f"SM{key}": value for key, value in fabrics.LINK_GB_PER_S.items()} == told["nvlink_gbs_per_link"]
    assert (told["pci_gbs"], told["net_100g_gbs"]) == (fabrics.PCI_GB_PER_S, fabrics.NET_GB_PER_S)
    assert list(fabrics.NVLS_EFFICIENCY.values()) == [told["nvls_eff"][name] for name in ("Hopper", "Blackwell")]
    trees = {80: "Ampere", 90: "Hopper"}
    for capability, most in fabrics.MOST_TREE_GB_PER_S.items():
        assert list(most) == told["perChMaxTree"][trees[capability]]


def test_the_gain_of_one_switch_is_that_of_the_study() -> None:
    gain = hardware("fabrics.json")["asi"]["same_asw_allreduce"]
    assert pytest.approx(float(gain.strip("+ %")) / 100) == fabrics.SAME_SWITCH_GAIN
