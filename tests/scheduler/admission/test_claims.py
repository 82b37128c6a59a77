"""Who is stopped for whom, set against every set of pods and every way to seat the job in tiny worlds."""

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from scheduler.admission.claims import claim_of, claimed
from scheduler.admission.jobs import Job, pending_jobs
from scheduler.admission.quota import Book, book_of, returned
from scheduler.cluster.feasibility import eligibility
from scheduler.cluster.room import faults
from scheduler.cluster.snapshot import Snapshot
from scheduler.placement.prey import prey_of
from tests.builders.tiny_worlds import tiny_world

Rank = tuple[int, int, int]  # loss, pods, GPUs


def _seats(snapshot: Snapshot, job: Job, book: Book, gone: set[int]) -> bool:
    """Whether all of it has room and quota once these have left: every way is tried."""
    leave = np.isin(np.arange(len(snapshot.pod_name)), list(gone))
    book = returned(book, snapshot, leave)
    stay = [[p for p in np.flatnonzero(snapshot.pod_live & (snapshot.pod_node == n)).tolist() if p not in gone]
            for n in range(len(snapshot.node_name))]  # fmt: skip
    rules = eligibility(snapshot)
    for nodes in product(range(len(snapshot.node_name)), repeat=len(job.pods)):
        at = dict(zip(job.pods, nodes, strict=True))
        models = {int(snapshot.node_model[n]) for p, n in at.items() if snapshot.pod_gpus[p]}
        if len(models) > 1 or not all(rules.eligible(p)[n] for p, n in at.items()):
            continue
        if any(book.check(job.tenant, snapshot.models[m], job.gpu_milli) for m in models):
            continue
        if all(next(faults(snapshot, n, stay[n], [p for p in at if at[p] == n]), None) is None for n in set(nodes)):
            return True
    return False


def _sets(snapshot: Snapshot, job: Job, book: Book) -> Iterator[tuple[Rank, set[int]]]:
    """Every set of pods that may be stopped, the one of least loss first."""
    prey, claim = prey_of(snapshot, snapshot.now_s, 1_800), claim_of(snapshot, job, book)
    own = np.isin(np.arange(len(prey.may)), list(claim.reclaim))
    below = snapshot.pod_priority <= job.priority
    rows = np.flatnonzero(prey.may & (below | own)).tolist()
    ranked = [
        ((int(prey.loss[list(some)].sum()), len(some), int(snapshot.pod_gpus[list(some)].sum())), set(some))
        for size in range(len(rows) + 1)
        for some in combinations(rows, size)
    ]
    yield from sorted(ranked, key=lambda one: one[0])


def test_nobody_is_named_whose_end_is_not_needed_and_a_pod_is_given_the_least_of_all_sets() -> None:
    told = {"now": 0, "waits": 0, "stops": 0, "never": 0}
    for seed in range(80):
        snapshot = tiny_world(seed).snapshot()
        book = book_of(snapshot)
        leaving = set(np.flatnonzero(snapshot.pod_live & snapshot.pod_terminating).tolist())
        for job in pending_jobs(snapshot, eligibility(snapshot).pod_class):
            found = claimed(snapshot, job, book).victims
            least = next(
                (one for one in _sets(snapshot, job, book) if _seats(snapshot, job, book, one[1] | leaving)), None
            )
            assert found.ok == (least is not None), (seed, found)
            if least is None:
                told["never"] += 1
                continue
            stopped = [victim.pod for victim in found.victims]
            rank = found.loss_milli, len(stopped), int(snapshot.pod_gpus[stopped].sum())
            assert _seats(snapshot, job, book, {*stopped, *leaving}), seed
            assert rank >= least[0], seed
            assert bool(stopped) == bool(least[1]), (seed, stopped, least)
            assert rank == least[0] or len(job.pods) > 1 or claim_of(snapshot, job, book).reliefs, (seed, rank, least)
            assert bool(stopped) or bool(found.leaving) != _seats(snapshot, job, book, set()), (seed, found)
            told["stops" if stopped else "waits" if found.leaving else "now"] += 1
    assert min(told.values()) > 2, told
