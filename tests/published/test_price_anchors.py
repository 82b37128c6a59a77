"""Anchors are what the published tables say, and what these do not say has none."""

import csv
import os
from pathlib import Path

import pytest

from scheduler.pricing.anchors import ANCHORS, anchor


def rows(name: str) -> list[dict[str, str]]:
    shared = os.environ.get("SLACKLINE_SHARED")
    assert shared, "set SLACKLINE_SHARED to the directory that holds data/prices"
    path = Path(shared) / "data" / "prices" / name
    return list(csv.DictReader(path.read_text().splitlines()))


def published(model: str) -> list[tuple[float, float]]:
    """(lowest, highest) US dollars on demand that each row of one model names; others in other money are left out."""
    found = []
    for row in rows("gpu_hour_ranges.csv"):
        ends = row["usd_per_gpu_hour"].split("-")
        if row["gpu"] == model and row["kind"] == "on-demand" and "CNY" not in row["usd_per_gpu_hour"]:
            found.append((float(ends[0]), float(ends[-1])))
    for row in rows("aws_gpu_spot_snapshot.csv"):
        if row["gpu"] == model:
            found.append((float(row["on_demand_per_gpu"]),) * 2)
    return found


@pytest.mark.parametrize("name", sorted(ANCHORS))
def test_each_anchor_is_an_end_of_a_published_range(name: str) -> None:
    cents = ANCHORS[name].cents
    ends = {round(end * 100 + slack) for one in published(name.replace(" ", "-")) for end in one for slack in (0, 0.5)}
    assert cents in ends, sorted(ends)


def test_what_was_not_found_has_no_anchor() -> None:
    unknown = [row["gpu"] for row in rows("gpu_hour_ranges.csv") if not row["usd_per_gpu_hour"]]
    assert unknown and [anchor(gpu) for gpu in unknown] == [None] * len(unknown)


def test_every_published_spot_price_lies_between_our_floor_and_on_demand() -> None:
    """The floor of 10 % is that of the deepest published discounts; as high as on demand is a real state."""
    shares = [float(row["spot_per_gpu"]) / float(row["on_demand_per_gpu"]) for row in rows("aws_gpu_spot_snapshot.csv")]
    assert min(shares) + 0.005 >= 0.10 and max(shares) <= 1
    shares.sort()
    assert 0.25 <= shares[len(shares) // 2] <= 0.40  # the neutral 30 %
