"""Whether seats hold: on the cluster as it stands, or as a plan leaves it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from scheduler.cluster.feasibility import Eligibility, eligibility
from scheduler.cluster.room import faults, pods_by_node
from scheduler.cluster.snapshot import UNKNOWN, Ints, Snapshot
from scheduler.plan.goal import SHAPE, Goal, Seat
from scheduler.plan.slots import slot_name, with_slots
from scheduler.plan.waiting import domains_at, levels_of, mates, on_devices, one_model, pending, waiting_of

Fault = tuple[str, str]  # who, what is wrong


def extended(goal: Goal, snapshot: Snapshot) -> Snapshot:
    """The snapshot with the goal's slots, where it has some."""
    if goal.kind != SHAPE:
        return snapshot
    return with_slots(snapshot, goal.name, goal.wanted, goal.models)


def candidates(goal: Goal, snapshot: Snapshot) -> dict[str, int]:
    """Name -> row of everything that a seat may be for; ``snapshot`` is the extended one."""
    if goal.kind == SHAPE:
        first = len(snapshot.pod_name) - goal.wanted
        return {slot_name(i + 1): first + i for i in range(goal.wanted)}
    found = waiting_of(snapshot, goal.name)
    return {} if found is None else {snapshot.pod_key(p): p for p in found.pods.tolist()}


def seated_already(goal: Goal, snapshot: Snapshot) -> set[str]:
    """Seats whose pod is bound meanwhile."""
    wanted = {seat.who for seat in goal.seats} if goal.kind != SHAPE else set()
    rows = np.flatnonzero(snapshot.pod_live).tolist() if wanted else ()
    return {key for p in rows if (key := snapshot.pod_key(p)) in wanted}


def seat_faults(goal: Goal, seats: Sequence[Seat], snapshot: Snapshot) -> Iterator[Fault]:
    """What is wrong with the seats together; ``snapshot`` is extended, and their pods wait."""
    pods, node = candidates(goal, snapshot), {name: n for n, name in enumerate(snapshot.node_name)}
    unknown = [seat for seat in seats if seat.who not in pods or seat.node not in node]
    for seat in unknown:
        yield seat.who, f"is not there to be seated on {seat.node}"
    if len({seat.who for seat in seats}) < len(seats):
        yield goal.name, "seats somebody twice"
    if unknown:
        return
    placed = {pods[seat.who]: node[seat.node] for seat in seats}
    yield from _one_by_one(snapshot, placed)
    yield from _together(snapshot, placed)
    if goal.kind != SHAPE:
        yield from _in_one_domain(snapshot, placed)
        yield from _of_one_model(snapshot, placed)


def _who(snapshot: Snapshot, pod: int) -> str:
    return snapshot.pod_key(pod).removeprefix("/")  # slots are of no namespace


def _one_by_one(snapshot: Snapshot, placed: dict[int, int]) -> Iterator[Fault]:
    rules: Eligibility = eligibility(snapshot)
    waits = pending(snapshot)
    for p, n in placed.items():
        name = snapshot.node_name[n]
        if not waits[p]:
            yield _who(snapshot, p), "does not wait for a place"
        if not snapshot.node_usable[n]:
            yield _who(snapshot, p), f"cannot run on {name}, which is not ready or cordoned"
        reason = rules.reason(p, n)
        if reason:
            yield _who(snapshot, p), f"cannot run on {name}: {reason}"


def _together(snapshot: Snapshot, placed: dict[int, int]) -> Iterator[Fault]:
    """Every node holds its pods and all seats on it; company is found among pods that stand there, not among seats."""
    arrivals: dict[int, list[int]] = defaultdict(list)
    for p, n in placed.items():
        arrivals[n].append(p)
    order, starts = pods_by_node(snapshot)
    for n, pods in arrivals.items():
        block = next(faults(snapshot, n, order[starts[n] : starts[n + 1]].tolist(), pods), None)
        if block is not None:
            yield _who(snapshot, pods[-1]), f"has no room on {snapshot.node_name[n]}: {block.reason}"


def _in_one_domain(snapshot: Snapshot, placed: dict[int, int]) -> Iterator[Fault]:
    rows = np.array(sorted(placed), np.int32)
    if not len(rows):
        return
    gang = int(snapshot.pod_gang[rows[0]])
    nodes: Ints = np.concatenate([[placed[p] for p in rows.tolist()], snapshot.pod_node[mates(snapshot, gang)]])
    for level in levels_of(snapshot, rows):
        found = domains_at(snapshot, level, nodes.astype(np.int32))
        if len(found) > 1 or UNKNOWN in found:
            yield _who(snapshot, int(rows[0])), f"would not stand in one known {level}"


def _of_one_model(snapshot: Snapshot, placed: dict[int, int]) -> Iterator[Fault]:
    """One job stays within one GPU model, that of its members that run and stay."""
    seated = [p for p in placed if on_devices(snapshot, p)]
    if not seated:
        return
    running = [
        p for p in mates(snapshot, int(snapshot.pod_gang[seated[0]])).tolist() if not snapshot.pod_terminating[p]
    ]
    model = one_model(snapshot, len(seated), running)
    there = set() if model is None else {int(model[placed[p]]) for p in seated}
    if len(there) > 1 or UNKNOWN in there:
        yield _who(snapshot, seated[0]), "would not stand on one GPU model"


def holding(goal: Goal, seats: Sequence[Seat], snapshot: Snapshot) -> tuple[Seat, ...]:
    """Of the seats those that hold together: as long as something is wrong, whoever is named for it is left out."""
    kept = list(seats)
    while kept:
        blamed = {who for who, _ in seat_faults(goal, kept, snapshot)}
        if not blamed:
            break
        kept = [seat for seat in kept if seat.who not in blamed] if blamed & {seat.who for seat in kept} else []
    return tuple(kept)
