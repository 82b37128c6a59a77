# mypy: disable-error-code="no-any-return"
# Elements of arrays have no type of their own for the checker; for the compiler they have.
"""Why a node stays, as kernels: try to place each of its pods, and count what is amiss for those without room.

The order of the reasons is that of ``reasons.TARGET_REASONS``.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Bools, Bytes, Ints, Longs
from scheduler.consolidation.candidates import larger
from scheduler.consolidation.columns import (
    L_TARGET,
    LENT,
    N_CLASS,
    N_CPU,
    N_DEVICES,
    N_FIRST,
    N_FLOATING,
    N_GPUS,
    N_MEMORY,
    N_MILLI,
    N_OPEN,
    N_SLOTS,
    N_WORK,
    NONE,
    P_AGENT,
    P_CLASS,
    P_CPU,
    P_FIXED,
    P_GPUS,
    P_MEMORY,
    P_MILLI,
    P_MOVED,
    P_NEXT,
    P_TRAITS,
    PORTS,
    R_AFFINITY,
    R_CPU,
    R_GPUS,
    R_MEMORY,
    R_PORT,
    R_REFUSAL,
    R_SHARE,
    R_SLICES,
    R_SLOTS,
    R_TOPOLOGY,
    TRAIT_AFFINITY,
    TRAIT_PORTS,
    TRAIT_SLICES,
    TRAIT_TOPOLOGY,
    W_MOVES,
    Arena,
)
from scheduler.consolidation.kernel import edition, entry, kernel, pasted
from scheduler.consolidation.moves import move, undo
from scheduler.consolidation.room import (
    at_home,
    clashes,
    devices_fit,
    fits,
    lay_out,
    near_wanted,
    share_entry,
    slices_fit,
    usable,
)

RANK = 1 << 50  # of a kind of shortage; amounts stay below it
FAR = 1 << 60
BLOCK = 64
PLACES = 16  # nodes noted for each kind of pod
GLANCES = 64  # nodes looked at for the nearest shortage where no counts are asked for


class Question(NamedTuple):
    """Axes: n node, p pod, q pod class, r node class, s kind of pod, f finding, x counted reason."""

    ineligible: Bytes  # [q, r] position of the first rule of eligibility that fails, NONE
    closed: Bytes  # [n] position of the reason why nothing may arrive, NONE
    closed_last: Bytes  # [n] the same where it holds only for pods that would fit
    ranked: Longs  # nodes that may receive, fullest first
    most: Longs  # [blocks of BLOCK in ranked, 3] the most free GPU milli, CPU and memory of a node
    counts_wanted: Bools  # [nodes asked about]
    kind: Longs  # [p] pods of one kind ask for the same
    known: Longs  # [s] finding of a pod of this kind on the cluster as it stands, NONE
    places: Longs  # [s, PLACES] the first nodes of ``ranked`` that may take a pod of this kind, by position
    looked: Longs  # [s] how many of them are found, NONE: not looked yet
    tally: Longs  # [s] a finding of this kind that holds counts, NONE
    tallies: Longs  # [1] how many more kinds are counted


class Findings(NamedTuple):
    """One row per pod that finds no room."""

    pod: Longs  # [f]
    same_as: Longs  # [f] the finding that holds the counts
    reason: Longs  # [f] of the nearest node, NONE where no amount is missing
    missing: Longs  # [f] in the reason's own unit
    counts: Ints  # [f, x] nodes by reason, the pod's own node among them
    own: Longs  # [f] the reason of the pod's own node, NONE without one
    counted: Longs  # [f] 1 where the counts are filled
    first: Longs  # [nodes asked about + 1] first finding of each


@pasted
def fixed_or_gone(a: Arena, p: int) -> bool:
    free = a.pod[p, P_FIXED] == 0 or a.pod[p, P_FIXED] == LENT
    return not free or a.pod[p, P_MOVED] > 0 or a.pod[p, P_AGENT] > 0


@pasted
def candidates_of(a: Arena, t: int) -> Longs:
    """The pods that a plan could move off the node, largest first."""
    found = np.empty(a.node[t, N_WORK], np.int64)
    count = 0
    p = a.node[t, N_FIRST]
    while p != NONE:
        if not fixed_or_gone(a, p):
            i = count
            while i > 0 and larger(a, p, found[i - 1]):
                found[i] = found[i - 1]
                i -= 1
            found[i] = p
            count += 1
        p = a.pod[p, P_NEXT]
    return found[:count]


@pasted
def devices_missing(a: Arena, p: int, t: int) -> int:
    """Whole GPUs, or milli of a share, that the node lacks for the pod."""
    asked, milli = a.pod[p, P_GPUS] * a.pod[p, P_MILLI], a.pod[p, P_MILLI]
    lacking = max(0, asked - a.node[t, N_MILLI])
    if milli == WHOLE_GPU_MILLI:
        if a.node[t, N_FLOATING] > 0 and a.node[t, N_GPUS] >= 0:
            return max(1, a.pod[p, P_GPUS] - a.node[t, N_GPUS])
        return max(1, -(-lacking // WHOLE_GPU_MILLI))
    if lacking == 0 and lay_out(a, t, NONE) >= 0:
        best = 0
        for device in range(a.node[t, N_DEVICES]):
            if usable(a, t, device):
                best = max(best, a.rest[device])
        lacking = milli - best
    return max(1, lacking)


@pasted
def unfit(a: Arena, p: int, t: int, amounts: bool) -> tuple[int, int]:
    """The first reason why the pod does not fit beside all that stands on an eligible node, and what is missing."""
    traits = a.pod[p, P_TRAITS]
    if traits & TRAIT_TOPOLOGY and not at_home(a, p, t):
        return R_TOPOLOGY, 0
    if a.node[t, N_SLOTS] < 1:
        return R_SLOTS, 1 - a.node[t, N_SLOTS]
    if not devices_fit(a, p, t):
        whole = a.pod[p, P_GPUS] == 0 or a.pod[p, P_MILLI] == WHOLE_GPU_MILLI
        return (R_GPUS if whole else R_SHARE), (devices_missing(a, p, t) if amounts else 0)
    if traits & TRAIT_SLICES and not slices_fit(a, p, t):
        return R_SLICES, 0
    if a.node[t, N_CPU] < a.pod[p, P_CPU]:
        return R_CPU, a.pod[p, P_CPU] - a.node[t, N_CPU]
    if a.node[t, N_MEMORY] < a.pod[p, P_MEMORY]:
        return R_MEMORY, a.pod[p, P_MEMORY] - a.node[t, N_MEMORY]
    if traits & TRAIT_AFFINITY and not near_wanted(a, p, t):
        return R_AFFINITY, 0
    return NONE, 0


@pasted
def crowded(a: Arena, p: int, t: int) -> int:
    """The reason why a resident and the pod cannot stand together, NONE where all can."""
    refused, r = NONE, a.node[t, N_FIRST]
    while r != NONE:
        if a.pod[p, P_TRAITS] & a.pod[r, P_TRAITS] and clashes(a, p, r):
            if a.pod[p, P_TRAITS] & a.pod[r, P_TRAITS] & TRAIT_PORTS and share_entry(a, PORTS, p, PORTS, r):
                return R_PORT
            refused = R_REFUSAL
        r = a.pod[r, P_NEXT]
    return refused


@kernel
def why_not(a: Arena, q: Question, p: int, t: int, amounts: bool) -> tuple[int, int]:
    """Position of the reason why node ``t`` is no target of pod ``p``, NONE if it is one, and what is missing."""
    reason = q.ineligible[a.pod[p, P_CLASS], a.node[t, N_CLASS]]
    if reason != NONE:
        return reason, 0
    if q.closed[t] != NONE:
        return q.closed[t], 0
    found, missing = unfit(a, p, t, amounts)
    if found in (NONE, R_AFFINITY):
        company = crowded(a, p, t)
        found = company if company != NONE else found
    return (q.closed_last[t] if found == NONE else found), missing


@pasted
def nearness(reason: int, missing: int) -> int:
    """Smaller is nearer: short of memory, then of CPU, then of GPUs, then of pods; FAR without an amount."""
    if missing == 0:
        return FAR
    if reason == R_MEMORY:
        return missing
    if reason == R_CPU:
        return RANK + missing
    return (3 if reason == R_SLOTS else 2) * RANK + missing


@pasted
def count_reasons(a: Arena, q: Question, out: Findings, p: int, row: int) -> None:
    """Count the reasons of all nodes."""
    out.counted[row] = 1
    for t in range(len(a.node)):
        reason = why_not(a, q, p, t, False)[0]
        if reason != NONE:
            out.counts[row, reason] += 1


@pasted
def glance(a: Arena, q: Question, out: Findings, p: int, row: int) -> None:
    """The nearest shortage among the emptiest nodes that may receive."""
    nearest = FAR + 1
    out.reason[row], out.missing[row] = NONE, 0
    for i in range(len(q.ranked) - 1, max(-1, len(q.ranked) - 1 - GLANCES), -1):
        t = q.ranked[i]
        reason, missing = why_not(a, q, p, t, True) if a.node[t, N_OPEN] == 1 else (NONE, 0)
        near = nearness(reason, missing)
        if reason != NONE and near < nearest:
            nearest = near
            out.reason[row], out.missing[row] = reason, missing


@pasted
def touched_since(a: Arena, mark: int, t: int) -> bool:
    """Whether a move from row ``mark`` of the log on came to the node."""
    found = False
    for row in range(mark, a.work[W_MOVES]):
        found = found or a.log[row, L_TARGET] == t
    return found


@pasted
def look_for_places(a: Arena, q: Question, p: int, node: int, mark: int) -> None:
    """Note the first places that may take pods of this kind once the trial of ``node`` is taken back."""
    kind, asked, count, i = q.kind[p], a.pod[p, P_GPUS] * a.pod[p, P_MILLI], 0, 0
    while i < len(q.ranked) and count < PLACES:
        most = q.most[i // BLOCK]
        if i % BLOCK == 0 and (most[0] < asked or most[1] < a.pod[p, P_CPU] or most[2] < a.pod[p, P_MEMORY]):
            i += BLOCK
            continue
        t = q.ranked[i]
        if t == node or fits(a, p, t) or touched_since(a, mark, t):
            q.places[kind, count] = i
            count += 1
        i += 1
    q.looked[kind] = count


@pasted
def first_fit(a: Arena, q: Question, p: int, node: int, mark: int) -> int:
    """The fullest node that takes the pod.

    A trial only takes room from other nodes, so what cannot take pods of this kind without it is passed over; what
    affinity wants may come along, though.
    """
    kind, rest = q.kind[p], 0
    if a.pod[p, P_TRAITS] & TRAIT_AFFINITY == 0:
        if q.looked[kind] == NONE:
            look_for_places(a, q, p, node, mark)
        for i in range(q.looked[kind]):
            t = q.ranked[q.places[kind, i]]
            if a.node[t, N_OPEN] == 1 and fits(a, p, t):
                return t
        rest = q.places[kind, PLACES - 1] + 1 if q.looked[kind] == PLACES else len(q.ranked)
    for i in range(rest, len(q.ranked)):
        t = q.ranked[i]
        if a.node[t, N_OPEN] == 1 and fits(a, p, t):
            return t
    return NONE


@pasted
def record(a: Arena, q: Question, out: Findings, p: int, node: int, wanted: bool, row: int, clean: bool) -> None:
    """Write the finding for a pod without room; ``clean``: it would have none either if the trial had not begun."""
    kind = q.kind[p]
    known = q.known[kind]
    out.pod[row], out.own[row], out.same_as[row] = p, why_not(a, q, p, node, False)[0], row
    if known != NONE and (out.counted[known] == 1 or not wanted):
        out.same_as[row], out.reason[row], out.missing[row] = known, out.reason[known], out.missing[known]
        return
    glance(a, q, out, p, row)
    if wanted and q.tally[kind] == NONE and q.tallies[0] > 0:
        count_reasons(a, q, out, p, row)
        q.tally[kind] = row
        q.tallies[0] -= 1
    elif wanted and q.tally[kind] != NONE:
        # No node took a pod of this kind then either; only those that a trial touched may say it in another word
        out.same_as[row] = q.tally[kind]
    if clean and not fits(a, p, node):
        q.known[kind] = out.same_as[row]


@pasted
def ask(a: Arena, q: Question, out: Findings, node: int, counts_wanted: bool, row: int) -> int:
    """Try to empty one node, largest pod first; writes a finding per pod without room, returns the next free row."""
    mark, first, was_open = a.work[W_MOVES], row, a.node[node, N_OPEN]
    a.node[node, N_OPEN] = 0
    for p in candidates_of(a, node):
        t = NONE if q.known[q.kind[p]] != NONE else first_fit(a, q, p, node, mark)
        if t == NONE:
            clean = a.work[W_MOVES] == mark or q.looked[q.kind[p]] == 0
            record(a, q, out, p, node, counts_wanted and row == first, row, clean)
            row += 1
        else:
            move(a, p, t, 0, NONE)
    undo(a, mark)
    a.node[node, N_OPEN] = was_open
    return row


def _ask_entry(stamp: int) -> Callable[[Arena, Question, Findings, Longs], int]:
    @entry
    def ask_all(a: Arena, q: Question, out: Findings, nodes: Longs) -> int:
        """Ask why each of the nodes stays; returns the number of findings.  The tables are left as they were."""
        row = 0
        for i in range(len(nodes)):
            if stamp >= 0:
                out.first[i] = row
                row = ask(a, q, out, nodes[i], q.counts_wanted[i], row)
        out.first[len(nodes)] = row
        return row

    return ask_all


ask_all = _ask_entry(edition("room", "moves", "candidates", "probe"))
