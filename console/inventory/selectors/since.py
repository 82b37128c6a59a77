"""What changed between two instants, over all sources that are known at both."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F

from console.inventory.ledgers import comparison_key, unpack_ledger
from console.inventory.models import Comparison, Observation
from console.inventory.selectors import changes
from console.inventory.selectors.changes import (
    Amounts,
    CauseChange,
    Ledger,
    NodeChange,
    PoolChange,
    TenantChange,
    Wanted,
)
from console.inventory.selectors.instants import Standing, standing
from console.inventory.selectors.viewing import Filters
from console.tenancy.selectors import tenant_scope

LIVE_LAG = timedelta(seconds=10)  # a live page is content with a comparison that old
LIVE_LIMIT = timedelta(minutes=5)  # and shows one that old while a newer one is worked out
MOST_GONE = 200


@dataclass(frozen=True, slots=True)
class Pair:
    """The two readings of one source; ``now`` may lag behind ``newest`` while that is still being compared."""

    source: str
    then: Standing
    now: Standing
    newest: Standing

    @property
    def known(self) -> bool:
        return self.then.revision is not None and self.now.revision is not None

    @property
    def key(self) -> str:
        return comparison_key(self.then.digest, self.now.digest)

    @property
    def why(self) -> str:
        return " ".join(f"{word}: {side.why}." for word, side in (("Then", self.then), ("Now", self.now)) if side.why)


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """The readings of one source that are compared; ``state``: known, unknown, pending or failed."""

    source: str
    state: str
    then_at: datetime | None
    now_at: datetime | None
    then_revision: int | None
    now_revision: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Since:
    """All of it.  Sums are over the ``known`` sources of ``of_sources``, and over no other as if it were 0.

    ``unexplained_gpus`` is what the causes leave over: 0.  A tenant's viewer gets no sources and no pools.
    """

    start: datetime
    end: datetime | None
    pending: bool
    known: int
    of_sources: int
    sources: tuple[SourceSpan, ...]
    then: Amounts
    now: Amounts
    causes: tuple[CauseChange, ...]
    tenants: tuple[TenantChange, ...]
    pools: tuple[PoolChange, ...]
    gone: tuple[NodeChange, ...]
    gone_total: int
    unexplained_gpus: int | None
    observed_at: datetime | None
    period_s: int | None


def since_pairs(start: datetime, end: datetime | None) -> tuple[Pair, ...]:
    """Each source's readings at both instants (``end`` None: now), by source name."""
    then, now = standing(start), standing(end)
    before = {each.source: each for each in then}
    pairs = tuple(Pair(each.source, before[each.source], each, each) for each in now if each.source in before)
    return _caught_up(pairs) if end is None else pairs


def _caught_up(pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
    """Live pages take the newest comparison that is there, so that they do not blink with every reading."""
    thens = {pair.then.digest for pair in pairs if pair.known}
    done = Comparison.objects.filter(then_digest__in=thens, ledger__isnull=False)
    compared = set(done.values_list("then_digest", "now_digest"))
    digests = {now for _, now in compared}
    rows = Observation.objects.filter(digest__in=digests).annotate(name=F("source__name"))
    found = list(rows.order_by("-revision").values_list("name", "digest", "revision", "observed_at"))
    return tuple(_latest(pair, compared, found) for pair in pairs)


def _latest(pair: Pair, compared: set[tuple[str, str]], found: list[Any]) -> Pair:
    newest = pair.newest
    for name, digest, revision, observed_at in found:
        if name != pair.source or (pair.then.digest, digest) not in compared or newest.at is None:
            continue
        behind = newest.at - observed_at
        if behind > LIVE_LIMIT:
            return pair
        shown = replace(newest, revision=revision, digest=digest, at=observed_at)
        return replace(pair, now=shown, newest=shown if behind <= LIVE_LAG else newest)
    return pair


def to_compare(pairs: tuple[Pair, ...]) -> list[tuple[str, str]]:
    """Digests of what a worker should compare for these pairs, if it has not."""
    return [(pair.then.digest, pair.newest.digest) for pair in pairs if pair.known]


def since(viewer: Any, filters: Filters, start: datetime, end: datetime | None, pairs: tuple[Pair, ...]) -> Since:
    """What the comparisons that are there say; a tenant's viewer reads of its own pods and nodes only."""
    wanted = Wanted(filters.cluster, filters.model, tenant_scope(viewer))
    kept = _kept(pairs, filters)
    rows = _comparisons(kept)
    found = _ledgers(kept, rows)
    causes = changes.causes(found, wanted)
    then, now = (changes.amounts(found, wanted, instant) for instant in ("then", "now"))
    gone = sorted(
        (node for row, node in changes.nodes_changed(found, wanted) if row["cause"] == "gone"),
        key=lambda node: (node.cluster, node.name),
    )
    spans = tuple(_span(pair, rows.get(pair.key)) for pair in kept)
    aged = min((pair.now for pair in kept if pair.known), key=lambda now: now.at or start, default=None)
    return Since(
        start=start,
        end=end,
        pending=any(span.state == "pending" for span in spans),
        known=len(found),
        of_sources=len(spans),
        sources=spans if wanted.scope is None else (),
        then=then,
        now=now,
        causes=causes,
        tenants=changes.tenants(found, wanted),
        pools=changes.pools(found, wanted) if wanted.scope is None else (),
        gone=tuple(gone[:MOST_GONE]),
        gone_total=len(gone),
        unexplained_gpus=_left_over(then, now, causes) if wanted.scope is None else None,
        observed_at=aged.at if aged is not None else None,
        # A live page takes on a newer comparison that often, whatever the source's own period is.
        period_s=max(aged.period_s, LIVE_LAG.seconds) if aged is not None else None,
    )


def changed_nodes(
    viewer: Any, filters: Filters, pairs: tuple[Pair, ...]
) -> Iterator[tuple[dict[str, Any], NodeChange]]:
    """Every node that lost or won, each with its row of the ledger, as ``since`` sums them."""
    wanted = Wanted(filters.cluster, filters.model, tenant_scope(viewer))
    kept = _kept(pairs, filters)
    return changes.nodes_changed(_ledgers(kept, _comparisons(kept)), wanted)


def _kept(pairs: tuple[Pair, ...], filters: Filters) -> tuple[Pair, ...]:
    return tuple(pair for pair in pairs if not filters.source or pair.source == filters.source)


def _comparisons(pairs: tuple[Pair, ...]) -> dict[str, Comparison]:
    return Comparison.objects.defer("columns").in_bulk([pair.key for pair in pairs if pair.known])


def _ledgers(pairs: tuple[Pair, ...], rows: dict[str, Comparison]) -> list[Ledger]:
    found = ((pair.source, rows.get(pair.key) if pair.known else None) for pair in pairs)
    return [
        (source, unpack_ledger(bytes(row.ledger)))
        for source, row in found
        if row is not None and row.ledger is not None
    ]


def _left_over(then: Amounts, now: Amounts, causes: tuple[CauseChange, ...]) -> int:
    return now.schedulable - then.schedulable - sum(cause.gpus for cause in causes)


def _span(pair: Pair, row: Comparison | None) -> SourceSpan:
    if not pair.known:
        state, why = "unknown", pair.why
    elif row is not None and row.failure:
        state, why = "failed", row.failure
    else:
        state, why = ("known" if row is not None and row.ledger is not None else "pending"), ""
    return SourceSpan(
        source=pair.source,
        state=state,
        then_at=pair.then.at,
        now_at=pair.now.at,
        then_revision=pair.then.revision,
        now_revision=pair.now.revision,
        why=why,
    )
