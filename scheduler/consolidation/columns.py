"""The search's tables: one row of integers per node and per pod, so that one look costs one cache line or two.

Kernels read these numbers as constants.  Quantities have the units of the snapshot: GPUs whole, shares and CPU in
thousandths, memory in MiB.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.reasons import PLAN_REASONS, TARGET_REASONS
from scheduler.cluster.snapshot import Bools, Longs

NONE = -1

# Node columns: what is free (negative where over-committed), then what may happen to the node.
N_CPU, N_MEMORY, N_SLOTS = 0, 1, 2
N_GPUS = 3  # whole devices that no pod touches, NONE where the devices do not hold the pods
N_MILLI = 4  # all of the devices' thousandths that are not asked for
N_OPEN = 5  # 1: may receive pods
N_CLASS = 6  # row of the eligibility matrix
N_FIRST = 7  # first pod of the node's list
N_WORK = 8  # pods other than agents
N_PINNED = 9  # those of them that cannot leave in this plan
N_FLOATING = 10  # pods whose place on the devices is computed: shares and listed devices
N_DEVICES = 11  # physical devices
N_ATTRACTED = 12  # pods that came because of affinity: nobody whom they like may leave any more
N_SLICES = 13  # row of the slice table, NONE without slices
N_DRAINABLE = 14  # 1: counted as empty once it has no work left, and in the scope of the plan
N_WORKED = 15  # pods other than agents at the start
N_ROOM = 16  # devices that may be touched: what the node allocates
N_BROKEN = 17  # bit mask of devices that are no whole GPUs
N_DEVICE_MEMORY = 18  # of each device, of the smallest one where they differ; very large where unknown
N_OWN = 19  # row of the table of devices' own memory, NONE without one
NODE_COLUMNS = 20

# Pod columns.
P_CPU, P_MEMORY, P_GPUS, P_MILLI = 0, 1, 2, 3
P_CLASS = 4  # column of the eligibility matrix
P_TRAITS = 5  # the flags below
P_NODE, P_NEXT, P_PREVIOUS = 6, 7, 8
P_FIXED = 9  # 0: may move; else its position in ``reasons.IMMOVABLE``, or LENT
P_MOVED = 10  # 1: has moved in this plan
P_LEVEL, P_DOMAIN = 11, 12  # required topology: the level, and the domain there (NONE: any that is known)
P_LEVEL_2, P_DOMAIN_2 = 19, 20  # the same for a second level: a pod's own wish beside its gang's
P_COMPANY = 13  # row of the company lists: ports, affinity, slices
P_LISTED = 14  # row of the listed devices, NONE without; they bind until the pod moves
P_STEADY = 15  # 1: neither arrives nor leaves in the wave at hand
P_AGENT = 16
P_IDENTITY = 17  # order of the pods by name; a second copy has that of the first
P_DEVICE_MEMORY = 18  # asked for on each device
P_GROUP = 21  # equal for pods of one class that ask for the same GPUs: row of what is known to find no room
POD_COLUMNS = 22

LENT = 100  # borrowers beside their lender: they may move, but the node stays, and their room is the lender's

TRAIT_PORTS, TRAIT_REFUSAL, TRAIT_AFFINITY, TRAIT_TOPOLOGY, TRAIT_SLICES = 1, 2, 4, 8, 16

# Company lists: host ports; labels it refuses, is refused by others for, and wants near it; slices and other counted
# resources, and how many.
PORTS, REFUSES, CARRIES, WANTS, SLICES, SLICE_COUNTS = range(6)
COMPANY_KINDS = 6

# Log columns: one row per move, in the order in which the moves are legal one by one.
L_POD, L_SOURCE, L_TARGET, L_DEPTH, L_PARENT, L_CHAIN = range(6)
LOG_COLUMNS = 6

# Counters of a search.
W_MOVES, W_CHECKS, W_CHAINS, W_LIMIT = range(4)
W_OPENED = 4  # an empty node that is opened on trial, NONE without one
W_PROFILES = 5  # how many columns of the slice table are slices; those after them are counted resources
WORK_COLUMNS = 6

# What found no room in the pass at hand, directly or by making room: the least CPU and memory asked for.
DIRECTLY, BY_CHAINS = 0, 1
S_CPU, S_MEMORY = 0, 1
ENDLESS = 1 << 62

# Reasons, by their position among all that are counted.
COUNTED_REASONS = TARGET_REASONS + PLAN_REASONS
R_TOPOLOGY, R_SLOTS, R_GPUS, R_SHARE = (COUNTED_REASONS.index(w) for w in ("topology", "max_pods", "gpus", "gpu_share"))
R_SLICES, R_CPU, R_MEMORY, R_PORT = (COUNTED_REASONS.index(w) for w in ("mig", "cpu", "memory", "host_port"))
R_RESOURCE = COUNTED_REASONS.index("resource")
R_REFUSAL, R_AFFINITY = (COUNTED_REASONS.index(w) for w in ("anti_affinity", "affinity"))


class Arena(NamedTuple):
    """Everything a kernel needs.  Axes: n node, p pod, k company row, q pod class, r node class, l level."""

    node: Longs  # [n, NODE_COLUMNS]
    pod: Longs  # [p, POD_COLUMNS]
    eligible: Bools  # [q, r]
    at_level: NDArray[np.int32]  # [l, n] domain at each level, NONE unknown
    company_start: Longs  # [COMPANY_KINDS, k + 1]
    company: Longs  # the lists' entries
    listed_start: Longs  # listed devices of the pods that list some
    listed: Longs
    slices: Longs  # [slice nodes, profiles then resources] what is free of them, negative where over-committed
    own_memory: Longs  # [nodes with such devices, devices]
    rest: Longs  # scratch: thousandths left per device
    memory: Longs  # scratch: memory left per device
    touched: Longs  # scratch: 1 where a pod lies on the device
    shares: Longs  # scratch: pods that share devices
    log: Longs  # [moves, LOG_COLUMNS]
    work: Longs  # [WORK_COLUMNS]
    stuck: Longs  # [2, groups, 2] what found no room, ENDLESS where nothing is known
