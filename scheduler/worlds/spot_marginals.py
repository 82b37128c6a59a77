"""Published marginals of the spot trace's job list, for its twin.

[T] tables computed on the real file (466,867 rows) and restated in docs/replay.md; [O] our own assumption where
nothing is published.
"""

from collections.abc import Callable
from dataclasses import dataclass

WINDOW_S = 15_897_600  # [T] 184 days
BACKLOG = 3_740  # [T] jobs at second 0
SPOT_FROM_DAY = 30  # [T]
DAYS_LOW = (0, 1, 2, 6)  # [T] of seven: fewer jobs


@dataclass(frozen=True, slots=True)
class Drawn:
    mean_s: float
    median_s: float


@dataclass(frozen=True, slots=True)
class SpotModel:
    """``nodes``: (how many, GPUs, cores); ``jobs`` and ``durations``: of HP, then of spot."""

    name: str
    nodes: tuple[tuple[int, int, int], ...]
    jobs: tuple[int, int]
    durations: tuple[Drawn, Drawn]


def _hours(mean: float, median: float) -> Drawn:
    return Drawn(mean * 3600, median * 3600)


MODELS = (  # [T]
    SpotModel("A10", ((2_494, 1, 128),), (226_881, 1_762), (_hours(66.21, 0.11), _hours(13.21, 1.33))),
    SpotModel("A100-SXM4-80GB", ((432, 8, 128),), (137_396, 31_624), (_hours(25.32, 0.52), _hours(3.44, 0.48))),
    SpotModel("H800", ((219, 8, 192),), (8_352, 2_745), (_hours(5.46, 0.26), _hours(6.05, 0.32))),
    SpotModel(
        "GPU-series-1",
        ((902, 1, 192), (10, 4, 192), (77, 8, 192)),
        (16_054, 2_857),
        (_hours(315.42, 1.1), _hours(3.87, 2.61)),
    ),
    SpotModel("GPU-series-2", ((122, 8, 192),), (22_340, 8_057), (_hours(8.07, 0.37), _hours(3.42, 1.42))),
    SpotModel("A800-SXM4-80GB", ((22, 8, 128),), (4_690, 4_109), (_hours(12.14, 0.39), _hours(1.73, 0.39))),
)
# [T] (share of jobs below, duration as a multiple of the type's median); below the first quartile they are ours [O].
QUANTILES = (
    (
        (0.0, 0.005),
        (0.25, 205 / 1101),
        (0.5, 1.0),
        (0.75, 4010 / 1101),
        (0.9, 58_770 / 1101),
        (0.95, 500.0),
        (0.99, 5_500.0),
        (1.0, 14_440.0),
    ),
    ((0.0, 0.01), (0.25, 544 / 2095.5), (0.5, 1.0), (0.75, 8629 / 2095.5), (0.9, 21_740 / 2095.5), (1.0, 400.0)),
)
HOURS = (  # [T] jobs by hour of the day
    22_451,
    15_929,
    14_089,
    13_387,
    12_921,
    14_128,
    14_232,
    15_038,
    15_945,
    16_972,
    25_057,
    25_735,
    19_770,
    19_276,
    25_304,
    25_039,
    27_015,
    25_376,
    20_016,
    21_189,
    21_885,
    19_162,
    18_813,
    18_138,
)
GPU_REQUESTS = (  # [T] (GPUs per worker, HP jobs, spot jobs)
    (0.01, 2, 0),
    (0.1, 2_428, 0),
    (0.2, 8_354, 0),
    (0.25, 1, 0),
    (0.3, 11_996, 0),
    (0.4, 74, 0),
    (0.5, 25_359, 1_013),
    (0.67, 6, 0),
    (0.8, 2, 0),
    (0.85, 3, 0),
    (1, 279_827, 35_095),
    (2, 19_589, 3_396),
    (3, 38, 8),
    (4, 12_211, 5_812),
    (5, 45, 11),
    (6, 221, 9),
    (7, 24, 0),
    (8, 55_533, 5_810),
)
# [O] how much a model leans to a request of so many GPUs; a node of one GPU takes no more than one
GPU_LEANING: dict[str, Callable[[float], float]] = {
    "A10": lambda gpus: 4.0 if gpus < 1 else float(gpus == 1),
    "A100-SXM4-80GB": lambda gpus: 1.0,
    "H800": lambda gpus: 6.0 if gpus >= 8 else 0.3,
    "GPU-series-1": lambda gpus: 0.3 if gpus > 1 else 1.0,
    "GPU-series-2": lambda gpus: 3.0 if gpus >= 4 else 0.6,
    "A800-SXM4-80GB": lambda gpus: 1.5 if gpus >= 2 else 0.8,
}
WORKERS_LEANING = {  # [O] to gangs, after the published GPUs asked for per model
    "A10": 0.1, "A100-SXM4-80GB": 1.0, "H800": 8.0, "GPU-series-1": 0.8, "GPU-series-2": 4.0, "A800-SXM4-80GB": 1.5,
}  # fmt: skip
CORES_PER_GPU = ((4, 0.12), (8, 0.38), (12, 0.25), (16, 0.15), (24, 0.10))  # [O] after the published mean and median


