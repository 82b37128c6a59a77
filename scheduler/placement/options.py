"""One way to place a job, with what speaks for it: domains, entropy, terms, predicted times."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.hardware import accelerator
from scheduler.cluster.snapshot import UNKNOWN, Ints, Snapshot
from scheduler.cluster.topology import ASW
from scheduler.fragmentation.shapes import CLUSTER, HOST
from scheduler.performance.collectives import Time, all_reduce
from scheduler.performance.fabrics import Fabric, fabric_of
from scheduler.performance.step_time import Model, Parallelism, Ranks, Step, step_time
from scheduler.placement.entropy import entropy, gpus_by_place
from scheduler.placement.gang import Search, Seating
from scheduler.placement.ground import Ground
from scheduler.placement.policy import Policy
from scheduler.placement.request import Request

MESSAGE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Expecting:
    """What times are predicted of: an all-reduce of so many bytes, and a step of ``model`` if there is one."""

    message_bytes: int = MESSAGE_BYTES
    nic_gbit: float | None = None  # of each GPU; None: assumed
    model: Model | None = None
    parallelism: Parallelism | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """Seconds; None where nobody knows the GPU model's links or rate."""

    all_reduce: Time | None
    step: Step | None
    crosses: bool  # an access switch, as far as anybody knows
    assumed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """``level`` and ``domain``: the closest domain that was found to hold all pods."""

    level: str
    domain: str
    models: tuple[str, ...]  # of the nodes; one, but where no one model holds the job
    assignment: tuple[tuple[str, str], ...]  # member, node
    domains: tuple[str, ...]  # known ones, of the level at which entropy is counted or one domain is asked for
    gpus_by_domain: tuple[tuple[str | None, int], ...]  # of that level; None: on nodes of which nobody knows it
    entropy: float
    terms: dict[str, float | None]  # 0 to 1 each, mean over pods; None: unknown
    score: float
    opens_whole: int  # whole free domains of ``level`` that it opens
    nodes_opened: int  # nodes on which nobody works now
    predicted: Predicted


def entropy_level(ground: Ground) -> str:
    """Where entropy is counted: access switches, else the lowest level of the network, else nodes."""
    if ASW in ground.levels:
        return ASW
    return ground.levels[1] if len(ground.levels) > 2 else HOST


def shown_level(ground: Ground, request: Request) -> str:
    asked = request.required or request.preferred
    return asked if asked and asked in ground.levels else entropy_level(ground)


def option_of(search: Search, seating: Seating, expecting: Expecting) -> Option:
    ground, request = search.ground, search.request
    weight = gpus_on(request, seating)
    counted = entropy_level(ground)
    spread = entropy(gpus_by_place(ground.domains_at(counted), weight))
    shown = shown_level(ground, request)
    domains = by_domain(ground, shown, weight)
    terms = {**_terms(search, seating), **_entropy_term(search.policy, spread, sum(weight.values()))}
    nodes = np.unique(np.concatenate(seating.nodes))
    return Option(
        level=seating.top.level,
        domain=ground.domain_name(seating.top.level, seating.top.domain),
        models=models_on(ground.snapshot, nodes),
        assignment=_assignment(ground.snapshot, request, seating),
        domains=tuple(name for name, _ in domains if name is not None),
        gpus_by_domain=domains,
        entropy=spread,
        terms=terms,
        score=score_of(terms, search.policy),
        opens_whole=_opened(search, seating, nodes),
        nodes_opened=int(ground.untouched[nodes].sum()),
        predicted=predict(ground.snapshot, request, seating, expecting, ground.domains_at(counted)),
    )


def models_on(snapshot: Snapshot, nodes: Ints) -> tuple[str, ...]:
    known = np.unique(snapshot.node_model[nodes])
    return tuple(snapshot.models[m] for m in known.tolist() if m != UNKNOWN)


def gpus_on(request: Request, seating: Seating) -> dict[int, int]:
    """Node -> GPUs of the job; pods where it asks for no GPU."""
    found: dict[int, int] = {}
    for group, nodes in zip(request.groups, seating.nodes, strict=True):
        for n in nodes.tolist():
            found[n] = found.get(n, 0) + (group.gpus if request.gpus else 1)
    return {n: gpus for n, gpus in found.items() if gpus}


