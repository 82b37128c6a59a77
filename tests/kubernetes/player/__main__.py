"""The player in a process of its own: ``python -m tests.kubernetes.player --world uniform8 --nodes 20000``.

Prints one JSON line when it serves: URL of each cluster, objects, seconds.  Reads commands from standard input, one a
line: ``changes N`` sets the number of pod changes a second over all clusters, ``state`` prints counts and the CPU
seconds used so far; the end of standard input ends it.
"""

import argparse
import asyncio
import json
import random
import resource
import sys
import time
from pathlib import Path
from typing import Any

from scheduler.worlds.generate import generate
from scheduler.worlds.openb import read_shapes
from tests.kubernetes.generator import clusters_of
from tests.kubernetes.player.cluster import Cluster
from tests.kubernetes.player.server import Player
from tests.kubernetes.worlds import PODS

TICK_S = 0.05


class Changes:
    """Changes pods at an even rate: half of them in place, the others end and begin, as many as each other."""

    def __init__(self, clusters: dict[str, Cluster], seed: int) -> None:
        self._clusters = list(clusters.values())
        self._weights = [len(one.store.resources[PODS].objects) for one in self._clusters]
        self._keys = [list(one.store.resources[PODS].objects) for one in self._clusters]
        self._rng = random.Random(seed)
        self.per_second = 0.0
        self.made = 0

    async def run(self) -> None:
        owed, last = 0.0, time.monotonic()
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            owed, last = owed + self.per_second * (now - last), now
            for _ in range(int(owed)):
                self._one()
            owed -= int(owed)

    def _one(self) -> None:
        at = self._rng.choices(range(len(self._clusters)), self._weights)[0]
        store, keys = self._clusters[at].store, self._keys[at]
        place = self._rng.randrange(len(keys))
        key, self.made = keys[place], self.made + 1
        if self._rng.random() < 0.5:
            store.change(PODS, key, lambda pod: pod["metadata"]["labels"].update(turn=str(self.made)))
            return
        thing = json.loads(store.resources[PODS].objects[key][1])
        store.delete(PODS, key)
        thing["metadata"] |= {"uid": "", "name": f"new-{self.made}"}
        store.put(PODS, thing)
        keys[place] = (key[0], thing["metadata"]["name"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--world", default="uniform8")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--shapes", type=Path, help="the trace's pod list, for openb70c")
    parser.add_argument("--token", default="")
    options = parser.parse_args()
    shapes = read_shapes(options.shapes.read_bytes()) if options.shapes else None
    world = generate(options.world, nodes=options.nodes, seed=options.seed, shapes=shapes)
    clusters = clusters_of(world, token=options.token)
    del world
    changes = Changes(clusters, options.seed)
    with Player(clusters) as player:
        player.start(changes.run())
        _say({"clusters": {name: player.url(name) for name in clusters}, "objects": _objects(clusters)})
        for line in sys.stdin:
            word, _, value = line.strip().partition(" ")
            if word == "changes":
                changes.per_second = float(value)
            _say({"made": changes.made, "cpu_s": _cpu_s(), "rss_mib": _rss_mib(), "objects": _objects(clusters)})


def _objects(clusters: dict[str, Cluster]) -> dict[str, int]:
    found: dict[str, int] = {}
    for cluster in clusters.values():
        for path, held in cluster.store.resources.items():
            found[path] = found.get(path, 0) + len(held.objects)
    return found


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _rss_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def _say(said: Any) -> None:
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
