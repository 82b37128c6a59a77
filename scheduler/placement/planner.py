"""Where a job should go now, how good that is, what else there is, and why it may not be possible.

A recommendation and nothing else: nobody is bound.  Ties go by the names of the snapshot, never by chance.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduler.cluster.feasibility import eligibility
from scheduler.cluster.snapshot import UNKNOWN, Ints, Snapshot
from scheduler.placement.company import terms_of
from scheduler.placement.filters import Few, Judge, Offer, OutOfBudget, offer
from scheduler.placement.gang import Domain, Search, Seating
from scheduler.placement.ground import Ground, ground_of
from scheduler.placement.homes import models_of
from scheduler.placement.options import Expecting, Option, option_of
from scheduler.placement.policy import DEFAULT, Policy, Pools, policy_of
from scheduler.placement.reasons import Fit, Refusal, largest_fits, refusal
from scheduler.placement.request import Group, Request
from scheduler.placement.resolving import Resolved, only_rows, request_of, resolve
from scheduler.placement.room import Room
from scheduler.placement.scores import Case, Floats, weighed
from scheduler.placement.scores import terms_of as node_terms
from scheduler.placement.seating import Found, Seats, find

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
    room, rules = _room(ground, found)
    offers = tuple(offer(room, part, rules) for part in found.asked.parts)
    largest = max(range(len(offers)), key=lambda g: (request.groups[g].gpus, request.groups[g].count, -g))
    policy = policy_of(pools or {}, request.groups[largest].models, policy)
    weighing = (policy, *(pools or {}).values())
    terms = tuple(_terms(ground, found, g, one, weighing, evictions) for g, one in enumerate(offers))
    score = weighed(terms[largest], policy, len(offers[largest].slots)).round(9)
    judge = Judge(ground, found.snapshot, policy.budget)
    search = Search(ground, found, request, policy, offers, terms, score, judge)
    refused = refused or _contrary(found)
    seats = None if refused or not found.simple else find(room, found.asked, steps=policy.budget)
    hopeless = refused or (seats is not None and seats.sure and seats.seats is None)
    searches = () if hopeless else _searches(search, largest, pools or {})
    options, spent = _options(search, searches, seats, expecting or Expecting())
    best = _best(ground, options)
    if best is None:
        refused = refused or refusal(search, room, spent=spent, sure=_sure(found, seats))
    return Placement(
        request=request,
        best=best,
        alternatives=_others(ground, options, best, policy.alternatives),
        refusal=None if best is not None else refused,
        largest_fit=largest_fits(search, room),
        reasons=offers[largest].reasons,
        judged=search.judge.asked,
    )


def _options(
    search: Search, searches: Iterable[Search], seats: Found | None, expecting: Expecting
) -> tuple[list[Option], bool]:
    """Whole seatings, and whether the budget of judged nodes ran out; at least that which ``seating`` found."""
    options: list[Option] = []
    spent = False
    for one in searches:
        seatings, ended = _search(one)
        spent = spent or ended
        options += [option_of(one, seating, expecting) for seating in seatings]
    if not options and seats is not None and seats.seats is not None:
        options.append(option_of(search, _seated(search, seats.seats), expecting))
    return options, spent


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


def _room(ground: Ground, found: Resolved) -> tuple[Room, Few]:
    """The ground's room for the pods that are asked for."""
    first = [int(rows[0]) for rows in found.rows]
    rules = Few({p: eligibility(only_rows(found.snapshot, np.array([p], np.int32))).reasons(0) for p in first})
    return ground.room.asking(found.snapshot, rules, terms_of(found.snapshot, first)), rules


def _contrary(found: Resolved) -> Refusal | None:
    """Groups that accept no GPU model in common find no place on one."""
    named: set[str] | None = None
    for part in found.asked.parts if not found.asked.mixes else ():
        models = set(part.spec(found.snapshot).gpu_models)
        if models and part.on_devices(found.snapshot):
            named = models if named is None else named & models
    if named is None or named:
        return None
    return Refusal("model", "its pods accept no GPU model in common, and it may not mix models", proven=True)


