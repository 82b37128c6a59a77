"""Rows of what changed, from the ledgers of one or more sources: causes, places, nodes, tenants, pools."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

LOST = ("gone", "not_ready", "cordoned", "failed_devices", "fewer_gpus", "unexplained_loss")
WON = ("new", "ready_again", "uncordoned", "healed_devices", "more_gpus", "unexplained_gain")
SHOWN_NODES = 60  # of one place; the export has them all


@dataclass(frozen=True, slots=True)
class NodeChange:
    """Schedulable GPUs that one node lost (negative) or won."""

    source: str
    cluster: str
    name: str
    gpus: int


@dataclass(frozen=True, slots=True)
class PlaceChange:
    """One cause at one place.  ``whole``: the ASW or the pool, where all its nodes are concerned, else "".

    ``nodes`` are the first ones by name; ``of_nodes`` (of all there) is None for a tenant's viewer.
    """

    source: str
    cluster: str
    model: str | None
    asw: str | None
    whole: str
    gpus: int
    nodes: tuple[NodeChange, ...]
    nodes_total: int
    of_nodes: int | None


@dataclass(frozen=True, slots=True)
class CauseChange:
    """All that one cause took or gave, the largest place first."""

    cause: str
    gpus: int
    nodes_total: int
    places: tuple[PlaceChange, ...]


@dataclass(frozen=True, slots=True)
class TenantChange:
    """What a tenant's live pods of one tier ask for: now = then + came - ended + resized, in GPU thousandths."""

    tenant: str | None
    tier: str
    then_milli: int
    now_milli: int
    change_milli: int
    came: int
    came_milli: int
    ended: int
    ended_milli: int
    resized_milli: int
    moved: int


@dataclass(frozen=True, slots=True)
class PoolChange:
    """The nodes of one model in one cluster of one source, then and now."""

    source: str
    cluster: str
    model: str | None
    nodes_then: int
    nodes_now: int
    schedulable_then: int
    schedulable_now: int
    free_then: int
    free_now: int


