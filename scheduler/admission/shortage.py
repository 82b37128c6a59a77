"""Too little room even in sum, or enough of it in pieces: the numbers, and the rule that costs most room."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.admission.ground import Ground
from scheduler.admission.jobs import Job
from scheduler.admission.lifted import unaccompanied
from scheduler.admission.reasons import CAPACITY, CONSTRAINT, FRAGMENTATION, TOPOLOGY, Reason, gpus, some
from scheduler.cluster.layout import slices
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Bools
from scheduler.placement.company import MANY
from scheduler.placement.filters import obstacle
from scheduler.placement.homes import models_of, places_at
from scheduler.placement.parts import Part
from scheduler.placement.room import Room
from scheduler.placement.seating import Found, find

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

    One job stays within one GPU model: the sums of its pods on GPUs are those of the model that has most; the others
    may stand anywhere.
    """
    if any(part.spec(ground.snapshot).mig for part in job.parts):
        return _slices(ground, job, then)
    masks, model = _masks(ground, job, only)
    everybody = _Sums(ground.later, job.parts, np.logical_or.reduce(masks))
    on_gpus = [(part, mask) for part, mask in zip(job.parts, masks, strict=True) if part.gpus]
    sums = everybody
    if on_gpus:
        parts, theirs = zip(*on_gpus, strict=True)
        sums = _Sums(ground.later, parts, np.logical_or.reduce(theirs))
    numbers: dict[str, int | str | None] = {
        "asked_pods": len(job.pods), "seated_pods": then.most, "asked_milli": job.gpu_milli, "free_milli": sums.free,
        "missing_milli": max(0, job.gpu_milli - sums.free), "asked_cpu_milli": job.cpu_milli,
        "free_cpu_milli": everybody.cpu,
        "out_of_service_gpus": _out_of_service(ground, [part.pods[0] for part in job.parts]), "nodes": sums.nodes,
        **({"model": model} if model else {}),
    }  # fmt: skip
    for some_of, of_model in ((sums, model), (everybody, "")):
        if short := some_of.short:
            asks = f"It asks for {some_of.needs(short[0])}, and {some_of.has(short[0])} are free"
            sentence = f"{asks} on {_where(some_of, of_model)}."
            return Reason(CAPACITY, sentence, {**numbers, "nodes": some_of.nodes, "short_of": ", ".join(short)})
    room = ground.later
    word, part = _obstacle(room, job, masks)
    if word in _APART:  # company is the reason where without it the whole job finds seats
        alone = unaccompanied(room, job)
        if find(alone, job, open_nodes=only).seats is None:
            if job.levels and find(alone, job, open_nodes=only, free_of_level=True).seats is not None:
                return scattered(ground, job, then, company=True)
            room = alone
            word, part = _obstacle(room, job, masks)
    cause = _cause(ground, part, word) if word else _together(room, job, only)
    return _blocked(job, then, sums, _where(sums, model), numbers, word, cause)


def _where(sums: "_Sums", model: str) -> str:
    return f"{some(sums.nodes, 'node')} that it may run on" + (f", of {model}, where most are" if model else "")


def _blocked(
    job: Job, then: Found, sums: "_Sums", where: str, numbers: dict[str, int | str | None], word: str, cause: str
) -> Reason:
    """Enough is free in sum: what most of it is lost by."""
    seated = f"room for {then.most} of {some(len(job.pods), 'pod')}"
    if cause in _APART:
        sentence = f"{_APART[cause]}: there is {seated} on {where}."
        return Reason(CONSTRAINT, sentence, {**numbers, "constraint": word, "pods": ""})
    free, each, why = sums.has("gpus"), gpus(job.parts[0].gpus * job.parts[0].milli), _WHY[cause]
    if not job.gpu_milli:
        free, each = sums.has("cpu"), f"{job.parts[0].cpu / 1000:g} cores"
        why = _WHY["stranded"] if cause == "cpu_memory" else why
    verb = "is" if free == "1 GPU" else "are"
    sentence = f"{free} {verb} free on {where}, {why}: {seated} of {each}."
    return Reason(FRAGMENTATION, sentence, {**numbers, "cause": cause})


def _masks(ground: Ground, job: Job, only: Bools | None) -> tuple[list[Bools], str]:
    """[i][n] usable nodes that each part may use; where those on GPUs find several GPU models among them, nodes of the
    one that has most, and its name.
    """
    snapshot, room = ground.snapshot, ground.later
    masks = [ground.rules.eligible(part.pods[0]) & snapshot.node_usable for part in job.parts]
    masks = [
        mask & only if only is not None and part.charged(snapshot) else mask
        for mask, part in zip(masks, job.parts, strict=True)
    ]
    bound = [mask for mask, part in zip(masks, job.parts, strict=True) if part.on_devices(snapshot)]
    model = models_of(snapshot, job)
    may = np.logical_or.reduce(bound) & (snapshot.node_gpus > 0) if bound else np.zeros(0, np.bool_)
    if model is None or not bound or len(np.unique(snapshot.node_model[may])) < 2:
        return masks, ""
    free = room.free * WHOLE_GPU_MILLI + room.shared
    there = np.unique(model[model != UNKNOWN]).tolist()
    best = max(there, key=lambda m: (int(free[may & (model == m)].sum()), -m))
    masks = [
        mask & (model == best) if part.on_devices(snapshot) else mask
        for mask, part in zip(masks, job.parts, strict=True)
    ]
    return masks, snapshot.models[best - 1] if best else ""


