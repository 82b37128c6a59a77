"""The published marginals of the ASI fleet, and the round figures that we add where none is published.

Sources: [P] the OSDI '26 study "Heterogeneity at Hyperscale" (Alibaba), [T] aggregates of its full trace, restated in
docs/worlds.md, [O] our own assumption.  Shares are of 1 unless the name says otherwise.
"""

from dataclasses import dataclass

FLEET_NODES = 37_707  # [P]
FLEET_GPUS = 155_410  # [P]
FLEET_CLUSTERS = 17  # [T]
DEPARTMENTS = 81  # [P]


@dataclass(frozen=True, slots=True)
class Model:
    """A GPU model: mean ``servers`` at a time [T]; per node GPUs, cores and GiB; ``gpu_memory_gib`` None = unknown."""

    name: str
    servers: int
    gpus: int
    cores: int
    memory_gib: int
    gpu_memory_gib: int | None
    hp_of_used: float | None = None  # share of the used GPUs that HP work holds, where published [P]


# H20 has 8 GPUs and 192 cores, A10 has 1 GPU and 128 cores [P]; XPU-A has 192 GB [P]; the other sizes are ours [O],
# so chosen that nodes have 4.1 GPUs and about 175 cores in the mean [T].  H20 includes the 93 servers with 141 GB.
MODELS = (
    Model("A10", 9_022, 1, 128, 512, 24, 0.83),
    Model("L20", 6_145, 4, 192, 1024, 48, 0.85),
    Model("XPU-B", 4_575, 4, 192, 1024, None),
    Model("XPU-C", 3_515, 4, 208, 1024, None),
    Model("H20", 2_902, 8, 192, 2048, 96),
    Model("XPU-E", 2_808, 4, 192, 1024, None),
    Model("XPU-A", 2_244, 8, 192, 2048, 192),
    Model("A100", 538, 8, 128, 1024, 80),
    Model("H800", 229, 8, 192, 2048, 80),
    Model("XPU-D", 222, 8, 160, 1024, None),
    Model("A800", 57, 8, 128, 1024, 80),
    Model("A30", 50, 2, 64, 256, 24),
)
# The model of which some servers hold twice as many GPUs, so that the fleet has the published number of GPUs [O].
TWO_SIZES = "XPU-E"

CLUSTER_SERVERS = (  # [T]
    *(7_109, 4_433, 3_857, 3_493, 2_240, 2_185, 2_132, 1_824, 1_519),
    *(1_442, 518, 471, 418, 357, 285, 16, 11),
)
SMALL_WORLD_NODES_PER_CLUSTER = 400  # [O] a smaller world has only the largest clusters, still of a useful size

UNLABELLED = 0.551  # [T] share of servers without ASW
ASW_SERVERS = (  # [T] (share of labelled ASWs below, servers), 2,388 ASWs
    *((0.0, 1.0), (0.3, 1.6), (0.4, 1.9), (0.5, 2.8), (0.6, 6.2), (0.7, 7.4), (0.75, 8.2), (0.8, 9.0)),
    *((0.85, 10.7), (0.9, 13.1), (0.95, 13.1), (0.97, 18.9), (0.99, 52.8), (1.0, 55.6)),
)
ASWS_PER_AGGREGATION = 16  # [O]

HP_SHARE = 0.68  # [P] GPUs held by HP work, awake or asleep
USED_SHARE = 0.93  # [P] with LP work on idle GPUs; work on lent GPUs comes on top
LOCKED_SHARE = 0.40  # [P]
HARVESTED = 0.90  # [P] share of sleeping GPUs that are lent
STANDBY_PEAK = 10_000 / FLEET_GPUS  # [P] asleep at midnight
STANDBY_FLOOR = 0.1  # [O] of the peak, at noon
CPU_DOMINANT_NODES = 0.80  # [P] nodes where CPU-only work asks for more CPU than GPU work

# [O] fitted to the published median 2 and mean 11 GPUs per job and to a largest job beyond 2,000 GPUs.
JOB_GPUS = (
    *((1, 0.437), (2, 0.168), (4, 0.115), (8, 0.13), (16, 0.06), (32, 0.042), (64, 0.028), (128, 0.013)),
    *((256, 0.0045), (512, 0.0018), (1024, 0.0006), (2048, 0.0001)),
)
# Online inference is over half of all jobs, LP work is four fifths offline inference [P, T]; the rest is ours [O].
CLASSES = {
    "HP": (("online", 0.75), ("training", 0.15), ("dev", 0.10)),
    "LP": (("offline", 0.80), ("training", 0.12), ("dev", 0.08)),
}
GENAI = {"training": 0.71, "offline": 0.98, "online": 0.5, "dev": 0.5}  # [P] training and offline, [O] the others
QWEN_SIZES = (("0-30B", 0.609), ("30-100B", 0.350), ("over-100B", 0.041))  # [P]
SEVERAL_MODELS = 0.005  # [P] over 99 % of jobs accept one model only
CORES_PER_GPU = ((8, 0.70), (12, 0.24), (16, 0.06))  # [O] over the shapes 1G8C ... 8G128C of the study [P]
GIB_PER_CORE = 4  # [O]
RUN_MEDIAN_S = 5 * 3600  # [P]


def standby_share(hour: int) -> float:
    """GPUs asleep at that hour, as a share of all GPUs: a peak at midnight, a floor at noon.  Linear between [O]."""
    from_midnight = min(hour, 24 - hour) / 12
    return STANDBY_PEAK * (1 - (1 - STANDBY_FLOOR) * from_midnight)
