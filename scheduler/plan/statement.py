"""What-if on a snapshot, and shorter plans from longer ones.

``Statement`` is the only mutable thing of the core: pods go from node to node in thought, and come back.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import msgspec

from scheduler.cluster.feasibility import Eligibility, eligibility
from scheduler.cluster.mobility import bound_domains
from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.room import Block, blocking_reason
from scheduler.cluster.snapshot import Snapshot
from scheduler.plan.checkpoints import again, late
from scheduler.plan.outcome import counts, emptied, moved
from scheduler.plan.plan import ROLLBACK, Bound, Kept, Plan
from scheduler.plan.promise import gained, recounted, served
from scheduler.plan.resolve import Rows, resolve
from scheduler.plan.standing import Standing, standing
from scheduler.plan.verify import still_legal
from scheduler.plan.waves import assign

CUT = "cut"  # reason of nodes that a longer plan would have emptied


@dataclass(slots=True)
class Statement:
    """Moves one after the other, each judged as things stand by then; ``log`` holds (pod, source, target)."""

    snapshot: Snapshot
    where: Standing
    rules: Eligibility
    homes: dict[int, dict[int, int]]
    log: list[tuple[int, int, int]] = field(default_factory=list)

    def why_not(self, pod: int, target: int) -> Block | None:
        """The first reason why the pod's copy cannot arrive on the target now, None if it can."""
        reason = self.rules.reason(pod, target)
        if reason:
            return Block(reason)
        return blocking_reason(self.snapshot, pod, target, list(self.where.on(target)), self.homes.get(pod), (pod,))

    def move(self, pod: int, target: int) -> Block | None:
        """Move the pod if nothing speaks against it; returns what does."""
        block = self.why_not(pod, target)
        if block is None:
            source = self.node_of(pod)
            self.log.append((pod, source, target))
            self.where.end([(pod, source, target)])
        return block

    def node_of(self, pod: int) -> int:
        return next((t for p, _, t in reversed(self.log) if p == pod), int(self.snapshot.pod_node[pod]))

    def pods_on(self, node: int) -> tuple[int, ...]:
        """Live pods there as things stand, in the order of identities."""
        return tuple(sorted(self.where.on(node)))

    def checkpoint(self) -> int:
        """A mark to roll back to."""
        return len(self.log)

    def rollback(self, mark: int) -> None:
        """Undo every move since the mark, last one first."""
        while len(self.log) > mark:
            pod, source, target = self.log.pop()
            self.where.end([(pod, target, source)])


def statement(snapshot: Snapshot) -> Statement:
    return Statement(snapshot, standing(snapshot), eligibility(snapshot), bound_domains(snapshot))


def marginal(plan: Plan) -> list[tuple[int, int]]:
    """(moves kept, net emptied or reached of the goal) for the first 0, 1, 2 ... chains; the last is the whole plan."""
    moves = Counter(move.chain for move in plan.moves)
    order = sorted(moves)
    reached = [gained(plan, order[:kept]) for kept in range(len(order) + 1)]
    points = [(0, reached[0])]
    for chain, found in zip(order, reached[1:], strict=True):
        points.append((points[-1][0] + moves[chain], found))
    if plan.moves:
        points[-1] = (len(plan.moves), plan.gain)
    return points


def _chains(plan: Plan) -> list[int]:
    return sorted({move.chain for move in plan.moves})


def cut(plan: Plan, snapshot: Snapshot, chains: int) -> Plan:
    """The plan with its first ``chains`` chains only, in waves of their own; judge it before use."""
    return keep(plan, snapshot, _chains(plan)[: max(0, chains)])


def keep(plan: Plan, snapshot: Snapshot, chains: Collection[int]) -> Plan:
    """The plan with these chains only, counted and put in waves anew on ``snapshot``; judge it before use.

    Raises ``InputError`` if the snapshot has not the plan's cluster.
    """
    chosen = set(chains)
    if chosen.issuperset(_chains(plan)):
        return plan
    order = sorted(range(len(plan.moves)), key=lambda i: _place(plan, i))
    rest = tuple(plan.moves[i] for i in order if plan.moves[i].chain in chosen)
    result = settled(msgspec.structs.replace(plan, moves=rest), snapshot)
    if plan.aim is not None:
        result = msgspec.structs.replace(result, goal=recounted(plan.aim, result, snapshot, chosen))
    return msgspec.structs.replace(
        result,
        kept=_kept(plan, result),
        notes=(*plan.notes, f"cut: {len(result.moves)} of {len(plan.moves)} moves kept"),
        bound=_bound(plan, result.gain),
    )


def _place(plan: Plan, move: int) -> tuple[int, int, int]:
    """Orders moves so that they are legal one by one: by chains as found, or by waves where chains go back."""
    chain = 0 if plan.kind == ROLLBACK else plan.moves[move].chain
    return chain, plan.wave_of[move], move


def settled(plan: Plan, snapshot: Snapshot) -> Plan:
    """The plan put in waves and counted on ``snapshot``; its moves stand in an order in which they are legal singly."""
    rows = resolve(plan, snapshot)
    moves, waves = assign(plan, rows)
    rows = resolve(msgspec.structs.replace(plan, moves=moves), rows.snapshot)
    before = occupancy(rows.snapshot)
    targets = {p: t for p, t in zip(rows.pod, rows.target, strict=True) if p >= 0 and t >= 0}
    after = occupancy(moved(rows.snapshot, targets))
    found = msgspec.structs.replace(
        plan,
        snapshot_digest=rows.snapshot.digest,
        moves=moves,
        wave_of=waves,
        emptied_nodes=tuple(rows.snapshot.node_name[n] for n in emptied(before, after).nonzero()[0].tolist()),
        before=counts(before),
        after=counts(after),
    )
    return waiting_last(again(found, rows), rows)


def waiting_last(plan: Plan, rows: Rows) -> Plan:
    """The plan with moves that wait for a checkpoint behind all others, where the judge agrees."""
    later = late(plan, rows)
    return later if later is plan or not still_legal(later, resolve(later, rows.snapshot)) else plan


def _kept(plan: Plan, shorter: Plan) -> tuple[Kept, ...]:
    if plan.kind == ROLLBACK:
        return plan.kept
    dropped = [name for name in served(plan) if name not in set(served(shorter))]
    more = [Kept(node=name, reason=CUT, blockers=(), targets={}) for name in dropped]
    return tuple(sorted([*plan.kept, *more], key=lambda kept: kept.node))


def _bound(plan: Plan, net: int) -> Bound:
    if plan.kind == ROLLBACK:
        return no_bound(net)
    bound = plan.bound
    gap = (bound.net_upper - net) / bound.net_upper if bound.net_upper else 0.0
    return Bound(net_upper=bound.net_upper, gap=gap, proven=net == bound.net_upper)


def no_bound(net: int) -> Bound:
    """Of a plan that is asked for no gain: it is what it is."""
    return Bound(net_upper=net, gap=0.0, proven=True)
