"""A recall: who has to leave so that sleepers serve again, when that will be, and to whom room is promised until then.

Borrowers of the sleeper leave, and others only where its node would otherwise not hold it: they are chosen as victims
are.  Whoever is leaving already is waited for and nobody is named in its place; a gang that falls below its minimum
leaves whole.  Instants are on the snapshot's clock.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from scheduler.cluster.occupancy import borrowers
from scheduler.cluster.promised import Promise, respecting
from scheduler.cluster.room import Block, faults
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Snapshot
from scheduler.performance.leaving import AT_ONCE, Leaving, after, last_of, plus, resuming
from scheduler.performance.stopping import StopCosts, Stops, Terms, law_for
from scheduler.placement.hunt import Hunt, cheapest
from scheduler.placement.named import VictimRules
from scheduler.placement.prey import Prey, prey_of

LENT, ROOM, GANG = "lent", "room", "gang"  # it borrows from the sleeper; its room is needed; its gang ends with them
COMPANY = ("anti_affinity", "affinity", "host_port")  # it stands there already: these are nobody's question
# Why a sleeper is not called; "" where it is
UNKNOWN_POD, AWAKE, NO_ROOM, OUT_OF_SERVICE = "unknown_pod", "awake", "no_room", "out_of_service"


@dataclass(frozen=True, slots=True)
class Notice:
    """Somebody who is told to leave.  ``loss_milli``: the study's C, in thousandths of GPU-seconds."""

    pod: str
    row: int
    uid: str
    node: str
    cause: str  # LENT, ROOM or GANG
    gpu_milli: int
    loss_milli: int
    terms: Terms
    on_notice: bool
    grace_s: int


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds from notice to serving; ``killed``: probability that somebody has to be killed for it."""

    law: Leaving
    p50_s: int
    p95_s: int
    p99_s: int
    killed: float


@dataclass(frozen=True, slots=True)
class Recalled:
    """One sleeper.  ``notices`` are for itself; one that leaves for several sleepers stands with each of them."""

    pod: str
    node: str
    ok: bool
    reason: str = ""
    detail: str = ""
    notices: tuple[Notice, ...] = ()
    waits: tuple[str, ...] = ()  # who is leaving already, and keeps its room until then
    promise: Promise | None = None
    serving: Times | None = None


@dataclass(frozen=True, slots=True)
class RecallPlan:
    sleepers: tuple[Recalled, ...]
    notices: tuple[Notice, ...]  # nobody twice
    promises: tuple[Promise, ...]

    @property
    def terms(self) -> Terms:
        return sum((one.terms for one in self.notices), Terms())


@dataclass(slots=True, eq=False)
class _Recall:
    """The snapshot as it will be, as far as it is decided."""

    snapshot: Snapshot
    now_s: int
    rules: VictimRules
    resume: Leaving
    prey: Prey
    awake: Bools  # [p] sleepers that have been called
    gone: Bools  # [p] who leaves or is leaving
    lent: dict[int, list[int]]  # sleeper -> its borrowers
    told: dict[int, str] = field(default_factory=dict)  # row -> cause

    @property
    def costs(self) -> StopCosts:
        return self.rules.costs

    @property
    def stops(self) -> Stops:
        return self.prey.stops

    def later(self) -> Snapshot:
        """When everybody who was told has left, and those who were called are awake."""
        return replace(
            self.snapshot,
            pod_live=self.snapshot.pod_live & ~self.gone,
            pod_standby=self.snapshot.pod_standby & ~self.awake,
        )


def plan_recall(
    snapshot: Snapshot,
    pods: Sequence[str],
    *,
    now_s: int | None = None,
    rules: VictimRules | None = None,
    resume: Leaving | None = None,
    promises: Collection[Promise] = (),
) -> RecallPlan:
    """Call these sleepers (namespace/name), in this order.  ``rules.costs`` has the law and the history of exits.

    ``promises``: room on their nodes that is others' already; it is not taken for a sleeper's.
    """
    rules, instant = rules or VictimRules(), snapshot.now_s if now_s is None else now_s
    prey = prey_of(snapshot, instant, rules.assumed_age_s, rules.costs)
    leaving = snapshot.pod_live & snapshot.pod_terminating
    lent: dict[int, list[int]] = {}
    for p in borrowers(snapshot).tolist():
        lent.setdefault(int(snapshot.pod_lender[p]), []).append(p)
    awake = np.zeros(len(leaving), np.bool_)
    work = _Recall(snapshot, instant, rules, resume or resuming(), prey, awake, leaving.copy(), lent)
    rows = {snapshot.pod_key(p): p for p in np.flatnonzero(snapshot.pod_live).tolist()}
    found = [_recalled(work, key, rows.get(key, UNKNOWN), promises) for key in dict.fromkeys(pods)]
    notices = tuple(_notice(work, p, cause) for p, cause in sorted(work.told.items()))
    return RecallPlan(tuple(found), notices, tuple(one.promise for one in found if one.promise is not None))


def _recalled(work: _Recall, key: str, pod: int, promises: Collection[Promise]) -> Recalled:
    snapshot = work.snapshot
    if pod == UNKNOWN or snapshot.pod_lp[pod]:
        return Recalled(key, "", False, UNKNOWN_POD, f"There is no HP pod {key} on a node.")
    node = int(snapshot.pod_node[pod])
    name = snapshot.node_name[node]
    if not snapshot.pod_standby[pod]:
        return Recalled(key, name, False, AWAKE, f"{key} does not sleep.")
    if not snapshot.node_ready[node]:
        return Recalled(key, name, False, OUT_OF_SERVICE, f"{name} is not ready: nothing can be woken there.")
    before = work.gone.copy(), work.awake.copy(), dict(work.told)
    lent = work.lent.get(pod, [])
    mine = _tell(work, [p for p in lent if not work.gone[p]], LENT)
    work.awake[pod] = True
    fault = _fault(work, pod, node, promises)
    if fault is not None:
        more = _others(work, pod, node, promises)
        if more is None:
            work.gone, work.awake, work.told = before
            return Recalled(key, name, False, NO_ROOM, _said(snapshot, key, name, fault))
        mine += _tell(work, more, ROOM)
    waits = [p for p in work.prey.ending.get(node, ()) if _keeps(work, pod, node, p)]
    shared = [p for p in lent if p in work.told and p not in mine]  # told for another sleeper of the same recall
    return Recalled(
        key,
        name,
        True,
        notices=tuple(_notice(work, p, work.told[p]) for p in [*mine, *shared]),
        waits=tuple(snapshot.pod_key(p) for p in waits),
        promise=_promise(snapshot, pod, node),
        serving=_times(work, node, [*mine, *shared], waits),
    )


def _tell(work: _Recall, pods: Sequence[int], cause: str) -> list[int]:
    """Who is told now; with them the rest of gangs that cannot do without them."""
    snapshot = work.snapshot
    told = [p for p in pods if p not in work.told]
    for p in told:
        work.told[p], work.gone[p] = cause, True
    for gang in sorted({int(snapshot.pod_gang[p]) for p in told} - {UNKNOWN}):
        members = np.flatnonzero(snapshot.pod_live & ~snapshot.pod_terminating & (snapshot.pod_gang == gang)).tolist()
        stopped = sum(p in work.told for p in members)
        if stopped > work.prey.spare[gang]:
            rest = [p for p in members if p not in work.told]
            for p in rest:
                work.told[p], work.gone[p] = GANG, True
            told += rest
    return told


def _fault(work: _Recall, pod: int, node: int, promises: Collection[Promise]) -> Block | None:
    """What is in the sleeper's way on its node when everybody who was told has left."""
    cut = respecting(work.later(), _of_node(work, node, promises), but=work.snapshot.pod_key(pod), now_s=work.now_s)
    stay = [p for p in np.flatnonzero(cut.pod_live & (cut.pod_node == node)).tolist() if p != pod]
    return next((block for block in faults(cut, node, stay, [pod]) if block.reason not in COMPANY), None)


