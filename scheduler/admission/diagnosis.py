"""What holds up one job that is alone with the cluster as it stands: quota, and then room, each apart.

Room is looked at as it will be when the pods that are leaving have left: what is missing even then is the reason, and
what is not is worth waiting for.  Jobs of one kind are judged once.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler.admission.jobs import Job
from scheduler.admission.misfit import Sizes, faults_of, sizes_of
from scheduler.admission.quota import BORROWING_LIMIT, CAP, Book, Refusal, returned
from scheduler.admission.reasons import (
    BUDGET_RAN_OUT,
    CAPACITY,
    CONSTRAINT,
    FRAGMENTATION,
    NOT_EVALUATED,
    QUOTA,
    TOPOLOGY,
    WAITING_FOR_VICTIMS,
    Reason,
    gpus,
    some,
)
from scheduler.admission.room import Room, room_of, terms_of
from scheduler.admission.seating import Found, blocks, find
from scheduler.cluster.feasibility import Eligibility
from scheduler.cluster.layout import slices
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Snapshot
from scheduler.placement.ground import places_at
from scheduler.placement.prey import without

NAMED = 5  # pods that a sentence names


@dataclass(slots=True, eq=False)
class Ground:
    """What all jobs are judged on.  ``left`` counts the searches that may still be made."""

    snapshot: Snapshot
    rules: Eligibility
    sizes: Sizes
    book: Book
    later_book: Book  # when the pods that are leaving have left
    now_s: int
    now: Room
    later: Room  # when the pods that are leaving have left
    leaving: bool
    left: int
    kinds: dict[tuple[object, ...], "Verdict"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one kind of job, alone.

    ``fits``: it finds seats now; ``waits``: it finds them when others have left; ``misfit``: nothing would ever do.
    """

    reasons: tuple[Reason, ...]
    fits: bool
    waits: bool
    blocks: tuple[tuple[str, int], ...]
    misfit: bool


def ground_of(
    snapshot: Snapshot, rules: Eligibility, jobs: Sequence[Job], book: Book, now_s: int, budget: int
) -> Ground:
    terms = terms_of(snapshot, [part.pods[0] for job in jobs for part in job.parts])
    now = room_of(snapshot, rules, terms)
    ending = snapshot.pod_live & snapshot.pod_terminating
    leaving = bool(ending.any())
    later = room_of(without(snapshot, ending), rules, terms) if leaving else now
    later_book = returned(book, snapshot, ending) if leaving else book
    return Ground(snapshot, rules, sizes_of(snapshot, rules), book, later_book, now_s, now, later, leaving, budget)


def judge(ground: Ground, job: Job, only: Bools | None) -> Verdict:
    """Of the job's kind; ``only`` [n]: nodes of models of which its tenant has quota, where that matters."""
    key = (*job.kind, None if only is None else only.tobytes())
    if key not in ground.kinds:
        ground.kinds[key] = _judged(ground, job, only)
    return ground.kinds[key]


def _judged(ground: Ground, job: Job, only: Bools | None) -> Verdict:
    wrong = faults_of(ground.snapshot, ground.rules, ground.sizes, job)
    if wrong and job.parts and any(reason.numbers.get("fault") != "members" for reason in wrong):
        return Verdict(tuple(wrong), False, False, (), True)
    if ground.left <= 0:
        unseen = Reason(NOT_EVALUATED, "Nobody has looked at it yet: the searches allowed at one time were used up.")
        return Verdict((*wrong, unseen), False, False, (), True)
    ground.left -= 1
    found = find(ground.now, job, only=only)
    room = tuple(blocks(ground.now, job))
    if found.seats is not None:
        return Verdict(tuple(wrong), not wrong, False, room, bool(wrong))
    ground.left -= 1
    then = find(ground.later, job, only=only) if ground.leaving else found
    if then.seats is not None:
        return Verdict((*wrong, _leaving(ground, job, then)), False, not wrong, room, bool(wrong))
    return Verdict((*wrong, *_space(ground, job, then, only)), False, False, room, bool(wrong))


