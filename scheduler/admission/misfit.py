"""What is wrong with a job itself: it could start on no cluster like this one, whoever left."""

from collections.abc import Iterator

import numpy as np

from scheduler.admission.jobs import Job, Part
from scheduler.admission.reasons import MISCONFIGURED, NO_SUCH_MODEL, Reason, some
from scheduler.cluster.feasibility import Eligibility
from scheduler.cluster.records import FINISHED_PHASES, WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Longs, Snapshot

RULES = {  # of ``cluster.reasons.ELIGIBILITY``, as people say them
    "gpu_memory": "has the device memory",
    "selector": "has the labels of its selector",
    "taint": "has only taints that it tolerates",
    "zone": "is in the zone of its volume",
    "only_node": "is the one node that it names",
}


def faults_of(snapshot: Snapshot, rules: Eligibility, job: Job) -> list[Reason]:
    """Every misfit of the job; nothing where it could start on an empty cluster."""
    found = [*_members(snapshot, job), *_contrary(snapshot, job), *_levels(snapshot, job)]
    if lacking := _no_model(snapshot, job):
        return [*found, lacking]
    for part in job.parts:
        found += _nowhere(snapshot, rules, job, part)
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
    ended = f"; {some(over, 'member')} finished, and finished is not ready" if over else ""
    yield _wrong(
        f"It has {some(have, 'member')} and starts with {record.min_members}{ended}.",
        fault="members", members=have, finished_members=over, min_members=record.min_members,
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
        if level not in snapshot.levels:
            known = ", ".join(snapshot.levels) or "none"
            yield _wrong(
                f"It requires one {level}, and no network domain of that level is known (known levels: {known}).",
                fault="level", level=level, known=known,
            )  # fmt: skip


def _no_model(snapshot: Snapshot, job: Job) -> Reason | None:
    asks = any(part.shape[2] or snapshot.pod_specs[part.shape[1]].mig for part in job.parts)
    there = {
        snapshot.models[m] for m in np.unique(snapshot.node_model[_inside(snapshot, job)]).tolist() if m != UNKNOWN
    }
    if not asks or (there & set(job.models) if job.models else there) or job.contrary:
        return None
    wanted = " or ".join(job.models) or "any GPU"
    return Reason(
        NO_SUCH_MODEL,
        f"No node of model {wanted}; there are {', '.join(sorted(there)) or 'none with GPUs'}.",
        {"models": ", ".join(job.models), "there": ", ".join(sorted(there)), "nodes": 0},
    )


def _inside(snapshot: Snapshot, job: Job) -> Bools:
    return np.asarray(snapshot.node_cluster == job.cluster)


def _nowhere(snapshot: Snapshot, rules: Eligibility, job: Job, part: Part) -> Iterator[Reason]:
    """A pod that no node could hold: because of its size, or of what it asks of the node."""
    pod, gpus = part.pods[0], part.shape[2]
    codes = rules.reasons(pod)
    of_model = _inside(snapshot, job) & _accepted(rules, pod)
    size = _sizes(snapshot, part, of_model)
    yield from size
    good = of_model & (codes == UNKNOWN)
    if not good.any() and of_model.any():
        yield _no_node(rules, pod, of_model)
    elif not size and good.any():
        for one in _sizes(snapshot, part, good):
            yield _wrong(one.sentence.replace("no node has", "no node that it may run on has"), **dict(one.numbers))
    if gpus > 1 and part.shape[3] < WHOLE_GPU_MILLI and not (snapshot.node_gpus[good] >= gpus).any() and not size:
        yield _wrong(f"It asks for shares of {gpus} devices of one node.", fault="size", asked_gpus=gpus)


def _accepted(rules: Eligibility, pod: int) -> Bools:
    """[n] of the pod's cluster and of a model that it accepts."""
    factors = {factor.word: factor for factor in rules.factors}
    good = np.ones(len(rules.node_class), np.bool_)
    for word in ("cluster", "model"):
        factor = factors[word]
        good &= factor.good[factor.pod_value[pod]][factor.node_value]
    return good


def _sizes(snapshot: Snapshot, part: Part, nodes: Bools) -> list[Reason]:
    """Amounts beyond those of the largest node among ``nodes``; physical ones, since a fault may pass."""
    axes: tuple[tuple[str, str, int, Longs], ...] = (
        ("gpus", "GPUs", part.shape[2], snapshot.node_gpus.astype(np.int64)),
        ("cpu_milli", "thousandths of a core", part.shape[5], snapshot.node_cpu_milli),
        ("memory_mib", "MiB of memory", part.shape[6], snapshot.node_memory_mib),
        ("gpu_memory_mib", "MiB of device memory", part.shape[4] if part.shape[2] else 0, _device_memory(snapshot)),
    )
    found = []
    for name, unit, asked, has in axes:
        largest = int(has[nodes].max(initial=0))
        if asked > largest and nodes.any():
            sentence = f"Each pod asks for {asked} {unit}, and no node has so much: the largest has {largest}."
            numbers: dict[str, int | str | None] = {"fault": "size", f"asked_{name}": asked, f"largest_{name}": largest}
            found.append(Reason(MISCONFIGURED, sentence, numbers))
    return found


def _device_memory(snapshot: Snapshot) -> Longs:
    """[n] a node of which nobody knows it is not the reason."""
    known = snapshot.node_gpu_memory_mib
    return np.where(known == ABSENT, np.iinfo(np.int64).max, known)


def _no_node(rules: Eligibility, pod: int, of_model: Bools) -> Reason:
    """The first rule that no node meets, else that together they leave none."""
    for factor in rules.factors:
        if factor.word in RULES:
            good = factor.good[factor.pod_value[pod]][factor.node_value]
            if not (good & of_model).any():
                sentence = f"No node of its GPU model {RULES[factor.word]}."
                return _wrong(sentence, fault=factor.word, nodes_of_model=int(of_model.sum()))
    sentence = "No node meets its selector, tolerations, zone and device memory together."
    return _wrong(sentence, fault="together", nodes_of_model=int(of_model.sum()))


def _too_wide(snapshot: Snapshot, rules: Eligibility, job: Job) -> Iterator[Reason]:
    """A job larger than the largest domain of a level that it requires, were that empty."""
    asked = sum(len(part.pods) * part.shape[2] for part in job.parts if part.shape[3] >= WHOLE_GPU_MILLI)
    asked += int(snapshot.pod_gpus[list(job.running)].sum()) if job.running else 0
    good = np.logical_or.reduce([rules.eligible(part.pods[0]) for part in job.parts])
    for level in job.levels:
        at = snapshot.node_at_level[snapshot.levels.index(level)]
        inside = good & (at != UNKNOWN)
        sizes = np.bincount(at[inside], weights=snapshot.node_gpus[inside]) if inside.any() else np.zeros(1)
        largest = int(sizes.max(initial=0))
        if job.gang != UNKNOWN and asked > largest:
            yield _wrong(
                f"It needs {asked} GPUs in one {level}, and the largest {level} has {largest}.",
                fault="domain_size", asked_gpus=asked, largest_gpus=largest, level=level,
            )  # fmt: skip
