"""Too little room even in sum, or enough of it in pieces: the numbers, and the rule that costs most room."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from scheduler.admission.ground import Ground
from scheduler.admission.jobs import Job
from scheduler.admission.reasons import CAPACITY, CONSTRAINT, FRAGMENTATION, Reason, gpus, some
from scheduler.cluster.layout import slices
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Bools
from scheduler.placement.filters import obstacle
from scheduler.placement.homes import models_of
from scheduler.placement.parts import Part
from scheduler.placement.room import Room
from scheduler.placement.seating import Found

# Words of ``cluster.reasons.BLOCKING`` that are about who stands where
_APART = {
    "host_port": "Its pods ask for a host port that each node has once",
    "anti_affinity": "Its pods refuse to stand beside one another or beside others",
    "affinity": "Its pods want company that few nodes have",
}
_CAUSES = {"cpu": "cpu_memory", "memory": "cpu_memory", "max_pods": "max_pods", "resource": "resource"}
_WHY = {
    "stranded": "in smaller pieces",
    "cpu_memory": "not with the CPU and memory that its pods need beside them",
    "max_pods": "where no more pods may come",
    "resource": "not with the counted resources that its pods need beside them",
    "promised": "where more is promised already than there is",
}


def pieces(ground: Ground, job: Job, then: Found, only: Bools | None) -> Reason:
    """Enough in sum is fragmentation, too little is capacity; both count usable nodes of models that it accepts.

    One job stays within one GPU model: the sums are those of the model that has most.
    """
    if any(part.spec(ground.snapshot).mig for part in job.parts):
        return _slices(ground, job, then)
    may, model = _one_model(ground, job, only)
    sums = _Sums(ground.later, job, may)
    numbers: dict[str, int | str | None] = {
        "asked_pods": len(job.pods), "seated_pods": then.most, "asked_milli": job.gpu_milli, "free_milli": sums.free,
        "missing_milli": max(0, job.gpu_milli - sums.free), "asked_cpu_milli": job.cpu_milli,
        "free_cpu_milli": sums.cpu,
        "out_of_service_gpus": _out_of_service(ground, [part.pods[0] for part in job.parts]), "nodes": int(may.sum()),
        **({"model": model} if model else {}),
    }  # fmt: skip
    where = f"{some(int(may.sum()), 'node')} that it may run on" + (f", of {model}, where most are" if model else "")
    short = sums.short
    if short:
        sentence = f"It asks for {sums.needs(short[0])}, and {sums.has(short[0])} are free on {where}."
        return Reason(CAPACITY, sentence, {**numbers, "short_of": ", ".join(short)})
    return _blocked(ground, job, then, may, {**numbers, "free": gpus(sums.free), "where": where})


def _blocked(ground: Ground, job: Job, then: Found, may: Bools, told: dict[str, int | str | None]) -> Reason:
    """Enough is free in sum: the rule without which most more would fit."""
    free, where = told.pop("free"), told.pop("where")
    numbers = told
    word, part = _obstacle(ground, job, may)
    cause = _cause(ground, part, word)
    if not word:
        cause = "cpu_memory" if _devices_suffice(ground, job, may) else "stranded"
    elif cause in _APART:
        sentence = f"{_APART[cause]}: there is room for {then.most} of {some(len(job.pods), 'pod')} on {where}."
        return Reason(CONSTRAINT, sentence, {**numbers, "constraint": word, "pods": ""})
    each = gpus(job.parts[0].gpus * job.parts[0].milli)
    verb = "is" if free == "1 GPU" else "are"
    sentence = (
        f"{free} {verb} free on {where}, {_WHY[cause]}: room for {then.most} of {some(len(job.pods), 'pod')} of {each}."
    )
    return Reason(FRAGMENTATION, sentence, {**numbers, "cause": cause})


def _one_model(ground: Ground, job: Job, only: Bools | None) -> tuple[Bools, str]:
    """[n] usable nodes that some pod of the job may use; where several GPU models are among them, of the one that has
    most, and its name.
    """
    snapshot, room = ground.snapshot, ground.later
    may = np.logical_or.reduce([ground.rules.eligible(part.pods[0]) for part in job.parts]) & snapshot.node_usable
    may = may if only is None else may & only
    model = models_of(snapshot, job)
    if model is None or len(np.unique(snapshot.node_model[may & (snapshot.node_gpus > 0)])) < 2:
        return may, ""
    free = room.free * WHOLE_GPU_MILLI + room.shared
    there = np.unique(model[model != UNKNOWN]).tolist()
    best = max(there, key=lambda m: (int(free[may & (model == m)].sum()), -m))
    return may & (model == best), snapshot.models[best - 1] if best else ""


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """What is free on nodes together, beside what the job asks for."""

    room: Room
    job: Job
    may: Bools

    @property
    def free(self) -> int:
        shares = any(part.milli < WHOLE_GPU_MILLI for part in self.job.parts)
        whole = int(self.room.free[self.may].sum()) * WHOLE_GPU_MILLI
        return whole + (int(self.room.shared[self.may].sum()) if shares else 0)

    @property
    def cpu(self) -> int:
        return int(np.maximum(self.room.cpu[self.may], 0).sum())

    @property
    def short(self) -> list[str]:
        room, job, may = self.room, self.job, self.may
        pairs = (
            ("gpus", job.gpu_milli, self.free),
            ("cpu", job.cpu_milli, self.cpu),
            ("memory", self._asked_memory, int(np.maximum(room.memory[may], 0).sum())),
            ("max_pods", len(job.pods), int(room.places[may].sum())),
        )
        return [name for name, asked, has in pairs if asked > has]

    @property
    def _asked_memory(self) -> int:
        return sum(part.memory * len(part.pods) for part in self.job.parts)

    def has(self, word: str) -> str:
        memory, places = (left[self.may] for left in (self.room.memory, self.room.places))
        return {
            "gpus": gpus(self.free),
            "cpu": f"{self.cpu // 1000} CPU cores",
            "memory": f"{int(np.maximum(memory, 0).sum()) / 1024:g} GiB of memory",
            "max_pods": some(int(places.sum()), "place"),
        }[word]

    def needs(self, word: str) -> str:
        return {
            "gpus": gpus(self.job.gpu_milli),
            "cpu": f"{self.job.cpu_milli // 1000} cores",
            "memory": f"{self._asked_memory / 1024:g} GiB",
            "max_pods": f"places for {some(len(self.job.pods), 'pod')}",
        }[word]


def _slices(ground: Ground, job: Job, then: Found) -> Reason:
    """Slices are counted by profile, on nodes that the job may run on."""
    snapshot, asked, free = ground.snapshot, Counter[str](), Counter[str]()
    for part in job.parts:
        for profile, count in snapshot.pod_specs[part.shape[1]].mig:
            asked[profile] += count * len(part.pods)
    may = np.logical_or.reduce([ground.rules.eligible(part.pods[0]) for part in job.parts]) & snapshot.node_usable
    for node in snapshot.node_devices:
        if may[node]:
            free.update(slices(snapshot, node, ground.later.standing(node)).free)
    told = ", ".join(f"{count} x {profile} ({free[profile]} free)" for profile, count in sorted(asked.items()))
    numbers: dict[str, int | str | None] = {"asked_pods": len(job.pods), "slices": told, "cause": "slices"}
    if any(free[profile] < count for profile, count in asked.items()):
        return Reason(CAPACITY, f"It asks for slices {told} on nodes that it may run on.", numbers)
    word, part = _obstacle(ground, job, may)
    cause = _cause(ground, part, word)
    if cause in _APART:
        sentence = f"{_APART[cause]}: there is room for {then.most} of {some(len(job.pods), 'pod')}."
        return Reason(CONSTRAINT, sentence, {**numbers, "constraint": word, "nodes": int(may.sum()), "pods": ""})
    numbers["cause"] = "slices" if cause == "stranded" else cause
    beside = ", and no node has room for them with all else" if cause == "stranded" else f", {_WHY[cause]}"
    return Reason(FRAGMENTATION, f"It asks for slices {told}{beside}.", numbers)


def _out_of_service(ground: Ground, pods: list[int]) -> int:
    """GPUs on nodes that it could use if they were ready and not cordoned."""
    snapshot = ground.snapshot
    may = np.logical_or.reduce([ground.rules.eligible(p) for p in pods]) & ~snapshot.node_usable
    return int(snapshot.node_gpus[may].sum())


def _devices_suffice(ground: Ground, job: Job, may: Bools) -> bool:
    rows = np.flatnonzero(may)
    return all(int(ground.later.devices(part, rows).sum()) >= len(part.pods) for part in job.parts)


def _obstacle(ground: Ground, job: Job, may: Bools) -> tuple[str, Part]:
    """The rule that costs most room for the first of its shapes that one rule alone holds up."""
    for part in job.parts:
        word = obstacle(ground.later, part, len(part.pods), may)
        if word:
            return word, part
    return "", job.parts[0]


def _cause(ground: Ground, part: Part, word: str) -> str:
    spec = part.spec(ground.snapshot)
    asks = {"host_port": spec.host_ports, "mig": spec.mig, "resource": spec.resources}
    if word in asks and not asks[word]:
        return "promised"
    return word if word in _APART else _CAUSES.get(word, "stranded")
