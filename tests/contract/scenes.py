"""A console with something of everything in it, small or large."""

from dataclasses import dataclass

from console.audit.services import record
from console.plans.models import Plan
from tests.builders.fleets import read
from tests.builders.people import operator
from tests.builders.worlds import World, world
from tests.console.plans.scene import move, scene


@dataclass(frozen=True)
class Filled:
    """``world`` is observed and measured, ``plan`` is proposed on it and moves every pod but one."""

    plan: Plan
    revision: int


def filled(size: int, name: str) -> Filled:
    one = scene(_world(size), name)
    observation = read(one.source)
    moves = (move(f"p{k:03}", f"n{k:03}", "t", k) for k in range(size))
    plan = one.plan(*moves, user=operator("asker"))
    for k in range(size):
        record(actor=operator("asker"), action="source.loaded", target_kind="source", target_id=str(k))
    return Filled(plan, observation.revision)


def _world(size: int) -> World:
    made = world().node("t", 200, gpu_model="BIG").pod("z", "t", 1, locked=True)
    for k in range(size):
        made = made.asw(f"asw-{k // 4}").node(f"n{k:03}", 8, gpu_model="BIG")
        made = made.pod(f"p{k:03}", f"n{k:03}", 1, tenant="team-a" if k % 2 else "team-b")
    return made
