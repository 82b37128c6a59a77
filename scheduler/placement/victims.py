"""Whose end would let a waiting job start: the set of least cost that really makes it fit, all of it, in one domain.

Only an HP job is given victims, and only where it fits once they have left; nobody is named for a job that cannot run.
Two grounds are kept apart: *preempt*, by standing (LP pods of no higher priority), and *reclaim*, the claimant's own
share from tenants that borrow it, whatever their pods' priority.  What is freed is held for the claimant until the last
of them has left.  Pods that are leaving already are waited for before anybody else is named.

The cost is that of all terms of ``performance.stopping``; for one pod it is the least among the sets that lose no more
than the OSDI '26 study's own rule would, by its own measure: so by neither of the two is there more to lose.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs, Snapshot
from scheduler.placement.answers import answer_of, charged
from scheduler.placement.homes import domains_of, pools_of
from scheduler.placement.hunt import NEVER, Hunt, Unit, cheapest, least_costs, most_seats, standing
from scheduler.placement.named import (
    BUDGET,
    LP_CLAIMS,
    NO_NODE,
    NO_RELIEF,
    NO_SET,
    NOT_WAITING,
    PREEMPT,
    RECLAIM,
    Claim,
    Victim,
    VictimRules,
    Victims,
)
from scheduler.placement.prey import Prey, prey_of
from scheduler.placement.sparing import given, improved, pruned
from scheduler.placement.studied import Studied, studied
from scheduler.placement.unaided import unaided
from scheduler.plan.waiting import levels_of, mates, on_devices, one_model, waiting_of

__all__ = [
    "BUDGET", "LP_CLAIMS", "NOT_WAITING", "NO_NODE", "NO_RELIEF", "NO_SET", "PREEMPT", "RECLAIM", "Claim", "Victim",
    "VictimRules", "Victims", "claim_of", "find_victims",
]  # fmt: skip

PLACES = 8  # domains, or GPU models in them, that are tried for a job that needs one

# Cost, pods stopped, GPUs stopped, whether it waits for others, node; None: so much at least.  Waiting is no cost, so
# that it never weighs as much as a pod that is stopped.
Entry = tuple[int, int, int, bool, int, tuple[Unit, ...] | None]


def find_victims(
    snapshot: Snapshot, claim: Claim, *, now_s: int | None = None, rules: VictimRules | None = None,
    prey: Prey | None = None,
) -> Victims:  # fmt: skip
    """Least cost, then fewest pods, then fewest GPUs, then the first node by name.

    ``prey`` is worked out where not given; it serves all claims on one snapshot.  One pod without a relief gets the
    best set there is, unless ``rules.nodes`` ends the search, which the answer says; gangs get a good one.
    """
    rules = rules or VictimRules()
    if not claim.pods:
        return Victims(False, reason=NOT_WAITING, detail="Nobody of it waits for a place.")
    if snapshot.pod_lp[list(claim.pods)].any():
        return Victims(False, reason=LP_CLAIMS, detail="An LP job is never given victims.")
    instant = snapshot.now_s if now_s is None else now_s
    prey = prey or prey_of(snapshot, instant, rules.assumed_age_s, rules.costs)
    found = _found(prey, claim, rules)
    if not found.ok and rules.guaranteed_last and prey.guarded.any():
        more = prey_of(prey.snapshot, prey.now_s, rules.assumed_age_s, rules.costs, guaranteed=True)
        last = _found(more, claim, rules)
        return last if last.ok else found
    return found


def _found(prey: Prey, claim: Claim, rules: VictimRules) -> Victims:
    candidates = _candidates(prey, claim)
    scale = prey.total if rules.whole_cost else prey.lost
    hunts = []
    for first in (False, True) if claim.reliefs else (False,):
        hunt: Hunt | None = Hunt(prey, candidates, scale)
        if first:
            hunt = _relieved(hunt, claim) if hunt else None
        hunt = _seated(hunt, claim, rules) if hunt else None
        hunt = _relieved(hunt, claim) if hunt and not first else hunt
        if hunt is not None:
            hunts.append(pruned(hunt, claim.reliefs))
    if len(claim.pods) > 1 and hunts:
        hunts = [improved(one, claim.reliefs, lambda less: _again(less, claim, rules)) for one in hunts]
    if not hunts:
        return _refusal(prey, claim, candidates, rules)
    return answer_of(min(hunts, key=lambda hunt: (hunt.cost(), len(hunt.chosen))), claim)


def claim_of(snapshot: Snapshot, name: str) -> Claim | None:
    """Of a pending pod or gang by ``namespace/name``; None where there is neither."""
    found = waiting_of(snapshot, name)
    return None if found is None else Claim(tuple(found.pods.tolist()))


def _seated(hunt: Hunt, claim: Claim, rules: VictimRules) -> Hunt | None:
    """Where several pods have room nobody more is named; one pod alone is told so by the hunt itself."""
    found = unaided(hunt, claim.pods, _closed(hunt.prey.snapshot, claim)) if len(claim.pods) > 1 else None
    return found or _placed(hunt, claim, rules)


def _closed(snapshot: Snapshot, claim: Claim) -> Bools:
    closed = np.zeros(len(snapshot.node_name), np.bool_)
    closed[list(claim.forbidden)] = True
    return closed


def _again(less: Hunt, claim: Claim, rules: VictimRules) -> Hunt | None:
    """The claimant's pods seated anew, beside whoever has been chosen already."""
    hunt = _placed(less, claim, rules)
    return _relieved(hunt, claim) if hunt is not None else None


