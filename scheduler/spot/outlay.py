"""What a lease will have paid when its hours are done, with the reclaims that are to be expected on the way.

Each drawn life lasts until a reclaim (``lives``); then the lease goes on from what it kept: up to the notice where it
has an exit hook, else up to its last checkpoint, else from nothing.  It pays for every second that it runs, at today's
price.  Beyond the longest run that was seen lives end at the mean pace until then.
"""

import math
from dataclasses import dataclass

import numpy as np

from scheduler.spot.asks import HOUR_S, Ask
from scheduler.spot.lives import Survival
from scheduler.spot.supply import Floats

DRAWS = 400
MOST_RECLAIMS = 40  # a lease with more is counted as never finishing
HARDLY = 0.1  # where more than this part of the draws never finish, no cost is told
RESTART_S = 60  # GFS (ASPLOS '26) measures 40 to 60 s


@dataclass(frozen=True, slots=True)
class Outlay:
    """10 % and 90 % of the draws.  Cents in all; None where ``why`` says so."""

    low_cents: int | None
    high_cents: int | None
    reclaims_low: int | None
    reclaims_high: int | None
    why: str = ""


def outlay(ask: Ask, cents: int | None, lives: Survival, *, seed: int) -> Outlay:
    """``cents`` of a GPU-hour, None: no quote."""
    if cents is None:
        return Outlay(None, None, None, None, "there is no quote")
    rate = cents * ask.gpus / HOUR_S
    if not lives.known:
        return Outlay(_whole(rate * ask.run_s), None, None, None, f"reclaims to be expected are not known: {lives.why}")
    paid, reclaims, done = _lived(ask, lives, seed)
    if done.mean() < 1 - HARDLY:
        return Outlay(None, None, None, None, "with the checkpoints that it writes it may never finish")
    costs, ends = np.sort(paid[done]) * rate, np.sort(reclaims[done])
    low, high = (int(q * (len(costs) - 1)) for q in (0.1, 0.9))
    return Outlay(_whole(costs[low]), _whole(costs[high]), int(ends[low]), int(ends[high]))


def _whole(cents: float) -> int:
    """Rounded up, and not by what a float is off."""
    return math.ceil(round(cents, 6))


def _lived(ask: Ask, lives: Survival, seed: int) -> tuple[Floats, Floats, Floats]:
    """[draws] seconds that it runs, reclaims, whether it finishes."""
    rng = np.random.default_rng(seed)
    left = np.full(DRAWS, float(ask.run_s))
    paid, reclaims, done = np.zeros(DRAWS), np.zeros(DRAWS), np.zeros(DRAWS, np.bool_)
    for turn in range(MOST_RECLAIMS):
        life = _lives(lives, rng)
        needs = left + (RESTART_S if turn else 0)
        ends = ~done & (life >= needs)
        paid += np.where(done, 0.0, np.minimum(life, needs))
        done |= ends
        if done.all():
            break
        reclaims += ~done
        worked = np.maximum(life - (RESTART_S if turn else 0), 0)
        left = np.where(done, left, left - _kept(ask, worked))
    return paid, reclaims, done  # type: ignore[return-value]


def _kept(ask: Ask, worked: Floats) -> Floats:
    if ask.hook_s is not None:
        return worked
    every = ask.checkpoint_interval_s
    return np.asarray(np.floor(worked / every) * every) if every is not None else np.zeros_like(worked)


def _lives(lives: Survival, rng: np.random.Generator) -> Floats:
    drawn = lives.draw(rng.random(DRAWS))
    beyond = np.isinf(drawn)
    pace = -math.log(max(lives.stays[-1], 1e-9)) / max(lives.longest_s, 1)
    drawn[beyond] = lives.longest_s + rng.exponential(1 / max(pace, 1e-12), int(beyond.sum()))
    return drawn
