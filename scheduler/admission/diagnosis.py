"""What holds up one job that is alone with the cluster as it stands: quota, and then room, each apart.

Room is looked at as it will be when the pods that are leaving have left: what is missing even then is the reason, and
what is not is worth waiting for.  Jobs of one kind are judged once.
"""

from collections.abc import Iterator

import numpy as np

from scheduler.admission.emptied import too_large
from scheduler.admission.ground import Ground, Verdict, ground_of
from scheduler.admission.jobs import Job
from scheduler.admission.lifted import Wide, unaccompanied, under
from scheduler.admission.misfit import faults_of
from scheduler.admission.quota import BORROWING_LIMIT, CAP, Refusal, holders
from scheduler.admission.reasons import (
    BUDGET_RAN_OUT,
    CONSTRAINT,
    NOT_EVALUATED,
    QUOTA,
    WAITING_FOR_VICTIMS,
    Reason,
    gpus,
    some,
)
from scheduler.admission.shortage import pieces, scattered
from scheduler.cluster.ports import collide
from scheduler.cluster.snapshot import ABSENT, Bools
from scheduler.placement.company import labels_of
from scheduler.placement.homes import domains_of
from scheduler.placement.room import Room
from scheduler.placement.seating import Found, Seats, blocks, find

__all__ = ["Ground", "Verdict", "awaited_quota", "ground_of", "judge", "quota_reason"]
NAMED = 5  # pods that a sentence names


def judge(ground: Ground, job: Job, only: Bools | None) -> Verdict:
    """Of the job's kind; ``only`` [n]: nodes of models of which its tenant has quota, where it has of some alone."""
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
    found = find(ground.now, job, open_nodes=only)
    room = tuple((level, pods) for level, pods, _ in blocks(ground.now, job))
    if found.seats is not None:
        return Verdict(tuple(wrong), not wrong, False, room, bool(wrong))
    ground.left -= 1
    then = find(ground.later, job, open_nodes=only) if ground.leaving else found
    if then.seats is not None:
        return Verdict((*wrong, _leaving(ground, job, then)), False, not wrong, room, bool(wrong))
    large = too_large(ground, job)
    if large is not None:
        return Verdict((*wrong, large), False, False, room, True)
    return Verdict((*wrong, *_space(ground, job, then, only)), False, False, room, bool(wrong))


def _leaving(ground: Ground, job: Job, then: Found) -> Reason:
    """The pods on its seats' nodes that are leaving, and when the last of them must be gone."""
    nodes = then.seats.nodes if then.seats else ()
    here = np.isin(ground.snapshot.pod_node, nodes)
    return _awaited(ground, here, "room", ", ".join(ground.snapshot.node_name[n] for n in nodes[:NAMED]))


def awaited_quota(ground: Ground, refusal: Refusal) -> Reason:
    """The pods that are leaving and whose quota the job needs: of the account that holds it up, and below."""
    return _awaited(ground, holders(ground.book, ground.snapshot, refusal), "quota", "")


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


def quota_reason(refusal: Refusal, left: tuple[str, ...] = ()) -> Reason:
    """``left``: models of which its tenant may use so much, and on which it finds no room."""
    what = {
        CAP: f"the cap of {refusal.at} is {gpus(refusal.limit_milli)}",
        BORROWING_LIMIT: f"{refusal.at} may use {gpus(refusal.limit_milli)} of its own and borrowed {refusal.model}",
    }.get(refusal.limit, f"{refusal.at} has {gpus(refusal.limit_milli)} of {refusal.model} in quota")
    never = "" if refusal.possible else " It can never be admitted under this quota."
    sentence = (
        f"{refusal.tenant} asks for {gpus(refusal.asked_milli)}, and {gpus(refusal.available_milli)} may still be used:"
        f" {what}, and {gpus(refusal.used_milli)} {'is' if refusal.used_milli == 1000 else 'are'} used.{never}"
    )
    if left:
        sentence += f" There is room for it on {refusal.model}, and none on {', '.join(left)}, of which it may."
    return Reason(QUOTA, sentence, {
        "tenant": refusal.tenant, "at": refusal.at, "limit": refusal.limit, "model": refusal.model,
        "asked_milli": refusal.asked_milli, "available_milli": refusal.available_milli,
        "used_milli": refusal.used_milli, "limit_milli": refusal.limit_milli, "missing_milli": refusal.missing_milli,
        "possible": int(refusal.possible), **({"open": ", ".join(left)} if left else {}),
    })  # fmt: skip


