"""What is lost when a job leaves: by the study's rule, as production foresees it, and by rules to be compared with."""

from scheduler.replay import columns as c
from scheduler.replay.kernel import kernel

NOBODY, PAPER, SPARE, LEAST, EXTENDED, FEWEST, LONGEST = 0, 1, 2, 3, 4, 5, 6
DEAR = 1 << 61
DISTURBED = 900 * c.WHOLE  # that a job waits anew, and its owner with it, is worth a quarter of a GPU-hour
LARGE_WORKER_GPUS = 8  # above, a restart takes longer
SILENT_S = 1800  # assumed since the last checkpoint of a job that does not say, as ``performance.interruption`` does
# What is known of exit hooks before any has ended: so many exits with the study's mean, one of them killed.
USUAL_EXITS, USUAL_EXIT_S, USUAL_CUT = 20, 13, 1


@kernel
def done_by(one, at):  # type: ignore[no-untyped-def]
    """Seconds of work that a running job has done by an instant."""
    return one[c.J_SAVED] + max(0, at - one[c.J_STARTED] - one[c.J_OVERHEAD])


@kernel
def kept_of(one, done):  # type: ignore[no-untyped-def]
    """Of those what its last checkpoint holds."""
    every = one[c.J_CHECKPOINT]
    return max(one[c.J_SAVED], done // every * every) if every else one[c.J_SAVED]


@kernel
def milli_of(one):  # type: ignore[no-untyped-def]
    return one[c.J_WORKERS] * one[c.J_GPUS] * one[c.J_MILLI]


@kernel
def restart_s(state, one):  # type: ignore[no-untyped-def]
    large = one[c.J_GPUS] > LARGE_WORKER_GPUS
    return state.setting[c.S_OVERHEAD_LARGE] if large else state.setting[c.S_OVERHEAD_SMALL]


@kernel
def foreseen(state, job):  # type: ignore[no-untyped-def]
    """Thousandths of a GPU times seconds that are lost if the job is told to leave now, as far as anybody can know.

    The work since its last checkpoint, or for one that does not say half an hour at most; where its hook writes one,
    only as often as hooks were killed so far.  Then the time to leave, as it was in the mean, and the restart.
    """
    one, clock = state.job[job], state.clock
    done = done_by(one, clock[c.C_NOW])
    ran = done - one[c.J_SAVED]
    age = float(min(ran, SILENT_S)) if one[c.J_SILENT] else float(done - kept_of(one, done))
    exits = clock[c.C_HOOKS] + USUAL_EXITS
    if one[c.J_NOTICE]:
        age *= (clock[c.C_CUT] + USUAL_CUT) / exits
    leaves = (clock[c.C_HOOK_S] + USUAL_EXITS * USUAL_EXIT_S) / exits
    return int((age + leaves + restart_s(state, one)) * milli_of(one))


@kernel
def loss(state, job):  # type: ignore[no-untyped-def]
    """By what victims are compared, in thousandths of a GPU times seconds.

    The study: C = G (now - last checkpoint), the whole run where nothing is told of one.
    """
    one, now, rule = state.job[job], state.clock[c.C_NOW], state.setting[c.S_PREEMPT]
    if rule == EXTENDED:
        return foreseen(state, job) + DISTURBED
    if rule == FEWEST:  # who began last leaves first
        return now - one[c.J_STARTED]
    if rule == LONGEST:
        return (now - one[c.J_STARTED]) * milli_of(one)
    done = done_by(one, now)
    kept = one[c.J_SAVED] if one[c.J_SILENT] else kept_of(one, done)
    more = state.setting[c.S_OVERHEAD_SMALL] if rule == SPARE else 0
    return (done - kept + more) * milli_of(one)
