"""The process that follows clusters for ``benchmarks.kubernetes``: no database, else as ``manage.py watch`` does it."""

import json
import os
import resource
import sys
import time
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()

from console.connectors.kubernetes.access import Login, log_in  # noqa: E402
from console.connectors.kubernetes.feed import ClusterFeed  # noqa: E402
from console.connectors.kubernetes.wire import Api  # noqa: E402
from console.connectors.protocol import ConnectorError  # noqa: E402
from scheduler.cluster.build import Builder  # noqa: E402

LOOK_S = 0.25
QUIET_S = 2.0


class Reading:
    """Documents and snapshots of all feeds, and what they cost."""

    def __init__(self, feeds: list[ClusterFeed]) -> None:
        self._feeds = feeds
        self._versions = [""] * len(feeds)
        self._builders = [Builder() for _ in feeds]
        self.read_s = self.build_s = 0.0
        self.rounds = self.nodes = self.pods = 0

    def take(self) -> None:
        """A snapshot of each cluster that has changed."""
        self.rounds += 1
        for at, feed in enumerate(self._feeds):
            version = feed.version()
            if version == self._versions[at]:
                continue
            began = time.thread_time()
            document = feed.document().document
            read = time.thread_time()
            self._builders[at].build(document)
            self.read_s, self.build_s = self.read_s + read - began, self.build_s + time.thread_time() - read
            self._versions[at] = version


def main() -> None:
    seconds, every = int(sys.argv[1]), int(sys.argv[2])
    clusters: dict[str, str] = json.loads(sys.stdin.readline())
    began, cpu = time.monotonic(), time.process_time()
    feeds = [ClusterFeed(name, Api(log_in(Login(context=name, server=url)))) for name, url in clusters.items()]
    for feed in feeds:
        feed.start()
    for feed in feeds:
        _wait_for(feed)
    reading = Reading(feeds)
    reading.take()
    _say({"first_s": time.monotonic() - began, "first_cpu_s": time.process_time() - cpu})
    sys.stdin.readline()
    _say(_follow(reading, seconds, every))
    sys.stdin.readline()
    _settle(feeds)
    documents = [feed.document().document for feed in feeds]
    _say({"nodes": sum(len(one.nodes) for one in documents), "pods": sum(len(one.pods) for one in documents)})
    for feed in feeds:
        feed.stop()


def _follow(reading: Reading, seconds: int, every: int) -> dict[str, float]:
    reading.read_s = reading.build_s = reading.rounds = 0
    began, cpu = time.monotonic(), time.process_time()
    for tick in range(1, max(seconds // every, 1) + 1):
        time.sleep(max(began + tick * every - time.monotonic(), 0))
        reading.take()
    wall, used = time.monotonic() - began, time.process_time() - cpu
    rest = used - reading.read_s - reading.build_s
    return {
        "wall_s": wall,
        # A machine with other work stretches the time between two snapshots; their cost is counted once every so often.
        "share": 100 * (rest / wall + (reading.read_s + reading.build_s) / reading.rounds / every),
        "follow_share": 100 * rest / wall,
        "read_s": reading.read_s / reading.rounds,
        "build_s": reading.build_s / reading.rounds,
        "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _wait_for(feed: ClusterFeed) -> None:
    while True:
        health = feed.health()
        if health.ready and all(kind.ready for kind in health.kinds):
            return
        time.sleep(LOOK_S)


def _settle(feeds: list[ClusterFeed]) -> None:
    """Until no event has come for a while."""
    versions: list[Any] = []
    while versions != (now := [feed.version() for feed in feeds]):
        versions = now
        time.sleep(QUIET_S)


def _say(said: Any) -> None:
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    try:
        main()
    except ConnectorError as error:
        raise SystemExit(str(error)) from None
