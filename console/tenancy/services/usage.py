"""What tenants use, summed hour by hour as readings are measured; exact, whatever the times between readings.

What a source said at one reading held until the next, or for as long as anybody said so; what is not known is not
counted, and how much is known stands beside it.  The hour that runs is kept in the row of its source.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction

from console.tenancy.entries import Docs
from console.tenancy.models import Book, TenantHour, UsageFeed, UsageSpan
from console.tenancy.selectors.book import book_now
from console.tenancy.selectors.use import MEASURES
from console.tenancy.services.standings import keep_standings
from console.tenancy.standing import TENANT, Standing, lineage, split
from console.tenancy.teams import Teams

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HOURS_KEPT = 9 * DAY  # then a day becomes one row
LONGEST = 253
_FIELDS = tuple(f"{name}_us" for name in MEASURES)

type Place = tuple[str, str, str]  # cluster, tenant, GPU model
type Rates = Mapping[Place, Sequence[int]]  # GPU milli of each of MEASURES


class UsageRow(NamedTuple):
    """GPU milli that one tenant ("" for nobody) holds and waits for in one namespace of one cluster.

    Pods of any model wait for "".
    """

    cluster: str
    tenant: str
    gpu_model: str
    hp: int
    lp: int
    pending: int
    namespace: str = ""


@transaction.atomic
def record_usage(
    source: int,
    name: str,
    rows: Iterable[UsageRow],
    at: datetime,
    *,
    stood: tuple[datetime, datetime] | None,
    period_s: int = 60,
    theirs: Iterable[Mapping[str, Any]] = (),
) -> bool:
    """Takes a reading down.  ``stood``: from when until when the reading before it held, None where nobody knows.

    ``theirs``: plain tenant records that the source brings.  False, and nothing is kept, for a reading that is no newer
    than the last one.
    """
    Book.objects.get_or_create(pk=1)
    book = Book.objects.select_for_update().get(pk=1)
    feed = UsageFeed.objects.filter(pk=source).first()
    if feed is not None and at <= feed.at:
        return False
    if feed is None:
        feed = UsageFeed(source=source)
    elif stood is not None:
        _sum_up(feed, book, max(stood[0], feed.at), min(stood[1], at))
    feed.name, feed.at, feed.period_s = name[:LONGEST], at, period_s
    feed.spaces = [
        [*(word[:LONGEST] for word in (row.cluster, row.tenant, row.namespace, row.gpu_model)), *row[3:6]]
        for row in rows
    ]
    docs = book_now().docs
    feed.rows = Teams(docs).rows(feed.spaces)
    feed.theirs = list(theirs)
    feed.save()
    keep_standings(docs)
    return True


@transaction.atomic
def forget_use(source: int) -> None:
    """A source that is gone holds nothing any more; what was summed up of it stays."""
    Book.objects.get_or_create(pk=1)
    Book.objects.select_for_update().get(pk=1)
    feed = UsageFeed.objects.filter(pk=source).first()
    if feed is not None:
        _close_hour(feed, None)
        feed.delete()
        keep_standings(book_now().docs)


def _sum_up(feed: UsageFeed, book: Book, start: datetime, end: datetime) -> None:
    """Adds what the feed's last reading amounts to between two instants."""
    rates = _rates(feed, book) if start < end else {}
    for hour, milliseconds in hours_between(start, end):
        if feed.hour != hour:
            _close_hour(feed, hour)
        feed.covered_ms += milliseconds
        _add(feed, rates, milliseconds)


def _add(feed: UsageFeed, rates: Rates, milliseconds: int) -> None:
    sums: dict[Place, list[int]] = {(row[0], row[1], row[2]): list(row[3:]) for row in feed.sums}
    for place, rate in rates.items():
        before = sums.setdefault(place, [0] * len(MEASURES))
        sums[place] = [was + milli * milliseconds for was, milli in zip(before, rate, strict=True)]
    feed.sums = [[*place, *amounts] for place, amounts in sums.items()]


def _close_hour(feed: UsageFeed, following: datetime | None) -> None:
    """The hour that ran becomes rows; old days are put together when a new day begins."""
    if feed.hour is not None and feed.covered_ms:
        UsageSpan.objects.create(source=feed.source, began_at=feed.hour, covered_ms=feed.covered_ms)
        TenantHour.objects.bulk_create(
            TenantHour(
                source=feed.source, began_at=feed.hour, cluster=row[0], tenant=row[1], gpu_model=row[2],
                **dict(zip(_FIELDS, row[3:], strict=True)),
            )
            for row in feed.sums
            if any(row[3:])
        )  # fmt: skip
        if following is not None and following.date() != feed.hour.date():
            fold_days(feed.source, following - HOURS_KEPT)
    feed.hour, feed.covered_ms, feed.sums = following, 0, []


