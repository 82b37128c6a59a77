"""What its owner could change: fewer GPUs a pod, fewer pods, or a GPU model that it does not name."""

from collections.abc import Iterator
from dataclasses import replace

from scheduler.admission.allowed import by_quota, on_model
from scheduler.admission.diagnosis import Ground, ground_of
from scheduler.admission.jobs import Job
from scheduler.admission.planner import Explained
from scheduler.admission.reasons import gpus, some
from scheduler.advice.remedy import BUDGET, FOUND, MODEL, SHAPE, Remedy
from scheduler.cluster.feasibility import eligibility
from scheduler.cluster.hardware import accelerator
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.placement.parts import Part
from scheduler.placement.seating import find


def smaller(found: Explained, ground: Ground, job: Job) -> Iterator[Remedy]:
    """Fewer GPUs a pod: first as many GPUs together in more pods, then fewer together; within quota either way."""
    part = job.parts[0]
    each, count = part.shape[2], len(part.pods)
    if len(job.parts) > 1 or part.shape[3] < WHOLE_GPU_MILLI or each * count <= 1:
        return
    sizes = [size for size in _halves(each) if each % size == 0]
    if job.gang >= 0:
        tries = [(size, each * count // size) for size in sizes]
        most = find(ground.now, job).most
        tries += [(each, pods) for pods in range(min(most, count - 1), 0, -1)]
    else:
        tries = [(size, 1) for size in sizes]
    for size, pods in tries:
        less = replace(job, parts=(_resized(part, size, pods),), gpu_milli=size * pods * WHOLE_GPU_MILLI)
        if _would_start(found, ground, less):
            yield _shape(each * count, size, pods)
            return


def _would_start(found: Explained, ground: Ground, job: Job) -> bool:
    """Whether budget, quota and room let all of it start now: room on a model of which there is quota."""
    if found.book.spent(job.tenant, job.charged_at(found.snapshot), job.gpu_milli):
        return False
    refusal, nodes = by_quota(found.snapshot, found.book, job)
    return refusal is None and find(ground.now, job, open_nodes=nodes).seats is not None


def _halves(size: int) -> Iterator[int]:
    while size > 1:
        size //= 2
        yield size


def _resized(part: Part, size: int, pods: int) -> Part:
    """Pods of ``size`` GPUs with their part of CPU and memory; rows stand for pods that do not exist."""
    shape, whole = part.shape, part.shape[2]
    cpu, memory = (-(-amount * size // whole) for amount in shape[5:7])
    return Part((*shape[:2], size, *shape[3:5], cpu, memory), (part.pods[0],) * pods)


def _shape(asked: int, size: int, pods: int) -> Remedy:
    given_up = asked - size * pods
    detail = f"As {some(pods, 'pod')} of {gpus(size * WHOLE_GPU_MILLI)} it would find room now"
    detail += "." if given_up == 0 else f", with {gpus(given_up * WHOLE_GPU_MILLI)} fewer."
    return Remedy(SHAPE, FOUND, given_up, "GPUs", detail, {"pods": pods, "gpus_per_pod": size, "fewer_gpus": given_up})


def other_models(found: Explained, ground: Ground, job: Job) -> Iterator[Remedy]:
    """Models that its owner does not name and where it would fit now; whoever owns it has to allow them.

    Its pods without GPUs are held to the model only where they name some, too.
    """
    snapshot = found.snapshot
    if not job.models or not job.gpu_milli or found.book.spent(job.tenant, job.charged_at(snapshot), job.gpu_milli):
        return
    specs = {part.shape[1] for part in job.parts}
    named = any(part.spec(snapshot).gpu_models for part in job.parts if not part.charged(snapshot))
    open_specs = tuple(
        replace(spec, gpu_models=()) if i in specs else spec for i, spec in enumerate(snapshot.pod_specs)
    )  # fmt: skip
    open_world = replace(snapshot, pod_specs=open_specs)
    wide = ground_of(open_world, eligibility(open_world), [job], found.book, found.now_s, 1_000)
    for name in snapshot.models:
        refused = found.book.check(job.tenant, name, job.gpu_milli, lp=job.lp)
        if name in job.models or refused is not None:
            continue
        mask = on_model(snapshot, name)
        seats = find(wide.now, job, only=mask) if named else find(wide.now, job, open_nodes=mask)
        if seats.seats is not None:
            yield _other_model(job, name)
        elif not seats.sure:
            yield Remedy(
                MODEL, BUDGET, None, "of the rate", f"The search ended before it knew of {name}.", {"model": name}
            )


def _other_model(job: Job, name: str) -> Remedy:
    """The cost is its 16-bit rate beside that of the model it asks for, where both are published."""
    theirs, ours = accelerator(name), accelerator(job.models[0])
    rates = (theirs.tflops_16_bit if theirs else None, ours.tflops_16_bit if ours else None)
    ratio = round(rates[0] / rates[1], 2) if rates[0] and rates[1] else None
    memory = (theirs.memory_gb if theirs else None, ours.memory_gb if ours else None)
    smaller = memory[0] is not None and memory[1] is not None and memory[0] < memory[1]
    less = f" It has {memory[0]} GB a device instead of {memory[1]}." if smaller else ""
    owner = f"its owner accepts {', '.join(job.models)} only, and has to allow it"
    speed = "; nobody published both rates" if ratio is None else f", at {ratio:g} of the 16-bit rate"
    return Remedy(
        MODEL, FOUND, ratio, "of the rate",
        f"On {name} it would find room now{speed}; {owner}.{less}",
        {"model": name, "rate": ratio, "memory_gb": memory[0], "memory_gb_asked": memory[1]},
    )  # fmt: skip