def by_domain(ground: Ground, level: str, weight: dict[int, int]) -> tuple[tuple[str | None, int], ...]:
    place = ground.domains_at(level)
    found: dict[int, int] = {}
    for n, gpus in weight.items():
        found[int(place[n])] = found.get(int(place[n]), 0) + gpus
    rows = [(None if d == UNKNOWN else ground.domain_name(level, d), gpus) for d, gpus in found.items()]
    return tuple(sorted(rows, key=lambda row: (row[0] is None, -row[1], row[0] or "")))


def _terms(search: Search, seating: Seating) -> dict[str, float | None]:
    """Of one more pod of each group on each of its nodes, the mean over pods."""
    sums: dict[str, list[float]] = {}
    for terms, nodes in zip(search.terms, seating.nodes, strict=True):
        for name, values in terms.items():
            if search.policy.weight(name) <= 0:
                continue
            sums.setdefault(name, []).extend(values[nodes].tolist())
    return {name: _mean(values) for name, values in sums.items()}


def _mean(values: list[float]) -> float | None:
    known = [value for value in values if not np.isnan(value)]
    return round(float(np.mean(known)), 6) if known else None


def _entropy_term(policy: Policy, spread: float, gpus: int) -> dict[str, float | None]:
    """1 where all lie in one domain, 0 where every GPU has one of its own."""
    if policy.entropy <= 0:
        return {}
    return {"entropy": 1.0 if gpus <= 1 else round(1 - spread / float(np.log(gpus)), 6)}


def score_of(terms: Mapping[str, float | None], policy: Policy) -> float:
    """The weighted mean of the terms that are known."""
    known = {name: value for name, value in terms.items() if value is not None}
    weight = sum(policy.weight(name) for name in known)
    return sum(policy.weight(name) * value for name, value in known.items()) / weight if weight else 0.5


def _assignment(snapshot: Snapshot, request: Request, seating: Seating) -> tuple[tuple[str, str], ...]:
    return tuple(
        (member, snapshot.node_name[n])
        for group, nodes in zip(request.groups, seating.nodes, strict=True)
        for member, n in zip(group.members, nodes.tolist(), strict=True)
    )


def _opened(search: Search, seating: Seating, nodes: Ints) -> int:
    if not search.policy.keep_whole or seating.top.level == CLUSTER:
        return 0
    place = search.ground.domains_at(seating.top.level)
    touched = place[~search.ground.untouched]
    return len(set(place[nodes].tolist()) - set(touched.tolist()) - {UNKNOWN})


def predict(snapshot: Snapshot, request: Request, seating: Seating, expecting: Expecting, place: Ints) -> Predicted:
    """``place`` [n]: the access switch of each node, or what stands for it."""
    ranks = ranks_of(request, seating, place)
    models = {int(snapshot.node_model[n]) for n in ranks.node}
    name = snapshot.models[models.pop()] if len(models) == 1 and UNKNOWN not in models else ""
    fabric = fabric_of(name, expecting.nic_gbit) if name else None
    reach = ranks.reach(range(len(ranks.node)))
    if fabric is None or not ranks.node:
        return Predicted(all_reduce=None, step=None, crosses=reach.crosses, assumed=())
    time = all_reduce(expecting.message_bytes, reach, fabric)
    step = _step(expecting, ranks, name, fabric)
    return Predicted(all_reduce=time, step=step, crosses=reach.crosses, assumed=fabric.assumed)


def _step(expecting: Expecting, ranks: Ranks, name: str, fabric: Fabric) -> Step | None:
    known = accelerator(name)
    if expecting.model is None or known is None or known.tflops_16_bit is None:
        return None
    way = expecting.parallelism or Parallelism()
    return step_time(expecting.model, way, ranks, known.tflops_16_bit, fabric)


def ranks_of(request: Request, seating: Seating, place: Ints) -> Ranks:
    """One rank for each GPU, in the order of members."""
    node = [
        n
        for group, nodes in zip(request.groups, seating.nodes, strict=True)
        for n in nodes.tolist()
        for _ in range(group.gpus)
    ]
    return Ranks(tuple(node), tuple(None if place[n] == UNKNOWN else int(place[n]) for n in node))
