"""On which GPU models a job stays within its tenant's quota: quota and room are always asked of the same model."""

import numpy as np

from scheduler.admission.jobs import Job
from scheduler.admission.quota import Book, Refusal
from scheduler.cluster.snapshot import Bools, Snapshot


def by_quota(snapshot: Snapshot, book: Book, job: Job) -> tuple[Refusal | None, Bools | None]:
    """The refusal of least shortage where no model is left; else the nodes of those models that are, None for all."""
    models = [m for m in job.models if m in snapshot.models] or list(snapshot.models)
    if not job.gpu_milli or not models:
        return None, None
    found = {model: book.check(job.tenant, model, job.gpu_milli, lp=job.lp) for model in models}
    refusals = [refusal for refusal in found.values() if refusal is not None]
    if len(refusals) == len(models):
        return min(refusals, key=lambda refusal: (refusal.missing_milli, refusal.model)), None
    if not refusals:
        return None, None
    allowed = [snapshot.models.index(model) for model, refusal in found.items() if refusal is None]
    return None, np.isin(snapshot.node_model, allowed)
