"""Which of the asks that wait start now, and where; and why the others wait.

The line: who was reclaimed comes first, the longest ago before all others, since its work lies half done.  Then who
has waited for longer than ``PATIENCE_S``, the oldest first, so that nobody waits for ever behind smaller asks.  Then
tenants by what they hold of spot work over their weight, the least first and counted anew after every start; of one
tenant the larger ask before the smaller one, since the small ones fit into what the large ones leave, and of equal ones
the older.  Whoever fits starts: spot work fills what is there, and holds back nobody else.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.spot.asks import Ask
from scheduler.spot.board import Board, Claimed, board_of
from scheduler.spot.seats import Chosen, Seating, seat, take
from scheduler.spot.waits import NO_QUOTE, OVER_LIMIT, SPOT_QUOTA, Value, Wait

PATIENCE_S = 3600
POOL, TENANT = "pool", "tenant"
ANY_MODEL = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """An ask in the line.  ``since_s``: when it was asked, or, where it was reclaimed, when it lost its GPUs."""

    uid: str
    tenant: str
    ask: Ask
    since_s: int
    requeued: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """GPUs that spot work may hold; what is absent or None is no limit that anybody knows.

    ``spot_gpus`` by GPU model over all tenants; ``tenant_gpus`` by tenant and model, with ANY_MODEL over all of them.
    """

    spot_gpus: Mapping[str, int | None] = field(default_factory=dict)
    tenant_gpus: Mapping[tuple[str, str], int | None] = field(default_factory=dict)
    weights: Mapping[str, int] = field(default_factory=dict)  # of tenants, 1 where nothing is said


@dataclass(frozen=True, slots=True)
class Freeing:
    """What a plan that somebody could approve would free: so many GPUs in one domain of the level ("": in all)."""

    plan: str
    model: str
    level: str
    gpus: int  # that would be free there then
    ready_at_s: int | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Either it starts there, or it waits for that reason."""

    uid: str
    seating: Seating | None
    wait: Wait | None


@dataclass(frozen=True, slots=True)
class Turn:
    """Decisions in the order of the line."""

    decisions: tuple[Decision, ...]

    @property
    def starts(self) -> tuple[Decision, ...]:
        return tuple(one for one in self.decisions if one.seating is not None)


def plan_starts(
    snapshot: Snapshot,
    waiting: Sequence[Waiting],
    limits: Limits,
    *,
    cluster: str = "",
    now_s: int | None = None,
    promises: Iterable[Claimed] = (),
    kept: Collection[str] = (),
    prices: Mapping[str, int | None] | None = None,
    evictions: Mapping[str, int] | None = None,
    freeing: Sequence[Freeing] = (),
) -> Turn:
    """Decisions for everybody who waits; the order of ``waiting`` makes no difference.

    ``snapshot``, ``promises``, ``kept`` and ``evictions`` as ``board_of``; ``prices`` in cents of a GPU-hour by model,
    None of a model: no quote; without ``prices`` nobody is asked for money.
    """
    board = board_of(snapshot, cluster=cluster, promises=promises, kept=kept, evictions=evictions, now_s=now_s)
    used = Used.on(snapshot, board.cluster)
    left = {one.uid: one for one in sorted(waiting, key=lambda one: one.uid)}
    decisions = []
    while left:
        one = min(left.values(), key=lambda one: _rank(one, used, limits, board.now_s))
        del left[one.uid]
        chosen = decide(board, one.tenant, one.ask, used, limits, prices)
        if isinstance(chosen, Wait):
            decisions.append(Decision(one.uid, None, with_freeing(chosen, one.ask, freeing)))
            continue
        take(board, chosen)
        used.add(one.tenant, chosen.seating.model, len(chosen.seating.pods) * one.ask.gpus_per_pod)
        decisions.append(Decision(one.uid, chosen.seating, None))
    return Turn(tuple(decisions))


def decide(
    board: Board, tenant: str, ask: Ask, used: "Used", limits: Limits, prices: Mapping[str, int | None] | None
) -> Chosen | Wait:
    """Seats on the first model that it may pay for, has quota of, and finds room on; the board stays as it is."""
    affordable = [model for model in ask.models if prices is None or _pays(ask, prices.get(model))]
    if not affordable:
        assert prices is not None
        return _unpaid(ask, prices)
    first: Wait | None = None
    for model in affordable:
        one = replace(ask, models=(model,))
        most, wait = _allowed(tenant, one, used, limits, model)
        if wait is None and most < one.pods:
            one = replace(one, pods=most, min_members=min(one.min_members, most))
        found = seat(board, one) if wait is None else wait
        if not isinstance(found, Wait):
            return found
        if first is None or _nearer(found, first):
            first = found
    assert first is not None
    return first


