"""Exact money: whole cents outside, whole grains inside; one rounding at the end, against whoever might split for it.

A grain is a hundredth of a cent for one thousandth of a GPU in one second of an hour's price; so seconds, thousandths
of a GPU, cents and per cent multiply to whole grains.
"""

from fractions import Fraction

GRAINS_PER_CENT = 1000 * 3600 * 100  # milli-GPU x seconds of an hour x per cent


def grains(gpu_milli: int, seconds: int, cents_per_gpu_hour: int, percent: int = 100) -> int:
    """What so much GPU time costs at ``percent`` of a price, exactly."""
    return gpu_milli * seconds * cents_per_gpu_hour * percent


def up_to_cents(amount: int) -> int:
    """What is charged: the next whole cent, so that two bills are never less than one of the same GPU time."""
    return -(-amount // GRAINS_PER_CENT)


def down_to_cents(amount: int) -> int:
    """What is given back: the whole cents in it, so that two credits are never more than one."""
    return amount // GRAINS_PER_CENT


def nearest_cents(price: float | Fraction) -> int:
    """A price in whole cents; half a cent goes up."""
    return int((price + Fraction(1, 2)) // 1) if isinstance(price, Fraction) else int((price + 0.5) // 1)


def shared_out(total: int, parts: list[float]) -> list[int]:
    """Whole numbers near ``parts`` that add up to ``total``: the largest rests are rounded up, earlier ones first.

    ``parts`` add up to ``total`` but for floating error.
    """
    low = [int(part // 1) for part in parts]
    rests = sorted(range(len(parts)), key=lambda i: (-(parts[i] - low[i]), i))
    for i in rests[: max(0, total - sum(low))]:
        low[i] += 1
    return low
