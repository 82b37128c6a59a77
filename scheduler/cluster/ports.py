"""Host ports: which two cannot be had on one node.

A number is the port for every protocol and address.  A text may name both: ``10.0.0.1:53/UDP``, ``[fd00::1]:53/UDP``,
``*:53/UDP`` for all addresses, ``10.0.0.1:53`` for all protocols.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

Given = int | str
HIGHEST = 65_535
_TEXT = re.compile(r"(?:(\*|\[[0-9A-Fa-f:.]+\]|[0-9.]+):)?([0-9]{1,5})(?:/([A-Z]+))?", re.ASCII)
_ALL = ("*", "0.0.0.0", "[::]")


class Port(NamedTuple):
    """``""`` for every protocol, or every address."""

    number: int
    protocol: str = ""
    address: str = ""


@lru_cache(maxsize=65_536)
def port_of(given: Given) -> Port:
    """Raises ``ValueError`` with the reason."""
    if isinstance(given, int):
        found = Port(given)
    elif (match := _TEXT.fullmatch(given)) is not None and (match[1] or match[3]):
        address = (match[1] or "*").lower()
        found = Port(int(match[2]), match[3] or "", "" if address in _ALL else address)
    else:
        raise ValueError("expected a port, or ADDRESS:PORT/PROTOCOL")
    if not 1 <= found.number <= HIGHEST:
        raise ValueError(f"must be from 1 to {HIGHEST}")
    return found


def collide(one: Given, other: Given) -> bool:
    """Whether two pods cannot have these on one node."""
    a, b = port_of(one), port_of(other)
    pairs = ((a.protocol, b.protocol), (a.address, b.address))
    return a.number == b.number and all(x == y or not (x and y) for x, y in pairs)


def in_conflict(held: Sequence[tuple[int, Given]]) -> set[int]:
    """Of pods with a port each, those that collide with another pod."""
    by_number: dict[int, list[tuple[int, Given]]] = defaultdict(list)
    for pod, given in held:
        by_number[port_of(given).number].append((pod, given))
    return {
        pod
        for beside in by_number.values()
        for (p, one), (q, other) in combinations(beside, 2)
        if p != q and collide(one, other)
        for pod in (p, q)
    }


def tokens(known: Iterable[Given]) -> dict[Given, tuple[int, ...]]:
    """Numbers for each port such that two ports have one in common where they collide, and only there.

    One for the port itself, and one for every other port with which it collides.
    """
    by_number: dict[int, list[Given]] = defaultdict(list)
    for given in dict.fromkeys(known):
        by_number[port_of(given).number].append(given)
    found: dict[Given, list[int]] = {}
    count = 0
    for alike in by_number.values():
        for given in alike:
            found[given] = [count]
            count += 1
        for one, other in combinations(alike, 2):
            if collide(one, other):
                found[one].append(count)
                found[other].append(count)
                count += 1
    return {given: tuple(numbers) for given, numbers in found.items()}
