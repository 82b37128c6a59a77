"""What a plan costs, in a few lines for people."""

from typing import Any

HOUR_S = 3600
MIB_PER_GIB = 1024


def price_lines(price: dict[str, Any]) -> list[str]:
    """GPU time in GPU-hours; "no data" for what nobody knows."""
    parts = ("start", "rebuild", "lost", "risk")
    terms = ", ".join(f"{label} {_hours(price[name])}" for name, label in zip(parts, _LABELS, strict=True))
    lines = [f"costs {_hours(price['spent'])} GPU-h: {terms}"]
    if price["waiting"]:
        lines.append(
            f"{_moves(price['waiting'], 'waits', 'wait')} for a checkpoint, else "
            f"{_hours(price['lost_unwaited'])} GPU-h more would be lost"
        )
    elif price["waits"]:
        lines.append(f"{_moves(price['waits'], 'could wait', 'could wait')} for a checkpoint")
    if price["gained"] is not None:
        worth = "no cost" if price["worth"] is None else f"{price['worth']:.1f} times its cost"
        lines.append(
            f"gains {_hours(price['gained'])} GPU-h in {price['gain_s'] / HOUR_S:g} h: {worth}; "
            f"Karpenter's Balanced would take {price['karpenter_takes']} of {price['chains']} chains"
        )
    lines.append(
        f"fetches {_gib(price['image_mib'])} of images at most and {_gib(price['state_mib'])} of state; "
        f"kWh spent at most {_or_no(price['kwh_spent'])}, saved if off {_or_no(price['kwh_saved'])}; "
        f"USD {_or_no(price['usd_spent'])} spent, {_or_no(price['usd_gained'])} gained"
    )
    return lines


_LABELS = ("copies and stops", "cold caches", "lost work", "risk")


def _moves(number: int, one: str, many: str) -> str:
    return f"1 move {one}" if number == 1 else f"{number} moves {many}"


def _hours(gpu_seconds: float) -> str:
    return f"{gpu_seconds / HOUR_S:.2f}"


def _gib(mib: float) -> str:
    return f"{mib / MIB_PER_GIB:.1f} GiB"


def _or_no(amount: float | None) -> str:
    return "no data" if amount is None else f"{amount:.2f}"