def fold_days(source: int, before: datetime) -> None:
    """Hours of whole days of UTC before an instant become one row a day; sums stay what they are."""
    limit = before.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    hours = TenantHour.objects.filter(source=source, hours=1, began_at__lt=limit)
    sums: defaultdict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0] * len(_FIELDS))
    for began_at, *row in hours.values_list("began_at", "cluster", "tenant", "gpu_model", *_FIELDS):
        day = began_at.astimezone(UTC).replace(hour=0)
        sums[day, *row[:3]] = [a + b for a, b in zip(sums[day, *row[:3]], row[3:], strict=True)]
    spans = UsageSpan.objects.filter(source=source, hours=1, began_at__lt=limit)
    covered: defaultdict[datetime, int] = defaultdict(int)
    for began_at, milliseconds in spans.values_list("began_at", "covered_ms"):
        covered[began_at.astimezone(UTC).replace(hour=0)] += milliseconds
    hours.delete()
    spans.delete()
    UsageSpan.objects.bulk_create(
        UsageSpan(source=source, began_at=day, hours=24, covered_ms=amount) for day, amount in covered.items()
    )
    TenantHour.objects.bulk_create(
        TenantHour(
            source=source, began_at=day, hours=24, cluster=cluster, tenant=tenant, gpu_model=model,
            **dict(zip(_FIELDS, amounts, strict=True)),
        )
        for (day, cluster, tenant, model), amounts in sums.items()
    )  # fmt: skip


def _rates(feed: UsageFeed, book: Book) -> Rates:
    """What this source's last reading amounts to at any moment, with what was borrowed and lent by it.

    Those two are the tenant's with its teams and of the whole fleet, so that each source takes its part of them.
    """
    every = list(UsageFeed.objects.all())
    docs = book_now().docs
    found: dict[Place, list[int]] = {(row[0], row[1], row[2]): [row[3], row[4], 0, 0, row[5]] for row in feed.rows}
    where_it_runs, where_anybody_runs = _weights(every, docs), _weights(every, None)
    for row in book.standings:
        kind, name, model, standing = row[0], row[1], row[2], Standing(*row[3:])
        if kind != TENANT:
            continue
        for at, amount, weights in (
            (MEASURES.index("borrowed"), standing.borrowed, where_it_runs.get((name, model), {})),
            (MEASURES.index("lent"), standing.lent, where_anybody_runs.get(("", model), {})),
        ):
            for cluster, part in _parts(feed.source, amount, weights):
                found.setdefault((cluster, name, model), [0] * len(MEASURES))[at] = part
    return found


def _parts(source: int, amount: int, weights: Mapping[tuple[int, str], int]) -> Iterator[tuple[str, int]]:
    """(cluster, part) of an amount that falls to this source."""
    places = sorted(weights)
    parts = split(min(amount, sum(weights.values())), [weights[place] for place in places])
    for (of_source, cluster), part in zip(places, parts, strict=True):
        if of_source == source and part:
            yield cluster, part


def _weights(feeds: Iterable[UsageFeed], docs: Docs | None) -> dict[tuple[str, str], dict[tuple[int, str], int]]:
    """(tenant, model) -> (source, cluster) -> GPU milli of HP, teams counted with their departments.

    Without ``docs`` all tenants together, under "".
    """
    found: defaultdict[tuple[str, str], defaultdict[tuple[int, str], int]] = defaultdict(lambda: defaultdict(int))
    for feed in feeds:
        for cluster, tenant, model, hp, *_ in feed.rows:
            for name in [""] if docs is None else lineage(docs, tenant):
                if hp:
                    found[name, model][feed.source, cluster] += hp
    return {key: dict(where) for key, where in found.items()}


def hours_between(start: datetime, end: datetime) -> Iterator[tuple[datetime, int]]:
    """The hours of UTC between two instants, each with the whole milliseconds that fall into it."""
    here = start.astimezone(UTC)
    while here < end:
        hour = here.replace(minute=0, second=0, microsecond=0)
        stop = min(end, hour + HOUR)
        yield hour, (stop - here) // timedelta(milliseconds=1)
        here = stop