def _leaving(ground: Ground, job: Job, then: Found) -> Reason:
    """The pods on its seats' nodes that are leaving, and when the last of them must be gone."""
    nodes = then.seats.nodes if then.seats else ()
    here = np.isin(ground.snapshot.pod_node, nodes)
    return _awaited(ground, here, "room", ", ".join(ground.snapshot.node_name[n] for n in nodes[:NAMED]))


def awaited_quota(ground: Ground, refusal: Refusal) -> Reason:
    """The pods that are leaving and whose quota the job needs: all of the account that holds it up, and below."""
    snapshot, names = ground.snapshot, set(ground.book.tree.below(refusal.at))
    mine = np.array([*(name in names for name in snapshot.tenants), False], np.bool_)
    return _awaited(ground, mine[snapshot.pod_tenant], "quota", "")


def _awaited(ground: Ground, pods: Bools, what: str, named: str) -> Reason:
    snapshot = ground.snapshot
    rows = np.flatnonzero(pods & snapshot.pod_live & snapshot.pod_terminating).tolist()
    ends = [int(snapshot.pod_deleted_at_s[p]) + int(snapshot.pod_grace_s[p]) for p in rows
            if ABSENT not in (snapshot.pod_deleted_at_s[p], snapshot.pod_grace_s[p])]  # fmt: skip
    until = max(ends) if len(ends) == len(rows) and ends else None
    names = ", ".join(snapshot.pod_key(p) for p in rows[:NAMED]) + (" …" if len(rows) > NAMED else "")
    when = "nobody knows until when" if until is None else f"at most {max(0, until - ground.now_s)} s more"
    who = f"{names} has left" if len(rows) == 1 else f"{some(len(rows), 'pod')} have left: {names}"
    sentence = f"It starts when {who} ({when}); the {what} is held for it."
    numbers = {"pods": len(rows), "until_s": until, "victims": names, "nodes": named, "for": what}
    return Reason(WAITING_FOR_VICTIMS, sentence, numbers)


def quota_reason(refusal: Refusal) -> Reason:
    what = {
        CAP: f"the cap of {refusal.at} is {gpus(refusal.limit_milli)}",
        BORROWING_LIMIT: f"{refusal.at} may use {gpus(refusal.limit_milli)} of its own and borrowed {refusal.model}",
    }.get(refusal.limit, f"{refusal.at} has {gpus(refusal.limit_milli)} of {refusal.model} in quota")
    never = "" if refusal.possible else " It can never be admitted under this quota."
    sentence = (
        f"{refusal.tenant} asks for {gpus(refusal.asked_milli)}, and {gpus(refusal.available_milli)} may still be used:"
        f" {what}, and {gpus(refusal.used_milli)} are used.{never}"
    )
    return Reason(QUOTA, sentence, {
        "tenant": refusal.tenant, "at": refusal.at, "limit": refusal.limit, "model": refusal.model,
        "asked_milli": refusal.asked_milli, "available_milli": refusal.available_milli,
        "used_milli": refusal.used_milli, "limit_milli": refusal.limit_milli, "missing_milli": refusal.missing_milli,
        "possible": int(refusal.possible),
    })  # fmt: skip


def _space(ground: Ground, job: Job, then: Found, only: Bools | None) -> Iterator[Reason]:
    """Why there are no seats even when everybody who leaves has left; the first that holds is enough."""
    if not then.sure:
        sentence = (
            f"The search stopped with places for {then.most} of {len(job.pods)} pods: more nodes were left to ask."
            if then.most < len(job.pods)
            else "Each kind of its pods finds room by itself; no order that was tried seats them together."
        )
        yield Reason(BUDGET_RAN_OUT, sentence, {"asked_pods": len(job.pods), "seated_pods": then.most})
        return
    refused = _refused(ground, job, only)
    if refused is not None:
        yield refused
        return
    ground.left -= 2
    if job.levels and find(ground.later, job, free_of_level=True, only=only).seats is not None:
        yield _topology(ground, job, then)
        return
    yield _pieces(ground, job, then, only)


