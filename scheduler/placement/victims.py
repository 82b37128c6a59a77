"""Whose end would let a waiting job start: the set of least loss that really makes it fit, all of it, in one domain.

Only an HP job is given victims, and only where it fits once they have left; nobody is named for a job that cannot run.
Two grounds are kept apart: *preempt*, by standing (LP pods of no higher priority), and *reclaim*, the claimant's own
share from tenants that borrow it, whatever their pods' priority.  What is freed is held for the claimant until the last
of them has left.  Pods that are leaving already are waited for before anybody else is named.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Longs, Snapshot
from scheduler.placement.homes import domains_of, pools_of
from scheduler.placement.hunt import NEVER, Hunt, Unit, cheapest, least_losses, most_seats, standing
from scheduler.placement.prey import Prey, prey_of
from scheduler.placement.sparing import Relief, given, improved, pruned
from scheduler.placement.unaided import unaided
from scheduler.plan.ask import within
from scheduler.plan.waiting import levels_of, mates, on_devices, one_model, waiting_of

PREEMPT, RECLAIM = "preempt", "reclaim"
# Why nobody is named; "" where the answer is a set, which may be empty.
NOT_WAITING, LP_CLAIMS, NO_NODE, NO_SET, NO_RELIEF, BUDGET = (
    "not_waiting", "lp", "no_node", "no_victims", "no_relief", "budget_ran_out",
)  # fmt: skip
PLACES = 8  # domains, or GPU models in them, that are tried for a job that needs one
GPU_SECOND = 1000  # losses are counted in thousandths

# Loss, pods stopped, GPUs stopped, whether it waits for others, node; None: so much at least.  Waiting is no loss, so
# that it never weighs as much as a pod that is stopped.
Entry = tuple[int, int, int, bool, int, tuple[Unit, ...] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class VictimRules:
    """Raises ``ParamError`` for the first field out of range."""

    assumed_age_s: int = 1_800  # of work lost by a job that reports no checkpoint
    nodes: int = 2_000  # that are looked at exactly for one job

    def __post_init__(self) -> None:
        within("assumed_age_s", self.assumed_age_s, 0, 31 * 86_400)
        within("nodes", self.nodes, 1, 1_000_000)


@dataclass(frozen=True, slots=True)
class Victim:
    pod: int  # row
    node: int
    ground: str  # PREEMPT or RECLAIM
    gpu_milli: int
    age_s: int  # of work that is lost
    assumed: bool  # its age is assumed: it reports no checkpoint
    loss_milli: int  # thousandths of GPU-seconds
    part: str  # "pod", "surplus" of a gang that goes on, or "gang" of one that ends whole

    @property
    def gpu_seconds(self) -> float:
        return self.loss_milli / GPU_SECOND


@dataclass(frozen=True, slots=True)
class Victims:
    """``ok``: the job fits once ``victims`` and ``leaving`` have left; both empty: it fits now."""

    ok: bool
    placed: tuple[tuple[int, int], ...] = ()  # pod, node
    victims: tuple[Victim, ...] = ()
    leaving: tuple[int, ...] = ()  # pods on those nodes that are leaving already and are waited for
    held_until_s: int | None = None  # the last of ``leaving`` must be gone; None: none is leaving, or nobody knows
    reason: str = ""  # why not, of the words above
    detail: str = ""  # a sentence

    @property
    def loss_milli(self) -> int:
        return sum(victim.loss_milli for victim in self.victims)

    @property
    def gpu_seconds(self) -> float:
        return self.loss_milli / GPU_SECOND


@dataclass(frozen=True, slots=True)
class Claim:
    """``reclaim``: LP pods that use what is the claimant's own share; ``relief``: what must be freed beside room.

    ``awaited``: pods that are leaving already and whose share the claimant needs, wherever they stand; ``awaited_on``:
    such pods for each GPU model that it might be on.
    """

    pods: tuple[int, ...]  # pending, rows
    reclaim: frozenset[int] = frozenset()
    awaited: frozenset[int] = frozenset()
    awaited_on: Mapping[int, frozenset[int]] = field(default_factory=dict)
    reliefs: tuple[Relief, ...] = ()
    forbidden: frozenset[int] = field(default_factory=frozenset)  # nodes that are no use to its pods that use quota
    below: Bools | None = None  # [p] who stands below the claimant and may be preempted; None: no higher priority


def find_victims(
    snapshot: Snapshot, claim: Claim, *, now_s: int | None = None, rules: VictimRules | None = None,
    prey: Prey | None = None,
) -> Victims:  # fmt: skip
    """Least loss, then fewest pods, then fewest GPUs, then the first node by name.

    ``prey`` is worked out where not given; it serves all claims on one snapshot.  One pod without a relief gets the
    best set there is, unless ``rules.nodes`` ends the search, which the answer says; gangs get a good one.
    """
    rules = rules or VictimRules()
    prey = prey or prey_of(snapshot, snapshot.now_s if now_s is None else now_s, rules.assumed_age_s)
    if not claim.pods:
        return Victims(False, reason=NOT_WAITING, detail="Nobody of it waits for a place.")
    if snapshot.pod_lp[list(claim.pods)].any():
        return Victims(False, reason=LP_CLAIMS, detail="An LP job is never given victims.")
    candidates = _candidates(prey, claim)
    hunts = []
    for first in (False, True) if claim.reliefs else (False,):
        hunt: Hunt | None = Hunt(prey, candidates)
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
    return _answer(min(hunts, key=lambda hunt: (hunt.loss(), len(hunt.chosen))), claim)


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
    best: Hunt | None = None
    places = _places(hunt, claim)
    for place in places[:PLACES]:
        trial = hunt.copy()
        if _fill(trial, pods, place, rules) and (best is None or trial.loss() < best.loss()):
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
        return inside & ~self.closed if _charged(snapshot, pod) else inside


def _charged(snapshot: Snapshot, pod: int) -> bool:
    """Whether it uses quota: devices, not slices of them."""
    return bool(snapshot.pod_gpus[pod]) and not snapshot.pod_specs[snapshot.pod_spec[pod]].mig


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
    bounds, _ = least_losses(hunt, largest)
    open_to = (pools != UNKNOWN) & (bounds < NEVER)
    if _charged(snapshot, largest):
        open_to &= ~_closed(snapshot, claim)
    seats = np.where(open_to, most_seats(hunt, largest), 0)
    for d in np.unique(pools[pools != UNKNOWN]).tolist():
        mine = pools == d
        if int(seats[mine].sum()) >= alike:
            yield d, int(np.sort(np.repeat(bounds[mine], seats[mine]))[:alike].sum())


def _fill(hunt: Hunt, pods: Sequence[int], place: _Place, rules: VictimRules) -> bool:
    """Every pod where it costs least, one after another; on each node exactly, as far as its bound is of interest."""
    alike: tuple[object, ...] = ()
    heap: list[Entry] = []
    looked = 0
    for pod in pods:
        if _kind(hunt.prey.snapshot, pod) != alike:
            alike = _kind(hunt.prey.snapshot, pod)
            heap = _entries(hunt, pod, place.of(hunt.prey.snapshot, pod))
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
                loss, stopped, gpus = standing(hunt.prey, exact)
                heapq.heappush(heap, (loss, stopped, gpus, bool(hunt.waits(node, [pod])), node, exact))
        if chosen is None:
            return False
        _take(hunt, heap, pod, *chosen)
    return True


def _entries(hunt: Hunt, pod: int, nodes: Bools) -> list[Entry]:
    """What each node costs at least; no two compare further than to the node."""
    bounds, must = least_losses(hunt, pod)
    opened = [int(hunt.prey.snapshot.pod_node[p]) for p in hunt.chosen]  # of whom the bound does not know
    bounds[opened], must[opened] = np.where(bounds[opened] < NEVER, 0, NEVER), False
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


def _answer(hunt: Hunt, claim: Claim) -> Victims:
    prey, snapshot = hunt.prey, hunt.prey.snapshot
    placed = sorted((pod, node) for node, pods in hunt.placed.items() for pod in pods)
    leaving, until = _leaving(hunt, claim)
    victims = tuple(_victim(hunt, claim, p) for p in sorted(hunt.chosen, key=lambda p: (-int(prey.loss[p]), p)))
    names = ", ".join(sorted({snapshot.node_name[n] for _, n in placed}))
    if victims:
        detail = f"It fits on {names} when they have left; what they free is held for it until the last one has."
    elif leaving:
        detail = f"It fits on {names} when those who are leaving have left; nobody else is named."
    else:
        detail = f"It fits on {names} without anybody's end."
    return Victims(True, tuple(placed), victims, leaving, until, "", detail)


def _victim(hunt: Hunt, claim: Claim, pod: int) -> Victim:
    prey, snapshot = hunt.prey, hunt.prey.snapshot
    gang, part = int(snapshot.pod_gang[pod]), "pod"
    if gang != UNKNOWN:
        part = "gang" if hunt.stopped_of(gang) > prey.spare[gang] else "surplus"
    return Victim(
        pod=pod,
        node=int(snapshot.pod_node[pod]),
        ground=RECLAIM if pod in claim.reclaim else PREEMPT,
        gpu_milli=int(snapshot.pod_gpus[pod]) * int(snapshot.pod_gpu_milli[pod]),
        age_s=int(prey.age_s[pod]),
        assumed=bool(prey.assumed[pod]),
        loss_milli=int(prey.loss[pod]),
        part=part,
    )


def _leaving(hunt: Hunt, claim: Claim) -> tuple[tuple[int, ...], int | None]:
    """Who is leaving and keeps somebody's room or share until then, and when the last must be gone."""
    snapshot = hunt.prey.snapshot
    on = {int(snapshot.node_model[n]) for n, pods in hunt.placed.items() if any(_charged(snapshot, p) for p in pods)}
    share = claim.awaited.union(*(claim.awaited_on.get(model, ()) for model in on))
    needed = sorted({*share, *(p for node in hunt.placed for p in hunt.waits(node))})
    ends = [int(snapshot.pod_deleted_at_s[p]) + int(snapshot.pod_grace_s[p]) for p in needed
            if ABSENT not in (snapshot.pod_deleted_at_s[p], snapshot.pod_grace_s[p])]  # fmt: skip
    return tuple(needed), max(ends) if ends and len(ends) == len(needed) else None


def _refusal(prey: Prey, claim: Claim, candidates: Bools, rules: VictimRules) -> Victims:
    """Why there is no set: told apart are a node that is nowhere, a set that is too small and a search that ended."""
    snapshot, pod = prey.snapshot, claim.pods[0]
    hunt = Hunt(prey, candidates)
    may = snapshot.node_usable & prey.rules.eligible(pod)
    if not may.any():
        return Victims(False, reason=NO_NODE, detail="No node that is in service may run it, whoever leaves.")
    placed = _placed(hunt, claim, rules)
    if placed is not None:
        return Victims(False, reason=NO_RELIEF, detail="Its tenant's own LP pods do not give back enough of the cap.")
    if hunt.cut:
        return Victims(False, reason=BUDGET, detail=f"The search ended after {rules.nodes} nodes without an answer.")
    bounds, _ = least_losses(hunt, pod)
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