@dataclass(frozen=True, slots=True)
class Gangs:
    """``gangs``: share of jobs with several workers and their mean number, of HP, then of spot; ``sizes``: all."""

    gangs: tuple[tuple[float, float], tuple[float, float]]
    sizes: tuple[tuple[int, int], ...]


WORKERS = Gangs(  # [T] beyond 64 workers in groups
    ((23_154 / 415_713, 7.89), (16_129 / 51_154, 11.10)),
    (
        (2, 13_142),
        (3, 4_600),
        (4, 5_267),
        (5, 1_689),
        (6, 1_785),
        (7, 1_566),
        (8, 2_486),
        (9, 632),
        (10, 555),
        (11, 482),
        (12, 467),
        (13, 369),
        (14, 291),
        (15, 535),
        (16, 872),
        (17, 200),
        (18, 163),
        (19, 155),
        (20, 125),
        (21, 136),
        (22, 113),
        (23, 130),
        (24, 153),
        (25, 167),
        (26, 52),
        (27, 75),
        (28, 87),
        (29, 146),
        (30, 209),
        (31, 300),
        (32, 755),
        (33, 27),
        (34, 21),
        (35, 24),
        (36, 20),
        (37, 19),
        (38, 20),
        (39, 47),
        (40, 29),
        (41, 20),
        (42, 23),
        (43, 34),
        (44, 29),
        (45, 25),
        (46, 15),
        (47, 22),
        (48, 22),
        (49, 13),
        (50, 10),
        (51, 13),
        (52, 11),
        (53, 14),
        (54, 16),
        (55, 17),
        (56, 13),
        (57, 15),
        (58, 13),
        (59, 22),
        (60, 99),
        (61, 64),
        (62, 88),
        (63, 77),
        (64, 84),
        (69, 86),
        (75, 121),
        (87, 93),
        (104, 50),
        (118, 24),
        (126, 92),
        (143, 47),
        (176, 52),
        (208, 22),
        (242, 18),
        (280, 8),
    ),
)
ORGANISATIONS = (  # [T] jobs of each
    181_107,
    108_911,
    43_293,
    45_879,
    13_718,
    13_153,
    11_417,
    968,
    16_584,
    3_221,
    4_832,
    3_860,
    285,
    27,
    1_668,
    4_555,
    1_308,
    1_634,
    304,
    2_077,
    228,
    154,
    162,
    790,
    5,
    83,
    12,
    117,
    14,
    1,
    2,
    39,
    2_104,
    17,
    64,
    11,
    576,
    3,
    84,
    55,
    6,
    871,
    840,
    12,
    214,
    38,
    22,
    50,
    1_154,
    2,
    1,
    1,
    1,
    1,
    4,
    22,
    1,
    14,
    19,
    1,
    5,
    42,
    2,
    10,
    43,
    1,
    30,
    19,
    23,
    1,
    2,
    1,
    70,
    1,
    1,
    1,
    1,
    3,
    7,
    2,
    1,
    3,
    1,
    1,
)
