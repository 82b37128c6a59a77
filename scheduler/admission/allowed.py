"""Which GPU models a job could be on, and which of them its tenant's quota leaves open: quota and room are always asked
of the same model, for the part of the job that uses quota.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from scheduler.admission.jobs import Job
from scheduler.admission.quota import Book, Refusal
from scheduler.cluster.snapshot import UNKNOWN, Bools, Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class Opening:
    """``refusals``: of the models that are shut, those of least shortage first."""

    open: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    nodes: Bools | None  # [n] of open models; None: all of them are, or none

    @property
    def refusal(self) -> Refusal | None:
        """Where no model is open."""
        return self.refusals[0] if self.refusals and not self.open else None


def on_model(snapshot: Snapshot, model: str) -> Bools:
    """[n]"""
    return np.asarray(snapshot.node_model == snapshot.models.index(model))


def models_there(snapshot: Snapshot, cluster: int) -> frozenset[str]:
    """GPU models of the nodes of a cluster."""
    there = snapshot.node_model[(snapshot.node_cluster == cluster) & (snapshot.node_model != UNKNOWN)]
    return frozenset(snapshot.models[m] for m in np.flatnonzero(np.bincount(there)).tolist())


def models_for(snapshot: Snapshot, job: Job, there: Iterable[str]) -> tuple[str, ...]:
    """Of the models ``there`` those that it accepts; where its running members share one, that alone."""
    accepted = [m for m in sorted(there) if not job.models or m in job.models]
    running = {int(snapshot.node_model[snapshot.pod_node[p]]) for p in job.running if snapshot.pod_gpus[p]}
    mine = running.pop() if len(running) == 1 else UNKNOWN
    return tuple(m for m in accepted if mine == UNKNOWN or m == snapshot.models[mine])


def opening_of(snapshot: Snapshot, book: Book, job: Job, there: Iterable[str]) -> Opening:
    """``there``: GPU models of the cluster's nodes."""
    models = models_for(snapshot, job, there) if job.gpu_milli else ()
    found = {model: book.check(job.tenant, model, job.gpu_milli, lp=job.lp) for model in models}
    refusals = [refusal for refusal in found.values() if refusal is not None]
    # What is said of the job as a whole is possible where one of its models is
    possible = any(refusal is None or refusal.possible for refusal in found.values())
    ordered = sorted(refusals, key=lambda refusal: (refusal.missing_milli, refusal.model))
    left = tuple(model for model, refusal in found.items() if refusal is None)
    nodes = None
    if left and refusals:
        nodes = np.isin(snapshot.node_model, [snapshot.models.index(model) for model in left])
    return Opening(left, tuple(replace(refusal, possible=possible) for refusal in ordered), nodes)


def by_quota(snapshot: Snapshot, book: Book, job: Job) -> tuple[Refusal | None, Bools | None]:
    """The refusal of least shortage where no model is left; else the nodes of those models that are, None for all."""
    opening = opening_of(snapshot, book, job, models_there(snapshot, job.cluster))
    return opening.refusal, opening.nodes