@dataclass(frozen=True, slots=True)
class Amounts:
    """Sums at one instant; asked by live pods, in GPU thousandths: a tenant's viewer reads its own there."""

    nodes: int
    gpus: int
    schedulable: int
    free: int
    asked_milli: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a view keeps: "" is every cluster or model, ``scope`` None every tenant."""

    cluster: str
    model: str
    scope: frozenset[str] | None

    def place(self, row: dict[str, Any]) -> bool:
        return (not self.cluster or row["cluster"] == self.cluster) and (not self.model or row["model"] == self.model)

    def tenant(self, name: str | None) -> bool:
        return self.scope is None or name in self.scope


COUNTS = ("came", "came_milli", "ended", "ended_milli", "resized_milli", "moved")
WHOLE_POOL = "*"  # in the place of an ASW: no label holds a star

type Ledger = tuple[str, dict[str, Any]]  # source, what ledgers.as_json made
type _At = tuple[str, str, str, str | None, str | None]  # cause, source, cluster, model, ASW


def nodes_changed(found: Iterable[Ledger], wanted: Wanted) -> Iterator[tuple[dict[str, Any], NodeChange]]:
    """Every node of every cause that the view keeps, each with its row of the ledger."""
    for source, ledger in found:
        for row in ledger["capacity"]:
            if wanted.place(row):
                for name, gpus, tenants in row["nodes"]:
                    if wanted.scope is None or not wanted.scope.isdisjoint(tenants):
                        yield row, NodeChange(source, row["cluster"], name, gpus)


def causes(found: list[Ledger], wanted: Wanted) -> tuple[CauseChange, ...]:
    """The ledger of what can be scheduled, losses first; its rows add up to the change."""
    by_place: dict[_At, list[NodeChange]] = {}
    of_nodes: dict[_At, int] = {}
    for row, node in nodes_changed(found, wanted):
        at = (row["cause"], node.source, row["cluster"], row["model"], row["asw"])
        by_place.setdefault(at, []).append(node)
        of_nodes[at] = row["of_nodes"]
    places: dict[str, list[PlaceChange]] = {}
    for at, nodes in _joined(by_place, of_nodes, _populations(found)).items():
        places.setdefault(at[0], []).append(_place(at, nodes, of_nodes.get(at), wanted.scope is None))
    return tuple(_cause(cause, places[cause]) for cause in (*LOST, *WON) if cause in places)


def _joined(
    by_place: dict[_At, list[NodeChange]], of_nodes: dict[_At, int], population: dict[tuple[str, str, str | None], int]
) -> dict[_At, list[NodeChange]]:
    """A pool of which every node is concerned is one place, however many ASWs it has; marked by its ASW "*"."""
    pools: dict[tuple[str, str, str, str | None], int] = {}
    for at, nodes in by_place.items():
        pools[at[:4]] = pools.get(at[:4], 0) + len(nodes)
    joined: dict[_At, list[NodeChange]] = {}
    for at, nodes in by_place.items():
        whole = pools[at[:4]]
        if whole == population[at[1:4]]:
            at = (*at[:4], WHOLE_POOL)
            of_nodes[at] = whole
        joined[at] = [*joined.get(at, []), *nodes]
    return joined


def _populations(found: list[Ledger]) -> dict[tuple[str, str, str | None], int]:
    return {
        (source, pool["cluster"], pool["model"]): max(pool["then"]["nodes"], pool["now"]["nodes"])
        for source, ledger in found
        for pool in ledger["pools"]
    }


def _place(at: _At, nodes: list[NodeChange], of_nodes: int | None, all_seen: bool) -> PlaceChange:
    _, source, cluster, model, asw = at
    whole = "pool" if asw == WHOLE_POOL else "asw" if asw is not None and len(nodes) == of_nodes else ""
    ordered = sorted(nodes, key=lambda node: node.name)
    return PlaceChange(
        source=source,
        cluster=cluster,
        model=model,
        asw=None if asw == WHOLE_POOL else asw,
        whole=whole if all_seen else "",
        gpus=sum(node.gpus for node in nodes),
        nodes=tuple(ordered[:SHOWN_NODES]),
        nodes_total=len(nodes),
        of_nodes=of_nodes if all_seen else None,
    )


def _cause(cause: str, places: list[PlaceChange]) -> CauseChange:
    ordered = sorted(places, key=lambda place: (-abs(place.gpus), place.cluster, place.model or "", place.asw or ""))
    total = sum(place.gpus for place in places)
    return CauseChange(cause, total, sum(place.nodes_total for place in places), tuple(ordered))


def tenants(found: Iterable[Ledger], wanted: Wanted) -> tuple[TenantChange, ...]:
    """The ledger of demand, the largest change first; tenants on whom nothing changed are not in it."""
    rows: dict[tuple[str | None, str], dict[str, int]] = {}
    totals: dict[tuple[str | None, str], list[int]] = {}
    for _, ledger in found:
        for row in _demand(ledger, wanted):
            into = rows.setdefault((row["tenant"], row["tier"]), dict.fromkeys(COUNTS, 0))
            for name in COUNTS:
                into[name] += row[name]
        for pool in filter(wanted.place, ledger["pools"]):
            for each in pool["asked"]:
                both = totals.setdefault((each["tenant"], each["tier"]), [0, 0])
                both[0] += each["then_milli"]
                both[1] += each["now_milli"]
    made = [_tenant(of, counts, totals.get(of, [0, 0])) for of, counts in rows.items() if wanted.tenant(of[0])]
    return tuple(sorted(made, key=lambda row: (-abs(row.change_milli), row.tenant or "", row.tier)))


def _tenant(of: tuple[str | None, str], counts: dict[str, int], totals: list[int]) -> TenantChange:
    then, now = totals
    tenant, tier = of
    return TenantChange(tenant, tier, then, now, now - then, *(counts[name] for name in COUNTS))


def _demand(ledger: dict[str, Any], wanted: Wanted) -> Iterator[dict[str, Any]]:
    """By cluster, where a pod that changed its model has merely moved; by pool where the view is of one model."""
    if wanted.model:
        for pool in filter(wanted.place, ledger["pools"]):
            yield from pool["demand"]
        return
    for cluster, rows in ledger["clusters"].items():
        if not wanted.cluster or cluster == wanted.cluster:
            yield from rows


def pools(found: Iterable[Ledger], wanted: Wanted) -> tuple[PoolChange, ...]:
    """All pools of the view with GPUs at either instant, those on which most changed first."""
    rows = [
        PoolChange(
            source=source,
            cluster=pool["cluster"],
            model=pool["model"],
            nodes_then=pool["then"]["nodes"],
            nodes_now=pool["now"]["nodes"],
            schedulable_then=pool["then"]["schedulable"],
            schedulable_now=pool["now"]["schedulable"],
            free_then=pool["then"]["free"],
            free_now=pool["now"]["free"],
        )
        for source, ledger in found
        for pool in filter(wanted.place, ledger["pools"])
        if pool["then"]["gpus"] or pool["now"]["gpus"]
    ]
    return tuple(sorted(rows, key=_order_of_pool))


def _order_of_pool(row: PoolChange) -> tuple[int, int, str, str, str]:
    schedulable, free = row.schedulable_now - row.schedulable_then, row.free_now - row.free_then
    return -abs(schedulable), -abs(free), row.cluster, row.model or "", row.source


def amounts(found: Iterable[Ledger], wanted: Wanted, instant: str) -> Amounts:
    """Sums at the instant ``then`` or ``now``."""
    total = dict.fromkeys((field.name for field in fields(Amounts)), 0)
    for _, ledger in found:
        for pool in filter(wanted.place, ledger["pools"]):
            for name in ("nodes", "gpus", "schedulable", "free"):
                total[name] += pool[instant][name]
            asked = (row[f"{instant}_milli"] for row in pool["asked"] if wanted.tenant(row["tenant"]))
            total["asked_milli"] += sum(asked)
    return Amounts(**total)
