"""``generate``: every named world of docs/worlds.md by one call."""

from collections.abc import Sequence

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import Document
from scheduler.worlds.asi import asi_world, uniform_world
from scheduler.worlds.marginals import FLEET_NODES
from scheduler.worlds.recipe import RECIPES, named_world
from scheduler.worlds.shapes import Shape

FULL_SIZE = 20_000
DEMO_SIZE = 2_000
WORLDS = (*RECIPES, "asi", "fleet", "uniform8")
LARGEST = 1_000_000


def generate(
    world: str, *, nodes: int | None, seed: int, hour: int = 0, shapes: Sequence[Shape] | None = None
) -> Document:
    """The world of that name.  Equal arguments give an equal document.

    ``nodes`` None is the world's own size; ``hour`` 0-23 is the time of day of its standby curve; ``shapes`` are the
    pods of a trace to draw from.  Raises InputError, whose path names the argument.
    """
    _check(world, nodes, seed, hour)
    taken_at = f"2026-01-01T{hour:02d}:00:00Z"
    if world == "fleet":
        return asi_world(FLEET_NODES, seed, hour, taken_at)
    if world == "asi":
        return asi_world(nodes or DEMO_SIZE, seed, hour, taken_at)
    if world == "uniform8":
        return uniform_world(nodes or FULL_SIZE, seed, hour, taken_at)
    return named_world(world, nodes or FULL_SIZE, seed, taken_at, shapes)


def _check(world: str, nodes: int | None, seed: int, hour: int) -> None:
    if world not in WORLDS:
        raise InputError("world", world, f"unknown world; there are {', '.join(WORLDS)}")
    if nodes is not None and not 1 <= nodes <= LARGEST:
        raise InputError("nodes", nodes, f"must be 1 to {LARGEST}")
    if world == "fleet" and nodes not in (None, FLEET_NODES):
        raise InputError("nodes", nodes, f"the fleet has {FLEET_NODES} nodes; world asi has its shape at any size")
    if seed < 0:
        raise InputError("seed", seed, "must not be negative")
    if not 0 <= hour <= 23:
        raise InputError("hour", hour, "must be 0 to 23")