def _refused(ground: Ground, job: Job, only: Bools | None) -> Reason | None:
    """Where company, selector, taint or zone keep it from room that there is, or from every node that it may run on."""
    snapshot = ground.snapshot
    inside = snapshot.node_usable & (snapshot.node_cluster == job.cluster)
    for part in job.parts:
        pod, nodes = part.pods[0], np.arange(len(inside))
        may = inside & ground.rules.eligible(pod)
        slots = ground.later.fits(part, may, nodes)
        beside, _ = ground.later.company.welcome(pod, nodes)
        if may.any() and not (may & beside).any():
            return _company(ground, pod, int(may.sum()), everywhere=True)
        if int(slots.sum()) >= len(part.pods) > int(np.where(beside, slots, 0).sum()):
            return _company(ground, pod, int(((slots > 0) & ~beside).sum()), everywhere=False)
    return _kept_out(ground, job, only)


def _company(ground: Ground, pod: int, nodes: int, *, everywhere: bool) -> Reason:
    """Who on those nodes refuses the pod, or is refused by it."""
    snapshot = ground.snapshot
    spec = snapshot.pod_specs[snapshot.pod_spec[pod]]
    labels = {f"{key}={value}" for key, value in spec.labels}
    may = ground.rules.eligible(pod)
    same = snapshot.pod_live & (snapshot.pod_namespace == snapshot.pod_namespace[pod])
    who = []
    for p in np.flatnonzero(same).tolist():
        other = snapshot.pod_specs[snapshot.pod_spec[p]]
        terms = {f"{key}={value}" for key, value in other.labels}
        if may[snapshot.pod_node[p]] and (terms & set(spec.anti_affinity) or labels & set(other.anti_affinity)):
            who.append(p)
    kind = "anti_affinity" if who or spec.anti_affinity else "affinity"
    names = ", ".join(snapshot.pod_key(p) for p in who[:NAMED])
    where = f"on {some(nodes, 'node')} with room"
    if everywhere:
        where = "on the one node that it may run on" if nodes == 1 else f"on all {nodes} nodes that it may run on"
    with_whom = f" with {names}" if names else f" for {', '.join(spec.affinity)}" if spec.affinity else ""
    sentence = f"{'Anti-affinity' if kind == 'anti_affinity' else 'Affinity'}{with_whom} keeps it out {where}."
    return Reason(CONSTRAINT, sentence, {"constraint": kind, "pods": names, "nodes": nodes})


def _kept_out(ground: Ground, job: Job, only: Bools | None) -> Reason | None:
    """Nodes with room and a model that it accepts, that its selector, tolerations, zone or the like rule out."""
    counts: dict[str, int] = {}
    words = [factor.word for factor in ground.rules.factors]
    for part in job.parts:
        pod = part.pods[0]
        codes = ground.rules.reasons(pod)
        soft = np.isin(codes, [words.index(word) for word in ("selector", "taint", "zone", "only_node")])
        if not soft.any():
            return None
        slots = ground.later.fits(part, soft | (codes == UNKNOWN), np.arange(len(codes)))
        if int(slots.sum()) < len(part.pods):
            return None
        for code in codes[soft & (slots > 0)].tolist():
            counts[words[code]] = counts.get(words[code], 0) + 1
    if not counts:
        return None
    told = ", ".join(
        f"{word} on {some(n, 'node')}" for word, n in sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))
    )
    worst = max(counts, key=lambda word: (counts[word], word))
    each = {f"nodes_{word}": n for word, n in sorted(counts.items())}
    numbers: dict[str, int | str | None] = {"constraint": worst, "nodes": sum(counts.values()), **each}
    return Reason(CONSTRAINT, f"There is room, where it may not run: {told}.", numbers)


def _topology(ground: Ground, job: Job, then: Found) -> Reason:
    level = job.levels[0]
    at = places_at(ground.snapshot, level)
    unknown = 0 if at is None else int(((at == UNKNOWN) & (ground.snapshot.node_cluster == job.cluster)).sum())
    beside = " beside its running members" if job.running else ""
    sentence = (
        f"It needs {some(len(job.pods), 'pod')} ({gpus(job.gpu_milli)}) in one {level}{beside}; the best one has room "
        f"for {then.most}. There is room for all if the {level} did not matter."
    )
    return Reason(TOPOLOGY, sentence, {
        "level": level, "asked_pods": len(job.pods), "seated_pods": then.most, "asked_milli": job.gpu_milli,
        "nodes_of_unknown_place": unknown,
    })  # fmt: skip


