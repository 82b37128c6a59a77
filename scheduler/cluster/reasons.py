"""The closed set of words for why a pod cannot go to a node, or cannot move at all."""

# Properties of pod and node, whoever else is there; the first that fails is the reason.
ELIGIBILITY = ("cluster", "model", "gpu_memory", "selector", "taint", "zone", "only_node")
# The node's state and what is on it.
BLOCKING = (
    "cordoned",
    "not_ready",
    "topology",
    "max_pods",
    "gpus",
    "gpu_share",
    "mig",
    "resource",
    "cpu",
    "memory",
    "host_port",
    "anti_affinity",
    "affinity",
)
TARGET_REASONS = ELIGIBILITY + BLOCKING

# Why a pod moves in no plan; the first that holds is the reason, and code 0 means that it may move.  The last is no
# fact of the cluster: whoever asks for a plan says that the pod was moved lately.
IMMOVABLE = ("", "agent", "terminating", "locked", "move_never", "budget", "lender", "gang", "topology", "resting")

# Why a node that could hold a pod is still no target of a plan: the plan empties it, or using it would gain nothing.
PLAN_REASONS = ("emptied", "empty")
# Why a plan keeps a node whose pods could all leave: it takes pods of others, it is outside the scope, the limit on
# moves left it out, the search was stopped before it, or all was asked for and others stay.  The last stands for nodes
# that would take its pods and are kept apart from the plan: held for others, or to be drained next.
APART = "apart"
# Why a pod that finds no company elsewhere finds none in any plan: it and others of its node want each other, so none
# of them can go first, and a copy is company only from the end of its wave on.
TOGETHER = "together"
KEPT_REASONS = ("receives", "scope", "max_moves", "stopped", "whole", APART, TOGETHER)
