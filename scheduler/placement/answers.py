"""A finished hunt as an answer: who goes where, who leaves for it and on what ground, and who is waited for."""

from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Snapshot
from scheduler.placement.hunt import Hunt
from scheduler.placement.named import PREEMPT, RECLAIM, Claim, Victim, Victims


def charged(snapshot: Snapshot, pod: int) -> bool:
    """Whether it uses quota: devices, not slices of them."""
    return bool(snapshot.pod_gpus[pod]) and not snapshot.pod_specs[snapshot.pod_spec[pod]].mig


def answer_of(hunt: Hunt, claim: Claim) -> Victims:
    prey, snapshot = hunt.prey, hunt.prey.snapshot
    placed = sorted((pod, node) for node, pods in hunt.placed.items() for pod in pods)
    leaving, until = _leaving(hunt, claim)
    victims = tuple(_victim(hunt, claim, p) for p in sorted(hunt.chosen, key=lambda p: (-int(prey.loss[p]), p)))
    names = ", ".join(sorted({snapshot.node_name[n] for _, n in placed}))
    if victims:
        detail = f"It fits on {names} when they have left; what they free is held for it until the last one has."
    elif leaving:
        detail = f"It fits on {names} when those who are leaving have left; nobody else is named."
    else:
        detail = f"It fits on {names} without anybody's end."
    return Victims(True, tuple(placed), victims, leaving, until, "", detail)


def _victim(hunt: Hunt, claim: Claim, pod: int) -> Victim:
    prey, snapshot = hunt.prey, hunt.prey.snapshot
    gang, part = int(snapshot.pod_gang[pod]), "pod"
    if gang != UNKNOWN:
        part = "gang" if hunt.stopped_of(gang) > prey.spare[gang] else "surplus"
    return Victim(
        pod=pod,
        node=int(snapshot.pod_node[pod]),
        ground=RECLAIM if pod in claim.reclaim else PREEMPT,
        gpu_milli=int(snapshot.pod_gpus[pod]) * int(snapshot.pod_gpu_milli[pod]),
        age_s=int(prey.stops.age_s[pod]),
        assumed=bool(prey.stops.assumed[pod]),
        loss_milli=int(prey.loss[pod]),
        terms=prey.stops.terms(pod),
        on_notice=bool(prey.stops.on_notice[pod]),
        killed=float(prey.stops.killed[pod]),
        part=part,
    )


def _leaving(hunt: Hunt, claim: Claim) -> tuple[tuple[int, ...], int | None]:
    """Who is leaving and keeps somebody's room or share until then, and when the last must be gone."""
    snapshot = hunt.prey.snapshot
    on = {int(snapshot.node_model[n]) for n, pods in hunt.placed.items() if any(charged(snapshot, p) for p in pods)}
    share = claim.awaited.union(*(claim.awaited_on.get(model, ()) for model in on))
    needed = sorted({*share, *(p for node in hunt.placed for p in hunt.waits(node))})
    ends = [int(snapshot.pod_deleted_at_s[p]) + int(snapshot.pod_grace_s[p]) for p in needed
            if ABSENT not in (snapshot.pod_deleted_at_s[p], snapshot.pod_grace_s[p])]  # fmt: skip
    return tuple(needed), max(ends) if ends and len(ends) == len(needed) else None