def _space(ground: Ground, job: Job, then: Found, only: Bools | None) -> Iterator[Reason]:
    """Why there are no seats even when everybody who leaves has left; the first that holds is enough."""
    if not then.sure:
        sentence = (
            "Each kind of its pods finds room by itself; the search ended before it knew whether all do together."
        )
        yield Reason(BUDGET_RAN_OUT, sentence, {"asked_pods": len(job.pods), "seated_pods": then.most})
        return
    refused = _refused(ground, job, only)
    if refused is not None:
        yield refused
        return
    ground.left -= 2
    if job.levels and find(ground.later, job, free_of_level=True, open_nodes=only).seats is not None:
        yield scattered(ground, job, then)
        return
    yield pieces(ground, job, then, only)


def _refused(ground: Ground, job: Job, only: Bools | None) -> Reason | None:
    """Where company, selector, taint or zone keep it from room that there is, or from every node that it may run on.

    Room that there is: without that rule the whole job finds seats, in one domain and on one model.
    """
    snapshot = ground.snapshot
    inside = snapshot.node_usable & (snapshot.node_cluster == job.cluster)
    for part in job.parts:
        pod, nodes = part.pods[0], np.arange(len(inside))
        may = inside & ground.rules.eligible(pod)
        slots = ground.later.fits(part, may, nodes)
        beside = ground.later.company.welcome(pod, nodes)
        if may.any() and not (may & beside).any():
            return _company(ground, pod, int(may.sum()), everywhere=True)
        enough = int(slots.sum()) >= len(part.pods) > int(np.where(beside, slots, 0).sum())
        if enough and _seated_by(ground, job, unaccompanied(ground.later, job), only) is not None:
            return _company(ground, pod, int(((slots > 0) & ~beside).sum()), everywhere=False)
    return _kept_out(ground, job, only)


def _seated_by(ground: Ground, job: Job, room: Room, only: Bools | None) -> Seats | None:
    ground.left -= 1
    return find(room, job, open_nodes=only).seats


def _company(ground: Ground, pod: int, nodes: int, *, everywhere: bool) -> Reason:
    """Who on those nodes refuses the pod, is refused by it, or has its ports."""
    snapshot = ground.snapshot
    spec = snapshot.pod_specs[snapshot.pod_spec[pod]]
    may = np.append(ground.rules.eligible(pod), False)[snapshot.pod_node] & snapshot.pod_live
    against, with_port = [], []
    for p in np.flatnonzero(may).tolist():
        other = snapshot.pod_specs[snapshot.pod_spec[p]]
        near = snapshot.pod_namespace[p] == snapshot.pod_namespace[pod]
        if near and (labels_of(other) & set(spec.anti_affinity) or labels_of(spec) & set(other.anti_affinity)):
            against.append(p)
        if any(collide(mine, theirs) for mine in spec.host_ports for theirs in other.host_ports):
            with_port.append(p)
    kind = "anti_affinity" if against or spec.anti_affinity else "host_port" if with_port else "affinity"
    who = with_port if kind == "host_port" else against
    names = ", ".join(snapshot.pod_key(p) for p in who[:NAMED])
    where = f"on {some(nodes, 'node')} with room"
    if everywhere:
        where = "on the one node that it may run on" if nodes == 1 else f"on all {nodes} nodes that it may run on"
    with_whom = f" with {names}" if names else f" for {', '.join(spec.affinity)}" if spec.affinity else ""
    what = {"anti_affinity": "Anti-affinity", "host_port": "A host port shared"}.get(kind, "Affinity")
    numbers: dict[str, int | str | None] = {"constraint": kind, "pods": names, "nodes": nodes}
    return Reason(CONSTRAINT, f"{what}{with_whom} keeps it out {where}.", numbers)


def _kept_out(ground: Ground, job: Job, only: Bools | None) -> Reason | None:
    """Nodes with room and a model that it accepts, that its selector, tolerations, zone or the like rule out."""
    wide, words = Wide(ground.rules), [factor.word for factor in ground.rules.factors]
    ruled_out = [wide.eligible(part.pods[0]) & ~ground.rules.eligible(part.pods[0]) for part in job.parts]
    if not any(out.any() for out in ruled_out):
        return None
    for part in job.parts:  # cheap, and most often enough
        may = wide.eligible(part.pods[0])
        if int(ground.later.fits(part, may, np.arange(len(may))).sum()) < len(part.pods):
            return None
    room = under(ground.later, wide, job)
    seats = _seated_by(ground, job, room, only)
    if seats is None:
        return None
    counts: dict[str, int] = {}
    home = domains_of(ground.snapshot, job.cluster, job.levels, job.running) == seats.domain if job.levels else True
    for part, out in zip(job.parts, ruled_out, strict=True):
        codes = ground.rules.reasons(part.pods[0])
        for code in codes[out & home & (room.slots(part) > 0)].tolist():
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
