"""How many GPUs can be scheduled more or fewer than a while ago: from measurements alone, cheap enough for any page."""

from datetime import datetime, timedelta
from typing import Any

from console.inventory.models import Measurement
from console.inventory.selectors.instants import standing
from console.inventory.selectors.measured import Measured
from console.tenancy.selectors import tenant_scope


def schedulable_change(viewer: Any, known: list[Measured], now: datetime, past: timedelta) -> int | None:
    """None where one source is not known at both instants, and for viewers who may not see the whole fleet.

    Three queries, whatever the fleet's size.
    """
    if tenant_scope(viewer) is not None or not known:
        return None
    then = {each.source: each.revision for each in standing(now - past)}
    rows = Measurement.objects.filter(observation__in=[number for number in then.values() if number is not None])
    before: dict[int | None, int | None] = dict(rows.values_list("observation_id", "headline__schedulable"))
    changes = [_change(row, before.get(then.get(row.source))) for row in known]
    return (
        None if None in changes or len(known) < len(then) else sum(change for change in changes if change is not None)
    )


def _change(row: Measured, before: int | None) -> int | None:
    after = row.headline.get("schedulable")
    return None if after is None or before is None else int(after - before)
