"""What standby has earned by month, for bills."""

from collections import defaultdict
from datetime import datetime
from typing import Any

from console.standby.models import Sleeper
from console.standby.selectors.viewing import windows
from console.ui.sums import known_sum


def month_rebates(viewer: Any, since: datetime) -> dict[tuple[str, str], int | None]:
    """US cents by (month, tenant) for spans of the viewer's windows that began at or after ``since``.

    A span counts in the month in which it began.  None: something slept of which nobody knows what it earned.
    """
    slept = Sleeper.objects.filter(window__in=windows(viewer), begins_at__gte=since, asleep_s__gt=0)
    parts: dict[tuple[str, str], list[int | None]] = defaultdict(list)
    for tenant, begins_at, cents in slept.values_list("window__tenant", "begins_at", "rebate_cents"):
        parts[f"{begins_at:%Y-%m}", tenant].append(cents)
    return {place: known_sum(found) for place, found in parts.items()}
