"""Pictures and rows of an answer; no database."""

import base64
from typing import Any

from console.placement.choices import DIFFERENCES, STEP_WORDS, TERM_WORDS
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


def differences(found: dict[str, Any]) -> list[tuple[str, str, int, int]]:
    """Of a joint answer: how jobs differ from the largest first: word, its label, jobs, GPUs; none without any."""
    rows = []
    for word, label in DIFFERENCES.items():
        those = [job for job in found.get("jobs", ()) if job["difference"] == word]
        if those:
            rows.append((word, label, len(those), sum(job["gpus"] for job in those)))
    return rows


def placed_nodes(found: dict[str, Any]) -> int:
    """Nodes on which a job of a joint answer stands."""
    held = [job["joint"]["nodes"] for job in found.get("jobs", ()) if job["joint"] is not None]
    return len({one["node"] for nodes in held for one in nodes})


def steps(options: list[dict[str, Any]]) -> list[tuple[str, list[float]]]:
    """The same for the parts of a training step; none where a step was not asked for, or is unknown."""
    parts = [one["predicted"]["step"] for one in options]
    if not parts or None in parts:
        return []
    return [(word, [part[term] for part in parts]) for term, word in STEP_WORDS.items()]
