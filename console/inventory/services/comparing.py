"""Comparisons of two snapshots: asked for by whoever looks, worked out by a worker, kept for a while.

Setting two instants of 20,000 nodes against each other unpacks two snapshots and walks through all their pods: seconds
of a core.  The answer for a pair never changes and is the same for every viewer, so a worker gives it once and pages
only read it.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.dispatch.services import enqueue
from console.inventory import archive
from console.inventory.cells import Cells, pack_columns
from console.inventory.ledgers import comparison_key, pack_ledger
from console.inventory.models import Comparison
from scheduler.cluster.snapshot import Snapshot

ASK_AGAIN_S = 60  # a worker that has not answered by then will not


def ask_for_comparisons(pairs: Iterable[tuple[str, str]]) -> None:
    """Has a worker compare those pairs of snapshots (then, now) that nobody has compared or is comparing.

    Pages ask each time that they are looked at; where nothing is missing this writes nothing.
    """
    wanted = {comparison_key(*pair): pair for pair in pairs}
    now = timezone.now()
    known = set(Comparison.objects.filter(pk__in=wanted).values_list("pk", flat=True))
    open_ones = Comparison.objects.filter(pk__in=wanted, ledger=None, failure="")
    silent = list(open_ones.filter(asked_at__lt=now - timedelta(seconds=ASK_AGAIN_S)).values_list("pk", flat=True))
    missing = [
        Comparison(pk=key, then_digest=then, now_digest=later, asked_at=now)
        for key, (then, later) in wanted.items()
        if key not in known
    ]
    if missing or silent:
        _ask(missing, silent, now)


@transaction.atomic
def _ask(missing: list[Comparison], silent: list[str], now: datetime) -> None:
    Comparison.objects.bulk_create(missing, ignore_conflicts=True)
    Comparison.objects.filter(pk__in=silent).update(asked_at=now)
    for key in [*(row.key for row in missing), *silent]:
        enqueue("inventory.compare", key=key)


def snapshots_to_compare(key: str) -> tuple[Snapshot, Snapshot] | None:
    """The pair; None where there is nothing to do, or no longer: then the row says why."""
    row = Comparison.objects.filter(pk=key, ledger=None, failure="").first()
    if row is None:
        return None
    try:
        return archive.load(row.then_digest), archive.load(row.now_digest)
    except archive.GoneError as error:
        Comparison.objects.filter(pk=key).update(failure=str(error))
        return None


def store_comparison(key: str, ledger: dict[str, Any], columns: Cells) -> None:
    """Keeps the answer; ``columns`` [changes, n] in cell order of the later snapshot."""
    Comparison.objects.filter(pk=key).update(ledger=pack_ledger(ledger), columns=pack_columns(columns))
