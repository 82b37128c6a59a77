"""The order of a table, as its address asks for it: a word, with a minus in front to turn it round."""

from collections.abc import Collection


def order_of(wanted: str, orders: Collection[str], usual: str = "") -> tuple[str, str]:
    """(the order to use, the word that was asked for and is none).  ``usual`` is the first where it is not given."""
    usual = usual or next(iter(orders))
    return (wanted or usual, "") if not wanted or wanted.removeprefix("-") in orders else (usual, wanted)


def order_words(order: str) -> str:
    """by name; by -free is: by free, descending."""
    return f"by {order.removeprefix('-')}" + (", descending" if order.startswith("-") else "")


def no_order_words(no_order: str, orders: Collection[str]) -> str:
    """For those who asked for rows alone: a file or an answer of the API has no place for a remark."""
    return f"sort: {no_order!r} is no order. There are {', '.join(orders)}, each also with a minus."