def _of_node(work: _Recall, node: int, promises: Collection[Promise]) -> list[Promise]:
    where = work.snapshot.clusters[work.snapshot.node_cluster[node]].name, work.snapshot.node_name[node]
    return [one for one in promises if (one.cluster, one.node) == where]


def _others(work: _Recall, pod: int, node: int, promises: Collection[Promise]) -> list[int] | None:
    """LP pods of the node, of least cost, without which the sleeper finds its room; None where there is no such set."""
    mine = work.snapshot.pod_key(pod)
    waiting = respecting(work.later(), _of_node(work, node, promises), but=mine, now_s=work.now_s)
    live, nodes = waiting.pod_live.copy(), waiting.pod_node.copy()
    live[pod], nodes[pod] = False, UNKNOWN
    waiting = replace(waiting, pod_live=live, pod_node=nodes)
    prey = prey_of(waiting, work.now_s, work.rules.assumed_age_s, work.costs)
    candidates = prey.may & (waiting.pod_priority <= waiting.pod_priority[pod])
    units = cheapest(Hunt(prey, candidates, prey.total), node, pod)
    return None if not units else [p for unit in units for p in unit.pods]


def _keeps(work: _Recall, pod: int, node: int, leaver: int) -> bool:
    """Whether somebody who is leaving stands in the sleeper's way as long as it is there."""
    if int(work.snapshot.pod_lender[leaver]) == pod:
        return True
    later = work.later()
    stay = np.flatnonzero(later.pod_live & (later.pod_node == node)).tolist()
    return next(faults(later, node, [*(p for p in stay if p != pod), leaver], [pod]), None) is not None