def _sure(found: Resolved, seats: Found | None) -> bool:
    """Whether nothing was left out: one group that has wishes of its own is seen whole, several are not."""
    return seats.sure if seats is not None else len(found.rows) == 1


def _seated(search: Search, seats: Seats) -> Seating:
    """What ``seating`` found, where the search has nothing better to say."""
    node = {p: n for _, n, pods in seats.placed for p in pods}
    groups = tuple(np.array([node[p] for p in rows.tolist()], np.int32) for rows in search.found.rows)
    for level in search.ground.levels:
        there = np.unique(search.ground.domains_at(level)[np.concatenate(groups)])
        if len(there) == 1 and there[0] != UNKNOWN:
            break
    return Seating(Domain(level, int(there[0])), groups)


def _terms(
    ground: Ground, found: Resolved, g: int, one: Offer, policies: Sequence[Policy], evictions: Mapping[str, int] | None
) -> dict[str, Floats]:
    """[n] of each term for one more pod of the group; NaN where there is no room."""
    nodes: Ints = np.flatnonzero(one.slots > 0).astype(np.int32)
    case = Case(ground, found.snapshot, int(found.rows[g][0]), nodes, evictions)
    terms = {}
    for name, values in node_terms(case, policies).items():
        terms[name] = np.full(len(one.slots), np.nan)
        terms[name][nodes] = values
    return terms


def _searches(search: Search, largest: int, pools: Pools) -> Iterator[Search]:
    """GPU model by model, since a job on two kinds of GPU runs at the pace of the slower one.

    All together come last, for a job that may mix them, and in their place for one to which no model matters.
    """
    snapshot, asked = search.ground.snapshot, search.found.asked
    model = models_of(search.found.snapshot, replace(asked, mixes=False))
    if model is None:
        yield search
        return
    for m in np.unique(model[model != UNKNOWN]).tolist():
        only = np.asarray(model == m)
        rows = zip(search.offers, asked.parts, strict=True)
        if all(int((one.slots * (only if part.on_devices(search.found.snapshot) else 1)).sum()) >= len(part.pods)
               for one, part in rows):  # fmt: skip
            own = pools.get(snapshot.models[m - 1], search.policy) if m else search.policy
            yield replace(search, only=only, policy=own, score=weighed(search.terms[largest], own, len(only)).round(9))
    if asked.mixes:
        yield search


def _search(search: Search) -> tuple[list[Seating], bool]:
    """Enough whole seatings to choose and to compare, and whether the budget ran out."""
    found: list[Seating] = []
    try:
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
    """One model before several; of the closest level that holds the job: what opens no whole domain, then the highest
    score, then the first.
    """
    return min(options, key=lambda one: _rank(ground, options, one), default=None)


def _rank(ground: Ground, options: list[Option], one: Option) -> tuple[bool, int, int, float, int]:
    mixed = len(one.models) > 1
    return mixed, ground.levels.index(one.level), one.opens_whole, -round(one.score, 9), options.index(one)


def _others(ground: Ground, options: list[Option], best: Option | None, most: int) -> tuple[Option, ...]:
    """The best of each other GPU model, then the next ones; one of a wider level is worth more to compare with than
    one more of the same.
    """
    rest = sorted((one for one in options if one is not best), key=lambda one: _rank(ground, options, one))
    if best is None or not most:
        return ()
    firsts = {one.models: one for one in reversed(rest) if one.models != best.models}
    chosen = sorted(firsts.values(), key=rest.index)[:most]
    wide = [one for one in rest if one.level != best.level and one not in chosen]
    chosen += [one for one in rest if one not in chosen][: most - len(chosen)]
    if wide and not any(one.level != best.level for one in chosen):
        chosen[-1] = wide[0]
    return tuple(sorted(chosen, key=rest.index))
