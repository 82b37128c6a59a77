"""The replay loop: a world, its work and a policy in; what became of every job and of the cluster out."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.snapshot import Longs
from scheduler.replay import columns as c
from scheduler.replay.accounts import Quotas
from scheduler.replay.columns import State
from scheduler.replay.consolidating import tidy
from scheduler.replay.rules import Rules, Ways
from scheduler.replay.sampling import Series, empty_series, sample
from scheduler.replay.spot_quota import Memory, empty_memory, next_turn, regulate
from scheduler.replay.state import grown, new_state, pack, refuse, unpack
from scheduler.replay.turning import FULL, advance
from scheduler.replay.world import Work, World

ENDLESS = 1 << 60


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a replay is; instants in seconds of its clock."""

    now_s: int
    until_s: int
    started: int
    waiting: int


type Packed = tuple[bytes, Series, Memory, int]
type Tell = Callable[[Reached], bool]  # False: stop here


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """``cut`` says that it was stopped before its end."""

    world: World
    work: Work
    rules: Rules
    ways: Ways
    seed: int
    until_s: int
    state: State
    series: Series
    cut: bool = False

    def digest(self) -> str:
        """sha256 hex of what became of all jobs and of the series."""
        summed = hashlib.sha256()
        for part in (self.state.job[:, c.OUTCOME], self.state.pool, self.state.clock):
            summed.update(np.ascontiguousarray(part).tobytes())
        for series in (self.series.at_s, self.series.pools, self.series.fits):
            summed.update(np.ascontiguousarray(series).tobytes())
        return summed.hexdigest()


@dataclass(slots=True, eq=False)
class Replay:
    """One run under way.  ``pack`` it at any time, ``resume`` it later: the outcome is the same."""

    world: World
    work: Work
    rules: Rules
    ways: Ways
    seed: int
    until_s: int
    state: State
    series: Series
    memory: Memory
    taken: int = 0  # samples so far

    def run(self, tell: Tell | None = None, *, pause_s: int = ENDLESS) -> Outcome:
        """Go on to the end; to the first sample at or after ``pause_s``; or until ``tell`` says no."""
        while self.taken < len(self.series.at_s):
            at = self.taken * self.ways.sample_s
            self._go_on(min(at, self.until_s))
            sample(self.state, self.series, self.taken)
            self.taken += 1
            every = self.rules.consolidate_every_s
            if every and at and at % every < self.ways.sample_s:
                tidy(self.world, self.work, self.rules, self.state, seed=self.seed + self.taken)
            if at >= pause_s or (tell is not None and not tell(self._reached())):
                break
        done = self.taken == len(self.series.at_s)
        series = self.series.upto(self.taken)
        return Outcome(
            self.world, self.work, self.rules, self.ways, self.seed, self.until_s, self.state, series, not done
        )

    def _go_on(self, until: int) -> None:
        """With a turn of the rule that says how much LP may hold every few minutes, if there is one."""
        while self.rules.spot_quota != "none" and (turn := next_turn(int(self.state.clock[c.C_NOW]))) <= until:
            self._advance(turn)
            regulate(self.world, self.work, self.rules, self.state, self.memory)
        self._advance(until)

    def _advance(self, until: int) -> None:
        while advance(self.state, until, ENDLESS) == FULL:
            self.state = grown(self.state)

    def _reached(self) -> Reached:
        state = self.state
        waiting = int(state.lane[:, c.L_COUNT].sum())
        return Reached(int(state.clock[c.C_NOW]), self.until_s, int(state.clock[c.C_STARTS]), waiting)

    def pack(self) -> Packed:
        """What ``resume`` needs beside the inputs."""
        series, memory = self.series, self.memory
        copied = (series.at_s.copy(), series.pools.copy(), series.fits.copy(), series.memo.copy())
        return pack(self.state), Series(*copied), memory.copied(), self.taken


def begin_replay(
    world: World,
    work: Work,
    rules: Rules,
    ways: Ways | None = None,
    *,
    seed: int = 0,
    until_s: int | None = None,
    quota: Quotas | None = None,
    weights: Longs | None = None,
) -> Replay:
    """A replay at instant 0.  It ends at ``until_s``, without which at the last arrival."""
    ways = ways or Ways()
    last = int(work.column(c.J_ARRIVAL).max(initial=0))
    until = last if until_s is None else until_s
    state = new_state(world, work, rules, ways, seed=seed, quota=quota, weights=weights)
    refuse(state, world)
    series = empty_series(-(-until // ways.sample_s) + 1, len(world.pools), len(world.names))
    memory = empty_memory(rules, until, len(world.pools), len(state.quota))
    return Replay(world, work, rules, ways, seed, until, state, series, memory)


def resume(replay: Replay, packed: Packed) -> Replay:
    """The run that was packed, for the inputs of ``replay``."""
    blob, series, memory, taken = packed
    one = replay
    return Replay(one.world, one.work, one.rules, one.ways, one.seed, one.until_s, unpack(blob), series, memory, taken)


def replay(
    world: World,
    work: Work,
    rules: Rules,
    ways: Ways | None = None,
    *,
    seed: int = 0,
    until_s: int | None = None,
    quota: Quotas | None = None,
    weights: Longs | None = None,
    tell: Tell | None = None,
) -> Outcome:
    """Run one policy over one trace.  Equal arguments give an equal digest, whatever the order of rows."""
    one = begin_replay(world, work, rules, ways, seed=seed, until_s=until_s, quota=quota, weights=weights)
    return one.run(tell)
