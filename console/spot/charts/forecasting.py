"""Forecast against actual, as the page's script draws it."""

from datetime import timedelta
from typing import Any

from console.spot.selectors.forecasting import FORECASTER_WORDS, OURS, Line, Panel

HOUR = timedelta(hours=1)
TONES = {OURS: "accent", "gfs": "lp", "last_week_peak": "muted"}


def figure_of(panel: Panel) -> dict[str, Any]:
    """GPUs by hour: what was held, what each forecaster reserved for an hour before, and the band of what comes."""
    ahead = panel.ours
    band = None
    if ahead is not None and ahead.high:
        at = [(ahead.base_at + hour * HOUR).isoformat() for hour in range(len(ahead.high))]
        band = {"at": at, "low": list(ahead.low), "high": list(ahead.high), "mean": list(ahead.mean)}
    rivals = [
        {"name": one.words, "tone": TONES[one.forecaster], "gpus": list(one.high),
         "at": [(one.base_at + hour * HOUR).isoformat() for hour in range(len(one.high))]}
        for one in panel.rows if one.forecaster != OURS and one.high
    ]  # fmt: skip
    said = [
        {"name": FORECASTER_WORDS[word], "tone": TONES[word], **_points(line)} for word, line in panel.before.items()
    ]
    actual = None if panel.actual is None else _points(panel.actual)
    return {"actual": actual, "said": said, "band": band, "rivals": rivals}


def _points(line: Line) -> dict[str, Any]:
    return {
        "at": [(line.begin_at + hour * HOUR).isoformat() for hour in range(len(line.gpus))],
        "gpus": list(line.gpus),
    }
