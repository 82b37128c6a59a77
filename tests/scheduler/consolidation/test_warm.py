"""The compiled kernels come back from disk in a second process."""

import subprocess
import sys

# A process that does not come back says where it hangs; compiling takes half a minute of a free machine
COUNT = """
import faulthandler
faulthandler.dump_traceback_later(1200, exit=True)
from scheduler.consolidation import arena, moves, probe, refill, search, waves, warm
warm.warm_up()
for entry in (arena.settle_all, moves.travel, search.drain_all, probe.ask_all, waves.assign, refill.anneal):
    print(entry.__name__, sum(entry.stats.cache_hits.values()), sum(entry.stats.cache_misses.values()))
"""


def counts() -> list[tuple[str, int, int]]:
    """Kernel, how often it came from disk, how often it was compiled: in the cache that all tests use."""
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return [(name, int(hits), int(misses)) for name, hits, misses in rows]


def test_a_second_process_finds_every_kernel_compiled() -> None:
    names = ["settle_nodes", "travel", "drain_all", "ask_all", "assign", "anneal"]
    # The first one compiles what no test has compiled before it, each kernel for one kind of arguments
    assert [(name, hits + misses) for name, hits, misses in counts()] == [(name, 1) for name in names]
    assert counts() == [(name, 1, 0) for name in names]
