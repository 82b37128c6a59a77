"""Plan pictures as bytes and points; no database."""

import struct
from typing import Any

MAGIC = b"SLP1"
CIVIDIS = (
    "#00224e", "#0a2d6b", "#2b3c6d", "#434e6c", "#575c6e", "#696970", "#7c7b78",
    "#8f8978", "#a39a76", "#b9ac70", "#d0be67", "#e7d159", "#fee838",
)  # fmt: skip
COLUMNS = 4  # free before, free after, marks, GPUs of the node


def map_bytes(before: bytes, after: bytes, marks: bytes, gpus: bytes) -> bytes:
    """Little endian: 4s magic, u32 nodes, u8 columns, 7 reserved; then the columns, one byte a node in cell order.

    Free is in per cent of the node's GPUs, 255 no data; marks: bit 0 emptied, bit 1 receives, bit 2 gives.
    """
    head = struct.pack("<4sIB7x", MAGIC, len(before), COLUMNS)
    return head + bytes(before) + bytes(after) + bytes(marks) + bytes(gpus)


def curve(points: list[list[int]], headline: dict[str, Any]) -> dict[str, Any]:
    """Net emptied nodes, or what is reached of the goal, by moves kept, with the bound."""
    goal = headline.get("goal")
    return {
        "points": points,
        "moves": headline.get("moves", 0),
        "net": goal["reached"] if goal else headline.get("net_emptied", 0),
        "unit": goal["unit"] if goal else "nodes",
        "bound": headline.get("net_upper"),
        "proven": headline.get("proven", False),
    }


SURVIVAL = (320, 96)  # width and height of the curve, in units of its own


def survival(points: list[tuple[float, float]]) -> dict[str, Any]:
    """The share of emptied nodes that is still empty, as a stair over time; ``path`` for SVG."""
    width, height = SURVIVAL
    last = points[-1][0] or 1.0
    path, share = f"M0 {_level(points[0][1], height)}", points[0][1]
    for at, now in points[1:]:
        path += f"H{round(width * at / last, 1)}"
        if now != share:
            path += f"V{_level(now, height)}"
            share = now
    return {"path": path, "width": width, "height": height, "middle": _level(0.5, height), "seconds": points[-1][0]}


def _level(share: float, height: int) -> float:
    return round(2 + (height - 4) * (1 - share), 1)


def ramp() -> list[dict[str, str]]:
    """Stops of the colour scale for a legend in SVG."""
    last = len(CIVIDIS) - 1
    return [{"offset": f"{place / last:.4f}", "colour": colour} for place, colour in enumerate(CIVIDIS)]