@dataclass(slots=True)
class Used:
    """GPUs that spot work holds, in thousandths: by model, and by tenant and model."""

    pool: dict[str, int]
    tenant: dict[tuple[str, str], int]

    @classmethod
    def on(cls, snapshot: Snapshot, cluster: int) -> "Used":
        found = cls({}, {})
        live = snapshot.pod_live & snapshot.pod_lp & (snapshot.pod_gpus > 0)
        for p in np.flatnonzero(live).tolist():
            n, t = int(snapshot.pod_node[p]), int(snapshot.pod_tenant[p])
            if snapshot.node_cluster[n] != cluster:
                continue
            model = snapshot.models[snapshot.node_model[n]] if snapshot.node_model[n] != UNKNOWN else ""
            tenant = snapshot.tenants[t] if t != UNKNOWN else ""
            found._add(tenant, model, int(snapshot.pod_gpus[p]) * int(snapshot.pod_gpu_milli[p]))
        return found

    def add(self, tenant: str, model: str, gpus: int) -> None:
        self._add(tenant, model, gpus * WHOLE_GPU_MILLI)

    def _add(self, tenant: str, model: str, milli: int) -> None:
        self.pool[model] = self.pool.get(model, 0) + milli
        for word in (model, ANY_MODEL):
            self.tenant[tenant, word] = self.tenant.get((tenant, word), 0) + milli

    def share(self, tenant: str, weight: int) -> float:
        return self.tenant.get((tenant, ANY_MODEL), 0) / max(1, weight)


def with_freeing(wait: Wait, ask: Ask, freeing: Sequence[Freeing]) -> Wait:
    """The reason with the plan that would help: it frees what is needed, the soonest; ties by its name."""
    needs = wait.numbers.get("needs_gpus")
    level = ask.topology if ask.required else ""
    helps = [
        one for one in freeing
        if isinstance(needs, int) and one.model in ask.models and one.level == level and one.gpus >= needs
    ]  # fmt: skip
    if not helps:
        return wait
    best = min(helps, key=lambda one: (one.ready_at_s is None, one.ready_at_s or 0, one.plan))
    more: dict[str, Value] = {"would_free_gpus": best.gpus, "plan": best.plan, "ready_at_s": best.ready_at_s}
    return Wait(wait.reason, {**wait.numbers, **more})


def _rank(one: Waiting, used: Used, limits: Limits, now_s: int) -> tuple[int, float, int, int, str]:
    if one.requeued:
        return 0, 0.0, 0, one.since_s, one.uid
    if now_s - one.since_s > PATIENCE_S:
        return 1, 0.0, 0, one.since_s, one.uid
    return 2, used.share(one.tenant, limits.weights.get(one.tenant, 1)), -one.ask.gpus, one.since_s, one.uid


def _pays(ask: Ask, cents: int | None) -> bool:
    return cents is not None and (ask.limit_cents is None or cents <= ask.limit_cents)


def _unpaid(ask: Ask, prices: Mapping[str, int | None]) -> Wait:
    quoted = [(cents, model) for model in ask.models if (cents := prices.get(model)) is not None]
    if not quoted:
        return Wait(NO_QUOTE, {"models": ", ".join(ask.models)})
    cents, model = min(quoted)
    return Wait(OVER_LIMIT, {"models": model, "price_cents": cents, "limit_cents": ask.limit_cents})


def _allowed(tenant: str, ask: Ask, used: Used, limits: Limits, model: str) -> tuple[int, Wait | None]:
    """Pods that all limits leave, and the limit that leaves too few to start."""
    most = ask.pods
    rows: list[tuple[str, str, int | None, int]] = [
        (POOL, model, limits.spot_gpus.get(model), used.pool.get(model, 0)),
        *(
            (TENANT, word, limits.tenant_gpus.get((tenant, word)), used.tenant.get((tenant, word), 0))
            for word in (model, ANY_MODEL)
        ),
    ]
    for scope, word, quota, milli in rows:
        if quota is None:
            continue
        pods = max(0, quota * WHOLE_GPU_MILLI - milli) // (ask.gpus_per_pod * WHOLE_GPU_MILLI)
        if pods < ask.min_members:
            return 0, Wait(SPOT_QUOTA, {
                "models": model, "scope": scope, "model": word or "all models", "quota_gpus": quota,
                "used_gpus": -(-milli // WHOLE_GPU_MILLI), "needs_gpus": ask.least_gpus,
            })  # fmt: skip
        most = min(most, pods)
    return most, None


def _nearer(one: Wait, other: Wait) -> bool:
    """Whether the first one lacks less: told is the model that comes closest."""
    return _lacks(one) < _lacks(other)


def _lacks(wait: Wait) -> float:
    needs = wait.numbers.get("needs_gpus")
    have = wait.numbers.get("largest_gpus", wait.numbers.get("free_gpus"))
    if not isinstance(needs, int) or not isinstance(have, int) or wait.reason == SPOT_QUOTA:
        return float("inf")
    return needs - have