def _times(work: _Recall, node: int, told: Sequence[int], waits: Sequence[int]) -> Times:
    """Only who stands on its node is in its way; the rest of a gang leaves elsewhere."""
    here = [p for p in told if int(work.snapshot.pod_node[p]) == node]
    laws = [law_for(work.snapshot, work.stops, p, work.costs) for p in here]
    laws += [_left(work, p) for p in waits]
    law = plus(last_of(laws) if laws else AT_ONCE, work.resume)
    return times_of(law)


def times_of(law: Leaving) -> Times:
    return Times(law, law.quantile(0.5), law.quantile(0.95), law.quantile(0.99), law.killed)


def _left(work: _Recall, pod: int) -> Leaving:
    """Of somebody who was told before; where nobody knows when, as if it were now."""
    snapshot, law = work.snapshot, law_for(work.snapshot, work.stops, pod, work.costs)
    noticed = int(snapshot.pod_deleted_at_s[pod])
    return law if noticed == ABSENT else after(law, work.now_s - noticed)


def _notice(work: _Recall, pod: int, cause: str) -> Notice:
    snapshot, stops = work.snapshot, work.stops
    return Notice(
        pod=snapshot.pod_key(pod),
        row=pod,
        uid=snapshot.pod_uid[pod],
        node=snapshot.node_name[snapshot.pod_node[pod]],
        cause=cause,
        gpu_milli=int(snapshot.pod_gpus[pod]) * int(snapshot.pod_gpu_milli[pod]),
        loss_milli=int(work.prey.loss[pod]),
        terms=stops.terms(pod),
        on_notice=bool(stops.on_notice[pod]),
        grace_s=work.costs.grace_s,
    )


def _promise(snapshot: Snapshot, pod: int, node: int) -> Promise:
    """Until it is handed over, or somebody takes it back: no instant ends it by itself."""
    return Promise(
        cluster=snapshot.clusters[snapshot.node_cluster[node]].name,
        node=snapshot.node_name[node],
        claimant=snapshot.pod_key(pod),
        gpu_milli=int(snapshot.pod_gpus[pod]) * int(snapshot.pod_gpu_milli[pod]),
        cpu_milli=int(snapshot.pod_cpu_milli[pod]),
        memory_mib=int(snapshot.pod_memory_mib[pod]),
    )


def _said(snapshot: Snapshot, key: str, node: str, fault: Block) -> str:
    amount = "" if fault.missing is None else f" ({fault.missing} {fault.unit or ''} too few)".replace(" )", ")")
    who = ", ".join(snapshot.pod_key(p) for p in fault.pods[:3])
    beside = f" {who}" if who and who != key else ""
    return f"Even without all LP pods that may be stopped {node} has no room for {key}: {fault.reason}{beside}{amount}."
