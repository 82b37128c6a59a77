"""The same room without one kind of rule: whether that rule is what keeps a job out."""

from dataclasses import dataclass, replace

import numpy as np

from scheduler.admission.jobs import Job
from scheduler.cluster.feasibility import Eligibility
from scheduler.cluster.snapshot import Bools
from scheduler.placement.company import terms_of
from scheduler.placement.room import Room, Rules

SOFT = ("selector", "taint", "zone", "only_node")  # rules that somebody may lift; the others are what nodes are


@dataclass(frozen=True, slots=True, eq=False)
class Wide:
    """``room.Rules`` without the soft ones."""

    rules: Eligibility

    def eligible(self, pod: int, /) -> Bools:
        hard = [factor for factor in self.rules.factors if factor.word not in SOFT]
        return np.asarray(
            np.logical_and.reduce([factor.good[factor.pod_value[pod]][factor.node_value] for factor in hard])
        )


def under(room: Room, rules: Rules, job: Job) -> Room:
    """Under other rules."""
    return room.asking(room.snapshot, rules, terms_of(room.snapshot, [part.pods[0] for part in job.parts]))


def unaccompanied(room: Room, job: Job) -> Room:
    """As if the job minded nobody, and nobody minded it."""
    snapshot, mine = room.snapshot, {part.shape[1] for part in job.parts}
    specs = tuple(
        replace(spec, labels=(), affinity=(), anti_affinity=(), host_ports=()) if i in mine else spec
        for i, spec in enumerate(snapshot.pod_specs)
    )
    return room.asking(replace(snapshot, pod_specs=specs), room.rules, terms_of(snapshot, ()))
