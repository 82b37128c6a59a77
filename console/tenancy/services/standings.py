"""Working out who has what: guaranteed, used, borrowed, lent, over, and what could be borrowed.

A tenant's nominal quota holds for it and its teams together; teams divide it.  Tenants of one cohort (and teams of one
department) lend each other what they do not use, at most their lending limit; cohorts do so with the cohorts beside
them.  HP work counts against the nominal quota, LP work does not: it runs on what is left over and can be ended.
Where the nominal quota is not set, nothing is guaranteed and nothing is borrowed or lent.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from console.tenancy.entries import Docs, Key
from console.tenancy.models import Book
from console.tenancy.selectors.use import feeds, use_of
from console.tenancy.standing import COHORT, GPU, NO_USE, TENANT, Standing, Use, UseOf, lineage, split


@dataclass(slots=True, eq=False)
class _Node:
    key: Key | None  # None: the part of a department that it has not divided, or a cohort's own quota
    children: list["_Node"] = field(default_factory=list)
    limits: Mapping[str, int | None] = field(default_factory=dict)
    own: Use = NO_USE
    use: Use = NO_USE
    guarantee: int | None = None
    need: int = 0
    idle: int = 0
    covered: int = 0
    lent: int = 0
    may: int | None = None

    def limit(self, name: str) -> int | None:
        value = self.limits.get(name)
        return None if value is None else value * GPU


def keep_standings(docs: Docs) -> None:
    """Works them out for the newest use.  Call it under the book's lock, whenever the book or the use has changed."""
    use = use_of(feeds())
    rows = [[*key, model, *standing] for (key, model), standing in standings(docs, use).items()]
    Book.objects.update(standings=rows, over_caps={name: list(pair) for name, pair in over_caps(docs, use).items()})


def standings(docs: Docs, use: UseOf) -> dict[tuple[Key, str], Standing]:
    """By (key, model), of all models that the book or the use names."""
    of_model: defaultdict[str, dict[str, Use]] = defaultdict(dict)
    for (tenant, model), one in use.items():
        of_model[model][tenant] = one
    named = {model for document in docs.values() for model in document.get("quotas", ())}
    found: dict[tuple[Key, str], Standing] = {}
    for model in sorted(named | of_model.keys()):
        for node in _settled(docs, model, of_model.get(model, {})):
            if node.key is not None:
                found[node.key, model] = _standing(node)
    return found


def _settled(docs: Docs, model: str, use: Mapping[str, Use]) -> list[_Node]:
    """All nodes, with everything worked out."""
    tops, nodes = _trees(docs, model, use)
    for top in tops:
        _sum_up(top)
    for top in tops:
        _share_out(top, 0)
    return nodes


def _trees(docs: Docs, model: str, use: Mapping[str, Use]) -> tuple[list[_Node], list[_Node]]:
    """Cohorts above departments above teams; who is not in the book stands alone."""
    nodes: dict[Key, _Node] = {}
    for key, document in docs.items():
        if key[0] in (TENANT, COHORT):
            own = use.get(key[1], NO_USE) if key[0] == TENANT else NO_USE
            nodes[key] = _Node(key, limits=document["quotas"].get(model, {}), own=own)
    for tenant in use:
        if (TENANT, tenant) not in nodes:
            nodes[TENANT, tenant] = _Node((TENANT, tenant), own=use[tenant])
    tops = []
    for key, node in nodes.items():
        above = _above(docs, key)
        if above is None or above not in nodes:
            tops.append(node)
        else:
            nodes[above].children.append(node)
    return tops, list(nodes.values())


def _above(docs: Docs, key: Key) -> Key | None:
    document = docs.get(key)
    if document is None:
        return None
    if document["parent"]:
        return key[0], document["parent"]
    cohort = document.get("cohort")
    return (COHORT, cohort) if cohort else None


def _sum_up(node: _Node) -> None:
    """Use, guarantee, need and idle from the leaves upwards."""
    for child in node.children:
        _sum_up(child)
    node.use = sum((child.use for child in node.children), node.own)
    known = [child.guarantee for child in node.children if child.guarantee is not None]
    nominal = node.limit("nominal")
    if node.key is not None and node.key[0] == COHORT:
        node.guarantee = (nominal or 0) + sum(known)
        rest: int | None = nominal or 0
    else:
        node.guarantee = nominal if nominal is not None else sum(known) if known else None
        rest = None if nominal is None else max(0, nominal - sum(known))
    if node.children:
        own = _Node(None, own=node.own, use=node.own, guarantee=rest)
        _weigh(own)
        node.children.append(own)
    _weigh(node)


def _weigh(node: _Node) -> None:
    if node.guarantee is None:
        return
    node.need = max(0, node.use.hp - node.guarantee)
    idle, limit = max(0, node.guarantee - node.use.hp), node.limit("lending_limit")
    node.idle = idle if limit is None else min(idle, limit)


def _share_out(group: _Node, may_above: int) -> None:
    """What the members of a group get from each other first, then from outside of it, and lend outwards."""
    members = group.children
    idle, need = sum(one.idle for one in members), sum(one.need for one in members)
    inside = min(idle, need)
    given = min(need, idle + group.covered)
    outwards = min(group.lent, idle - inside)
    for one, covered, lent in zip(
        members,
        split(given, [one.need for one in members]),
        split(inside + outwards, [one.idle for one in members]),
        strict=True,
    ):
        limit = one.limit("borrowing_limit")
        one.covered = covered if limit is None else min(limit, covered)
        one.lent = lent
        if one.guarantee is not None:
            free = max(0, idle - one.idle + may_above - (need - one.need))
            one.may = free if limit is None else min(limit, free)
    for one in members:
        if one.children:
            _share_out(one, one.may or 0)


def _standing(node: _Node) -> Standing:
    return Standing(
        nominal=node.limit("nominal"),
        borrowing_limit=node.limit("borrowing_limit"),
        lending_limit=node.limit("lending_limit"),
        hp=node.use.hp,
        lp=node.use.lp,
        pending=node.use.pending,
        borrowed=node.need,
        lent=node.lent,
        over=node.need - min(node.need, node.covered),
        may_borrow=node.may if node.may is not None else 0 if node.guarantee is not None else None,
    )


def over_caps(docs: Docs, use: UseOf) -> dict[str, tuple[int, int]]:
    """Tenant -> (held by it and its teams over all models, cap), of those that hold more than their cap."""
    held: defaultdict[str, int] = defaultdict(int)
    for (tenant, _model), one in use.items():
        for name in lineage(docs, tenant):
            held[name] += one.hp + one.lp
    caps = {name: document["cap_gpus"] for (kind, name), document in docs.items() if kind == TENANT}
    return {
        name: (held[name], cap * GPU)
        for name, cap in sorted(caps.items())
        if cap is not None and held[name] > cap * GPU
    }