def scattered(ground: Ground, job: Job, then: Found, *, company: bool = False) -> Reason:
    """Room for all of it, in several domains; ``company``: beside pods that it would have to stand with, too."""
    level = job.levels[0]
    at = places_at(ground.snapshot, level)
    unknown = 0 if at is None else int(((at == UNKNOWN) & (ground.snapshot.node_cluster == job.cluster)).sum())
    beside = " beside its running members" if job.running else ""
    sentence = (
        f"It needs {some(len(job.pods), 'pod')} ({gpus(job.gpu_milli)}) in one {level}{beside}; the best one has room "
        f"for {then.most}. There is room for all if "
        + (f"neither the {level} nor its company mattered." if company else f"the {level} did not matter.")
    )
    return Reason(TOPOLOGY, sentence, {
        "level": level, "asked_pods": len(job.pods), "seated_pods": then.most, "asked_milli": job.gpu_milli,
        "nodes_of_unknown_place": unknown,
    })  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """What is free on nodes together, beside what these parts of the job ask for."""

    room: Room
    parts: tuple[Part, ...]
    may: Bools

    @property
    def nodes(self) -> int:
        return int(self.may.sum())

    @property
    def free(self) -> int:
        shares = any(part.milli < WHOLE_GPU_MILLI for part in self.parts)
        whole = int(self.room.free[self.may].sum()) * WHOLE_GPU_MILLI
        return whole + (int(self.room.shared[self.may].sum()) if shares else 0)

    @property
    def cpu(self) -> int:
        return int(np.maximum(self.room.cpu[self.may], 0).sum())

    @property
    def short(self) -> list[str]:
        room, may = self.room, self.may
        pairs = (
            ("gpus", self._asked("gpus"), self.free),
            ("cpu", self._asked("cpu"), self.cpu),
            ("memory", self._asked("memory"), int(np.maximum(room.memory[may], 0).sum())),
            ("max_pods", self._asked("max_pods"), int(room.places[may].sum())),
        )
        return [name for name, asked, has in pairs if asked > has]

    def _asked(self, word: str) -> int:
        return sum(
            {"gpus": part.gpus * part.milli, "cpu": part.cpu, "memory": part.memory, "max_pods": 1}[word]
            * len(part.pods)
            for part in self.parts
        )

    def has(self, word: str) -> str:
        memory, places = (left[self.may] for left in (self.room.memory, self.room.places))
        return {
            "gpus": gpus(self.free),
            "cpu": f"{self.cpu / 1000:g} CPU cores",
            "memory": f"{int(np.maximum(memory, 0).sum()) / 1024:g} GiB of memory",
            "max_pods": some(int(places.sum()), "place"),
        }[word]

    def needs(self, word: str) -> str:
        amount = self._asked(word)
        return {
            "gpus": gpus(amount),
            "cpu": f"{amount / 1000:g} cores",
            "memory": f"{amount / 1024:g} GiB",
            "max_pods": f"places for {some(amount, 'pod')}",
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
    word, part = _obstacle(ground.later, job, [may & ground.rules.eligible(part.pods[0]) for part in job.parts])
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


def _obstacle(room: Room, job: Job, masks: Sequence[Bools]) -> tuple[str, Part]:
    """What holds up the first of its shapes that finds too little room by itself: of a shape on whole or shared devices
    the rule by which most of what is free is lost, of others the rule without which most more would fit.
    """
    for part, may in zip(job.parts, masks, strict=True):
        if int(room.slots(part)[may].sum()) < len(part.pods):
            on_devices = part.gpus and not part.spec(room.snapshot).mig
            word = _loss(room, part, may) if on_devices else obstacle(room, part, len(part.pods), may)
            return word or "gpus", part
    return "", job.parts[0]


def _loss(room: Room, part: Part, may: Bools) -> str:
    """Where most thousandths of free GPUs are lost to the part; the devices' word: in pieces smaller than its pods."""
    rows, wanted, each = np.flatnonzero(may), len(part.pods), part.gpus * part.milli
    free = room.free[rows] * WHOLE_GPU_MILLI + (room.shared[rows] if part.milli < WHOLE_GPU_MILLI else 0)
    fit, sound = room.devices(part, rows), room.state.sound[rows]
    lost = {room.device_word(part): int(np.where(sound & (fit < wanted), np.maximum(free - fit * each, 0), 0).sum())}
    lost["promised"] = int(free[~sound].sum())
    least = np.minimum(fit, wanted)
    words: list[str] = []
    most, which = least.copy(), np.full(len(rows), UNKNOWN)
    for word, limit in (*room.amounts(part, rows), *room.company.limits(part.pods[0], rows)):
        which = np.where(limit < most, len(words), which)
        most = np.minimum(most, limit)
        words.append(word)
    for i, word in enumerate(words):
        lost[word] = lost.get(word, 0) + int(((least - most) * each)[which == i].sum())
    return max(lost, key=lambda word: lost[word])


def _together(room: Room, job: Job, only: Bools | None) -> str:
    """Each of its shapes finds room by itself: whether devices or what they need beside them is what they share."""
    room = room.copy()
    room.cpu, room.memory, room.places = (np.full_like(room.cpu, MANY) for _ in range(3))
    room.origin = None
    return "stranded" if find(room, job, open_nodes=only).seats is None else "cpu_memory"


def _cause(ground: Ground, part: Part, word: str) -> str:
    spec = part.spec(ground.snapshot)
    if word == "promised" or (word == "gpus" and not part.gpus and not spec.mig):
        return "promised"
    asks = {"host_port": spec.host_ports, "mig": spec.mig, "resource": spec.resources}
    if word in asks and not asks[word]:
        return "promised"
    return word if word in _APART else _CAUSES.get(word, "stranded")
