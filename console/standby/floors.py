"""The floor of the LP price, on which rebates rest: whoever keeps prices registers what it knows of it."""

from collections.abc import Callable

FloorOf = Callable[[str], int | None]  # GPU model -> US cents of a GPU-hour, None where there is none
_registered: list[FloorOf] = []


def register(source: FloorOf) -> None:
    if _registered:
        raise ValueError("floors are registered twice")
    _registered.append(source)


def floor_of(gpu_model: str) -> int | None:
    """None: nobody says, so what a rebate would be is not known."""
    return _registered[0](gpu_model) if _registered else None
