"""From the search's log to a plan: waves, names, counts, bound and reasons."""

from dataclasses import dataclass, field

import numpy as np

from scheduler.cluster.occupancy import Occupancy, occupancy
from scheduler.cluster.snapshot import MOVE_RESTART, Longs, Snapshot
from scheduler.consolidation import columns as c
from scheduler.consolidation.arena import Compiled
from scheduler.consolidation.bound import bound_of
from scheduler.consolidation.explain import explain
from scheduler.consolidation.moves import travel
from scheduler.consolidation.params import Params
from scheduler.consolidation.waves import LATE, Allowance, Schedule, allowance, schedule
from scheduler.plan.operations import Migrate
from scheduler.plan.outcome import counts, emptied, moved
from scheduler.plan.plan import Kept, Plan

PLANNER = "chains/1"


@dataclass(slots=True)
class Draft:
    """A finished search; ``plan`` turns its first chains into a plan.  The tables stand after ``standing`` moves."""

    snapshot: Snapshot
    compiled: Compiled
    params: Params
    seed: int
    notes: list[str]
    upper: int  # bound on net emptied nodes
    standing: int = field(init=False)
    before: Occupancy = field(init=False)
    allowed: Allowance = field(init=False)

    def __post_init__(self) -> None:
        self.standing = int(self.compiled.arena.work[c.W_MOVES])
        self.before, self.allowed = occupancy(self.snapshot), allowance(self.snapshot)

    def plan(self, chains: int) -> Plan:
        """The plan of the first ``chains`` chains, or of fewer where some find no wave."""
        found = self._scheduled(chains)
        while (found.wave == LATE).any():
            late = np.flatnonzero(found.wave == LATE)
            found = self._scheduled(int(self.compiled.arena.log[late, c.L_CHAIN].min()))
        self._stand(len(found.wave))
        log = self.compiled.arena.log[: len(found.wave)]
        targets = dict(zip(log[:, c.L_POD].tolist(), log[:, c.L_TARGET].tolist(), strict=True))
        after = occupancy(moved(self.snapshot, targets))
        before_counts, after_counts = counts(self.before), counts(after)
        order = np.argsort(found.wave, kind="stable")
        return Plan(
            kind="consolidation",
            cluster=self.snapshot.clusters[0].name,
            snapshot_digest=self.snapshot.digest,
            planner=PLANNER,
            params=self.params.as_json(),
            seed=self.seed,
            moves=self._moves(log, found, order),
            wave_of=tuple(found.wave[order].tolist()),
            emptied_nodes=tuple(self.snapshot.node_name[n] for n in np.flatnonzero(emptied(self.before, after))),
            before=before_counts,
            after=after_counts,
            kept=self._kept(after),
            bound=bound_of(self.upper, after_counts.empty_nodes - before_counts.empty_nodes),
            notes=tuple(self.notes),
        )

    def _kept(self, after: Occupancy) -> tuple[Kept, ...]:
        return explain(self.snapshot, self.compiled, self.params, bool(self.notes))

    def _served(self, log: Longs) -> dict[int, int]:
        """The node that each chain helps."""
        leaves = log[log[:, c.L_DEPTH] == 0]
        return dict(zip(leaves[:, c.L_CHAIN].tolist(), leaves[:, c.L_SOURCE].tolist(), strict=True))

    def _scheduled(self, chains: int) -> Schedule:
        self._stand(0)
        log = self.compiled.arena.log[: int(self.compiled.arena.work[c.W_MOVES])]
        return schedule(self.compiled.arena, int((log[:, c.L_CHAIN] < chains).sum()), self.allowed)

    def _stand(self, moves: int) -> None:
        if self.standing > moves:
            travel(self.compiled.arena, self.standing, 0)
            self.standing = 0
        if moves > self.standing:
            travel(self.compiled.arena, moves, 1)
        self.standing = moves
        self._reopen()

    def _reopen(self) -> None:
        """Nodes that the plan in hand leaves empty are closed, the others are as before."""
        node, takes = self.compiled.arena.node, self.compiled.takes
        node[:, c.N_OPEN] = takes & ((self.snapshot.node_allocatable == 0) | (node[:, c.N_WORK] > 0))

    def _moves(self, log: Longs, found: Schedule, order: Longs) -> tuple[Migrate, ...]:
        snapshot, names = self.snapshot, self.snapshot.node_name
        cluster = snapshot.clusters[0].name
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        drained = self._served(log)
        rows, place = log.tolist(), position.tolist()
        modes = snapshot.pod_move.tolist()
        return tuple(
            Migrate(
                cluster=cluster,
                pod=snapshot.pod_key(rows[i][c.L_POD]),
                uid=snapshot.pod_uid[rows[i][c.L_POD]],
                source=names[rows[i][c.L_SOURCE]],
                target=names[rows[i][c.L_TARGET]],
                mode="restart" if modes[rows[i][c.L_POD]] == MOVE_RESTART else "copy",
                drains=names[drained[rows[i][c.L_CHAIN]]],
                chain=rows[i][c.L_CHAIN],
                depth=rows[i][c.L_DEPTH],
                after=tuple(sorted(place[j] for j in found.after[i])) if found.after[i] else (),
            )
            for i in order.tolist()
        )
