"""What a tenant is told before it asks: the chance to start, how long that lasts, what it costs, what else there is.

All of it is of one reading and of what was seen before it; what is not known is None, with a sentence that says why.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from scheduler.spot.asks import HOUR_S, Ask
from scheduler.spot.board import Board, asking
from scheduler.spot.calibration import Curve
from scheduler.spot.chance import ASSUMES, HORIZONS_S, Chances, Standing, chances
from scheduler.spot.line import Probe
from scheduler.spot.lives import Survival
from scheduler.spot.outlay import Outlay, outlay
from scheduler.spot.planner import Freeing, Limits, Used, decide, with_freeing
from scheduler.spot.refusing import largest_block, outlay_of
from scheduler.spot.supply import Past
from scheduler.spot.waits import Wait

WAIT_AT_MOST_S = 24 * HOUR_S
WORTH_TELLING = 0.05  # an hour to wait for is told where the chance is so much better then
MOST_OTHERS = 3  # other GPU models that are told


@dataclass(frozen=True, slots=True, eq=False)
class Market:
    """One GPU model.  ``cents`` of a GPU-hour, None: no quote; ``speed`` beside other models, None: not measured."""

    past: Past  # without steps where nobody saw it yet
    standing: Standing
    lives: Survival
    cents: int | None = None
    on_demand_cents: int | None = None
    speed: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A reading with its markets.  ``curves`` by horizon, learnt from what was told before; ``freeing`` for the ask."""

    board: Board
    markets: Mapping[str, Market]
    used: Used
    limits: Limits = field(default_factory=Limits)
    curves: Mapping[int, Curve] = field(default_factory=dict)
    seed: int = 0
    freeing: Sequence[Freeing] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """Of one way to ask.  ``wait``: why it cannot start now, None where it can; ``model`` is the one it is told of."""

    ask: Ask
    model: str | None
    wait: Wait | None
    raw: Mapping[int, float | None]
    chance: Mapping[int, float | None]
    run_p10_s: int | None
    run_p50_s: int | None
    cents: int | None
    on_demand_cents: int | None
    outlay: Outlay
    unknown: tuple[str, ...]  # sentences: what is not known, and why
    found: Chances | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Instead:
    """Another way to ask, and what would then be told.  ``what``: a word of KINDS."""

    what: str
    told: Told
    chance_1h: float | None
    wait_s: int = 0
    speed: float | None = None  # of its model beside that which was asked for; None: not measured, or the same model


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    told: Told
    instead: tuple[Instead, ...]
    assumes: tuple[str, ...]
    seed: int


LATER, SMALLER, ELSEWHERE, LOOSER = "later", "smaller", "other_model", "topology_preferred"
KINDS = (LATER, SMALLER, ELSEWHERE, LOOSER)


def estimate(scene: Scene, tenant: str, ask: Ask) -> Estimate:
    """Equal input gives the equal answer."""
    main = tell(scene, tenant, ask, reach_s=WAIT_AT_MOST_S + HOUR_S)
    others = [*_later(scene, main), *_instead(scene, tenant, main)]
    others.sort(key=lambda one: (KINDS.index(one.what), -(one.chance_1h or 0)))
    return Estimate(main, tuple(others), ASSUMES, scene.seed)


def tell(scene: Scene, tenant: str, ask: Ask, *, reach_s: int = 0) -> Told:
    """Of the first of its models that it would start on now; else of the one with the best chance within the hour."""
    prices = {model: market.cents for model, market in scene.markets.items()}
    found = decide(scene.board, tenant, ask, scene.used, scene.limits, prices)
    wait = with_freeing(found, ask, scene.freeing) if isinstance(found, Wait) else None
    asked = ask.models if isinstance(found, Wait) else (found.seating.model,)
    rows = [_of_model(scene, ask, model, wait, reach_s) for model in asked if model in scene.markets]
    if not rows:
        nothing = dict.fromkeys(HORIZONS_S)
        lack = Outlay(None, None, None, None, "nothing is known of its GPU models")
        return Told(ask, None, wait, nothing, nothing, None, None, None, None, lack, (lack.why,))
    return max(rows, key=lambda one: (one.chance.get(HOUR_S) or -1.0, -rows.index(one)))


