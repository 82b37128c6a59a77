"""Rows as figures; no database.  A policy has the same colour and the same mark in every picture."""

from collections.abc import Mapping, Sequence
from typing import Any

from console.simulation.choices import FIGURES, UPWARD

TONES = ("hp", "lp", "usable", "standby", "stranded", "cpu", "down", "other")
MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "pentagon", "x")
DAY_S = 86_400


def looks(policies: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Name, tone and mark, in the order of the study."""
    return [
        {"name": one["name"], "tone": TONES[at % len(TONES)], "mark": MARKS[at % len(MARKS)]}
        for at, one in enumerate(policies)
    ]


def lines(policies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Allocation over time, in per cent of GPUs that are up; days of the virtual clock."""
    return {
        "policies": [
            {
                **look,
                "days": [round(at / DAY_S, 3) for at in one["series"]["at_s"]],
                "hp": [round(100 * value, 2) for value in one["series"]["hp"]],
                "hp_lp": [round(100 * value, 2) for value in one["series"]["hp_lp"]],
                "waiting": one["series"]["waiting_gpus"],
            }
            for look, one in zip(looks(policies), policies, strict=True)
        ]
    }


def points(
    policies: Sequence[Mapping[str, Any]],
    x: str,
    y: str,
    on: Sequence[str],
    apart: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Two figures of each policy, and the front in order of x.

    ``apart``: policy -> intervals of its differences from another one, seed by seed; these are its bars.
    """
    rows = [
        {
            **look,
            "x": one["figures"][x]["mean"],
            "y": one["figures"][y]["mean"],
            "x_half": _half(apart.get(one["name"]), x),
            "y_half": _half(apart.get(one["name"]), y),
            "front": one["name"] in on,
        }
        for look, one in zip(looks(policies), policies, strict=True)
        if one["figures"][x]["mean"] is not None and one["figures"][y]["mean"] is not None
    ]
    return {
        "points": rows,
        "front": sorted((row["x"], row["y"]) for row in rows if row["front"]),
        "x": {"label": FIGURES[x][0], "up": x in UPWARD, "unit": unit_of(x)},
        "y": {"label": FIGURES[y][0], "up": y in UPWARD, "unit": unit_of(y)},
    }


def _half(differences: Mapping[str, Any] | None, figure: str) -> float:
    """Half of the interval; 0 where there is none, and of the policy that is compared with itself."""
    found = None if differences is None else differences[figure]
    return 0.0 if found is None or found["low"] is None else float(found["mean"] - found["low"])


def parallel(policies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All five, each from the worst (0) to the best (1) of these policies; where all are alike they stand at 1."""
    axes = []
    for figure, (label, _) in FIGURES.items():
        known = [one["figures"][figure]["mean"] for one in policies if one["figures"][figure]["mean"] is not None]
        worst, best = (min, max) if figure in UPWARD else (max, min)
        axes.append(
            {
                "label": label,
                "unit": unit_of(figure),
                "worst": worst(known, default=None),
                "best": best(known, default=None),
            }
        )
    return {
        "axes": axes,
        "policies": [
            {
                **look,
                "means": [one["figures"][figure]["mean"] for figure in FIGURES],
                "places": [
                    _place(one["figures"][figure]["mean"], axis) for figure, axis in zip(FIGURES, axes, strict=True)
                ],
            }
            for look, one in zip(looks(policies), policies, strict=True)
        ],
    }


def _place(mean: float | None, axis: Mapping[str, Any]) -> float | None:
    if mean is None:
        return None
    span = axis["best"] - axis["worst"]
    return 1.0 if not span else round((mean - axis["worst"]) / span, 4)


def unit_of(figure: str) -> str:
    """How a figure of the trade-off is written."""
    if figure == "utilisation":
        return "share"
    return "seconds" if figure.endswith("_s") else "plain"
