"""Whether a job could start on a cluster like this one if nobody else stood there: the same seats in empty room."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from msgspec import structs

from scheduler.admission.ground import Ground
from scheduler.admission.jobs import Job
from scheduler.admission.reasons import MISCONFIGURED, Reason, gpus, some
from scheduler.cluster.records import DeviceRecord
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.placement.company import terms_of
from scheduler.placement.parts import Asked, Part, Shape, part_of
from scheduler.placement.room import Room, room_of
from scheduler.placement.seating import find

WHOLE = "whole cluster"


def too_large(ground: Ground, job: Job) -> Reason | None:
    """No cluster like this one, empty, holds all members at once; None, too, where that is not certain.

    Who runs already is seated anew, and company is not asked for: it may come.
    """
    room, asked = _empty(ground), _all_members(ground, job)
    ground.left -= 1
    found = find(room, asked)
    if found.seats is not None or not found.sure:
        return None
    for part in asked.parts:
        if not int(room.slots(part).max(initial=0)):
            return _no_node(room, part)
    if job.levels and find(room, asked, free_of_level=True).seats is not None:
        return _too_many(room, job, asked, found.most, f"in one {job.levels[0]}", f"best {job.levels[0]}")
    return _too_many(room, job, asked, found.most, "at once", WHOLE)


def _no_node(room: Room, part: Part) -> Reason:
    asks = (("gpus", part.gpus, gpus(part.gpus * part.milli)), ("cpu_milli", part.cpu, f"{part.cpu / 1000:g} cores"),
            ("memory_mib", part.memory, f"{part.memory / 1024:g} GiB of memory"))  # fmt: skip
    told = [words for _, amount, words in asks if amount]
    listed = " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
    numbers: dict[str, int | str | None] = {f"asked_{name}": amount for name, amount, _ in asks if amount}
    sentence = (
        f"Each pod asks for {listed}, and no node that it may run on has all of that, were it {_empty_words(room)}."
    )
    return Reason(MISCONFIGURED, sentence, {"fault": "size", **numbers})


def _too_many(room: Room, job: Job, asked: Asked, most: int, where: str, best: str) -> Reason:
    count = sum(len(part.pods) for part in asked.parts)
    milli = sum(part.gpus * part.milli * len(part.pods) for part in asked.parts if part.charged(room.snapshot))
    holds = f"has room for {most}" if most < count else "has no room for all of them together"
    sentence = f"It needs {some(count, 'pod')} ({gpus(milli)}) {where}; the {best}, {_empty_words(room)}, {holds}."
    wide = best == WHOLE
    numbers: dict[str, int | str | None] = {
        "fault": "cluster_size" if wide else "domain_size", "asked_pods": count, "seated_pods": most,
        "asked_milli": milli, **({} if wide else {"level": job.levels[0]}),
    }  # fmt: skip
    return Reason(MISCONFIGURED, sentence, numbers)


def _empty_words(room: Room) -> str:
    return "empty but for agents" if room.snapshot.pod_live.any() else "empty"


def _all_members(ground: Ground, job: Job) -> Asked:
    """Those that run as well, wherever they stand."""
    snapshot = ground.snapshot
    shapes: dict[Shape, list[int]] = defaultdict(list)
    for part in job.parts:
        shapes[part.shape] += part.pods
    for p in job.running:
        shapes[part_of(snapshot, (p,), int(ground.rules.pod_class[p])).shape].append(p)
    parts = [Part(shape, tuple(pods)) for shape, pods in shapes.items()]
    parts.sort(key=lambda part: (-part.gpus * part.milli, -part.cpu, part.pods))
    models = {int(snapshot.node_model[snapshot.pod_node[p]]) for p in job.running if snapshot.pod_gpus[p]}
    return Asked(job.cluster, tuple(parts), job.levels, mixes=job.mixes or len(models) > 1)


def _empty(ground: Ground) -> Room:
    if ground.empty is None:
        snapshot = _emptied(ground.snapshot)
        ground.empty = room_of(snapshot, ground.rules, terms_of(snapshot, ground.asking))
    return ground.empty


def _emptied(snapshot: Snapshot) -> Snapshot:
    """Nobody there but agents, as on every empty node; all nodes in service, all devices sound: a fault may pass."""
    specs = tuple(replace(spec, affinity=()) if spec.affinity else spec for spec in snapshot.pod_specs)
    devices = {n: tuple(_sound(device) for device in there) for n, there in snapshot.node_devices.items()}
    sliced: Mapping[int, int] = {n: sum(bool(device.mig) for device in there) for n, there in devices.items()}
    whole = snapshot.node_gpus.copy()
    whole[list(sliced)] -= np.array(list(sliced.values()), whole.dtype)
    return replace(
        snapshot,
        pod_live=snapshot.pod_live & snapshot.pod_agent & ~snapshot.pod_terminating & (snapshot.pod_node != UNKNOWN),
        pod_specs=specs,
        node_ready=np.ones_like(snapshot.node_ready),
        node_cordoned=np.zeros_like(snapshot.node_cordoned),
        node_allocatable=np.maximum(whole, 0),
        node_devices=devices,
    )


def _sound(device: DeviceRecord) -> DeviceRecord:
    return structs.replace(device, health="ok") if device.health == "failed" else device