def _of_model(scene: Scene, ask: Ask, model: str, wait: Wait | None, reach_s: int) -> Told:
    market = scene.markets[model]
    unknown, found = [], None
    if market.cents is None or (ask.limit_cents is not None and market.cents > ask.limit_cents):
        unknown.append("no chance is told while the price keeps it out")
    else:
        found = chances(
            market.past, market.standing, probe_of(scene.board, ask, model), seed=scene.seed, reach_s=reach_s,
            curves=scene.curves,
        )  # fmt: skip
        unknown += [found.why] if found.why else []
    nothing = dict.fromkeys(HORIZONS_S)
    lives, cost = market.lives, outlay(ask, market.cents, market.lives, seed=scene.seed)
    p10, p50 = (lives.quantile_s(q) if lives.known else None for q in (0.1, 0.5))
    if not lives.known:
        unknown.append(f"how long it runs before a reclaim is not known: {lives.why}")
    elif p50 is None:
        unknown.append(
            f"fewer than half of {lives.runs} runs were reclaimed, the longest ran {lives.longest_s // 60} min"
        )
    unknown += [cost.why] if cost.why and lives.known else []
    return Told(
        ask, model, wait, found.raw if found else nothing, found.held if found else nothing, p10, p50, market.cents,
        market.on_demand_cents, cost, tuple(unknown), found,
    )  # fmt: skip


def probe_of(board: Board, ask: Ask, model: str) -> Probe:
    """What finds room now in the best place, and its part of what may come free."""
    one = replace(ask, models=(model,))
    room, part = asking(board, one)
    seen = outlay_of(board, room, part, one, model)
    gpus = np.where(seen.nodes, board.ground.snapshot.node_gpus, 0).astype(np.int64)
    level = ask.topology if ask.required else ""
    largest, now = largest_block(board, gpus, level), (seen.block if level else seen.pods) * ask.gpus_per_pod
    share = max(now / max(1, int(seen.open_gpus.sum())), largest / max(1, int(gpus.sum())))
    return Probe(ask.least_gpus, now, min(1.0, share), largest)


def _later(scene: Scene, main: Told) -> Iterator[Instead]:
    """The hour of the next day at which one who asks starts soonest, where it is worth the wait."""
    if main.found is None or main.chance.get(HOUR_S) is None:
        return
    curve = scene.curves.get(HOUR_S)
    best, wait_s = main.chance[HOUR_S] or 0.0, 0
    for hour in range(1, WAIT_AT_MOST_S // HOUR_S + 1):
        raw = main.found.asked_in(hour * HOUR_S, HOUR_S)
        then = None if raw is None else curve.apply(raw) if curve else raw
        if then is not None and then >= best + (WORTH_TELLING if not wait_s else 1e-9):
            best, wait_s = then, hour * HOUR_S
    if wait_s:
        yield Instead(LATER, main, best, wait_s)


def _instead(scene: Scene, tenant: str, main: Told) -> Iterator[Instead]:
    ask = main.ask
    if ask.pods > 1 and ask.min_members > 1:
        half = tell(scene, tenant, ask.with_pods(ask.pods // 2))
        yield Instead(SMALLER, half, half.chance.get(HOUR_S))
    if ask.required:
        loose = tell(scene, tenant, replace(ask, required=False))
        yield Instead(LOOSER, loose, loose.chance.get(HOUR_S))
    others = [_other(scene, tenant, ask, model) for model in sorted(scene.markets) if model not in ask.models]
    known = [one for one in others if one is not None]
    known.sort(key=lambda one: (-(one.chance_1h if one.chance_1h is not None else -1.0), one.told.model or ""))
    yield from known[:MOST_OTHERS]


def _other(scene: Scene, tenant: str, ask: Ask, model: str) -> Instead | None:
    """The same work on another model, longer or shorter by its measured speed; None where it could never run there."""
    market, first = scene.markets[model], scene.markets.get(ask.models[0])
    if market.cents is None or not scene.board.of_model(model).any():
        return None
    speed = market.speed / first.speed if market.speed and first is not None and first.speed else None
    run_s = ask.run_s if speed is None else max(600, min(30 * 86_400, round(ask.run_s / speed)))
    told = tell(scene, tenant, replace(ask, models=(model,), run_s=run_s))
    return Instead(ELSEWHERE, told, told.chance.get(HOUR_S), speed=speed)