def _candidates(prey: Prey, claim: Claim) -> Bools:
    snapshot = prey.snapshot
    below = claim.below
    if below is None:
        below = snapshot.pod_priority <= snapshot.pod_priority[list(claim.pods)].max()
    own = np.zeros(len(below), np.bool_)
    own[list(claim.reclaim)] = True
    gang = int(snapshot.pod_gang[claim.pods[0]])
    mine = (snapshot.pod_gang == gang) & (gang != UNKNOWN)
    return np.asarray(prey.may & (below | own) & ~mine)


def _placed(hunt: Hunt, claim: Claim, rules: VictimRules) -> Hunt | None:
    """The claimant's pods on nodes, in one domain and on one model where it needs that; None where they cannot be."""
    snapshot = hunt.prey.snapshot
    size = snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli
    wide = {p: int(hunt.prey.rules.eligible(p).sum()) for p in claim.pods} if len(claim.pods) > 1 else {}
    asks = (-size, -snapshot.pod_cpu_milli, -snapshot.pod_memory_mib)
    pods = sorted(claim.pods, key=lambda p: (int(asks[0][p]), wide.get(p, 0), *(int(a[p]) for a in asks[1:]), p))
    places = _places(hunt, claim)
    if len(pods) == 1 and rules.whole_cost and rules.within_study and not claim.reliefs:
        return _within_study(hunt, pods[0], places, rules)
    return _best(hunt, pods, places, rules)


def _within_study(hunt: Hunt, pod: int, places: "list[_Place]", rules: VictimRules) -> Hunt | None:
    """One pod at least cost, among the sets that lose no more than the study's rule would."""
    snapshot = hunt.prey.snapshot
    masks = [place.of(snapshot, pod) for place in places[:PLACES]]
    limited = studied(hunt, pod, np.logical_or.reduce(masks)) if masks else None
    if limited is None or limited.limit is None:
        return _best(hunt, [pod], places, rules)
    trial = replace(hunt.copy(), limit=limited.limit)
    best = _best(trial, [pod], places, rules, limited)
    hunt.cut |= trial.cut
    if limited.units is not None:  # no search that ends early is worse than the rule
        theirs = {p for unit in limited.units for p in unit.pods}
        rule = replace(hunt.copy(), chosen=hunt.chosen | theirs, placed={limited.node: [pod]})
        best = rule if best is None or (rule.cost(), len(rule.chosen)) < (best.cost(), len(best.chosen)) else best
    if best is None:  # the limit is below the rule's own set: what loses least by C is within it, too
        best = _best(replace(hunt.copy(), scale=hunt.prey.lost), [pod], places, rules)
    return None if best is None else replace(best, limit=None, scale=hunt.scale)


def _best(
    hunt: Hunt, pods: Sequence[int], places: "list[_Place]", rules: VictimRules, limited: Studied | None = None
) -> Hunt | None:
    best: Hunt | None = None
    for place in places[:PLACES]:
        trial = hunt.copy()
        if _fill(trial, pods, place, rules, limited) and (best is None or trial.cost() < best.cost()):
            best = trial
        hunt.cut |= trial.cut
    hunt.cut |= best is None and len(places) > PLACES
    return best


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """One of those that may hold all of a job.  Axis n: nodes."""

    on_model: Bools  # for its pods on devices
    wide: Bools  # for the others
    closed: Bools  # to its pods that use quota

    def of(self, snapshot: Snapshot, pod: int) -> Bools:
        inside = self.on_model if on_devices(snapshot, pod) else self.wide
        return inside & ~self.closed if charged(snapshot, pod) else inside


