"""What is wrong with a job itself: it could start on no cluster like this one, whoever left."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scheduler.admission.jobs import Job
from scheduler.admission.reasons import MISCONFIGURED, NO_SUCH_MODEL, Reason, some
from scheduler.cluster.feasibility import Eligibility
from scheduler.cluster.records import FINISHED_PHASES, WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Ints, Longs, Snapshot
from scheduler.placement.homes import places_at
from scheduler.placement.parts import Part

RULES = {  # of ``cluster.reasons.ELIGIBILITY``, as people say them
    "gpu_memory": "has the device memory",
    "selector": "has the labels of its selector",
    "taint": "has only taints that it tolerates",
    "zone": "is in the zone of its volume",
    "only_node": "is the one node that it names",
}
AXES = (  # name in the numbers, unit in the sentence, and how many of the former make one of the latter
    ("gpus", "GPUs", 1),
    ("cpu_milli", "cores", 1000),
    ("memory_mib", "GiB of memory", 1024),
    ("gpu_memory_mib", "GiB of device memory", 1024),
)


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """What the largest node of each class of ``Eligibility`` has.  Axes: a of ``AXES``, r node classes."""

    first: Longs  # [r] a node of the class
    cluster: Longs  # [r]
    nodes: Longs  # [r] how many
    largest: Longs  # [a, r] physical: a fault may pass
    models: dict[int, frozenset[str]]  # cluster -> GPU models of its nodes


def sizes_of(snapshot: Snapshot, rules: Eligibility) -> Sizes:
    classes, first = np.unique(rules.node_class, return_index=True)
    columns: tuple[Ints | Longs, ...] = (
        snapshot.node_gpus,
        snapshot.node_cpu_milli,
        snapshot.node_memory_mib,
        _device_memory(snapshot),
    )
    largest = np.zeros((len(AXES), len(classes)), np.int64)
    for axis, column in enumerate(columns):
        np.maximum.at(largest[axis], rules.node_class, column)
    return Sizes(
        first=first.astype(np.int64),
        cluster=snapshot.node_cluster[first].astype(np.int64),
        nodes=np.bincount(rules.node_class, minlength=len(classes)).astype(np.int64),
        largest=largest,
        models=_models(snapshot),
    )


def _models(snapshot: Snapshot) -> dict[int, frozenset[str]]:
    named = snapshot.node_model != UNKNOWN
    pairs = set(zip(snapshot.node_cluster[named].tolist(), snapshot.node_model[named].tolist(), strict=True))
    return {c: frozenset(snapshot.models[m] for d, m in pairs if d == c) for c, _ in pairs}


def _device_memory(snapshot: Snapshot) -> Longs:
    """[n] a node of which nobody knows it is not the reason."""
    known = snapshot.node_gpu_memory_mib
    return np.where(known == ABSENT, np.iinfo(np.int64).max, known)


def faults_of(snapshot: Snapshot, rules: Eligibility, sizes: Sizes, job: Job) -> list[Reason]:
    """Every misfit of the job; nothing where it could start on an empty cluster."""
    found = [*_members(snapshot, job), *_contrary(snapshot, job), *_levels(snapshot, job)]
    if lacking := _no_model(snapshot, sizes, job):
        return [*found, lacking]
    for part in job.parts:
        found += _nowhere(sizes, rules, job, part)
    if not found:
        found += _too_wide(snapshot, rules, job)
    return found


def _wrong(sentence: str, **numbers: int | str | None) -> Reason:
    return Reason(MISCONFIGURED, sentence, numbers)


def _members(snapshot: Snapshot, job: Job) -> Iterator[Reason]:
    if job.gang == UNKNOWN:
        return
    record = snapshot.gangs[job.gang]
    have = len(job.pods) + len(job.running)
    if have >= record.min_members:
        return
    mine = np.flatnonzero(snapshot.pod_gang == job.gang).tolist()
    over = sum(snapshot.pod_phase[p] in FINISHED_PHASES for p in mine)
    leaving = int((snapshot.pod_live & snapshot.pod_terminating)[mine].sum())
    ended = f"; {some(over, 'member')} finished, and finished is not ready" if over else ""
    ended += f"; {some(leaving, 'member')} {'is' if leaving == 1 else 'are'} leaving" if leaving else ""
    yield _wrong(
        f"It has {some(have, 'member')} and starts with {record.min_members}{ended}.",
        fault="members", members=have, finished_members=over, leaving_members=leaving, min_members=record.min_members,
    )  # fmt: skip


def _contrary(snapshot: Snapshot, job: Job) -> Iterator[Reason]:
    if job.contrary:
        yield _wrong("Its pods accept no GPU model in common.", fault="models")
    for part in job.parts:
        spec = snapshot.pod_specs[part.shape[1]]
        both = sorted(set(spec.affinity) & set(spec.anti_affinity))
        if both:
            yield _wrong(f"It wants to stand beside {both[0]} and refuses it.", fault="affinity", label=both[0])
        if job.lp and any(snapshot.pod_standby[p] for p in part.pods):
            yield _wrong("It is LP and asleep: only HP pods sleep.", fault="standby")


def _levels(snapshot: Snapshot, job: Job) -> Iterator[Reason]:
    for level in job.levels:
        if places_at(snapshot, level) is None:
            known = ", ".join(snapshot.levels) or "none"
            yield _wrong(
                f"It requires one {level}, and no network domain of that level is known (known levels: {known}).",
                fault="level", level=level, known=known,
            )  # fmt: skip


def _no_model(snapshot: Snapshot, sizes: Sizes, job: Job) -> Reason | None:
    """What its pods on GPUs accept in common, and what each of the others names: it is held to that, too."""
    there = sizes.models.get(job.cluster, frozenset())
    for part in job.parts:
        named, on = part.spec(snapshot).gpu_models, part.on_devices(snapshot)
        models = job.models if on and job.models else named
        if (on and job.contrary) or (there & set(models) if models else there or not on):
            continue
        known = ", ".join(sorted(there))
        sentence = f"No node of model {' or '.join(models)}; there are {known or 'none with GPUs'}."
        numbers: dict[str, int | str | None] = {"models": ", ".join(models), "there": known, "nodes": 0}
        return Reason(NO_SUCH_MODEL, sentence if models else "No node has GPUs.", numbers)
    return None


def _nowhere(sizes: Sizes, rules: Eligibility, job: Job, part: Part) -> Iterator[Reason]:
    """A pod that no node could hold: because of its size, or of what it asks of the node.  Axis r: node classes."""
    pod = part.pods[0]
    of_model = _accepted(sizes, rules, pod) & (sizes.cluster == job.cluster)
    if not of_model.any():
        return
    size = _oversized(sizes, part, of_model, "no node has")
    yield from size
    good = of_model & rules.matrix[rules.pod_class[pod]]
    if not good.any():
        yield _no_node(sizes, rules, pod, of_model)
    elif not size:
        yield from _oversized(sizes, part, good, "no node that it may run on has")


def _accepted(sizes: Sizes, rules: Eligibility, pod: int) -> Bools:
    """[r] of a model that the pod accepts."""
    factor = next(factor for factor in rules.factors if factor.word == "model")
    return np.asarray(factor.good[factor.pod_value[pod]][factor.node_value[sizes.first]])


def _oversized(sizes: Sizes, part: Part, classes: Bools, nobody: str) -> list[Reason]:
    """Amounts beyond those of the largest node among these classes; physical ones, since a fault may pass."""
    asked = (part.shape[2], part.shape[5], part.shape[6], part.shape[4] if part.shape[2] else 0)
    largest = sizes.largest[:, classes].max(axis=1).tolist()
    found = []
    for (name, unit, size), wanted, most in zip(AXES, asked, largest, strict=True):
        if wanted > most:
            said = f"Each pod asks for {wanted / size:g} {unit}"
            sentence = f"{said}, and {nobody} so much: the largest has {most / size:g}."
            found.append(_wrong(sentence, **{"fault": "size", f"asked_{name}": wanted, f"largest_{name}": most}))
    return found


def _no_node(sizes: Sizes, rules: Eligibility, pod: int, of_model: Bools) -> Reason:
    """The first rule that no node meets, else that together they leave none."""
    nodes = int(sizes.nodes[of_model].sum())
    for factor in rules.factors:
        if factor.word in RULES:
            good = factor.good[factor.pod_value[pod]][factor.node_value[sizes.first]]
            if not (good & of_model).any():
                sentence = f"No node of its GPU model {RULES[factor.word]}."
                return _wrong(sentence, fault=factor.word, nodes_of_model=nodes)
    sentence = "No node meets its selector, tolerations, zone and device memory together."
    return _wrong(sentence, fault="together", nodes_of_model=nodes)


def _too_wide(snapshot: Snapshot, rules: Eligibility, job: Job) -> Iterator[Reason]:
    """A job larger than the largest domain of a level that it requires, were that empty."""
    asked = sum(len(part.pods) * part.shape[2] for part in job.parts if part.shape[3] >= WHOLE_GPU_MILLI)
    asked += int(snapshot.pod_gpus[list(job.running)].sum()) if job.running else 0
    good = np.logical_or.reduce([rules.eligible(part.pods[0]) for part in job.parts])
    for level in job.levels:
        at = places_at(snapshot, level)
        if at is None:
            continue
        inside = good & (at != UNKNOWN)
        sizes = np.bincount(at[inside], weights=snapshot.node_gpus[inside]) if inside.any() else np.zeros(1)
        largest = int(sizes.max(initial=0))
        if job.gang != UNKNOWN and asked > largest:
            yield _wrong(
                f"It needs {asked} GPUs in one {level}, and the largest {level} has {largest}.",
                fault="domain_size", asked_gpus=asked, largest_gpus=largest, level=level,
            )  # fmt: skip
