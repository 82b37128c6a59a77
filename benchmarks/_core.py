"""What the core and the archive do with a file of 20,000 nodes, and what SQL each page asks."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from scheduler.cluster.build import build
from scheduler.cluster.codec import pack, parse, write
from scheduler.cluster.snapshot import Snapshot
from scheduler.fragmentation.report import as_detail, report
from scheduler.worlds.generate import generate
from scheduler.worlds.shapes import Shape

STEPS = ("import", "build", "measure", "store")


def import_to_store(nodes: int, seed: int, shapes: Sequence[Shape], runs: int) -> tuple[int, list[dict[str, float]]]:
    """(pods, CPU seconds of each step per run) for openb70c from its JSON text; the text is made beforehand."""
    text = write(build(generate("openb70c", nodes=nodes, seed=seed, shapes=shapes)))
    found, pods = [], 0
    for run in range(runs + 1):
        took: dict[str, float] = {}
        parsed = _timed(took, "import", partial(parse, text))
        snapshot = _timed(took, "build", partial(build, parsed.document, parsed.extras))
        _timed(took, "measure", partial(_measure, snapshot))
        _timed(took, "store", partial(pack, snapshot))
        pods = len(snapshot.pod_name)
        if run:  # the first run compiles
            found.append(took | {"together": sum(took.values())})
    return pods, found


def _measure(snapshot: Snapshot) -> Any:
    return as_detail(report(snapshot))


def _timed(took: dict[str, float], step: str, work: Callable[[], Any]) -> Any:
    began = time.process_time()
    answer = work()
    took[step] = time.process_time() - began
    return answer