def _pieces(ground: Ground, job: Job, then: Found, only: Bools | None) -> Reason:
    """Enough in sum is fragmentation, too little is capacity; both count usable nodes of models that it accepts."""
    snapshot, room = ground.snapshot, ground.later
    if any(snapshot.pod_specs[part.shape[1]].mig for part in job.parts):
        return _slices(ground, job)
    pods = [part.pods[0] for part in job.parts]
    may = np.logical_or.reduce([ground.rules.eligible(p) for p in pods]) & snapshot.node_usable
    may = may if only is None else may & only
    free = int(room.free[may].sum()) * WHOLE_GPU_MILLI
    rest = int(room.rest[may[room.rest_node]].sum()) if any(p.shape[3] < WHOLE_GPU_MILLI for p in job.parts) else 0
    cpu, memory = (int(np.maximum(left[may], 0).sum()) for left in (room.cpu, room.memory))
    asked_memory = sum(part.shape[6] * len(part.pods) for part in job.parts)
    short = [name for name, asked, has in (
        ("gpus", job.gpu_milli, free + rest), ("cpu", job.cpu_milli, cpu), ("memory", asked_memory, memory),
    ) if asked > has]  # fmt: skip
    numbers: dict[str, int | str | None] = {
        "asked_pods": len(job.pods), "seated_pods": then.most, "asked_milli": job.gpu_milli, "free_milli": free + rest,
        "missing_milli": max(0, job.gpu_milli - free - rest), "asked_cpu_milli": job.cpu_milli, "free_cpu_milli": cpu,
        "out_of_service_gpus": _out_of_service(ground, pods), "nodes": int(may.sum()),
    }  # fmt: skip
    if short:
        what = {
            "gpus": gpus(free + rest),
            "cpu": f"{cpu // 1000} CPU cores",
            "memory": f"{memory / 1024:g} GiB of memory",
        }[short[0]]
        needs = {
            "gpus": gpus(job.gpu_milli),
            "cpu": f"{job.cpu_milli // 1000} cores",
            "memory": f"{asked_memory / 1024:g} GiB",
        }
        sentence = (
            f"It asks for {needs[short[0]]}, and {what} are free on {some(int(may.sum()), 'node')} that it may run on."
        )
        return Reason(CAPACITY, sentence, {**numbers, "short_of": ", ".join(short)})
    cause = "cpu_memory" if _devices_suffice(ground, job, may) else "stranded"
    why = {"cpu_memory": "not with the CPU and memory that its pods need beside them", "stranded": "in smaller pieces"}
    sentence = (
        f"{gpus(free + rest)} {'is' if free + rest == WHOLE_GPU_MILLI else 'are'} free on nodes that it may run on,"
        f" {why[cause]}: room for {then.most} of "
        f"{some(len(job.pods), 'pod')} of {gpus(job.parts[0].shape[2] * job.parts[0].shape[3])}."
    )
    return Reason(FRAGMENTATION, sentence, {**numbers, "cause": cause})


def _slices(ground: Ground, job: Job) -> Reason:
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
    return Reason(FRAGMENTATION, f"It asks for slices {told}, and no node has room for them with all else.", numbers)


def _out_of_service(ground: Ground, pods: list[int]) -> int:
    """GPUs on nodes that it could use if they were ready and not cordoned."""
    snapshot = ground.snapshot
    may = np.logical_or.reduce([ground.rules.eligible(p) for p in pods]) & ~snapshot.node_usable
    return int(snapshot.node_gpus[may].sum())


def _devices_suffice(ground: Ground, job: Job, may: Bools) -> bool:
    rows = np.flatnonzero(may)
    return all(int(ground.later.devices(part, rows).sum()) >= len(part.pods) for part in job.parts)