def _places(hunt: Hunt, claim: Claim) -> list[_Place]:
    """The least dear first; where neither a domain nor a model is needed, all nodes."""
    snapshot = hunt.prey.snapshot
    first, rows = claim.pods[0], np.array(claim.pods, np.int32)
    stay = mates(snapshot, int(snapshot.pod_gang[first]))
    running = tuple(stay[~snapshot.pod_terminating[stay]].tolist())
    wide = domains_of(snapshot, int(snapshot.pod_cluster[first]), tuple(levels_of(snapshot, rows)), running)
    closed = _closed(snapshot, claim)
    model = one_model(snapshot, sum(on_devices(snapshot, p) for p in claim.pods), running)
    if snapshot.pod_gang[first] == UNKNOWN or (model is None and wide.max(initial=0) == 0):
        everywhere = wide != UNKNOWN
        return [_Place(everywhere, everywhere, closed)]
    pools = wide.astype(np.int64) if model is None else pools_of(wide, model).of
    rated = [(loss, d) for d, loss in _rated(hunt, claim, pools)]
    found = []
    for _, d in sorted(rated):
        inside = pools == d
        found.append(_Place(inside, wide == wide[inside.argmax()], closed))
    return found


def _rated(hunt: Hunt, claim: Claim, pools: Longs) -> Iterator[tuple[int, int]]:
    """Pools that have seats enough for the largest pods, and what those lose at least."""
    snapshot = hunt.prey.snapshot
    largest = max(claim.pods, key=lambda p: (int(snapshot.pod_gpus[p]), -p))
    alike = sum(_kind(snapshot, p) == _kind(snapshot, largest) for p in claim.pods)  # others may need far less
    bounds, _ = least_costs(hunt, largest)
    open_to = (pools != UNKNOWN) & (bounds < NEVER)
    if charged(snapshot, largest):
        open_to &= ~_closed(snapshot, claim)
    seats = np.where(open_to, most_seats(hunt, largest), 0)
    for d in np.unique(pools[pools != UNKNOWN]).tolist():
        mine = pools == d
        if int(seats[mine].sum()) >= alike:
            yield d, int(np.sort(np.repeat(bounds[mine], seats[mine]))[:alike].sum())


def _exact(hunt: Hunt, pod: int, node: int, units: tuple[Unit, ...]) -> Entry:
    return *standing(hunt.prey, units), bool(hunt.waits(node, [pod])), node, units


def _fill(hunt: Hunt, pods: Sequence[int], place: _Place, rules: VictimRules, limited: Studied | None = None) -> bool:
    """Every pod where it costs least, one after another; on each node exactly, as far as its bound is of interest."""
    alike: tuple[object, ...] = ()
    heap: list[Entry] = []
    looked = 0
    for pod in pods:
        if _kind(hunt.prey.snapshot, pod) != alike:
            alike = _kind(hunt.prey.snapshot, pod)
            heap = _entries(hunt, pod, place.of(hunt.prey.snapshot, pod), limited)
        chosen = None
        while heap and chosen is None:
            *_, node, units = heapq.heappop(heap)
            if units is not None:
                chosen = node, units
                continue
            looked += 1
            if looked > rules.nodes:
                hunt.cut = True
                return False
            exact = cheapest(hunt, node, pod)
            if exact is not None:
                heapq.heappush(heap, _exact(hunt, pod, node, exact))
        if chosen is None:
            return False
        _take(hunt, heap, pod, *chosen)
    return True


def _entries(hunt: Hunt, pod: int, nodes: Bools, limited: Studied | None = None) -> list[Entry]:
    """What each node costs at least; no two compare further than to the node."""
    bounds, must = least_costs(hunt, pod)
    opened = [int(hunt.prey.snapshot.pod_node[p]) for p in hunt.chosen]  # of whom the bound does not know
    bounds[opened], must[opened] = np.where(bounds[opened] < NEVER, 0, NEVER), False
    if limited is not None and limited.limit is not None:
        nodes = nodes & (limited.floor <= limited.limit)
    rows = np.flatnonzero(nodes & (bounds < NEVER))
    heap: list[Entry] = [
        (loss, int(some), 0, False, node, None)
        for loss, some, node in zip(bounds[rows].tolist(), must[rows].tolist(), rows.tolist(), strict=True)
    ]
    heapq.heapify(heap)
    return heap


