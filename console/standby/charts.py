"""Rows as figures; no database.  The scripts draw them, the tables beside them say the same."""

from typing import Any

from console.standby.selectors.pool import PoolPage
from console.standby.selectors.recalls import RecallsPage
from console.standby.selectors.windows import WindowsPage

LANES = 12


def timeline(page: WindowsPage) -> dict[str, Any]:
    """Each window is a lane; its spans are bars, the one that is on is dark where pods sleep under it."""
    bars = []
    rows = [row for row in page.rows if row.spans][:LANES]
    for lane, row in enumerate(rows):
        for span in row.spans:
            on = span.holds(page.at)
            bars.append(
                {
                    "lane": lane,
                    "from": span.begins_at.isoformat(),
                    "to": span.ends_at.isoformat(),
                    "on": on and row.asleep_gpus > 0,
                    "gpus": row.asleep_gpus if on else row.gpus,
                }
            )
    lanes = [{"name": row.key.partition("/")[2], "key": row.key, "when": row.when} for row in rows]
    times = {"now": page.at.isoformat(), "low": page.low.isoformat(), "high": page.high.isoformat()}
    return {"kind": "timeline", "lanes": lanes, "bars": bars, **times}


def pool(page: PoolPage) -> dict[str, Any]:
    """The day as it was, hour by hour, and the next one as it is foreseen."""
    return {
        "kind": "pool",
        "hours": [row.hour for row in page.day],
        "asleep": [row.asleep_gpus for row in page.day],
        "lent": [row.lent_gpus for row in page.day],
        "at": [row.at.isoformat() for row in page.ahead],
        "planned": [row.planned_gpus for row in page.ahead],
        "gpus": [row.gpus for row in page.ahead],
    }


def trend(page: RecallsPage) -> dict[str, Any]:
    """Seconds from notice to serving, and what failed or was killed, day by day."""
    days = page.by_day
    return {
        "kind": "trend",
        "days": [day.isoformat() for day, _ in days],
        "p50": [one.p50_s for _, one in days],
        "p95": [one.p95_s for _, one in days],
        "p99": [one.p99_s for _, one in days],
        "failed": [one.failed for _, one in days],
    }


def figure_of(page: Any) -> dict[str, Any]:
    if isinstance(page, WindowsPage):
        return timeline(page)
    return pool(page) if isinstance(page, PoolPage) else trend(page)
