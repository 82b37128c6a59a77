# mypy: disable-error-code="no-any-return"
# Elements of arrays have no type of their own for the checker; for the compiler they have.
"""Why a node stays, as kernels: try to place each of its pods, and count what is amiss for those without room."""

from collections.abc import Callable

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Longs
from scheduler.consolidation.candidates import larger
from scheduler.consolidation.columns import (
    DIRECTLY,
    ENDLESS,
    L_TARGET,
    LENT,
    N_CLASS,
    N_CPU,
    N_FIRST,
    N_MEMORY,
    N_OPEN,
    N_WORK,
    NONE,
    P_AGENT,
    P_CLASS,
    P_CPU,
    P_DEVICE_MEMORY,
    P_FIXED,
    P_GPUS,
    P_GROUP,
    P_MEMORY,
    P_MILLI,
    P_MOVED,
    P_NEXT,
    P_NODE,
    P_TRAITS,
    R_CPU,
    R_GPUS,
    R_MEMORY,
    R_SLOTS,
    S_CPU,
    S_MEMORY,
    TRAIT_SLICES,
    TRAIT_TOPOLOGY,
    W_MOVES,
    Arena,
)
from scheduler.consolidation.kernel import edition, entry, pasted
from scheduler.consolidation.moves import move, undo
from scheduler.consolidation.room import (
    fits,
)
from scheduler.consolidation.shelves import (
    SHELVES,
    STOCK_CPU,
    STOCK_GPUS,
    STOCK_SHELF,
    STOCK_SLOTS,
    enough_cpu,
    first_with_room,
    lowest_shelf,
    order_of,
)
from scheduler.consolidation.shortage import Findings, Question, why_not

RANK = 1 << 50  # of a kind of shortage; amounts stay below it
FAR = 1 << 60
GLANCES = 16  # nodes with enough CPU, and as many with too little, looked at on each shelf for the nearest shortage


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
def plain(a: Arena, q: Question, p: int) -> bool:
    """Whether the shelves alone say where GPUs or CPU are too few for the pod; company is asked about after those."""
    whole = a.pod[p, P_MILLI] == WHOLE_GPU_MILLI and a.pod[p, P_DEVICE_MEMORY] == 0 and a.pod[p, P_GPUS] < SHELVES - 1
    homeless = a.pod[p, P_TRAITS] & (TRAIT_TOPOLOGY | TRAIT_SLICES) == 0
    return homeless and q.shelves.exact[0] == 1 and (whole or a.pod[p, P_GPUS] == 0)


@pasted
def count_by_shelves(a: Arena, q: Question, out: Findings, p: int, row: int) -> None:
    """Count the reasons of all nodes for a plain pod: only those with GPUs and CPU enough are looked at."""
    s, order, need = q.shelves, order_of(a, p), lowest_shelf(a, p)
    line = s.row[a.pod[p, P_CLASS]]
    out.counted[row] = 1
    for x in range(out.counts.shape[1]):
        out.counts[row, x] += q.outside[a.pod[p, P_CLASS], x]
    count_apart(a, q, out, p, row)
    for b in range(SHELVES):
        first, last = s.start[order, line, b], s.start[order, line, b + 1]
        if b < need:
            out.counts[row, R_GPUS] += last - first
            continue
        middle = enough_cpu(s, order, first, last, a.pod[p, P_CPU])
        out.counts[row, R_CPU] += middle - first
        for i in range(middle, last):
            reason = why_not(a, q, p, s.node[order, i], False)[0]
            if reason != NONE:
                out.counts[row, reason] += 1
    recount_binding(a, q, out, p, row)


