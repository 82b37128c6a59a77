"""Seats for a whole job without anybody further being stopped: who has room needs nobody's end.

Asked of the same room as ``place`` and ``explain``, so that nobody is named for a job that these would seat.
"""

import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Bools
from scheduler.placement.company import terms_of
from scheduler.placement.hunt import Hunt
from scheduler.placement.parts import Asked, Part, Shape, part_of
from scheduler.placement.prey import without
from scheduler.placement.room import room_of
from scheduler.placement.seating import find
from scheduler.plan.waiting import levels_of, mates


def unaided(hunt: Hunt, pods: tuple[int, ...], closed: Bools) -> Hunt | None:
    """The hunt with the job's pods seated beside whoever is not stopped yet; None where they find no seats.

    Room that is free now comes first, then that of those who are leaving.  ``closed`` [n]: nodes of GPU models of
    which its tenant has no quota.
    """
    snapshot, prey = hunt.prey.snapshot, hunt.prey
    gone = np.zeros(len(snapshot.pod_name), np.bool_)
    gone[list(hunt.chosen)] = True
    leaving = snapshot.pod_live & snapshot.pod_terminating
    job, terms = _asked(hunt, pods), terms_of(snapshot, pods)
    for left in (gone, gone | leaving) if leaving.any() else (gone,):
        seats = find(room_of(without(snapshot, left), prey.rules, terms), job, open_nodes=~closed).seats
        if seats is not None:
            seated = hunt.copy()
            for _, node, some in seats.placed:
                seated.placed.setdefault(node, []).extend(some)
            return seated
    return None


def _asked(hunt: Hunt, pods: tuple[int, ...]) -> Asked:
    snapshot = hunt.prey.snapshot
    rows = np.array(sorted(pods), np.int32)
    groups: dict[Shape, list[int]] = {}
    for p in rows.tolist():
        groups.setdefault(part_of(snapshot, (p,), int(hunt.prey.rules.pod_class[p])).shape, []).append(p)
    parts = sorted(
        (Part(shape, tuple(some)) for shape, some in groups.items()), key=lambda one: (-one.gpus * one.milli, -one.cpu)
    )
    gang = int(snapshot.pod_gang[pods[0]])
    stay = mates(snapshot, gang) if gang != UNKNOWN else rows[:0]
    running = tuple(stay[~snapshot.pod_terminating[stay]].tolist())
    return Asked(int(snapshot.pod_cluster[pods[0]]), tuple(parts), tuple(levels_of(snapshot, rows)), running)
