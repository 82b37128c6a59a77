# mypy: disable-error-code="no-any-return"
# Elements of arrays have no type of their own for the checker; for the compiler they have.
"""Why one node is no target of one pod, as kernels, and the tables in which such questions and answers stand.

The order of the reasons is that of ``reasons.TARGET_REASONS``.
"""

from typing import NamedTuple

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Bytes, Ints, Longs
from scheduler.consolidation.columns import (
    N_CLASS,
    N_CPU,
    N_DEVICES,
    N_FIRST,
    N_FLOATING,
    N_GPUS,
    N_MEMORY,
    N_MILLI,
    N_SLICES,
    N_SLOTS,
    NONE,
    P_CLASS,
    P_COMPANY,
    P_CPU,
    P_GPUS,
    P_MEMORY,
    P_MILLI,
    P_NEXT,
    P_TRAITS,
    PORTS,
    R_AFFINITY,
    R_CPU,
    R_GPUS,
    R_MEMORY,
    R_PORT,
    R_REFUSAL,
    R_RESOURCE,
    R_SHARE,
    R_SLICES,
    R_SLOTS,
    R_TOPOLOGY,
    SLICE_COUNTS,
    SLICES,
    TRAIT_AFFINITY,
    TRAIT_PORTS,
    TRAIT_SLICES,
    TRAIT_TOPOLOGY,
    W_PROFILES,
    Arena,
)
from scheduler.consolidation.kernel import kernel, pasted
from scheduler.consolidation.room import (
    at_home,
    clashes,
    devices_fit,
    lay_out,
    near_wanted,
    over_cut,
    share_entry,
    slices_fit,
    usable,
)
from scheduler.consolidation.shelves import Shelves


class Question(NamedTuple):
    """Axes: n node, p pod, q pod class, r node class, g group of pods, s kind of pod, f finding, x counted reason."""

    ineligible: Bytes  # [q, r] position of the first rule of eligibility that fails, NONE
    closed: Bytes  # [n] position of the reason why nothing may arrive, NONE
    closed_last: Bytes  # [n] the same where it holds only for pods that would fit
    shelves: Shelves  # the nodes that may receive
    outside: Longs  # [q, x] nodes that are on no shelf by reason, those of ``apart`` not counted
    apart: Longs  # one node of each sort among those that receive nothing though they have room
    alike: Longs  # how many nodes are of that sort
    spare: Longs  # [g, 2] the least free CPU and memory of those of ``apart`` that would take a pod of the group
    closed_counts: Longs  # [g, x] of those of ``apart``, for pods that ask for no more than ``spare``
    kind: Longs  # [p] pods of one kind ask for the same
    known: Longs  # [s] finding of a pod of this kind on the cluster as it stands, NONE
    tally: Longs  # [s] a finding of this kind that holds counts, NONE
    looks: Longs  # [1] how many more nodes are looked at for counts


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
def short_of_slices(a: Arena, p: int, t: int) -> bool:
    """Whether slices are what is missing to pod and node together; else it is another counted resource."""
    k, row, short = a.pod[p, P_COMPANY], a.node[t, N_SLICES], False
    first = a.company_start[SLICES, k]
    for x in range(a.work[W_PROFILES]):
        left = 0 if row == NONE else a.slices[row, x]
        for i in range(a.company_start[SLICES, k + 1] - first):
            if a.company[first + i] == x:
                left -= a.company[a.company_start[SLICE_COUNTS, k] + i]
        short = short or left < 0
    return short


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
    if over_cut(a, t) or (traits & TRAIT_SLICES and not slices_fit(a, p, t)):
        return (R_SLICES if short_of_slices(a, p, t) else R_RESOURCE), 0
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