@pasted
def count_apart(a: Arena, q: Question, out: Findings, p: int, row: int) -> None:
    """Count the closed nodes with room; where CPU and memory suffice, as for a pod of this group before."""
    group, choosy = a.pod[p, P_GROUP], a.pod[p, P_TRAITS] != 0
    if choosy or a.pod[p, P_CPU] > q.spare[group, S_CPU] or a.pod[p, P_MEMORY] > q.spare[group, S_MEMORY]:
        counts, spare = np.zeros(out.counts.shape[1], np.int64), np.full(2, ENDLESS)
        for i in range(len(q.apart)):
            t = q.apart[i]
            if q.ineligible[a.pod[p, P_CLASS], a.node[t, N_CLASS]] == NONE:
                reason = why_not(a, q, p, t, False)[0]
                counts[reason] += q.alike[i]
                if reason == q.closed_last[t]:
                    spare[S_CPU] = min(spare[S_CPU], a.node[t, N_CPU])
                    spare[S_MEMORY] = min(spare[S_MEMORY], a.node[t, N_MEMORY])
                elif choosy or reason in (R_CPU, R_MEMORY):
                    spare[S_CPU] = NONE
        q.spare[group] = spare
        q.closed_counts[group] = counts
    out.counts[row] += q.closed_counts[group]


@pasted
def recount_binding(a: Arena, q: Question, out: Findings, p: int, row: int) -> None:
    """Of nodes with listed devices the shelves promise too many GPUs, and so they blame CPU too early."""
    for t in q.shelves.binds:
        eligible, stock = q.ineligible[a.pod[p, P_CLASS], a.node[t, N_CLASS]] == NONE, q.shelves.stock[t]
        if eligible and stock[STOCK_SHELF] >= a.pod[p, P_GPUS] and stock[STOCK_CPU] < a.pod[p, P_CPU]:
            reason = why_not(a, q, p, t, False)[0]
            out.counts[row, R_CPU] -= 1
            if reason != NONE:
                out.counts[row, reason] += 1


@pasted
def own_reason(a: Arena, q: Question, p: int, node: int) -> int:
    """In what word the counts hold the pod's own node, NONE where they do not."""
    reason, stock = q.ineligible[a.pod[p, P_CLASS], a.node[node, N_CLASS]], q.shelves.stock[node]
    if reason != NONE or not plain(a, q, p):
        return why_not(a, q, p, node, False)[0]
    if stock[STOCK_SLOTS] < 1:
        return R_SLOTS
    if stock[STOCK_GPUS] < 0 or (a.pod[p, P_GPUS] > 0 and stock[STOCK_SHELF] < a.pod[p, P_GPUS]):
        return R_GPUS
    binds = stock[STOCK_SHELF] > stock[STOCK_GPUS]
    return R_CPU if stock[STOCK_CPU] < a.pod[p, P_CPU] and not binds else why_not(a, q, p, node, False)[0]


@pasted
def count_reasons(a: Arena, q: Question, out: Findings, p: int, row: int) -> None:
    """Count the reasons of all nodes by a look at each."""
    out.counted[row] = 1
    for t in range(len(a.node)):
        reason = why_not(a, q, p, t, False)[0]
        if reason != NONE:
            out.counts[row, reason] += 1


@pasted
def count(a: Arena, q: Question, out: Findings, p: int, row: int) -> None:
    """Count the reasons if that is still affordable."""
    if plain(a, q, p):
        count_by_shelves(a, q, out, p, row)
    elif q.looks[0] >= len(a.node):
        count_reasons(a, q, out, p, row)
        q.looks[0] -= len(a.node)
    if out.counted[row] == 1:
        q.tally[q.kind[p]] = row


@pasted
def consider(a: Arena, q: Question, out: Findings, p: int, t: int, row: int) -> int:
    """Note the shortage of the node if it is nearer than those before; returns the reason."""
    if a.node[t, N_OPEN] == 0:
        return NONE
    reason, missing = why_not(a, q, p, t, True)
    best = FAR + 1 if out.reason[row] == NONE else nearness(out.reason[row], out.missing[row])
    if reason != NONE and nearness(reason, missing) < best:
        out.reason[row], out.missing[row] = reason, missing
    return reason


