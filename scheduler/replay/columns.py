"""The loop's tables: one row of integers per node, task, job, lane and pool, which is all that a replay's state is.

Kernels read these numbers as constants.  GPU shares and CPU are in thousandths, memory in MiB, times in seconds of the
virtual clock.  A pool is the nodes of one cluster and one GPU model, a task one of a job's equal workers, and a lane
the queue of jobs that ask for the same thing on behalf of the same tenant.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.snapshot import Longs

NONE = -1
WHOLE = 1000
DAY_S = 86_400
HP, LP = 0, 1

# Node columns.  What is left is negative while a claimant waits for those who leave.
N_POOL, N_GPUS, N_ASW = 0, 1, 2
N_CPU, N_MEMORY = 3, 4  # left
N_LENT_CPU = 5  # CPU of sleepers that nobody borrows
N_WHOLE = 6  # whole devices that nobody holds
N_UP = 7
N_FIRST = 8  # first task of the node's list
N_HP, N_LP = 9, 10  # thousandths held
N_EVICTED = 11  # evictions here, in thousandths, halved every day
N_EVICTED_AT = 12
N_HELD = 13  # job that the node is reserved for
N_FAILS = 14  # failures so far: the index of the next draw
N_FREE = 15  # thousandths left
N_TASKS = 16
N_UNTIL = 17  # the latest end that an owner of a task here has said
N_VERSION = 18  # changes so far
NODE_COLUMNS = 19

# Task columns.
T_JOB, T_NODE, T_DEVICES, T_NEXT, T_PREVIOUS = 0, 1, 2, 3, 4
T_BORROWS = 5  # 1: it runs on devices of sleepers
T_MOVING = 6  # node of the second copy
T_MOVING_DEVICES = 7
T_PLANNED = 8  # where a plan wants it
TASK_COLUMNS = 9

# Job columns: what is asked for.
J_ARRIVAL, J_DURATION, J_TIER, J_TENANT, J_POOLS = 0, 1, 2, 3, 4
J_WORKERS, J_GPUS, J_MILLI, J_CPU, J_MEMORY = 5, 6, 7, 8, 9
J_CHECKPOINT = 10  # seconds of work between checkpoints; 0: it writes none
J_TOPOLOGY = 11  # ANYWHERE, PREFERRED or REQUIRED: one ASW
J_SLEEP_AT, J_SLEEP_S = 12, 13  # second of the day at which it falls asleep, and for how long; 0: never
J_FIXED = 14  # 1: it never moves
J_RESTARTS = 15  # 1: a move stops it first
J_ESTIMATE = 16  # seconds that its owner says it will run
J_SLICED = 17  # 1: it asks for MIG slices, which a replay does not count: it never starts
J_NOTICE = 18  # 1: its exit hook writes a checkpoint
J_SILENT = 19  # 1: it does not say when it wrote its last checkpoint
J_RECALL_AT = 20  # instant at which its owner calls it although its window has not ended; 0: never
J_LANE, J_TASK = 21, 22
# What became of it.
J_STATUS, J_EPOCH, J_SAVED, J_STARTED, J_OVERHEAD = 23, 24, 25, 26, 27
J_FIRST, J_END, J_EVICTIONS, J_FAILURES, J_LOST = 28, 29, 30, 31, 32  # lost in thousandths of a GPU times seconds
J_LEAVERS = 33  # jobs that have to leave before it starts
J_CLAIMANT = 34  # the job that it leaves for
J_NEXT, J_QUEUED, J_WAITED = 35, 36, 37
J_ENTROPY, J_ASWS = 38, 39  # thousandths of a nat, and switches, at its last start
J_MOVES = 40
J_ASLEEP = 41  # 1: asleep, 2: waking
J_WAKE = 42  # when it was told to wake
J_SLOWEST = 43  # longest seconds from being called to serving
J_CLAIM = 44  # epoch of the claimant when it was told to leave
J_TOLD, J_EXIT = 45, 46  # when it was told to leave, and when it will have left
J_DUE = 47  # when it ends if nothing comes in between
J_POOL, J_NODES = 48, 49  # pool, and how many nodes, at its last start
J_UNKNOWN = 50  # 1: it was placed on several nodes, of which some have no known switch
J_GROUND = 51  # of GROUNDS, on which it was told to leave last
J_BORROWED = 52  # the claim for which it counts as running on somebody else's share
J_WINDOW, J_WINDOWS = 53, 54  # its windows of standby: the first one, and how many
J_UNTIL = 55  # when the window ends in which it sleeps, as it is known
J_PREDICTED, J_REALISED = 56, 57  # thousandths of a GPU times seconds: foreseen at the last notice, and what it was
J_RECALLED = 58  # seconds from being called ahead of its window's end to serving, NONE
J_SERVED = 59  # when it served again last, NONE
J_CAUSE = 60  # first of the columns of seconds waited by cause
CAUSES = ("order", "quota", "capacity", "fragmentation", "topology", "leaving")
BY_ORDER, BY_QUOTA, BY_CAPACITY, BY_FRAGMENTATION, BY_TOPOLOGY, BY_LEAVING = range(6)
J_MARK = J_CAUSE + len(CAUSES)  # first of the columns of the lane's clocks when it joined
JOB_COLUMNS = J_MARK + len(CAUSES)
ASKED = slice(J_ARRIVAL, J_LANE)
# By standing; own share; of a sleeper that is called; of a node; ahead of a window's end; ahead of HP work to come.
GROUNDS = ("preempt", "reclaim", "recall", "failure", "ahead", "reserve")
BY_PREEMPT, BY_RECLAIM, BY_RECALL, BY_FAILURE, BY_AHEAD, BY_RESERVE = range(6)
OUTCOME = slice(J_STATUS, J_MARK)

ANYWHERE, PREFERRED, REQUIRED = 0, 1, 2
AHEAD, WAITING, CLAIMING, RUNNING, LEAVING, DONE, NEVER = 0, 1, 2, 3, 4, 5, 6

# Lane columns: what its jobs ask for, then the queue.
L_TIER, L_TENANT, L_POOLS, L_WORKERS, L_GPUS, L_MILLI = 0, 1, 2, 3, 4, 5
L_CPU, L_MEMORY, L_TOPOLOGY = 6, 7, 8
L_HEAD, L_COUNT, L_PLACE = 9, 10, 11  # place among the active ones, NONE
L_CAUSE, L_SINCE = 12, 13
L_KIND = 14  # of request, for scores that are kept
L_TAIL = 15
L_SEEN = 16  # of its pool's givings back, how many its first job had seen when it found no room; 0: none
L_TRIED = 17  # when it last asked whether somebody might leave, and nobody could
L_CLOCK = 18
LANE_COLUMNS = L_CLOCK + len(CAUSES)

# Pool columns.  Times thousandths: integrals over time.
P_LOW, P_HIGH, P_FREE, P_LP_HELD, P_HP_HELD, P_LENDABLE, P_BORROWED = 0, 1, 2, 3, 4, 5, 6
P_WAITING, P_AT = 7, 8  # thousandths that waiting jobs of the pool ask for; instant of the integrals
P_HP_TIME, P_LP_TIME, P_FREE_TIME, P_LOST_TIME, P_ASLEEP_TIME = 9, 10, 11, 12, 13
P_HOLDER, P_HELD_UNTIL = 14, 15  # the job with a reservation, and when it is to start
P_ASLEEP = 16
P_UP = 17  # thousandths of nodes that are up
P_UP_TIME = 18
P_EVICTED, P_EVICTED_AT = 19, 20  # the most evictions that a node of the pool counts, and when that was looked up
P_GIVEN = 21  # how often something was given back
RING = 8
P_RING = 22  # first of the columns: the last nodes where something was given back, by turns
P_COUNT = P_RING + RING  # first of the columns: nodes that are up, by whole devices free
MOST_DEVICES = 62  # bits of a task's devices
P_SUMS = P_COUNT + MOST_DEVICES + 1
P_WHOLE, P_CPU, P_MEMORY = P_SUMS, P_SUMS + 1, P_SUMS + 2  # left on nodes that are up: whole devices, and what is > 0
P_BORROWED_TIME = P_SUMS + 3
P_MODEL = P_SUMS + 4  # row of its GPU model among those under quota
P_LOOK = P_SUMS + 5  # when the queue is looked at again although nothing came free, 0: never
P_CAP = P_SUMS + 6  # thousandths that LP may hold, sleepers' aside; NO_LIMIT where nothing is said
P_KEEP, P_LEAST = P_SUMS + 7, P_SUMS + 8  # free thousandths that LP leaves; below the second one some of LP leaves
P_WIDE, P_KEEP_NODES = P_SUMS + 9, P_SUMS + 10  # devices of its largest nodes; how many of those LP leaves whole
P_CLEAR = P_SUMS + 11  # of those fewer than which there are never for long: LP leaves one
POOL_COLUMNS = P_SUMS + 12

# Quota columns, one row per account and model under quota, accounts of tenants first, the last model is all of them.
# Thousandths; NO_LIMIT where nothing is said.  The words are those of ``admission.tree``.
Q_NOMINAL, Q_SHARE, Q_HOME, Q_LIMIT = 0, 1, 2, 3  # own quota; with what children lend; what stays; what may be borrowed
Q_KEPT = 4  # of a root: 1 where somebody below has a nominal quota of the model
Q_NAMED = 5  # of a root: 1 where somebody below says anything of the model
Q_HP, Q_LP, Q_CHARGED = 6, 7, 8  # own use; own use and what children use of it
Q_PEAK = 9  # the most HP at once since that was last written down
QUOTA_COLUMNS = 10
NO_LIMIT = 1 << 60
# Account columns.
A_PARENT, A_CAP, A_TOTAL, A_LISTED = 0, 1, 2, 3  # total: HP and LP, of the account and all below
ACCOUNT_COLUMNS = 4
MOST_DEEP = 64  # accounts above one another

# Clock row.
C_NOW, C_HEAP, C_NEXT_JOB, C_ACTIVE, C_EVENTS = 0, 1, 2, 3, 4
C_MOVED, C_MOVES, C_STALE_MOVES = 5, 6, 7  # thousandths of a GPU times seconds that two copies ran
C_EVICTIONS, C_KILLED, C_FAILURES, C_STARTS = 8, 9, 10, 11
C_DIRTY = 12  # bits of pools where something changed
C_CLAIMS = 13  # claims for which it was asked who runs on somebody else's share
C_CALLS = 14  # sleepers that were called
C_TOLD = 15  # first of the columns by GROUNDS: jobs that were told to leave, or stopped by a failure
C_LOST = C_TOLD + len(GROUNDS)  # and what they lost, in thousandths of a GPU times seconds
C_HOOKS = C_LOST + len(GROUNDS)  # exits that have ended
C_HOOK_S, C_CUT = C_HOOKS + 1, C_HOOKS + 2  # seconds that those took, and how many were killed
CLOCK_COLUMNS = C_HOOKS + 3

# Settings row: whole numbers that a policy and a scenario give.
S_ORDER, S_PREEMPT, S_GUARANTEE, S_BACKFILL_GPUS, S_LEND = 0, 1, 2, 3, 4
S_FAIL_MEAN, S_REPAIR_MEAN, S_SEED = 5, 6, 7
S_OVERHEAD_SMALL, S_OVERHEAD_LARGE = 8, 9
S_TENANTS, S_QUOTA = 10, 11
S_RECLAIM, S_BORROWED = 12, 13  # 1: own share is taken back; seconds for which what runs on it is left alone
S_KEEP_WHOLE, S_ENTROPY = 14, 15  # 1: as ``placement.policy`` says
S_EXIT_MEDIAN, S_EXIT_SIGMA, S_EXIT_HANGS = 16, 17, 18  # of the law of exit times, all in thousandths
S_RESUME, S_RESUME_SIGMA = 19, 20  # median and sigma of what a sleeper takes to serve again, thousandths
S_AHEAD = 21  # seconds before a known end of a window at which borrowers are told to leave
S_BORROW_FIRST = 22  # 1: LP that ends before a sleeper is back goes there first
S_WINDOWS = 23  # 1: LP borrows only where it can save something before the sleeper is back
S_OPEN = 24  # bits of the pools whose own devices the LP job that is being seated may take
S_STRICT = 25  # 1: of sleepers only those that sleep longer than the job says to run
S_SHORT_FIRST = 26  # 1: of waiting LP jobs the one that says to end first
S_RESERVE = 27  # seconds within which HP work may rise by what is kept free for it
SETTING_COLUMNS = 28

# Weights of the terms of a placement.
W_PACKING, W_SAME_CLASS, W_EVICTIONS, W_GRADIENT, W_TOGETHER = 0, 1, 2, 3, 4
TERMS = 5

# Events, in the order in which those of one instant happen.
END, EXIT, REPAIR, FAIL, WAKE, AWAKE, SLEEP, MOVED, MOVE, LOOK, FORESEEN = range(11)

SCRATCH = 12
SLOWEST = 600  # seconds; slower calls count as so slow

type Doubles = NDArray[np.float64]


class State(NamedTuple):
    """All that changes, and what it is read against.  Axes: n node, d device, t task, j job, l lane, p pool."""

    node: Longs  # [n, NODE_COLUMNS]
    left: Longs  # [n, d] thousandths, 0 beyond the node's devices
    lent: Longs  # [n, d] thousandths of sleepers that nobody borrows
    task: Longs  # [t, TASK_COLUMNS]
    job: Longs  # [j, JOB_COLUMNS] in order of arrival
    lane: Longs  # [l, LANE_COLUMNS]
    active: Longs  # [l] lanes with waiting jobs, the first C_ACTIVE
    pool: Longs  # [p, POOL_COLUMNS]
    quota: Longs  # [account * model, QUOTA_COLUMNS]
    account: Longs  # [account, ACCOUNT_COLUMNS]
    window: Longs  # [w, 2] of one job one after the other: asleep from, until
    called: Longs  # [SLOWEST + 1] sleepers by seconds from being called to serving
    weight: Longs  # [tenant] thousandths
    heap: Longs  # [e, 3] instant, kind and subject, epoch
    clock: Longs  # [CLOCK_COLUMNS]
    setting: Longs  # [SETTING_COLUMNS]
    weights: Doubles  # [term]
    mix: Longs  # [shape, 5] CPU, GPUs, thousandths, pools, weight
    kept: Longs  # [kind, n] version of the node, and how much its fragment would grow
    scratch: Longs  # [SCRATCH, longest] working rows, never read across calls
