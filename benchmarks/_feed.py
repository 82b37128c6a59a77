"""One reading a second, each with another 1 % of the map's cells changed: what a fleet in full motion pushes.

    python -m benchmarks._feed SOURCE SECONDS SHARE

Readings go through the service that every reading goes through, from the layout on; what is left out is the source's
own work (the wire and ``build``), which has a row of its own.  Prints one line per push: revision, Unix milliseconds.
"""

import os
import sys
import time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()

import numpy as np  # noqa: E402
from django.utils import timezone  # noqa: E402

from console.inventory import archive  # noqa: E402
from console.inventory.models import Observation, Source  # noqa: E402
from console.inventory.planning import encode  # noqa: E402
from console.inventory.services.recording import record  # noqa: E402


def main() -> None:
    name, seconds, share = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    source = Source.objects.get(name=name)
    last = Observation.objects.filter(source=source).first()
    assert last is not None
    snapshot = archive.load(last.digest)
    drawn = encode(snapshot)
    columns, states = drawn.columns.copy(), drawn.gpu_states.copy()
    chance = np.random.default_rng(1)
    with_gpus = np.flatnonzero(snapshot.node_gpus > 0)
    ends = np.cumsum(snapshot.node_gpus)
    count = max(1, round(share * len(with_gpus)))
    began = time.monotonic()
    for tick in range(seconds):
        time.sleep(max(0.0, began + tick - time.monotonic()))
        changed = chance.choice(with_gpus, size=count, replace=False)
        columns[0, changed] = (columns[0, changed].astype(np.int64) + 13) % 101
        first = ends[changed] - snapshot.node_gpus[changed]
        states[first] = (states[first] + 1) % 5
        found = record(source, snapshot, timezone.now(), source.version, columns, states)
        print(found.revision, time.time_ns() // 1_000_000, flush=True)


main()
