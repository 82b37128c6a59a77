"""Parents of tenants: everybody has at most one, and nobody is their own ancestor."""

from collections.abc import Mapping


def circles(parents: Mapping[str, str | None]) -> list[tuple[str, ...]]:
    """Every circle of parents, each from its smallest name upwards; parents that are not keys end a line."""
    found: list[tuple[str, ...]] = []
    done: set[str] = set()
    for start in parents:
        line: list[str] = []
        here: str | None = start
        while here is not None and here in parents and here not in done:
            done.add(here)
            line.append(here)
            here = parents[here]
        if here is not None and here in line:
            circle = line[line.index(here) :]
            first = circle.index(min(circle))
            found.append((*circle[first:], *circle[:first]))
    return sorted(found)


def told(circle: tuple[str, ...]) -> str:
    return " < ".join((*circle, circle[0]))
