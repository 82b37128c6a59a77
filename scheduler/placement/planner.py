"""Where a job should go now, how good that is, what else there is, and why it may not be possible.

A recommendation and nothing else: nobody is bound.  Ties go by the names of the snapshot, never by chance.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Ints, Snapshot
from scheduler.placement.filters import Judge, Offer, OutOfBudget, offer
from scheduler.placement.gang import Search, Seating
from scheduler.placement.ground import Ground, ground_of
from scheduler.placement.options import Expecting, Option, option_of
from scheduler.placement.policy import DEFAULT, Policy, Pools, policy_of
from scheduler.placement.reasons import Fit, Refusal, largest_fits, refusal
from scheduler.placement.request import Group, Request
from scheduler.placement.resolving import Resolved, request_of, resolve
from scheduler.placement.scores import Case, Floats, terms_of, weighed

__all__ = ["DEFAULT", "Expecting", "Group", "Placement", "Policy", "Request", "place", "request_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """``best`` and ``alternatives`` are whole; ``refusal`` says why there is none."""

    request: Request
    best: Option | None
    alternatives: tuple[Option, ...]
    refusal: Refusal | None
    largest_fit: tuple[Fit, ...]  # one group after the other has the cluster to itself; by level, the closest first
    reasons: dict[str, int]  # why nodes hold no pod of the largest group: word -> nodes
    judged: int  # of the budget

    @property
    def ok(self) -> bool:
        return self.best is not None

    @property
    def assignment(self) -> tuple[tuple[str, str], ...]:
        """Member and node."""
        return () if self.best is None else self.best.assignment

    @property
    def domains(self) -> tuple[str, ...]:
        return () if self.best is None else self.best.domains

    @property
    def entropy(self) -> float | None:
        return None if self.best is None else self.best.entropy

    @property
    def terms(self) -> dict[str, float | None]:
        return {} if self.best is None else self.best.terms

    @property
    def reason(self) -> str:
        return "" if self.refusal is None else self.refusal.reason


def place(
    snapshot: Snapshot,
    request: Request,
    policy: Policy = DEFAULT,
    *,
    pools: Pools | None = None,
    ground: Ground | None = None,
    evictions: Mapping[str, int] | None = None,
    expecting: Expecting | None = None,
) -> Placement:
    """The best place for the job that ``policy`` knows.

    ``pools`` has the policies of single pools by GPU model, ``policy`` is that of all others.
    ``ground`` = ``ground_of(snapshot)`` where it is there already; ``evictions`` by node, where somebody counted them;
    ``expecting`` says what is predicted.  Raises ``ParamError`` for what the request names and the cluster does not
    have, and ``InputError`` where it is not clear which cluster is meant.
    """
    ground = ground or ground_of(snapshot)
    refused = _check(ground, request)
    found = resolve(snapshot, request)
    refused = refused or _too_few(found, request)
    offers = tuple(offer(ground, found.snapshot, int(rows[0])) for rows in found.rows)
    largest = max(range(len(offers)), key=lambda g: (request.groups[g].gpus, request.groups[g].count, -g))
    policy = policy_of(pools or {}, request.groups[largest].models, policy)
    weighing = (policy, *(pools or {}).values())
    terms = tuple(_terms(ground, found, g, one, weighing, evictions) for g, one in enumerate(offers))
    score = weighed(terms[largest], policy, len(offers[largest].slots)).round(9)
    judge = Judge(ground, found.snapshot, policy.budget)
    search = Search(ground, found, request, policy, offers, terms, score, judge)
    options: list[Option] = []
    spent = False
    for one in [] if refused else _searches(search, largest, pools or {}):
        if spent or (one.only is None and options):
            break
        seatings, spent = _search(one)
        options += [option_of(one, seating, expecting or Expecting()) for seating in seatings]
    best = _best(ground, options)
    if best is None:
        refused = refused or refusal(search, spent)
    return Placement(
        request=request,
        best=best,
        alternatives=_others(ground, options, best, policy.alternatives),
        refusal=None if best is not None else refused,
        largest_fit=largest_fits(search),
        reasons=offers[largest].reasons,
        judged=search.judge.asked,
    )


def _check(ground: Ground, request: Request) -> Refusal | None:
    """A job that requires a level which nobody knows waits; a question that does is mistaken."""
    wishes = [("required", request.required), ("preferred", request.preferred)]
    wishes += [(field, getattr(one, field)) for one in request.groups for field in ("required", "preferred")]
    wishes += [("slice_level", one.slice_level) for one in request.groups]
    for field, level in wishes:
        if request.job and level and level not in ground.levels:
            if field != "preferred":
                detail = f"it requires one {level}, and no network domain of that level is known"
                return Refusal("topology", detail, proven=True)
        else:
            ground.check_level(field, level)
    return None


def _too_few(found: Resolved, request: Request) -> Refusal | None:
    have = len(found.stay) + request.pods
    if have >= request.min_members:
        return None
    detail = f"it has {have} members that run or wait, and starts with {request.min_members}"
    return Refusal("members", detail, proven=True)


def _terms(
    ground: Ground, found: Resolved, g: int, one: Offer, policies: Sequence[Policy], evictions: Mapping[str, int] | None
) -> dict[str, Floats]:
    """[n] of each term for one more pod of the group; NaN where there is no room."""
    nodes: Ints = np.flatnonzero(one.loose > 0).astype(np.int32)
    case = Case(ground, found.snapshot, int(found.rows[g][0]), nodes, evictions)
    terms = {}
    for name, values in terms_of(case, policies).items():
        terms[name] = np.full(len(one.slots), np.nan)
        terms[name][nodes] = values
    return terms


def _searches(search: Search, largest: int, pools: Pools) -> Iterator[Search]:
    """Pool by pool where there are several, since a job on two kinds of GPU runs at the pace of the slower one.

    All pools together come last, and only count where no pool alone holds the job.
    """
    request, snapshot = search.request, search.ground.snapshot
    models = {int(m) for one in search.offers for m in np.unique(snapshot.node_model[one.loose > 0]).tolist()}
    if request.gpus and request.pods > 1 and len(models - {UNKNOWN}) > 1:
        for model in sorted(models - {UNKNOWN}):
            only = np.asarray((snapshot.node_model == model) | (snapshot.node_model == UNKNOWN))
            pairs = zip(search.offers, request.groups, strict=True)
            if all(int((one.loose * only).sum()) >= group.count for one, group in pairs):
                own = pools.get(snapshot.models[model], search.policy)
                score = weighed(search.terms[largest], own, len(only)).round(9)
                yield replace(search, only=only, policy=own, score=score)
    yield search


def _search(search: Search) -> tuple[list[Seating], bool]:
    """Enough whole seatings to choose and to compare, and whether the budget ran out."""
    found: list[Seating] = []
    try:
        _collect(search, found)
        if not found and search.widen():
            _collect(search, found)
    except OutOfBudget:
        return found, True
    return found, False


def _collect(search: Search, found: list[Seating]) -> None:
    enough = search.policy.alternatives + 1
    for seating in search.seatings():
        if found and seating.top.level != found[-1].top.level and len(found) >= enough:
            return
        if not any(_same(seating, other) for other in found):
            found.append(seating)


def _same(one: Seating, other: Seating) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.nodes, other.nodes, strict=True))


def _best(ground: Ground, options: list[Option]) -> Option | None:
    """Of the closest level that holds the job: what opens no whole domain, then the highest score, then the first."""
    return min(options, key=lambda one: _rank(ground, options, one), default=None)


def _rank(ground: Ground, options: list[Option], one: Option) -> tuple[int, int, float, int]:
    return ground.levels.index(one.level), one.opens_whole, -round(one.score, 9), options.index(one)


def _others(ground: Ground, options: list[Option], best: Option | None, most: int) -> tuple[Option, ...]:
    """The next ones; one of a wider level is worth more to compare with than one more of the same."""
    rest = sorted((one for one in options if one is not best), key=lambda one: _rank(ground, options, one))
    wide = [one for one in rest if best is not None and one.level != best.level]
    if wide and most > 0 and wide[0] not in rest[:most]:
        rest = [*rest[: most - 1], wide[0]]
    return tuple(rest[:most])
