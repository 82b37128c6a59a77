"""Pictures and rows of an answer; no database."""

import base64
from typing import Any

from console.placement.choices import STEP_WORDS, TERM_WORDS
from console.plans import charts

COLUMNS = ("before", "after", "marks", "gpus")


def map_bytes(drawing: dict[str, Any]) -> bytes:
    """As a map of a plan: free now, free with the job, marks (bit 1: the job stands there), GPUs of the node."""
    return charts.map_bytes(*(base64.b64decode(drawing[name]) for name in COLUMNS))


def ramp() -> list[dict[str, str]]:
    """Stops of the colour scale for a legend in SVG."""
    return charts.ramp()


def terms(options: list[dict[str, Any]]) -> list[tuple[str, list[float | None]]]:
    """Rows of a table of options: each term that counts for one of them, unknown ones None."""
    used = [(term, word) for term, word in TERM_WORDS.items() if any(term in one["terms"] for one in options)]
    return [(word, [one["terms"].get(term) for one in options]) for term, word in used]


def steps(options: list[dict[str, Any]]) -> list[tuple[str, list[float]]]:
    """The same for the parts of a training step; none where a step was not asked for, or is unknown."""
    parts = [one["predicted"]["step"] for one in options]
    if not parts or None in parts:
        return []
    return [(word, [part[term] for part in parts]) for term, word in STEP_WORDS.items()]
