"""The spot trace of 2026 (cluster-trace-v2026-spot-gpu): readers of its two files, and a twin drawn from its marginals.

Constants are published tables of the real job list (466,867 rows, 184.06 days), computed by others and restated in
docs/replay.md.  The twin keeps the number of jobs by model and type, the GPU and worker histograms, medians and means
of durations by model and type, hours of the day, and that spot jobs appear on day 30; it keeps no other dependence.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import NodeRecord
from scheduler.worlds.rows import read_rows, require_columns
from scheduler.worlds.spot_marginals import (
    BACKLOG,
    CORES_PER_GPU,
    DAYS_LOW,
    GPU_LEANING,
    GPU_REQUESTS,
    HOURS,
    MODELS,
    ORGANISATIONS,
    QUANTILES,
    SPOT_FROM_DAY,
    WINDOW_S,
    WORKERS,
    WORKERS_LEANING,
    Drawn,
)

type Floats = NDArray[np.float64]
NODE_COLUMNS = ("gpu_model", "gpu_capacity_num", "cpu_num", "node_name")
JOB_COLUMNS = (
    *("job_name", "organization", "gpu_model", "cpu_request", "gpu_request", "worker_num"),
    *("submit_time", "duration", "job_type"),
)
HP, SPOT = "HP", "Spot"
MEMORY_MIB = 1 << 30  # the trace says nothing of memory: there is always enough
HOUR_S, DAY_S = 3600, 86_400


@dataclass(frozen=True, slots=True, eq=False)
class SpotJobs:
    """Jobs as the file has them.  Axis j; GPUs and CPU per worker, times in seconds."""

    name: tuple[str, ...]
    organisation: tuple[str, ...]
    model: tuple[str, ...]
    cpu: Floats
    gpu: Floats
    workers: NDArray[np.int64]
    submit_s: NDArray[np.int64]
    duration_s: NDArray[np.int64]
    spot: NDArray[np.bool_]


def read_spot_nodes(text: bytes, file: str = "node_info_df.csv") -> list[NodeRecord]:
    """Raises InputError naming file, line and field."""
    require_columns(text, file, NODE_COLUMNS)
    nodes, seen = [], set()
    for row in read_rows(text, file):
        name = row.text("node_name")
        if name in seen:
            raise row.fault("node_name", "node stands twice")
        seen.add(name)
        cpu, model = row.whole("cpu_num") * 1000, row.text("gpu_model")
        gpus = row.whole("gpu_capacity_num")
        nodes.append(NodeRecord(name=name, gpu_model=model, gpus=gpus, cpu_milli=cpu, memory_mib=MEMORY_MIB))
    return nodes


def read_spot_jobs(text: bytes, file: str = "job_info_df.csv") -> SpotJobs:
    """The job list.  Raises InputError naming file, line, field and reason for the first bad cell."""
    require_columns(text, file, JOB_COLUMNS)
    rows = _fast(text) or [[row.cells.get(name, "") for name in JOB_COLUMNS] for row in read_rows(text, file)]
    columns = [tuple(column) for column in zip(*rows, strict=True)] if rows else [()] * len(JOB_COLUMNS)
    named = dict(zip(JOB_COLUMNS, columns, strict=True))
    jobs = SpotJobs(
        name=named["job_name"],
        organisation=named["organization"],
        model=named["gpu_model"],
        cpu=_numbers(named, "cpu_request", file),
        gpu=_numbers(named, "gpu_request", file),
        workers=_numbers(named, "worker_num", file, least=1).astype(np.int64),
        submit_s=_numbers(named, "submit_time", file).astype(np.int64),
        duration_s=_numbers(named, "duration", file).astype(np.int64),
        spot=np.array([kind == SPOT for kind in named["job_type"]], np.bool_),
    )
    _check_words(named, file)
    return jobs


def _fast(text: bytes) -> list[list[str]] | None:
    """Plain comma-separated lines; None for quotes, blanks or ragged rows, which the careful reader takes."""
    if b'"' in text or b"\r" in text or not text.startswith(",".join(JOB_COLUMNS).encode()):
        return None
    lines = text.decode("utf-8", errors="replace").rstrip("\n").split("\n")[1:]
    rows = [line.split(",") for line in lines]
    return rows if all(len(row) == len(JOB_COLUMNS) for row in rows) else None


def _numbers(named: dict[str, tuple[str, ...]], field: str, file: str, least: float = 0) -> Floats:
    try:
        found = np.array(named[field], np.float64) if named[field] else np.zeros(0)
    except ValueError:
        found = np.array([_number(cell) for cell in named[field]])
    bad = np.flatnonzero(~(found >= least) | ~np.isfinite(found) | (found >= 2**53))
    if len(bad):
        at = int(bad[0])
        raise InputError(f"{file} line {at + 2}, {field}", named[field][at], f"expected a number of {least:g} or more")
    return found


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def _check_words(named: dict[str, tuple[str, ...]], file: str) -> None:
    seen: set[str] = set()
    for at, (name, kind, model) in enumerate(
        zip(named["job_name"], named["job_type"], named["gpu_model"], strict=True), 2
    ):
        if kind not in (HP, SPOT):
            raise InputError(f"{file} line {at}, job_type", kind, f"expected {HP} or {SPOT}")
        if not model:
            raise InputError(f"{file} line {at}, gpu_model", None, "required field is missing")
        if name in seen or not name:
            raise InputError(f"{file} line {at}, job_name", name, "job stands twice" if name else "is missing")
        seen.add(name)


def write_spot_jobs(jobs: SpotJobs) -> bytes:
    """The same schema as the real file, rows by time of submission."""
    return ("\n".join([",".join(JOB_COLUMNS), *_lines(jobs)]) + "\n").encode()


def _lines(jobs: SpotJobs) -> Iterator[str]:
    for at in range(len(jobs.name)):
        kind = SPOT if jobs.spot[at] else HP
        yield (
            f"{jobs.name[at]},{jobs.organisation[at]},{jobs.model[at]},{jobs.cpu[at]:g},{jobs.gpu[at]:g},"
            f"{jobs.workers[at]},{jobs.submit_s[at]},{jobs.duration_s[at]},{kind}"
        )


def twin_nodes() -> list[NodeRecord]:
    """The 4,278 nodes by the published sizes of each model."""
    nodes = []
    for model in MODELS:
        for count, gpus, cores in model.nodes:
            nodes += [
                NodeRecord(
                    name=f"{model.name}-{gpus}-{at}",
                    gpu_model=model.name, gpus=gpus, cpu_milli=cores * 1000, memory_mib=MEMORY_MIB,
                )
                for at in range(count)
            ]  # fmt: skip
    return nodes


def twin_jobs(seed: int, *, share: float = 1.0) -> SpotJobs:
    """``share`` of as many jobs as the trace has, over the whole window.  Raises InputError for a bad argument."""
    if not 0 < share <= 1:
        raise InputError("share", share, "must be above 0 and at most 1")
    if seed < 0:
        raise InputError("seed", seed, "must not be negative")
    rng = np.random.default_rng(seed)
    parts = [_part(spot, share, rng) for spot in (False, True)]
    joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    order = np.lexsort((np.arange(len(joined["submit"])), joined["submit"]))
    rows = {key: column[order] for key, column in joined.items()}
    names = [model.name for model in MODELS]
    return SpotJobs(
        name=tuple(f"job-{at:06d}" for at in range(len(order))),
        organisation=tuple(map(str, rows["organisation"].astype(np.int64).tolist())),
        model=tuple(names[at] for at in rows["model"].astype(np.int64).tolist()),
        cpu=rows["cpu"],
        gpu=rows["gpu"],
        workers=rows["workers"].astype(np.int64),
        submit_s=rows["submit"].astype(np.int64),
        duration_s=rows["duration"].astype(np.int64),
        spot=rows["spot"].astype(np.bool_),
    )


def _part(spot: bool, share: float, rng: np.random.Generator) -> dict[str, Floats]:
    kind = int(spot)
    counts = [max(1, round(share * model.jobs[kind])) for model in MODELS]
    model = np.repeat(np.arange(len(MODELS)), counts)
    submit = _submits(len(model), spot, share, rng)
    rng.shuffle(submit)
    gpu = _gpus(kind, counts, rng)
    duration = np.concatenate(
        [_durations(m.durations[kind], spot, n, rng) for m, n in zip(MODELS, counts, strict=True)]
    )
    return {
        "model": model.astype(np.float64),
        "submit": submit,
        "gpu": gpu,
        "workers": _workers(kind, model, gpu, rng),
        "cpu": _cpus(model, gpu, rng),
        "duration": np.maximum(1, np.minimum(np.round(duration), WINDOW_S - submit)),
        "organisation": _organisations(len(model), rng),
        "spot": np.full(len(model), float(spot)),
    }


def _submits(count: int, spot: bool, share: float, rng: np.random.Generator) -> Floats:
    """A backlog at the start, then hours by time of day, day of seven and bursts; spot jobs from day 30 on."""
    hours = np.arange(WINDOW_S // HOUR_S)
    bursts = np.exp(rng.normal(0, 0.45, len(hours))) * np.where(rng.random(len(hours)) < 0.03, 4.0, 1.0)
    day = hours // 24
    weight = np.array(HOURS, np.float64)[hours % 24] * np.where(np.isin(day % 7, DAYS_LOW), 0.76, 1.0) * bursts
    weight = weight * np.exp(rng.normal(0, 0.25, day.max() + 1))[day]
    weight[day < (SPOT_FROM_DAY if spot else 0)] = 0
    backlog = 0 if spot else min(count, round(BACKLOG * share))
    hour = rng.choice(len(hours), count - backlog, p=weight / weight.sum())
    drawn = hour * HOUR_S + rng.random(len(hour)) * HOUR_S
    return np.floor(np.concatenate([np.zeros(backlog), drawn]))


def _gpus(kind: int, counts: list[int], rng: np.random.Generator) -> Floats:
    """Requests by model: proportional fitting meets the histogram and the jobs of each model."""
    values = np.array([value for value, *_ in GPU_REQUESTS])
    wanted = np.array([row[1 + kind] for row in GPU_REQUESTS], np.float64)
    table = np.array([[GPU_LEANING[model.name](value) for model in MODELS] for value in values])
    table = table * wanted[:, None] + 1e-9 * (table > 0)
    goal = np.array(counts, np.float64)
    for _ in range(200):
        table *= (goal / table.sum(axis=0))[None, :]
        table *= (wanted / wanted.sum() * goal.sum() / np.maximum(table.sum(axis=1), 1e-12))[:, None]
    return np.concatenate(
        [rng.choice(values, count, p=table[:, at] / table[:, at].sum()) for at, count in enumerate(counts)]
    )


def _workers(kind: int, model: NDArray[np.int64], gpu: Floats, rng: np.random.Generator) -> Floats:
    """The published share of gangs, more of them where models and requests are large, sizes by the histogram."""
    share, mean = WORKERS.gangs[kind]
    leaning = np.array([WORKERS_LEANING[m.name] for m in MODELS])[model] * np.where(gpu >= 8, 2.0, 1.0)
    chosen = rng.choice(len(model), round(share * len(model)), replace=False, p=leaning / leaning.sum())
    sizes = np.array([size for size, _ in WORKERS.sizes])
    weight = np.array([count for _, count in WORKERS.sizes], np.float64)
    drawn = rng.choice(sizes, len(chosen), p=_tilted(sizes, weight, mean))
    most = np.array([sum(count * size for count, size, _ in m.nodes) for m in MODELS])[model[chosen]]
    workers = np.ones(len(model))
    workers[chosen] = np.maximum(1, np.minimum(drawn, most * 0.5 // np.maximum(gpu[chosen], 0.01)))
    return workers


def _tilted(sizes: NDArray[np.int64], weight: Floats, mean: float) -> Floats:
    """The histogram, leaned by a power of the size until its mean is the one of that type of job."""
    low, high = -3.0, 3.0
    for _ in range(60):
        power = (low + high) / 2
        tilted = weight * sizes**power
        if (tilted * sizes).sum() / tilted.sum() < mean:
            low = power
        else:
            high = power
    return np.asarray(tilted / tilted.sum())


def _durations(drawn: Drawn, spot: bool, count: int, rng: np.random.Generator) -> Floats:
    """The type's quantiles around the model's median, the upper half stretched until the mean is the published one."""
    u, ratios = np.array(QUANTILES[int(spot)]).T
    grid = (np.arange(4000) + 0.5) / 4000
    low, high = 0.05, 3.0
    for _ in range(50):
        power = (low + high) / 2
        if np.minimum(_curve(grid, u, ratios, drawn.median_s, power), WINDOW_S).mean() < drawn.mean_s:
            low = power
        else:
            high = power
    return np.minimum(_curve(rng.random(count), u, ratios, drawn.median_s, power), WINDOW_S)


def _curve(at: Floats, u: Floats, ratios: Floats, median: float, power: float) -> Floats:
    logs = np.log(ratios) * np.where(u > 0.5, power, 1.0)
    return np.asarray(median * np.exp(np.interp(at, u, logs)))


def _cpus(model: NDArray[np.int64], gpu: Floats, rng: np.random.Generator) -> Floats:
    """Cores per worker: so many per GPU, no more than a node has for as many GPUs."""
    per_gpu = rng.choice([cores for cores, _ in CORES_PER_GPU], len(gpu), p=[share for _, share in CORES_PER_GPU])
    most = np.array([min(cores / gpus for _, gpus, cores in m.nodes) for m in MODELS])[model]
    return np.asarray(np.maximum(1, np.floor(np.minimum(per_gpu, most) * np.maximum(gpu, 0.25))))


def _organisations(count: int, rng: np.random.Generator) -> Floats:
    weight = np.array(ORGANISATIONS, np.float64)
    return rng.choice(len(weight), count, p=weight / weight.sum()).astype(np.float64)