def _kind(snapshot: Snapshot, pod: int) -> tuple[object, ...]:
    columns = (
        snapshot.pod_spec, snapshot.pod_gpus, snapshot.pod_gpu_milli, snapshot.pod_cpu_milli, snapshot.pod_memory_mib,
        snapshot.pod_gpu_memory_mib, snapshot.pod_namespace,
    )  # fmt: skip
    return tuple(int(column[pod]) for column in columns)


def _take(hunt: Hunt, heap: list[Entry], pod: int, node: int, units: Sequence[Unit]) -> None:
    """Seat the pod; nodes whose pods end with it are looked at anew, and so is this one."""
    hunt.chosen |= {p for unit in units for p in unit.pods}
    hunt.placed.setdefault(node, []).append(pod)
    elsewhere = {int(hunt.prey.snapshot.pod_node[p]) for unit in units for p in unit.pods}
    if units:  # a set that was found for another node may name the same gang, or the same budget
        heap[:] = [(0 if n in elsewhere else loss, 0, 0, False, n, None) for loss, *_, n, _ in heap]
        heapq.heapify(heap)
    heapq.heappush(heap, (0, 0, 0, False, node, None))


def _relieved(hunt: Hunt, claim: Claim) -> Hunt | None:
    """The hunt after the cheapest of each relief's pods have been added; None where there are not enough."""
    hunt, snapshot = hunt.copy(), hunt.prey.snapshot
    asked = snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli
    for relief in claim.reliefs:
        nodes = sorted({int(snapshot.pod_node[p]) for p in np.flatnonzero(relief.pods & hunt.candidates).tolist()})
        while (missing := relief.gpu_milli - given(hunt, relief, asked)) > 0:
            units = [
                unit
                for n in nodes
                for unit in hunt.units(n)
                if hunt.lawful([unit]) and relief.pods[list(unit.pods)].any()
            ]
            if not units:
                return None
            gains = [min(int(asked[[p for p in u.pods if relief.pods[p]]].sum()), missing) for u in units]
            best = min(
                range(len(units)), key=lambda i: (units[i].loss / max(gains[i], 1), len(units[i].pods), units[i].pods)
            )
            hunt.chosen |= set(units[best].pods)
    return hunt


def _refusal(prey: Prey, claim: Claim, candidates: Bools, rules: VictimRules) -> Victims:
    """Why there is no set: told apart are a node that is nowhere, a set that is too small and a search that ended."""
    snapshot, pod = prey.snapshot, claim.pods[0]
    hunt = Hunt(prey, candidates, prey.lost)
    may = snapshot.node_usable & prey.rules.eligible(pod)
    if not may.any():
        return Victims(False, reason=NO_NODE, detail="No node that is in service may run it, whoever leaves.")
    placed = _placed(hunt, claim, rules)
    if placed is not None:
        return Victims(False, reason=NO_RELIEF, detail="Its tenant's own LP pods do not give back enough of the cap.")
    if hunt.cut:
        return Victims(False, reason=BUDGET, detail=f"The search ended after {rules.nodes} nodes without an answer.")
    bounds, _ = least_costs(hunt, pod)
    masks = [place.of(snapshot, pod) for place in _places(hunt, claim)]
    rows = np.flatnonzero(np.logical_or.reduce([np.zeros(len(may), np.bool_), *masks]) & (bounds < NEVER))
    return Victims(False, reason=NO_SET, detail=_nearest(hunt, pod, rows.tolist()))


def _nearest(hunt: Hunt, pod: int, nodes: list[int]) -> str:
    """Of the first node that has the room, who stays and refuses it; else that there is too little anywhere."""
    for node in nodes[:PLACES]:
        stay = [p for p in hunt.prey.standing(node) if not hunt.candidates[p]]
        if not hunt.holds(node, [pod], {p for p in hunt.prey.standing(node) if hunt.candidates[p]}):
            names = ", ".join(hunt.prey.snapshot.pod_key(p) for p in stay[:3])
            return f"Even without all LP pods on {hunt.prey.snapshot.node_name[node]} it finds no place beside {names}."
    return "Nowhere do the LP pods that may be stopped make enough room for all of it."
