"""Runs of spot worlds, reduced to a few numbers each, so that ten seeds fit into memory."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from scheduler.performance.exit_times import ExitLaw
from scheduler.replay.clairvoyant import most_lent
from scheduler.replay.loop import replay
from scheduler.replay.rules import Rules, Ways
from scheduler.replay.spot_figures import Shown, recalled, shown
from scheduler.replay.spot_rules import SPOT_RULES
from scheduler.replay.spot_world import HP_ALONE, base_of, hp_alone, spot_world, storm

RESUME_S = 5.0
LATE_S = 1
SHARES = (0.1, 0.5, 1.0)
AFTER_S = 900  # how long a storm is watched


@dataclass(frozen=True, slots=True)
class Figures:
    """One policy on one world, seed and demand.  Hours, GPU-hours, seconds, shares of 1."""

    kept_of_bound: float
    run_of_bound: float
    lost: float
    allocation_hp: float
    allocation: float
    standby: float
    completion_s: float
    waited_s: float
    eviction_rate: float
    hp_p90_s: float
    hp_late: float
    error: float  # median over evictions
    errors: int
    recalled_s: tuple[int, ...]
    grounds: dict[str, int]


def without_lp(name: str, seed: int, exits: ExitLaw = "paper") -> Figures:
    return _figures(shown(hp_alone(base_of(name, seed)), HP_ALONE, Ways(exits=exits, resume_s=RESUME_S)), 0.0)


def policies(name: str, seed: int, demand: float, words: Iterable[str], exits: ExitLaw = "paper") -> dict[str, Figures]:
    """All on the same arrivals."""
    world = spot_world(name, seed, demand)
    bound, ways = most_lent(world), Ways(exits=exits, resume_s=RESUME_S)
    return {word: _figures(shown(world, SPOT_RULES[word], ways), bound) for word in words}


def _figures(one: Shown, bound: float) -> Figures:
    delay = one.hp_delay_s
    return Figures(
        kept_of_bound=one.kept / bound if bound else 0.0,
        run_of_bound=one.run / bound if bound else 0.0,
        lost=one.lost,
        allocation_hp=one.allocation_hp,
        allocation=one.allocation,
        standby=one.standby or 0.0,
        completion_s=one.completion_s,
        waited_s=one.waited_s,
        eviction_rate=one.eviction_rate,
        hp_p90_s=float(np.quantile(delay, 0.9)),
        hp_late=float((delay > LATE_S).mean()),
        error=float(np.median(one.errors)) if one.errors else 0.0,
        errors=len(one.errors),
        recalled_s=one.recalled_s,
        grounds=one.grounds,
    )


def storms(name: str, seed: int, share: float, exits: ExitLaw, *, announced: bool, rules: Rules) -> tuple[int, ...]:
    """Seconds from notice to serving of each sleeper that is called at the peak of the night; demand 1."""
    world, at_s = storm(spot_world(name, seed, 1.0), share, announced=announced)
    trace = replace(world.trace, until_s=at_s + AFTER_S)
    outcome = replay(
        trace.world, trace.work, rules, Ways(exits=exits, resume_s=RESUME_S), seed=seed, until_s=trace.until_s
    )
    return recalled(outcome, at_s)
