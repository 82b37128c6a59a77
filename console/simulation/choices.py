"""Closed words, ranges and limits of studies.

The core checks what it is asked itself; a test holds these words and ranges to it, since web processes do not load it.
"""

from dataclasses import dataclass

from django.db.models import TextChoices

from console.ui.ranges import Range


class StudyState(TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    SUMMING = "summing", "Being summed up"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


OPEN_STUDY = (StudyState.QUEUED, StudyState.RUNNING, StudyState.SUMMING)


class RunState(TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


OPEN_RUN = (RunState.QUEUED, RunState.RUNNING)


class TraceState(TextChoices):
    WAITING = "waiting", "Being read"
    READY = "ready", "Ready"
    REFUSED = "refused", "Refused"


class TraceKind(TextChoices):
    UPLOADED = "uploaded", "Uploaded files"
    RECORDED = "recorded", "Recorded readings"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A trace that is drawn from a seed.  ``jobs`` is about how many it has; a test compares."""

    label: str
    words: str
    jobs: int
    nodes: int
    days: int
    shares_nodes: bool  # the share is one of its nodes, and of its jobs with them
    share: float  # that the form offers


DRAWN = {
    "asi": Drawn(
        "ASI-like fleet", "two months of a mixed fleet under steady load", 343_000, 2_000, 60, True, 0.05
    ),
    "spot-twin": Drawn(
        "Twin of the spot trace", "drawn from its published marginals, 4,278 nodes", 466_867, 4_278, 184, False, 0.2
    ),
}  # fmt: skip
KEPT = "kept"  # a trace of our own rows

NAMED = {
    "ours": "our weights, beside work that ends together; a reservation for the first large job",
    "paper": "fewest free GPUs, same class, eviction history; cheapest prefix leaves; IPC every day (OSDI '26)",
    "fifo": "in order of arrival, nobody passes",
    "greedy": "whoever fits starts, first come first",
    "fair": "the smallest dominant share first",
    "large-first": "larger workers first",
    "backfill": "a reservation for the first large job",
    "lending": "room for HP work by forecast, sleepers who stay long first, calls ahead, least whole loss leaves",
    "gfs": "quota by GFS's forecast and feedback, large first, an hour guaranteed, GPUs times run leaves",
}
CONSOLIDATES_EVERY_S = {"paper": 86_400}
USUAL = ("ours", "paper", "greedy")


class Order(TextChoices):
    FIFO = "fifo", "In order of arrival, nobody passes"
    GREEDY = "greedy", "Whoever fits starts"
    FAIR = "fair", "Smallest dominant share first"
    LARGE = "large-first", "Larger workers first"
    BACKFILL = "backfill", "A reservation for the first large job"


class Preempt(TextChoices):
    NEVER = "never", "Never"
    PAPER = "paper", "The cheapest prefix leaves"
    SPARE = "spare", "The cheapest, without those who became superfluous"
    LEAST = "least", "The set that loses least, as production picks it"
    EXTENDED = "extended", "Least whole loss: exit hooks, silence and restarts counted"
    FEWEST = "fewest", "The fewest, who began last first"
    LONGEST = "longest", "The least GPUs times time since the start, as GFS counts"


class SpotQuota(TextChoices):
    NONE = "none", "No limit"
    GFS = "gfs", "GFS's rule"
    FORECAST = "forecast", "By the forecast of HP work"


WEIGHTS: dict[str, Range[float]] = {
    "packing": Range(0, 1000, "Packing", "few GPUs left free beside it", whole=False),
    "same_class": Range(0, 1000, "Same class", "HP beside HP, LP beside LP", whole=False),
    "eviction_history": Range(0, 1000, "Eviction history", "LP where few were evicted", whole=False),
    "fragmentation": Range(0, 1000, "Fragmentation", "little growth of F(M)", whole=False),
    "entropy": Range(0, 1000, "Entropy", "gangs under few switches; 0: node by node", whole=False),
    "end_together": Range(0, 1000, "Ends together", "beside work that ends when this is to end", whole=False),
}
NUMBERS: dict[str, Range[float]] = {
    **WEIGHTS,
    "guarantee_s": Range(0, 30 * 86_400, "LP is left alone for", "seconds"),
    "borrowed_s": Range(0, 30 * 86_400, "Borrowed share is left alone for", "seconds"),
    "backfill_gpus": Range(1, 1_000_000, "Reservations from", "GPUs on"),
    "consolidate_every_s": Range(0, 365 * 86_400, "Consolidation every", "seconds; 0: never"),
    "move_s": Range(1, 86_400, "A move takes", "seconds"),
    "stay_s": Range(0, 365 * 86_400, "Stays who ends within", "seconds"),
    "ahead_s": Range(0, 3600, "Borrowers leave ahead of a window's end by", "seconds"),
    "reserve_quantile": Range(0.5, 0.99, "Kept free for HP work: quantile of its peak in an hour", whole=False),
    "reserve_ahead_s": Range(300, 86_400, "LP that ends within less leaves less free", "seconds"),
    "consolidation_depth": Range(0, 3, "Depth of chains"),
    "consolidation_rounds": Range(1, 5, "Rounds"),
    "consolidation_partition": Range(2, 1_000_000, "Nodes of a partition"),
    "consolidation_exact_up_to": Range(0, 500, "Exact stage up to", "nodes"),
    "consolidation_repack_up_to": Range(0, 500, "New places in parts up to", "nodes"),
    "consolidation_least_hours": Range(0, 10_000, "Slack-node hours for each GPU moved, at least", whole=False),
    "consolidation_max_moves": Range(0, 10_000_000, "Moves of one plan at most"),
}
WORDS = {"order": Order, "preempt": Preempt, "spot_quota": SpotQuota}
SWITCHES = ("lend", "reclaim", "borrow_first", "heed_windows", "short_first", "make_ready")
CHANGES = (*NUMBERS, *WORDS, *SWITCHES)

# Limits.  What a study may cost is bounded by jobs times runs.
MOST_POLICIES = 8
MOST_SEEDS = 20
MOST_RUNS = 60
MOST_OPEN_RUNS = 60  # of one person
MOST_JOBS = 500_000
MOST_JOB_RUNS = 4_000_000
LARGEST_SEED = 2**31 - 1
MOST_DAYS = 366
MOST_BYTES = 64 * 1024 * 1024  # of the files of one upload together
MOST_FILES = 100
MOST_TRACES = 20  # of one person
MOST_HOURS = 14 * 24  # of recorded readings
MOST_READINGS = 200
MOST_SEEN_PODS = 3_000_000  # pods times readings

FIGURES = {
    "utilisation": ("Utilisation", "share of GPU time that did work which counted: held less lost"),
    "fairness": ("Fairness", "Jain's index over what each tenant was served of what it asked for"),
    "large_start_s": (
        "Start of large jobs",
        "P90 of the time until a job of 8 GPUs or more starts, those still waiting included",
    ),
    "serving_s": (
        "Latency of serving",
        "P99 of the time until an HP job of fewer GPUs starts, or a sleeper serves again",
    ),
    "disturbance": ("Disturbance", "jobs told to leave, killed or moved, per 1,000 starts"),
}
UPWARD = ("utilisation", "fairness")  # more is better; of the others less
