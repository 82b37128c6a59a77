"""Every closed set of words of a lease: where it stands, why, what ended its run, and what its numbers may be."""

from django.db.models import TextChoices

from console.ui.ranges import Range


class State(TextChoices):
    DRAFT = "draft", "Draft"
    WAITING = "waiting", "Waiting"
    STARTING = "starting", "Starting"
    RUNNING = "running", "Running"
    RECLAIMING = "reclaiming", "Reclaiming"
    REQUEUED = "requeued", "Requeued"
    ENDING = "ending", "Ending"
    ENDED = "ended", "Ended"
    GIVEN_BACK = "given_back", "Given back"
    WITHDRAWN = "withdrawn", "Withdrawn"
    EXPIRED = "expired", "Expired"
    FAILED = "failed", "Failed"


class Reason(TextChoices):
    """Why a lease stands where it stands: one at a time, each with its numbers (``selectors.wording`` reads them)."""

    NOT_ASKED = "not_asked", "Not asked for yet"
    NOT_EVALUATED = "not_evaluated", "Not looked at yet"
    OBSERVED_ONLY = "observed_only", "Only observed"
    SOURCE_SILENT = "source_silent", "Source not read lately"
    FROZEN = "frozen", "Frozen"
    # The planner's words for why an ask does not start (scheduler.spot.waits).
    NO_SUCH_MODEL = "no_such_model", "No such GPU model"
    NO_QUOTE = "no_quote", "No quote"
    OVER_LIMIT = "over_limit", "Price above its limit"
    SPOT_QUOTA = "spot_quota", "Spot quota used up"
    CONSTRAINT = "constraint", "Nodes do not take it"
    CAPACITY = "capacity", "Not enough free GPUs"
    FRAGMENTATION = "fragmentation", "Too few on one node"
    TOPOLOGY = "topology", "No block so large"
    PROMISED = "promised", "What is free is promised"
    # From the launch on.
    LAUNCHING = "launching", "Pods come up"
    TAKEN_BACK = "taken_back", "Launch was taken back"
    RUNS = "runs", "Runs"
    MOVED = "moved", "A plan moved a pod of it"
    NOTICE = "notice", "Has notice to leave"
    RECLAIMED = "reclaimed", "Goes on from its checkpoint"
    HOURS_OVER = "hours_over", "Hours are over"
    BY_TENANT = "by_tenant", "By its tenant"
    TOO_LATE = "too_late", "Waited too long"


class Cause(TextChoices):
    """What takes GPUs back from a lease."""

    HIGH_PRIORITY = "high_priority", "A high-priority pod needs room"
    RECALL = "recall", "The lender woke its standby"
    STORM = "storm", "Pre-evicted ahead of a ramp"
    PRICE = "price", "Price above its limit"
    CONSOLIDATION = "consolidation", "Consolidation moved it"
    HARDWARE = "hardware", "Its node failed"
    GIVEN_BACK = "given_back", "Given back by its tenant"
    UNKNOWN = "unknown", "Nobody says why"


OWN_CAUSES = (Cause.PRICE, Cause.GIVEN_BACK)  # what a tenant does itself, or asked for by its limit: no credit


class Checkpoint(TextChoices):
    """How the last checkpoint before the end of a run stands."""

    NONE = "none", "Writes none"
    WAITING = "waiting", "Hook has not begun"
    WRITING = "writing", "Being written"
    WRITTEN = "written", "Written"
    MISSED = "missed", "Not written: killed before"
    UNKNOWN = "unknown", "Not known"


class SeatState(TextChoices):
    """A pod of a run."""

    PLANNED = "planned", "Is launched next"
    LAUNCHED = "launched", "Launched"
    UP = "up", "Up"
    LEAVING = "leaving", "Has notice"
    GONE = "gone", "Gone"


class EstimateState(TextChoices):
    ASKED = "asked", "Asked"
    WORKING = "working", "Being worked out"
    DONE = "done", "Estimated"
    FAILED = "failed", "Failed"


RANGES = {
    "gpus_per_pod": Range(1, 64, "GPUs per pod", default=8),
    "pods": Range(1, 4096, "Pods", default=1),
    "cpu_milli": Range(0, 1 << 30, "CPU of each pod", "thousandths of a core", default=0),
    "memory_mib": Range(0, 1 << 30, "Memory of each pod", "MiB", default=0),
    "run_s": Range(600, 30 * 86_400, "Runs for", "seconds", default=12 * 3600),
    "checkpoint_interval_s": Range(60, 86_400, "Checkpoint every", "seconds", default=None),
    "hook_s": Range(1, 60, "Its exit hook needs", "seconds", default=None),
    "limit_cents": Range(1, 1_000_000, "Price limit", "US cents a GPU-hour", default=None),
    "guaranteed_s": Range(0, 6 * 3600, "Guaranteed", "seconds", default=0),
}
# Fields of an ask, as they are stored, sent by the API and told to the planner.
ASKED = (
    "gpu_models", "gpus_per_pod", "pods", "min_members", "cpu_milli", "memory_mib", "topology", "required", "run_s",
    "checkpoint_interval_s", "hook_name", "hook_s", "limit_cents", "guaranteed_s",
)  # fmt: skip
MOST_MODELS = 8
MOST_GPUS = 8192
GRACE_S = 60  # from notice to kill, the longest that anybody may take
HORIZONS_S = (900, 3600, 21_600)  # of which the chance to start is said and scored
WAITS_AT_MOST_S = 14 * 86_400  # then an ask expires