@pasted
def glance(a: Arena, q: Question, out: Findings, p: int, row: int) -> None:
    """The nearest shortage: of the nodes with GPUs enough those with nearly the CPU, else those with most GPUs."""
    s, order, need = q.shelves, order_of(a, p), lowest_shelf(a, p)
    line = s.row[a.pod[p, P_CLASS]]
    out.reason[row], out.missing[row] = NONE, 0
    for turn in range(SHELVES):
        b = turn + need if turn + need < SHELVES else SHELVES - 1 - turn
        first, last = s.start[order, line, b], s.start[order, line, b + 1]
        if b < need and out.missing[row] > 0:
            break
        middle = enough_cpu(s, order, first, last, a.pod[p, P_CPU])
        for i in range(middle, min(last, middle + GLANCES)):
            consider(a, q, out, p, s.node[order, i], row)
        for i in range(middle - 1, max(first - 1, middle - 1 - GLANCES), -1):
            if consider(a, q, out, p, s.node[order, i], row) == R_CPU:
                break


@pasted
def stuck(a: Arena, q: Question, p: int) -> bool:
    """Whether a pod that asks for no more found no room on the cluster as it stands; trials only take room."""
    row = a.stuck[DIRECTLY, a.pod[p, P_GROUP]]
    return q.known[q.kind[p]] != NONE or (a.pod[p, P_CPU] >= row[S_CPU] and a.pod[p, P_MEMORY] >= row[S_MEMORY])


@pasted
def note_stuck(a: Arena, q: Question, out: Findings, mark: int, end: int, finding: int) -> None:
    """Remember a pod that has no room either now that the trial is taken back, rows ``mark`` to ``end`` of the log."""
    p = out.pod[finding]
    room = fits(a, p, a.pod[p, P_NODE])
    for i in range(mark, end):
        room = room or fits(a, p, a.log[i, L_TARGET])
    if room:
        return
    q.known[q.kind[p]] = finding
    row = a.stuck[DIRECTLY, a.pod[p, P_GROUP]]
    if a.pod[p, P_TRAITS] == 0 and a.pod[p, P_CPU] <= row[S_CPU] and a.pod[p, P_MEMORY] <= row[S_MEMORY]:
        row[S_CPU], row[S_MEMORY] = a.pod[p, P_CPU], a.pod[p, P_MEMORY]


@pasted
def record(a: Arena, q: Question, out: Findings, p: int, node: int, row: int, wanted: bool) -> None:
    """Write the finding for a pod without room; ``wanted``: with counts."""
    kind = q.kind[p]
    out.pod[row], out.own[row], out.same_as[row] = p, own_reason(a, q, p, node), row
    if q.known[kind] != NONE:
        known = q.known[kind]
        out.reason[row], out.missing[row] = out.reason[known], out.missing[known]
    else:
        glance(a, q, out, p, row)
    if wanted and q.tally[kind] == NONE:
        count(a, q, out, p, row)
    if q.tally[kind] != NONE:
        # No node took a pod of this kind then either; only those that a trial touched may say it in another word
        out.same_as[row] = q.tally[kind]


@pasted
def ask(a: Arena, q: Question, out: Findings, node: int, row: int) -> int:
    """Try to empty one node, largest pod first; writes a finding per pod without room, returns the next free row."""
    mark, first, was_open = a.work[W_MOVES], row, a.node[node, N_OPEN]
    a.node[node, N_OPEN] = 0
    for p in candidates_of(a, node):
        t = NONE if stuck(a, q, p) else first_with_room(a, q.shelves, p)
        if t == NONE:
            record(a, q, out, p, node, row, row == first)
            row += 1
        else:
            move(a, p, t, 0, NONE)
    end = a.work[W_MOVES]
    undo(a, mark)
    a.node[node, N_OPEN] = was_open
    for finding in range(first, row):
        if not stuck(a, q, out.pod[finding]):
            note_stuck(a, q, out, mark, end, finding)
    return row


def _ask_entry(stamp: int) -> Callable[[Arena, Question, Findings, Longs], int]:
    @entry
    def ask_all(a: Arena, q: Question, out: Findings, nodes: Longs) -> int:
        """Ask why each of the nodes stays; returns the number of findings.  The tables are left as they were."""
        row = 0
        a.stuck[:] = ENDLESS
        for i in range(len(nodes)):
            if stamp >= 0:
                out.first[i] = row
                row = ask(a, q, out, nodes[i], row)
        out.first[len(nodes)] = row
        return row

    return ask_all


ask_all = _ask_entry(edition("room", "moves", "candidates", "shelves", "shortage", "probe"))
