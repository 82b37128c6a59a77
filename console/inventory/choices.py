"""Statuses and measures of what is observed."""

from django.db.models import TextChoices


class SourceKind(TextChoices):
    """The connectors' kinds, under the words for people."""

    FILE = "file", "Snapshot file"
    OPENB = "openb", "OpenB pair"
    SIMULATED = "simulated", "Simulated cluster"
    KUBERNETES = "kubernetes", "Kubernetes cluster"


# These are followed by processes of their own; no clock asks for their readings.
WATCHED = frozenset({SourceKind.KUBERNETES})
ACTING = frozenset({SourceKind.SIMULATED})  # plans can be run on them; the others are only observed
LENDING = frozenset({SourceKind.SIMULATED})  # pods can be put to sleep there, recalled, launched and ended
LEASE_S = 30.0  # without a word from its holder, a source is free for others after so long


class SourceState(TextChoices):
    WAITING = "waiting", "Waiting for its first reading"
    LIVE = "live", "Live"
    SUSPICIOUS = "suspicious", "Suspicious"  # read, but what the cluster says now is held to be wrong
    FAILING = "failing", "Failing"


UNKNOWN_STATE = "unknown"  # of a source that nobody follows; never stored, since nobody would store it


class Way(TextChoices):
    """How a cluster is reached."""

    KUBECONFIG = "kubeconfig", "With a kubeconfig"
    IN_CLUSTER = "in-cluster", "With the account of the pod that Slackline runs in"


class Means(TextChoices):
    """As whom a telemetry endpoint is asked; a test holds the words to the connector's."""

    NOBODY = "none", "Nobody: it needs no credentials"
    BEARER = "bearer", "With a token"
    BASIC = "basic", "With user and password"


class Levels(TextChoices):
    """Which node labels name the levels of the network; a test holds the words to the reader's presets."""

    AUTO = "auto", "As the cluster says: Topology of Kueue or KAI, HyperNodes, or the first preset that fits"
    TOPOGRAPH = "topograph", "topograph (fabric.topograph.run/tier-…)"
    TOPOGRAPH_NAMES = "topograph-names", "topograph, older (network.topology.nvidia.com/…)"
    GKE = "gke", "GKE (cloud.google.com/gce-topology-…)"
    PROVIDER = "provider", "cloud.provider.com/topology-block and -rack"
    PLAIN = "plain", "topology.kubernetes.io/block and /rack"
    NONE = "none", "None: no levels"
    CUSTOM = "custom", "Labels of your own"


# What the format cannot hold, in words for people; the words themselves come with the readings.
UNHELD = {
    "preference": "Preferred placement that binds nobody",
    "topology_affinity": "Pods that must share a place wider than a node",
    "topology_anti_affinity": "Pods that must not share a place wider than a node",
    "foreign_peers": "Affinity to pods of other namespaces",
    "spread": "Topology spread",
    "volume": "Volumes that only some nodes can mount",
    "missing_volume": "Volumes that are not there",
    "device_claim": "Device claims that do not say whole devices",
    "device_taint": "Rules that taint devices",
    "gate": "Pods that no scheduler looks at yet",
    "fraction": "Shares of a GPU in units of their own",
    "mixed_devices": "Several kinds of accelerators at once",
    "budget": "Disruption budgets of unknown size",
    "quota": "Quotas that are not GPUs of a model",
    "gang": "Gangs that are not one number of members",
    "topology_wish": "Wishes for a level that is not read",
    "topology": "Nodes that stand in two places at once",
    "toleration": "Tolerations with an unknown operator or effect",
    "host_port": "Host ports at addresses that are read as any, or that are none",
    "resource": "Resources that are not counted: given by claims, or of unknown vendors",
    "disruption": "Pods that are about to be ended",
    "nomination": "Pods for which others are being ended",
    "local_data": "Files on the node that do not move along",
    "value": "Marks of ours that cannot be understood",
    "unreadable": "Objects that cannot be read at all",
}
DONE = {
    "pinned": "the pod is never moved",
    "widened": "held more strictly than asked",
    "ignored": "left aside: no plan can break it",
    "unread": "not known now",
    "left out": "not part of the reading",
}


class UploadState(TextChoices):
    WAITING = "waiting", "Being read"
    LOADED = "loaded", "Loaded"
    REFUSED = "refused", "Refused"


class UploadKind(TextChoices):
    SNAPSHOT = "snapshot", "Snapshot file (JSON)"
    OPENB = "openb", "OpenB pair (CSV)"
    TABLES = "tables", "nodes.csv and pods.csv"


class Behaviour(TextChoices):
    """What a loaded file becomes."""

    FILE = "file", "A file: to look at"
    QUIET = "quiet", "A simulated cluster in which nothing moves by itself"
    LIVELY = "lively", "A simulated cluster that lives: pods come and go"


class LockShare(TextChoices):
    """Whose locks a row of the lock ledger sums up, so that each node counts in one row only."""

    WORKLOAD = "workload", "One workload"
    TENANT = "tenant", "Several workloads of one tenant"
    MIXED = "mixed", "Several tenants"
    REST = "rest", "All others"


class ReleaseState(TextChoices):
    """Of the question whether a locked workload may be moved within a window."""

    ASKED = "asked", "Waits for an answer"
    GRANTED = "granted", "Released"
    REFUSED = "refused", "Refused"
    WITHDRAWN = "withdrawn", "Withdrawn"
    TAKEN_BACK = "taken_back", "Taken back"
    EXPIRED = "expired", "Not answered in time"


# How a granted release is called by the clock; never stored.
RELEASE_AHEAD, RELEASE_ON, RELEASE_OVER = "release_ahead", "release_on", "release_over"


class Measure(TextChoices):
    """What a cell of the map can show, in percent of the node's GPUs; health is a code."""

    FREE = "free", "Free"
    STRANDED = "stranded", "Stranded"
    CPU_BOUND = "cpu_bound", "CPU-bound"
    STANDBY = "standby", "Standby"
    LP = "lp", "LP"
    HEALTH = "health", "Health"


class HealthCode(TextChoices):
    OK = "ok", "Ready"
    CORDONED = "cordoned", "Cordoned"
    NOT_READY = "not_ready", "Not ready"
    DEGRADED = "degraded", "Degraded"
    NO_GPUS = "no_gpus", "No GPUs"


HEALTH_BY_CODE = tuple(HealthCode)  # the byte of the map is the index
MEASURES = tuple(Measure)
STORED = (*MEASURES, "stranded_gpus", "cause")  # the stored columns, in order
CAUSES = (
    "", "unhealthy", "stranded", "cpu_memory", "constraint", "fractional", "standby", "allocated_lp", "allocated_hp",
)  # fmt: skip
NO_DATA = 255
